"""`python -m benchmarks NAME [--json]`: our figures beside a named partner's, in one run."""

import sys

from benchmarks.commands import app
from sottovoce.cli import run

if __name__ == "__main__":
    sys.exit(run(app, name="python -m benchmarks"))
