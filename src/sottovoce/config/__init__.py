"""The files that people write: study.toml and sottovoce.toml."""
