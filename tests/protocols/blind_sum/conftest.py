"""A look over the shoulder of honest peers."""

from typing import Any

import pytest

from harness.conversations.small_rounds import Watched
from sottovoce.protocols.blind_sum import (
    Member,
    pairwise,
)
from sottovoce.protocols.blind_sum.dealing import Dealing
from sottovoce.protocols.blind_sum.keys import Keyring, OwnKeys


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Looks over the shoulder of honest peers."""
    seen = Watched()
    deal, open_boxes = pairwise.deal, pairwise.open_boxes

    def watched_deal(keyring: Keyring, who: Member, own: OwnKeys, **more: Any) -> Any:
        seen.own[who.name] = own
        dealt, mine = deal(keyring, who, own, **more)
        seen.held[who.name] = {who.name: mine}
        return dealt, mine

    def watched_open(dealing: Dealing, boxes: Any, me: str, own: OwnKeys) -> Any:
        opened = open_boxes(dealing, boxes, me, own)
        seen.held[me] |= opened
        seen.dealings[me] = dealing
        return opened

    monkeypatch.setattr(pairwise, "deal", watched_deal)
    monkeypatch.setattr(pairwise, "open_boxes", watched_open)
    return seen
