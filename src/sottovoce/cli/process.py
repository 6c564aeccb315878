"""The process of the command `sottovoce`, from its first moment to its last."""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from sottovoce.cli.hangups import hold_hangups

_WITH_LOGS = ("serve", "join", "assist")


def run_process() -> NoReturn:
    """Run the command, and end its process at once.

    Unloading hundreds of modules takes as long as a short command. Exit handlers still run, and
    working threads are waited for.
    """
    if sys.argv[1:2] and sys.argv[1] in _WITH_LOGS:
        hold_hangups()
    from sottovoce.cli.program import main

    try:
        main()
    except SystemExit as ended:
        code = ended.code
    # The two things that the interpreter does first when it ends, and os._exit leaves out.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)
