"""study.toml of a study without helpers: which seats compute, and the mistakes about them."""

import pytest

from config.test_study_file import SMALL
from sottovoce.config.study_file import parse_study
from sottovoce.errors import InputError
from sottovoce.study.choices import Engine
from sottovoce.study.roster import Role

ALONE = SMALL.partition("[roles]")[0]


def test_three_peers_without_helpers_compute_by_themselves() -> None:
    described = parse_study(ALONE)
    assert described.rehearsed().engine is Engine.QUORUM
    assert [(seat.name, seat.role) for seat in described.organisation("south").seats] == [
        ("south", Role.PEER),
        ("member-south", Role.MEMBER),
    ]
    named = parse_study(f"{ALONE}[roles]\nthreshold = 1\n")
    assert named.rehearsed().quorum.threshold == 1


def test_who_computes_can_be_named() -> None:
    text = ALONE.replace("[peers]", '[peers]\neast = "Eastfield"')
    described = parse_study(f'{text}[roles]\nmembers = ["east", "north", "west"]\n').rehearsed()
    assert described.quorum.members == ("member-east", "member-north", "member-west")
    assert parse_study(text).rehearsed().quorum.threshold == 1


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ('members = ["north", "south", "nowhere"]', "roles.members: expected names from .peers."),
        ('members = ["north", "south", "north"]', "roles.members: expected every member once"),
        ('members = ["north", "south"]', "expected at least 3 members for a threshold of 1"),
        ("threshold = 2", "expected at least 5 members for a threshold of 2, found 3"),
        ("threshold = 0", "roles.threshold: expected at least 1, found 0"),
        ("members = 3", "roles.members: expected a list"),
    ],
)
def test_members_that_cannot_compute_are_refused_by_name(roles: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_study(f"{ALONE}[roles]\n{roles}\n")


def test_two_peers_need_somebody_who_evaluates() -> None:
    two = ALONE.replace('west = "Westhill"\n', "").replace("[peers]", "min_peers = 2\n[peers]")
    with pytest.raises(InputError, match=r"roles\.evaluator: expected who evaluates"):
        parse_study(two)
    with pytest.raises(InputError, match="expected at least 3 members"):
        parse_study(two.replace("min_peers", 'engine = "quorum"\nmin_peers'))


def test_a_member_needs_a_name_that_leaves_room() -> None:
    long = ALONE.replace("north =", f"{'n' * 30} =")
    with pytest.raises(InputError, match="a name of at most 25 characters for a seat that is also"):
        parse_study(long)
