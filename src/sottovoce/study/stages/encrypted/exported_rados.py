"""Encrypted rados as files: sites write them, a third party adds them up and trains on them.

    site p                         third party T                        key holder K
      ── ExportedRados ⟨⟨π_p⟩⟩, ──▶  ⟨⟨π⟩⟩ = Σ_p ⟨⟨π_p⟩⟩
         a file                      ── masked questions of the descent ──▶
                                     ◀─────────────── encrypted answers ───
                                     ── OwnersModel ⟨⟨θ⟩⟩ ─────────────────▶  decrypts θ

A site is no longer needed once its file is written. All numbers follow from the plan and from how
many rows all sites have together, which is agreed beforehand. Nobody reports a spectrum, so the
steps are small enough for the longest possible rows.

Who learns what. T: shapes, and one bit a step that exponents are in range. K: noise, and θ. Sites:
nothing. Assuming that all follow the protocol, and that T and K do not pool what they saw: a file
and the key together are that site's rados, from which documents can be rebuilt.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy, bound
from sottovoce.errors import InputError, MismatchError
from sottovoce.paillier import Ciphertext, PublicKey, SecretKey, Unsent, total
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, Party, Send, receive
from sottovoce.protocols.guard import AnswerGuard, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.sealed_model import closing
from sottovoce.study.choices import DictionaryKind
from sottovoce.study.queries.scoring import row_norm
from sottovoce.study.rare_classes import without_rare
from sottovoce.study.stages.centring import END_PARTS
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.study.stages.encrypted.outsourced import OwnersModel, opened_thetas
from sottovoce.study.stages.encrypted.rado_descent import descend_classes, descent_stages
from sottovoce.study.stages.encrypted.uploads import own_rows
from sottovoce.study.stages.preparation import Prepared, agreed_dictionary, space_of
from sottovoce.study.study import Study, settings_digest
from sottovoce.study.totals import Totals
from sottovoce.text.documents import Document, digest_of

_DRAWN = "study/exported-rados/v1"


class ExportedRados(Message, frozen=True):
    """One site's part of every rado in both forms, for a plan and a public number of rows."""

    discloses: ClassVar = Disclosure(
        seen_by="the third party that the site gives the file to, who cannot decrypt it",
        reveals="nothing: how many rados of how many columns there are is in the plan",
        assuming="Paillier encryption hides, and the third party does not pool with the key holder",
    )
    plan: bytes
    rows: int
    parts: tuple[Ciphertext, ...]


def export_terms(study: Study, rows: int) -> tuple[DescentNumbers, Prepared]:
    """Return numbers and feature space for the rows of all sites; refuse a plan that lacks some."""
    plan = study.plan
    for setting, wrong, text, hint in (
        (
            "learner",
            not plan.descends,
            f"learner rado-descent, found {plan.learner}",
            'learner = "rado-descent"',
        ),
        (
            "dictionary",
            plan.dictionary is not DictionaryKind.GIVEN,
            f"columns or given words (nobody counts words), found dictionary {plan.dictionary}",
            'features = 0 with [columns], or dictionary = "given"',
        ),
        (
            "class_weight",
            plan.class_weight is not None,
            f"all rows alike (nobody counts classes), found class_weight {plan.class_weight}",
            'class_weight = "none"',
        ),
    ):
        if wrong:
            raise InputError(f"exported rados need {text}", hints=(hint,), setting=setting)
    if rows < 1:
        raise InputError(f"--rows: expected how many rows all sites have, found {rows}")
    dictionary = agreed_dictionary(plan)
    totals = Totals(rows, (rows,) * len(plan.labels.names), study.roster.peers)
    prepared = Prepared(totals, dictionary.idf_halves, space_of(study, dictionary))
    parts = int(END_PARTS * rows * row_norm(plan) ** 2)
    return DescentNumbers.of(study, prepared, parts), prepared


def plan_digest(study: Study) -> bytes:
    """Return a digest of the settings that all added files and the answering party must share."""
    return settings_digest(study.plan.settings())


def export_rados(
    study: Study, documents: Sequence[Document], key: PublicKey, *, rows: int, entropy: Entropy
) -> ExportedRados:
    """At a site: return its encrypted rados."""
    numbers, prepared = export_terms(study, rows)
    training = without_rare(study.plan, documents)
    mine = own_rows(study, prepared, training)
    if len(mine.rows) > rows:
        raise InputError(
            f"--rows: expected at least the {len(mine.rows)} rows of this site, found {rows}",
            hints=("it is how many rows all sites have together, rounded up",),
        )
    # The stream depends on the documents, so no signature is used for two sets of documents.
    drawn = bound(entropy, _DRAWN, plan_digest(study), digest_of(documents), key.to_bytes())
    parts = numbers.sealed(mine.edges, key, seed=drawn.seed(), entropy=drawn)
    return ExportedRados(plan_digest(study), rows, tuple(parts))


def added_rados(
    study: Study, files: Mapping[str, ExportedRados], key: PublicKey
) -> tuple[DescentNumbers, list[Unsent]]:
    """At the third party: return the sums over all files, after checking that they fit."""
    rows = next(iter(files.values())).rows
    numbers, _ = export_terms(study, rows)
    forms = numbers.forms(key.plaintext_bits)
    for name, exported in files.items():
        if exported.plan != plan_digest(study):
            raise MismatchError(
                f"{name}: expected rados of this study.toml, found those of another plan",
                hints=("all sites, and the party that learns, need the same study.toml",),
            )
        if exported.rows != rows:
            raise MismatchError(
                f"{name}: expected rados for {rows} rows of all sites, found {exported.rows}",
                hints=("write all files with the same --rows",),
            )
        if [(part.layout, part.scale) for part in exported.parts] != list(forms):
            raise MismatchError(f"{name}: expected rados in {len(forms)} parts as the plan has")
    _check_different(files)
    columns = zip(*(exported.parts for exported in files.values()), strict=True)
    # Each document is in one file, so the bounds of all documents hold for the sum.
    sums = [total(parts).within(scale) for parts, (_, scale) in zip(columns, forms, strict=True)]
    return numbers, sums


def _check_different(files: Mapping[str, ExportedRados]) -> None:
    """Refuse a copy of another file: its documents would count twice."""
    names: dict[tuple[Ciphertext, ...], str] = {}
    for name, exported in files.items():
        first = names.setdefault(exported.parts, name)
        if first != name:
            raise InputError(f"{name}: expected rados of another site, found those of {first}")


def learn_exported(
    numbers: DescentNumbers, sums: Sequence[Unsent], *, entropy: Entropy
) -> Party[None]:
    """At the third party: run the descent, and send ⟨⟨θ⟩⟩ to the key holder."""
    thetas = yield from closing(descend_classes(sums, numbers, entropy=entropy))
    sent = tuple(theta.for_key_holder(entropy=entropy) for theta in thetas)
    yield Send(KEY_HOLDER, OwnersModel(sent))


def answer_exported(
    study: Study, key: SecretKey, *, rows: int, entropy: Entropy
) -> Party[NDArray[np.float64]]:
    """At the key holder: answer masked questions, then return the weights of integer rows."""
    numbers, prepared = export_terms(study, rows)
    assert prepared.space is not None
    stages = descent_stages(key, numbers, entropy=entropy, folds=False)
    yield from serve(AnswerGuard(EVALUATOR, stages, codec=study.codec(key.public)))
    sealed = yield from receive(EVALUATOR, OwnersModel)
    thetas = opened_thetas(numbers, sealed, key=key, sender=EVALUATOR)
    return np.asarray(prepared.space.factors[:, np.newaxis] * thetas)
