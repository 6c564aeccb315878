"""Writes docs/adversaries.md, and SECURITY.md's table of pools, from what the code says.

Run it as python docs/make_adversaries.py.
"""

from pathlib import Path

from deviation import ROLES, Deviation
from deviations import DEVIATIONS

from sottovoce.study.adversaries import FACTS, POOLS

HEAD = """# Adversaries: who could do what by deviating, and what stops it

Made from the files `docs/deviations*.py` and `study/adversaries.py` by
`docs/make_adversaries.py`; a test compares. The protocols assume that everyone follows them and
may be curious about what they see. This page is about those who do not follow them: what is
impossible, what is found out, and what nothing stops. Each test that is named here plays the
deviation, or the party that refuses it.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for role in ROLES:
        rows = [deviation for deviation in DEVIATIONS if deviation.role == role]
        if rows:
            lines += [f"## {_capital(role)}", ""]
        for deviation in rows:
            lines += [*_said(deviation), ""]
    lines += ["## Who pools what they saw", "", "The assumption names who must not.", ""]
    lines += [*pool_table(), "", "## Facts that stand in several places", ""]
    lines += [f"- {fact.says} (In: {', '.join(fact.stands_in)}.)" for fact in FACTS]
    return "\n".join(lines) + "\n"


def _said(deviation: Deviation) -> list[str]:
    tests = [f"- Test: `{test}`" for test in deviation.tests]
    stops = f"- What stops it: {deviation.stops or 'nothing'}."
    remains = f"- What nothing stops: {deviation.remains}."
    return [f"**{_capital(deviation.role)} {deviation.does}.**", "", stops, *tests, remains]


def pool_table() -> list[str]:
    """The table that SECURITY.md has, too."""
    rows = [f"| {pool.engine} | {pool.who} | {pool.gets} |" for pool in POOLS]
    return ["| engine | who pools | what they get |", "|---|---|---|", *rows]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def security_page(written: str) -> str:
    """SECURITY.md with the table of pools as the code has it."""
    lines = written.split("\n")
    start = lines.index(pool_table()[0])
    stop = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return "\n".join([*lines[:start], *pool_table(), *lines[stop:]])


if __name__ == "__main__":
    Path(__file__).with_name("adversaries.md").write_text(page(), encoding="utf-8")
    security = Path(__file__).parents[1] / "SECURITY.md"
    security.write_text(security_page(security.read_text(encoding="utf-8")), encoding="utf-8")
