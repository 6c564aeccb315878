"""[policy] of sottovoce.toml: what a site consents to at most; loaded where a policy is read."""

from collections.abc import Mapping

from sottovoce.config.toml_settings import TRUTH, WHOLE, SettingKind, SettingsText, listed, one_of
from sottovoce.study.policy import CHOICES, Policy
from sottovoce.study.release import RELEASES

_POLICY: Mapping[str, SettingKind] = {
    "releases": SettingKind("a list of release modes", listed(one_of(RELEASES).read)),
    **{
        name: SettingKind(f"a list of {', '.join(kind)}", listed(one_of(kind).read))
        for name, kind in CHOICES.items()
    },
    "min_peers": WHOLE,
    "min_documents": WHOLE,
    "key_bits": WHOLE,
    "independent_evaluator": TRUTH,
    "intermediaries": TRUTH,
    "rows_per_peer": WHOLE,
}


def read_policy(source: SettingsText) -> Policy:
    """The policy that these settings hold."""
    source.check_known(_POLICY, "policy")
    given = {
        key: limit
        for key, kind in _POLICY.items()
        if (limit := source.take(("policy", key), kind, None)) is not None
    }
    return Policy(**given)
