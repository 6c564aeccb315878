"""What an installed Sottovoce is made of, as CycloneDX 1.6: `python deploy/make_sbom.py`.

It reads the metadata of the packages that are installed beside it, and nothing else: the same
environment gives the same bytes. Extras that are not installed are left out.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import metadata

ROOT = "sottovoce"
EXTRAS = ("dask", "encoders", "frames", "metrics", "postgres", "remote")
"""What a product's machine may have; partners of benchmarks and tools of developers are no part."""
_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def canonical(name: str) -> str:
    """A package's name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needs(
    distribution: metadata.Distribution, extras: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a package requires with these of its extras, and with which of theirs.

    Markers of other systems are kept.
    """
    for line in distribution.requires or ():
        requirement, _, marker = line.partition(";")
        asked = _EXTRA.search(marker)
        found = _NAME.match(requirement)
        if found and (asked is None or asked[1] in extras):
            theirs = (name.strip() for name in (found[2] or "").split(","))
            yield canonical(found[1]), tuple(filter(None, theirs))


def components(extras: tuple[str, ...] = EXTRAS) -> dict[str, metadata.Distribution]:
    """Every installed package that the product loads or may load, by name."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting = [(ROOT, extras)]
    while waiting:
        name, asked = wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system, or an extra that is not installed
        waiting += needs(found[name], asked)
    return dict(sorted(found.items()))


def licence_of(distribution: metadata.Distribution) -> str:
    """What a package says of its licence: an expression, else its classifiers, else its words."""
    told = distribution.metadata
    expression = told.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or ()
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    words = str(told.get("License") or "").strip().splitlines()
    return " AND ".join(sorted(classifiers)) or (words[0] if words else "")


def bill(extras: tuple[str, ...] = EXTRAS) -> dict[str, object]:
    """The bill of materials."""
    packages = components(extras)
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{one.version}",
            "name": name,
            "version": one.version,
            "purl": f"pkg:pypi/{name}@{one.version}",
            "licenses": [{"license": {"name": licence_of(one)}}],
        }
        for name, one in packages.items()
    ]
    refs = {str(part["name"]): str(part["bom-ref"]) for part in parts}
    links = [
        {
            "ref": refs[name],
            "dependsOn": sorted(
                {
                    refs[needed]
                    for needed, _ in needs(one, extras if name == ROOT else ())
                    if needed in refs
                }
            ),
        }
        for name, one in packages.items()
    ]
    root = next(part for part in parts if part["name"] == ROOT)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**root, "type": "application"}},
        "components": [part for part in parts if part is not root],
        "dependencies": links,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(bill(), indent=2, ensure_ascii=False) + "\n")
