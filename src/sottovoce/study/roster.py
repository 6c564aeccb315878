"""The participants: names, organisations, roles and public identity keys, agreed by all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.protocols.identities import Identity, Pins
from sottovoce.protocols.quorum.members import MOST_MEMBERS
from sottovoce.protocols.sealing import KEY_BYTES
from sottovoce.wire.printable import fault_in

_IDENTITY = ", identity "


class Role(StrEnum):
    """A participant's role in a study."""

    COORDINATOR = "coordinator"
    EVALUATOR = "evaluator"
    DEALER = "dealer"
    PEER = "peer"
    INTERMEDIARY = "intermediary"
    MEMBER = "member"
    ANSWERER = "answerer"


# How many participants have each role: among peers, and in a lone owner's study.
_TOGETHER: tuple[tuple[Role, int, int | None], ...] = (
    (Role.COORDINATOR, 1, 1),
    (Role.EVALUATOR, 0, 1),
    (Role.DEALER, 0, 1),
    (Role.PEER, 2, None),
    (Role.INTERMEDIARY, 0, None),
    (Role.MEMBER, 0, None),
    (Role.ANSWERER, 0, None),
)
# The sections of study.toml that name the holders of roles that are not in [roles].
_SETTINGS = {Role.PEER: "peers", Role.INTERMEDIARY: "intermediaries"}
# Further seats of a peer's organisation, and seats of others that work for it: each is named after
# its role and the peer.
_BESIDE = (Role.INTERMEDIARY, Role.MEMBER, Role.ANSWERER)
_NEEDED_ALONE = frozenset({Role.COORDINATOR, Role.EVALUATOR, Role.PEER})
_ALONE: tuple[tuple[Role, int, int | None], ...] = tuple(
    (role, int(role in _NEEDED_ALONE), int(role in _NEEDED_ALONE)) for role in Role
)


@dataclass(frozen=True)
class Participant:
    """One seat of a study: its name, organisation, role and public identity."""

    name: str
    organisation: str
    role: Role
    public: bytes

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.organisation.strip():
            raise InputError("roster: expected a name and an organisation for every participant")
        for what, text in (("name", self.name), ("organisation", self.organisation)):
            fault = fault_in(text)
            if fault:
                raise InputError(f"roster: {what} of {self.name!r}: {fault}", setting="peers")
        if len(self.public) != KEY_BYTES:
            raise InputError(
                f"roster: expected an identity key of {KEY_BYTES} bytes for {self.name!r}, "
                f"found {len(self.public)}"
            )


