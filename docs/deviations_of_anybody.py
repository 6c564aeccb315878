"""What anybody could do by deviating, or by accident, what stops it, and what nothing stops."""

from deviation import ANYBODY, Deviation

from sottovoce.study.adversaries import named_tests

OF_ANYBODY: tuple[Deviation, ...] = (
    Deviation(
        ANYBODY,
        "prepares tables against the hash of comparison keys once, for all studies",
        "the hash has another public key in every study, round and attempt",
        named_tests(
            "comparison",
            "test_keys_of_one_study_are_of_no_use_in_another",
            folder="protocols/shares",
        ),
    ),
    Deviation(
        ANYBODY,
        "brings back an older copy of a seat's folder, or runs one home at two places, so that one "
        "mask would cover two values",
        "masks and seeds are bound to the documents, and what a seat draws itself to all that it "
        "was told before; every letter is announced by its number and digest before its body; a "
        "seat compares what the server holds of it before anything leaves, and only one process "
        "at a time works at a seat",
        named_tests(
            "restored",
            "test_a_restored_site_sends_nothing",
            "test_a_restored_asker_sends_nothing",
            "test_of_a_site_and_its_copy_that_run_at_once_one_is_found_out",
            folder="node/site",
        )
        + named_tests(
            "restored",
            "test_a_home_from_a_backup_with_an_edited_document_sends_nothing",
            "test_of_a_home_and_its_copy_elsewhere_one_is_found_out",
            folder="e2e",
        )
        + named_tests(
            "copies",
            "test_the_server_reads_no_byte_of_a_letter_that_it_would_refuse",
            "test_the_server_reads_no_part_of_a_letter_that_was_not_announced",
            folder="transport",
        )
        + named_tests(
            "power_cuts", "test_other_bytes_are_refused_after_a_power_cut", folder="transport"
        )
        + named_tests(
            "copies",
            "test_what_hides_documents_is_drawn_for_them_alone",
            "test_light_studies_whose_disks_come_back_or_run_twice",
            "test_askers_and_helpers_whose_disks_come_back_or_run_twice",
            folder="simulation",
        )
        + named_tests(
            "restored_journal",
            "test_a_restored_journal_with_another_document_masks_nothing",
            "test_masks_of_the_seed_alone_would_show_the_words",
        )
        + named_tests(
            "rows_of_a_restored_asker",
            "test_other_rows_under_an_old_number_are_hidden_by_other_masks",
            "test_bound_to_the_number_alone_the_masks_would_show_the_documents",
        )
        + named_tests(
            "copy_that_is_told_otherwise",
            "test_a_copy_that_is_told_something_else_draws_another_mask",
            "test_with_the_same_mask_it_would_show_what_it_holds",
        ),
        "a coordinator that denies what it was told lets an older copy of a site go on; with other "
        "documents the copy stops, and what it asks about other documents is hidden by other "
        "masks; a copy of an evaluator of engine `paillier` that is told something else masks what "
        "follows anew. An evaluator of engine `shares` and a member of engine `quorum` refuse what "
        "was dealt to them before; what a copy of theirs from the middle of a conversation shows "
        "stands above, of the coordinator. Of an asker for whom somebody deals, such a copy shows "
        "no more than that query's own scores",
    ),
    Deviation(
        ANYBODY,
        "with a seat lets the others wait: its journal is damaged, or it is silent",
        "a seat that cannot go on says so at once, and the others go on without it or stop; later "
        "a query that needs it is refused at once, by its name. Who is silent is waited for as "
        "long as the study says; `status` says for whom, and until when",
        named_tests(
            "seats_that_cannot_go_on",
            "test_a_seat_with_a_damaged_journal_tells_the_others_at_once",
            "test_a_stopped_study_is_heard_by_a_dealer_at_once",
            folder="node/site",
        )
        + named_tests(
            "rejoining",
            "test_a_site_of_a_quorum_comes_back_without_its_member_and_askers_are_told_at_once",
            folder="node/site",
        )
        + named_tests(
            "status",
            "test_the_status_says_who_is_waited_for_and_until_when",
            "test_a_seat_s_status_says_for_whom_it_waits",
            folder="node/coordinator",
        ),
        "a seat that stays silent costs the others the time that the study allows a stage",
    ),
    Deviation(
        ANYBODY,
        "whose files are lost or damaged follows a hint that costs the study",
        "every hint that moves, deletes or restores a file is done by a test, and every way back "
        "that docs/backup.md shows",
        named_tests(
            "hints_are_done", "test_every_hint_that_touches_a_file_is_done_by_a_test", folder="cli"
        )
        + named_tests(
            "backup",
            "test_every_way_back_on_the_page_is_gone_by_a_test",
            "test_the_others_go_on_without_a_site_that_lost_its_journal",
            folder="docs",
        )
        + named_tests(
            "rejoining",
            "test_a_site_that_lost_its_disk_gets_the_model_again_from_a_peer",
            folder="node/site",
        ),
        "a site that loses its keys before the training ends is out of this study, and so is a "
        "member that loses its share of the model",
    ),
    Deviation(
        ANYBODY,
        "who gets the coordinator's disk once a study is closed, looks for the study's key",
        "the key is sealed under a salt in a file that is overwritten when the study is closed",
        named_tests(
            "erasing",
            "test_blocks_of_an_erased_key_do_not_open_with_the_sites_key",
            "test_a_key_of_the_first_version_is_overwritten_when_it_gets_its_salt",
            folder="node/site",
        ),
        "copies that a backup or the disk itself made of the salt's blocks before",
    ),
    Deviation(
        ANYBODY,
        "lets an older release run on files that a newer one wrote",
        "on-disk formats carry a version: a newer one is refused and left as it is, one of the "
        "first version goes on",
        named_tests(
            "versions",
            "test_what_a_newer_release_wrote_is_refused_and_not_changed",
            "test_a_journal_of_the_first_version_goes_on",
            "test_a_mailbox_of_the_first_version_goes_on",
            folder="node/site",
        ),
    ),
    Deviation(
        ANYBODY,
        "whose name, label or study stands on a screen writes escapes that repaint it, and forges "
        "the words that are compared over the phone",
        "texts of a study are printable or refused, without bidirectional controls; a terminal "
        "and every page show the rest escaped",
        named_tests(
            "terminal_escapes",
            "test_a_forged_organisation_reaches_no_screen_of_a_site_that_joins",
            "test_terminal_escapes_in_a_study_are_refused_by_every_site",
            "test_the_door_shows_what_it_cannot_trust",
            "test_everything_goes_through_the_one_door",
            folder="cli",
        )
        + named_tests("site", "test_an_invitation_cannot_repaint_a_screen", folder="node/site"),
        "letters of other scripts that look alike",
    ),
    Deviation(
        ANYBODY,
        "who reads a log or an error of a site finds its documents quoted there",
        "no error and no report of a source quotes text, a table's first row included",
        named_tests(
            "no_text_in_errors",
            "test_no_report_and_no_error_quotes_a_document",
            "test_no_exception_of_a_reader_quotes_a_document",
            "test_a_table_without_a_header_is_helped_and_not_quoted",
            folder="sources",
        ),
    ),
    Deviation(
        ANYBODY,
        "who reads a log, an error or an invitation finds the password of a store in an address",
        "an address of data with a password or a query is refused, and so is an address for peers "
        "with a user; messages show addresses without what may be a secret",
        named_tests(
            "remote",
            "test_an_address_with_a_secret_is_refused_and_not_shown",
            folder="sources",
        )
        + named_tests(
            "secrets_in_addresses",
            "test_a_mistyped_address_is_named_by_its_host",
            "test_no_credentials_get_into_the_invitations",
            folder="cli",
        ),
        "what is typed stands in the history of a shell, and in its machine's list of processes",
    ),
    Deviation(
        ANYBODY,
        "fills the coordinator's disk, so that letters of others cannot be taken, and these are "
        "left out as if they were late",
        "while a letter finds no room, the clocks by which the coordinator and the other seats "
        "wait stand still; the coordinator's people are warned",
        named_tests(
            "training_coordinator",
            "test_a_server_that_takes_no_letters_counts_that_time_against_nobody",
            folder="course",
        )
        + named_tests(
            "held_time",
            "test_two_that_wait_at_once_wait_once_and_until_the_second_has_room",
            "test_who_does_not_try_again_holds_nobody_back",
            "test_a_server_is_believed_no_further_than_the_clock_has_moved",
            folder="course",
        )
        + named_tests(
            "agent",
            "test_time_in_which_the_server_held_letters_back_makes_nobody_late",
            folder="node/seat",
        )
        + named_tests(
            "mailbox_limits",
            "test_the_time_in_which_a_disk_is_full_is_told_to_every_seat",
            folder="transport",
        ),
        "a study waits as long as its coordinator's disk is full, and a seat whose letters find "
        "no room can hold it up so long",
    ),
    Deviation(
        ANYBODY,
        "with a seat in one study takes down all studies of a coordinator: by letters that fill "
        "its memory or disk, or by files of one study that are damaged",
        "the plan says how large a letter can be, and a larger one is refused before its body; "
        "letters leave a part of the disk free, and those of one sender take at most a quarter of "
        "the rest; a study that fails ends alone",
        named_tests(
            "one_study_against_the_others",
            "test_a_seat_that_fills_the_disk_leaves_room_for_the_other_studies",
            "test_letters_are_bounded_by_their_kind",
            "test_a_letter_that_no_seat_could_have_written_is_not_read",
            "test_a_mailbox_that_was_moved_away_ends_its_own_study_and_no_server",
            "test_a_damaged_file_of_one_study_hides_no_other",
            "test_a_status_that_cannot_be_written_stops_nothing",
            folder="node/coordinator",
        )
        + named_tests(
            "mailbox_limits",
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
        named_tests(
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
        named_tests("writing", "test_no_cell_is_a_formula_to_a_spreadsheet", folder="sources"),
    ),
)
