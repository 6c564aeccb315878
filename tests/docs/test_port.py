"""The page on the port names every request and every refusal there is."""

import re
from pathlib import Path

from sottovoce.transport.problems import DISK_FULL
from sottovoce.transport.server.server import build_app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "port.md").read_text(encoding="utf-8")


def test_every_request_stands_on_the_page() -> None:
    app = build_app(None, fingerprint=bytes(32))
    made = {f"{route.method} {route.resource.canonical}" for route in app.router.routes()}
    assert made == set(re.findall(r"^\| `([A-Z]+ /\S+)` \|", PAGE, re.MULTILINE))


def test_every_refusal_stands_on_the_page() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for layer in ("transport", "node")
        for path in (ROOT / "src" / "sottovoce" / layer).rglob("*.py")
    )
    raised = set(re.findall(r'Refusal\(\s*\d{3},\s*"([a-z-]+)"', source))
    raised |= {DISK_FULL} if re.search(r"Refusal\(\s*507,\s*DISK_FULL", source) else set()
    raised |= set(re.findall(r'Refusal\(answer\.status, "([a-z-]+)"', source))
    raised |= set(re.findall(r'Refusal\(error\.status, "([a-z-]+)"', source))
    raised |= set(re.findall(r'kind = "([a-z-]+)" if status >= 500 else "([a-z-]+)"', source)[0])
    table = PAGE.split("## Refusals")[1].split("## Limits")[0]
    rows = "".join(re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE))
    assert raised == set(re.findall(r"`([a-z-]+)`", rows))
