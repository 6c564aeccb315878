from dataclasses import replace

import numpy as np
import pytest

from harness.conversations.opened import masked_shares, opened_words
from harness.conversations.solve_twin import dealt_masks, signed, solve_plainly
from harness.entropy import SeededEntropy
from harness.examples.text_moments import Floats, TextMoments, text_moments
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError, MisuseError, ViolationError
from sottovoce.numbers.ring import Words, decode, from_ring, share, to_ring
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.holders import MaskedShare, Trio, deal_seeds, take_seed
from sottovoce.protocols.shares.iteration import DealtSteps, StepShares
from sottovoce.protocols.shares.material import Context, Ledger, Material
from sottovoce.protocols.shares.multiplier import DirectionShare, MatrixShare
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.residual import ResidualBit
from sottovoce.protocols.shares.solve import (
    AgreedPlan,
    SystemShare,
    deal_solve,
    run,
    solve,
)
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.shares.truncation import DividendShare

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob", "carol"])


class Case:
    """A system of text moments, shared, with its plan."""

    def __init__(
        self,
        second: Floats,
        products: Floats,
        *,
        documents: float,
        penalties: Floats | None = None,
        ceiling: float | None = None,
    ) -> None:
        features, classes = products.shape
        self.penalties = np.ones(features) if penalties is None else penalties
        self.system = second + np.diag(self.penalties)
        if ceiling is None:
            ceiling = float(np.linalg.eigvalsh(second)[-1] * 1.02 + self.penalties.max())
        penalty = float(self.penalties.min())
        scales = MomentScales.fit(weight=documents, row_norm=1.05, penalty=penalty)
        self.plan = ShareSolvePlan.fit(
            System(features, classes, documents, penalty, ceiling),
            matrix_bits=scales.matrix.fraction_bits,
            vector_bits=scales.vectors.fraction_bits,
        )
        self.exact = np.linalg.solve(self.system, products)
        entropy = SeededEntropy(7)
        packed, columns = scales.encode(second, products)
        self.matrix = from_ring(Triangle(features).unpack(packed))
        self.vectors = from_ring(columns)
        matrices, vectors = share(packed, entropy), share(columns, entropy)
        self.shares = tuple(
            SystemShare(*parts, self.penalties) for parts in zip(matrices, vectors, strict=True)
        )

    @classmethod
    def of(cls, moments: TextMoments, **settings: object) -> "Case":
        return cls(moments.second, moments.products, documents=len(moments.rows), **settings)  # type: ignore[arg-type]

    def run(self, seed: int = 1, meddler: Meddler | None = None) -> Outcome:
        first, second = self.shares
        entropy = SeededEntropy(seed)
        return run(self.plan, (first, second), TRIO, HERE, entropy=entropy, meddler=meddler)

    def theta(self, outcome: Outcome) -> Floats:
        return decode(joined(outcome), self.plan.solution)

    def error(self, outcome: Outcome) -> float:
        apart = np.linalg.norm(self.theta(outcome) - self.exact)
        return float(apart / np.linalg.norm(self.exact))


def joined(outcome: Outcome) -> Words:
    total: Words = outcome.results["coordinator"] + outcome.results["evaluator"]
    return total


@pytest.fixture(scope="module")
def small() -> Case:
    return Case.of(text_moments(300, 24, 3))


@pytest.fixture(scope="module")
def small_outcome(small: Case) -> Outcome:
    return small.run()


def test_it_equals_its_plaintext_twin_to_the_last_bit(small: Case, small_outcome: Outcome) -> None:
    plan = small.plan
    penalised = small.matrix + np.diag(np.rint(small.penalties * 2.0**plan.matrix_bits).astype(int))
    theta, _ = solve_plainly(plan, penalised, small.vectors, dealt_masks(small_outcome, plan, HERE))
    assert (signed(joined(small_outcome)) == theta).all()


@pytest.mark.parametrize(("features", "classes"), [(256, 1), (200, 5)])
def test_text_moments_give_the_labels_of_the_plain_solve(features: int, classes: int) -> None:
    moments = text_moments(2000, features, classes)
    case = Case.of(moments)
    outcome = case.run()
    assert case.error(outcome) < 1e-4
    assert (moments.labels(case.theta(outcome)) == moments.labels(case.exact)).all()


def test_without_column_means_it_takes_a_third_of_the_steps() -> None:
    moments = text_moments(2000, 256)
    rows, targets = (part - part.mean(axis=0) for part in (moments.rows, moments.targets))
    centred = Case(rows.T @ rows, rows.T @ targets, documents=len(rows))
    assert len(centred.plan.steps) < 0.5 * len(Case.of(moments).plan.steps)
    assert centred.error(centred.run()) < 1e-4


