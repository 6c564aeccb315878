"""What each role could do by deviating, what stops it, and what nothing stops: said in one place.

What the coordinator and what anybody could do stands in files of their own.
docs/make_adversaries.py writes docs/adversaries.md from all tables; a test checks that every test
named there exists.
"""

from deviation import DEALER, EVALUATOR, PEER, Deviation
from deviations_of_anybody import OF_ANYBODY
from deviations_of_coordinator import OF_COORDINATOR

from sottovoce.study.adversaries import named_tests

DEVIATIONS: tuple[Deviation, ...] = (
    # A peer.
    Deviation(
        PEER,
        "gets a surname into the dictionary, contributes made-up moments around it, and asks for "
        "labels of one-word texts, to read the one document of another site that has the surname",
        "the column is zero in the rows of a site where fewer than `min_documents` documents have "
        "it, so the joint model does not depend on what stands beside it there",
        named_tests(
            "words_of_a_named_patient",
            "test_whoever_has_the_surname_a_site_contributes_the_same",
            "test_a_column_of_one_document_is_in_no_row",
            "test_with_it_in_the_rows_labels_alone_give_the_words_away",
        ),
        "a word that stands in enough documents of one site is learnt from; documents of one "
        "patient count once only where the site names the group (`--group patient`)",
    ),
    Deviation(
        PEER,
        "claims a million documents, so that what it contributes may outweigh everybody else",
        "every site refuses totals of more rows a peer than its policy allows, before it "
        "contributes anything",
        named_tests(
            "words_of_a_named_patient", "test_a_site_refuses_totals_that_its_peers_cannot_have"
        ),
        "below that bound nobody can say how many documents a peer has",
    ),
    Deviation(
        PEER,
        "claims few documents, and contributes numbers as large as those of many",
        "engine `quorum`: before anything is added up, the members hold every peer's numbers "
        "against the rows that it claimed with the totals, on shares: the trace, and the "
        "right-hand side along eight random directions; who fails is named, and the study stops. "
        "Engines `shares` and `paillier`, in both partitions: before the solve coordinator and "
        "evaluator open one bit, whether trace and right-hand side of the sum can be those of the "
        "published rows, and stop if not",
        named_tests(
            "contributions_beyond_their_rows",
            "test_in_a_quorum_the_peer_is_named",
            "test_on_shares_and_on_ciphertexts_the_study_stops",
            "test_columns_of_entities_that_are_larger_than_columns_can_be_stop_the_study",
            "test_without_the_comparison_the_residual_is_small_and_the_model_is_the_peers",
        )
        + named_tests(
            "words_of_a_named_patient",
            "test_who_claims_few_rows_cannot_contribute_as_if_it_had_many",
        )
        + named_tests(
            "moment_check",
            "test_who_contributes_more_than_its_rows_is_named",
            "test_who_claims_other_rows_than_before_is_named",
            "test_a_large_column_of_the_right_hand_side_is_seen",
            "test_what_wraps_around_in_one_field_does_not_pass",
            folder="protocols/quorum",
        )
        + named_tests(
            "moment_check",
            "test_a_matrix_that_is_too_heavy_does_not",
            "test_a_right_hand_side_that_is_too_long_does_not",
            "test_no_word_wraps_around_to_something_small",
            folder="protocols/shares",
        )
        + named_tests(
            "moment_check",
            "test_a_matrix_that_is_too_heavy_does_not",
            "test_a_right_hand_side_that_is_too_long_does_not",
            "test_a_slot_that_holds_more_than_any_number_may_does_not",
            folder="protocols/two_party",
        ),
        "how the weight is spread inside the matrix; a right-hand side of up to eleven times what "
        "the rows can have (`quorum`), and columns of it while the whole fits (`shares` and "
        "`paillier`, whose bit does not name the peer). A coordinator that pools with the peer can "
        "tell the members that all is well. Of n sampled rados up to (1 + 20/√n)² times the weight "
        "passes, and in partition `features` all that rows could weigh if every column were at its "
        "largest",
    ),
    Deviation(
        PEER,
        "makes up counts of words that are less than nothing, to see by the dictionary whether the "
        "counts of the others are above a number of its choice; two counts share a word, so that "
        "one of them runs over into its neighbour",
        "the coordinator stops a study in which a word stands in more rows than there are, or in "
        "fewer than none",
        named_tests(
            "counts_beyond_their_rows",
            "test_a_peer_that_subtracts_more_than_the_others_have_stops_the_study",
            "test_without_the_comparison_the_dictionary_tells_a_count_of_the_others",
        ),
        "who subtracts no more than the others have is not seen, and the published weight of the "
        "word then tells it their count more finely than its own documents would; which words get "
        "into the dictionary, a peer can bend in any case",
    ),
    Deviation(
        PEER,
        "makes its rados up where the learner is `rado-descent`",
        "the evaluator opens before every step whether all exponents are in range: rados that are "
        "long drive them out of it, and the study stops",
        named_tests(
            "rado_descent",
            "test_a_peer_that_makes_up_long_rados_leaves_the_range_and_the_study_stops",
            "test_within_the_range_one_peer_of_four_turns_the_model_around",
            folder="estimators",
        ),
        "within the range rados are compared with no rows, and the two forms in which a peer sends "
        "them with nothing: one peer of four can turn the model around. To compare lengths would "
        "not stop that: made-up rados need be no longer than honest ones",
    ),
    Deviation(
        PEER,
        "asks for labels under another name: as an evaluation of chosen documents, or while a "
        "model is chosen",
        "one budget counts every label that the coordinator tells a peer",
        named_tests(
            "labels_beyond_the_budget",
            "test_an_evaluation_of_chosen_documents_is_charged",
            "test_labels_told_while_a_penalty_is_chosen_are_charged",
        ),
        "within the budget a peer asks what it likes: two labels a feature tell most of the model",
    ),
    Deviation(
        PEER,
        "gives one member of engine `quorum` a share of its numbers that does not fit the others', "
        "to spoil the study, or to have that member blamed",
        "the study stops where the shares first meet: shares that lie on no polynomial, or a "
        "number outside of its range. Where enough other members are there the member is named "
        "whose share does not fit, and the error says that it may have been given wrongly",
        named_tests(
            "shares_that_do_not_fit",
            "test_it_stops_the_study_and_no_honest_member_is_said_to_be_wrong",
        ),
        "nobody can tell that peer from that member: people have to ask both",
    ),
    Deviation(
        PEER,
        "asks the members of engine `quorum` about rows larger than rows can be, to be told the "
        "size of a score, and from one word a label the exact weights",
        "members open among themselves whether every sign is a bit before they use or tell one; if "
        "not, the query ends, it is charged, and every member's people are told",
        named_tests(
            "scores_read_as_labels",
            "test_rows_that_no_document_has_are_told_no_label_and_are_charged",
        )
        + named_tests(
            "labels",
            "test_rows_larger_than_rows_can_be_are_told_no_label",
            "test_without_the_check_they_would_give_the_exact_weights",
            folder="protocols/quorum",
        ),
        "that a query ended so is a bit, too; a member or coordinator that pools with the asker, "
        "and guesses how large a score is, can hide that it is too large, and is seen where it "
        "guesses wrong",
    ),
    # The evaluator.
    Deviation(
        EVALUATOR,
        "chooses its number for the neighbours after it saw the keys, for peers that collude",
        "the coordinator shows no key before the evaluator has committed to its number, and "
        "compares",
        named_tests(
            "neighbours_that_were_chosen",
            "test_an_evaluator_that_chooses_its_number_after_the_keys_is_named",
        ),
        "coordinator and evaluator together need no neighbours: they hold everything",
    ),
    # The dealer.
    Deviation(
        DEALER,
        "deals numbers that do not belong together",
        "",
        remains="it can make the model or labels wrong, and the checks of numbers, which use what "
        "it dealt; it learns nothing by that, because it is told who takes part, rounded totals, "
        "who asks about how many rows, random bytes of the evaluator, and nothing else",
    ),
    *OF_COORDINATOR,
    *OF_ANYBODY,
)
