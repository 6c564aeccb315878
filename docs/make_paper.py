"""Writes into docs/paper.md what runs between machines, and draws the paper's three figures."""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot
from pathlib import Path

from sottovoce.pictures.charts import picture
from sottovoce.pictures.html import Html, joined, tag
from sottovoce.pictures.page import style
from sottovoce.study.arrangement import Weights
from sottovoce.study.choices import Addition, Contribution, DictionaryKind, Engine
from sottovoce.study.roster import Role
from sottovoce.study.study import Study

HERE = Path(__file__).parent
PAGE = HERE / "paper.md"
START, END = "<!-- reach: written by docs/make_paper.py -->", "<!-- end of reach -->"

_COMMON = """[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
"""
_PEERS = '[peers]\nalice = "A"\nbob = "B"\ncarol = "C"\n'
_HELPED = '[roles]\nevaluator = "trust"\ndealer = "archive"\n'
_HELPERS = '[helpers]\ntrust = "T"\narchive = "R"\n'
_SMALL = "features = 8\ntail = 0\nkernel = 0\n"
_TABLE = 'features = 0\n{more}[columns]\nward = ["a", "b"]\npulse = {{ low = 0, high = 9 }}\n'
_SPLIT = (
    'sugar = ["low", "high"]\nletter = { words = ["dim"] }\n'
    '[holdings]\nalice = ["pulse"]\nbob = ["sugar"]\ncarol = ["letter"]\n'
)


def _by_features(remote: str) -> str:
    more = f'partition = "features"\nshared = ["ward"]\nremote = "{remote}"\n'
    return _COMMON + _TABLE.format(more=more) + _SPLIT + _PEERS + _HELPED + _HELPERS


def _encrypted(more: str = "", after: str = "") -> str:
    roles = '[roles]\nevaluator = "trust"\n[helpers]\ntrust = "T"\n'
    return f'{_COMMON}engine = "paillier"\n{_SMALL}{more}{_PEERS}{roles}{after}'


@dataclass(frozen=True)
class Reach:
    """One element of the paper, where it is asked for, and a test between processes.

    `text` is a small study.toml with the setting, `holds` what must be true of its study.
    """

    element: str
    function: str
    setting: str
    test: str
    text: str
    holds: Callable[[Study], bool]


def _killed(arrangement: str) -> str:
    """The test in which every process of that arrangement is killed, and goes on."""
    name = "tests/e2e/test_arrangements.py::test_labels_are_those_in_memory_whoever_is_killed"
    return f"{name}[{arrangement}]"


