"""The options that say whose folder it is, and what stands in its settings and the environment."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.telling import note_json
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.service.settings import SettingsText
    from sottovoce.service.site import Site

PREFIX = "SOTTOVOCE"
_ELSEWHERE = frozenset({"home", "help", "version", "passphrase_file", "passphrase_fd"})
"""What no settings file holds: where it is itself, and ways to a secret."""


def from_environment(ctx: typer.Context) -> None:
    """Let SOTTOVOCE_JOIN_TEXT stand for --text of `join`, and so on for every option."""
    ctx.default_map = _from_environment(ctx.command, (PREFIX,))


def _from_environment(command: Any, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, inner in getattr(command, "commands", {}).items():
        below = _from_environment(inner, (*names, name))
        if below:
            found[name] = below
    for option in _options(command):
        value = os.environ.get("_".join((*names, setting_of(option))).upper().replace("-", "_"))
        if value is not None and option.name not in _ELSEWHERE:
            found[option.name] = shlex.split(value) if option.multiple else value
    return found


def _settle(ctx: typer.Context, home: Path | None) -> Path | None:
    """Take this command's options from the site's sottovoce.toml, below the environment's."""
    if ctx.resilient_parsing:
        return home
    from sottovoce.service.site import SETTINGS, home_folder
    from sottovoce.service.site_settings import read_settings

    source = read_settings(home_folder(home) / SETTINGS).source
    if source is not None:
        _check(source, ctx, source.values, ctx.find_root().command)
        table: Mapping[str, Any] = source.values
        for name in ctx.command_path.split(" ")[1:]:
            table = table.get(name, {})
        names = {setting_of(option): option.name for option in _options(ctx.command)}
        options = {names.get(_key(key), key): value for key, value in table.items()}
        ctx.default_map = {**options, **(ctx.default_map or {})}
    return home


def _check(
    source: "SettingsText",
    ctx: typer.Context,
    table: Mapping[str, Any],
    command: Any,
    path: tuple[str, ...] = (),
) -> None:
    """Refuse a table that is no command, a key that is no option, a value that it cannot have."""
    found = (one for one in _options(command) if one.name not in _ELSEWHERE)
    options = {setting_of(option): option for option in found}
    inner = getattr(command, "commands", {})
    known = [*inner, *options]
    for key, value in table.items():
        if not path and key == "policy":
            continue
        if key in inner and isinstance(value, dict):
            _check(source, ctx, value, inner[key], (*path, key))
        elif _key(key) in options:
            _check_value(source, ctx, (*path, key), options[_key(key)], value)
        elif key in inner:
            raise source.fault((*path, key), f"a table [{'.'.join((*path, key))}]", str(value))
        else:
            raise source.unknown((*path, key), known if path else (*known, "policy"))


def _check_value(
    source: "SettingsText", ctx: typer.Context, path: tuple[str, ...], option: Any, value: Any
) -> None:
    from sottovoce.service.settings import shown

    if isinstance(value, dict) or isinstance(value, list) != option.multiple:
        expected = "a list" if option.multiple else "a single value"
        raise source.fault(path, expected, shown(value))
    try:
        option.process_value(ctx, value)
    except (typer.BadParameter, ValueError, TypeError) as error:
        expected = str(error).rstrip(".").replace("\n", " ")
        raise source.fault(path, f"what {option.opts[0]} takes", shown(value), expected) from None


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option"]


def setting_of(option: Any) -> str:
    """What an option is called in settings and in the environment: as it is typed."""
    written: list[str] = option.opts
    return next(one for one in written if one.startswith("--")).removeprefix("--")


def _key(written: str) -> str:
    """A key of the settings file, which may be written with _ as well."""
    return written.replace("_", "-")


Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="FOLDER",
        is_eager=True,
        callback=_settle,
        envvar=f"{PREFIX}_HOME",
        show_envvar=False,
        help="This site's folder, instead of ~/.sottovoce.",
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Passphrase of this site's key, in a file (mode 600)."),
]
StudyName = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME", help="Which study, where this site has several."),
]
AsJson = Annotated[bool, typer.Option("--json", callback=note_json, help="Print JSON for scripts.")]


def open_home(home: Path | None, passphrase_file: Path | None = None) -> "Site":
    """The site of these options; asks for its passphrase where its key lies under one."""
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles.passphrase import Passphrase
    from sottovoce.service.sealed_files import is_locked
    from sottovoce.service.site import home_folder, open_site

    if passphrase_file is not None:
        passphrase = Passphrase.from_file(passphrase_file)
    elif is_locked(home_folder(home)):
        passphrase = Passphrase.asked("passphrase of this site's key")
    else:
        passphrase = None
    return open_site(home, entropy=SystemEntropy(), passphrase=passphrase)


def refuse_both(first: tuple[str, object], second: tuple[str, object]) -> None:
    """Refuse two options that say the same thing in two ways."""
    if first[1] is not None and second[1] is not None:
        raise InputError(f"expected {first[0]} or {second[0]}, found both")