def test_a_penalty_may_tilt_and_the_last_column_may_grow() -> None:
    moments = text_moments(500, 30)
    case = Case.of(moments)
    tilt = np.linspace(-0.5, 1.5, 30)
    diagonal = np.append(np.ones(29), 0.0)
    times = np.append(np.ones(29), 3.0)
    system = moments.second * np.outer(times, times) + np.diag(diagonal) + np.outer(tilt, tilt)
    spectrum = np.linalg.eigvalsh(system)
    case.plan = ShareSolvePlan.fit(
        System(30, 1, 500, min(1.0, float(spectrum[0])), float(spectrum[-1]) * 1.01),
        matrix_bits=case.plan.matrix_bits,
        vector_bits=case.plan.matrix_bits + 8,
    )
    factors = (times[-1] * times).astype(np.uint64) - np.uint64(1)
    case.shares = tuple(
        replace(
            share,
            penalties=diagonal,
            tilt=tilt,
            border=share.matrix[Triangle(30).last_column()] * factors,
        )
        for share in case.shares
    )
    case.exact = np.linalg.solve(system, moments.products)
    assert case.error(case.run()) < 1e-4


def test_each_feature_may_have_its_own_penalty() -> None:
    penalties = np.where(np.arange(60) % 3, 1.0, 0.25) * 2
    case = Case.of(text_moments(500, 60), penalties=penalties)
    assert case.plan.system.penalty == 0.5
    assert case.error(case.run()) < 1e-4


def test_tiny_systems_and_systems_without_documents_to_speak_of() -> None:
    for features, documents in ((1, 2), (2, 3), (40, 5)):
        case = Case.of(text_moments(documents, max(2, features)))
        assert case.error(case.run()) < 1e-4
    nothing = Case(np.zeros((3, 3)), np.zeros((3, 1)), documents=5.0)
    assert np.abs(nothing.theta(nothing.run())).max() < 1e-4


def test_every_view_is_noise_and_the_dealer_s_is_empty(small_outcome: Outcome) -> None:
    for kind in (MatrixShare, DividendShare, DirectionShare):
        assert_looks_uniform(opened_words(small_outcome, kind), what=kind.__name__)
    for name in ("coordinator", "evaluator"):
        assert_looks_uniform(small_outcome.views[name].words(), what=name)
    for dealt in small_outcome.views["coordinator"].of(DealtSteps):
        for words in (dealt.products, dealt.quotients, dealt.tops):
            assert_looks_uniform(words.array().ravel())
    assert small_outcome.views["dealer"].received == []


def test_opened_words_do_not_depend_on_each_other(small_outcome: Outcome) -> None:
    # One step's e beside the next, and beside the dividend before it.
    directions = opened_words(small_outcome, DirectionShare).reshape(-1, 72)
    dividends = opened_words(small_outcome, DividendShare)[: directions.size].reshape(-1, 72)
    assert_looks_uniform((directions[1:] - directions[:-1]).ravel())
    assert_looks_uniform((directions - dividends).ravel())


class Zeros(Entropy):
    """A door behind which there is nothing."""

    def read(self, count: int) -> bytes:
        return bytes(count)


