"""A plan and a roster together: what everybody signs, and what follows from it."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sottovoce.errors import InputError, MisuseError
from sottovoce.paillier import PublicKey
from sottovoce.protocols.blind_sum import Member
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.identities import Identity, digest
from sottovoce.protocols.shares.holders import Trio
from sottovoce.protocols.shares.material import Context
from sottovoce.roles.arrangement import Arrangement
from sottovoce.roles.plan import DictionaryKind, Engine, Release, StudyPlan, Verdict
from sottovoce.roles.roster import Role, Roster
from sottovoce.wire import Codec, Value

# The paper's engine is practical up to about a hundred features.
MOST_PAILLIER_FEATURES = 128
_MESSAGE_ROOM = 16 * 2**20


class Settings(Value, frozen=True):
    """Every setting of a plan and a roster, by name and in order."""

    items: tuple[tuple[str, str], ...]


def settings_digest(settings: tuple[tuple[str, str], ...]) -> bytes:
    """32 bytes that stand for all settings of a study."""
    return digest("roles/study/v1", Codec().encode(Settings(settings)))


def grouped(digest_of: bytes) -> str:
    """A digest in groups, for reading aloud."""
    text = digest_of.hex()
    return "-".join(text[start : start + 8] for start in range(0, len(text), 8))


@dataclass(frozen=True)
class Study:
    """What is done, and by whom."""

    plan: StudyPlan
    roster: Roster

    def __post_init__(self) -> None:
        plan, roster = self.plan, self.roster
        if not self.outsourced and len(roster.peers) < plan.min_peers:
            raise InputError(
                f"study {plan.name!r}: expected at least {plan.min_peers} peers, "
                f"found {len(roster.peers)} ({', '.join(roster.peers)})",
                hints=("invite more peers", "or agree on fewer by value: min_peers=2"),
            )
        if plan.feature_min_peers > len(roster.peers):
            raise InputError(
                f"study {plan.name!r}: expected feature_min_peers of at most "
                f"{len(roster.peers)}, found {plan.feature_min_peers}"
            )
        self._check_arrangement()
        self._check_engine()
        self._check_dealers()

    @property
    def outsourced(self) -> bool:
        """Whether one owner of data and key lends its work to an evaluator."""
        return bool(self.roster.having(Role.OWNER))

    @property
    def multiplies_sealed(self) -> bool:
        """Whether A is a product of encrypted rows or block columns, rather than of plain ones."""
        helped = self.outsourced or bool(self.roster.having(Role.INTERMEDIARY))
        return helped or self.plan.arrangement.by_features

    def _check_arrangement(self) -> None:
        """In partition `features` every peer holds something that nobody else has."""
        arrangement = self.plan.arrangement
        builders = self.roster.having(Role.INTERMEDIARY)
        rados = self.plan.rados
        squares = 4 ** ((rados.bit_length() - 1) // 2) if rados else 0
        if (builders or self.outsourced) and rados != squares:
            raise InputError(
                f"study {self.plan.name!r}: who builds on ciphertexts makes a power of 4 of rados, "
                f"found {rados}",
                hints=("rados=256", 'or contribution="exact"'),
            )
        if self.outsourced and arrangement != Arrangement():
            raise InputError(
                f"study {self.plan.name!r}: a lone owner has documents of its own, found partition "
                f"{arrangement.partition} and weights {arrangement.weights}"
            )
        if not arrangement.by_features:
            return
        if builders:
            raise InputError(
                f"study {self.plan.name!r}: intermediaries are for partition documents, "
                f"found {builders[0].name!r} in partition features"
            )
        holders = tuple(one.peer for one in arrangement.own)
        if holders != self.roster.peers:
            raise InputError(
                f"study {self.plan.name!r}: expected the columns of {', '.join(self.roster.peers)}"
                f", found those of {', '.join(holders) or 'nobody'}"
            )

    def verdict_for(self, asker: str, wanted: Verdict | None = None) -> Verdict | None:
        """How labels of an asker are found, first or as it wants; None where it gets scores."""
        plan = self.plan
        if plan.release is Release.MARGIN:
            return None
        dealt = plan.deals_verdicts and self.roster.query_dealer(asker) is not None
        first = Verdict.FSS if dealt else Verdict.DGK
        allowed = {first, Verdict.DGK} if plan.falls_back else {first}
        if wanted is not None and wanted not in allowed:
            raise MisuseError(
                f"query: the plan's verdict {plan.verdict} allows {' or '.join(sorted(allowed))} "
                f"for {asker!r}, found {wanted}"
            )
        return wanted or first

    def _check_dealers(self) -> None:
        """Where verdicts must be dealt, every peer has somebody who may deal for it."""
        if self.plan.verdict is not Verdict.FSS or not self.plan.deals_verdicts or self.outsourced:
            return
        for name in self.roster.peers:
            if self.roster.query_dealer(name) is None:
                raise InputError(
                    f"study {self.plan.name!r}: expected a dealer for the queries of {name!r} "
                    "that is not its own house, found none",
                    hints=("let another organisation deal", "or use verdict='auto'"),
                )

    def _check_engine(self) -> None:
        helped = self.outsourced or self.roster.having(Role.INTERMEDIARY)
        if self.engine is Engine.SHARES and helped:
            raise InputError(
                f"study {self.plan.name!r}: work on ciphertexts needs engine paillier, "
                "found shares",
                hints=('engine="paillier"',),
            )
        if self.engine is Engine.SHARES and self.roster.dealer is None:
            raise InputError(
                f"study {self.plan.name!r}: engine shares needs a dealer, found none",
                hints=("let a participant that is neither coordinator nor evaluator deal",),
            )
        width = self.plan.features
        if self.engine is Engine.PAILLIER and width > MOST_PAILLIER_FEATURES:
            raise InputError(
                f"study {self.plan.name!r}: engine paillier is for at most "
                f"{MOST_PAILLIER_FEATURES} features, found {width}",
                hints=("let a participant deal, and use engine shares",),
            )

    @property
    def engine(self) -> Engine:
        """The engine that `auto` stands for: shares where somebody deals."""
        if self.plan.engine is not Engine.AUTO:
            return self.plan.engine
        if self.roster.having(Role.INTERMEDIARY):
            return Engine.PAILLIER
        return Engine.SHARES if self.roster.dealer is not None else Engine.PAILLIER

    @cached_property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Every setting by name: what is hashed, compared and shown."""
        return (*self.plan.settings(), *self.roster.settings())

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that stand for the plan and the roster: consent signs these."""
        return settings_digest(self.settings)

    @property
    def trio(self) -> Trio:
        """Who holds the two shares of the sealed solve, and who deals for them."""
        if self.roster.dealer is None:
            raise InputError(f"study {self.plan.name!r}: engine shares needs a dealer, found none")
        return Trio(self.roster.coordinator, self.roster.evaluator, self.roster.dealer)

    @property
    def has_counts(self) -> bool:
        """Whether the peers add up counts for a dictionary."""
        return self.plan.dictionary is DictionaryKind.JOINT

    def member(self, identity: Identity) -> Member:
        """A participant with the pins of all others."""
        return Member(identity, self.roster.pins)

    @property
    def fewest_peers(self) -> int:
        """With how many peers it goes on; where each holds other features, none can be missing."""
        everybody = self.plan.arrangement.by_features or self.outsourced
        return len(self.roster.peers) if everybody else self.plan.min_peers

    def context(self, peers: Collection[str], *, round: int, attempt: int = 0) -> Context:  # noqa: A002 - PROTOCOLS' word
        """What one-time material of a round among these peers is bound to."""
        return Context.among(self.digest.hex(), peers, round=round, attempt=attempt)

    def session(self, *parts: str) -> bytes:
        """The session of one conversation of this study."""
        return digest("roles/session/v1", self.digest, *(part.encode() for part in parts))

    def codec(self, key: PublicKey | None = None) -> Codec:
        """How this study's messages travel; ciphertexts under its key, once there is one."""
        width = self.plan.width
        counts = (1 << self.plan.bucket_bits) * (len(self.plan.labels.names) + 2)
        words = max(width * width, width * self.plan.blocks, counts * self.has_counts)
        hooks = [] if key is None else [ciphertexts_under(key)]
        return Codec(hooks, limit=8 * words + _MESSAGE_ROOM)
