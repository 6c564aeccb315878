"""study.toml: everything that it can say, and every mistake with its line."""

import re
import tomllib
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from sottovoce.config.deadlines import Deadlines, duration, in_words
from sottovoce.config.plan_settings import KEYS
from sottovoce.config.study_file import example, load_study, parse_study
from sottovoce.errors import InputError
from sottovoce.study.candidates import Candidate
from sottovoce.study.card.card import StudyCard
from sottovoce.study.choices import Contribution, DictionaryKind, Engine, Verdict
from sottovoce.study.plan import InsecureToyPlan, StudyPlan
from sottovoce.study.release import Release
from sottovoce.study.roster import Role
from sottovoce.study.stages.contributions import penalties_of
from sottovoce.text.blocks import Blocks
from sottovoce.text.columns import Categorical, Numeric
from sottovoce.text.encoding import EncoderName
from sottovoce.text.labelling import Scheme
from sottovoce.text.reading import Level, NGrams

SMALL = """\
[study]
name = "small"
coordinator = "Institute"
labels = ["no", "yes"]

[peers]
north = "Northfield"
south = "Southgate"
west = "Westhill"

[roles]
evaluator = "north"
dealer = "south"
"""


def with_line(line: str, table: str = "study", text: str = SMALL) -> str:
    """The text with a line more, first in its table."""
    key = line.partition("=")[0].strip()
    lines = [
        text_line for text_line in text.splitlines() if text_line.partition("=")[0].strip() != key
    ]
    at = lines.index(f"[{table}]") + 1
    return "\n".join([*lines[:at], line, *lines[at:]]) + "\n"


def test_the_example_is_a_study_and_explains_every_setting() -> None:
    described = parse_study(example())
    assert described.plan.features == 2048
    assert described.approval.startswith("Ethics Committee")
    for key in KEYS:
        assert re.search(rf"^(# )?{key} = ", example(), re.MULTILINE), key


def test_the_defaults_that_the_example_shows_are_those_that_hold() -> None:
    shown = re.sub(r"^# (\w+ = [^#]*)", r"\1", example(), flags=re.MULTILINE)
    left_out = (
        "thresholds",
        "labelling",
        "types",
        "documents",
        "words_per_document",
        "words",
        "distrusted",
        "operating_point",
        "shared",
        "remote",
        "answering",
        "class_weight",
        "trust",
        "registry",
        "evaluator",
        "dealer",
        "members",
        "threshold",
        "sex",
        "age",
        "letter",
    )
    kept = [line for line in shown.splitlines() if line.split(" ")[0] not in left_out]
    assert parse_study("\n".join(kept)).plan.settings() == tuple(
        (name, "8192" if name == "query_budget" else value)
        for name, value in parse_study(example()).plan.settings()
    )


def test_words_characters_and_a_tail_are_there_unless_told_otherwise() -> None:
    plan = parse_study(SMALL).plan
    assert plan.reading.ngrams == NGrams((1, 2), (3, 5))
    assert (plan.features, plan.beside) == (2048, Blocks(tail=2048, tail_idf=2.0))
    fewer = parse_study(with_line('features = 500\ncharacters = "none"\nngrams = [1, 1]')).plan
    assert fewer.reading.ngrams == NGrams()
    cut = parse_study(with_line("letters = 5")).plan
    assert cut.reading.ngrams == NGrams((1, 2), (3, 5), letters=5)
    assert (fewer.features, fewer.beside) == (500, Blocks())
    name = "static:256:" + "ab" * 32
    wide = parse_study(with_line(f'encoder = "{name}"\nkernel = 512\nkernel_width = 0.25')).plan
    assert wide.beside.encoder == EncoderName.read(name)
    assert (wide.beside.kernel, wide.beside.kernel_width) == (512, 0.25)
    assert wide.width == 2048 + 2048 + 256 + 512 + 1
    several = parse_study(with_line("kernel = 512\nkernel_width = [0.5, 1]")).plan
    assert several.beside.kernel_widths == (0.5, 1.0)
    assert several.width == 2048 + 2048 + 2 * 512 + 1
    listed = parse_study(with_line('dictionary = "given"\nwords = ["a", "b"]')).plan
    assert (listed.features, listed.beside, listed.reading.ngrams) == (2, Blocks(), NGrams())