@dataclass(frozen=True)
class Roster:
    """All participants of a study. Roles belong to organisations, not to machines.

    A peer's organisation may also be evaluator, dealer or member, or answer others, each with a
    seat of its own. An organisation sees everything that its seats see.
    """

    participants: tuple[Participant, ...]

    def __post_init__(self) -> None:
        names = Counter(participant.name for participant in self.participants)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise InputError(
                f"roster: expected every name once, found {twice!r} twice", setting="peers"
            )
        keys = Counter(participant.public for participant in self.participants)
        shared = next(
            (participant.name for participant in self.participants if keys[participant.public] > 1),
            None,
        )
        if shared is not None:
            raise InputError(
                f"roster: expected an identity of its own for everybody, found that of {shared!r} "
                "twice: who holds it could sign for two"
            )
        for role, fewest, most in _ALONE if self.lone_owner else _TOGETHER:
            seats = len(self.having(role))
            if seats < fewest or (most is not None and seats > most):
                expected = f"exactly {fewest}" if fewest == most else f"at least {fewest}"
                expected = f"at most {most}" if fewest == 0 != most else expected
                ending = "" if expected.endswith("1") else "s"
                raise InputError(
                    f"roster: expected {expected} {role}{ending}, found {seats}",
                    setting="peers" if role is Role.PEER else "roles",
                )
        self._check_organisations()
        for participant in self.having(Role.INTERMEDIARY):
            self.works_for(participant.name)
        for participant in (*self.having(Role.MEMBER), *self.having(Role.ANSWERER)):
            if self.organisation(self.computes_for(participant.name)) != participant.organisation:
                raise InputError(
                    f"roster: expected {participant.role} of its peer's organisation, found "
                    f"{participant.name!r} of {participant.organisation!r}",
                    setting="roles.members",
                )

    def _check_organisations(self) -> None:
        """Refuse one organisation in two roles that must be apart, or as several peers."""
        for role, other in (
            (Role.EVALUATOR, Role.COORDINATOR),
            (Role.DEALER, Role.COORDINATOR),
            (Role.DEALER, Role.EVALUATOR),
            (Role.PEER, Role.COORDINATOR),
            (Role.INTERMEDIARY, Role.COORDINATOR),
            (Role.INTERMEDIARY, Role.EVALUATOR),
        ):
            if self.lone_owner and role is Role.PEER:
                continue
            for left in self.having(role):
                for right in self.having(other):
                    if left.organisation == right.organisation:
                        raise InputError(
                            f"roster: the {role} is never the {other}, found "
                            f"{left.organisation!r} as both",
                            hints=(f"let another organisation be the {role}",),
                            setting=_SETTINGS.get(role, f"roles.{role}"),
                        )
        organisations = Counter(participant.organisation for participant in self.having(Role.PEER))
        twice = next(
            (organisation for organisation, count in organisations.items() if count > 1), None
        )
        if twice is not None:
            raise InputError(
                f"roster: expected one peer an organisation, found {twice!r} as several: "
                "it would fill the minimum of peers with itself",
                setting="peers",
            )

    @classmethod
    def of(
        cls,
        identities: Sequence[Identity],
        *,
        roles: Mapping[str, Role],
        organisations: Mapping[str, str],
    ) -> Self:
        """Return the roster of these identities; by default each is an organisation of its own."""
        return cls(
            tuple(
                Participant(
                    identity.name,
                    organisations.get(identity.name, identity.name),
                    roles[identity.name],
                    identity.public,
                )
                for identity in identities
            )
        )

    def having(self, role: Role) -> tuple[Participant, ...]:
        """Return all participants in a role."""
        return tuple(participant for participant in self.participants if participant.role is role)

    @cached_property
    def coordinator(self) -> str:
        """The name of the coordinator, who holds the Paillier key."""
        return self.having(Role.COORDINATOR)[0].name

    @cached_property
    def lone_owner(self) -> bool:
        """Whether one organisation has all the data and coordinates; others only compute."""
        owners = [participant.organisation for participant in self.having(Role.PEER)]
        return owners == [participant.organisation for participant in self.having(Role.COORDINATOR)]

    @cached_property
    def evaluator(self) -> str:
        """The name of the evaluator; engine quorum has none."""
        evaluators = self.having(Role.EVALUATOR)
        if not evaluators:
            raise InputError("roster: expected exactly 1 evaluator, found 0")
        return evaluators[0].name

    @property
    def helped(self) -> bool:
        """Whether there is an evaluator: all engines but quorum need one."""
        return bool(self.having(Role.EVALUATOR))

    @cached_property
    def dealer(self) -> str | None:
        """The name of the dealer, if there is one."""
        return next((participant.name for participant in self.having(Role.DEALER)), None)

    @cached_property
    def peers(self) -> tuple[str, ...]:
        """The names of the peers, in the roster's order."""
        return tuple(participant.name for participant in self.having(Role.PEER))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all participants."""
        return tuple(participant.name for participant in self.participants)

    def intermediary(self, peer: str) -> str | None:
        """Return the name of a peer's intermediary, if it has one."""
        name = intermediary_of(peer)
        return (
            name
            if any(participant.name == name for participant in self.having(Role.INTERMEDIARY))
            else None
        )

    def works_for(self, intermediary: str) -> str:
        """Return the name of the peer for which an intermediary works."""
        for peer in self.peers:
            if intermediary_of(peer) == intermediary:
                return peer
        known = ", ".join(map(repr, map(intermediary_of, self.peers)))
        raise InputError(
            f"roster: expected an intermediary named after its peer ({known}), "
            f"found {intermediary!r}"
        )

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The seats that compute in engine quorum, in the roster's order."""
        return tuple(participant.name for participant in self.having(Role.MEMBER))

    def member(self, peer: str) -> str | None:
        """Return the member's seat of a peer's organisation in engine quorum, if it has one."""
        name = member_of(peer)
        return name if name in self.members else None

    def computes_for(self, seat: str) -> str:
        """Return the peer to whose organisation a member or answerer belongs."""
        if peer_of(seat) in self.peers:
            return peer_of(seat)
        raise InputError(
            f"roster: expected members among the peers {', '.join(self.peers)}, "
            f"found {peer_of(seat)!r}",
            setting="roles.members",
        )

    def peer_at(self, seat: str) -> str:
        """Return the peer that has this seat, or after which the seat is named."""
        return seat if seat in self.peers else self.computes_for(seat)

    @property
    def pins(self) -> Pins:
        """The public identities by which participants check each other's signatures."""
        return Pins({participant.name: participant.public for participant in self.participants})

    def organisation(self, name: str) -> str:
        """Return the organisation of a participant."""
        return next(
            participant.organisation
            for participant in self.participants
            if participant.name == name
        )

    def query_dealer(self, asker: str) -> str | None:
        """Return who deals for an asker: dealer, else evaluator; never the asker's organisation."""
        seats = (self.dealer, self.evaluator if self.helped else None)
        return next(
            (
                seat
                for seat in seats
                if seat and self.organisation(seat) != self.organisation(asker)
            ),
            None,
        )

    def settings(self) -> Iterator[tuple[str, str]]:
        """Yield every participant in the one form that is hashed, compared and shown."""
        for participant in self.participants:
            yield (
                f"{participant.role} {participant.name}",
                f"{participant.organisation}{_IDENTITY}{participant.public.hex()}",
            )


