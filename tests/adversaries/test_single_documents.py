"""A document unlike all others: what rare words hide of it, and what kernel columns keep."""

from sottovoce.estimators.plain_text import PlainText
from sottovoce.study import StudyPlan
from sottovoce.text.blocks import Blocks
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

LABELS = Labels(("routine", "urgent"))
COMMON = {
    "routine": ("stable review of the wound", "routine letter, no change", "follow up in a year"),
    "urgent": ("severe pain in the chest", "collapse and fever today", "acute bleeding, admit"),
}
# No other document has a word of these.
SINGLE = "zanzibar quixotic marmalade ocelot"


def documents(label: str | None) -> list[Document]:
    """A site's documents; with a label, the single one among them."""
    rows = [
        Document(f"{text} visit", label=name, origin=f"row {turn}")
        for name, texts in COMMON.items()
        for text in texts
        for turn in range(8)
    ]
    if label is not None:
        rows.append(Document(SINGLE, label=label, origin="single"))
    return rows


def influence(blocks: Blocks) -> float:
    """How far the score of the single text lies apart, by the label that it was trained with."""
    plan = StudyPlan("single", LABELS, features=64, beside=blocks, held_out=0.0)
    scores = [
        PlainText.learn(plan, [documents(label)]).scores([Document(SINGLE)])[0, 0]
        for label in LABELS.names
    ]
    return float(scores[1] - scores[0])


def asked_at(site: int, text: str, weight: float) -> float:
    """How far the score of a text lies apart by the label of the single one, asked at a site."""
    plan = StudyPlan("single", LABELS, features=64, beside=Blocks(own_weight=weight), held_out=0.0)
    scores = [
        PlainText.learn(plan, [documents(label), documents(None)])
        .at(site)
        .scores([Document(text)])[0, 0]
        for label in LABELS.names
    ]
    return float(scores[1] - scores[0])


def test_own_scores_add_nothing_of_a_single_document_but_for_other_texts_at_its_site() -> None:
    others = [f"{SINGLE} again{number}" for number in range(8)]
    for weight in (0.5, 1.0):
        for site in (0, 1):
            assert abs(asked_at(site, SINGLE, weight)) <= asked_at(site, SINGLE, 0.0) + 0.01
        for text in others:
            assert abs(asked_at(1, text, weight)) <= asked_at(1, text, 0.0) + 0.01
    changed = [abs(asked_at(0, text, 1.0) - asked_at(0, text, 0.0)) for text in others]
    assert max(changed) > 0.1


def test_words_below_the_minimum_hide_a_document_and_a_kernel_remembers_it() -> None:
    hidden = influence(Blocks())
    kept = influence(Blocks(kernel=256, kernel_width=1.0, kernel_weight=2.0))
    assert 0 <= hidden < 0.2
    assert kept > 0.5
