"""Draw the course of a study from its transition tables into ARCHITECTURE.md.

    python docs/make_course.py

Every arrow is a rule of a table in `sottovoce.course`: from which phase, by which input, to which
phase. Inputs after which the phase stays are left out.
"""

from collections import defaultdict
from pathlib import Path

from sottovoce.course.queries import answering, asking, evaluating, evaluations, helping
from sottovoce.course.table import Table
from sottovoce.course.training import training_coordinator, training_participant
from sottovoce.wire.tags import kebab

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
BEGIN, END = "<!-- course: drawn by docs/make_course.py -->", "<!-- end of the course -->"
DECIDERS = (
    ("The coordinator of a training", training_coordinator.TABLE),
    ("A participant of a training", training_participant.TABLE),
    ("The coordinator, with one peer's queries", answering.TABLE),
    ("The coordinator, with joint evaluations", evaluations.TABLE),
    ("A peer that asks", asking.TABLE),
    ("A peer in a joint evaluation", evaluating.TABLE),
    ("A helper of queries and evaluations", helping.TABLE),
)


def drawn(table: Table) -> str:
    """A table as a Mermaid state diagram."""
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for phase, rules in table.items():
        for kind, rule in rules.items():
            for after in sorted(rule.to - {phase}):
                arrows[str(phase), str(after)].append(kebab(kind.__name__))
    lines = [
        f"    {_id(before)} --> {_id(after)}: {', '.join(sorted(set(kinds)))}"
        for (before, after), kinds in arrows.items()
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _id(phase: str) -> str:
    """A phase as Mermaid names states."""
    return phase.replace("-", "_")


def section() -> str:
    """The diagrams of all deciders."""
    parts = [f"**{title}**\n\n{drawn(table)}" for title, table in DECIDERS]
    return "\n\n".join([BEGIN, *parts, END])


def page(text: str) -> str:
    """The page with its diagrams made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{section()}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
