"""The messages that a seat waits for, in words for people; scripts get their kinds."""

_WORDS = {
    "enrolment": "to join",
    "consent": "to consent",
    "agreed-study": "the consent of every site",
    "add-up": "the contributions of every site",
    "model-held": "the trained model",
    "quorum-label": "the labels",
    "counting-step": "the count over all sites",
    "their reports": "to report",
}


def awaited(what: str) -> str:
    """Name the awaited message: by its purpose, or else as the next of its stage."""
    stage, _, kind = what.rpartition(": ")
    if kind in _WORDS:
        return _WORDS[kind]
    if any(" " in named for named in kind.split(" or ")):
        return what
    return f"the next message, {stage}" if stage else "the next message"
