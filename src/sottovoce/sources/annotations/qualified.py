"""BRAT's attributes, relations and events as spans, so that they can be labels.

    T1 Disease 0 8 · A1 Negated T1            Disease:Negated at T1
    A2 Certainty T1 high                      Disease:Certainty=high at T1
    R1 Treats Drug:T2 Disorder:T1             Treats:Drug at T2, Treats:Disorder at T1
    E1 Admission:T3 Where:T4                  Admission:Where at T4 (T3 is an entity already)

An argument that is an event stands for its trigger.
"""

from collections.abc import Iterator, Mapping

from sottovoce.sources.annotations.standoff import Annotations, Attribute, BratEvent, Relation
from sottovoce.text.documents import Span


def qualified_spans(annotations: Annotations) -> tuple[Span, ...]:
    """Return one span for each fact about a place other than its entity's type, each once."""
    places = {span.name: span for span in annotations.spans}
    for other in annotations.others:
        if isinstance(other, BratEvent) and other.trigger in places:
            places[other.name] = places[other.trigger]
    return tuple(dict.fromkeys(_further(annotations, places)))


def _further(annotations: Annotations, places: Mapping[str, Span]) -> Iterator[Span]:
    for other in annotations.others:
        if isinstance(other, Attribute) and other.target in places:
            place = places[other.target]
            value = "" if other.value is None else f"={other.value}"
            yield Span(f"{place.type}:{other.type}{value}", place.fragments)
        if isinstance(other, Relation | BratEvent):
            for argument in other.arguments:
                if argument.target in places:
                    yield Span(f"{other.type}:{argument.role}", places[argument.target].fragments)
