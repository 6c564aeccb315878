"""study.toml: what a study does, who takes part in which role, and how long everybody waits.

The text is what travels: every site parses the same text, gets the same plan, and signs the
same hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from sottovoce.config.deadlines import Deadlines, duration
from sottovoce.config.plan_settings import read_plan, refuse_other_names
from sottovoce.config.toml_settings import TEXT, TEXTS, WHOLE, SettingsText, shown
from sottovoce.course.terms import PlannedSeat
from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand
from sottovoce.protocols.identities import digest
from sottovoce.protocols.quorum.members import FEWEST_MEMBERS, MOST_MEMBERS
from sottovoce.study.choices import Engine
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.quorum_model import BATCH
from sottovoce.study.queries.scoring import largest_batch
from sottovoce.study.release import Opens, Release
from sottovoce.study.roster import (
    Participant,
    Role,
    Roster,
    answerer_of,
    intermediary_of,
    member_of,
    peer_of,
)
from sottovoce.study.study import Study
from sottovoce.wire.printable import is_path_name

LONGEST = 4 * 2**20
"""Bytes that a study.toml may have, its words included."""

COORDINATOR = str(Role.COORDINATOR)
_HELPING = (Role.EVALUATOR, Role.DEALER)
_ROLES = (*map(str, _HELPING), "members", "threshold")
_TABLES = (
    *("study", "peers", "roles", "helpers", "intermediaries", "columns", "holdings", "deadlines"),
)


@dataclass(frozen=True)
class InvitedOrganisation:
    """An organisation that gets one invitation, for all its seats."""

    name: str
    organisation: str
    seats: tuple[PlannedSeat, ...]

    @property
    def peers(self) -> tuple[str, ...]:
        """Its seats that bring documents."""
        return tuple(seat.name for seat in self.seats if seat.role is Role.PEER)

    @property
    def peer(self) -> str:
        """Its seat that brings documents, or nothing."""
        return next(iter(self.peers), "")

    @property
    def roles(self) -> tuple[Role, ...]:
        """Its roles in the study."""
        return tuple(seat.role for seat in self.seats)


@dataclass(frozen=True)
class StudyDescription:
    """Everything that a study.toml says; `text` is what travels."""

    text: str = field(repr=False)
    plan: StudyPlan
    coordinator: PlannedSeat
    organisations: tuple[InvitedOrganisation, ...]
    deadlines: Deadlines

    @property
    def seats(self) -> tuple[PlannedSeat, ...]:
        """Every seat: the coordinator's, then organisation by organisation."""
        return (
            self.coordinator,
            *(seat for invited in self.organisations for seat in invited.seats),
        )

    @property
    def approval(self) -> str:
        """Under which approval the study runs."""
        return self.plan.approval

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that stand for the text."""
        return digest("service/study-file/v1", self.text.encode())

    def organisation(self, name: str) -> InvitedOrganisation:
        """The organisation of that short name."""
        match = next((invited for invited in self.organisations if invited.name == name), None)
        if match is None:
            known = ", ".join(invited.name for invited in self.organisations)
            raise InputError(
                f"study {self.plan.name!r}: expected an organisation of it ({known}), "
                f"found {name!r}"
            )
        return match

    def roster(self, publics: Mapping[str, bytes]) -> Roster:
        """The roster of the seats with a known public identity; the other seats stay away."""
        here = (seat for seat in self.seats if seat.name in publics)
        return Roster(
            tuple(
                Participant(seat.name, seat.organisation, seat.role, publics[seat.name])
                for seat in here
            )
        )

    def study(self, publics: Mapping[str, bytes]) -> Study:
        """The study of those who came."""
        return Study(self.plan, self.roster(publics))

    def rehearsed(self) -> Study:
        """The study as it will be if everybody comes, with keys that are none."""
        return self.study(
            {seat.name: digest("no key/v1", seat.name.encode()) for seat in self.seats}
        )


def example() -> str:
    """A study.toml with every setting explained."""
    return files("sottovoce.config").joinpath("example.toml").read_text(encoding="utf-8")


def load_study(path: Path) -> StudyDescription:
    """The study of a file, the words of its dictionary taken into its text."""
    text = _read(path)
    settings = SettingsText.parse(text, name=str(path))
    words = settings.table("study").get("words")
    if isinstance(words, str):
        text = _with_words(settings, path.parent / words)
    return parse_study(text, name=str(path))


def parse_study(
    text: str, *, name: str = "study.toml", plan_type: type[StudyPlan] = StudyPlan
) -> StudyDescription:
    """The study of a text that arrived, or of a file whose words are in it."""
    settings = SettingsText.parse(text, name=name)
    refuse_other_names(settings)
    settings.check_known(_TABLES)
    for table in ("study", "peers"):
        if table not in settings.values:
            hint = Hint(
                "a whole study.toml, explained: ", ShellCommand("sottovoce study create --example")
            )
            raise settings.missing((table,), f"a table [{table}]", hint)
        settings.table(table)
    plan = read_plan(settings, plan_type=plan_type)
    plan = replace(plan, threshold=_threshold(settings))
    organisations = _invited_organisations(settings, plan)
    organisation = settings.take(("study", "coordinator"), TEXT, "")
    plan = _alone(settings, plan, organisations, organisation)
    _check_budget(settings, plan, organisations)
    coordinator = PlannedSeat(COORDINATOR, organisation, Role.COORDINATOR)
    described = StudyDescription(text, plan, coordinator, organisations, _deadlines(settings))
    try:
        described.rehearsed()
    except InputError as error:
        raise _placed(settings, error) from None
    return described


def _alone(
    settings: SettingsText,
    plan: StudyPlan,
    organisations: tuple[InvitedOrganisation, ...],
    coordinator: str,
) -> StudyPlan:
    """The plan; where the coordinator has all the data, the model is its own, and opened to it."""
    if [invited.organisation for invited in organisations if invited.peers] != [coordinator]:
        return plan
    if "release" in settings.table("study") and plan.release.opens is not Opens.WEIGHTS:
        raise settings.fault(
            ("study", "release"),
            "peers, where the coordinator is the only peer: the model is its own",
            str(plan.release),
            "leave it out",
        )
    return replace(plan, release=Release.PEERS)


def _threshold(settings: SettingsText) -> int:
    """The number of members that may pool, if the text says so; 0 is the largest minority."""
    path = ("roles", "threshold")
    threshold = settings.take(path, WHOLE, None)
    if threshold is not None and threshold < 1:
        raise settings.fault(path, "at least 1", str(threshold), "threshold = 1")
    return threshold or 0


def _check_budget(
    settings: SettingsText, plan: StudyPlan, organisations: tuple[InvitedOrganisation, ...]
) -> None:
    """A query is filled up to whole batches: what is less than one could never be asked."""
    if plan.release.opens is Opens.WEIGHTS:
        return
    quorum = any(Role.MEMBER in invited.roles for invited in organisations)
    most = BATCH if quorum else largest_batch(plan)
    if plan.budget < most:
        raise settings.fault(
            ("study", "query_budget"),
            f"at least {most}, the most that one batch can be: a query counts whole batches",
            str(plan.budget),
            f"query_budget = {most}",
        )


def renamed(text: str, name: str) -> str:
    """The text of a study under another name."""
    settings = SettingsText.parse(text, name="study.toml")
    lines = text.splitlines()
    lines[settings.line("study", "name") - 1] = f'name = "{_escaped(name)}"'
    return "\n".join(lines) + "\n"


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()[: LONGEST + 1]
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(
            f"{path}: cannot be read ({reason})",
            hints=(
                Hint("begin with: ", ShellCommand("sottovoce study create --example > study.toml")),
            ),
        ) from None
    if len(data) > LONGEST:
        raise InputError(f"{path}: expected at most {LONGEST} bytes, found more")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8, found another byte at {error.start}") from None


def _with_words(settings: SettingsText, path: Path) -> str:
    """The text with the words of a file in place of the file's name."""
    at = settings.line("study", "words")
    if not path.is_file():
        raise settings.fault(
            ("study", "words"), "a list of words, or a file with one word a line", f"no file {path}"
        )
    words = [line.strip() for line in _read(path).splitlines()]
    kept = [word for word in words if word and not word.startswith("#")]
    if not kept:
        raise settings.fault(("study", "words"), f"words in {path}", "none")
    quoted = ", ".join(f'"{_escaped(word)}"' for word in kept)
    lines = settings.text.splitlines()
    lines[at - 1] = f"words = [{quoted}]"
    return "\n".join(lines) + "\n"


