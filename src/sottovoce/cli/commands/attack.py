"""`sottovoce attack`: how much of synthetic notes can be reconstructed from exposed numbers."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError
from sottovoce.hints import ShellCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sottovoce.attacks.frequencies import NamedFeatures
    from sottovoce.attacks.trial import AttackTrial
    from sottovoce.datasets import ClinicalNotes
    from sottovoce.text.documents import Document


class Exposed(StrEnum):
    """The data that the observer saw."""

    RADOS = "rados"
    MOMENTS = "moments"
    BLOCKS = "blocks"
    DICTIONARY = "dictionary"


# Sites whose counts are added up, and words that are chosen from them.
_SITES, _FEATURES = 4, 1024
# Labels of fewer documents would stop a study.
_OFTEN, _FEWEST_LABELS = 50, 2
_SAID = {"recovered": "came_back"}
_MEANS = {
    Exposed.RADOS: (
        "A word that one document alone has shows in which rados that document was added up; "
        "from there every other word is linear algebra. Whoever drew the signatures needs only "
        "one rado more than there are documents. So rados of text are only ever encrypted."
    ),
    Exposed.MOMENTS: (
        "The row of a word that one document alone has is that document; taken out, the next "
        "one shows. Pruning rare words only blurs the common words of each document. So "
        "moments are added up, and solved, behind masks."
    ),
    Exposed.BLOCKS: (
        "The sum over a block of one row is that row, with its label. So blocks below a minimum "
        "size are dropped before anything leaves a peer, and the others travel encrypted."
    ),
    Exposed.DICTIONARY: (
        "Whoever chooses a joint dictionary sees nameless counts, and public text of the same "
        "kind has the same words about as often. Rounding at the sites blurs rare words, not the "
        "most frequent ones. Dictionary hashed, or given, opens no counts, so there is nothing to "
        "match."
    ),
}


def attack(
    on: Annotated[Exposed, typer.Option("--on", help="What the observer got to see.")],
    documents: Annotated[
        int, typer.Option("--documents", min=10, max=2000, help="How many notes to attack.")
    ] = 200,
    rados: Annotated[
        int, typer.Option("--rados", min=1, max=5000, help="How many rados were seen.")
    ] = 250,
    seed: options.NotesSeed = 0,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="For dictionary: labelled text (columns text, label)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reconstruct synthetic notes from exposed rados, moments or block sums, or name hidden words.

    Rados of sparse text are not irreversible. The attacks know nothing but the numbers; what
    they recover is then compared with the notes. The last row is the control: every attack on
    the same numbers behind masks, as the protocols send them.

    \b
    Examples:
      sottovoce attack --on rados
      sottovoce attack --on rados --documents 200 --rados 100
      sottovoce attack --on moments --documents 400 --json
      sottovoce attack --on dictionary --documents 2000
      sottovoce attack --on dictionary --data sms_spam.csv
    """
    if on is Exposed.DICTIONARY:
        _on_dictionary(documents, seed, data, as_json=as_json)
        return
    from dataclasses import asdict

    from sottovoce.cli.terminal.measurements import show
    from sottovoce.datasets import clinical_notes

    notes = clinical_notes(documents, random_state=seed)
    with screen.console(err=True).status("attacking …"):
        trials = list(_trials(on, notes, rados=rados, seed=seed))
    rows = [{"seen": trial.seen, **asdict(trial.score)} for trial in trials]
    facts: dict[str, object] = {"on": on.value, "documents": documents}
    if on is Exposed.RADOS:
        facts["rados"] = rados
    if as_json:
        show({**facts, "explanation": _MEANS[on]}, rows, title="", as_json=True)
        return
    for row in rows:
        del row["documents"]
    shown = [{_SAID.get(name, name): value for name, value in row.items()} for row in rows]
    show(facts, shown, title=f"notes reconstructed from exposed {on.value}", as_json=False)
    screen.console().print(f"\n{_MEANS[on]}")


def _trials(
    on: Exposed, notes: "ClinicalNotes", *, rados: int, seed: int
) -> "Iterator[AttackTrial]":
    import numpy as np

    from sottovoce.attacks.trial import try_blocks, try_moments, try_rados, word_counts
    from sottovoce.entropy import SystemEntropy
    from sottovoce.rados import Part, RandomSignatures

    labels = [1 if label == "urgent" else -1 for label in notes.labels("urgency")]
    part = Part.of(word_counts(notes.texts), labels)
    if on is Exposed.RADOS:
        rng = np.random.default_rng(seed)
        signatures = RandomSignatures.draw(rados, len(notes), rng=rng)
        yield from try_rados(part, signatures, entropy=SystemEntropy())
    elif on is Exposed.MOMENTS:
        yield from try_moments(part, entropy=SystemEntropy())
    else:
        shared = np.array(
            [
                (notes.sites.index(note.site), note.patient.age // 10, note.patient.sex == "female")
                for note in notes
            ],
            dtype=np.float64,
        )
        yield from try_blocks(part, shared, entropy=SystemEntropy())


def _on_dictionary(documents: int, seed: int, data: Path | None, *, as_json: bool) -> None:
    """Half of the documents belong to the sites, half stand for public text of the same kind."""
    from dataclasses import asdict

    from sottovoce.attacks.frequencies import FREQUENT
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.text.documents import Document

    if data is None:
        from sottovoce.datasets import clinical_notes

        notes = clinical_notes(documents, random_state=seed).notes
        texts = [Document(note.text, note.urgency) for note in notes]
    else:
        from sottovoce.sources import SourceOptions, open_source

        texts = list(open_source(data, SourceOptions(text="text", label="label")))
    with screen.console(err=True).status("attacking …"):
        rows = [asdict(row) for row in _named(texts)]
    facts: dict[str, object] = {"on": Exposed.DICTIONARY.value, "documents": len(texts)}
    facts["frequent"] = FREQUENT
    if as_json:
        show({**facts, "explanation": _MEANS[Exposed.DICTIONARY]}, rows, title="", as_json=True)
        return
    shown = [{"of_frequent": f"{row.pop('of_frequent')} of {FREQUENT}", **row} for row in rows]
    show(facts, shown, title="words named by their frequency", as_json=False)
    screen.console().print(f"\n{_MEANS[Exposed.DICTIONARY]}")


def _named(texts: "list[Document]") -> "Iterator[NamedFeatures]":
    from collections import Counter

    from sottovoce.attacks.frequencies import Target, try_dictionary
    from sottovoce.entropy import SystemEntropy
    from sottovoce.text.dictionary.hashing import DictionaryKey
    from sottovoce.text.labelling import Labelling
    from sottovoce.text.labels import Labels
    from sottovoce.text.passes import CountPlan
    from sottovoce.text.splits import position

    counts = Counter(text.label for text in texts)
    often = {label for label, count in counts.items() if count >= _OFTEN}
    if len(often) < _FEWEST_LABELS:
        raise InputError(
            f"expected at least {_FEWEST_LABELS} labels of {_OFTEN} documents, found {len(often)}",
            hints=(ShellCommand("sottovoce attack --on dictionary --documents 200"),),
        )
    kept = sorted(
        (text for text in texts if text.label in often),
        key=lambda word: position(word, purpose="attack"),
    )
    labels = Labels.distinct(
        word.label for word in kept if isinstance(word.label, str | int | float)
    )
    half = len(kept) // 2
    parts = [kept[half + start :: _SITES] for start in range(_SITES)]
    key = DictionaryKey.draw(entropy=SystemEntropy())
    yield from try_dictionary(
        Target(CountPlan(Labelling(labels)), parts, _FEATURES, key), kept[:half]
    )