def test_a_plan_goes_by_what_it_is_told_about_the_documents() -> None:
    plan = parse_study(with_line("documents = 3000\nwords_per_document = 250")).plan
    assert (plan.features, plan.held_out) == (4096, 0.05)
    assert plan.beside == Blocks(tail=2048, tail_idf=2.0, tail_of="words")
    assert plan.reading.ngrams == NGrams((1, 2), letters=7)
    alone = parse_study(with_line('words_per_document = 250\ntail_of = "all"\nheld_out = 0.1')).plan
    assert (alone.features, alone.held_out) == (4096, 0.1)
    assert alone.beside == Blocks(tail=1024, tail_idf=2.0)
    for wrong in ("documents = -1", "words_per_document = -1"):
        name = wrong.split(" = ", maxsplit=1)[0]
        with pytest.raises(InputError, match=f"study.{name}: expected at least 0, found -1") as at:
            parse_study(with_line(wrong))
        assert at.value.hints == (f"{name} = 500",)


def test_whatever_a_plan_can_say_to_people_has_its_key() -> None:
    parts = {
        "reading",
        "weighting",
        "columns",
        "beside",
        "grounds",
    }  # these have several keys, or a table
    # Peers that hold features of the same entities are for memory; the threshold is in [roles].
    elsewhere = {"arrangement", "threshold"}
    for field in fields(StudyPlan):
        assert field.name in KEYS.keys() | parts | elsewhere, field.name


def test_who_sits_where() -> None:
    described = parse_study(SMALL)
    assert [(seat.name, seat.role) for seat in described.seats] == [
        ("coordinator", Role.COORDINATOR),
        ("north", Role.PEER),
        ("evaluator", Role.EVALUATOR),
        ("south", Role.PEER),
        ("dealer", Role.DEALER),
        ("west", Role.PEER),
    ]
    assert [invited.name for invited in described.organisations] == ["north", "south", "west"]
    assert described.organisation("north").roles == (Role.PEER, Role.EVALUATOR)
    with pytest.raises(InputError, match="expected an organisation of it"):
        described.organisation("east")


def test_a_helper_without_text_gets_an_invitation_of_its_own() -> None:
    text = with_line('evaluator = "trust"', "roles") + '\n[helpers]\ntrust = "Data Trust"\n'
    invited = parse_study(text).organisation("trust")
    assert [(seat.name, seat.organisation) for seat in invited.seats] == [
        ("evaluator", "Data Trust")
    ]


def test_who_did_not_come_is_not_in_the_roster() -> None:
    described = parse_study(with_line("min_peers = 2"))
    publics = {
        seat.name: bytes([number]) * 32
        for number, seat in enumerate(described.seats)
        if seat.name != "west"
    }
    assert described.roster(publics).peers == ("north", "south")
    assert described.study(publics).plan is described.plan


def test_equal_texts_give_equal_plans_and_hashes() -> None:
    first, other = parse_study(SMALL), parse_study(SMALL)
    assert first.rehearsed().digest == other.rehearsed().digest
    assert first.fingerprint == other.fingerprint
    assert first.fingerprint != parse_study(SMALL + "# more\n").fingerprint


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ('approval = "no. 7"', "approval", "no. 7"),
        ("features = 64", "features", 64),
        ('dictionary = "hashed"', "dictionary", DictionaryKind.HASHED),
        ("bucket_bits = 12", "bucket_bits", 12),
        ('engine = "shares"', "engine", Engine.SHARES),
        ("alpha = 2", "alpha", 2.0),
        ("alpha = [0.5, 1]", "alpha", (0.5, 1.0)),
        ("epsilon = 0.5", "epsilon", 0.5),
        ('class_weight = "balanced"', "class_weight", "balanced"),
        ('class_weight = "auto"', "class_weight", "root"),
        ('class_weight = "none"', "class_weight", None),
        ("min_documents = 5", "min_documents", 5),
        ("small_cells = 2", "small_cells", 2),
        ("feature_min_peers = 2", "feature_min_peers", 2),
        ("min_peers = 2", "min_peers", 2),
        ('release = "margin"', "release", Release.MARGIN),
        ("key_bits = 2048", "key_bits", 2048),
        ('verdict = "dgk"', "verdict", Verdict.DGK),
        ("query_budget = 400", "query_budget", 400),
        ("evaluations = 3", "evaluations", 3),
        ("held_out = 0.5", "held_out", 0.5),
        ("held_back = 0.1", "held_back", 0.1),
        ("kappa = 40", "kappa", 40),
        ("thresholds = [-0.5, 0, 0.5]", "thresholds", (-0.5, 0.0, 0.5)),
        ("operating_point = [0.1]", "operating_point", (0.1,)),
        ('contribution = "exact"', "contribution", Contribution.EXACT),
    ],
)
def test_every_setting_reaches_the_plan(line: str, name: str, value: object) -> None:
    assert getattr(parse_study(with_line(line)).plan, name) == value


