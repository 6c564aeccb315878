"""`sottovoce hand`: give the model again to a peer that lost its disk."""

from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen
from sottovoce.hints import Hint, ShellCommand

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
    """Give the model again to PEER, which lost its disk and was invited again.

    The coordinator could open the model, so another peer gives it, sealed to the new keys of PEER,
    and only after two people compared the same words by phone. Meanwhile PEER runs `sottovoce join`
    with its new invitation.

    \b
    Examples:
      sottovoce hand valley
      sottovoce hand valley --study urgency --json
    """
    import asyncio

    from sottovoce.cli.consent import asked, show_words
    from sottovoce.cli.exit_states import check_goes_on
    from sottovoce.cli.running import run
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.api import JoinOptions
    from sottovoce.node.site.asking import hand_model

    def answer(question: "ConsentQuestion") -> bool:
        show_words(question.words, err=as_json)
        return asked(f"Does {peer} read the same words to you?", yes=None)

    async def confirm(question: "ConsentQuestion") -> bool:
        return await asyncio.to_thread(answer, question)

    joined_study = open_home(home, passphrase_file).study(study)
    check_goes_on(joined_study, asking=True)
    with Watch(quiet=True) as watch:
        options = JoinOptions(parse_study, confirm, on_event=watch.on_event)
        run(
            hand_model(joined_study.membership, peer, options=options),
            afterwards=Hint("run `", ShellCommand(f"sottovoce hand {peer}"), "` again to continue"),
        )
    facts = {"study": joined_study.id, "handed_to": peer}
    done = f"{peer} has the model again as soon as it fetches its letters"
    screen.tell(done, facts, as_json=as_json)
