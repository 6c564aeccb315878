"""sottovoce.toml: what a site's people decided once, so that nobody has to type it again.

[policy] is what the site consents to at most. Every other table holds the options of one
command, by their names: [join] text = "note" stands for --text note.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sottovoce.config.toml_settings import TRUTH, WHOLE, SettingKind, SettingsText, listed, one_of
from sottovoce.errors import InputError
from sottovoce.study.arrangement import Partition, Remote, Weights
from sottovoce.study.plan import DictionaryKind
from sottovoce.study.policy import Policy
from sottovoce.study.release import RELEASES, release_named

_CHOICES: Mapping[str, type[StrEnum]] = {
    "dictionaries": DictionaryKind,
    "partitions": Partition,
    "remotes": Remote,
    "weights": Weights,
}
_POLICY: Mapping[str, SettingKind] = {
    "releases": SettingKind("a list of release modes", listed(one_of(RELEASES).read)),
    **{
        name: SettingKind(f"a list of {', '.join(kind)}", listed(one_of(kind).read))
        for name, kind in _CHOICES.items()
    },
    "min_peers": WHOLE,
    "min_documents": WHOLE,
    "key_bits": WHOLE,
    "independent_evaluator": TRUTH,
    "intermediaries": TRUTH,
    "rows_per_peer": WHOLE,
}


@dataclass(frozen=True)
class SiteSettings:
    """A site's policy, and its options by command."""

    policy: Policy = field(default_factory=Policy)
    commands: Mapping[str, Any] = field(default_factory=dict)
    source: SettingsText | None = None


def read_settings(path: Path) -> SiteSettings:
    """The settings of a file; those that hold unless told, where there is no file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return SiteSettings()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"{path}: cannot be read ({str(reason).lower()})") from None
    source = SettingsText.parse(text, name=str(path))
    source.check_known(_POLICY, "policy")
    source.table("policy")
    given = {
        key: found
        for key, kind in _POLICY.items()
        if (found := source.take(("policy", key), kind, None)) is not None
    }
    if "releases" in given:
        given["releases"] = frozenset(map(release_named, given["releases"]))
    for name, kind in _CHOICES.items():
        if name in given:
            given[name] = frozenset(map(kind, given[name]))
    commands = {name: value for name, value in source.values.items() if name != "policy"}
    return SiteSettings(Policy(**given), commands, source)
