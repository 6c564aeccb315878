"""The card's section on the plan's settings, in sentences."""

from collections.abc import Callable, Iterator

from sottovoce.protocols.shares.course import MOST_STEPS
from sottovoce.study.card.arrangement_lines import arranged_lines
from sottovoce.study.card.query_lines import budget_lines, labels_lines, verdict_lines
from sottovoce.study.choices import Addition, Centre, Contribution, DictionaryKind, Engine, Rare
from sottovoce.study.distrust import distrusted_names
from sottovoce.study.plan import FEWEST_EVALUATED, FEWEST_PEERS, StudyPlan
from sottovoce.study.queries.thresholds import scored_names
from sottovoce.study.release import Opens
from sottovoce.study.stages.centring import MEAN_PARTS, is_corrected, is_moved
from sottovoce.study.stages.contributions import doubtful_penalty
from sottovoce.study.study import FEWEST_IN_RINGS, Study
from sottovoce.study.totals import FULL_ROWS
from sottovoce.text.blocks import Blocks
from sottovoce.text.own_scores import FOLDS
from sottovoce.wire.printable import markdown

_BY_TOTALS = ", by how many held-back documents get the right label over all peers together."
Waits = tuple[tuple[str, str], ...]
_MOST_NAMES = 12


def agreed_section(study: Study, waits: Waits = ()) -> Iterator[str]:
    """Yield every setting that people should know; `waits` has what is waited for, how long."""
    yield "## What is agreed"
    yield ""
    for part in AGREED:
        yield from part(study)
    for what, long in waits:
        yield f"- {what}: {long}."
    yield from arranged_lines(study)
    if study.plan.dictionary is DictionaryKind.JOINT:
        yield ""
        yield JOINT_DICTIONARY.format(bits=study.plan.bucket_bits, fewest=study.plan.min_documents)


def _grounds(study: Study) -> Iterator[str]:
    grounds = study.plan.grounds
    for name, value in (
        ("Purpose", grounds.purpose),
        ("Legal basis", grounds.legal_basis),
        ("Controller", grounds.controller),
        ("Contact", grounds.contact),
        ("Retention", grounds.retention),
        ("Approval", study.plan.approval),
    ):
        if value:
            yield f"- {name}: {markdown(value)}"


def _blocks(beside: Blocks) -> Iterator[str]:
    """Yield the columns of a row other than words; their maps are public, and no more is opened."""
    if beside.tail:
        yield (
            f"- Words that were not chosen fall, by the peers' key, into {beside.tail} further "
            "columns, several into one. Like words they go into sums; no column is opened."
        )
    if beside.encoder is not None:
        name = beside.encoder
        yield (
            f"- Every site turns its text into vectors by the same {name.kind} encoder of "
            f"{name.columns} columns, on its own machine (SHA-256 of weights and tokenizer "
            f"`{name.sha256}`). The vectors never leave the site; like words they go into sums."
        )
    if beside.kernel:
        yield (
            f"- {beside.waves} columns are random waves of the "
            f"{'words' if beside.encoder is None else 'vector'}, from a public seed "
            f"(kernel width {_listed(beside.kernel_widths)})."
        )
    if beside.has_several_kernels:
        yield (
            f"- {beside.kernel} of these columns are for each of the {len(beside.kernel_widths)} "
            "widths. All are in the sums; by how many held-back documents are labelled right over "
            "all peers together, one width and one penalty are chosen, and the others' columns are "
            "left out of the model."
        )
    if len(beside.kernel_weights) > 1:
        yield f"- Their weight is one of {_listed(beside.kernel_weights)}{_BY_TOTALS}"
    if beside.has_own_scores:
        yield (
            f"- Columns of scores of each site's own model: {beside.own_scores}. A site learns it "
            f"from its documents alone, over {FOLDS} folds, so that no document is scored by a "
            "model that saw it. It never leaves its site; like words its scores go into sums."
        )
    if len(beside.own_weights) > 1:
        yield f"- Their weight is one of {_listed(beside.own_weights)}{_BY_TOTALS}"


