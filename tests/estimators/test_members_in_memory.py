"""In memory no more members compute than protect."""

import pytest

from sottovoce import LocalFederation, TextClassifier
from sottovoce.protocols.quorum.members import check_threshold, fewest_members, largest_minority

TEXTS = [f"{word} pain number{n}" for n in range(20) for word in ("heart", "bone")]
LABELS = ["heart", "bone"] * 20


@pytest.mark.parametrize(
    ("peers", "members"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 5), (6, 5), (9, 9), (30, 9)]
)
def test_an_odd_number_protects_as_many(peers: int, members: int) -> None:
    assert fewest_members(peers) == members
    if peers >= 3:
        threshold = largest_minority(members)
        assert threshold == largest_minority(min(peers, 9))
        check_threshold(members, threshold)


def test_of_four_peers_three_compute_and_all_contribute_and_ask() -> None:
    parts = dict.fromkeys(("alice", "bob", "carol", "dave"), (TEXTS, LABELS))
    model = TextClassifier(24, query_budget=4000).fit(LocalFederation(parts))
    study = model.study_.study
    assert study.roster.members == ("member-alice", "member-bob", "member-carol")
    assert study.quorum.threshold == 1
    assert set(model.study_.trained.peers) == set(parts)
    assert model.predict(["heart pain", "bone pain"], peer="dave").tolist() == ["heart", "bone"]