def written_identity(settings: Mapping[str, str], peer: str) -> bytes:
    """Return a peer's public identity from the settings of its study; empty if it has none."""
    _, parts, text = settings.get(f"{Role.PEER} {peer}", "").rpartition(_IDENTITY)
    return bytes.fromhex(text) if parts else b""


def intermediary_of(peer: str) -> str:
    """The name of a peer's intermediary."""
    return f"{Role.INTERMEDIARY}-{peer}"


def member_of(peer: str) -> str:
    """Return the name of the member's seat of a peer's organisation in engine quorum."""
    return f"{Role.MEMBER}-{peer}"


def answerer_of(peer: str) -> str:
    """Return the name of the seat at which a peer's organisation looks up entities for others."""
    return f"{Role.ANSWERER}-{peer}"


def peer_of(seat: str) -> str:
    """Return the name of the peer after which a further seat is named."""
    for role in _BESIDE:
        if seat.startswith(f"{role}-"):
            return seat.removeprefix(f"{role}-")
    return seat


def draw_outsourced(
    owner: str, *, evaluator_at: str, entropy: Entropy
) -> tuple[Roster, dict[str, Identity]]:
    """Return the roster of a lone owner and the evaluator that computes for it."""
    roles = {str(role): role for role in (Role.COORDINATOR, Role.EVALUATOR)}
    if owner in roles:
        raise InputError(f"roster: expected an owner with a name of its own, found {owner!r}")
    roles[owner] = Role.PEER
    identities = {name: Identity.draw(name, entropy) for name in roles}
    organisations = {str(Role.EVALUATOR): evaluator_at, str(Role.COORDINATOR): owner}
    return Roster.of(
        tuple(identities.values()), roles=roles, organisations=organisations
    ), identities


def draw_roster(
    peers: Sequence[str],
    *,
    entropy: Entropy,
    evaluator_at: str | None = None,
    dealer_at: str | None = None,
    with_dealer: bool = True,
    with_evaluator: bool = True,
    intermediaries: Mapping[str, str] | None = None,
    members: Sequence[str] | None = None,
    answerers: Sequence[str] = (),
) -> tuple[Roster, dict[str, Identity]]:
    """Return a roster in memory, with new identities.

    Evaluator and dealer are organisations of their own unless `evaluator_at` or `dealer_at` names
    the organisation that runs them. `intermediaries` maps a peer to the organisation that runs its
    intermediary. `members` are the peers whose organisations compute if there is no evaluator (by
    default the first nine), `answerers` those that look up entities for others.
    """
    roles: dict[str, Role] = {Role.COORDINATOR: Role.COORDINATOR}
    if with_evaluator:
        roles[Role.EVALUATOR] = Role.EVALUATOR
    if with_dealer:
        roles[Role.DEALER] = Role.DEALER
    clash = next((name for name in peers if name in roles), None)
    if clash is not None:
        raise InputError(f"roster: expected peers with names of their own, found {clash!r}")
    roles = {str(name): role for name, role in roles.items()} | dict.fromkeys(peers, Role.PEER)
    at_work = {
        intermediary_of(peer): organisation for peer, organisation in (intermediaries or {}).items()
    }
    roles |= dict.fromkeys(at_work, Role.INTERMEDIARY)
    members = () if with_evaluator else peers[:MOST_MEMBERS] if members is None else members
    at_work |= {member_of(peer): peer for peer in members}
    roles |= dict.fromkeys(map(member_of, members), Role.MEMBER)
    at_work |= {answerer_of(peer): peer for peer in answerers}
    roles |= dict.fromkeys(map(answerer_of, answerers), Role.ANSWERER)
    identities = {name: Identity.draw(name, entropy) for name in roles}
    at = ((str(Role.EVALUATOR), evaluator_at), (str(Role.DEALER), dealer_at))
    organisations = at_work | {
        name: organisation
        for name, organisation in at
        if organisation is not None and name in roles
    }
    return Roster.of(
        tuple(identities.values()), roles=roles, organisations=organisations
    ), identities
