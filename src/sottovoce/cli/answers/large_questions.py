"""Labels for more documents than are kept in memory: asked in slices, each kept when it came.

Every slice is a query of its own. Its answer lies sealed in the study's folder, in the transaction
that closes the query, until all slices have one; then the documents are read once more and written
with their labels, as they stream by. Run again after a crash, a command asks only what it has no
answer to; a file that was changed meanwhile is asked about anew.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import DamagedFileError
from sottovoce.keyfiles import storage
from sottovoce.node.api import Classified
from sottovoce.study.choices import Verdict
from sottovoce.text.documents import Document

if TYPE_CHECKING:
    from sottovoce.node.site.site_folder import JoinedStudy, Site

SLICE = 2**14
"""Documents that are asked about at once, and kept in memory."""

Ask = Callable[[Sequence[Document], Callable[[Classified], None]], object]


@dataclass(frozen=True)
class LargeQuestion:
    """The documents of one source, in slices, and the answers that are kept of them."""

    site: "Site"
    study: "JoinedStudy"
    read: Callable[[], Iterator[Document]] = field(repr=False)
    folder: Path

    @classmethod
    def about(
        cls,
        site: "Site",
        study: "JoinedStudy",
        read: Callable[[], Iterator[Document]],
        *,
        source: Path,
        asked: object,
    ) -> "LargeQuestion":
        """The question about a source as it is now, read as `asked`."""
        status = source.stat()
        state = (str(source.absolute()), status.st_size, status.st_mtime_ns, repr(asked))
        name = hashlib.blake2b(repr(state).encode(), digest_size=8).hexdigest()
        return cls(site, study, read, study.folder / "labelling" / name)

    def ask(self, ask: Ask, *, progress: Callable[[int], None] | None) -> Classified:
        """Ask about every slice that has no answer yet; what all of them cost, without labels."""
        storage.make_folder(self.folder.parent)
        storage.make_folder(self.folder)
        costs = _Costs()
        for number, documents in enumerate(self._slices()):
            path = self._path(number)
            if not path.exists():
                ask(documents, partial(self._keep, path))
            costs.add(self._kept(path))
            if progress is not None:
                progress(costs.rows)
        return costs.together()

    def answered(self) -> Iterator[tuple[list[Document], Classified]]:
        """Every slice with its answer, one at a time."""
        for number, documents in enumerate(self._slices()):
            yield documents, self._kept(self._path(number))

    def forget(self) -> None:
        """The labels are where the user wants them."""
        shutil.rmtree(self.folder)

    def _slices(self) -> Iterator[list[Document]]:
        documents = self.read()
        while some := list(islice(documents, SLICE)):
            yield some

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06}"

    def _keep(self, path: Path, answer: Classified) -> None:
        scores = None if answer.scores is None else answer.scores.tolist()
        kept = {
            "classes": answer.classes,
            "left": answer.left,
            "scores": scores,
            "verdict": answer.verdict,
            "charged": answer.charged,
            "wordless": answer.wordless,
        }
        data = json.dumps(kept).encode()
        self.site.files.write(path, data, entropy=self.site.entropy, replace=True)

    def _kept(self, path: Path) -> Classified:
        try:
            kept = json.loads(self.site.files.read(path))
            return Classified(
                [tuple(classes) for classes in kept["classes"]],
                kept["left"],
                None if kept["scores"] is None else np.array(kept["scores"]),
                verdict=None if kept["verdict"] is None else Verdict(kept["verdict"]),
                charged=kept["charged"],
                wordless=tuple(kept["wordless"]),
            )
        except (ValueError, TypeError, KeyError):
            raise DamagedFileError(f"{path}: not what was written") from None


@dataclass
class _Costs:
    """The cost of several answers, and their statements about their rows."""

    rows: int = 0
    charged: int = 0
    left: int | None = None
    wordless: list[int] = field(default_factory=list)
    verdict: Verdict | None = None

    def add(self, answer: Classified) -> None:
        self.wordless += [self.rows + number for number in answer.wordless]
        self.rows += len(answer.classes)
        self.charged += answer.charged
        self.left = answer.left if self.left is None else min(self.left, answer.left)
        self.verdict = answer.verdict or self.verdict

    def together(self) -> Classified:
        return Classified(
            [()] * self.rows,
            self.left or 0,
            verdict=self.verdict,
            charged=self.charged,
            wordless=tuple(self.wordless),
        )
