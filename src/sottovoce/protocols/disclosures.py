"""The disclosures and phrases that several messages share: who sees it, and what must hold."""

from sottovoce.protocols.messages import Disclosure

# Who sees it.
BY_ASKER = "the asker of the query"
BY_ASKER_ENCRYPTED = "the asker of a query, who cannot decrypt it"
BY_ASKER_OF_LABELS = "the asker of these documents' labels"
BY_BOTH_HOLDERS = "the two holders of shares"
BY_COORDINATOR = "the coordinator"
BY_COORDINATOR_THEN_PEERS = "the coordinator, and through it every peer"
BY_COUNTING_COORDINATOR = "the coordinator, who counts queries"
BY_DECRYPTING_COORDINATOR = "the coordinator, who decrypts it"
BY_EVALUATOR = "the evaluator, who cannot decrypt it"
BY_EVALUATOR_ALONE = (
    "the evaluator, who cannot decrypt it, sealed against the coordinator on its way"
)
BY_EVALUATOR_SEALED = "the evaluator, sealed against the coordinator"
BY_EVERY_MEMBER = "every member of the quorum"
BY_EVERY_PEER = "every peer of the study"
BY_EVERY_PEER_SEALED = "every peer of the study, sealed against everybody else"
BY_FIRST_HOLDER = "the first holder of shares (the coordinator)"
BY_KEY_HOLDER = "the key holder, who decrypts it"
BY_ONE_MEMBER = "one member of the quorum, sealed against everybody else"
BY_ONE_PEER = "one other peer, sealed end to end against everybody else"
BY_OPENER = "the opener (the coordinator)"
BY_OPENER_THEN_MEMBERS = "the opener, and with its answer every member"
BY_OTHER_HOLDER = "the other of the two holders of shares"
BY_PEERS_AND_EVALUATOR = "every peer and the evaluator"
BY_PEERS_AND_HOLDERS = "every peer, and the evaluator or every member"

# What must hold.
BATCHES_ARE_PADDED = "batches are padded"
BUDGET_IS_ON_THE_CARD = "the budget is on the study card"
CONSENT_TO_FEATURE_LISTS = "every peer consented to weights = reveal_feature_lists_to_coordinator"
CONSENT_TO_LOOKUPS = "every peer consented to remote = full"
CONSENT_TO_MARGINS = "every peer consented to release = margin"
CONSENT_TO_RELEASE = "every peer consented to release = peers"
COORDINATOR_AND_ASKER_DO_NOT_POOL = "coordinator and asker do not pool"
DEALER_POOLS_WITH_NEITHER = "the dealer pools with neither holder"
MASKS_ARE_THE_ASKERS = "the masks are the asker's own, and used once"
MASKS_REACH_KAPPA_BITS = "masks used once reach κ bits beyond the values"
MASKS_REACH_KAPPA_BITS_IN_SLOTS = f"{MASKS_REACH_KAPPA_BITS}, in slots that hold both"
NUMBERS_ARE_NAMED_ON_THE_CARD = "these numbers are named on the study card"
NUMBERS_ARE_PUBLIC = "these numbers are public"
PAILLIER_HIDES = "Paillier encryption hides, under the assumption of the key's profile"
PAILLIER_HIDES_FROM_EVALUATOR = (
    "Paillier encryption hides, and the evaluator and the key holder do not pool"
)
PAILLIER_HIDES_FROM_PEERS = "Paillier encryption hides, and no peer pools with the key holder"
PLAN_IS_PUBLIC = "the plan holds nothing but public numbers"
QUERY_TIMES_ARE_PUBLIC = "the time of a query is public"
DRAWN_BY_THE_SYSTEM = "coins, factors and masks come from the operating system's generator"
ROSTER_IS_PUBLIC = "who takes part is no secret among participants"
SEATS_OF_ONE_ORGANISATION = "both seats are of one organisation"
SPECTRUM_BOUND_IS_TRUE = "the upper end of the spectrum was a sum of true upper ends"
SUM_IS_OVER_MANY = "at least three peers and twenty documents are in the sum"
THRESHOLD_HOLDS = "no more members than the threshold pool with each other and the opener"
TWO_DO_NOT_POOL = "evaluator and coordinator do not pool what they saw"

# Whole disclosures. The message's docstring says what it holds.
FRESH_CIPHERTEXTS = Disclosure(
    seen_by=BY_EVALUATOR, reveals="nothing: fresh ciphertexts", assuming=PAILLIER_HIDES
)
MASKED_OPERANDS = Disclosure(
    seen_by=BY_KEY_HOLDER,
    reveals="the shape; every value is noise",
    assuming=MASKS_REACH_KAPPA_BITS,
)
DEALT_MASK = Disclosure(
    seen_by=BY_OTHER_HOLDER,
    reveals="nothing: the mask is uniform, used once, and known to neither holder",
    assuming=DEALER_POOLS_WITH_NEITHER,
)
SECOND_HOLDERS_HALF = Disclosure(
    seen_by=BY_FIRST_HOLDER,
    reveals="nothing: the second holder's half makes every word uniform",
    assuming=DEALER_POOLS_WITH_NEITHER,
)
