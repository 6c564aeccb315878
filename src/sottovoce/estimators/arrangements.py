"""A federation's arrangement in the plan of a study: who holds which columns."""

from collections.abc import Sequence
from typing import Any

from sottovoce.errors import InputError, MismatchError
from sottovoce.estimators.federation import LocalFederation
from sottovoce.study.arrangement import Arrangement, Holding, Partition, Remote

TABLE_HINT = ('LocalFederation({"alice": (X, y), …})',)


def held_columns(federation: LocalFederation) -> dict[str, tuple[str, ...]]:
    """The columns of every peer's table."""
    held = {peer: tuple(rows[0].columns) for peer, rows in federation.documents.items() if rows}
    first, names = next(iter(held.items()))
    if not names:
        raise InputError(f"{first}: expected a table of columns, found texts", hints=TABLE_HINT)
    return held


def joint_columns(federation: LocalFederation) -> tuple[str, ...]:
    """Every column once: those that all peers have, or, by features, shared ones and others."""
    held = held_columns(federation)
    if federation.partition is Partition.FEATURES:
        own = [name for holding in holdings(federation) for name in holding.columns]
        return tuple(dict.fromkeys([*federation.shared, *own]))
    first, names = next(iter(held.items()))
    for peer, columns in held.items():
        if set(columns) != set(names):
            raise MismatchError(
                f"{peer}: expected the columns of {first!r} ({', '.join(names)}), "
                f"found {', '.join(columns) or 'none'}",
                hints=('of different columns: LocalFederation(…, partition="features")',),
            )
    return names


def holdings(federation: LocalFederation) -> tuple[Holding, ...]:
    """The columns that each peer holds alone; every peer has the shared columns."""
    made = []
    for peer, names in held_columns(federation).items():
        lost = next((name for name in federation.shared if name not in names), None)
        if lost is not None:
            raise MismatchError(
                f"{peer}: expected the shared column {lost!r}, found {', '.join(names)}"
            )
        made.append(Holding(peer, tuple(name for name in names if name not in federation.shared)))
    return tuple(made)


def table_arrangement(
    federation: LocalFederation, *, remote: Any, answering: Sequence[str], **settings: Any
) -> Arrangement:
    """The arrangement of a study of tables."""
    if federation.partition is not Partition.FEATURES:
        return Arrangement(**settings)
    made = Arrangement(
        Partition.FEATURES,
        tuple(federation.shared),
        holdings(federation),
        remote=remote,
        answering=tuple(answering),
        **settings,
    )
    if made.remote is Remote.FULL and not federation.names_entities:
        raise InputError(
            "remote full: every peer must name the entity of each row",
            hints=('LocalFederation({"alice": (X, y, entities), …}, partition="features")',),
        )
    return made


def text_arrangement(federation: LocalFederation, **settings: Any) -> Arrangement:
    """The arrangement of a study of texts."""
    if federation.partition is Partition.FEATURES:
        raise InputError(
            "texts: peers with different features of the same entities bring tables, found texts",
            hints=("SealedClassifier(…)",),
        )
    return Arrangement(**settings)


def check_split(federation: LocalFederation, held_out: float) -> None:
    """Without names of entities peers cannot hold the same ones out."""
    if federation.partition is Partition.FEATURES and held_out and not federation.names_entities:
        raise InputError(
            f"held_out {held_out:g}: peers that hold different features hold out the same "
            "entities by their names, found none",
            hints=(
                "held_out=0.0",
                'or LocalFederation({"alice": (X, y, entities), …}, partition="features")',
            ),
        )
