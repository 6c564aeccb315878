"""The choices of a plan that have a fixed list of values, each with what it means."""

from enum import StrEnum


class Engine(StrEnum):
    """How the sealed solve is done: among the sites themselves, with helpers, or on ciphertexts."""

    AUTO = "auto"
    QUORUM = "quorum"
    SHARES = "shares"
    PAILLIER = "paillier"


class DictionaryKind(StrEnum):
    """Where the features come from: all peers' counts, a public word list, or hashing alone."""

    JOINT = "joint"
    GIVEN = "given"
    HASHED = "hashed"


class Rare(StrEnum):
    """What becomes of a class with too few documents: a `stop`, or the study does without it."""

    STOP = "stop"
    LEAVE_OUT = "leave out"
    OTHER = "other"


class Contribution(StrEnum):
    """What a peer's moments are of: all its rados at once, `exact`, or a sample of n `rados`."""

    EXACT = "exact"
    RADOS = "rados"


class Learner(StrEnum):
    """How θ is learnt: in `closed-form` from moments, or by gradient descent on encrypted rados.

    `rado-descent` minimises the paper's exponential rado loss, in steps of a public number.
    """

    CLOSED_FORM = "closed-form"
    RADO_DESCENT = "rado-descent"


class Addition(StrEnum):
    """How peers add ciphertexts up unseen: under masks between pairs, or around rings.

    Masks survive peers that leave. A `ring` is the paper's sum, and needs everybody: who leaves it
    ends the study.
    """

    PAIRWISE = "pairwise"
    RING = "ring"


class Verdict(StrEnum):
    """How a label is found: `fss` with a dealer and never else, `dgk` without one.

    `auto` takes `fss` where an asker has a dealer that answers, else `dgk`, and says so. In engine
    `quorum` the members compare by themselves, unless `fss` lets one of them deal.
    """

    AUTO = "auto"
    FSS = "fss"
    DGK = "dgk"


class LabelsOn(StrEnum):
    """What labels are found on: `shares` of the model, or a `paillier` ciphertext of it.

    Shares stay with coordinator and evaluator; every peer holds the ciphertext. `auto` takes
    shares where engine and arrangement allow it.
    """

    AUTO = "auto"
    SHARES = "shares"
    PAILLIER = "paillier"


class Centre(StrEnum):
    """Where rows of text are measured from: the rounded joint `mean`, or what `idf` tells of it."""

    MEAN = "mean"
    IDF = "idf"
