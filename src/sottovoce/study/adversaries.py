"""The facts about parties that deviate, or pool what they saw, in one place.

SECURITY.md has the same table of pools and the same facts, and the study card prints them.
docs/make_adversaries.py writes docs/adversaries.md from them and from docs/deviations.py. A test
compares all of them, and checks that every test named here exists.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sottovoce.study.choices import Engine, Verdict
from sottovoce.study.policy import Policy
from sottovoce.study.release import Opens
from sottovoce.study.study import Study


def _always(_study: Study) -> bool:
    return True


def _is_shared(study: Study) -> bool:
    return study.engine is Engine.SHARES


def _is_quorum(study: Study) -> bool:
    return study.engine is Engine.QUORUM


def _has_helpers(study: Study) -> bool:
    return not _is_quorum(study)


def _is_encrypted(study: Study) -> bool:
    return study.engine is Engine.PAILLIER


def _holds_ciphertexts(study: Study) -> bool:
    """Whether peers hold the model encrypted, and nobody in the clear."""
    return _is_asked(study) and not _keeps_shares(study)


def _asks_shares(study: Study) -> bool:
    return study.asks_shares


def _keeps_shares(study: Study) -> bool:
    return study.on_shares or _is_quorum(study)


def _counted_by_holders(study: Study) -> bool:
    return _keeps_shares(study) and _is_asked(study)


def _is_helped_on_shares(study: Study) -> bool:
    askers = study.roster.peers
    return study.asks_shares and any(study.verdict_for(peer) is Verdict.FSS for peer in askers)


def _deals_itself(study: Study) -> bool:
    return study.deals_itself


def _is_fast(study: Study) -> bool:
    return study.fast_labels


def is_dealt(study: Study) -> bool:
    """Whether a party deals for labels of models that peers hold as ciphertexts.

    If no dealer is named, or it belongs to the asker's organisation, the evaluator deals.
    """
    if not _holds_ciphertexts(study) or not study.plan.deals_verdicts:
        return False
    return any(study.query_dealer(peer) is not None for peer in study.roster.peers)


def _joins_documents(study: Study) -> bool:
    """Whether contributions are added up, so that nobody can tell whose documents they hold."""
    return not study.plan.arrangement.by_features


def _has_text(study: Study) -> bool:
    return study.plan.has_text


def _has_several_owners(study: Study) -> bool:
    return not study.outsourced


def _is_asked(study: Study) -> bool:
    return study.plan.release.opens is not Opens.WEIGHTS


def _tells_labels(study: Study) -> bool:
    return study.plan.release.opens is Opens.LABELS


def _is_evaluated(study: Study) -> bool:
    return study.is_evaluated


def _has_waves(study: Study) -> bool:
    return study.plan.beside.mapped > 0


def _has_own_scores(study: Study) -> bool:
    return study.plan.beside.has_own_scores


def _has_counts(study: Study) -> bool:
    return study.has_counts


def named_tests(attacked: str, *names: str, folder: str = "adversaries") -> tuple[str, ...]:
    """Return the pytest names of tests of one file."""
    return tuple(f"tests/{folder}/test_{attacked}.py::{name}" for name in names)


@dataclass(frozen=True)
class PoolingParties:
    """Parties that might pool what they saw, in which engine, and what they would learn."""

    engine: str
    who: str
    gets: str
    tests: tuple[str, ...] = ()
    applies: Callable[[Study], bool] = _always


@dataclass(frozen=True)
class Fact:
    """A sentence that several pages show, word for word the same."""

    says: str
    stands_in: tuple[str, ...]
    applies: Callable[[Study], bool] = _always


CARD = "card"

RARE_COLUMNS = Fact(
    "A word or other column that fewer than `min_documents` of a site's own documents have (a "
    "group, such as a patient, counts once) is left out of the site's counts and of the rows that "
    "it trains with. Columns of a tail are shared by many words, and an encoder's vectors stand in "
    "every row. Rows of a query are read whole: nobody but the asker learns from them.",
    ("SECURITY.md", "docs/blind-sum.md", CARD),
)

PLAUSIBLE_TOTALS = Fact(
    "A site refuses totals of more rows than its policy allows for so many peers "
    f"(`rows_per_peer`: {Policy().rows_per_peer:,} documents a peer unless the site says "
    "otherwise, a hundred times as many sentences or tokens), before it contributes anything. With "
    "engine `quorum` the members then hold every peer's contribution against the rows that it "
    "claimed, and name a peer whose numbers weigh more; with the other engines coordinator and "
    "evaluator open one bit, whether the sum of all contributions weighs no more than the "
    "published rows can, and the study stops if not. Of n sampled rados up to (1 + 20/√n)² times "
    "as much is let pass, since chance may do that; where the learner is `rado-descent`, rados "
    "are compared with no rows: a study stops whose exponents leave their range, and within it a "
    "peer of four can turn the model around. Whether a site's numbers are true, nobody can see.",
    ("SECURITY.md", "docs/blind-sum.md", CARD),
    _has_several_owners,
)

ANSWER_TIMES = Fact(
    "A peer's answers leave at a few times that everybody knows, each twice the one before: how "
    "long a pass over its documents took, and so how many it has, shows no finer than to a factor "
    "of two (beyond 41 s, in steps of 41 s).",
    ("SECURITY.md", "README.md", "docs/studies.md", CARD),
)

SINGLE_DOCUMENTS = Fact(
    "Columns of an encoder and of a kernel have no minimum: every document has all of them. So a "
    "document unlike all others has a say in the sealed model where a rare word has none, and a "
    "kernel remembers it best: whoever asks for the label of that very text, or of one near it, "
    "gets a label that leans to the one it was trained with. A tail and a light penalty remember "
    "it, too, though less. That takes the text, and counts against the budget.",
    ("SECURITY.md", CARD),
    _has_waves,
)

OWN_SCORES = Fact(
    "Scores of a site's own model come from all its words, also those of a single document, and "
    "stand in all its rows, as few numbers as there are classes. Of a column at most its rounded "
    "mean is opened, and the model never leaves its site, which alone computes its scores. A "
    "document's own text is scored by a model that did not see it, so these columns add nothing "
    "to what its label says of it; other texts with its rare words, asked about at its own site, "
    "are scored by models that did.",
    ("SECURITY.md", CARD),
    _has_own_scores,
)

LABELS = Fact(
    "Labels of chosen documents tell the model, whatever asks for them: a peer that begins with "
    "its own documents knows it to a cosine of .98 after two labels a feature and of .99 after "
    "four; sixteen a feature give it. So queries, evaluations and every model that is tried "
    "count against one budget.",
    ("SECURITY.md", "README.md", "docs/studies.md", CARD),
    _tells_labels,
)

HELPERS_COUNT = Fact(
    "The coordinator keeps the budget. Whoever holds a share of the model (the members of engine "
    "`quorum`, the evaluator where labels are found on shares) counts the rows of every query by "
    "itself, and refuses a peer more than twice the budget, also if the coordinator lets it ask "
    "on.",
    ("SECURITY.md", CARD),
    _counted_by_holders,
)

TOTALS = Fact(
    "Every site rounds its numbers of rows, altogether and of each class, up to two digits before "
    "they are added; numbers below 100 stay as they are. The coordinator sees the sums.",
    ("SECURITY.md", "docs/studies.md", CARD),
)

EVALUATION_TABLES = Fact(
    "The coordinator sees the exact joint table of an evaluation, and the exact counts of its "
    "ROC; everybody else sees them without small cells.",
    ("SECURITY.md", "README.md", "docs/studies.md", CARD),
    _is_evaluated,
)

FREQUENCIES = Fact(
    "For every nameless word that a site kept, the coordinator sees the sum of the sites' counts "
    "by class, each rounded at its site to the nearest of 0, 3, 9, 27 and so on. With public text "
    "of the same kind it can name frequent words by that: of the 50 most frequent selected ones "
    "20 in short messages and 32 in medical dialogues; without rounding 26 and 43 (`sottovoce "
    "attack --on dictionary`).",
    ("SECURITY.md", "docs/text.md", CARD),
    _has_counts,
)

ALONE = Fact(
    "With `feature_min_peers = 1`, the default, the counts of a word that one site alone has are "
    "that site's, though neither word nor site is named. From 2 on the evaluator leaves out what "
    "fewer sites have before the coordinator sees anything: the coordinator cannot tell whether "
    "one site has such a word or none. The evaluator sees how many sites have each nameless word; "
    "an evaluator that is a site's own can test words by name. Engine `quorum` has no evaluator, "
    "and no more than 1.",
    ("SECURITY.md", "docs/text.md", CARD),
    _has_counts,
)

DICTIONARIES = Fact(
    "Which dictionary costs what: `joint` shows the coordinator counts of nameless words; `hashed` "
    "opens no counts, and costs up to 8 points of accuracy; `given` opens none either, and "
    "everybody knows its words.",
    ("SECURITY.md", "docs/text.md", CARD),
    _has_text,
)

FACTS: tuple[Fact, ...] = (
    RARE_COLUMNS,
    PLAUSIBLE_TOTALS,
    ANSWER_TIMES,
    SINGLE_DOCUMENTS,
    OWN_SCORES,
    LABELS,
    HELPERS_COUNT,
    TOTALS,
    EVALUATION_TABLES,
    FREQUENCIES,
    ALONE,
    DICTIONARIES,
    # Add further facts that several pages show here.
)

_UNION = (
    "the joint moments or rados, and from them documents of the union of all peers, though not "
    "whose"
)
_MINORITY = named_tests(
    "sharing",
    "test_a_minority_sees_noise_and_one_more_sees_everything",
    folder="protocols/quorum",
)
POOLS: tuple[PoolingParties, ...] = (
    PoolingParties(
        "`quorum`",
        "as many members as the threshold (one of three, two of five), or fewer",
        "nothing: any value fits the shares that they hold",
        _MINORITY
        + named_tests(
            "pooled_views",
            "test_what_may_be_pooled_is_noise",
            "test_attacks_find_nothing_in_what_may_be_pooled",
            folder="study",
        ),
        applies=_is_quorum,
    ),
    PoolingParties(
        "`quorum`",
        "the coordinator and as many members as the threshold",
        "nothing of moments, model, rows, scores or labels of others",
        named_tests(
            "tally",
            "test_totals_of_one_row_do_not_tell_its_owner_and_the_opener_the_comparison",
            folder="protocols/quorum",
        ),
        applies=_is_quorum,
    ),
    PoolingParties(
        "`quorum`",
        "one member more than the threshold (two of three, three of five)",
        "the counts and the moments of every single peer, and from them documents and whose they "
        "are; the weights; the rows of every query",
        _MINORITY
        + named_tests(
            "pooled_views",
            "test_one_member_more_rebuilds_text",
            "test_one_member_more_reads_the_model",
            "test_one_member_more_reads_the_rows_of_a_query",
            folder="study",
        ),
        applies=_is_quorum,
    ),
    PoolingParties(
        '`quorum` with `verdict = "fss"`',
        "an asker and the member that compares with it, or that member and the one that deals",
        "the asker's scores, and from as many of them as there are features the weights: from a "
        "threshold of 2 on these are fewer organisations than for anything else",
        named_tests(
            "fast_labels",
            "test_the_asker_and_its_counterpart_read_the_scores",
            "test_the_counterpart_and_the_dealer_read_the_scores",
            folder="protocols/quorum",
        ),
        applies=_is_fast,
    ),
    PoolingParties(
        "`shares`",
        "any two of coordinator, evaluator and dealer",
        _UNION,
        applies=lambda study: _is_shared(study) and _joins_documents(study),
    ),
    PoolingParties(
        "`shares` with labels on shares",
        "any two of coordinator, evaluator and dealer, once there is a model",
        "the weights, and the rows of every query",
        applies=_asks_shares,
    ),
    PoolingParties(
        "`shares` with labels on shares",
        "an asker for whom the dealer deals, and any one of coordinator, evaluator and dealer",
        "no more than the asker's labels, and with the coordinator in an evaluation the ROC's "
        "counts of its rows",
        applies=_is_helped_on_shares,
    ),
    PoolingParties(
        "`shares` with labels on shares",
        "an asker that deals for itself, as without a dealer, and coordinator or evaluator",
        "the weights",
        applies=_deals_itself,
    ),
    PoolingParties(
        "`paillier`",
        "coordinator and evaluator",
        _UNION,
        applies=lambda study: _is_encrypted(study) and _joins_documents(study),
    ),
    PoolingParties(
        "`paillier`, `shares` with labels on ciphertexts",
        "the coordinator and any peer",
        "the weights that the peer holds encrypted",
        applies=_holds_ciphertexts,
    ),
    PoolingParties(
        "`paillier`, `shares` with labels on ciphertexts",
        "the dealer of a query and whoever asks",
        "the asker's scores, and from rows of one feature each, one more than there are features, "
        "the exact weights of all that an asker can choose",
        named_tests(
            "weights_for_dealer_and_asker",
            "test_one_word_texts_give_them_the_exact_weights",
            "test_the_shipped_example_makes_no_peer_dealer_or_evaluator",
        ),
        applies=is_dealt,
    ),
    PoolingParties(
        'any with `dictionary = "joint"`',
        "the coordinator and any peer",
        "the dictionary by word, with its rounded counts in the union of all peers",
        applies=_has_counts,
    ),
    PoolingParties(
        "`paillier`, `shares`",
        "a receiver of a blind sum and the threshold of a peer's neighbours",
        "that peer's part; above 30 peers that is more than half of its neighbours and itself, "
        "16 of 31 or more, 60 of 119 among 1,000 peers",
        applies=_has_helpers,
    ),
    # Add the pools of another engine, or of another way to find labels, here.
)
