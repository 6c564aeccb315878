from dataclasses import replace
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError, MisuseError, ViolationError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import converse
from sottovoce.protocols.shares.holders import (
    Dealer,
    Holder,
    HolderPrograms,
    Trio,
    deal_seeds,
    run,
    take_seed,
)
from sottovoce.protocols.shares.material import Context, Half, Ledger, Material

HERE = Context.among("flu", ["alice", "bob"], round=3)
TRIO = Trio("coordinator", "evaluator", "dealer")
SEED = bytes(range(32))


def stream_of(
    context: Context,
    half: Half = "first",
    purpose: str = "matrix",
    index: int = 0,
    seed: bytes = SEED,
) -> bytes:
    return Material(seed, half, context, ledger=Ledger()).stream(purpose, index).read(16)


def test_material_is_drawn_once() -> None:
    material = Material(SEED, "first", HERE, ledger=Ledger())
    material.stream("matrix")
    material.stream("matrix", 1)
    material.stream("direction")
    with pytest.raises(
        MisuseError, match=r"'first/matrix/0' of study 'flu'.*used already"
    ) as error:
        material.stream("matrix")
    assert "dealt again" in error.value.hints[0]


def test_a_second_material_of_the_same_party_and_context_is_no_way_around_the_ledger() -> None:
    ledger = Ledger()
    Material(SEED, "first", HERE, ledger=ledger).stream("matrix")
    with pytest.raises(MisuseError, match="used already"):
        Material(bytes(32), "first", HERE, ledger=ledger).stream("matrix")


def test_a_ledger_goes_on_after_a_restart() -> None:
    before = Ledger()
    before.spend(HERE, "matrix")
    after = Ledger(before.spent)
    after.spend(HERE, "another")
    with pytest.raises(MisuseError, match="used already"):
        after.spend(HERE, "matrix")


@pytest.mark.parametrize(
    "other",
    [
        {"context": replace(HERE, attempt=HERE.attempt + 1)},
        {"context": Context.among("flu", ["alice"], round=3)},
        {"context": Context.among("flu", ["alice", "bob"], round=4)},
        {"context": Context.among("flux", ["alice", "bob"], round=3)},
        {"half": "second"},
        {"purpose": "direction"},
        {"index": 1},
        {"seed": bytes(32)},
    ],
)
def test_any_change_of_context_changes_every_mask(other: dict[str, Any]) -> None:
    assert stream_of(**{"context": HERE, **other}) != stream_of(HERE)


def test_the_set_of_peers_counts_not_their_order() -> None:
    assert Context.among("s", ["b", "a", "a"]) == Context.among("s", ["a", "b"])
    assert Context.among("s", ["ab", "c"]) != Context.among("s", ["a", "bc"])


def test_no_secret_in_a_repr() -> None:
    material = Material(SEED, "first", HERE, ledger=Ledger())
    assert SEED.hex()[:8] not in repr(material)
    assert repr(SEED)[2:10] not in repr(material)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"study": ""}, "name of the study is empty"),
        ({"round": -1}, "round and an attempt"),
        ({"attempt": 2**32}, "round and an attempt"),
        ({"peers": b"short"}, "hash of the agreed peers of 32 bytes, found 5"),
    ],
)
def test_a_context_that_names_nothing_is_refused(change: dict[str, Any], what: str) -> None:
    fields = {"study": "flu", "round": 0, "attempt": 0, "peers": bytes(32), **change}
    with pytest.raises(InputError, match=what):
        Context(**fields)


def test_a_short_seed_is_refused() -> None:
    with pytest.raises(MisuseError, match="seed of 32 bytes, found 4"):
        Material(b"abcd", "first", HERE, ledger=Ledger())


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("c", "c", "d"), "two different parties, found 'c' twice"),
        (("c", "e", "c"), "holds no share, found 'c'"),
        (("c", "e", "e"), "holds no share, found 'e'"),
    ],
)
def test_holders_and_dealer_are_three_parties(names: tuple[str, str, str], what: str) -> None:
    with pytest.raises(InputError, match=what):
        Trio(*names)


def test_a_dealer_deals_once_for_a_context_and_a_holder_takes_once() -> None:
    ledger = Ledger()
    list(deal_seeds(TRIO, HERE, ledger=ledger, entropy=SeededEntropy()))
    with pytest.raises(MisuseError, match=r"'dealt seeds'.*used already"):
        list(deal_seeds(TRIO, HERE, ledger=ledger, entropy=SeededEntropy()))
    next(take_seed(TRIO, "evaluator", HERE, ledger=ledger))
    with pytest.raises(MisuseError, match=r"'seed of evaluator'.*used already"):
        next(take_seed(TRIO, "evaluator", HERE, ledger=ledger))


def test_only_a_holder_takes_a_seed() -> None:
    with pytest.raises(MisuseError, match="'coordinator' or 'evaluator', found 'mallory'"):
        next(take_seed(TRIO, "mallory", HERE, ledger=Ledger()))


def test_material_of_another_attempt_is_refused_naming_the_dealer() -> None:
    def dealer() -> Party[None]:
        later = replace(HERE, attempt=HERE.attempt + 1)
        dealt = deal_seeds(TRIO, later, ledger=Ledger(), entropy=SeededEntropy())
        yield from dealt

    programs = {
        name: take_seed(TRIO, name, HERE, ledger=Ledger()) for name in ("coordinator", "evaluator")
    }
    with pytest.raises(ViolationError, match=r"material for study 'flu'.*another") as error:
        converse({**programs, "dealer": dealer()})
    assert error.value.party == "dealer"


def test_holders_draw_the_dealer_s_words_and_seeds_are_all_that_travels() -> None:
    def draw(holder: Holder) -> Party[list[int]]:
        return holder.material.stream("x").words(4).tolist()
        yield

    def draw_both(dealer: Dealer) -> Party[list[list[int]]]:
        return [stream.words(4).tolist() for stream in dealer.streams("x")]
        yield

    outcome = run(HolderPrograms(draw, draw, draw_both), TRIO, HERE, entropy=SeededEntropy())
    assert outcome.results["dealer"] == [
        outcome.results["coordinator"],
        outcome.results["evaluator"],
    ]
    assert outcome.views["dealer"].received == []
    assert outcome.traffic.total_bytes < 300
