"""The tokenizer of an encoder: the package `tokenizers`, without padding and without cutting."""

from pathlib import Path
from typing import Any

from sottovoce.errors import InputError

MISSING = "pip install 'sottovoce[encoders]'"


def open_tokenizer(path: Path) -> Any:
    """The tokenizer of a file; texts are neither cut nor filled up by it."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "encoder: the package tokenizers is not installed", hints=(MISSING,)
        ) from None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises plain Exceptions
        raise InputError(
            f"encoder {path}: expected a tokenizer, found {type(error).__name__}"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def token_ids(tokenizer: Any, texts: list[str], *, special: bool) -> list[list[int]]:
    """The tokens of each text by number."""
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=special)]
