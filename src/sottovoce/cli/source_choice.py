"""What a peer brings: which source, which columns; remembered, so that a restart reads the same."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.cli import options
from sottovoce.errors import DamagedFileError, InputError

if TYPE_CHECKING:
    from sottovoce.roles.plan import StudyPlan
    from sottovoce.service.site import JoinedStudy, Site
    from sottovoce.sources import SourceOptions
    from sottovoce.text.documents import Document


@dataclass(frozen=True)
class SourceChoice:
    """The options of a command that reads a source, as they were typed."""

    data: str
    text: tuple[str, ...] | None = None
    label: tuple[str, ...] | None = None
    label_map: str | None = None
    label_separator: str | None = None
    group: str | None = None
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    quotes: bool = True
    labels_file: str | None = None
    pattern: str = "*.txt"
    longest: int = options.LONGEST

    def absolute(self) -> "SourceChoice":
        """The same from wherever the command is run next."""
        file = None if self.labels_file is None else str(Path(self.labels_file).absolute())
        return replace(self, data=str(Path(self.data).absolute()), labels_file=file)

    def options(self, plan: "StudyPlan", *, learning: bool = True) -> "SourceOptions":
        """What to read for this plan: its labels for learning, none for asking."""
        from sottovoce.sources import Empty, Limits, SourceOptions
        from sottovoce.text.columns import Categorical, Numeric
        from sottovoce.text.labelling import Scheme

        by_label = plan.labelled.scheme is Scheme.LABEL
        return SourceOptions(
            text=self.text,
            label=self.label if learning and by_label else (),
            label_map=options.label_map(self.label_map) if learning else None,
            label_separator=self.label_separator if learning else None,
            labels=plan.labels.names if learning and by_label else (),
            group=self.group,
            categorical=tuple(one.name for one in plan.columns if isinstance(one, Categorical)),
            numeric=tuple(one.name for one in plan.columns if isinstance(one, Numeric)),
            format=options.format_named(self.format),
            encoding=self.encoding,
            table=options.table(self.delimiter, quotes=self.quotes, header=self.header),
            labels_file=None if self.labels_file is None else Path(self.labels_file),
            pattern=self.pattern,
            empty=Empty.SKIP if learning else Empty.KEEP,
            limits=Limits(document_bytes=self.longest),
        )

    def check(self) -> None:
        """Refuse a place or a column that is not there; what a study wants of it comes later."""
        from sottovoce.sources import SourceOptions, open_source

        asked = SourceOptions(
            text=self.text,
            label=self.label,
            label_map=options.label_map(self.label_map),
            label_separator=self.label_separator,
            group=self.group,
            format=options.format_named(self.format),
            encoding=self.encoding,
            table=options.table(self.delimiter, quotes=self.quotes, header=self.header),
            labels_file=None if self.labels_file is None else Path(self.labels_file),
            pattern=self.pattern,
        )
        source = open_source(self.data, asked)
        if next(source.outcomes(), None) is None:
            raise source.nothing_usable()

    def read(self, plan: "StudyPlan", *, learning: bool = True) -> Sequence["Document"]:
        """Every usable document, in order."""
        from sottovoce.cli.progress import watched
        from sottovoce.sources import open_source

        source = open_source(self.data, self.options(plan, learning=learning))
        return list(
            watched(
                source.documents(),
                title="reading",
                position=lambda: (source.findings.done, source.findings.total),
            )
        )


def remember(site: "Site", study: "JoinedStudy", choice: SourceChoice) -> None:
    """Keep the choice in the study's folder, sealed: it names files of this site."""
    data = json.dumps(asdict(choice)).encode()
    site.files.write(study.folder / "source", data, entropy=site.entropy, replace=True)


def recall(site: "Site", study: "JoinedStudy") -> SourceChoice | None:
    """The choice that was made when this site joined."""
    path = study.folder / "source"
    if not path.exists():
        return None
    try:
        found = json.loads(site.files.read(path))
        for name in ("text", "label"):
            found[name] = None if found[name] is None else tuple(found[name])
        return SourceChoice(**found)
    except (ValueError, TypeError, KeyError):
        raise DamagedFileError(f"{path}: not what was written") from None


def check_brings_text(seats: tuple[str, ...], peers: Sequence[str], choice: object) -> None:
    """A peer brings documents, and an organisation without a peer's seat brings none."""
    peer = next((seat for seat in seats if seat in peers), None)
    if peer is not None and choice is None:
        raise InputError(
            f"{peer}: expected the documents of this site, found none",
            hints=("--data notes.csv --text note --label diagnosis",),
        )
    if peer is None and choice is not None:
        raise InputError(
            f"--data: expected no documents for {', '.join(seats)}, found some",
            hints=("leave --data out: this organisation has no text in the study",),
        )
