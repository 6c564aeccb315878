"""Runs a command and counts the modules that it visits: python -m benchmarks.visited join … --yes.

A module of ours is visited if one of its functions is called; that it is imported is not enough.
The count goes to standard error when the command ends, or to the file in SOTTOVOCE_VISITED.
"""

import os
import sys
import threading
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import sottovoce
from sottovoce.cli import main as command

PACKAGE = Path(sottovoce.__file__).parent


def main() -> None:
    """Run the rest of the line as a command of the product."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        code = frame.f_code
        # Bodies of modules and classes run when they are imported, and are no functions.
        if event == "call" and code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):
            called.add(code.co_filename)

    def report() -> None:
        sys.setprofile(None)
        files = {Path(name) for name in called if name.startswith(str(PACKAGE))}
        names = sorted(str(file.relative_to(PACKAGE)) for file in files)
        lines = "\n".join([f"{len(names)} modules visited", *names, ""])
        place = os.environ.get("SOTTOVOCE_VISITED")
        if place:
            Path(place).write_text(lines, encoding="utf-8")
        else:
            sys.stderr.write(lines)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        command()
    finally:
        report()


if __name__ == "__main__":
    main()
