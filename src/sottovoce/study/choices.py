"""The choices of a plan that have a fixed list of values, each with what it means."""

from enum import StrEnum


class Engine(StrEnum):
    """The engine of the sealed solve: among the sites, with helpers, or on ciphertexts."""

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
    """The treatment of a class with too few documents: a `stop`, or the study goes without it."""

    STOP = "stop"
    LEAVE_OUT = "leave out"
    OTHER = "other"


class Contribution(StrEnum):
    """The basis of a peer's moments: all its rados at once, `exact`, or a sample of n `rados`."""

    EXACT = "exact"
    RADOS = "rados"


class Learner(StrEnum):
    """The learner of θ: `closed-form` from moments, or gradient descent on encrypted rados.

    `rado-descent` minimises the paper's exponential rado loss, in steps of a public number.
    """

    CLOSED_FORM = "closed-form"
    RADO_DESCENT = "rado-descent"


class Addition(StrEnum):
    """The way in which peers add ciphertexts: under masks between pairs, or around rings.

    Masks survive peers that leave. A `ring` is the paper's sum, and needs every peer: a peer that
    leaves it ends the study.
    """

    PAIRWISE = "pairwise"
    RING = "ring"


class Verdict(StrEnum):
    """The way to a label: `fss` with a dealer and never else, `dgk` without one.

    `auto` takes `fss` where an asker has a dealer that answers, else `dgk`, and says so. In engine
    `quorum` the members compare by themselves, unless `fss` lets one of them deal.
    """

    AUTO = "auto"
    FSS = "fss"
    DGK = "dgk"


class LabelsOn(StrEnum):
    """The form of the model behind labels: `shares`, or a `paillier` ciphertext.

    Shares stay with coordinator and evaluator; every peer holds the ciphertext. `auto` takes
    shares where engine and arrangement allow it.
    """

    AUTO = "auto"
    SHARES = "shares"
    PAILLIER = "paillier"


class Centre(StrEnum):
    """The origin of rows of text: the rounded joint `mean`, or its estimate by `idf`."""

    MEAN = "mean"
    IDF = "idf"
