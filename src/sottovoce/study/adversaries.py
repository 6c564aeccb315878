"""What each role could do by deviating, what stops it, and what nothing stops: said in one place.

docs/adversaries.md is made of this (docs/make_adversaries.py), SECURITY.md has the same table of
pools and the same facts, and the study card prints them. A test compares all of them, and that
every test named here exists.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sottovoce.study.plan import Engine
from sottovoce.study.release import Opens
from sottovoce.study.study import Study


def _always(_study: Study) -> bool:
    return True


def _is_shared(study: Study) -> bool:
    return study.engine is Engine.SHARES


def _is_encrypted(study: Study) -> bool:
    return study.engine is Engine.PAILLIER


def _holds_ciphertexts(study: Study) -> bool:
    """Whether peers hold the encrypted model; where it stays in shares the card says what holds."""
    return not study.on_shares


def _is_dealt(study: Study) -> bool:
    return (
        _holds_ciphertexts(study) and study.roster.dealer is not None and study.plan.deals_verdicts
    )


def _is_asked(study: Study) -> bool:
    return study.plan.release.opens is not Opens.WEIGHTS


def _is_evaluated(study: Study) -> bool:
    return study.plan.evaluations > 0


def _has_counts(study: Study) -> bool:
    return study.has_counts


def _tests(attacked: str, *names: str, folder: str = "adversaries") -> tuple[str, ...]:
    """Tests of one file, as pytest calls them."""
    return tuple(f"tests/{folder}/test_{attacked}.py::{name}" for name in names)


@dataclass(frozen=True)
class Deviation:
    """One thing that a role could do.

    `stops` says what makes it impossible or loud (empty where nothing does), `tests` which tests
    play it, `remains` what nothing stops.
    """

    role: str
    does: str
    stops: str
    tests: tuple[str, ...] = ()
    remains: str = "nothing known"


@dataclass(frozen=True)
class PoolingParties:
    """Parties that put together what they saw, against the assumption, and what they get."""

    who: str
    gets: str
    tests: tuple[str, ...] = ()
    applies: Callable[[Study], bool] = _always


@dataclass(frozen=True)
class Fact:
    """A sentence that people read in several places, word for word the same."""

    says: str
    stands_in: tuple[str, ...]
    applies: Callable[[Study], bool] = _always


CARD = "card"
PEER, COORDINATOR, EVALUATOR = "a peer", "the coordinator", "the evaluator"
DEALER, ANYBODY = "the dealer", "anybody"
ROLES = (PEER, COORDINATOR, EVALUATOR, DEALER, ANYBODY)

RARE_COLUMNS = Fact(
    "A word or other column that fewer than `min_documents` of a site's own documents have (a "
    "group, such as a patient, counts once) is left out of the site's counts and of the rows that "
    "it trains with. Columns of a tail are shared by many words, and an encoder's vectors stand in "
    "every row. Rows of a query are read whole: nobody but the asker learns from them.",
    ("SECURITY.md", "docs/blind-sum.md", CARD),
)

LABELS = Fact(
    "Labels of chosen documents tell the model, whatever asks for them: a peer that begins with "
    "its own documents knows it to a cosine of .98 after two labels a feature and of .99 after "
    "four; sixteen a feature give it. So queries, evaluations and every penalty that is tried "
    "count against one budget.",
    ("SECURITY.md", "README.md", "docs/studies.md", CARD),
    _is_asked,
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
    "an evaluator that is a site's own can test words by name.",
    ("SECURITY.md", "docs/text.md", CARD),
    _has_counts,
)

DICTIONARIES = Fact(
    "Which dictionary costs what: `joint` shows the coordinator these counts; `hashed` opens no "
    "counts, and costs up to 8 points of accuracy; `given` opens none either, and everybody knows "
    "its words.",
    ("SECURITY.md", "docs/text.md", CARD),
)

FACTS: tuple[Fact, ...] = (
    RARE_COLUMNS,
    LABELS,
    TOTALS,
    EVALUATION_TABLES,
    FREQUENCIES,
    ALONE,
    DICTIONARIES,
    # Another fact that people read in several places: here.
)

_UNION = "the joint moments, and from them text of the union of all peers, though not whose"
POOLS: tuple[PoolingParties, ...] = (
    PoolingParties("any two of coordinator, evaluator and dealer", _UNION, applies=_is_shared),
    PoolingParties("coordinator and evaluator (engine `paillier`)", _UNION, applies=_is_encrypted),
    PoolingParties(
        "the coordinator and any peer",
        "the weights, and the dictionary by word",
        applies=_holds_ciphertexts,
    ),
    PoolingParties(
        "the dealer of a query and whoever asks",
        "the asker's scores, and from one-word texts, one more than there are features, the exact "
        "weights",
        _tests("weights_for_dealer_and_asker", "test_one_word_texts_give_them_the_exact_weights"),
        applies=_is_dealt,
    ),
    PoolingParties(
        "a receiver of a blind sum and the threshold of a peer's neighbours",
        "that peer's part; above 30 peers that is more than half of its neighbours and itself, "
        "16 of 31 or more, 60 of 119 among 1,000 peers",
    ),
    # Another way to find labels, another engine: its pools here.
)

DEVIATIONS: tuple[Deviation, ...] = (
    # A peer.
    Deviation(
        PEER,
        "gets a surname into the dictionary, contributes made-up moments around it, and asks for "
        "labels of one-word texts, to read the one document of another site that has the surname",
        "the column is zero in the rows of a site where fewer than `min_documents` documents have "
        "it, so the joint model does not depend on what stands beside it there",
        _tests("words_of_a_named_patient", "test_a_column_of_one_document_is_in_no_row"),
        "a word that stands in enough documents of one site is learnt from; documents of one "
        "patient count once only where the site names the group (`--group patient`)",
    ),
    Deviation(
        PEER,
        "asks for labels under another name: as an evaluation of chosen documents, or while a "
        "penalty is chosen",
        "one budget counts every label that the coordinator tells a peer",
        _tests(
            "labels_beyond_the_budget",
            "test_an_evaluation_of_chosen_documents_is_charged",
            "test_labels_told_while_a_penalty_is_chosen_are_charged",
        ),
        "within the budget a peer asks what it likes: two labels a feature tell most of the model",
    ),
    # The coordinator.
    Deviation(
        COORDINATOR,
        "names the selected words by matching their counts with public text of the same kind",
        "the sites round their counts, which blurs them; the dictionary's key stays with the peers",
        _tests("words_named_by_frequency", "test_rounded_counts_name_fewer_words"),
        "the most frequent words can still be named; `hashed` or `given` opens no counts",
    ),
    Deviation(
        COORDINATOR,
        "reads the exact number of documents of a class from the totals",
        "every site rounds its own totals before they are added",
        _tests("totals_of_a_site", "test_no_exact_total_reaches_the_coordinator"),
        "totals of sites with fewer than 100 documents of a class are exact in the sum; the joint "
        "tables of an evaluation are exact",
    ),
    Deviation(
        COORDINATOR,
        "looks which words are one site's alone, where `feature_min_peers` is 2 or more",
        "its sums are one half of the counts; the evaluator has the other half, and hands out "
        "that of words which enough sites have",
        _tests(
            "words_of_one_site_alone",
            "test_the_coordinator_cannot_tell_one_site_from_none",
            "test_a_filter_without_halves_would_show_them",
        ),
        "the evaluator sees how many sites have each nameless word; engine `quorum` has no "
        "evaluator and refuses the setting",
    ),
    Deviation(
        COORDINATOR,
        "shows one of several colluding peers everybody's keys, and lets it try keys until all of "
        "them are neighbours of one victim, above 30 peers",
        "neighbours follow from all keys and a number that the evaluator committed to before, "
        "signs with the keys that it saw, and tells after",
        _tests(
            "neighbours_that_were_chosen",
            "test_a_colluder_that_chooses_its_key_last_chooses_no_neighbours",
            "test_a_fifth_of_the_peers_surrounds_nobody",
            "test_a_coordinator_that_lets_a_key_be_chosen_later_is_named",
        ),
        "where more than a fifth of all peers collude with a receiver, chance may put enough of "
        "them beside somebody",
    ),
    Deviation(
        COORDINATOR,
        "makes a key in whose group it can take logarithms, and reads masked numbers through the "
        "randomisers of what it is asked to decrypt",
        "whatever goes to a key holder is multiplied by a uniform N-th power, and the key comes "
        "with a proof that gcd(N, φ(N)) = 1, so that nothing but the plaintext is left",
        _tests(
            "tagged_keys",
            "test_the_coordinator_reads_no_query_through_randomisers",
            "test_the_codec_lets_no_other_ciphertext_to_a_key_holder",
            folder="attacks",
        ),
        "what it encrypts itself, and the strength of the key's own profile against others",
    ),
    # The evaluator.
    Deviation(
        EVALUATOR,
        "chooses its number for the neighbours after it saw the keys, for peers that collude",
        "the coordinator shows no key before the evaluator has committed to its number, and "
        "compares",
        _tests(
            "neighbours_that_were_chosen",
            "test_an_evaluator_that_chooses_its_number_after_the_keys_is_named",
        ),
        "coordinator and evaluator together need no neighbours: they hold everything",
    ),
    # The dealer.
    # Anybody.
    Deviation(
        ANYBODY,
        "prepares tables against the hash of comparison keys once, for all studies",
        "the hash has another public key in every study, round and attempt",
        _tests(
            "comparison",
            "test_keys_of_one_study_are_of_no_use_in_another",
            folder="protocols/shares",
        ),
    ),
    Deviation(
        ANYBODY,
        "brings back an older copy of a seat's folder, or runs one home at two places, so that one "
        "mask would cover two values",
        "masks and seeds are bound to the documents; every letter is announced by its number and "
        "digest before its body; a seat compares what the server holds of it before anything "
        "leaves, and only one process at a time works at a seat",
        _tests(
            "restored",
            "test_a_restored_site_sends_nothing",
            "test_a_restored_asker_sends_nothing",
            "test_of_a_site_and_its_copy_that_run_at_once_one_is_found_out",
            folder="node",
        )
        + _tests(
            "copies",
            "test_the_server_reads_no_byte_of_a_letter_that_it_would_refuse",
            folder="transport",
        ),
        "a coordinator that forgets what it was told lets an older copy of a site go on; with the "
        "documents that the study began with the copy sends the same bytes, with others it stops",
    ),
    Deviation(
        COORDINATOR,
        "brings back an older copy of its own folder, so that letters are asked for a second time",
        "a seat that confirmed letters which the server does not hold stops, and names the "
        "coordinator",
        _tests("backup", "test_seats_stop_at_an_older_copy_of_the_coordinator", folder="docs"),
    ),
    Deviation(
        ANYBODY,
        "with a seat in one study takes down all studies of a coordinator: by letters that fill "
        "its memory or disk, or by files of one study that are damaged",
        "the plan says how large a letter can be, and a larger one is refused before its body; "
        "letters leave a part of the disk free, and those of one sender take at most a quarter of "
        "the rest; a study that fails ends alone",
        _tests(
            "one_study_against_the_others",
            "test_letters_are_bounded_by_their_kind",
            "test_a_letter_that_no_seat_could_have_written_is_not_read",
            "test_a_mailbox_that_was_moved_away_ends_its_own_study_and_no_server",
            "test_a_damaged_file_of_one_study_hides_no_other",
            "test_a_status_that_cannot_be_written_stops_nothing",
            folder="node",
        )
        + _tests(
            "mailbox",
            "test_one_sender_takes_no_more_than_a_quarter_of_the_disk",
            folder="transport",
        ),
        "many seats together fill the part of the disk that letters may use; letters then wait",
    ),
    Deviation(
        ANYBODY,
        "without a seat keeps the server busy: with old requests that it refuses because of the "
        "clock, or with bodies that it refuses and would read to the end",
        "refusals of an address are counted, whatever the reason, and beyond the limit it is not "
        "listened to; the connection of a refused body ends",
        _tests(
            "limits",
            "test_refusals_because_of_the_clock_count_too",
            "test_a_body_that_was_refused_is_not_read_to_its_end",
            folder="transport",
        ),
        "a flood from many addresses is for the network in front of the server",
    ),
    Deviation(
        ANYBODY,
        "whose text gets into a table writes a cell that a spreadsheet runs as a formula",
        "a cell that begins as a formula does is written with a quote before it",
        _tests("writing", "test_no_cell_is_a_formula_to_a_spreadsheet", folder="sources"),
    ),
)
