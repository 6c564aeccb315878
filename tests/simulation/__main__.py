"""Repeat one seed and say everything that happens: python -m simulation toy 17 [case]."""

import sys
import tempfile
from pathlib import Path

from simulation import stories
from simulation.copies import matrix

name, seed, *cases = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    story = None if name == "asking" else getattr(stories, name)()
    if story is None:
        world = stories.asking(Path(folder), int(seed), say=print)
    elif cases:
        (case,) = [one for one in matrix(dealer=True) if str(one) == cases[0]]
        world = story.copied(case, Path(folder), int(seed), say=print)
    else:
        world = story.tell(Path(folder), int(seed), say=print)
    world.say(str(world.faults))
    world.run()
    for name, site in world.sites.items():
        world.say(f"{name}: {site.boots} starts, {site.phase} {site.stop}")
