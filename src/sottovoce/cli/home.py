"""The options that choose a site's folder, and options from settings and the environment."""

import os
import shlex
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.shell_words import note_home, root_command
from sottovoce.cli.terminal.event_text import note_json
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.config.toml_settings import SettingsText
    from sottovoce.node.site.site_folder import Site

PREFIX = "SOTTOVOCE"
ELSEWHERE = {
    "home": "where the settings are; SOTTOVOCE_HOME in the environment",
    "help": "an answer, not a setting",
    "version": "an answer, not a setting",
    "install_completion": "done once, for a shell",
    "show_completion": "an answer, not a setting",
    "passphrase_file": "a way to a secret",
    "access_file": "a way to a secret",
    "passphrase_fd": "a way to a secret",
    "new_passphrase_file": "a way to a secret",
    "new_passphrase_fd": "a way to a secret",
}
"""The options that have no setting and no environment variable, and why."""


def take_settings(ctx: typer.Context) -> None:
    """Let SOTTOVOCE_JOIN_TEXT stand for --text of `join`, and so on for every option.

    A command without a site takes the settings of the default site.
    """
    ctx.default_map = _from_environment(ctx.command, (PREFIX,))
    name = ctx.invoked_subcommand or ""
    called = getattr(ctx.command, "commands", {}).get(name)
    if called is not None and not _has_home(called):
        set_here = _from_settings(ctx, None, {name: called})
        ctx.default_map = _below(set_here, ctx.default_map)


def _has_home(command: Any) -> bool:
    inner = getattr(command, "commands", {}).values()
    return any(option.name == "home" for option in _options(command)) or any(map(_has_home, inner))


def _below(low: dict[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """The first mapping, overridden by the second."""
    both = {name: _below(low[name], high[name]) for name in low if isinstance(high.get(name), dict)}
    return {**low, **high, **both}


def _from_environment(command: Any, names: tuple[str, ...]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, inner in getattr(command, "commands", {}).items():
        below = _from_environment(inner, (*names, name))
        if below:
            given[name] = below
    for option in _options(command):
        value = os.environ.get("_".join((*names, setting_of(option))).upper().replace("-", "_"))
        if value is not None and option.name not in ELSEWHERE:
            given[option.name] = shlex.split(value) if option.multiple else value
    return given


def _settle(ctx: typer.Context, home: Path | None) -> Path | None:
    """Take this command's options from the site's sottovoce.toml; the environment comes first."""
    source: Any = ctx.get_parameter_source("home")
    note_home(home if source is not None and source.name == "COMMANDLINE" else None)
    if not ctx.resilient_parsing:
        path = ctx.command_path.split(" ")[1:]
        command: Any = ctx.command
        value: Any = _from_settings(ctx, home, {path[-1]: command}, tuple(path[:-1]))
        ctx.default_map = _below(value.get(path[-1], {}), ctx.default_map or {})
    return home


def _from_settings(
    ctx: typer.Context, home: Path | None, commands: Mapping[str, Any], path: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The settings of sottovoce.toml for these commands, by the names of their parameters."""
    from sottovoce.config.site_settings import read_settings
    from sottovoce.node.site.site_folder import SETTINGS, home_folder

    source = read_settings(home_folder(home) / SETTINGS).source
    if source is None:
        return {}
    _check(source, ctx, source.values, root_command())
    table: Mapping[str, Any] = source.values
    for name in path:
        table = table.get(name, {})
    return _by_parameter(table, commands)


def _by_parameter(table: Mapping[str, Any], commands: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, command in commands.items():
        inner = getattr(command, "commands", {})
        held = table.get(name, {})
        names = {setting_of(option): option.name for option in _options(command)}
        values[name] = _by_parameter(held, inner) if inner else {}
        values[name] |= {names[_key(key)]: held[key] for key in held if _key(key) in names}
    return values


def _check(
    source: "SettingsText",
    ctx: typer.Context,
    table: Mapping[str, Any],
    command: Any,
    path: tuple[str, ...] = (),
) -> None:
    """Refuse a table that is no command, a key that is no option, and a wrong value."""
    settable = (option for option in _options(command) if option.name not in ELSEWHERE)
    options = {setting_of(option): option for option in settable}
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
    from sottovoce.config.toml_settings import shown

    if isinstance(value, dict) or isinstance(value, list) != option.multiple:
        expected = "a list" if option.multiple else "a single value"
        raise source.fault(path, expected, shown(value))
    try:
        # Side effects of an option happen when its command runs.
        alone = copy(option)
        alone.callback = None
        alone.process_value(ctx, value)
    except (typer.BadParameter, ValueError, TypeError) as error:
        expected = str(error).rstrip(".").replace("\n", " ")
        raise source.fault(path, f"what {option.opts[0]} takes", shown(value), expected) from None


def _options(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "option"]


def setting_of(option: Any) -> str:
    """The name of an option in settings and in the environment: as it is typed."""
    written: list[str] = option.opts
    return next(name for name in written if name.startswith("--")).removeprefix("--")


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
    typer.Option("--study", metavar="NAME", help="Which study, if this site has several."),
]
AsJson = Annotated[bool, typer.Option("--json", callback=note_json, help="Print JSON for scripts.")]


def open_home(home: Path | None, passphrase_file: Path | None = None) -> "Site":
    """The site of these options; asks for its passphrase if its key has one."""
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles.passphrase import Passphrase
    from sottovoce.node.site.site_folder import home_folder, open_site
    from sottovoce.storage.sealed_files import is_locked

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
