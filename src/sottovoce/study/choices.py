"""The settings of a plan that have a fixed list of values, and what each value means."""

from enum import StrEnum


class Engine(StrEnum):
    """The engine of the sealed solve: `quorum` of sites, `shares` with helpers, or `paillier`."""

    AUTO = "auto"
    QUORUM = "quorum"
    SHARES = "shares"
    PAILLIER = "paillier"


class DictionaryKind(StrEnum):
    """The source of the features: all peers' counts, a public word list, or hashing alone."""

    JOINT = "joint"
    GIVEN = "given"
    HASHED = "hashed"


class Rare(StrEnum):
    """The treatment of a class with too few documents: `stop` the study, or continue without it."""

    STOP = "stop"
    LEAVE_OUT = "leave out"
    OTHER = "other"


class Contribution(StrEnum):
    """The basis of a peer's moments: `exact`, as if of all its rados, or a sample of `rados`."""

    EXACT = "exact"
    RADOS = "rados"


class Learner(StrEnum):
    """The learner of θ: `closed-form` from moments, or gradient descent on encrypted rados.

    `rado-descent` minimises the paper's exponential rado loss, in a public number of steps.
    """

    CLOSED_FORM = "closed-form"
    RADO_DESCENT = "rado-descent"


class Addition(StrEnum):
    """The way in which peers add ciphertexts: under masks between pairs, or around rings.

    Masks allow peers to leave. A `ring` is the paper's sum and needs every peer: if one leaves, the
    study ends.
    """

    PAIRWISE = "pairwise"
    RING = "ring"


class Verdict(StrEnum):
    """How labels are found: `fss` always with a dealer, `dgk` without one.

    `auto` takes `fss` if an asker has a dealer that answers, else `dgk`, and tells the asker. In
    engine `quorum` the members compare by themselves, unless `fss` lets one of them deal.
    """

    AUTO = "auto"
    FSS = "fss"
    DGK = "dgk"


class LabelsOn(StrEnum):
    """The form of the model behind labels: `shares`, or a `paillier` ciphertext.

    Shares stay with coordinator and evaluator; a ciphertext is at every peer. `auto` takes shares
    if engine and arrangement allow it.
    """

    AUTO = "auto"
    SHARES = "shares"
    PAILLIER = "paillier"


class Centre(StrEnum):
    """The point from which rows of text are measured: the rounded joint `mean`, or by `idf`."""

    MEAN = "mean"
    IDF = "idf"
