"""A study: a plan and a roster, which everybody signs, and the facts that follow from them."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sottovoce.errors import InputError, MisuseError, refuse_faults
from sottovoce.hints import Hint, PlanSetting
from sottovoce.paillier import PublicKey
from sottovoce.protocols.blind_sum import Member
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.identities import Identity, digest
from sottovoce.protocols.quorum.members import FEWEST_MEMBERS, Quorum, largest_minority
from sottovoce.protocols.quorum.plan import PART_DISTANCE, STUDY_DISTANCE
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.study.arrangement import Arrangement, Weights
from sottovoce.study.candidates import encrypted_faults
from sottovoce.study.choices import Addition, DictionaryKind, Engine, LabelsOn, Verdict
from sottovoce.study.plan import FEWEST_PEERS, StudyPlan
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role, Roster, answerer_of
from sottovoce.wire import Codec, Value

# The paper's engine is practical up to about a hundred features.
MOST_PAILLIER_FEATURES = 128
_MESSAGE_ROOM = 16 * 2**20
# With three peers, a peer's two neighbours on a ring are all the others.
FEWEST_IN_RINGS = 4


class Settings(Value, frozen=True):
    """Every setting of a plan and a roster, by name and in order."""

    items: tuple[tuple[str, str], ...]


def settings_digest(settings: tuple[tuple[str, str], ...]) -> bytes:
    """Return a digest of all settings of a study."""
    return digest("roles/study/v1", Codec().encode(Settings(settings)))


def grouped(digest_of: bytes) -> str:
    """Return a digest in groups, for reading aloud."""
    text = digest_of.hex()
    return "-".join(text[start : start + 8] for start in range(0, len(text), 8))


@dataclass(frozen=True)
class Study:
    """A study: its plan and its roster."""

    plan: StudyPlan
    roster: Roster

    def __post_init__(self) -> None:
        plan, roster = self.plan, self.roster
        if not self.outsourced and len(roster.peers) < plan.min_peers:
            raise InputError(
                f"study {plan.name!r}: expected at least {plan.min_peers} peers, "
                f"found {len(roster.peers)} ({', '.join(roster.peers)})",
                hints=(
                    "invite more peers",
                    Hint("or agree on fewer by value: ", PlanSetting("min_peers", 2)),
                ),
                setting="peers",
            )
        if plan.feature_min_peers > len(roster.peers):
            raise InputError(
                f"study {plan.name!r}: expected feature_min_peers of at most "
                f"{len(roster.peers)}, found {plan.feature_min_peers}",
                setting="feature_min_peers",
            )
        self._check_arrangement()
        self._check_engine()
        self._check_labels()
        self._check_dealers()

    @property
    def outsourced(self) -> bool:
        """Whether this is the study of a lone owner, with an evaluator that computes for it."""
        return self.roster.lone_owner

    @property
    def multiplies_sealed(self) -> bool:
        """Whether A is computed as a product of encrypted rows or block columns."""
        helped = self.outsourced or bool(self.roster.having(Role.INTERMEDIARY))
        return helped or self.plan.arrangement.by_features

    def _check_arrangement(self) -> None:
        """Refuse roles and holdings that do not fit the plan's arrangement."""
        arrangement = self.plan.arrangement
        builders = self.roster.having(Role.INTERMEDIARY)
        rados = self.plan.rados
        squares = 4 ** ((rados.bit_length() - 1) // 2) if rados else 0
        if (builders or self.outsourced) and rados != squares and not self.plan.descends:
            raise InputError(
                f"study {self.plan.name!r}: who builds on ciphertexts makes a power of 4 of rados, "
                f"found {rados}",
                hints=(
                    PlanSetting("rados", 256),
                    Hint("or ", PlanSetting("contribution", "exact")),
                ),
            )
        if self.outsourced and arrangement != Arrangement():
            raise InputError(
                f"study {self.plan.name!r}: a lone owner has documents of its own, found partition "
                f"{arrangement.partition} and weights {arrangement.weights}"
            )
        wanted = tuple(map(answerer_of, arrangement.answerers))
        if tuple(participant.name for participant in self.roster.having(Role.ANSWERER)) != wanted:
            answerers = (
                ", ".join(participant.name for participant in self.roster.having(Role.ANSWERER))
                or "none"
            )
            raise InputError(
                f"study {self.plan.name!r}: expected a seat for everybody who looks up entities "
                f"({', '.join(wanted) or 'nobody'}), found {answerers}"
            )
        if not arrangement.by_features:
            return
        if builders:
            raise InputError(
                f"study {self.plan.name!r}: intermediaries are for partition documents, "
                f"found {builders[0].name!r} in partition features"
            )
        holders = tuple(holding.peer for holding in arrangement.own)
        if missing := [peer for peer in self.roster.peers if peer not in holders]:
            raise InputError(
                f"study {self.plan.name!r}: expected columns that each of "
                f"{', '.join(self.roster.peers)} alone has, found none of {', '.join(missing)}",
                hints=(f'under [holdings]: {missing[0]} = ["COLUMN", …]',),
            )
        if holders != self.roster.peers:
            raise InputError(
                f"study {self.plan.name!r}: expected the columns of {', '.join(self.roster.peers)}"
                f", found those of {', '.join(holders)}"
            )

    def verdict_for(self, asker: str, wanted: Verdict | None = None) -> Verdict | None:
        """Return how an asker's labels are found; None if it gets scores."""
        plan = self.plan
        if plan.release.opens is Opens.SCORES or self.engine is Engine.QUORUM:
            return None
        dealt = plan.deals_verdicts and self.query_dealer(asker) is not None
        first = Verdict.FSS if dealt else Verdict.DGK
        allowed = {first, Verdict.DGK} if plan.falls_back else {first}
        if wanted is not None and wanted not in allowed:
            raise MisuseError(
                f"query: the plan's verdict {plan.verdict} allows {' or '.join(sorted(allowed))} "
                f"for {asker!r}, found {wanted}"
            )
        return wanted or first

    def _check_dealers(self) -> None:
        """If verdicts must be dealt, check that every peer has a party that may deal for it."""
        if self.engine is Engine.QUORUM:
            return
        if self.plan.verdict is not Verdict.FSS or not self.plan.deals_verdicts or self.outsourced:
            return
        for name in self.roster.peers:
            if self.query_dealer(name) is None:
                raise InputError(
                    f"study {self.plan.name!r}: expected a dealer for the queries of {name!r} "
                    "that is not its own organisation, found none",
                    hints=(
                        "let another organisation deal",
                        Hint("or use ", PlanSetting("verdict", "auto")),
                    ),
                    setting="roles",
                )

    def _check_quorum(self) -> None:
        """Refuse settings that engine quorum does not support, and wrong members."""
        plan, name = self.plan, self.plan.name
        if self.engine is not Engine.QUORUM:
            if plan.threshold or self.roster.members:
                raise InputError(
                    f"study {name!r}: members and a threshold are for engine quorum, "
                    f"found engine {self.engine}",
                    hints=(PlanSetting("engine", "quorum"),),
                    setting="roles.members",
                )
            return
        if self.roster.helped or self.roster.dealer is not None:
            raise InputError(
                f"study {name!r}: engine quorum has no evaluator and no dealer, and one is named",
                hints=(
                    "take the helpers out of the roster",
                    Hint("or use ", PlanSetting("engine", "shares")),
                ),
                setting="roles",
            )
        if self.multiplies_sealed:
            raise InputError(
                f"study {name!r}: engine quorum is for partition documents without intermediaries",
                hints=(PlanSetting("engine", "paillier"),),
            )
        if plan.arrangement != Arrangement():
            raise InputError(
                f"study {name!r}: engine quorum gives every peer labels by all weights, "
                f"found weights {plan.arrangement.weights}"
            )
        if self.leaves_out_buckets:
            raise InputError(
                f"study {name!r}: engine quorum has no evaluator that would leave out what one "
                f"peer alone has, found feature_min_peers = {plan.feature_min_peers}",
                hints=(
                    Hint(PlanSetting("dictionary", "hashed"), " opens no counts"),
                    Hint("or use ", PlanSetting("engine", "shares")),
                ),
                setting="feature_min_peers",
            )
        _ = self.quorum
        if self.quorum_distance > STUDY_DISTANCE:
            raise InputError(
                f"study {name!r}: all that is opened would be up to {self.quorum_distance:.2g} "
                f"from noise, expected at most 2^-40",
                hints=("choose from fewer penalties: each takes a solve of its own",),
            )

    @property
    def members_count(self) -> bool:
        """Whether the members of a quorum count in shares at the thresholds of a joint ROC."""
        return self.engine is Engine.QUORUM and self.plan.counts_sealed

    @property
    def fast_labels(self) -> bool:
        """Whether labels in engine quorum are found with a dealer among the members."""
        sealed = self.plan.release.opens is Opens.LABELS
        return self.engine is Engine.QUORUM and sealed and self.plan.verdict is Verdict.FSS

    @property
    def is_evaluated(self) -> bool:
        """Whether totals over all sites may be opened: of two, each could subtract its own."""
        return self.plan.evaluations > 0 and len(self.roster.peers) >= FEWEST_PEERS

    @property
    def quorum_distance(self) -> float:
        """How far all that engine quorum opens is from noise: the models, checks, labels, ROCs."""
        return (len(self.plan.candidates) + 3) * PART_DISTANCE

    @cached_property
    def quorum(self) -> Quorum:
        """The quorum of the study: its members, how many may pool, and the opener."""
        members = self.roster.members
        threshold = self.plan.threshold or max(1, largest_minority(len(members)))
        return Quorum.of(members, threshold=threshold, opener=self.roster.coordinator)

    def quorum_of(self, peers: Collection[str]) -> Quorum:
        """Return the members of these peers' organisations, or raise `AbsenceError` if too few."""
        return self.quorum.among({self.roster.member(peer) or "" for peer in peers})

    def can_spare(self, seat: str) -> bool:
        """Return whether this seat is a member, and there are more members than a query needs."""
        members = self.roster.members
        return seat in members and len(members) > self.quorum.needed

    def may_leave(self, seats: Collection[str]) -> bool:
        """Return whether the others can continue without these seats."""
        return set(seats) <= {*self.roster.peers, *self.roster.members}

    def whole_organisations(self, seats: Collection[str]) -> tuple[str, ...]:
        """Return these seats, adding to each peer its organisation's member."""
        roster, names = self.roster, dict.fromkeys(seats)
        for peer in roster.peers:
            both = (peer, roster.member(peer) or peer)
            if any(seat in names for seat in both):
                names |= dict.fromkeys(both)
        return tuple(names)

    @property
    def labels_on(self) -> LabelsOn:
        """What labels are found on; if the plan leaves it open, shares if possible.

        A peer whose organisation deals has no dealer for its rows. So a plan that requires a dealer
        for everybody (verdict `fss`) then uses ciphertexts, for which the evaluator may deal.
        """
        if self.plan.labels_on is not LabelsOn.AUTO:
            return self.plan.labels_on
        deals = [name for name in self.roster.peers if self._row_dealer(name) is None]
        refused = bool(deals) and self.plan.verdict is Verdict.FSS and self.plan.deals_verdicts
        return LabelsOn.PAILLIER if refused or self._unshared() else LabelsOn.SHARES

    @property
    def on_shares(self) -> bool:
        """Whether labels are found on shares, so that no peer holds a ciphertext of the model."""
        return self.labels_on is LabelsOn.SHARES

    @property
    def asks_shares(self) -> bool:
        """Whether queries need the holders' shares of the model after the training."""
        return self.on_shares and self.plan.release.opens is not Opens.WEIGHTS

    @property
    def deals_itself(self) -> bool:
        """Whether an asker may have to deal for its own rows, without a dealer or for scores."""
        dealt = all(self.verdict_for(name) is Verdict.FSS for name in self.roster.peers)
        return self.asks_shares and (self.plan.falls_back or not dealt)

    def _unshared(self) -> str:
        """Return why labels cannot be found on shares; empty if they can."""
        arrangement = self.plan.arrangement
        if self.engine is not Engine.SHARES:
            return f"engine {self.engine}"
        if arrangement.by_features:
            return "partition features"
        return "weights that peers list" if arrangement.weights is Weights.LISTED else ""

    def _check_labels(self) -> None:
        reason = self._unshared()
        if self.on_shares and reason:
            raise InputError(
                f"study {self.plan.name!r}: labels on shares need engine shares and documents of "
                f"every peer's own, found {reason}",
                hints=(PlanSetting("labels_on", "paillier"),),
            )

    def _row_dealer(self, asker: str) -> str | None:
        """Return the dealer for an asker's rows; None if it is of the asker's organisation."""
        roster, dealer = self.roster, self.roster.dealer
        if dealer is None or roster.organisation(dealer) == roster.organisation(asker):
            return None
        return dealer

    def query_dealer(self, asker: str) -> str | None:
        """Return who deals for an asker's queries; on shares never a holder of a share."""
        return self._row_dealer(asker) if self.on_shares else self.roster.query_dealer(asker)

    def query_parties(self, asker: str, verdict: Verdict | None) -> tuple[str, ...]:
        """Return the seats of a query with this verdict."""
        roster = self.roster
        if self.engine is Engine.QUORUM:
            return (roster.coordinator, asker, *roster.members)
        holder = (roster.evaluator,) if self.on_shares else ()
        dealer = self.query_dealer(asker) if verdict is Verdict.FSS else None
        dealt = (dealer,) if dealer else ()
        return (roster.coordinator, asker, *holder, *dealt, *self.answering_seats(asker))

    def answering_seats(self, asker: str) -> tuple[str, ...]:
        """Return the seats that look up the entities of an asker's query, if any."""
        peers = self.plan.arrangement.answerers
        return tuple(answerer_of(peer) for peer in peers if peer != asker)

    def evaluation_helpers(self, peers: Collection[str]) -> tuple[str, ...]:
        """Return the seats that help to add up these peers' counts: evaluator, or members."""
        if self.engine is Engine.QUORUM:
            return self.quorum_of(peers).members
        return (self.roster.evaluator,)

    def _check_rings(self) -> None:
        """Refuse rings without ciphertexts, or with too few peers."""
        if self.plan.addition is not Addition.RING:
            return
        peers = len(self.roster.peers)
        if self.engine is not Engine.PAILLIER or self.outsourced:
            arrangement_name = "a lone owner" if self.outsourced else f"engine {self.engine}"
            raise InputError(
                f"study {self.plan.name!r}: addition ring is for ciphertexts of several peers, "
                f"found {arrangement_name}",
                hints=(
                    PlanSetting("addition", "pairwise"),
                    Hint("or ", PlanSetting("engine", "paillier")),
                ),
                setting="addition",
            )
        if peers < FEWEST_IN_RINGS:
            raise InputError(
                f"study {self.plan.name!r}: addition ring needs at least {FEWEST_IN_RINGS} peers, "
                f"so that two neighbours of a peer are not everybody else, found {peers}",
                hints=(PlanSetting("addition", "pairwise"),),
                setting="addition",
            )

    def _check_engine(self) -> None:
        self._check_quorum()
        self._check_rings()
        if self.engine is Engine.QUORUM:
            return
        if not self.roster.helped:
            raise InputError(
                f"study {self.plan.name!r}: engine {self.engine} needs exactly 1 evaluator, "
                "found 0",
                hints=(
                    "let a participant evaluate",
                    Hint("or use ", PlanSetting("engine", "quorum")),
                ),
            )
        helped = self.outsourced or self.roster.having(Role.INTERMEDIARY)
        if self.engine is Engine.SHARES and helped:
            raise InputError(
                f"study {self.plan.name!r}: work on ciphertexts needs engine paillier, "
                "found shares",
                hints=(PlanSetting("engine", "paillier"),),
                setting="engine",
            )
        if self.engine is Engine.SHARES and self.roster.dealer is None:
            raise InputError(
                f"study {self.plan.name!r}: engine shares needs a dealer, and none is named",
                hints=("let a participant that is neither coordinator nor evaluator deal",),
                setting="roles",
            )
        if self.engine is Engine.PAILLIER:
            refuse_faults(encrypted_faults(self.plan.beside))
        width = self.plan.features + self.plan.beside.width
        if self.engine is Engine.PAILLIER and width > MOST_PAILLIER_FEATURES:
            raise InputError(
                f"study {self.plan.name!r}: engine paillier is for at most "
                f"{MOST_PAILLIER_FEATURES} features, found {width}",
                hints=("let a participant deal, and use engine shares",),
                setting="features",
            )

    @property
    def engine(self) -> Engine:
        """The engine; `auto` means quorum without helpers, and shares with a dealer."""
        if self.plan.engine is not Engine.AUTO:
            return self.plan.engine
        if self.plan.descends or self.plan.addition is Addition.RING:
            return Engine.PAILLIER
        if not self.roster.helped:
            return Engine.QUORUM
        if self.roster.having(Role.INTERMEDIARY):
            return Engine.PAILLIER
        return Engine.SHARES if self.roster.dealer is not None else Engine.PAILLIER

    @cached_property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Every setting by name, in the form that is hashed, compared and shown."""
        return (*self.plan.settings(), *self.roster.settings())

    @cached_property
    def digest(self) -> bytes:
        """The digest of plan and roster, which consent signs."""
        return settings_digest(self.settings)

    @property
    def trio(self) -> Trio:
        """The holders of the two shares of the sealed solve, and their dealer."""
        if self.roster.dealer is None:
            raise InputError(
                f"study {self.plan.name!r}: engine shares needs a dealer, and none is named",
                setting="roles",
            )
        return Trio(self.roster.coordinator, self.roster.evaluator, self.roster.dealer)

    @property
    def has_counts(self) -> bool:
        """Whether the peers add up counts for a dictionary."""
        return self.plan.dictionary is DictionaryKind.JOINT

    @property
    def leaves_out_buckets(self) -> bool:
        """Whether the evaluator leaves out buckets of too few peers, before counts are opened."""
        return self.has_counts and self.plan.feature_min_peers > 1

    def member(self, identity: Identity) -> Member:
        """Return a participant with the pins of all others."""
        return Member(identity, self.roster.pins)

    @property
    def fewest_peers(self) -> int:
        """The fewest peers with which the study can continue; in partition `features` all."""
        if self.plan.arrangement.by_features or self.outsourced:
            return len(self.roster.peers)
        rings = self.plan.addition is Addition.RING
        return max(self.plan.min_peers, FEWEST_IN_RINGS) if rings else self.plan.min_peers

    def context(self, peers: Collection[str], *, round: int, attempt: int = 0) -> Context:  # noqa: A002 - PROTOCOLS' word
        """Return the context to which one-time material of a round among these peers is bound."""
        return Context.among(self.digest.hex(), peers, round=round, attempt=attempt)

    def session(self, *parts: str) -> bytes:
        """Return the session of one conversation of this study."""
        return digest("roles/session/v1", self.digest, *(part.encode() for part in parts))

    def codec(self, key: PublicKey | None = None) -> Codec:
        """Return the codec of this study's messages, with ciphertexts under a given key."""
        hooks = () if key is None else ciphertexts_under(key)
        return Codec(hooks, limit=largest_message(self.plan))


def suits_quorum(plan: StudyPlan, peers: Collection[str]) -> bool:
    """Return whether these peers could run a study without an evaluator and a dealer."""
    leaves_out = plan.dictionary is DictionaryKind.JOINT and plan.feature_min_peers > 1
    dealt = plan.verdict is not Verdict.AUTO or plan.labels_on is not LabelsOn.AUTO
    alone = plan.arrangement == Arrangement() and not leaves_out and not dealt
    return alone and len(peers) >= FEWEST_MEMBERS


def largest_message(plan: StudyPlan) -> int:
    """Return the bytes of the largest message of a study with this plan."""
    counts = (1 << plan.bucket_bits) * (len(plan.labels.names) + 2)
    has_counts = plan.dictionary is DictionaryKind.JOINT
    words = max(plan.width * plan.width, plan.width * plan.blocks, counts * has_counts)
    return 8 * words + _MESSAGE_ROOM
