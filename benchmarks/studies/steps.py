"""How many steps a sealed solve takes, measured from the joint mean, from a guess, and from zero.

Steps follow from public numbers alone, so nothing is sealed here: the peers' moments are added up
in plaintext, each peer tells what it would tell, and both plans are made.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np

from benchmarks.accuracy.accuracy import simulated_peers
from benchmarks.accuracy.sealed import SealedTask, frequent_enough, study_plan
from benchmarks.studies.train import KEY_BITS, PeersAndTest, TrainTrial
from benchmarks.timing import one_thread
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.rounding import rounded_up
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.rados.moments import Moments
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.centring import Ends, Reference, ToldSpectrum
from sottovoce.study.stages.contributions import (
    MomentPlan,
    local_moments,
    penalties_of,
    solve_plan,
    told_parts,
)
from sottovoce.study.stages.joint_mean import own_apart
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.solving import SolveNumbers
from sottovoce.study.totals import Totals, published
from sottovoce.text.blocks import Blocks
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.dictionary.selection import chosen
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.passes import rounded_count
from sottovoce.wire.codec import Codec, tag_of

Progress = Callable[[str], None]


class StepCounter(Meddler):
    """Notes the public numbers of the solve on their way to the dealer."""

    def __init__(self) -> None:
        self._told: SolveNumbers | None = None
        self._tag = SolveNumbers.__struct_config__.tag

    def carry(self, packet: Packet) -> Iterable[Packet]:
        """Everything goes on as it is."""
        if tag_of(packet.body) == self._tag:
            self._told = Codec().decode(packet.body, SolveNumbers)
        return (packet,)

    def of(self, study: Study) -> int:
        """The steps of the last solve, as the dealer works them out; 0 if nothing was dealt."""
        totals_told = self._told
        if totals_told is None:
            return 0
        totals = Totals.read(
            study, totals_told.totals, totals_told.peers, sender=study.roster.coordinator
        )
        ends = Ends(totals_told.ceiling_parts, totals_told.floor_share)
        return len(solve_plan(study.plan, totals, study.plan.candidates[-1], ends=ends).steps)


@dataclass(frozen=True)
class Steps:
    """Steps of the same solve, with rows measured from the joint mean, from idf and from zero."""

    mean: int
    idf: int
    unmoved: int

    @classmethod
    def of(cls, plan: StudyPlan, parts: Sequence[Sequence[Document]]) -> "Steps":
        """What peers with these documents would find."""
        names = tuple(f"peer {number + 1}" for number in range(len(parts)))
        roster, _ = draw_roster(names, entropy=SystemEntropy())
        study = Study(plan, roster)
        prepared = _prepared(study, parts)
        guess = Reference.of(plan, prepared.idf_halves)
        assert guess is not None, "a plan of documents with idf"
        of_peers = [local_moments(study, prepared, part) for part in parts]
        sums = reduce(add, (own_apart(guess, moments) for moments in of_peers))
        corrected = guess.corrected(guess.correction(sums[:-1] / sums[-1]))
        assert corrected is not None, "a correction that the coordinator made"
        bits = MomentPlan.of(plan, prepared.totals).scales.matrix.fraction_bits
        still = sum(
            told_parts(plan, moments, None, fraction_bits=bits).largest for moments in of_peers
        )
        ends = [
            *(_moved_ends(plan, prepared, of_peers, point) for point in (guess, corrected)),
            Ends(rounded_up(still)),
        ]
        idf, mean, unmoved = (
            len(solve_plan(plan, prepared.totals, plan.candidates[0], ends=end).steps)
            for end in ends
        )
        return cls(mean, idf, unmoved)


def _moved_ends(
    plan: StudyPlan, prepared: Prepared, of_peers: Sequence[Moments], point: Reference
) -> Ends:
    """Both ends, from what peers tell of moments measured from this point."""
    bits = MomentPlan.of(plan, prepared.totals).scales.matrix.fraction_bits
    words = np.zeros(2, np.uint64)
    for moments in of_peers:
        moved = deepcopy(moments)
        point.move(moved)
        words += told_parts(plan, moved, point, fraction_bits=bits).words
    penalties = penalties_of(plan, len(point.point) + 1, plan.candidates[0])
    weight = float(prepared.totals.rows)
    spectrum = ToldSpectrum.opened(words)
    return point.ends(spectrum, penalties, weight=weight, all_peers=True).ends


def _prepared(study: Study, parts: Sequence[Sequence[Document]]) -> Prepared:
    """Dictionary and totals, as the coordinator chooses and publishes them."""
    plan = study.plan
    counts = reduce(add, (rounded_count(part, plan.count_plan, key=PUBLIC) for part in parts))
    words = chosen(counts, plan.selection, exclusive=plan.labels.exclusive)
    totals = replace(
        published(study, counts.rows, counts.rows_by_class, study.roster.peers),
        absent=plan.features - words.size,
    )
    space = FeatureSpace(words, plan.reading, plan.weighting, blocks=plan.beside)
    return Prepared(totals, words.idf_halves, space, PUBLIC)


@dataclass(frozen=True)
class StepsCase:
    """A set of documents by its name, as peers hold them, and the plan of their study."""

    name: str
    plan: StudyPlan
    parts: Sequence[Sequence[Document]] = field(repr=False)

    @classmethod
    def made_up(cls, features: int, documents: int) -> "StepsCase":
        """The documents of `bench train`."""
        trial = TrainTrial(Engine.SHARES, features, documents)
        return cls("made up", trial.plan(), list(PeersAndTest.of(trial).parts.values()))

    @classmethod
    def of(cls, task: SealedTask) -> "StepsCase":
        """The first split of a set."""
        kept = frequent_enough(replace(task, pairs=task.pairs[:1]))
        parts = simulated_peers(kept.pairs[0].train, kept.setting.peers)
        return cls(task.name, study_plan(kept, parts, kind=StudyPlan, key_bits=KEY_BITS), parts)

    def with_tail(self, columns: int) -> "StepsCase":
        """The same with a tail of so many columns."""
        return replace(self, plan=replace(self.plan, beside=Blocks(tail=columns)))


def measure(cases: Iterable[StepsCase], *, progress: Progress = lambda _: None) -> Iterator[Row]:
    """One row for every set and number of features."""
    for case in cases:
        progress(f"{case.name}, {case.plan.features} features")
        with one_thread():
            steps = Steps.of(case.plan, case.parts)
        yield {
            "set": case.name,
            "features": case.plan.features,
            "documents": sum(map(len, case.parts)),
            "peers": len(case.parts),
            "steps": steps.mean,
            "idf_steps": steps.idf,
            "unmoved_steps": steps.unmoved,
            "ratio": steps.mean / steps.unmoved,
        }
