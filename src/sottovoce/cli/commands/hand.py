"""`sottovoce hand`: the model again for a peer that lost its disk."""

from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import screen
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home

if TYPE_CHECKING:
    from sottovoce.node.api import ConsentQuestion


def hand(
    peer: Annotated[
        str, typer.Argument(metavar="PEER", help="The peer that lost its disk and joined again.")
    ],
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Give the model again to PEER, which lost its disk and was invited anew.

    The coordinator could open the model, so it comes from another peer, sealed to the new keys
    of PEER, and only after a person heard the same words at both ends: call PEER by phone. PEER
    runs `sottovoce join` with its new invitation meanwhile.

    \b
    Examples:
      sottovoce hand valley
      sottovoce hand valley --study urgency --json
    """
    import asyncio

    from sottovoce.cli.consent import asked, show_words
    from sottovoce.cli.exit_states import check_goes_on
    from sottovoce.cli.running import run
    from sottovoce.cli.watching import Watch
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.api import JoinOptions
    from sottovoce.node.site.asking import hand_model

    def answer(question: "ConsentQuestion") -> bool:
        show_words(question.words, err=as_json)
        return asked(f"Does {peer} read the same words to you?", yes=False)

    async def confirm(question: "ConsentQuestion") -> bool:
        return await asyncio.to_thread(answer, question)

    joined_study = open_home(home, passphrase_file).study(study)
    check_goes_on(joined_study, asking=True)
    with Watch(quiet=True) as watch:
        options = JoinOptions(parse_study, confirm, on_event=watch.on_event)
        run(
            hand_model(joined_study.membership, peer, options=options),
            afterwards=f"`sottovoce hand {peer}` again goes on",
        )
    if as_json:
        import json

        screen.say(json.dumps({"study": joined_study.id, "handed_to": peer}))
    else:
        screen.say(f"{peer} has the model again, as soon as it fetches its letters")
