"""Prodigy's JSON Lines: a label, a choice or spans, and whether the annotator accepted it."""

from collections.abc import Iterator

from sottovoce.sources.annotations.marks import Mark, whole_mark
from sottovoce.sources.annotations.tool_reader import Decided
from sottovoce.sources.lines import Flaw
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import ProblemKind
from sottovoce.sources.rows import Row

_ANSWERS = ("accept", "reject", "ignore")
_ASKED = {"_task_hash", "_input_hash", "label", "accept", "spans"}
_OWN = {"label", "accept", "spans", "options", "answer", "tokens", "config", "meta"}


class Prodigy:
    """Prodigy's format: only `accept` gives a label; a rejected answer says what a text is not."""

    format = Format.PRODIGY

    def wrote(self, record: Row) -> bool:
        """Return whether an object has an answer and one of the fields of a question."""
        return record.get("answer") in _ANSWERS and not _ASKED.isdisjoint(record)

    def decided(self, record: Row, options: SourceOptions) -> Decided:
        """Return the label or the accepted choices, and the spans; `options` are not used."""
        del options
        fields = {
            name: value
            for name, value in record.items()
            if name not in _OWN and not name.startswith("_")
        }
        answer = record.get("answer")
        if answer != "accept":
            said = answer if answer in _ANSWERS else "no answer" if not answer else "another"
            reason = f"expected answer accept, found {said}"
            return Decided(fields, flaw=Flaw(ProblemKind.REJECTED, reason))
        accepted = record.get("accept")
        chosen = accepted if isinstance(accepted, list) else [record.get("label")]
        labels = tuple(option for option in chosen if isinstance(option, str | int | float | bool))
        return Decided(fields, labels, tuple(_marks(record.get("spans"))))


def _marks(spans: object) -> Iterator[Mark]:
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, dict):
            mark = whole_mark(span.get("start"), span.get("end"), span.get("label"))
            if mark is not None:
                yield mark
