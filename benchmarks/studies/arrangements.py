"""What the paper's arrangements cost: a training and some labels of each, beside the usual study.

All parties run in this process, from the same programs as between machines; CPU of all of them is
added. Trips are those between the evaluator and who has the key. The Paillier keys are made before
the clock starts. Everything is drawn from one public seed, so that trips and bytes are the same in
every run: which rados are sampled decides how many steps a solve takes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

from benchmarks.studies.arranged import (
    ARRANGEMENTS,
    ASKER,
    EXPORTED,
    PARTNERS,
    ArrangedStudy,
)
from benchmarks.timing import cpu_seconds, one_thread
from sottovoce.cli.terminal.measurements import Row
from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import Entropy, Expansion
from sottovoce.paillier import SecretKey, generate
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.runner import converse
from sottovoce.study import StudyPlan
from sottovoce.study.stages.encrypted.exported_rados import (
    added_rados,
    answer_exported,
    export_rados,
    learn_exported,
)

Progress = Callable[[str], None]
_SEED = bytes(32)
ASKED = 10
USUAL_ROWS = 60


def public_entropy(purpose: str) -> Entropy:
    """Random numbers that hide nothing, and are the same each time."""
    return Expansion(_SEED, f"benchmarks/{purpose}/v1")


def two_keys(make: Callable[..., SecretKey], bits: int) -> Iterator[SecretKey]:
    """Keys by turns: two parties of a study may each need one, and never the same."""
    entropy = public_entropy("keys")
    return cycle([make(bits, entropy=entropy) for _ in range(2)])


def described(
    arrangement: ArrangedStudy, kind: type[StudyPlan], *, key_bits: int
) -> StudyDescription:
    """What the arrangement's study.toml says."""
    return parse_study(arrangement.text(key_bits=key_bits), plan_type=kind)


def trained(
    arrangement: ArrangedStudy, rows: int, *, description: StudyDescription, entropy: Entropy
) -> StudyOutcome:
    """The arrangement's study in memory."""
    identities = {seat.name: Identity.draw(seat.name, entropy) for seat in description.seats}
    study = description.study({name: mine.public for name, mine in identities.items()})
    return run_study(study, arrangement.parts(rows), identities=identities, entropy=entropy)


@dataclass(frozen=True)
class Spent:
    """What a training, and then some labels, took."""

    trips: int
    bytes: int
    seconds: float
    asked_bytes: int | None = None
    asked_seconds: float | None = None

    def row(self, arrangement: ArrangedStudy, partner: "Spent | None") -> Row:
        """A line of the table, beside the usual study of the same engine."""
        return {
            "arrangement": arrangement.name,
            "trips": self.trips,
            "megabytes": self.bytes / 1e6,
            "seconds": self.seconds,
            "ratio": self.seconds / (partner or self).seconds,
            "label kilobytes": _each(self.asked_bytes, 1e3),
            "label seconds": _each(self.asked_seconds),
        }


def _each(asked: float | None, unit: float = 1.0) -> float | None:
    """What one label takes, where somebody is asked."""
    return None if asked is None else asked / (ASKED * unit)


def spent(arrangement: ArrangedStudy, rows: int, *, kind: type[StudyPlan], key_bits: int) -> Spent:
    """Train, and ask about a few rows as the first peer."""
    description = described(arrangement, kind, key_bits=key_bits)
    entropy = public_entropy("arrangements")
    with one_thread():
        start = cpu_seconds()
        outcome = trained(arrangement, rows, description=description, entropy=entropy)
        seconds = cpu_seconds() - start
        roster, sent = outcome.study.roster, outcome.traffic.total_bytes
        trips = outcome.traffic.trips(roster.evaluator, roster.coordinator)
        start = cpu_seconds()
        outcome.classify(ASKER, arrangement.parts(rows)[ASKER][:ASKED])
        asked = cpu_seconds() - start
    return Spent(trips, sent, seconds, outcome.traffic.total_bytes - sent, asked)


def spent_on_export(rows: int, *, kind: type[StudyPlan], key_bits: int) -> Spent:
    """Sites write files, a third party learns; labels are made at home."""
    study = described(EXPORTED, kind, key_bits=key_bits).rehearsed()
    entropy = public_entropy("arrangements")
    key = study.plan.generate(entropy=entropy)
    with one_thread():
        start = cpu_seconds()
        files = {
            name: export_rados(study, documents, key.public, rows=rows, entropy=entropy)
            for name, documents in EXPORTED.parts(rows).items()
        }
        numbers, sums = added_rados(study, files, key.public)
        programs = {
            EVALUATOR: learn_exported(numbers, sums, entropy=entropy),
            KEY_HOLDER: answer_exported(study, key, rows=rows, entropy=entropy),
        }
        outcome = converse(programs, codec=study.codec(key.public))
        seconds = cpu_seconds() - start
    codec = study.codec(key.public)
    written = sum(len(codec.encode(exported)) for exported in files.values())
    traffic = outcome.traffic
    sent = traffic.total_bytes + written
    return Spent(traffic.trips(EVALUATOR, KEY_HOLDER), sent, seconds)


def with_kept_keys(kind: type[StudyPlan], keys: Iterator[SecretKey]) -> type[StudyPlan]:
    """A plan whose parties take keys that were made before."""

    class KeptKeys(kind):  # type: ignore[misc, valid-type]  # a plan is a plan of its kind
        def generate(self, *, entropy: Entropy) -> SecretKey:  # noqa: ARG002 - drawn before
            return next(keys)

    return KeptKeys


def measure(
    rows: int,
    *,
    kind: type[StudyPlan] = StudyPlan,
    make: Callable[..., SecretKey] = generate,
    key_bits: int = 3072,
    only: str = "",
    progress: Progress = lambda _: None,
) -> Iterator[Row]:
    """A row for each arrangement with `only` in its name, the usual studies first."""
    progress("making keys")
    kept, partners = with_kept_keys(kind, two_keys(make, key_bits)), {}
    for engine, usual in PARTNERS.items():
        progress(usual.name)
        partners[engine] = spent(usual, rows, kind=kept, key_bits=key_bits)
        yield partners[engine].row(usual, None)
    for arrangement in (each for each in ARRANGEMENTS if only in each.name):
        progress(arrangement.name)
        engine = "shares" if arrangement.name.endswith("shares") else "paillier"
        cost = spent(arrangement, rows, kind=kept, key_bits=key_bits)
        yield cost.row(arrangement, partners[engine])
    if only in EXPORTED.name:
        progress(EXPORTED.name)
        cost = spent_on_export(rows, kind=kept, key_bits=key_bits)
        yield cost.row(EXPORTED, partners["paillier"])
