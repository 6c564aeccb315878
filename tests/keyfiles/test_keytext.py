"""The text of a key file: one text per file, and no damage goes unseen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import DamagedFileError, KeyFileError
from sottovoce.keyfiles.keytext import MAX_BYTES, KeyHalf, KeyText, Label, Lock

FINGERPRINTS = st.lists(st.text("0123456789abcdef", min_size=4, max_size=4), min_size=8, max_size=8)
LABELS = st.builds(
    Label,
    st.sampled_from(KeyHalf),
    FINGERPRINTS.map("-".join),
    st.integers(1, 99_999),
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=32),
)
LOCKS = st.builds(Lock, st.integers(1, 999), st.binary(min_size=1, max_size=48))


@st.composite
def texts(draw: st.DrawFn) -> KeyText:
    label = draw(LABELS)
    lock = draw(LOCKS) if label.kind is KeyHalf.SECRET else None
    return KeyText(label, lock, draw(st.binary(min_size=1, max_size=300)))


SAMPLE = KeyText(
    Label(KeyHalf.SECRET, "-".join(["0123"] * 8), 3072, "short"),
    Lock(17, bytes(range(16))),
    bytes(range(100)),
).render()


@given(texts())
def test_parse_undoes_render(text: KeyText) -> None:
    assert KeyText.parse(text.render(), name="k") == text


def test_every_flipped_bit_is_damage() -> None:
    for position in range(len(SAMPLE)):
        for bit in range(8):
            flipped = bytearray(SAMPLE)
            flipped[position] ^= 1 << bit
            with pytest.raises(DamagedFileError, match="k: "):
                KeyText.parse(bytes(flipped), name="k")


def test_every_truncation_is_told() -> None:
    for length in range(len(SAMPLE)):
        with pytest.raises(KeyFileError, match="k: ") as refused:
            KeyText.parse(SAMPLE[:length], name="k")
        # A file that was cut inside its first word could be anybody's.
        assert isinstance(refused.value, DamagedFileError) or 0 < length < len("sottovoce ")


@given(st.binary(max_size=200))
def test_other_bytes_are_never_a_key_file(data: bytes) -> None:
    with pytest.raises(KeyFileError, match="k: "):
        KeyText.parse(data, name="k")


@given(st.binary(max_size=50))
def test_other_bytes_behind_our_first_word_are_damage(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="k: "):
        KeyText.parse(b"sottovoce " + data, name="k")


def test_what_is_too_long_is_not_looked_at() -> None:
    with pytest.raises(KeyFileError, match=f"at most {MAX_BYTES} bytes, found more"):
        KeyText.parse(b"sottovoce " * MAX_BYTES, name="k")


def test_repr_shows_no_body() -> None:
    assert "body" not in repr(KeyText.parse(SAMPLE, name="k"))
