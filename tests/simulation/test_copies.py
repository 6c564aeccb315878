"""The matrix of restored, cloned and rolled back disks: no mask ever covers two values."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.entropy import SeededEntropy
from simulation.copies import (
    DEALT,
    AskedCopyWorld,
    Case,
    CopyWorld,
    Use,
    Whose,
    asked_matrix,
    matrix,
    quorum_matrix,
)
from simulation.journals import CrashingJournal
from simulation.mailbox import BrokenError
from simulation.query_invariants import ServedEvidence
from simulation.serving import ServingSite
from simulation.stories import (
    Story,
    asked_copied,
    assisted,
    by_features,
    paillier,
    quorum,
    shares,
    toy,
    unbound,
)
from simulation.toy_queries import BATCH
from simulation.world import Faults
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.course.phases import Phase

HELPERS = {
    "shares": DEALT,
    "paillier": (Whose.EVALUATOR,),
    "by_features": DEALT,
    "assisted": (Whose.EVALUATOR, Whose.INTERMEDIARY),
}
STORIES = {
    "toy": toy,
    "shares": shares,
    "paillier": paillier,
    "quorum": quorum,
    "by_features": by_features,
    "assisted": assisted,
}


def lived(
    name: str, cases: Sequence[Case], seeds: Sequence[int], folder: Path
) -> Iterator[CopyWorld]:
    """Every case under every seed, checked; an error says which it was."""
    for case in cases:
        for seed in seeds:
            with TemporaryDirectory(dir=folder) as here:
                world = STORIES[name]().copied(case, Path(here), seed)
                try:
                    world.run()
                except BaseException as error:
                    error.add_note(f"{name} {seed}, {case}: repeat it with")
                    again = f"{name} {seed} '{case}'"
                    error.add_note(f"PYTHONPATH=tests .venv/bin/python -m simulation {again}")
                    raise
                yield world


def test_light_studies_whose_disks_come_back_or_run_twice(folder: Path) -> None:
    ends = Counter[str]()
    cases = matrix(*DEALT)
    assert len(cases) == 31
    # In seed 1 every copy is used; `make soak` tries a hundred others.
    for world in lived("toy", cases, [1], folder):
        ends["used"] += world.used
        ends["model"] += world.sites["coordinator"].finished
        for site in world.everybody():
            ends[type(site.found_out).__name__] += site.found_out is not None
    # The matrix is worth something only if copies are used, and found out in every way there is.
    assert ends["used"] > 20
    assert ends["model"] > 10
    assert min(ends["CopyError"], ends["JournalError"], ends["ViolationError"]) > 1, ends


REAL = [
    Case(Phase.DICTIONARY, Whose.DENIED, Use.RESTORED, others=True),
    Case(Phase.TRAINING, Whose.DENIED, Use.RESTORED, others=True),
    Case(Phase.TRAINING, Whose.PEER, Use.RESTORED, others=False),
    Case(Phase.TRAINING, Whose.EVALUATOR, Use.CLONED, others=False),
    Case(Phase.TRAINING, Whose.COORDINATOR, Use.RESTORED, others=False),
]


def test_real_studies_whose_disks_come_back_or_run_twice(folder: Path) -> None:
    used = [world.used for world in lived("shares", REAL, [1], folder)]
    assert sum(used) >= len(REAL) - 1


@pytest.mark.parametrize("story", ["by_features", "assisted"])
def test_other_arrangements_whose_disks_come_back_or_run_twice(folder: Path, story: str) -> None:
    used = [world.used for world in lived(story, REAL, [1], folder)]
    assert sum(used) >= len(REAL) - 1


@pytest.mark.parametrize("use", Use)
def test_an_intermediary_whose_disk_comes_back_or_runs_twice(folder: Path, use: Use) -> None:
    case = Case(Phase.TRAINING, Whose.INTERMEDIARY, use, others=False)
    (world,) = lived("assisted", [case], [1], folder)
    assert world.used


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_many_more_light_studies_whose_disks_come_back(folder: Path, block: int) -> None:
    seeds = range(1000 + 5 * block, 1005 + 5 * block)
    assert all(lived("toy", matrix(*DEALT), seeds, folder))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("story", HELPERS)
def test_many_more_real_studies_whose_disks_come_back(folder: Path, story: str, block: int) -> None:
    assert all(lived(story, matrix(*HELPERS[story]), [1000 + block], folder))


IN_A_QUORUM = [
    Case(Phase.CONTRIBUTIONS, Whose.DENIED, Use.RESTORED, others=True),
    Case(Phase.TRAINING, Whose.MEMBER, Use.RESTORED, others=False),
]


def test_a_quorum_whose_disks_come_back(folder: Path) -> None:
    assert all(world.used for world in lived("quorum", IN_A_QUORUM, [0], folder))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(10))
def test_many_more_quorums_whose_disks_come_back(folder: Path, block: int) -> None:
    assert len(quorum_matrix()) == 36
    assert all(lived("quorum", quorum_matrix(), [1000 + block], folder))


# What the matrix is worth: what is broken on purpose is caught.


def broken_in(story: Story, case: Case, folder: Path, seeds: Sequence[int]) -> str:
    """What is found in the first of these seeds in which anything is."""
    for seed in seeds:
        with TemporaryDirectory(dir=folder) as here:
            try:
                story.copied(case, Path(here), seed, faults=Faults()).run()
            except BrokenError as error:
                return str(error)
    return ""


@pytest.mark.parametrize("name", ["toy", "shares"])
def test_masks_that_are_not_bound_to_the_documents_are_caught(folder: Path, name: str) -> None:
    """A server that denies what it has lets the chain pass: nothing else would notice.

    In the dictionary's stage, the first with documents: after it, who runs that stage again with
    others makes other messages, and notices by them.
    """
    case = Case(Phase.DICTIONARY, Whose.DENIED, Use.RESTORED, others=True)
    result = broken_in(unbound(name), case, folder, range(60))
    assert "invariant 8" in result
    assert "hid two values of" in result


def test_what_hides_documents_is_drawn_for_them_alone() -> None:
    """The journal refuses others, too: but a seed alone must give no mask away."""
    parts = shares().parts
    peer = parts.study.roster.peers[0]

    def drawn(edition: int) -> bytes:
        course = parts.course(peer, parts.study, None, edition)
        return bytes(course.drawn(SeededEntropy(5)).read(32))

    assert drawn(0) == drawn(0)
    assert len({drawn(edition) for edition in range(3)}) == 3


class IgnoresPast(CrashingJournal):
    """Does not compare what the server holds of its seat."""

    def check_past(self, held: HeldLetters) -> None:
        del held


@pytest.mark.parametrize("use", Use)
def test_a_copy_that_does_not_look_at_its_past_is_caught(folder: Path, use: Use) -> None:
    case = Case(Phase.TRAINING, Whose.PEER, use, others=False)
    story = toy().changed(journal=IgnoresPast)
    assert "invariant 1" in broken_in(story, case, folder, range(20))


# After the training: who asks, who helps, who answers.


def asked_under(
    cases: Sequence[Case],
    seeds: Sequence[int],
    folder: Path,
    journal: type[CrashingJournal] = CrashingJournal,
) -> Iterator[AskedCopyWorld]:
    """Every case under every seed, checked; an error says which it was."""
    for case in cases:
        for seed in seeds:
            with TemporaryDirectory(dir=folder) as here:
                world = asked_copied(case, Path(here), seed, journal)
                try:
                    world.run()
                except BaseException as error:
                    error.add_note(f"{case}, seed {seed}: repeat it with")
                    again = f"asking {seed} '{case}'"
                    error.add_note(f"PYTHONPATH=tests .venv/bin/python -m simulation {again}")
                    raise
                yield world


def test_askers_and_helpers_whose_disks_come_back_or_run_twice(folder: Path) -> None:
    cases = asked_matrix()
    assert len(cases) == 11
    worlds = list(asked_under(cases, range(1), folder))
    assert sum(world.used for world in worlds) > 7
    result = Counter(
        type(site.found_out).__name__ for world in worlds for site in world.everybody()
    )
    assert min(result["CopyError"], result["ViolationError"]) > 0, result


OTHER_QUESTIONS = Case(Phase.FINISHED, Whose.PEER, Use.RESTORED, others=True)


def test_a_number_that_came_back_and_was_used_for_another_question_is_no_second_answer(
    folder: Path,
) -> None:
    """Nothing but the number had left: the coordinator gave one answer, to what came with it."""
    (world,) = asked_under([OTHER_QUESTIONS], [40013], folder)
    evidence = ServedEvidence(world, world.ideal)
    asker = world.sites[world.whose[0]]
    assert isinstance(asker, ServingSite)
    answered = [q for query, q in evidence.labels_told.items() if query.asker == asker.name]
    assert len(answered) == len(set(answered)) > 2
    assert evidence.coordinator.state.askers[asker.name].record.spent == BATCH * len(answered)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_many_more_askers_whose_disks_come_back(folder: Path, block: int) -> None:
    seeds = range(1000 + 5 * block, 1005 + 5 * block)
    assert all(asked_under(asked_matrix(), seeds, folder))


def test_an_asker_that_does_not_look_at_its_past_is_caught(folder: Path) -> None:
    with pytest.raises(BrokenError, match="invariant 1"):
        list(asked_under([OTHER_QUESTIONS], range(10), folder, journal=IgnoresPast))
