"""Readers of a site's own text, as streams of documents.

`open_source(path_or_object, options)` gives a `Source`; its `documents()` is a
stream that can be started again, and its `problems` say what was left out.
"""

from sottovoce.sources.labels import LabelMap
from sottovoce.sources.opening import open_source
from sottovoce.sources.options import DelimitedFormat, Empty, Format, SourceLimits, SourceOptions
from sottovoce.sources.problems import Loss, ProblemKind, Problems, SourceProblem
from sottovoce.sources.source import Source

__all__ = [
    "DelimitedFormat",
    "Empty",
    "Format",
    "LabelMap",
    "Loss",
    "ProblemKind",
    "Problems",
    "Source",
    "SourceLimits",
    "SourceOptions",
    "SourceProblem",
    "open_source",
]
