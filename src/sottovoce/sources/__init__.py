"""Every site's own text, read where it lies.

`open_source(path_or_object, options)` gives a `Source`; its `documents()` is a
stream that can be started again, and its `problems` say what was left out.
"""

from sottovoce.sources.labels import LabelMap
from sottovoce.sources.opening import open_source
from sottovoce.sources.options import Empty, Format, Limits, SourceOptions, Table
from sottovoce.sources.problems import Cost, Kind, Problem, Problems
from sottovoce.sources.source import Source

__all__ = [
    "Cost",
    "Empty",
    "Format",
    "Kind",
    "LabelMap",
    "Limits",
    "Problem",
    "Problems",
    "Source",
    "SourceOptions",
    "Table",
    "open_source",
]
