"""Labels that came back: where they are written, and how a large question is asked."""