def _listed(weights: tuple[float, ...]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)


def _distrusted(plan: StudyPlan) -> str:
    """The names of distrusted columns; words of a joint dictionary have only their number."""
    before = plan.features + plan.beside.width
    names = distrusted_names(plan.distrusted, words=plan.words, before=before, columns=plan.columns)
    shown = [markdown(name) for name in names[:_MOST_NAMES]]
    left = (len(names) or len(plan.distrusted)) - len(shown)
    return ", ".join([*shown, *([f"{left} more" if shown else f"{left} words"] if left else [])])


def _learning(study: Study) -> Iterator[str]:
    plan = study.plan
    labels = ", ".join(map(markdown, plan.labels.names))
    yield f"- Labels: {labels}; one row stands for one {plan.level}."
    # A joint dictionary has only words that are in enough documents, so there may be fewer.
    most = "Up to " if plan.dictionary is DictionaryKind.JOINT else ""
    made = f"{most}{plan.features} features, dictionary `{plan.dictionary}`"
    if not plan.has_text:
        made = f"{plan.width - 2} columns of {len(plan.columns)} values, and no text"
    yield (
        f"- {made}; engine `{study.engine}`; penalty "
        f"{', '.join(f'{penalty:g}' for penalty in plan.alphas)}."
    )
    if not (plan.descends or plan.arrangement.by_features):
        yield (
            f"- Up to {FULL_ROWS:,} rows to train with count in full. Where there are more, each "
            "counts a half, a quarter and so on: together they never count more than that."
        )
        yield from _doubts(study)
    if plan.dictionary is DictionaryKind.JOINT:
        yield f"- The dictionary has the features that {plan.select.words}."
    if plan.reading.letters is not None:
        yield f"- Of a longer word only the first {plan.reading.letters} letters count."
    yield from _blocks(plan.beside)
    if not plan.weighting.scaled:
        yield "- Rows are as long as they are: words are counted, and nothing is scaled."
    if plan.distrusted:
        yield f"- Distrusted, with {plan.epsilon:g} times the penalty: {_distrusted(plan)}."
    if plan.descends:
        yield (
            f"- Learner `{plan.learner}`: gradient descent on {plan.rados} encrypted rados, each a "
            "sum of some documents of all peers; nobody sees them, nor the model on its way. "
            "Before every step the evaluator learns one bit, that its numbers are in range; else "
            "the study stops."
        )
    elif plan.contribution is Contribution.RADOS:
        yield (
            f"- Every peer contributes the moments of {plan.rados} sampled rados; nobody sees them."
        )


def _doubts(study: Study) -> Iterator[str]:
    """Warn of a penalty that may prove too small after everybody contributed."""
    plan = study.plan
    least = min(plan.alphas) * (min(plan.epsilon, 1.0) if plan.distrusted else 1.0)
    if study.engine is not Engine.PAILLIER and least < (doubtful := doubtful_penalty(plan)):
        yield (
            f"- A penalty of {least:g} may prove too small: where nearly all rows point in one "
            "direction, and there are many, the solve would take more than "
            f"{MOST_STEPS:,} steps and is refused after everybody contributed. "
            f"From {doubtful:.2g} on this is not to be expected."
        )


def _addition(study: Study) -> Iterator[str]:
    if study.plan.addition is Addition.RING:
        yield (
            "- Ciphertexts are added up around two rings of peers (`addition=ring`): who leaves "
            "once contributions have begun ends the study, and so do fewer than "
            f"{FEWEST_IN_RINGS} peers. All neighbours that a peer has on both rings together "
            "could learn its encrypted part, which none of them can decrypt; with the coordinator, "
            "who has the key, they could."
        )


