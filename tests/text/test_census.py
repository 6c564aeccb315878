"""Documents, words and classes are counted in one pass, and by workers as by one process."""

from concurrent.futures import ThreadPoolExecutor

from sottovoce.text.census import census
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels
from sottovoce.text.parts import PartedDocuments, PartTask
from text.test_parts import Numbered

LABELS = Labels(("a", "b"))
PARTS = (Numbered(range(7)), Numbered(range(7, 10)))


def test_words_of_a_document_are_counted_between_spaces() -> None:
    counted = census([Document("a  b\nc"), Document("")])
    assert (counted.documents, counted.words, counted.mean_words) == (2, 3, 1.5)
    assert census([]).mean_words == 0


def test_parts_are_counted_as_a_list_is_and_keep_the_numbers() -> None:
    parted = PartedDocuments(PartTask(PARTS))
    listed = census(list(parted), LABELS)
    assert (listed.documents, listed.words) == (10, 30)
    assert listed.classes == {"a": 5, "b": 5}
    with ThreadPoolExecutor(2) as pool, working_with(Workers(lambda: pool, ahead=2)):
        assert census(parted, LABELS) == listed
    # Nobody reads them again.
    assert census(parted, LABELS) is census(parted, LABELS)
    assert len(parted) == 10
