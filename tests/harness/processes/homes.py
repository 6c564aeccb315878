"""A study between real homes: settings, keys and folders as the commands lay them out."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.network import Network, QuickPlan, read_toy, study_text
from harness.studies import notes
from sottovoce.config.study_file import parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.node.coordinator.serving import create_study
from sottovoce.node.invitations import Invitation
from sottovoce.node.memberships import CoordinatorPlace, Membership
from sottovoce.node.site.site_folder import JoinedStudy, Site, open_site


class Homes(Network):
    """A coordinator and its sites, each with a home of its own below `root`."""

    def create(self) -> None:
        self.tokens = create_study(self.place, self.text, read=read_toy)

    def home(self, organisation: str) -> Site:
        """The home of an organisation, opened as a command opens it."""
        return open_site(
            self.root / organisation.replace(" ", "-").lower(), entropy=SystemEntropy()
        )

    @property
    def place(self) -> CoordinatorPlace:
        return self.home("Institute").coordinator_place(port=self.port)

    def joined(self, seat: str) -> JoinedStudy:
        """The study in the home of this seat's organisation, accepted when it is first needed."""
        token = next(token for token in self.tokens if seat in token.seats)
        site = self.home(token.organisation)
        expires = datetime.now(UTC) + timedelta(hours=1)
        where = (self.address, self.fingerprint, token.study, "urgency of notes")
        invited = next(
            organisation
            for organisation in read_toy(self.text).organisations
            if organisation.organisation == token.organisation
        )
        who = (invited.name, token.seats, token.secret, expires)
        study = site.accept(Invitation(*where, *who))
        study.keep_text(self.text)
        return study

    def membership(self, seat: str) -> Membership:
        return self.joined(seat).membership


def homes(root: Path, patch: pytest.MonkeyPatch, **changes: str) -> Homes:
    """A study of small notes between three homes, about to be joined; their keys are toys."""
    patch.setitem(parse_study.__kwdefaults__, "plan_type", QuickPlan)
    made = Homes(root, study_text(**changes), notes(120, sites=3))
    made.create()
    return made