def _guards(study: Study) -> Iterator[str]:
    plan = study.plan
    yield f"- Comes out: {plan.release.agreed}"
    yield (
        f"- At least {plan.min_peers} peers; a class with fewer than "
        f"{plan.min_documents} documents a peer {_RARE[plan.rare]}."
    )
    measured = is_moved(plan) and study.engine is not Engine.PAILLIER
    ends = (
        ", the upper end of the spectrum and how far the mean lies from where rows are measured"
        if measured
        else " and the upper end of the spectrum"
    )
    yield (
        f"- Totals of documents and classes{ends} are published rounded up to two digits. "
        "Iterations, sizes and times follow from them."
    )
    if measured and is_corrected(plan):
        others = ", and the mean of every other column," if plan.beside.width else ""
        yield (
            f"- The mean weight of every chosen word{others} in all rows of all peers is "
            f"published to the nearest 1/{MEAN_PARTS}, once (`centre={Centre.MEAN}`): rows are "
            "measured from there, which saves steps."
        )


def _queries(study: Study) -> Iterator[str]:
    yield from labels_lines(study)
    yield from verdict_lines(study)
    if study.plan.release.opens is not Opens.WEIGHTS:
        yield from budget_lines(study.plan)


def _evaluation(study: Study) -> Iterator[str]:
    plan = study.plan
    if not plan.evaluations:
        yield "- No evaluation over all sites; each may measure the model on its own documents."
        return
    if not study.is_evaluated:
        yield (
            f"- No evaluation over all sites, which takes {FEWEST_PEERS} peers or more; each may "
            "measure the model on its own documents."
        )
        return
    yield (
        f"- Evaluation: {plan.evaluations} time(s), opened over at least {FEWEST_EVALUATED} "
        f"documents and {FEWEST_PEERS} peers; small cells are left out; a site's own figures stay."
    )
    if plan.operating_point:
        named = zip(scored_names(plan.labels), plan.operating_point, strict=True)
        points = ", ".join(f"{markdown(name)} above {point:g}" for name, point in named)
        yield f"- Operating point (scores are near -1 and 1): {points}."
    if plan.draws_roc:
        kept = "comparisons stay shared" if plan.counts_sealed else "scores stay with their site"
        yield (
            f"- Its ROC is looked at {len(plan.thresholds)} public thresholds; single {kept}, and "
            "only sums over all peers are opened."
        )


def _deletion(study: Study) -> Iterator[str]:
    if study.engine is Engine.QUORUM:
        yield (
            "- At the end masks and seeds are deleted; each member keeps its share of the model, "
            "and the coordinator public numbers."
        )
        return
    dealt = study.roster.dealer is not None
    helpers = "coordinator, evaluator and dealer" if dealt else "coordinator and evaluator"
    deleted = f"- At the end {helpers} delete shares, masks and seeds; "
    if study.asks_shares:
        yield (
            f"{deleted}coordinator and evaluator keep one half of the model each, and the "
            "coordinator its key, until the study is closed."
        )
        return
    kept = "the model" if study.plan.release.opens is Opens.WEIGHTS else "the encrypted model"
    yield f"{deleted}peers keep {kept}, the coordinator the key until the study is closed."


# Add sentences about another setting as one more function here.
AGREED: tuple[Callable[[Study], Iterator[str]], ...] = (
    _grounds,
    _learning,
    _addition,
    _guards,
    _queries,
    _evaluation,
    _deletion,
)

# docs/text.md says the same; a test compares the two.
JOINT_DICTIONARY = (
    "For `joint`, features are hashed with keyed BLAKE2 into 2^{bits} buckets under a key that the "
    "peers share and the coordinator never learns. A peer zeroes every bucket that fewer than "
    "{fewest} of its own documents have (a group, such as a patient, counts once, and so does a "
    "document however many rows it has). The coordinator gets the sums, per class, of the buckets "
    "that are left, rounded at each peer (where one peer alone has a bucket and "
    "`feature_min_peers` is 1, that peer's counts), and publishes the chosen ids with idf rounded "
    "to 0.5. "
    "**A peer can look up which of its own words were chosen. Whoever holds the key, which is "
    "every peer, can also confirm a guess: test whether any word that it thinks of was chosen.**"
)

_RARE = {
    Rare.STOP: "stops the study",
    Rare.LEAVE_OUT: "is left out of the training, by name",
    Rare.OTHER: "counts as 'other'",
}
