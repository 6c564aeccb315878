"""Network namespaces with addresses of their own on one bridge, where the machine allows it."""

import ctypes
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_CLONE_NEWNET = 0x40000000
_NET_ADMIN = 12


def why_not() -> str:
    """Why namespaces cannot be made here; empty where they can."""
    if not any(os.access(f"{folder}/ip", os.X_OK) for folder in os.get_exec_path()):
        return "network namespaces need the program `ip`"
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - not a file of ours
        effective = next(line.split()[1] for line in status if line.startswith("CapEff"))
    if not int(effective, 16) >> _NET_ADMIN & 1:
        return "network namespaces need the capability CAP_NET_ADMIN"
    made = subprocess.run(
        ["ip", "netns", "add", f"sv-{os.getpid()}-try"], capture_output=True, check=False
    )
    if made.returncode:
        return f"network namespaces cannot be made: {made.stderr.decode().strip()}"
    _ip("netns", "del", f"sv-{os.getpid()}-try")
    return ""


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass(frozen=True)
class Lan:
    """Namespaces by the name of who lives there, and their addresses."""

    hub: str
    names: Mapping[str, str]
    addresses: Mapping[str, str]

    def unplug(self, name: str, *, back: bool = False) -> None:
        """Take one's cable out, or put it back."""
        port = f"port{list(self.names).index(name)}"
        _ip("-n", self.hub, "link", "set", port, "up" if back else "down")


@contextmanager
def lan(names: Sequence[str]) -> Iterator[Lan]:
    """A namespace for each, all on one bridge in a namespace that has no way out."""
    mark = f"sv-{os.getpid()}"
    hub = f"{mark}-hub"
    spaces = {name: f"{mark}-{number}" for number, name in enumerate(names)}
    addresses = {name: f"10.77.0.{number + 1}" for number, name in enumerate(names)}
    made = []
    try:
        _ip("netns", "add", hub)
        made.append(hub)
        _ip("-n", hub, "link", "add", "bridge0", "type", "bridge")
        _ip("-n", hub, "link", "set", "bridge0", "up")
        for number, (name, space) in enumerate(spaces.items()):
            _ip("netns", "add", space)
            made.append(space)
            port = f"port{number}"
            ends = ("eth0", "netns", space, "type", "veth", "peer", "name", port, "netns", hub)
            _ip("link", "add", *ends)
            _ip("-n", hub, "link", "set", port, "master", "bridge0", "up")
            _ip("-n", space, "addr", "add", f"{addresses[name]}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
        yield Lan(hub, spaces, addresses)
    finally:
        for space in reversed(made):
            _ip("netns", "del", space)


def enter(space: str) -> None:
    """Move this process into a namespace."""
    descriptor = os.open(f"/var/run/netns/{space}", os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {space}")
    finally:
        os.close(descriptor)
