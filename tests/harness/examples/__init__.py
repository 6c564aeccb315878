"""Small studies, texts and peers with which tests run whole courses."""