def test_how_text_is_read_reaches_the_plan() -> None:
    text = SMALL
    for line in ("ngrams = [1, 2]", "characters = [3, 4]", "tf_cap = 1", "idf = false"):
        text = with_line(line, text=text)
    text = with_line('level = "sentence"', text=with_line("bias = 0.5", text=text))
    plan = parse_study(text).plan
    assert plan.level is Level.SENTENCE
    assert (plan.reading.ngrams.words, plan.reading.ngrams.characters) == ((1, 2), (3, 4))
    assert (plan.weighting.tf_cap, plan.weighting.idf, plan.weighting.bias) == (1, False, 0.5)


def test_labels_from_entities() -> None:
    text = SMALL.replace('labels = ["no", "yes"]', 'types = ["Drug"]\nlabelling = "bio"')
    plan = parse_study(with_line("reach = 1", text=with_line('level = "token"', text=text))).plan
    assert plan.labelled.scheme is Scheme.BIO
    assert plan.labels.names == ("O", "B-Drug", "I-Drug")
    assert plan.reading.window.reach == 1


def test_further_columns() -> None:
    text = SMALL + '\n[columns]\nsex = ["f", "m"]\nage = { low = 0, high = 120, missing = 50 }\n'
    columns = parse_study(text).plan.columns
    assert columns == (Categorical("sex", ("f", "m")), Numeric("age", 0, 120, 50))


def test_a_word_list_is_taken_into_the_text(tmp_path: Path) -> None:
    words = ["fever", 'a "quoted" word', "back\\slash", "fièvre", "rash"]
    listed = "\n".join(["# comment", "", *words])
    (tmp_path / "list.txt").write_text(listed, encoding="utf-8")
    text = with_line('words = "list.txt"', text=with_line('dictionary = "given"'))
    (tmp_path / "study.toml").write_text(with_line("features = 5", text=text), encoding="utf-8")
    described = load_study(tmp_path / "study.toml")
    assert described.plan.words == tuple(words)
    assert parse_study(described.text).plan == described.plan


def test_distrusted_words_become_their_places() -> None:
    text = SMALL
    for line in (
        'dictionary = "given"',
        'words = ["one", "two", "three"]',
        "features = 3",
        'distrusted = ["three", "one"]',
    ):
        text = with_line(line, text=text)
    assert parse_study(text).plan.distrusted == (2, 0)


def test_columns_beside_a_joint_dictionary_are_distrusted_wherever_they_come_to_stand() -> None:
    table = '\n[columns]\nsex = ["f", "m"]\nage = { low = 0, high = 120 }\n'
    text = with_line("features = 8", text=with_line('distrusted = ["age"]')) + table
    plan = parse_study(text).plan
    after = plan.features + plan.beside.width
    assert plan.distrusted == (after + 2,)
    alone = replace(plan, epsilon=0.5)
    # All words were found, and then five fewer.
    for width in (plan.width, plan.width - 5):
        expected = np.full(width, 3.0)
        expected[-2] = 1.5  # the last but the bias
        assert penalties_of(alone, width, Candidate(3.0)).tolist() == expected.tolist()
    page = StudyCard(replace(parse_study(text), plan=alone).rehearsed()).markdown()
    assert "- Distrusted, with 0.5 times the penalty: age." in page
    with pytest.raises(InputError, match=r"distrusted: .* found 'agge'") as refused:
        parse_study(text.replace('distrusted = ["age"]', 'distrusted = ["agge"]'))
    assert refused.value.hints == ("did you mean age?",)


