"""A peer's choice of source and columns, kept so that a restart reads the same."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.cli import options
from sottovoce.errors import DamagedFileError, InputError
from sottovoce.keyfiles import storage

if TYPE_CHECKING:
    from sottovoce.node.site.site_folder import JoinedStudy, Site
    from sottovoce.sources import Problems, Source, SourceOptions
    from sottovoce.sources.parting.parts import SourcePart
    from sottovoce.study.plan import StudyPlan
    from sottovoce.text.documents import Document


NO_TEXT = ("none",)
"""The value of --text at a site that brings columns only."""
MOST_KEPT = 2**16
"""The most documents kept in memory, about a kilobyte each; a larger source is read again."""


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
    encoder: str | None = None

    @classmethod
    def of(
        cls,
        data: str,
        text: list[str] | None,
        group: str | None,
        *,
        columns: options.ColumnFlags,
        file: options.FileFlags,
        encoder: str | None = None,
    ) -> "SourceChoice":
        """The source that the options of a command describe."""
        labels_file = None if columns.labels_file is None else str(columns.labels_file)
        flags = {**vars(columns), **vars(file), "label": options.several(columns.label)}
        flags["labels_file"] = labels_file
        return cls(data, options.several(text), group=group, encoder=encoder, **flags)

    def absolute(self) -> "SourceChoice":
        """The same choice with absolute paths."""
        from sottovoce.sources.files import address_of

        file = None if self.labels_file is None else str(Path(self.labels_file).absolute())
        place = self.encoder
        encoder = str(Path(place).absolute()) if place and Path(place).exists() else place
        path = Path(self.data)
        data = str(path.absolute()) if address_of(path) is None else self.data
        return replace(self, data=data, labels_file=file, encoder=encoder)

    def options(
        self, plan: "StudyPlan", *, peer: str = "", learning: bool = True
    ) -> "SourceOptions":
        """The options to read with for this plan: with labels for training, without for a query.

        In partition `features`, the columns of `peer`.
        """
        from sottovoce.sources import Empty, SourceLimits
        from sottovoce.text.columns import Numeric

        self._check_text(plan)
        typed = self.typed() if plan.has_text else replace(self.typed(), text=())
        columns = plan.columns
        if plan.arrangement.by_features:
            held = plan.arrangement.columns_of(peer)
            columns = tuple(column for column in columns if column.name in held)
            self._check_entities(plan, learning=learning)
        names = plan.labelled.document_names if learning else ()
        further = replace(
            typed,
            labels=names,
            label=typed.label if names else (),
            categorical=tuple(item.name for item in columns if not isinstance(item, Numeric)),
            numeric=tuple(item.name for item in columns if isinstance(item, Numeric)),
            agreed=True,
            qualified=any(":" in kind for kind in plan.labelled.types),
            empty=Empty.SKIP if learning else Empty.KEEP,
            limits=SourceLimits(document_bytes=self.longest),
        )
        return further if learning else replace(further, label_map=None, label_separator=None)

    def _check_text(self, plan: "StudyPlan") -> None:
        """Check that text columns are given exactly if the study's rows have text."""
        if plan.has_text and self.text == NO_TEXT:
            raise InputError(
                "--text: name the column that holds the text",
                hints=("--text note",),
            )
        if not plan.has_text and self.text not in {None, NO_TEXT}:
            raise InputError(
                f"--text: rows of this study have no text, found {', '.join(self.text or ())}",
                hints=("--text none",),
            )

    def _check_entities(self, plan: "StudyPlan", *, learning: bool) -> None:
        """Check that a column names the entities: peers hold out and look up by it."""
        if self.group is None and learning and (plan.held_out or len(plan.candidates) > 1):
            reason = "peers with different columns hold the same ones out"
        elif self.group is None and plan.arrangement.asks_holders:
            reason = "others look up the same ones"
        else:
            return
        raise InputError(
            "--group: name the column that says whom a row is about: " + reason,
            hints=("--group patient",),
        )

    def check(self) -> None:
        """Refuse a missing file or column; the study's own checks come later."""
        typed = self.typed()
        try:
            _check_readable(self.data, typed)
        except InputError as error:
            if self.text is None:
                # It may be a table for a study of columns alone, which only the plan can tell.
                _check_readable(self.data, replace(typed, text=()))
                error.hints += (f"--text {NO_TEXT[0]} if the study's rows have no text",)
            raise

    def typed(self) -> "SourceOptions":
        """The options as typed, without the study's additions."""
        from sottovoce.sources import SourceOptions

        return SourceOptions(
            text=() if self.text == NO_TEXT else self.text,
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

    def read(
        self,
        plan: "StudyPlan",
        *,
        peer: str = "",
        report: Callable[["Problems"], None] | None = None,
    ) -> Sequence["Document"]:
        """Every usable document, in order; the plan's encoder is opened too.

        A large source is not kept in memory, but read again for every pass.

        `report` is called with what was skipped, even if nothing is left.
        """
        from sottovoce.cli.terminal.progress import watched
        from sottovoce.sources import open_source
        from sottovoce.sources.parting.parts import parts_of
        from sottovoce.text.columns import as_row
        from sottovoce.text.streams import DocumentStream

        self.open_encoder(plan)
        options = self.options(plan, peer=peer)
        before = self._state()

        def read() -> Iterator["Document"]:
            documents = open_source(self.data, options).documents()
            yield from documents if plan.has_text else map(as_row, documents)
            if self._state() != before:
                raise InputError(
                    f"{self.data}: the file was changed since this site joined",
                    hints=("do not change it until the training is over",),
                )

        source = open_source(self.data, options)
        position = partial(_position, source)
        try:
            reading = watched(source.documents(), title="reading", position=position)
            documents = list(islice(reading, MOST_KEPT + 1))
            if len(documents) <= MOST_KEPT:
                return documents if plan.has_text else list(map(as_row, documents))
            count = len(documents)
            documents.clear()
            parts = parts_of(self.data, options, has_text=plan.has_text)
            if parts:
                return self._parted(source, parts, plan)
            return DocumentStream(read, length=count + sum(1 for _ in reading))
        finally:
            if report is not None:
                report(source.problems)

    def open_encoder(self, plan: "StudyPlan") -> None:
        """Let rows of this plan be read: open its encoder, if it has one."""
        from sottovoce.encoders import ready

        ready(plan.beside.encoder, self.encoder)

    def _parted(
        self, source: "Source", parts: tuple["SourcePart", ...], plan: "StudyPlan"
    ) -> Sequence["Document"]:
        """Documents that each worker reads by itself; they are listed first."""
        from sottovoce.encoders import ready_once
        from sottovoce.sources.parting.parts import list_parts
        from sottovoce.text.parts import PartedDocuments, PartTask, mapped

        listed = list_parts(parts, mapped)
        source.findings.problems = listed.problems
        encoder = plan.beside.encoder
        begin = None if encoder is None else partial(ready_once, encoder, self.encoder)
        return PartedDocuments(PartTask(listed.parts, (), begin), length=listed.documents)

    def _state(self) -> tuple[int, int] | None:
        """The file's size and time of change; None for folders and other things."""
        path = Path(self.data)
        if not path.is_file():
            return None
        status = path.stat()
        return status.st_size, status.st_mtime_ns


def _position(source: "Source") -> tuple[int, int | None]:
    return source.findings.done, source.findings.total


def remember(site: "Site", study: "JoinedStudy", choice: SourceChoice) -> None:
    """Keep the choice in the study's folder, sealed, because it names files of this site."""
    data = json.dumps(asdict(choice)).encode()
    site.files.write(study.folder / "source", data, entropy=site.entropy, replace=True)


def recall(site: "Site", study: "JoinedStudy") -> SourceChoice | None:
    """The choice that this site made when it joined."""
    path = study.folder / "source"
    if not path.exists():
        return None
    try:
        kept = json.loads(site.files.read(path))
        for name in ("text", "label"):
            kept[name] = None if kept[name] is None else tuple(kept[name])
        return SourceChoice(**kept)
    except (ValueError, TypeError, KeyError):
        raise DamagedFileError(f"{path}: not what was written") from None


def _check_readable(data: str, typed: "SourceOptions") -> None:
    from sottovoce.sources import open_source

    source = open_source(data, typed)
    if next(source.outcomes(), None) is None:
        raise source.nothing_usable()


def check_brings_text(seats: tuple[str, ...], peers: Sequence[str], choice: object) -> None:
    """Check that a peer brings documents, and an organisation without a peer's seat brings none."""
    peer = next((seat for seat in seats if seat in peers), None)
    if peer is not None and choice is None:
        raise InputError(
            f"{peer}: a peer needs --data with its documents",
            hints=("--data notes.csv --text note --label diagnosis",),
        )
    if peer is None and choice is not None:
        raise InputError(
            f"--data: {', '.join(seats)} brings no documents",
            hints=("leave --data out: this organisation has no text in the study",),
        )


def mark_begun(study: "JoinedStudy") -> None:
    """Note that this site's person consented to the card, so that `join` does not ask again."""
    storage.write_whole(_begun(study), b"", mode=storage.SECRET_MODE, replace=True)


def has_begun(study: "JoinedStudy") -> bool:
    """Whether this site's person consented to the card."""
    return _begun(study).exists()


def _begun(study: "JoinedStudy") -> Path:
    return study.folder / "begun"
