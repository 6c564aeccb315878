"""sottovoce.toml: what a site's people decided once, so that nobody has to type it again.

[policy] is what the site consents to at most. Every other table holds the options of one
command, by their names: [join] text = "note" stands for --text note.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.config.toml_settings import SettingsText
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.study.policy import Policy


@dataclass(frozen=True)
class SiteSettings:
    """A site's policy, and its options by command."""

    commands: Mapping[str, Any] = field(default_factory=dict)
    source: SettingsText | None = None

    @cached_property
    def policy(self) -> "Policy":
        """The most that the site consents to; the default where the file has no [policy]."""
        from sottovoce.config.policy_settings import read_policy
        from sottovoce.study.policy import Policy

        return Policy() if self.source is None else read_policy(self.source)


def read_settings(path: Path) -> SiteSettings:
    """The settings of a file; the defaults if there is no file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return SiteSettings()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"{path}: cannot be read ({str(reason).lower()})") from None
    source = SettingsText.parse(text, name=str(path))
    source.table("policy")
    commands = {name: value for name, value in source.values.items() if name != "policy"}
    settings = SiteSettings(commands, source)
    if "policy" in source.values:
        # Every command reports a mistake in it, not only one that consents.
        _ = settings.policy
    return settings