def test_deadlines() -> None:
    text = SMALL + '\n[deadlines]\nenrolment = "2 hours"\nstage = "1 minute"\n'
    assert parse_study(text).deadlines == Deadlines(timedelta(hours=2), timedelta(minutes=1))
    assert parse_study(SMALL).deadlines.enrolment == timedelta(days=7)
    assert duration("1.5 days") == timedelta(hours=36)
    assert in_words(timedelta(hours=36)) == "1.5 days"
    assert in_words(timedelta(minutes=1)) == "1 minute"
    assert in_words(timedelta(milliseconds=200)) == "0.2 seconds"


WRONG = [
    # (a line, its table, what the error says, its hint)
    (
        "alpha = 0",
        "study",
        "study.alpha: expected penalties alpha above 0, found 0.0",
        "alpha = 1.0",
    ),
    ('alpha = "one"', "study", "study.alpha: expected a number above 0, or a list", "alpha = 1.0"),
    ("alpha = [1, 1]", "study", "study.alpha: expected different penalties", ""),
    ("features = -1", "study", "study.features: expected at least 1 feature, found -1", ""),
    ("features = 0", "study", "study.features: expected at least 1, or 0 with the .columns.", ""),
    (
        "features = 2.5",
        "study",
        "study.features: expected a whole number, or .auto., found 2.5",
        "",
    ),
    (
        "features = true",
        "study",
        "study.features: expected a whole number, or .auto., found true",
        "",
    ),
    ('engine = "fast"', "study", "study.engine: expected one of auto, quorum, shares", ""),
    ('engine = "quorum"', "study", "engine quorum has no evaluator and no dealer", "helpers"),
    ('members = ["north"]', "roles", "members and a threshold are for engine quorum", "quorum"),
    ("threshold = 0", "roles", "roles.threshold: expected at least 1, found 0", "threshold = 1"),
    ("threshold = 1", "roles", "members and a threshold are for engine quorum", "quorum"),
    ('engine = "paillier"\nfeatures = 300', "study", ".*at most 128 features, found 300", "deal"),
    (
        "tail = -1",
        "study",
        "study.tail: expected a tail of 0 to 32768 columns, found -1",
        "tail = ",
    ),
    ('tail = "long"', "study", "study.tail: expected a whole number, or .auto., found", ""),
    ('encoder = "mine"', "study", "study.encoder: expected none, or kind, columns and", "inspect"),
    ("kernel = 99999", "study", "study.kernel: expected 0 to 16384 kernel columns", "= 0"),
    ("kernel_width = 0", "study", "study.kernel_width: expected a kernel_width above 0", ""),
    ("kernel_width = []", "study", "study.kernel_width: expected a number above 0, or a", ""),
    ("kernel = 8\nkernel_width = [1, 1]", "study", "study.kernel_width: expected different", ""),
    ("kernel_width = [0.5, 1]", "study", "study.kernel_width: expected kernel columns to", ""),
    ("kernel = 9999\nkernel_width = [1, 2]", "study", "study.kernel: expected 0 to 16384", ""),
    ("encoder_weight = 0.3", "study", "study.encoder_weight: expected encoder_weight of", ""),
    ('labels = "no"', "study", "study.labels: expected a list of texts", 'labels = ["routine"'),
    ('labels = ["no"]', "study", "study.labels: expected at least 2 different", "class"),
    ('labels = ["no", "no"]', "study", "study.labels: expected different names", ""),
    ('level = "page"', "study", "study.level: expected one of document, sentence, token", ""),
    ('labelling = "bio"', "study", "study.labels: expected nothing: with labelling bio", "leave"),
    ('types = ["Drug"]', "study", "study.types: expected nothing without a labelling", "labelling"),
    ("ngrams = [2]", "study", "study.ngrams: expected a list of the fewest and the most", "[1, 2]"),
    ("ngrams = [3, 2]", "study", "study.ngrams: word n-grams: expected 1 <= low <= high", ""),
    ("characters = [3, 20]", "study", "study.characters: character n-grams: expected", ""),
    ("tf_cap = 0", "study", "study.tf_cap: weighting: expected a tf cap", ""),
    ("key_bits = 1024", "study", "study.key_bits: expected key_bits 2048 or 3072 or 4096", "3072"),
    ("min_peers = 1", "study", "study.min_peers: expected min_peers of at least 2, found 1", ""),
    ("min_peers = 4", "study", "peers: .*expected at least 4 peers, found 3", "invite more"),
    ("feature_min_peers = 9", "study", "peers: .*feature_min_peers of at most 3, found 9", ""),
    ('release = "all"', "study", "study.release: expected one of sealed, ", ""),
    ('verdict = "maybe"', "study", "study.verdict: expected one of auto, fss, dgk", ""),
    ("query_budget = 0", "study", "study.query_budget: expected query_budget of at least 1", ""),
    ("query_budget = 40", "study", "study.query_budget: expected at least 96, the most", "= 96"),
    ("evaluations = -1", "study", "study.evaluations: expected evaluations of at least 0", ""),
    ('contribution = "rados"', "study", "study.rados: a contribution of rados needs", "rados = "),
    ("thresholds = [0.5, 0]", "study", "study.thresholds: expected rising thresholds", ""),
    ("operating_point = [0, 1]", "study", "study.operating_point: expected an operating", ""),
    ("held_out = 2", "study", "study.held_out: split: expected a share from 0 to 1", ""),
    ('class_weight = "even"', "study", "study.class_weight: expected one of auto, none, root", ""),
    ('dictionary = "given"', "study", "study.dictionary: a given dictionary and its words", ""),
    ('words = ["a"]', "study", "study.dictionary: a given dictionary and its words", ""),
    ('words = "none.txt"', "study", "study.words: expected a list of words, or a file", ""),
    ('distrusted = ["x"]', "study", "study.distrusted: expected words of a given dictionary", ""),
    ('name = ""', "study", "study.name: expected a text in quotes", 'name = "urgency'),
    ('coordinator = "Northfield"', "study", "roles.evaluator: .* is never the coordinator", "let"),
    ('coordinator = "Westhill"', "study", "peers: roster: the peer is never the coordinator", ""),
    ("approval = 7", "study", "study.approval: expected a text in quotes", ""),
    ("featuers = 9", "study", "study.featuers: expected a setting of", "did you mean features"),
    ('dealer = "north"', "roles", "roles.dealer: roster: the dealer is never the evaluator", "let"),
    ('dealer = "east"', "roles", "roles.dealer: expected a name from", ""),
    ('judge = "north"', "roles", "roles.judge: expected a setting of", ""),
    ('dealer = "Northfield"', "peers", "peers.dealer: expected a name of letters", "Northfield"),
    ('"a b" = "Abbey"', "peers", "peers.a b: expected a name of letters", ""),
    (
        '[labels]\na = ["b"]',
        "peers",
        r"labels: expected a table of this file, found \[labels\]",
        "",
    ),
    ("east = 7", "peers", "peers.east: expected a text in quotes", ""),
    ('east = "Northfield"', "peers", "peers: roster: expected one peer an organisation", ""),
]