def _escaped(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(
        character if character.isprintable() else f"\\U{ord(character):08x}" for character in plain
    )


def _invited_organisations(
    settings: SettingsText, plan: StudyPlan
) -> tuple[InvitedOrganisation, ...]:
    peers = _organisations(settings, "peers")
    helpers = _organisations(settings, "helpers")
    both = next((name for name in helpers if name in peers), None)
    if both is not None:
        raise settings.fault(
            ("helpers", both), "names that no peer has", both, "a peer may have a role by itself"
        )
    seats = {name: [PlannedSeat(name, peers[name], Role.PEER)] for name in peers}
    seats |= {name: [] for name in helpers}
    roles = _roles(settings, (*peers, *helpers))
    for role, name in roles.items():
        organisation = (peers | helpers)[name]
        seats[name].append(PlannedSeat(str(role), organisation, role))
    for name in _members(settings, tuple(peers), plan.engine, helped=bool(roles or helpers)):
        seats[name].append(_beside(settings, member_of(name), peers[name], Role.MEMBER))
    for peer, name in _intermediaries(settings, tuple(peers), tuple(helpers)).items():
        seat = _beside(settings, intermediary_of(peer), helpers[name], Role.INTERMEDIARY)
        seats[name].append(seat)
    for name in plan.arrangement.answerers:
        if name in peers:
            seats[name].append(_beside(settings, answerer_of(name), peers[name], Role.ANSWERER))
    idle = next((name for name, held in seats.items() if not held), None)
    if idle is not None:
        raise settings.fault(
            ("helpers", idle),
            "a role for it in [roles] or [intermediaries]",
            "none",
            f'evaluator = "{idle}"' if Role.EVALUATOR not in roles else "leave it out",
        )
    return tuple(
        InvitedOrganisation(name, (peers | helpers)[name], tuple(held))
        for name, held in seats.items()
    )


def _intermediaries(
    settings: SettingsText, peers: tuple[str, ...], helpers: tuple[str, ...]
) -> dict[str, str]:
    """By peer, which helper builds its contribution on ciphertexts."""
    by_peer: dict[str, str] = {}
    for peer, value in settings.table("intermediaries").items():
        path = ("intermediaries", peer)
        if peer not in peers:
            raise settings.fault(path, f"a name from [peers] ({', '.join(peers)})", shown(peer))
        if value not in helpers:
            known = ", ".join(helpers) or "which is not there"
            expected = f"a name from [helpers] ({known}): a machine that the peer need not trust"
            raise settings.fault(path, expected, shown(value), f'{peer} = "cloud"')
        by_peer[peer] = value
    return by_peer


def _organisations(settings: SettingsText, table: str) -> dict[str, str]:
    names = {}
    for name, value in settings.table(table).items():
        if not is_path_name(name) or name in set(Role):
            raise settings.fault(
                (table, name),
                "a name of letters, digits, - and _ (at most 32) that is no role's",
                shown(name),
                'north = "Northfield Hospital"',
            )
        names[name] = _organisation(settings, (table, name), value)
    return names


def _organisation(settings: SettingsText, path: tuple[str, ...], value: Any) -> str:
    hint = f'{path[-1]} = "Northfield Hospital"'
    return str(settings.take(path, TEXT, value, hint))


def _members(
    settings: SettingsText, peers: tuple[str, ...], engine: Engine, *, helped: bool
) -> tuple[str, ...]:
    """The organisations that compute in engine quorum, which `auto` takes where nobody helps."""
    path = ("roles", "members")
    named = settings.take(path, TEXTS, None, 'members = ["north", "harbour", "stanmore"]')
    alone = named is not None or not (helped or len(peers) < FEWEST_MEMBERS)
    if engine is not Engine.QUORUM and not (engine is Engine.AUTO and alone):
        if named is not None:
            raise settings.fault(path, f"nothing in engine {engine}", shown(named), "leave it out")
        if str(Role.EVALUATOR) not in settings.table("roles"):
            raise _no_evaluator(settings, peers)
        return ()
    for name in named or ():
        if name not in peers:
            raise settings.fault(path, f"names from [peers] ({', '.join(peers)})", shown(name))
    chosen = tuple(peer for peer in peers if named is None or peer in named)
    if named is not None and len(chosen) < len(named):
        raise settings.fault(path, "every member once", shown(named))
    if named is None:
        chosen = chosen[:MOST_MEMBERS]
    return chosen


def _beside(settings: SettingsText, seat: str, organisation: str, role: Role) -> PlannedSeat:
    """A seat that is named after a peer, if its name is not too long for a folder."""
    if not is_path_name(seat):
        peer = peer_of(seat)
        longest = 32 - len(seat) + len(peer)
        expected = f"a name of at most {longest} characters for a seat that is also {role}"
        raise settings.fault(("peers", peer), expected, shown(peer))
    return PlannedSeat(seat, organisation, role)


def _no_evaluator(settings: SettingsText, known: tuple[str, ...]) -> InputError:
    return settings.missing(
        ("roles", str(Role.EVALUATOR)),
        "who evaluates",
        f'evaluator = "{known[0] if known else "north"}"',
        "an organisation that has no text is better: name it in [helpers]",
        f"with {FEWEST_MEMBERS} peers or more and no helpers, the peers compute by themselves",
    )


def _roles(settings: SettingsText, known: tuple[str, ...]) -> dict[Role, str]:
    refuse_other_names(settings, "roles")
    settings.check_known(_ROLES, "roles")
    roles: dict[Role, str] = {}
    for role in _HELPING:
        name = settings.table("roles").get(role)
        if name is None:
            continue
        if name not in known:
            raise settings.fault(
                ("roles", str(role)),
                f"a name from [peers] or [helpers] ({', '.join(known)})",
                shown(name),
            )
        roles[role] = name
    return roles


def _deadlines(settings: SettingsText) -> Deadlines:
    defaults = Deadlines()
    names = ("enrolment", "stage")
    settings.check_known(names, "deadlines")
    spans = {name: getattr(defaults, name) for name in names}
    for name, value in settings.table("deadlines").items():
        try:
            spans[name] = duration(value if isinstance(value, str) else repr(value))
            Deadlines(**{name: spans[name]})
        except InputError as error:
            raise settings.fault(
                ("deadlines", name),
                "a time up to a year, such as '10 minutes' or '7 days'",
                shown(value),
                *error.hints,
            ) from None
    return Deadlines(**spans)


def _placed(settings: SettingsText, error: InputError) -> InputError:
    """Check plan and roster against each other; an error has the line of the table at fault."""
    path = tuple(error.setting.split(".")) if error.setting else ("study",)
    if path[0] not in _TABLES:
        path = ("study", *path)
    if path == ("roles", "members") and "threshold" in settings.table("roles"):
        path = ("roles", "threshold")
    return settings.in_file(error, *path)
