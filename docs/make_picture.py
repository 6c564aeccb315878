"""Draws docs/demo.svg, the README's picture, from what the first notebook found."""

import json
import re
from pathlib import Path

from sottovoce.pictures.charts import Bar, bars
from sottovoce.pictures.page import style

HERE = Path(__file__).parent
PLACE = HERE / "demo.svg"
NOTEBOOK = HERE / "notebooks" / "first_joint_model.ipynb"


def compared() -> dict[str, float]:
    """Accuracies by name, as `compare_alone` printed them in the notebook."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    texts = ("".join(output.get("data", {}).get("text/plain", "")) for output in outputs)
    (printed,) = (text for text in texts if "all, sealed" in text)
    return {
        name: float(share)
        for name, share in re.findall(r"^(.+): ([\d.]+)%$", printed, re.MULTILINE)
    }


def drawn() -> str:
    """Each hospital alone, all three sealed, and all text in one place."""
    short = {"all text pooled, in plaintext": "all text pooled"}
    rows = [Bar(short.get(name, name), share, f"{share}%") for name, share in compared().items()]
    figure = bars("Accuracy on notes that nobody trained on", rows, top=100.0)
    svg = figure[figure.index("<svg") : figure.index("</svg>") + len("</svg>")]
    # Alone it has no style of a page's: it brings its own, and a ground to stand on.
    ground = f'<style>{style()}</style><rect width="100%" height="100%" style="fill:var(--paper)"/>'
    head, close, rest = svg.partition(">")
    return f"{head}{close}{ground}{rest}\n"


if __name__ == "__main__":
    PLACE.write_text(drawn(), encoding="utf-8")