_LEARNER = 'learner = "rado-descent"\ncontribution = "rados"\nrados = 128\n'
_OWNER = '[peers]\nalice = "Institute"\n[roles]\nevaluator = "cloud"\n[helpers]\ncloud = "I"\n'
ROWS = (
    Reach(
        "text or a table to numeric features, at home",
        "src/sottovoce/text/features.py::FeatureReader",
        "`sottovoce join --data FILE --label COLUMN`",
        "tests/test_readme_terminals.py::test_the_session_in_four_terminals_works",
        _COMMON + _PEERS,
        lambda study: study.plan.has_text and study.engine is Engine.QUORUM,
    ),
    Reach(
        "⟨⟨x⟩⟩, ⊕, ⊗; S.InnerProd, S.MatProd; Protocol 2",
        "src/sottovoce/study/stages/encrypted/encrypted_training.py::solve_encrypted",
        '`engine = "paillier"`',
        "tests/test_alice_bob_cate.py::test_two_peers_get_from_a_study_to_labels",
        _encrypted(),
        lambda study: study.engine is Engine.PAILLIER and study.roster.dealer is None,
    ),
    Reach(
        "SM.Add",
        "src/sottovoce/protocols/blind_sum/pairwise.py::run",
        "every study with an evaluator",
        "tests/test_alice_bob_cate.py::test_two_peers_get_from_a_study_to_labels",
        _encrypted(),
        lambda study: study.has_counts and study.fewest_peers == 3,
    ),
    Reach(
        "SM.Add by a ring, as Clifton and others have it",
        "src/sottovoce/protocols/blind_sum/ring.py::run",
        '`addition = "ring"`',
        _killed("descent-ring"),
        _encrypted('addition = "ring"\n').replace('carol = "C"\n', 'carol = "C"\ndave = "D"\n'),
        lambda study: study.plan.addition is Addition.RING and study.fewest_peers == 4,
    ),
    Reach(
        "Problem 1, equation ⟨⟨J⟩⟩: gradient descent on encrypted rados, θ encrypted",
        "src/sottovoce/study/stages/encrypted/rado_descent.py::descend_classes",
        '`learner = "rado-descent"`, `contribution = "rados"`, `rados = 128`',
        _killed("descent-ring"),
        _encrypted(_LEARNER),
        lambda study: study.plan.descends and study.engine is Engine.PAILLIER,
    ),
    Reach(
        "the same through the intermediary I_B, from texts",
        "src/sottovoce/study/stages/encrypted/rado_descent.py::built_rados",
        '`learner = "rado-descent"`, `[intermediaries]`',
        _killed("descent-intermediary-texts"),
        _encrypted(_LEARNER, 'cloud = "I"\n[intermediaries]\nalice = "cloud"\n'),
        lambda study: study.plan.descends and len(study.roster.having(Role.INTERMEDIARY)) == 1,
    ),
    Reach(
        "the same for a single party",
        "src/sottovoce/study/stages/encrypted/outsourced.py::train_for_owner",
        '`learner = "rado-descent"`, a coordinator that is the only peer',
        _killed("descent-outsourced"),
        _COMMON + _TABLE.format(more=_LEARNER) + _OWNER,
        lambda study: study.outsourced and study.plan.descends,
    ),
    Reach(
        "encrypted rados that any third party may learn from",
        "src/sottovoce/study/stages/encrypted/exported_rados.py::learn_exported",
        "`sottovoce rados write`, `sottovoce rados learn`, `sottovoce rados answer`",
        "tests/cli/test_rados.py::test_a_third_party_learns_between_processes",
        _COMMON + _TABLE.format(more=_LEARNER) + _PEERS + _HELPED + _HELPERS,
        lambda study: study.plan.descends and study.plan.dictionary is DictionaryKind.GIVEN,
    ),
    Reach(
        "f_p: every peer is sent the weights of its own features",
        "src/sottovoce/study/stages/listing.py::list_features",
        '`weights = "reveal_feature_lists_to_coordinator"`',
        _killed("feature-lists"),
        _encrypted('weights = "reveal_feature_lists_to_coordinator"\n'),
        lambda study: study.plan.arrangement.weights is Weights.LISTED,
    ),
    Reach(
        "Definition 2: rados, sampled",
        "src/sottovoce/study/stages/contributions.py::drawn_moments",
        '`contribution = "rados"`, `rados = 256`',
        _killed("intermediary-sampled-rados"),
        _encrypted('contribution = "rados"\nrados = 256\n'),
        lambda study: (study.plan.contribution, study.plan.rados) == (Contribution.RADOS, 256),
    ),
    Reach(
        "Definition 3: basic-block rados, lift",
        "src/sottovoce/study/stages/blocks.py::contribute_blocks",
        '`partition = "features"`, `shared`, `[holdings]`',
        _killed("features-zero-shares"),
        _by_features("zero"),
        lambda study: study.plan.arrangement.by_features and study.plan.blocks == 4,
    ),
    Reach(
        "one peer's texts beside another's coded columns",
        "src/sottovoce/text/columns.py::Wording",
        '`letter = { words = ["dim"] }` in `[columns]`',
        _killed("features-full-shares"),
        _by_features("zero"),
        lambda study: study.plan.arrangement.columns_of("carol") == ("ward", "letter"),
    ),
    Reach(
        "Protocol 1, the intermediary I_B",
        "src/sottovoce/study/stages/encrypted/intermediary.py::train_intermediary",
        "`[intermediaries]`, `sottovoce assist INVITATION`",
        _killed("intermediary"),
        _encrypted(after='cloud = "I"\n[intermediaries]\nalice = "cloud"\n'),
        lambda study: study.roster.intermediary("alice") == "intermediary-alice",
    ),
    Reach(
        "the secure single-party case",
        "src/sottovoce/study/stages/encrypted/outsourced.py::train_for_owner",
        "a coordinator that is the only peer, `sottovoce assist INVITATION`",
        _killed("outsourced"),
        _COMMON + _TABLE.format(more="") + _OWNER,
        lambda study: study.outsourced,
    ),
    Reach(
        "Definition 4, equation (θ*): M-loss with Γ, in closed form",
        "src/sottovoce/study/stages/contributions.py::penalties_of",
        "`alpha`, `distrusted`, `epsilon`",
        _killed("distrusted-columns-shares"),
        _COMMON + _TABLE.format(more='distrusted = ["pulse"]\nepsilon = 0.5\n') + _PEERS,
        lambda study: study.plan.distrusted == (3,) and study.plan.epsilon == 0.5,
    ),
    Reach(
        "Protocol 3 without a remote part",
        "src/sottovoce/study/queries/classification.py::ask",
        '`sottovoce classify FILE`, `remote = "zero"`',
        _killed("features-zero-shares"),
        _by_features("zero"),
        lambda study: study.answering_seats("alice") == (),
    ),
    Reach(
        "Protocol 3: the common extra rado of the others",
        "src/sottovoce/study/queries/remote.py::take_remotes",
        '`remote = "normalised"`',
        _killed("features-normalised-shares"),
        _by_features("normalised"),
        lambda study: study.plan.arrangement.brings_rados,
    ),
    Reach(
        "Protocol 3: the others' own features of the same entity",
        "src/sottovoce/study/queries/entities.py::answer_entities",
        '`remote = "full"`, `answering`, `--group COLUMN`',
        _killed("features-full-shares"),
        _by_features("full"),
        lambda study: study.answering_seats("alice") == ("answerer-bob", "answerer-carol"),
    ),
    Reach(
        "labels of documents and sentences in one model",
        "src/sottovoce/text/labelling.py::Labelling",
        '`level`, `labelling = "levels"`, `types`, `labels`',
        _killed("labels-of-two-levels-shares"),
        _COMMON + 'level = "sentence"\nlabelling = "levels"\ntypes = ["Drug"]\n' + _PEERS,
        lambda study: study.plan.labels.names == ("Drug", "well", "sick"),
    ),
    Reach(
        "Alice, Bob and Cate",
        "src/sottovoce/study/evaluations/evaluation.py::check_enough_peers",
        "`min_peers = 2`, `examples/alice-bob-cate/`",
        "tests/test_alice_bob_cate.py::test_two_peers_get_from_a_study_to_labels",
        _encrypted("min_peers = 2\n").replace('carol = "C"\n', ""),
        lambda study: len(study.roster.having(Role.PEER)) == 2,
    ),
)


