"""The search finds what is there, wherever it stands."""

from hypothesis import given
from hypothesis import strategies as st

from harness.searching import first_held


@given(
    st.binary(max_size=100),
    st.binary(max_size=100),
    st.lists(st.binary(min_size=8, max_size=40), min_size=1, max_size=20),
    st.data(),
)
def test_a_piece_is_found_at_any_place(
    before: bytes, after: bytes, pieces: list[bytes], data: st.DataObject
) -> None:
    held = before + data.draw(st.sampled_from(pieces)) + after
    result = first_held(held, pieces)
    assert result in pieces
    assert result in held


@given(
    st.binary(max_size=200), st.lists(st.binary(min_size=8, max_size=12), min_size=1, max_size=9)
)
def test_it_says_what_a_plain_search_says(data: bytes, pieces: list[bytes]) -> None:
    assert (first_held(data, pieces) is None) == (not any(piece in data for piece in pieces))
