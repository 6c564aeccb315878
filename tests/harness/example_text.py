"""The example study among three organisations, two of which also evaluate and deal."""

from sottovoce.config.study_file import example


def example_among_peers() -> str:
    return example() + '\n[roles]\nevaluator = "north"\ndealer = "harbour"\n'
