"""The learners behind scikit-learn's contract."""