@pytest.mark.parametrize(
    ("kind", "purpose"),
    [
        (MatrixShare, "matrix mask"),
        (DirectionShare, "direction mask"),
        (DividendShare, "division"),
    ],
)
def test_one_forgotten_mask_shows(
    small: Case, kind: type[MaskedShare], purpose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Material.stream

    def forgetful(self: Material, name: str, index: int = 0) -> Entropy:
        stream = drawn(self, name, index)
        return Zeros() if name == purpose else stream

    monkeypatch.setattr(Material, "stream", forgetful)
    outcome = small.run()
    assert_shows_structure(opened_words(outcome, kind), what=purpose)
    assert small.error(outcome) < 1e-4


def test_mask_used_for_two_matrices_gives_their_difference(small: Case) -> None:
    """Why a changed set of peers needs a new attempt: the attack that the ledger prevents."""
    other = Case.of(text_moments(299, 24, 3), ceiling=small.plan.system.ceiling)
    other.plan = small.plan
    seen = [opened_words(case.run(), MatrixShare) for case in (small, other)]
    apart = (seen[0] - seen[1]).view(np.int64)
    triangle = Triangle(24)
    expected = triangle.pack(to_ring(small.matrix)) - triangle.pack(to_ring(other.matrix))
    assert (apart == expected.view(np.int64)).all()


def test_what_travels_depends_on_public_numbers_only(small: Case, small_outcome: Outcome) -> None:
    other = Case.of(text_moments(299, 24, 3, seed=5), ceiling=small.plan.system.ceiling)
    other.plan = small.plan
    sizes = [
        [(item.sender, type(item.message), item.size) for item in outcome.views[name].received]
        for outcome in (small_outcome, other.run())
        for name in ("coordinator", "evaluator")
    ]
    assert sizes[:2] == sizes[2:]


@pytest.mark.parametrize("name", ["coordinator", "evaluator"])
def test_two_openings_a_step_in_one_message_of_each_holder(
    small: Case, small_outcome: Outcome, name: str
) -> None:
    view, steps = small_outcome.views[name], len(small.plan.steps)
    opened = [kind for kind, _ in masked_shares(view)]
    assert opened.count(DirectionShare) == steps
    assert opened.count(DividendShare) == steps + 1
    # The two factors of the last product travel together.
    assert len(opened) == small.plan.openings + 1
    # The second holder begins the first step alone, and ends the last one.
    alone = name == "coordinator"
    assert len(view.of(StepShares)) == steps - alone
    assert len(view.of(DirectionShare)) == alone
    assert len(view.of(DividendShare)) == 1 + alone


@pytest.mark.parametrize("share_of_largest", [0.99, 0.9, 0.5])
def test_an_upper_end_below_the_spectrum_stops_loudly(share_of_largest: float) -> None:
    moments = text_moments(2000, 64)
    case = Case.of(moments, ceiling=moments.largest * share_of_largest)
    with pytest.raises(MismatchError, match="the residual is above its tolerance") as error:
        case.run()
    assert "largest eigenvalues of all peers" in error.value.hints[0]


def test_a_matrix_that_is_not_positive_definite_stops_loudly() -> None:
    moments = text_moments(500, 32)
    second = moments.second
    values, vectors = np.linalg.eigh(second)
    values[0] = -40.0
    crooked = (vectors * values) @ vectors.T
    case = Case(crooked, moments.products, documents=500, ceiling=values[-1] + 1)
    with pytest.raises(MismatchError, match="the residual is above its tolerance"):
        case.run()


def test_shapes_and_penalties_that_do_not_fit_the_plan_are_refused(small: Case) -> None:
    good = small.shares[0]
    for change, error, what in (
        ({"matrix": good.matrix[1:]}, MismatchError, "expected 300 words for a side of 24"),
        ({"vectors": good.vectors[:, :2]}, MismatchError, r"b of shape \(24, 3\), found \(24, 2\)"),
        ({"penalties": np.ones(3)}, MismatchError, "expected 24 penalties"),
        ({"tilt": np.ones(3)}, MismatchError, "expected a tilt of 24 numbers"),
        ({"border": np.ones(3)}, MismatchError, "expected a border of 24 numbers"),
        ({"penalties": np.full(24, 0.5)}, InputError, "at least the plan's 1, found 0.5"),
        ({"penalties": np.full(24, np.nan)}, InputError, "at least the plan's 1, found nan"),
    ):
        with pytest.raises(error, match=what):
            replace(good, **change).check(small.plan)


@pytest.mark.parametrize("party", ["evaluator", "dealer"])
def test_parties_that_follow_another_plan_are_named(small: Case, party: str) -> None:
    meddler = rewriting(
        lambda packet: is_kind(packet, AgreedPlan) and packet.sender == party,
        AgreedPlan,
        lambda message: AgreedPlan(bytes(32)),
    )
    with pytest.raises(ViolationError, match="the plan for the solve is not ours") as error:
        small.run(meddler=meddler)
    assert error.value.party == party


@pytest.mark.parametrize(
    ("kind", "fields", "sender"),
    [
        (MatrixShare, 1, "evaluator"),
        (DividendShare, 1, "evaluator"),
        (StepShares, 2, "evaluator"),
        (StepShares, 2, "coordinator"),
        (DirectionShare, 1, "evaluator"),
        (DealtSteps, 3, "dealer"),
    ],
)
def test_words_of_the_wrong_shape_are_refused_naming_the_party(
    small: Case, kind: type[Message], fields: int, sender: str
) -> None:
    short = wire.Words.of(np.zeros((2, 2), np.uint64))
    meddler = rewriting(
        lambda packet: is_kind(packet, kind) and packet.sender == sender,
        kind,
        lambda message: kind(*[short] * fields),
    )
    with pytest.raises(ViolationError, match=r"expected words of shape") as error:
        small.run(meddler=meddler)
    assert error.value.party == sender


def test_a_bit_that_is_no_bit_names_the_other_holder(small: Case) -> None:
    meddler = rewriting(
        lambda packet: is_kind(packet, ResidualBit) and packet.sender == "evaluator",
        ResidualBit,
        lambda message: ResidualBit(wire.Words.of(np.full(1, 77, np.uint64))),
    )
    with pytest.raises(ViolationError, match="the shares make no bit") as error:
        small.run(meddler=meddler)
    assert error.value.party == "evaluator"


def test_material_serves_one_solve(small: Case) -> None:
    def twice(me: str, system: SystemShare) -> Party[Words]:
        holder = yield from take_seed(TRIO, me, HERE, ledger=Ledger())
        yield from solve(holder, small.plan, system)
        return (yield from solve(holder, small.plan, system))

    def dealer() -> Party[None]:
        dealt = yield from deal_seeds(TRIO, HERE, ledger=Ledger(), entropy=SeededEntropy())
        yield from deal_solve(dealt, small.plan)
        with pytest.raises(MisuseError, match=r"'first/matrix mask/0'.*used already"):
            yield from deal_solve(dealt, small.plan)

    first, second = small.shares
    with pytest.raises(MisuseError, match=r"/matrix mask/0' of study 'flu'.*used already"):
        converse(
            {
                "coordinator": twice("coordinator", first),
                "evaluator": twice("evaluator", second),
                "dealer": dealer(),
            }
        )


def test_secrets_are_not_printed(small: Case) -> None:
    assert str(small.shares[0].vectors[0, 0]) not in repr(small.shares[0])
