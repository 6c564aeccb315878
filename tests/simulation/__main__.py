"""Repeat one seed and say everything that happens: python -m simulation toy 17."""

import sys
import tempfile
from pathlib import Path

from simulation import stories

with tempfile.TemporaryDirectory() as folder:
    story = getattr(stories, sys.argv[1])()
    world = story.tell(Path(folder), int(sys.argv[2]), say=print)
    world.say(str(world.faults))
    world.run()
    for name, site in world.sites.items():
        world.say(f"{name}: {site.boots} starts, {site.state}")
