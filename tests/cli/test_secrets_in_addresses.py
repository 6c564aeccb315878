"""An address that somebody mistyped is shown in an error, and its secrets are not."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sottovoce.cli.invitation_files import checked_address
from sottovoce.cli.notices import Notices
from sottovoce.clusters import open_cluster
from sottovoce.errors import InputError
from sottovoce.node.coordinator.monitor import Monitor
from sottovoce.node.memberships import CoordinatorPlace
from sottovoce.wire.addresses import origin_of, without_secrets

HIDDEN = "hidden"
ADDRESS = f"htps://{HIDDEN}:{HIDDEN}@hooks.example.org/{HIDDEN}?{HIDDEN}=1#{HIDDEN}"


def pushing(address: str) -> None:
    async def push() -> None:
        monitor = Monitor(CoordinatorPlace(Path(), bytes(32)))
        async with monitor.pushing(address):
            pass

    asyncio.run(push())


def clustered(address: str) -> None:
    with open_cluster(address):
        pass


@pytest.mark.parametrize("use", [Notices, pushing, clustered])
def test_a_mistyped_address_is_named_by_its_host(use: Callable[[str], None]) -> None:
    with pytest.raises(InputError, match=r"hooks\.example\.org") as refused:
        use(ADDRESS)
    assert HIDDEN not in "\n".join((refused.value.message, *refused.value.hints))


@pytest.mark.parametrize("more", [f"{HIDDEN}@", f"{HIDDEN}:{HIDDEN}@"])
def test_no_credentials_get_into_the_invitations(more: str) -> None:
    with pytest.raises(InputError, match=r"found .https://study\.example\.org.") as refused:
        checked_address(f"https://{more}study.example.org")
    assert HIDDEN not in refused.value.message


def test_what_is_left_of_an_address() -> None:
    assert without_secrets(ADDRESS) == f"htps://hooks.example.org/{HIDDEN}"
    assert origin_of(ADDRESS) == "htps://hooks.example.org"
    assert without_secrets("user:pass@host") == "host"
    assert origin_of("./notify.sh") == "./notify.sh"
