"""Draws docs/demo.svg, the picture of the README, from a run of the demo."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sottovoce.pictures.charts import Bar, bars
from sottovoce.pictures.page import style

PLACE = Path(__file__).with_name("demo.svg")


def drawn(result: dict[str, Any]) -> str:
    """What each hospital reached alone, all three sealed, and all text in one place."""
    found = result["accuracy"]
    rows = [Bar(f"{site}, alone", value, f"{value:.1%}") for site, value in found["local"].items()]
    rows.append(Bar("all three, sealed", found["joint"], f"{found['joint']:.1%}"))
    rows.append(Bar("all text pooled", found["pooled"], f"{found['pooled']:.1%}"))
    figure = bars("Accuracy on notes that nobody trained on", rows, top=1.0)
    svg = figure[figure.index("<svg") : figure.index("</svg>") + len("</svg>")]
    # Alone on a page it has no style of the page's: it brings its own, and a ground to stand on.
    ground = f'<style>{style()}</style><rect width="100%" height="100%" style="fill:var(--paper)"/>'
    head, close, rest = svg.partition(">")
    return f"{head}{close}{ground}{rest}\n"


def demo() -> dict[str, Any]:
    """What a run of the demo prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sottovoce", "demo", "--json", *sys.argv[1:]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    PLACE.write_text(drawn(demo()), encoding="utf-8")
