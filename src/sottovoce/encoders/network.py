"""Encoders that are networks: ONNX files, run by onnxruntime on this machine.

A network reads a fixed number of tokens. A longer text is read in stretches of that length, and
its vector is the mean over all its tokens, so that no part of it is left out.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sottovoce.encoders.files import EncoderFiles
from sottovoce.encoders.tokenizing import MISSING, open_tokenizer, token_ids
from sottovoce.errors import InputError
from sottovoce.text.encoding import EncoderKind, EncoderName, Floats, unit_rows

_BATCH = 32
# Most sentence encoders were trained on stretches of at most this many tokens.
STRETCH = 256


class NetworkEncoder:
    """An ONNX network and its tokenizer; hidden states are averaged over tokens."""

    def __init__(self, name: EncoderName, session: Any, tokenizer: Any) -> None:
        self.name = name
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = {tensor.name for tensor in session.get_inputs()}

    @classmethod
    def open(cls, files: EncoderFiles) -> Self:
        """Open weights and tokenizer; one text tells how many columns there are."""
        session = _session(files)
        names = {tensor.name for tensor in session.get_inputs()}
        if "input_ids" not in names or not names <= {
            "input_ids",
            "attention_mask",
            "token_type_ids",
        }:
            raise InputError(
                f"encoder {files.weights[0]}: expected the inputs input_ids, attention_mask and "
                f"token_type_ids, found {', '.join(sorted(names))}"
            )
        tokenizer = open_tokenizer(files.tokenizer)
        tried = cls(EncoderName(EncoderKind.ONNX, 1, "0" * 64), session, tokenizer)
        columns = tried._run([[0]]).shape[1]
        return cls(EncoderName(EncoderKind.ONNX, columns, files.sha256), session, tokenizer)

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row of unit length for each text; zeros for a text without any token."""
        pieces, of_text = [], []
        for number, ids in enumerate(token_ids(self._tokenizer, list(texts), special=True)):
            stretches = [ids[start : start + STRETCH] for start in range(0, len(ids), STRETCH)]
            # Only what marks begin and end is there, where a text has no token.
            pieces += stretches if texts[number].strip() else []
            of_text += [number] * (len(stretches) if texts[number].strip() else 0)
        rows = np.zeros((len(texts), self.name.columns))
        order = sorted(range(len(pieces)), key=lambda piece: len(pieces[piece]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors = self._run([pieces[piece] for piece in batch])
            for place, piece in enumerate(batch):
                rows[of_text[piece]] += len(pieces[piece]) * vectors[place]
        return unit_rows(rows)

    def _run(self, stretches: list[list[int]]) -> Floats:
        """The mean hidden state of each stretch."""
        longest = max(map(len, stretches))
        ids = np.zeros((len(stretches), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, stretch in enumerate(stretches):
            ids[row, : len(stretch)], mask[row, : len(stretch)] = stretch, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        asked = {name: given[name] for name in self._inputs}
        states = np.asarray(self._session.run(None, asked)[0], np.float64)
        if states.ndim == 2:
            return states
        shares = mask / mask.sum(axis=1, keepdims=True)
        return np.asarray((states * shares[:, :, np.newaxis]).sum(axis=1))


def _session(files: EncoderFiles) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise InputError(
            "encoder: the package onnxruntime is not installed", hints=(MISSING,)
        ) from None
    options = onnxruntime.SessionOptions()
    threads = os.environ.get("SOTTOVOCE_ENCODER_THREADS", "")
    options.intra_op_num_threads = int(threads) if threads.isdecimal() else 0
    try:
        return onnxruntime.InferenceSession(
            str(files.weights[0]), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the package raises its own kinds, none of which is public
        raise InputError(
            f"encoder {files.weights[0]}: expected an ONNX network, found {type(error).__name__}"
        ) from error
