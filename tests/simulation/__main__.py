"""Repeat one seed and say everything that happens: python -m simulation toy 17 [case]."""

import sys
import tempfile
from pathlib import Path

from simulation import stories
from simulation.copies import DEALT, Whose, asked_matrix, matrix, quorum_matrix

name, seed, *cases = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    places = [*matrix(*DEALT, Whose.INTERMEDIARY), *quorum_matrix(), *asked_matrix()]
    copied = [case for case in places if str(case) in cases]
    story = None if name == "asking" else getattr(stories, name)()
    if story is None and copied:
        world = stories.asked_copied(copied[0], Path(folder), int(seed), say=print)
    elif story is None:
        world = stories.asking(Path(folder), int(seed), say=print)
    elif copied:
        world = story.copied(copied[0], Path(folder), int(seed), say=print)
    else:
        world = story.tell(Path(folder), int(seed), say=print)
    world.say(str(world.faults))
    world.run()
    for name, site in world.sites.items():
        world.say(f"{name}: {site.boots} starts, {site.phase} {site.stop}")
