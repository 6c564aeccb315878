"""Refusals of the server as RFC 9457 problem documents: a kind, a sentence, and hints."""

import json
from collections.abc import Mapping
from typing import Self

KIND = "urn:sottovoce:problem:"
CONTENT_TYPE = "application/problem+json"
MAX_DOCUMENT = 64 * 1024
_MAX_TEXT, _MAX_HINTS = 1000, 8
DISK_FULL = "disk-full"
"""The kind of a refusal that ends once the coordinator's disk has room."""


class Refusal(Exception):  # noqa: N818 - the word of RFC 9457
    """A refusal: its HTTP status, kind, sentence and hints."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        hints: tuple[str, ...] = (),
        facts: Mapping[str, int] | None = None,
    ) -> None:
        """Keep the document's fields; `facts` are numbers for the client."""
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.hints = hints
        self.facts = dict(facts or {})

    def document(self) -> bytes:
        """The problem document."""
        described = {
            "type": KIND + self.kind,
            "title": self.kind.replace("-", " "),
            "status": self.status,
            "detail": self.detail,
            "hints": list(self.hints),
            **self.facts,
        }
        return json.dumps(described).encode()

    @classmethod
    def read(cls, status: int, data: bytes) -> Self:
        """The problem of a document; a foreign one has the kind `unknown`."""
        try:
            document = json.loads(data[:MAX_DOCUMENT])
            kind = _shown(document["type"]).removeprefix(KIND)
            detail = _shown(document.get("detail", ""))
            hints = tuple(_shown(hint) for hint in document.get("hints", ())[:_MAX_HINTS])
            facts = {name: fact for name, fact in document.items() if type(fact) is int}
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return cls(status, "unknown", f"the status {status} and no problem document")
        facts.pop("status", None)
        return cls(status, kind, detail, hints=hints, facts=facts)


def _shown(text: object) -> str:
    """Return another party's text for a terminal, printable and of bounded length."""
    return "".join(
        character if character.isprintable() else "?" for character in str(text)[:_MAX_TEXT]
    )


PLAIN_HTTP = Refusal(
    400,
    "plain-http",
    "this port speaks https only, and the request came in plain http",
    hints=("use the address in the invitation, which begins with https://",),
)
