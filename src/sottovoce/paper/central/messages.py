"""The messages of a central learner other than blind sums and questions."""

from typing import ClassVar

from sottovoce.protocols.disclosures import BY_PEERS_AND_EVALUATOR
from sottovoce.protocols.messages import Disclosure, Message


class PublicTotals(Message, frozen=True):
    """Number of documents and the ceiling of the spectrum (in units of 2^−8), rounded up."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_PEERS_AND_EVALUATOR,
        reveals="the total number of documents and a bound on their spread, rounded up to two "
        "digits",
        assuming="they are over at least three peers, so that none of them is told by name",
    )
    documents: int
    ceiling: int
