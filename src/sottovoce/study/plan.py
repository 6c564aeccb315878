"""The plan of a study: public settings on which everybody agrees before it begins."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from sottovoce.entropy import Entropy
from sottovoce.errors import SettingFault, refuse_faults
from sottovoce.hints import Hint, PlanSetting
from sottovoce.paillier import (
    InsecureToyPublicKey,
    InsecureToySecretKey,
    PublicKey,
    SecretKey,
    generate,
    generate_insecure_for_tests,
)
from sottovoce.study.arrangement import Arrangement, Remote, one_of
from sottovoce.study.candidates import (
    Candidate,
    ColumnsLeftOut,
    candidate_faults,
    lighter_columns,
    own_faults,
)
from sottovoce.study.choices import (
    Addition,
    Centre,
    Contribution,
    DictionaryKind,
    Engine,
    LabelsOn,
    Learner,
    Rare,
    Verdict,
)
from sottovoce.study.descent_range import descent_faults
from sottovoce.study.grounds import Grounds
from sottovoce.study.queries.thresholds import ROC_THRESHOLDS, operating_faults, threshold_faults
from sottovoce.study.release import Opens, Release, release_named
from sottovoce.study.setting_kinds import number, numbers, whole
from sottovoce.text.blocks import Blocks
from sottovoce.text.columns import ROW, Column
from sottovoce.text.dictionary.counts import BUCKET_BITS, Suppression
from sottovoce.text.dictionary.selection import CHI_SQUARED, Selection, SelectionRule, rule_named
from sottovoce.text.features import Weighting
from sottovoce.text.labelling import Labelling
from sottovoce.text.labels import Labels
from sottovoce.text.passes import CountPlan
from sottovoce.text.reading import Level, Reading
from sottovoce.text.splits import Split
from sottovoce.wire.printable import MAX_NAME, MAX_WORDS, fault_in

# With more queries a feature than this, a sealed model counts as known to the asker.
QUERIES_PER_FEATURE = 2
# The number of labels of chosen documents a feature that give the model (docs/studies.md).
KNOWN_QUERIES_PER_FEATURE = 16
# Queries are filled up to whole ciphertexts and counted whole: about ten queries at 3072 bits.
FEWEST_QUERIES = 512
# The assumed number of rows in a report, for the default budget.
ROWS_A_DOCUMENT = {Level.DOCUMENT: 1, Level.SENTENCE: 20, Level.TOKEN: 200}
# The fewest documents and the fewest peers over which joint totals are opened.
FEWEST_EVALUATED = 20
FEWEST_PEERS = 3
# Cells of such a total below this (or the plan's minimum, if that is more) are not shown.
FEWEST_CELL = 3
LEAST_KAPPA = 40
# Rare classes get more weight: halfway to equal weight of all classes ("root"), or all the way.
CLASS_WEIGHTS = ("root", "balanced")
# A sample is centred by its own mean, so a single rado would be zero.
FEWEST_RADOS = 2


@dataclass(frozen=True)
class StudyPlan:
    """All settings of a study. Peers that disagree on any of them do not start.

    `features` is the maximum number of words of a joint dictionary. It has words that are in enough
    documents, the best first by the rule `select`. `beside` are a row's other blocks of columns
    (tail, encoder, kernel). `alpha` is Ridge's penalty on XᵀX of unit rows, or a public list of
    penalties of which joint validation totals pick one. `distrusted` features get `epsilon` times
    the penalty (the paper's Γ). `query_budget` is the number of rows that a peer may have labelled
    in all, by queries, evaluations and models that are tried (by default `default_budget`);
    padded batches are counted whole. `held_out` is the share of documents kept for evaluation, and
    `held_back` the share of the rest with which one of several models is chosen. `rare` says
    what happens to a class that has fewer documents than the minimum. For the card, `approval`
    names what permits the study, and `grounds` why it is done. A joint ROC is counted at the
    `thresholds`. `operating_point` has for every score (one for two classes that exclude each
    other, else one for each class) the threshold above which the score speaks for its class; by
    default it is 0. With `contribution` "rados" the moments are those of this many sampled `rados`
    of every peer instead of exact ones; `learner` "rado-descent" descends on that many rados
    themselves. `addition` is how peers' ciphertexts are added up. In engine `quorum`, `threshold`
    is how many members may pool (by default the largest minority). `labels_on` says whether labels
    are found on shares of the model or on a ciphertext of it, and `centre` is the point from which
    rows of text are measured.
    """

    name: str
    labels: Labels
    features: int = 2048
    reading: Reading = field(default_factory=Reading)
    labelling: Labelling | None = None
    weighting: Weighting = field(default_factory=Weighting)
    columns: tuple[Column, ...] = ()
    beside: Blocks = field(default_factory=Blocks)
    dictionary: DictionaryKind = DictionaryKind.JOINT
    words: tuple[str, ...] = ()
    select: SelectionRule = CHI_SQUARED
    bucket_bits: int = BUCKET_BITS
    engine: Engine = Engine.AUTO
    alpha: float | tuple[float, ...] = 1.0
    distrusted: tuple[int, ...] = ()
    epsilon: float = 1.0
    class_weight: str | None = None
    rare: Rare = Rare.LEAVE_OUT
    min_documents: int = 3
    small_cells: int = 0
    feature_min_peers: int = 1
    min_peers: int = 3
    release: Release = Release.SEALED
    key_bits: int = 3072
    verdict: Verdict = Verdict.AUTO
    query_budget: int | None = None
    evaluations: int = 1
    held_out: float = 0.2
    held_back: float = 0.2
    kappa: int = 64
    approval: str = ""
    grounds: Grounds = field(default_factory=Grounds)
    thresholds: tuple[float, ...] = ROC_THRESHOLDS
    operating_point: tuple[float, ...] = ()
    arrangement: Arrangement = field(default_factory=Arrangement)
    contribution: Contribution = Contribution.EXACT
    rados: int = 0
    threshold: int = 0
    labels_on: LabelsOn = LabelsOn.AUTO
    centre: Centre = Centre.MEAN
    learner: Learner = Learner.CLOSED_FORM
    addition: Addition = Addition.PAIRWISE

    key_sizes: ClassVar[tuple[int, ...]] = PublicKey.sizes
    public_type: ClassVar[type[PublicKey]] = PublicKey
    secret_type: ClassVar[type[SecretKey]] = SecretKey

    def __post_init__(self) -> None:
        for setting in fields(self):
            object.__setattr__(self, setting.name, self._plain_value(setting))
        object.__setattr__(self, "beside", self.beside.of_scores(self.labels.width))
        object.__setattr__(self, "release", release_named(self.release))
        object.__setattr__(self, "select", rule_named(self.select))
        refuse_faults(self._faults())
        self.count_plan.labelling.check(self.level)
        _ = (self.split, self.selection, self.blocks)

    @property
    def level(self) -> Level:
        """The unit of a row: a document, a sentence or a token."""
        return self.reading.level

    @property
    def labelled(self) -> Labelling:
        """The source of a row's classes."""
        return self.labelling or Labelling(self.labels)

    @property
    def count_plan(self) -> CountPlan:
        """How every peer counts for a joint dictionary."""
        held_back = Suppression(self.min_documents, self.small_cells)
        return CountPlan(self.labelled, self.reading, held_back, bits=self.bucket_bits)

    @property
    def selection(self) -> Selection:
        """How the coordinator selects from the counts."""
        return Selection(self.features, self.feature_min_peers, self.select)

    @property
    def split(self) -> Split:
        """The split into training and held-out documents."""
        return Split(self.held_out, self.name)

    @property
    def choice_split(self) -> Split:
        """The split of the rest, where one of several models is chosen on what is held back."""
        share = self.held_back if len(self.candidates) > 1 else 0.0
        return Split(share, f"{self.name}/penalty")

    @property
    def blocks(self) -> int:
        """The number of blocks in partition `features`; 0 in partition `documents`."""
        if not self.arrangement.by_features:
            return 0
        return self.arrangement.blocks(self.columns, self.labels)

    @property
    def width(self) -> int:
        """The most columns that a row can have: words, other blocks, further columns, the bias."""
        further = sum(column.width for column in self.columns)
        return self.features + self.beside.width + further + 1

    @property
    def has_text(self) -> bool:
        """Whether rows have text; rows of a table have columns, and one word common to all."""
        return not self.columns or self.words != (ROW,)

    @property
    def descends(self) -> bool:
        """Whether the learner is gradient descent on encrypted rados."""
        return self.learner is Learner.RADO_DESCENT

    @property
    def alphas(self) -> tuple[float, ...]:
        """The penalties to choose from; most plans have one."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The models to choose from: every penalty with every width and weight of blocks."""
        return Candidate.all_of(self.alphas, self.beside)

    def left_out(self, candidate: Candidate, width: int) -> ColumnsLeftOut:
        """Return which of a row's `width` columns are not in this model."""
        return ColumnsLeftOut.of(candidate, self.beside, end=self._end_of_blocks(width))

    def lighter(self, candidate: Candidate, width: int) -> Iterator[tuple[slice, float]]:
        """Return the columns of lighter blocks in this model, and the factors of their penalty."""
        return lighter_columns(candidate, self.beside, end=self._end_of_blocks(width))

    def _end_of_blocks(self, width: int) -> int:
        return width - 1 - sum(column.width for column in self.columns)

    def settled(self, candidate: Candidate) -> Self:
        """Return the plan of a study that has this model alone."""
        return replace(self, alpha=candidate.alpha, beside=candidate.settled(self.beside))

    @property
    def budget(self) -> int:
        """The number of rows that each peer may have labelled."""
        if self.query_budget is None:
            models = len(self.candidates)
            return default_budget(self.asked_features, level=self.level, models=models)
        return self.query_budget

    @property
    def asked_features(self) -> int:
        """The number of weights of a score, without the bias."""
        return self.width - 1 - (self.beside.waves - self.beside.kernel)

    @property
    def deals_verdicts(self) -> bool:
        """Whether queries ask for a dealer, if the asker has one."""
        return self.verdict is not Verdict.DGK and self.release.opens is not Opens.SCORES

    @property
    def falls_back(self) -> bool:
        """Whether a query continues without a dealer that does not answer."""
        return self.verdict is Verdict.AUTO and self.release.opens is not Opens.SCORES

    @property
    def draws_roc(self) -> bool:
        """Whether a joint evaluation draws a ROC."""
        return bool(self.thresholds)

    @property
    def counts_sealed(self) -> bool:
        """Whether scores are compared with the thresholds of a ROC in shares."""
        return self.draws_roc and self.release.opens is Opens.LABELS

    def generate(self, *, entropy: Entropy) -> SecretKey:
        """Draw the study's Paillier key, at the coordinator."""
        return generate(self.key_bits, entropy=entropy)

    def settings(self) -> tuple[tuple[str, str], ...]:
        """Return every setting by name, in the one form that is hashed, compared and shown."""
        return tuple(
            (setting.name, _written(getattr(self, setting.name))) for setting in fields(self)
        )

    def _plain_value(self, setting: Field[Any]) -> Any:
        """Return choices as enums and numbers as Python's own; errors name the setting."""
        name, kind, value = setting.name, setting.type, getattr(self, setting.name)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return one_of(kind, value, name)
        if kind is int or (kind == int | None and value is not None):
            return whole(value, name)
        if kind is float:
            return number(value, name)
        if name == "alpha" and not isinstance(value, tuple | list):
            return number(value, name)
        if name in {"alpha", "thresholds", "operating_point"}:
            return numbers(value, name)
        return value

    def _faults(self) -> Iterator[SettingFault]:
        """Yield the faults of the plan."""
        yield SettingFault(
            not self.name.strip(), "name", "expected a name for the study, found an empty one"
        )
        for setting, shown, most in self._texts():
            fault = fault_in(shown, most=most)
            yield SettingFault(bool(fault), setting, str(fault), place=f"plan: {setting}")
        yield SettingFault(
            self.features < 1, "features", f"expected at least 1 feature, found {self.features}"
        )
        yield from self._penalty_faults()
        yield from self._dictionary_faults()
        yield from self._weighting_faults()
        yield from self._guard_faults()
        yield from self._rado_faults()
        if self.descends:
            yield from descent_faults(self)
        yield from threshold_faults(self.thresholds)
        yield from operating_faults(self.labels, self.operating_point)
        weight = self.class_weight
        yield SettingFault(
            weight is not None and weight not in CLASS_WEIGHTS,
            "class_weight",
            f"expected class_weight None, 'root' or 'balanced', found {weight!r}",
        )
        yield SettingFault(
            weight is not None and not self.labels.exclusive,
            "class_weight",
            f"class_weight {weight!r} needs exclusive labels, found labels that overlap",
        )
        yield from self.arrangement.faults(self.columns, self.labels)
        known = self.arrangement.by_features and self.release.opens is Opens.WEIGHTS
        yield SettingFault(
            known and self.arrangement.remote is not Remote.ZERO,
            "release",
            f"released weights score what a peer holds, found remote {self.arrangement.remote}",
            Hint(PlanSetting("remote", "zero"), ", or ", PlanSetting("release", "sealed")),
        )
        text = self.arrangement.by_features and self.features + self.beside.width > 1
        found_columns = (
            f"found {self.features} words and {self.beside.width} columns of other blocks"
        )
        yield SettingFault(text, "partition", f"partition features is for columns, {found_columns}")
        yield SettingFault(
            self.rare is Rare.OTHER and "other" not in self.labels.names,
            "rare",
            "rare classes that become 'other' need a label 'other', found none",
            Hint(PlanSetting("labels", (..., "other")), ", or ", PlanSetting("rare", "leave out")),
        )
        other = self.labelling is not None and self.labelling.labels != self.labels
        yield SettingFault(other, "labelling", "the labelling names other labels than the plan")

    def _texts(self) -> Iterator[tuple[str, str, int]]:
        """Yield every text that people at other sites see, with its setting and its limit."""
        yield "name", self.name, MAX_NAME
        if self.approval:
            yield "approval", self.approval, MAX_WORDS
        yield from ((setting, text, MAX_WORDS) for setting, text in self.grounds.given.items())
        for setting, texts in (
            ("labels", self.labels.names),
            ("types", self.labelling.types if self.labelling else ()),
            ("words", self.words),
            ("columns", tuple(text for column in self.columns for text in column.texts)),
        ):
            yield from ((setting, text, MAX_NAME) for text in texts)

    def _penalty_faults(self) -> Iterator[SettingFault]:
        yield from candidate_faults(
            self.alphas,
            self.candidates,
            held_back=self.held_back,
            opens_scores=self.release.opens is Opens.SCORES,
        )
        yield SettingFault(
            not 0 < self.epsilon <= 1,
            "epsilon",
            f"expected 0 < epsilon <= 1, found {self.epsilon:g}",
        )
        distrusted = self.distrusted
        most = self.width - 1
        limit = f"expected distrusted features below {most}, each once, "
        yield SettingFault(
            len(set(distrusted)) < len(distrusted)
            or not all(0 <= feature < most for feature in distrusted),
            "distrusted",
            limit + f"found {_written(distrusted)}",
        )

    def _dictionary_faults(self) -> Iterator[SettingFault]:
        given, count = self.dictionary is DictionaryKind.GIVEN, len(self.words)
        found_words = f"found dictionary {self.dictionary} with {count} words"
        yield SettingFault(
            given != bool(count),
            "dictionary",
            f"a given dictionary and its words belong together, {found_words}",
            Hint(PlanSetting("dictionary", "given"), ", ", PlanSetting("words", (...,))),
        )
        yield SettingFault(
            given and count != self.features,
            "features",
            f"expected as many features as words, found {self.features} and {count}",
            PlanSetting("features", count),
        )

    def _weighting_faults(self) -> Iterator[SettingFault]:
        yield from own_faults(self.beside, level=self.level, has_text=self.has_text)
        yield SettingFault(
            not self.weighting.scaled and self.beside.dense > 0,
            "scaled",
            "an encoder and a kernel need rows of unit length, found rows that are not scaled",
            PlanSetting("scaled", value=True),
        )

    def _rado_faults(self) -> Iterator[SettingFault]:
        sampled, found_rados = self.contribution is Contribution.RADOS, f"found {self.rados}"
        yield SettingFault(
            sampled and self.rados < FEWEST_RADOS,
            "rados",
            f"a contribution of rados needs at least {FEWEST_RADOS} of them, {found_rados}",
            Hint(
                PlanSetting("rados", 4 * self.features),
                ", or ",
                PlanSetting("contribution", "exact"),
            ),
        )
        yield SettingFault(
            sampled and self.arrangement.by_features,
            "contribution",
            "sampled rados are for partition documents, found partition features",
            PlanSetting("contribution", "exact"),
        )
        yield SettingFault(
            not sampled and self.rados != 0,
            "rados",
            f"rados are for contribution 'rados', {found_rados} with an exact one",
            PlanSetting("contribution", "rados"),
        )

    def _guard_faults(self) -> Iterator[SettingFault]:
        sizes = " or ".join(map(str, self.key_sizes))
        yield SettingFault(
            self.key_bits not in self.key_sizes,
            "key_bits",
            f"expected key_bits {sizes}, found {self.key_bits}",
            Hint("use ", PlanSetting("key_bits", 3072)),
        )
        for name, value, least in (
            ("min_peers", self.min_peers, 2),
            ("feature_min_peers", self.feature_min_peers, 1),
            ("query_budget", self.budget, 1),
            ("evaluations", self.evaluations, 0),
            ("kappa", self.kappa, LEAST_KAPPA),
        ):
            yield SettingFault(
                value < least, name, f"expected {name} of at least {least}, found {value}"
            )


def default_budget(features: int, *, level: Level = Level.DOCUMENT, models: int = 1) -> int:
    """Return two rows a feature, at least enough for 512 documents; more to try several models.

    If that is enough to read the model off the labels, the card says so.
    """
    least = FEWEST_QUERIES * ROWS_A_DOCUMENT[level]
    asked = 1 if models == 1 else 1 + models
    return asked * max(QUERIES_PER_FEATURE * features, least)


class InsecureToyPlan(StudyPlan):
    """A plan with keys that anybody can break, for tests, where real keys would take too long."""

    key_sizes: ClassVar[tuple[int, ...]] = InsecureToyPublicKey.sizes
    public_type: ClassVar[type[PublicKey]] = InsecureToyPublicKey
    secret_type: ClassVar[type[SecretKey]] = InsecureToySecretKey

    def generate(self, *, entropy: Entropy) -> SecretKey:
        """Draw a key that anybody can break."""
        return generate_insecure_for_tests(self.key_bits, entropy=entropy)


def _written(value: Any) -> str:
    """Return the one text of a value: a choice's name, a frozen dataclass's repr, a number."""
    if isinstance(value, Reading | Labelling):
        return value.fingerprint
    return str(value) if isinstance(value, StrEnum | Release | SelectionRule) else repr(value)
