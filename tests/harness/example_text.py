"""The example study among three organisations, two of which also evaluate and deal."""

import re

from sottovoce.config.study_file import example


def example_among_peers() -> str:
    text = re.sub(r"\[helpers\]\n(\w.*\n)+", "", example())
    text = text.replace('evaluator = "trust"', 'evaluator = "north"')
    return text.replace('dealer = "registry"', 'dealer = "harbour"')
