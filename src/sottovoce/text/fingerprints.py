"""Fingerprints of settings, by which a plan states exactly how its text is read."""

import hashlib

import msgspec


def fingerprint(purpose: str, *parts: object) -> str:
    """Return 64 hexadecimal digits that change with the `purpose` (versioned) and all `parts`.

    Parts are frozen dataclasses, enums, tuples, text and numbers; they are
    written in one canonical form, so equal settings have equal fingerprints on
    every machine.
    """
    canonical = msgspec.json.encode([purpose, *parts], order="deterministic")
    return hashlib.blake2b(canonical, digest_size=32, person=b"sottovoce/print").hexdigest()
