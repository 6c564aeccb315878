"""Label Studio's JSON: tasks with their data, and each annotator's results."""

from collections.abc import Iterator

from sottovoce.sources.annotations.marks import Mark, whole_mark
from sottovoce.sources.annotations.tool_reader import Decided
from sottovoce.sources.lines import Flaw
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import ProblemKind
from sottovoce.sources.rows import Row
from sottovoce.text.documents import Label

_LISTS = ("choices", "labels", "taxonomy")
Decision = tuple[tuple[Label, ...], tuple[Mark, ...]]


class LabelStudio:
    """Label Studio's format: the ground-truth annotation counts, else one that all agree on.

    Skipped and cancelled annotations, drafts and predictions are not labels.
    """

    format = Format.LABEL_STUDIO

    def wrote(self, record: Row) -> bool:
        """Return whether an object has its fields below `data`, beside annotations."""
        return isinstance(record.get("data"), dict) and (
            "annotations" in record or "completions" in record or "predictions" in record
        )

    def decided(self, record: Row, options: SourceOptions) -> Decided:
        """Return the annotators' decision; `options` are not used."""
        del options
        data = record.get("data")
        fields: Row = data if isinstance(data, dict) else {}
        decisions = [_decision(result) for result in _results(record)]
        if not decisions:
            return Decided(fields)
        if any(other != decisions[0] for other in decisions):
            reason = f"expected one decision, found different ones among {len(decisions)}"
            return Decided(fields, flaw=Flaw(ProblemKind.DISAGREEMENT, reason))
        return Decided(fields, *decisions[0])


def _results(record: Row) -> list[list[object]]:
    """Return the results that count, a list for each annotation."""
    given = record.get("annotations", record.get("completions"))
    made = [
        annotation
        for annotation in (given if isinstance(given, list) else [])
        if isinstance(annotation, dict)
        and not annotation.get("was_cancelled")
        and not annotation.get("skipped")
    ]
    truth = [annotation for annotation in made if annotation.get("ground_truth")]
    results = [annotation.get("result") for annotation in truth or made]
    return [result for result in results if isinstance(result, list) and result]


def _decision(result: list[object]) -> Decision:
    labels: dict[Label, None] = {}
    marks: list[Mark] = []
    for region in result:
        value = region.get("value") if isinstance(region, dict) else None
        if not isinstance(value, dict):
            continue
        for name in _names(value):
            if "start" in value:
                mark = whole_mark(value["start"], value.get("end"), name, value.get("text"))
                if mark is not None:
                    marks.append(mark)
            elif isinstance(name, str | int | float | bool):
                labels[name] = None
    return tuple(labels), tuple(marks)


def _names(value: Row) -> Iterator[object]:
    for kind in _LISTS:
        names = value.get(kind)
        yield from names if isinstance(names, list) else ()
    if "rating" in value:
        yield value["rating"]
