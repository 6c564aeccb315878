"""The first five minutes: three hospitals, one sealed classifier, and what each party saw."""
