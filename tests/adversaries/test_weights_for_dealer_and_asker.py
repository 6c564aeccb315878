"""What the dealer of a query and its asker get together: the exact weights, as the pages say."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from harness.studies import BINARY, Case, notes
from sottovoce.config.study_file import example
from sottovoce.entropy import Expansion
from sottovoce.paillier import SecretKey, decrypt
from sottovoce.protocols.shares import signs
from sottovoce.protocols.shares.labels import verdict
from sottovoce.study import InsecureToyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.study.stages.holdings import integer_rows
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.dictionary.lookup import own_words
from sottovoce.text.documents import Document

FEATURES = 24
ROOT = Path(__file__).parents[2]
WHO = "the dealer of a query and whoever asks"


class Kept:
    """What the two keep of a query: the dealer its masks, the asker what was opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.masks: list[np.ndarray] = []
        self.opened: list[np.ndarray] = []
        deal, opened = verdict.deal_signs, signs.opened

        def dealing(dealer, count, *, purpose, ring):
            # The dealer draws from the halves' seeds once more, and forgets nothing.
            name = f"signs of {purpose}"
            streams = [
                Expansion(half._seed, f"shares/{half._half}/{name}/0/v1", half.context.encode())
                for half in (dealer.first, dealer.second)
            ]
            self.ring = ring
            self.masks.append(ring.reduce(sum(ring.draw(stream, count) for stream in streams)))
            return (yield from deal(dealer, count, purpose=purpose, ring=ring))

        def opening(holder, kind, share, *, ring):
            value = yield from opened(holder, kind, share, ring=ring)
            if not holder.first:
                self.opened.append(value)
            return value

        monkeypatch.setattr(verdict, "deal_signs", dealing)
        monkeypatch.setattr(signs, "opened", opening)

    def scores(self) -> np.ndarray:
        pairs = zip(self.opened, self.masks, strict=True)
        results = [self.ring.signed(self.ring.reduce(value - mask)) for value, mask in pairs]
        return np.concatenate([result.reshape(-1) for result in results])


def one_word_texts(documents: list[Document], space, key: DictionaryKey) -> list[Document]:
    """An empty text, and for every feature that the asker has a word for, that word."""
    words = own_words(documents, space, key=key)
    return [Document(""), *(Document(word[0]) for word in words.values() if word)]


def test_one_word_texts_give_them_the_exact_weights(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = InsecureToyPlan(
        "notes",
        BINARY,
        features=FEATURES,
        key_bits=768,
        bucket_bits=12,
        verdict="fss",
        labels_on="paillier",
    )
    case = Case(notes(300), plan, toy_key)
    outcome = case.run()
    asker = case.study.roster.peers[-1]
    model = outcome.models[asker]
    texts = one_word_texts(case.documents[asker], model.space, model.key)
    kept = Kept(monkeypatch)
    outcome.classify(asker, texts)
    rows = integer_rows(case.study, model.space, asker, texts, key=model.key).toarray()
    ring = outcome.trained.scores.ring
    true = decrypt(toy_key, model.weights).integers
    weights = ring.signed(
        ring.reduce(np.array([int(weight) % 2**64 for weight in true[:, 0]], "u8"))
    )
    scores = kept.scores()[: len(texts)]
    # But for the last place, in which a share of a score is cut.
    assert np.abs(scores - rows @ weights).max() <= 1
    seen = np.flatnonzero(rows.any(axis=0))
    assert len(seen) >= FEATURES // 2
    solution = np.linalg.lstsq(rows[:, seen].astype(float), scores.astype(float), rcond=None)[0]
    assert np.abs(solution - weights[seen]).max() <= 4
    assert np.abs(weights[seen]).max() > 10**6
    check_it_is_said(
        said_of_the_two(StudyCard(case.study).markdown(), r"(?m)^- If they pool, (.*)")
    )


def said_of_the_two(page: str, pools: str) -> str:
    """What a page says that the dealer of a query and its asker get together."""
    (said,) = [line for line in re.findall(pools, page) if line.startswith(WHO)]
    return str(said.removeprefix(WHO))


def check_it_is_said(said: str) -> None:
    """The two got the weights above, so a page that speaks of scores alone would be false."""
    assert "the exact weights" in said
    assert "rows of one feature each" in said


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/adversaries.md"])
def test_the_pages_say_so(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    check_it_is_said(said_of_the_two(text, r"(?m)^\| `paillier`[^|]* \| (.*)"))


def test_the_shipped_example_makes_no_peer_dealer_or_evaluator() -> None:
    """As it is nobody has these roles; who follows its comments names two without text."""
    shipped = tomllib.loads(example())
    assert not {"evaluator", "dealer"} & set(shipped.get("roles", {}))
    taken = re.findall(r'(?m)^# (?:evaluator|dealer) = "(\w+)"', example())
    helpers = set(re.findall(r"(?m)^# (\w+) = \"[A-Z]", example()))
    assert len(set(taken)) == 2
    assert set(taken) <= helpers
    assert not set(taken) & set(shipped["peers"])
    said = " ".join(example().replace("#", " ").split())
    assert "Two hospitals, or the coordinator and one, are then enough" in said
