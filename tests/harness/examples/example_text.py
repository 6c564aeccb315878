"""The example study in every arrangement: who computes, on what, and who learns how."""

from sottovoce.config.study_file import example

_PEERS = """
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
stanmore = "Stanmore Practice"
"""
_HELPED = """
[roles]
evaluator = "trust"
dealer = "registry"
[helpers]
trust = "Data Trust"
registry = "Cancer Registry"
"""
_EVALUATED = """
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
"""
_TABLE = """
[study]
name = "sick or well"
coordinator = "Institute for Health Data"
purpose = "tell sick from well"
legal_basis = "GDPR Art. 9(2)(j)"
controller = "each hospital"
contact = "data.protection@health-data.example"
retention = "two years after the study is closed"
labels = ["well", "sick"]
features = 0
held_out = 0.0
[columns]
ward = ["eye", "heart"]
pulse = { low = 40, high = 168 }
sugar = { low = 2, high = 30 }
sight = { low = 0, high = 2 }
"""
_HOLDINGS = """
[holdings]
north = ["pulse"]
harbour = ["sugar"]
stanmore = ["sight"]
"""


def example_among_peers() -> str:
    return example() + '\n[roles]\nevaluator = "north"\ndealer = "harbour"\n'


def _with(table: str, settings: str) -> str:
    return table.replace("features = 0\n", f"features = 0\n{settings}\n")


_BY_FEATURES = 'partition = "features"\nshared = ["ward"]'
_DESCENT = 'engine = "paillier"\nlearner = "rado-descent"\ncontribution = "rados"\nrados = 64'
ARRANGEMENTS = {
    "quorum": example(),
    "shares": example() + _HELPED,
    "shares among peers": example_among_peers(),
    "paillier": example().replace(
        'features = "auto"', 'features = 64\nengine = "paillier"'
    ) + _EVALUATED,
    "released": example().replace('# release = "sealed"', 'release = "peers"'),
    "table": _TABLE + _PEERS,
    "features": _with(_TABLE, _BY_FEATURES) + _HOLDINGS + _PEERS + _HELPED,
    "features, full": _with(_TABLE, f'{_BY_FEATURES}\nremote = "full"')
    + _HOLDINGS + _PEERS + _HELPED,
    "rado descent": _with(_TABLE, _DESCENT) + _PEERS + _EVALUATED,
    "lone owner": _with(_TABLE, 'engine = "paillier"').replace(
        "Institute for Health Data", "Northfield Hospital"
    ) + '[peers]\nnorth = "Northfield Hospital"\n' + _EVALUATED,
}  # fmt: skip
"""A study.toml for each arrangement, by its name."""