def table() -> str:
    """The table, between its marks."""
    lines = ["| in the paper | function | command or setting | run between processes by |"]
    lines.append("|---|---|---|---|")
    lines += [f"| {r.element} | `{r.function}` | {r.setting} | `{r.test}` |" for r in ROWS]
    return "\n".join((START, "", *lines, "", END))


def written(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(START)
    return before + table() + rest.partition(END)[2]


# The figures


@dataclass(frozen=True)
class Box:
    """A box of a figure: its words, line by line, and where it stands."""

    words: tuple[str, ...]
    x: int
    y: int
    width: int = 170

    @property
    def height(self) -> int:
        """One line is 18 high."""
        return 18 * len(self.words) + 14

    def drawn(self) -> Html:
        """The frame and the words."""
        place = {"x": self.x, "y": self.y, "width": self.width, "height": self.height}
        lines = (
            tag("text", word, x=self.x + 10, y=self.y + 22 + 18 * line, class_="name")
            for line, word in enumerate(self.words)
        )
        return joined(tag("rect", **place, class_="frame", rx=6), *lines)


@dataclass(frozen=True)
class Arrow:
    """An arrow between two places, with words above its middle, or so far from there."""

    start: tuple[int, int]
    end: tuple[int, int]
    words: str = ""
    beside: tuple[int, int] = (0, -6)

    def drawn(self) -> Html:
        """A line with a head, and its words."""
        (x1, y1), (x2, y2), (right, down) = self.start, self.end, self.beside
        middle = {"x": (x1 + x2) / 2 + right, "y": (y1 + y2) / 2 + down}
        line = tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="curve")
        return joined(line, self._head(), tag("text", self.words, **middle, class_="value middle"))

    def _head(self) -> Html:
        (x1, y1), (x2, y2) = self.start, self.end
        length = hypot(x2 - x1, y2 - y1)
        along, across = (x2 - x1) / length, (y2 - y1) / length
        corners = ((0, 0), (-10, 5), (-10, -5))
        points = " ".join(
            f"{x2 + back * along - side * across:.1f},{y2 + back * across + side * along:.1f}"
            for back, side in corners
        )
        return tag("polygon", points=points, class_="bar")


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures, for what is built."""

    name: str
    title: str
    size: tuple[int, int]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def drawn(self) -> str:
        """The picture, with a style of its own."""
        said = "; ".join(" ".join(box.words) for box in self.boxes)
        parts = [*(arrow.drawn() for arrow in self.arrows), *(box.drawn() for box in self.boxes)]
        figure = picture(self.title, said, self.size, *parts)
        svg = figure[figure.index("<svg") : figure.index("</svg>") + len("</svg>")]
        paper = 'style="fill:var(--paper)"'
        ground = f'<style>{style()}</style><rect width="100%" height="100%" {paper}/>'
        head, close, rest = svg.partition(">")
        return f"{head}{close}{ground}{rest}\n"


FIGURES = (
    Figure(
        "paper-pipeline",
        "From text to a label, and what is encrypted on the way",
        (820, 190),
        (
            Box(("documents", "at a site"), 10, 20, 110),
            Box(("sparse rows", "and labels, at home"), 170, 20, 160),
            Box(("moments of all rados", "masked or encrypted"), 400, 20, 170),
            Box(("sealed model", "nobody can read it"), 640, 20, 160),
            Box(("a label", "for the asker alone"), 640, 125, 160),
            Box(("a new document", "at a site, as a row"), 400, 125, 170),
        ),
        (
            Arrow((120, 45), (168, 45)),
            Arrow((330, 45), (398, 45), "sealed"),
            Arrow((570, 45), (638, 45), "solve"),
            Arrow((720, 70), (720, 123), "verdict", (32, 4)),
            Arrow((570, 150), (638, 150), "sealed"),
        ),
    ),
    Figure(
        "paper-encryption",
        "How a site's rows are encrypted for an intermediary",
        (820, 240),
        (
            Box(("site B", "rows x, labels y"), 10, 60),
            Box(("intermediary of B", "⟨⟨x⟩⟩, ⟨⟨yx⟩⟩, ⟨⟨rados⟩⟩", "no key"), 320, 50, 190),
            Box(("coordinator", "the key; sees noise"), 640, 20),
            Box(("evaluator", "⟨⟨sum of moments⟩⟩"), 640, 170),
        ),
        (
            Arrow((180, 72), (318, 72), "⟨⟨x⟩⟩, ⟨⟨yx⟩⟩"),
            Arrow((320, 100), (182, 100), "⟨⟨moments⟩⟩", (0, 16)),
            Arrow((510, 75), (638, 45), "masked", (-8, -10)),
            Arrow((95, 110), (638, 195), "into the blind sum, under masks", (-70, 24)),
            Arrow((725, 170), (725, 72), "masked", (34, 4)),
        ),
    ),
    Figure(
        "paper-architecture",
        "Who talks to whom: one port, and letters sealed end to end",
        (820, 250),
        (
            Box(("coordinator", "one HTTPS port", "mailbox of sealed letters"), 305, 10, 210),
            Box(("peer", "documents, ledger"), 10, 180),
            Box(("peer", "documents, ledger"), 215, 180),
            Box(("evaluator", "or members, at peers"), 420, 180, 185),
            Box(("intermediary", "of a peer"), 640, 180),
        ),
        (
            Arrow((95, 180), (303, 60), "outbound only", (-60, -4)),
            Arrow((300, 180), (370, 80)),
            Arrow((512, 180), (450, 80)),
            Arrow((725, 180), (517, 60), "outbound only", (60, -4)),
        ),
    ),
)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for figure in FIGURES:
        (HERE / f"{figure.name}.svg").write_text(figure.drawn(), encoding="utf-8")
