"""How a model is written for scoring, from public numbers alone."""

from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import SottovoceError
from sottovoce.numbers.fixed import Scale
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.scoring import ScorePlan, largest_batch
from sottovoce.text.labels import Labels


@given(
    st.integers(1, 40), st.integers(0, 12), st.integers(22, 60), st.integers(1, 2**30),
    st.sampled_from([2048, 3072, 4096]), st.integers(2, 5),
)  # fmt: skip
def test_no_batch_is_larger_than_the_largest(
    words: int, halves: int, fraction: int, bound: int, key_bits: int, classes: int
) -> None:
    plan = StudyPlan("x", Labels(tuple(f"c{index}" for index in range(classes))), key_bits=key_bits)
    try:
        batch = ScorePlan.fit(plan, (halves,) * words, Scale(fraction, bound)).batch
    except SottovoceError:
        return
    assert batch <= largest_batch(plan)