@pytest.mark.parametrize(("line", "table", "says", "hint"), WRONG, ids=[case[0] for case in WRONG])
def test_a_wrong_setting_is_told_with_file_line_and_key(
    line: str, table: str, says: str, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    text = with_line(line, table)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says) as caught:
        load_study(path)
    at = re.match(rf"{re.escape(str(path))}, line (\d+): ([^:]+): ", caught.value.message)
    assert at, caught.value.message
    named = text.splitlines()[int(at[1]) - 1]
    key = at[2].rpartition(".")[2]
    assert key in named or named == f"[{table}]" or named.startswith("[peers]")
    assert hint in " ".join(caught.value.hints)
    assert caught.value.message.count(f"{key}: ") == 1
    check_speaks_toml(caught.value.hints)


def check_speaks_toml(hints: tuple[str, ...]) -> None:
    """What a hint says to write is TOML, and nothing in it is a call of Python's."""
    for hint in hints:
        assert not re.search(r"\w=|=\w|None|\(\)|\(…\)", hint), hint
        said = re.search(r"\b[a-z_]+ = .*$", hint)
        if said and "…" not in hint:
            tomllib.loads(re.split(r", (?:and|or) | or ", said[0])[0])


@pytest.mark.parametrize(
    ("line", "table"),
    [
        ('arrangement = "features"', "study"),
        ('outsourced_to = "cloud"', "study"),
    ],
)
def test_names_of_in_memory_federations_are_told_otherwise(line: str, table: str) -> None:
    key = line.split(maxsplit=1)[0]
    says = rf"line \d+: {table}.{key}: expected .*, found {key}, which is called otherwise"
    with pytest.raises(InputError, match=says) as caught:
        parse_study(with_line(line, table))
    assert "docs/arrangements.md" in caught.value.hints[0]
    with pytest.raises(InputError, match="which is called otherwise here"):
        parse_study(SMALL + f"\n[{key}]\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"study: expected a table \[study\], found nothing"),
        ("study = 3", r"line 1: study: expected a table \[study\], found 3"),
        ("[study]\n", r"peers: expected a table \[peers\], found nothing"),
        (SMALL.replace('evaluator = "north"\n', ""), "roles.evaluator: expected who evaluates"),
        (SMALL.replace('name = "small"\n', ""), "line 1: study.name: expected a text"),
        (SMALL.replace('labels = ["no", "yes"]\n', ""), "study.labels: expected the study's"),
        (SMALL + "\n[purse]\n", "line 15: purse: expected a table"),
        (SMALL + '\n[helpers]\ntrust = "T"\n', "line 16: helpers.trust: expected a role for it"),
        (SMALL + '\n[helpers]\nwest = "T"\n', "line 16: helpers.west: expected names that no peer"),
        (SMALL + "\n[deadlines]\nstage = 5\n", "line 16: deadlines.stage: expected a time"),
        (SMALL + '\n[deadlines]\nstage = "2 years"\n', "deadlines.stage: expected a time"),
        (SMALL + '\n[deadlines]\nstage = "900 days"\n', "deadlines.stage: expected a time up to"),
        (SMALL + "\n[columns]\nage = 7\n", "line 16: columns.age: expected a list of different"),
        (SMALL + "\n[columns]\nage = {low=1}\n", "columns.age: expected .*found another table"),
        (SMALL + '\n[columns]\nage = ["a", "a"]\n', "columns.age: expected a list of different"),
        (SMALL + "\nname = \n", "line 15: not TOML"),
        (SMALL + "\n[peers]\n", "not TOML"),
    ],
)
def test_a_wrong_text_is_told_with_its_place(text: str, says: str) -> None:
    with pytest.raises(InputError, match=f"^study.toml.*{says}"):
        parse_study(text)


def test_lines_are_counted_past_text_of_several_lines() -> None:
    text = with_line('approval = """one\nalpha = 3\n"""') + "\n[columns]\nage = 3\n"
    with pytest.raises(InputError, match=r"line 19: columns.age"):
        parse_study(text)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.toml: cannot be read \(no such file"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="expected UTF-8"):
        load_study(tmp_path / "odd.toml")
    (tmp_path / "study.toml").write_text(with_line('words = "w.txt"'), encoding="utf-8")
    (tmp_path / "w.txt").write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"study.words: expected words in .*w.txt, found none"):
        load_study(tmp_path / "study.toml")


def test_toy_plans_go_through_a_door_of_their_own() -> None:
    with pytest.raises(InputError, match="key_bits"):
        parse_study(with_line("key_bits = 768"))
    assert isinstance(
        parse_study(with_line("key_bits = 768"), plan_type=InsecureToyPlan).plan, InsecureToyPlan
    )


def test_the_approval_stands_in_the_hash() -> None:
    first, other = parse_study(SMALL), parse_study(with_line('approval = "no. 7"'))
    assert StudyCard(first.rehearsed()).fingerprint != StudyCard(other.rehearsed()).fingerprint
