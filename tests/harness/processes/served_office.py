"""A server for tests of its security, and requests to it."""

import asyncio
import json

import aiohttp
from yarl import URL

from harness.entropy import SeededEntropy
from harness.ports import STUDY, identity_of, served_mailbox
from sottovoce.study.relay import Letter
from sottovoce.transport.certificates import client_context
from sottovoce.transport.signing import (
    PROTOCOL,
    SignedRequest,
    Signer,
)
from sottovoce.transport.versions import OFFER

SESSION = b"s" * 16


def letter(number=0, body=b"body", *, sender="alice", to="bob"):
    return Letter(SESSION, sender, to, number, body)


def signed(served, seat, asked, *, study=STUDY, fingerprint=None):
    """The header fields of a request as the holder of a seat's key would sign it."""
    signer = Signer(study, identity_of(seat), fingerprint or served.fingerprint, SeededEntropy(7))
    return {**signer.headers(asked), PROTOCOL: OFFER}


async def ask(served, asked, headers, *, body=b""):
    """A raw request over TLS: the status and the problem document."""
    context = client_context(served.fingerprint)
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            asked.method,
            URL(served.address + asked.path, encoded=True),
            headers=headers,
            data=body or None,
            ssl=context,
        ) as response,
    ):
        data = await response.read()
        if response.status == 200:
            return 200, data
        assert response.content_type == "application/problem+json"
        parsed = json.loads(data)
        assert parsed["status"] == response.status
        return response.status, parsed["type"].removeprefix("urn:sottovoce:problem:")


def in_office(tmp_path, story):
    async def told():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter())
            return await story(served, alice, bob)

    return asyncio.run(told())


RUN = "ab" * 16

FETCH = SignedRequest("GET", f"/v1/mailbox?after=0&wait=0&run={RUN}")


async def at_work(served, seat):
    """Let the requests of these tests count as the seat's own process."""
    await served.mailbox.take_up(seat, bytes.fromhex(RUN), served.mailbox.held(seat))
