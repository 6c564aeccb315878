"""The card's first page answers what a data protection officer asks, and stays one page."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from harness.examples.example_text import ARRANGEMENTS, example_among_peers
from harness.studies import Case
from sottovoce.config.study_file import StudyDescription, example, parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.study.card.card import StudyCard
from sottovoce.study.card.facts import ENGINES, poolings
from sottovoce.study.card.first_page import LONGEST, WIDTH, short_names
from sottovoce.study.card.leaving import leaving
from sottovoce.study.card.seat_sizes import helper_sizes
from sottovoce.study.card.sizes import peer_sizes
from sottovoce.study.choices import Engine
from sottovoce.study.grounds import Grounds
from sottovoce.study.roster import Participant, Role, Roster, draw_roster
from sottovoce.study.study import Study
from sottovoce.text.labels import Labels

# Words that a reader without cryptography could not know; they stand in the details only.
FOREIGN = frozenset(
    re.findall(
        r"\w+",
        "paillier ciphertext cipher homomorphic mask masked masks share shares nonce hash "
        "hashed seed modulus residue hpke blake2 prg idf rado rados moment moments spectrum dgk "
        "fss sealed plaintext prime ring bucket buckets dictionary",
    )
)


@cache
def page(study: Study, organisation: str | None = None) -> str:
    return " ".join(StudyCard(study, organisation=organisation).first_page().split())


@pytest.fixture(scope="module")
def described() -> StudyDescription:
    return parse_study(example_among_peers())


@pytest.fixture(scope="module")
def study(described: StudyDescription) -> Study:
    return described.rehearsed()


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (
            "what do we do here?",
            (
                "Northfield Hospital brings its own labelled documents (as peer) and computes on "
                "numbers that it cannot read (as evaluator)."
            ),
        ),
        (
            "what leaves?",
            "No text leaves. Numbers do. Random numbers are added that cancel only in the sum",
        ),
        ("what exactly?", "in how many of your documents each word stands, by class"),
        ("to whom?", "To Institute for Health Data, about {leaves}"),
        (
            "what if two collude?",
            (
                "Institute for Health Data with Harbour Clinic; Institute for Health Data with "
                "Northfield Hospital; Northfield Hospital with Harbour Clinic: they could rebuild "
                "documents of all peers, word for word, though not say whose they are."
            ),
        ),
        ("what is opened?", "A peer gets labels of its own documents, at most {budget}"),
        ("what is opened of the evaluation?", "as sums over at least 3 peers and 20 documents."),
        ("for how long?", "models and ledgers two years after the study is closed"),
        ("what becomes of the key?", "at the coordinator: until it closes the study."),
        ("how do I check?", "`sottovoce ledger show` lists each message that left"),
        ("who checked it?", "It is not audited."),
        ("why?", "Purpose: tell urgent notes from routine ones at admission"),
        ("on which ground?", "Legal basis: GDPR Art. 9(2)(j)"),
        ("who is responsible?", "Controller: each hospital for its own notes"),
        ("whom do I call?", "Contact: data.protection@health-data.example"),
    ],
)
def test_each_question_of_an_officer_is_answered(asked: str, answered: str, study: Study) -> None:
    to = next(line for line in leaving(study, "Northfield Hospital") if "Institute" in line.to)
    filled = answered.format(leaves=f"{to.bytes / 1e6:.0f} MB", budget=f"{study.plan.budget:,}")
    assert filled in page(study, "Northfield Hospital"), asked


QUESTIONS = (
    "**What your organisation does here.** Northfield Hospital ",
    "**What leaves your organisation, and to whom.** No ",
    "**What others learn.** ",
    "**The worst case, and who must not pool.** ",
    "**What is opened at the end.** ",
    "**What is kept, and for how long.** - agreed by the sites: ",
    "**How you check it.** `sottovoce ledger show`",
    "**What this is not.** It is not audited.",
)
TITLES = tuple(question.split("**")[1].rstrip(".") for question in QUESTIONS)


@cache
def pages_in(arrangement: str) -> dict[str, tuple[str, ...]]:
    study = parse_study(ARRANGEMENTS[arrangement]).rehearsed()
    organisations = {participant.organisation for participant in study.roster.participants}
    return {
        organisation: tuple(StudyCard(study, organisation=organisation).first_page().splitlines())
        for organisation in organisations
    }


def page_in(arrangement: str) -> tuple[str, ...]:
    return pages_in(arrangement)["Northfield Hospital"]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_every_arrangement_answers_the_officer_on_one_page(arrangement: str) -> None:
    for organisation, lines in pages_in(arrangement).items():
        assert_fits("\n".join(lines))
        said = " ".join(" ".join(lines).split())
        assert all(f"**{title}.**" in said for title in TITLES), organisation
        assert FOREIGN & set(re.findall(r"\w+", said.lower())) == set(), organisation
    said = " ".join(" ".join(page_in(arrangement)).split())
    assert [question for question in QUESTIONS if question not in said] == []


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_only_a_study_of_text_speaks_of_words_and_documents(arrangement: str) -> None:
    said = set(re.findall(r"\w+", " ".join(page_in(arrangement)).lower()))
    if parse_study(ARRANGEMENTS[arrangement]).plan.has_text:
        assert {"documents", "text"} <= said
    else:
        assert {"rows", "table"} <= said
        assert not {"document", "documents", "text", "word"} & said


@pytest.mark.parametrize(
    ("arrangement", "said"),
    [
        ("features, full", "The organisations that answer learn whom you ask about."),
        ("rado descent", "Whoever computes learns if steps stay in range"),
        ("lone owner", "How many rows (rounded up) and columns there are, how much they vary"),
        ("released", "as long as it likes, nobody can call it back"),
    ],
)
def test_what_one_arrangement_alone_gives_away_is_said_there_alone(
    arrangement: str, said: str
) -> None:
    pages = {name: " ".join(" ".join(page_in(name)).split()) for name in ARRANGEMENTS}
    assert [name for name, page in pages.items() if said in page] == [arrangement]


OF_QUORUM = {"quorum", "released", "table"}
BY_FEATURES = {"features", "features, full"}
SENT_IN = {
    "released-part": {"released"},
    "entity-question": {"features, full"},
    "block-numbers": BY_FEATURES,
    "sealed-rows": {"lone owner"},
    "masked-moments": {"paillier"},
    "quorum-numbers": OF_QUORUM,
    "share-seed": {"shares", "shares among peers", *BY_FEATURES},
    "joint-mean": {"quorum", "released", "shares", "shares among peers"},
    "encrypted-model": {"paillier", "rado descent", *BY_FEATURES},
    "query-request": set(ARRANGEMENTS) - {"released", "lone owner"},
}


def test_the_details_list_only_messages_that_the_study_can_send() -> None:
    lists = {
        name: {line.name for line in StudyCard(parse_study(text).rehearsed()).lines}
        for name, text in ARRANGEMENTS.items()
    }
    for kind, arrangements in SENT_IN.items():
        assert {name for name, kinds in lists.items() if kind in kinds} == arrangements, kind


@pytest.mark.parametrize("organisation", [None, "Northfield Hospital", "Harbour Clinic"])
def test_the_page_has_sixty_lines_of_eighty_columns(study: Study, organisation: str | None) -> None:
    assert_fits(StudyCard(study, organisation=organisation).first_page())


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("binary", {}),
        ("binary", {"release": "peers"}),
        ("binary", {"release": "margin"}),
        ("binary", {"dictionary": "hashed", "evaluations": 0}),
        ("encrypted", {"features": 8}),
    ],
)
def test_the_page_fits_with_long_names_and_no_word_of_cryptography(
    engine: str, settings: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    case: Case = request.getfixturevalue(engine).changed(**settings)
    long = " ".join(["*very* long words of <somebody>"] * 12)
    plan = replace(case.plan, grounds=Grounds(*[long] * 5), name=" ".join(["name"] * 24))
    names = {participant.organisation for participant in case.study.roster.participants}
    roster = Roster(
        tuple(
            replace(
                participant,
                organisation=f"The {participant.organisation} of the {'Very ' * 15}Long Name",
            )
            for participant in case.study.roster.participants
        )
    )
    assert len(names) == len({participant.organisation for participant in roster.participants})
    for organisation in {participant.organisation for participant in roster.participants}:
        text = StudyCard(Study(plan, roster), organisation=organisation).first_page()
        assert_fits(text)
        assert not {word for word in re.findall(r"[a-z0-9]+", text.lower()) if word in FOREIGN}


@pytest.mark.parametrize("others", [0, 2, 6])
def test_the_page_of_a_quorum_fits_and_says_what_each_organisation_sends(others: int) -> None:
    names = (f'site{number} = "Hospital Number {number} of the Region"' for number in range(others))
    more = "".join(f"{name}\n" for name in names)
    described = parse_study(example().replace("[peers]\n", f"[peers]\n{more}"))
    study = described.rehearsed()
    for organisation in {participant.organisation for participant in study.roster.participants}:
        text = StudyCard(study, organisation=organisation).first_page()
        assert_fits(text)
        assert not {word for word in re.findall(r"[a-z0-9]+", text.lower()) if word in FOREIGN}
    text = page(study, "Northfield Hospital")
    assert "in each step: your signed consent; your part of the sums over all sites" in text
    assert "kB in each step: in how many of your documents each word stands" in text
    assert "Nothing of any documents, as you have none" in page(study, "Institute for Health Data")
    whole = StudyCard(study).markdown()
    assert "Labels are found by the members on shares" in whole
    assert "labels_on" not in whole


def test_many_peers_and_classes_are_counted_not_listed(binary: Case) -> None:
    peers = tuple(f"hospital number {number}" for number in range(20))
    roster, _ = draw_roster(peers, entropy=SystemEntropy(), evaluator_at=peers[0])
    plan = replace(binary.plan, labels=Labels(tuple(f"class {number}" for number in range(20))))
    text = StudyCard(Study(plan, roster), organisation=peers[3]).first_page()
    assert_fits(text)
    assert "20 organisations train one program that tells 20 classes apart" in " ".join(
        text.split()
    )


def assert_fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= WIDTH
    # As Markdown, a sentence right below a list would belong to its last item.
    listed = ("- ", "  ")
    pairs = [pair for pair in pairwise(lines) if pair[0].startswith(listed)]
    assert all(not after or after.startswith(listed) for _, after in pairs)


def test_every_engine_has_facts() -> None:
    assert set(ENGINES) == set(Engine) - {Engine.AUTO}


def test_who_must_not_pool_follows_from_the_seats(binary: Case, encrypted: Case) -> None:
    three = {pooling.organisations for pooling in poolings(binary.study)}
    assert three == {
        ("coordinator", "evaluator"),
        ("coordinator", "dealer"),
        ("evaluator", "dealer"),
    }
    assert {pooling.organisations for pooling in poolings(encrypted.study)} == {
        ("coordinator", "evaluator")
    }
    seated = Case(binary.documents, binary.plan, binary.key, {"evaluator_at": "north"})
    assert ("coordinator", "north") in {pooling.organisations for pooling in poolings(seated.study)}


def test_one_house_that_holds_enough_alone_is_named_alone(binary: Case) -> None:
    plan, roster = binary.plan, binary.study.roster
    result = poolings(Study(plan, roster))
    assert all(len(group.organisations) == 2 for group in result)
    assert "word for word" in result[0].gives


@pytest.mark.parametrize(("engine", "settings"), [("binary", {}), ("encrypted", {"features": 8})])
def test_every_size_says_what_it_is_about(
    engine: str, settings: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    study = request.getfixturevalue(engine).changed(**settings).study
    assert all(row.holds for row in (*peer_sizes(study), *helper_sizes(study)))


def test_names_are_never_cut_to_the_same_stump() -> None:
    names = [f"University Hospital of the Northern Region, Department {n}" for n in range(12)]
    cut = short_names(names, 18)
    assert len(set(cut.values())) == len(names)
    assert max(map(len, cut.values())) <= 18
    alike = short_names(["a" * 30 + "1" + "b" * 30, "a" * 30 + "2" + "b" * 30], 18)
    assert len(set(alike.values())) == 2


def test_what_was_not_named_is_said_to_be_missing(binary: Case) -> None:
    text = page(binary.study)
    assert text.count("none was named") == 5
    assert "no time was named" in text


def test_a_participant_that_brings_no_text_reads_what_it_sends(study: Study) -> None:
    text = page(study, "Institute for Health Data")
    assert "runs the study, keeps the key that answers need, and brings no documents" in text
    assert "No text leaves" not in text


def test_a_coordinator_reads_once_what_it_does(study: Study) -> None:
    said = page(study, "Institute for Health Data")
    assert said.count("Institute for Health Data runs the study") == 1
    assert "runs the study (as coordinator)" in page(study, "Northfield Hospital")


def test_the_card_names_the_fingerprint_only_when_everybodys_keys_are_known(study: Study) -> None:
    before, after = (StudyCard(study, keyed=keyed) for keyed in (False, True))
    assert before.fingerprint not in before.markdown()
    assert "consent and ledger name it" in before.markdown()
    assert f"the ledger names it): `{after.fingerprint}`" in after.markdown()
    assert before.code == after.code
    assert before.code in before.first_page()


def test_the_card_ends_with_a_line_to_sign_for_every_organisation(study: Study) -> None:
    block = StudyCard(study).markdown().split("## Signatures")[1]
    organisations = {participant.organisation for participant in study.roster.participants}
    assert all(f"| {organisation} | | | |" in block for organisation in organisations)


def test_an_intermediary_is_among_those_who_must_not_pool() -> None:
    roles = {"coordinator": Role.COORDINATOR, "evaluator": Role.EVALUATOR}
    seats = {**roles, "a": Role.PEER, "b": Role.PEER, "intermediary-a": Role.INTERMEDIARY}
    roster = Roster(
        tuple(
            Participant(name, f"{name} organisation", role, bytes([place]) * 32)
            for place, (name, role) in enumerate(seats.items())
        )
    )
    from sottovoce.study import StudyPlan

    plan = StudyPlan("x", Labels(("p", "q")), features=8, engine="paillier", min_peers=2)
    gives = {pooling.organisations: pooling.gives for pooling in poolings(Study(plan, roster))}
    assert gives["coordinator organisation", "intermediary-a organisation"].startswith(
        "read the documents"
    )


def test_grounds_with_characters_that_repaint_a_screen_are_refused() -> None:
    text = example().replace("tell urgent notes", "\\u202e tell urgent notes")
    with pytest.raises(InputError, match="purpose: expected printable characters only"):
        parse_study(text)
