"""What the coordinator could do by deviating, what stops it, and what nothing stops."""

from deviation import COORDINATOR, Deviation

from sottovoce.study.adversaries import named_tests

OF_COORDINATOR: tuple[Deviation, ...] = (
    Deviation(
        COORDINATOR,
        "pools with a peer that asks the members of engine `quorum` about rows larger than rows "
        "can be, and tells the members that all is well, or reads scores through their masks",
        "members put the check together themselves, sealed from the coordinator, each bound to its "
        "share before it sees another; masks fill their fields, so that a score of any size shows "
        "no more than log2(t + 1) bits beside its label, in a query that ends loudly",
        named_tests(
            "labels",
            "test_a_coordinator_cannot_tell_the_members_that_larger_rows_are_rows",
            "test_a_member_cannot_choose_its_share_of_the_check_after_those_of_others",
            "test_a_coordinator_reads_no_score_through_the_mask_of_a_larger_row",
            "test_a_coordinator_that_spoils_a_coin_sees_no_bit_under_it",
            "test_a_coordinator_can_make_a_label_another_bit_of_the_score_and_no_more",
            "test_with_more_classes_a_coordinator_can_choose_the_match_that_a_label_tells",
            folder="protocols/quorum",
        ),
        "by wrong numbers in other openings it can make a label another bit of the score, such as "
        "whether the score's last places are above a random number, or another match among three "
        "or more classes, and nobody sees it; one label still tells one bit (of K classes one of "
        "K), and is counted. Of an asker that does not pool with it, it makes labels wrong, and "
        "learns at most whether the check fails: one bit a query, and then everybody is told",
    ),
    Deviation(
        COORDINATOR,
        "tells wrong products while the members of engine `quorum` count for a joint ROC, so that "
        "rows weigh differently in the totals that it opens, and it reads the class of each; or a "
        "peer that pools with it makes up the marks of its own rows, to read every comparison",
        "members open among themselves whether all places and marks are bits before they count",
        named_tests(
            "tally",
            "test_a_coordinator_that_weighs_rows_reads_no_class_of_a_single_one",
            "test_a_peer_that_makes_up_marks_learns_no_comparison_of_a_row",
            folder="protocols/quorum",
        ),
        "a peer can say of its own rows that they are of any class",
    ),
    Deviation(
        COORDINATOR,
        "adds numbers of its own to its shares while a joint evaluation counts (engines `shares` "
        "and `paillier`), so that single rows weigh more in the totals that it opens, and it reads "
        "their class, or where their scores lie among the thresholds",
        "every site asks about its held-out rows in an order that it draws, with empty rows among "
        "them, so that the coordinator does not know which document a row is of; and the totals "
        "are no longer than a joint count",
        named_tests(
            "rows_weighed_in_a_roc",
            "test_which_documents_a_coordinator_weighs_it_does_not_know",
            "test_in_the_order_of_the_file_it_would_read_every_class",
            "test_without_a_dealer_it_does_not_know_whose_rows_it_weighs",
            "test_without_a_dealer_it_would_read_every_class_in_the_order_of_the_file",
            "test_where_others_look_rows_up_it_does_not_know_whose_rows_it_weighs",
            "test_where_others_look_rows_up_it_would_read_every_class_in_the_order_of_the_file",
        ),
        "it reads some rows of a site so, without knowing whose: how many of a site's held-out "
        "documents are of a class, for example, where the joint table tells that of all sites; a "
        'peer that looks rows up for others (`remote = "full"`) knows their order, and could tell '
        "it the coordinator",
    ),
    Deviation(
        COORDINATOR,
        "pools with a peer whose marks in an evaluation are no bits, to read from the ROC's counts "
        "where the score of each of its rows lies (labels on shares)",
        "the evaluator's shares of these counts are no longer than a joint count, and it counts an "
        "asker's evaluations by itself, on disk, and refuses more than twice as many as are agreed",
        named_tests(
            "scores_read_in_an_evaluation",
            "test_of_rows_that_an_asker_weighs_no_more_than_a_joint_count_has_is_read",
            "test_in_whole_words_more_rows_would_be_read",
            "test_a_coordinator_that_evaluates_on_and_on_is_stopped_by_the_evaluator",
        )
        + named_tests(
            "opened_sums",
            "test_how_many_evaluations_a_helper_worked_on_outlives_its_process",
            folder="node/seat",
        ),
        "of an evaluation at 32 thresholds with 4,096 labels for each of three peers, 64 counts of "
        "14 bits: they tell the two as much as some 900 labels, twice at the most",
    ),
    Deviation(
        COORDINATOR,
        "pools with a peer, and lets it ask for labels beyond its budget",
        "whoever holds a share of the model counts the rows of every query by itself, on disk "
        "before anything of an answer leaves, whatever number the coordinator gives the query, and "
        "refuses more than twice the budget; its people are told",
        named_tests(
            "labels_beyond_the_budget",
            "test_a_coordinator_that_forgets_what_its_friend_was_told_is_stopped_by_the_others",
            "test_a_coordinator_that_gives_all_queries_one_number_is_stopped_by_the_others",
            "test_a_query_that_is_run_again_after_a_crash_counts_once",
        )
        + named_tests(
            "opened_sums",
            "test_how_many_rows_a_helper_worked_on_outlives_its_process",
            folder="node/seat",
        )
        + named_tests(
            "queries",
            "test_the_people_of_a_helper_hear_of_a_query_that_broke_the_rules",
            folder="course",
        ),
        "up to twice the budget; where labels are found on ciphertexts the coordinator alone "
        "counts, and has the weights together with any peer",
    ),
    Deviation(
        COORDINATOR,
        "names the selected words by matching their counts with public text of the same kind",
        "the sites round their counts, which blurs them; the dictionary's key stays with the peers",
        named_tests(
            "words_named_by_frequency",
            "test_rounded_counts_name_fewer_words",
            "test_these_are_the_counts_that_a_coordinator_gets_in_a_study",
        ),
        "the most frequent words can still be named; `hashed` or `given` opens no counts",
    ),
    Deviation(
        COORDINATOR,
        "reads the exact number of documents of a class from the totals",
        "every site rounds its own totals before they are added",
        named_tests("totals_of_a_site", "test_no_exact_total_reaches_the_coordinator"),
        "totals of sites with fewer than 100 documents of a class are exact in the sum; the joint "
        "tables of an evaluation are exact",
    ),
    Deviation(
        COORDINATOR,
        "looks which words are one site's alone, where `feature_min_peers` is 2 or more",
        "its sums are one half of the counts; the evaluator has the other half, and hands out "
        "that of words which enough sites have",
        named_tests(
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
        named_tests(
            "neighbours_that_were_chosen",
            "test_a_colluder_that_chooses_its_key_last_chooses_no_neighbours",
            "test_a_fifth_of_the_peers_surrounds_nobody",
            "test_a_coordinator_that_lets_a_key_be_chosen_later_is_named",
            "test_without_the_evaluators_number_they_read_the_victims_counts",
        ),
        "where more than a fifth of all peers collude with a receiver, chance may put enough of "
        "them beside somebody",
    ),
    Deviation(
        COORDINATOR,
        "opens a sum of engine `quorum` over all peers with some members, says that a peer left, "
        "and opens it without that peer with the other members: the difference is what that one "
        "put in",
        "no member gives its share of a sum before every other member said, sealed from the "
        "coordinator, that it wrote down the same sum over the same peers; who wrote one down "
        "agrees to no other",
        named_tests(
            "sums_over_two_sets",
            "test_no_member_gives_its_share_before_all_have_noted_the_same_sum",
            "test_what_all_have_noted_is_opened_over_no_other_set",
            "test_members_that_hear_the_coordinator_alone_give_one_peers_counts_away",
        ),
        "a member that falls silent between its word and the others' stops the study",
    ),
    Deviation(
        COORDINATOR,
        "tells the members of engine `quorum` other numbers than they opened, in a step of the "
        "solve, so that the next ones grow out of their masks, and reads columns of the joint "
        "moments there",
        "before a model is used, members add up random halves of all that they opened, from their "
        "own shares, and of all that they were told, sealed from the coordinator; where the two "
        "do not fit, the study stops, the coordinator is named, and nobody has a model. The same "
        "check covers the last bit of a solve and the cuts that make a model of its result",
        named_tests(
            "told_check",
            "test_an_opener_that_tells_something_else_is_named",
            "test_an_opener_that_is_believed_reads_a_column_of_the_joint_moments_in_silence",
            "test_the_bit_that_says_all_is_well_is_checked_too",
            folder="protocols/quorum",
        ),
        "it is found out when the steps are over: until then it reads one nameless column a step. "
        "With a member that pools with it and gives wrong shares, where no more than 2t + 1 are "
        "there, the check passes. In engine `paillier`, too, masks cover numbers within their "
        "bounds alone, and nothing compares what a key holder answers with what it was asked",
    ),
    Deviation(
        COORDINATOR,
        "tells the members of engine `quorum` that the joint spectrum ends lower than it does, or "
        "publishes fewer rows than there are, so that the numbers of the solve grow out of their "
        "masks by themselves, and says in the end that all is well",
        "before a solve begins, the members compare the end that they were told, and every bit "
        "about the contributions, with their own shares, sealed from the coordinator, in the same "
        "way as the steps of the solve; on shares they compare the published rows with those that "
        "all peers claimed, and learn one bit. Where either does not fit, the coordinator is "
        "named, and no solve begins",
        named_tests(
            "told_another_spectrum",
            "test_the_coordinator_is_named_before_the_solve_begins",
            "test_members_that_believe_it_begin_to_solve",
        )
        + named_tests(
            "told_check",
            "test_with_an_end_that_is_too_low_an_opener_reads_an_eigenvector_in_silence",
            folder="protocols/quorum",
        )
        + named_tests(
            "moment_check",
            "test_totals_of_fewer_rows_than_all_peers_claimed_are_refused",
            folder="protocols/quorum",
        ),
        "a coordinator that tells a wrong bit about a peer's contribution stops the study, and has "
        "that peer named instead of itself. Peers that are no members hear the ends from the "
        "coordinator alone: wrong ones spoil how their own answers are read. With weighted classes "
        "the published rows may be up to four times too few, which takes two bits off a mask",
    ),
    Deviation(
        COORDINATOR,
        "hands a member of engine `quorum` that starts again, or whose folder came back from a "
        "backup, the letters of an old query once more, with other rows of an asker that sides "
        "with it, or with other opened values: a second share under the same mask would give the "
        "member's share of the model away",
        "a member's journal keeps every step of a query before anything is sent: what comes again "
        "changes nothing. A query that is over is deleted from it, and is never begun again. What "
        "others deal to a member is bound to random bytes that it draws once it holds the rows, "
        "and to all values opened before: a folder that does not know the query, or was copied "
        "in its middle, refuses what was dealt before anything masked leaves. The same holds for "
        "trainings and evaluations. Numbers for several steps of a solve are dealt together: what "
        "a member opens is also covered by a sharing of zero that is bound to all values opened "
        "before, so that a copy of the middle that is told other values shows nothing",
        named_tests(
            "replayed_query",
            "test_a_member_that_starts_again_in_the_middle_masks_nothing_twice",
            "test_a_query_that_is_over_is_never_begun_again",
            "test_a_member_from_a_backup_refuses_what_was_dealt_to_it_before",
            "test_if_it_took_what_was_dealt_it_would_give_its_share_of_the_model_away",
            "test_a_copy_of_the_middle_refuses_what_was_dealt_after_other_openings",
            "test_if_it_did_not_one_mask_would_cover_two_products",
        )
        + named_tests(
            "copy_of_a_solves_middle",
            "test_a_copy_that_is_told_another_value_covers_its_shares_anew",
            "test_without_covers_it_would_give_its_share_of_a_column_away",
            "test_covers_open_zero_and_any_pooling_members_lack_one",
        ),
        'with `verdict = "fss"` a copy of the comparing member from the middle of a query '
        "compares once more for an asker that sides with the coordinator, each time against "
        "another number, until the asker has its scores (a test does it: "
        "`test_copy_that_compares_again.py::"
        "test_a_copy_of_the_comparing_member_compares_until_the_asker_has_its_scores`). That would "
        "take one more trip to the dealing member in every level of a comparison. `verdict = "
        '"auto"` finds labels without it, and an honest server finds the copy out',
    ),
    Deviation(
        COORDINATOR,
        "hands an evaluator of engine `shares` whose folder came back from a backup the letters of "
        "an old training or query once more, with other shares of its own: a second share under "
        "the same mask would show the joint moments or the model",
        "what the dealer deals is bound to random bytes that the evaluator draws in every run of a "
        "conversation: a folder that does not know the conversation draws others, and refuses what "
        "was dealt before anything masked leaves. After a crash the journal gives the same bytes",
        named_tests(
            "replayed_solve",
            "test_an_evaluator_from_a_backup_refuses_what_was_dealt_to_it_before",
            "test_if_it_took_what_was_dealt_the_coordinator_would_read_the_joint_moments",
            "test_a_dealer_deals_other_seeds_to_another_run",
            "test_after_a_crash_the_same_bytes_leave",
        )
        + named_tests(
            "views", "test_whatever_is_dealt_to_the_evaluator_is_bound_to_its_run", folder="study"
        ),
        "a copy of the folder from the middle of a training or query has these bytes, and what was "
        "dealt: told other shares, it shows an entry of the joint moments or of the model each "
        "time (a test does it: "
        "`test_replayed_solve.py::test_a_copy_of_the_middle_of_a_solve_still_shows_it`). That "
        "would take numbers dealt for each step after the one before, one more trip to the dealer "
        "a step. `sottovoce backup` makes no copy while a seat is at work, and an honest server "
        "finds any copy out",
    ),
    Deviation(
        COORDINATOR,
        "tells one peer another joint mean than the others, so that its rows are measured from "
        "elsewhere and its part in the sums shows",
        "what is used once in the contributions (keys and masks of blind sums, seeds and shares of "
        "engine `quorum`) is bound to a digest of the point that each was told: who was told "
        "another and the others refuse what they get, and the study stops before it solves",
        named_tests(
            "published",
            "test_who_is_told_another_mean_is_in_no_sum",
            "test_in_a_quorum_who_is_told_another_mean_is_in_no_sum",
            folder="study",
        ),
        "a point that is not the joint mean, told to everybody alike: it costs steps of the solve "
        "and gives the same model. In engine `quorum` nobody is named for it: a peer that says it "
        "was told another point, and was not, stops the study in the same way",
    ),
    Deviation(
        COORDINATOR,
        "makes a key in whose group it can take logarithms, and reads masked numbers through the "
        "randomisers of what it is asked to decrypt",
        "whatever goes to a key holder is multiplied by an N-th power within 2^−65 of uniform, "
        "and the key comes with a proof that gcd(N, φ(N)) = 1, so that nothing but the plaintext "
        "is left",
        named_tests(
            "tagged_keys",
            "test_a_coordinator_that_made_its_key_for_it_reads_no_query_of_a_study",
            "test_the_coordinator_reads_no_query_through_randomisers",
            "test_the_codec_lets_no_other_ciphertext_to_a_key_holder",
            folder="attacks",
        )
        + named_tests("rules", "test_a_paillier_key_without_its_proof_is_refused", folder="study"),
        "what it encrypts itself, and the strength of the key's own profile against others",
    ),
    Deviation(
        COORDINATOR,
        "watches how long a peer takes to answer, which is as long as it has documents",
        "what follows a pass over documents, letters and requests alike, leaves at a few times "
        "that everybody knows, each twice the one before, up to 41 s and every 41 s from there",
        named_tests(
            "documents_counted_by_the_clock",
            "test_the_server_sees_the_same_times_of_fewer_and_of_more_documents",
            "test_without_waiting_it_sees_their_number",
            "test_what_begins_while_something_is_held_back_is_the_same_work",
        ),
        "up to 41 s of work the time shows the number of documents to a factor of two, and beyond "
        "that in steps of 41 s, as far as the speed of the peer's machine is known",
    ),
    Deviation(
        COORDINATOR,
        "writes an invitation whose seats are paths, so that a site writes outside its home",
        "a name that becomes a path holds letters, digits, - and _ only",
        named_tests(
            "site",
            "test_path_traversal_through_the_seats_of_an_invitation",
            "test_a_membership_file_that_names_a_path_as_its_seat_is_refused",
            folder="node/site",
        )
        + named_tests(
            "terminal_escapes",
            "test_an_invitation_that_names_a_path_writes_nothing_anywhere",
            folder="cli",
        ),
    ),
    Deviation(
        COORDINATOR,
        "brings back an older copy of its own folder, so that letters are asked for a second time",
        "a seat that confirmed letters which the server does not hold stops, and so does one that "
        "has read letters which it does not know: every start of a server numbers letters anew, at "
        "a place that is drawn; both name the coordinator",
        named_tests("backup", "test_seats_stop_at_an_older_copy_of_the_coordinator", folder="docs")
        + named_tests(
            "copies",
            "test_a_seat_that_read_beyond_an_older_copy_of_the_server_does_not_wait",
            "test_letters_of_others_do_not_hide_an_older_copy_of_the_server",
            folder="transport",
        ),
        "who neither sent nor read anything since the copy does not notice it, and has lost "
        "nothing by it",
    ),
)
