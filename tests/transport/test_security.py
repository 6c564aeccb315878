"""What an attacker on the network, or at another seat, tries; each by its name."""

import asyncio
import ssl

import pytest

from harness.entropy import SeededEntropy
from harness.ports import STUDY, identity_of
from harness.processes.served_office import (
    FETCH,
    RUN,
    SESSION,
    ask,
    at_work,
    in_office,
    letter,
    signed,
)
from sottovoce.errors import MismatchError, SottovoceError, ViolationError
from sottovoce.transport.certificates import client_context
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.signing import (
    PROTOCOL,
    SEAT,
    SIGNATURE,
    SignedRequest,
    Signer,
    body_digest,
)
from sottovoce.transport.signing import (
    STUDY as STUDY_FIELD,
)
from sottovoce.transport.versions import OFFER


def part_of(body, number=1):
    """The request with all of a letter's bytes, as it would follow its announcement."""
    query = f"session={SESSION.hex()}&to=bob&number={number}&size={len(body)}"
    path = f"/v1/uploads?{query}&digest={body_digest(body).hex()}&offset=0&run={RUN}"
    return SignedRequest("PATCH", path, body_digest(body))


def test_a_stolen_mailbox_position_opens_no_other_seats_letter(tmp_path):
    async def story(served, alice, bob):
        ((position, _),) = await bob.fetch()
        asked = SignedRequest("GET", f"/v1/letters/{position}?offset=0")
        assert await ask(served, asked, signed(served, "bob", asked)) == (200, b"body")
        return await ask(served, asked, signed(served, "alice", asked))

    assert in_office(tmp_path, story) == (404, "no-letter")


def test_a_seat_cannot_fetch_under_another_seats_name(tmp_path):
    async def story(served, alice, bob):
        headers = {**signed(served, "alice", FETCH), SEAT: "bob"}
        return await ask(served, FETCH, headers)

    assert in_office(tmp_path, story) == (401, "signature")


def test_a_seat_cannot_acknowledge_anothers_letters(tmp_path):
    async def story(served, alice, bob):
        await alice.acknowledge(10)
        return [arrived for _, arrived in await bob.fetch()]

    assert in_office(tmp_path, story) == [letter()]


def test_a_seat_cannot_post_under_another_seats_name(tmp_path):
    async def story(served, alice, bob):
        asked = part_of(b"x")
        headers = {**signed(served, "bob", asked), SEAT: "alice"}
        assert await ask(served, asked, headers, body=b"x") == (401, "signature")
        return len(await bob.fetch())

    assert in_office(tmp_path, story) == 1


def test_a_replayed_request_is_refused(tmp_path):
    async def story(served, alice, bob):
        await at_work(served, "bob")
        headers = signed(served, "bob", FETCH)
        assert (await ask(served, FETCH, headers))[0] == 200
        return await ask(served, FETCH, headers)

    assert in_office(tmp_path, story) == (401, "replay")


def test_a_request_of_another_study_is_refused(tmp_path):
    async def story(served, alice, bob):
        async with Mailbox(tmp_path / "other.db") as other:
            served.callbacks.mailboxes["study-2"] = other
            # The same organisation sits in both studies under one name, with another key in each.
            served.callbacks.keys["study-2", "bob"] = identity_of("bob in study-2").public
            headers = signed(served, "bob", FETCH)
            crossed = await ask(served, FETCH, {**headers, STUDY_FIELD: "study-2"})
            # Even with one key in both: the study is signed too.
            served.callbacks.keys["study-2", "bob"] = identity_of("bob").public
            same_key = await ask(served, FETCH, {**headers, STUDY_FIELD: "study-2"})
            unknown = await ask(served, FETCH, {**headers, STUDY_FIELD: "study-3"})
            return crossed, same_key, unknown

    assert in_office(tmp_path, story) == ((401, "signature"), (401, "signature"), (403, "no-seat"))


def test_a_request_signed_for_another_server_is_refused(tmp_path):
    async def story(served, alice, bob):
        return await ask(served, FETCH, signed(served, "bob", FETCH, fingerprint=bytes(32)))

    assert in_office(tmp_path, story) == (401, "signature")


def test_a_forged_signature_is_refused_and_nobody_counts_as_seen(tmp_path):
    async def story(served, alice, bob):
        served.callbacks.met.clear()
        answer = await ask(served, FETCH, {**signed(served, "bob", FETCH), SIGNATURE: "00" * 64})
        assert served.callbacks.met == []
        await bob.fetch()
        assert set(served.callbacks.met) == {"bob"}
        return answer

    assert in_office(tmp_path, story) == (401, "signature")


def test_a_changed_body_is_refused(tmp_path):
    async def story(served, alice, bob):
        await at_work(served, "alice")
        asked = part_of(b"the body")
        announced = SignedRequest("PUT", asked.path.replace("&offset=0", ""))
        assert (await ask(served, announced, signed(served, "alice", announced)))[0] == 200
        answer = await ask(served, asked, signed(served, "alice", asked), body=b"another!")
        assert len(await bob.fetch()) == 1
        return answer

    assert in_office(tmp_path, story) == (400, "digest")


def test_an_unsigned_request_is_refused(tmp_path):
    async def story(served, alice, bob):
        return await ask(served, FETCH, {PROTOCOL: OFFER})

    assert in_office(tmp_path, story) == (401, "unsigned")


def test_who_enrols_must_hold_the_key_it_presents(tmp_path):
    async def story(served, alice, bob):
        asked = SignedRequest("POST", "/v1/enrol", body_digest(b"x"))
        headers = signed(served, "mallory", asked)
        presented = {**headers, "Sottovoce-Key": identity_of("bob").public.hex()}
        return await ask(served, asked, presented, body=b"x")

    assert in_office(tmp_path, story) == (401, "signature")


def test_a_conflicting_letter_under_a_number_is_refused_over_every_road(tmp_path):
    async def story(served, alice, bob):
        long_one = bytes(3 * 2**20)
        with pytest.raises(SottovoceError, match="already stored with other bytes"):
            await alice.post(letter(0, b"other"))
        with pytest.raises(SottovoceError, match="already stored with other bytes"):
            await alice.post(letter(0, long_one))
        return [arrived for _, arrived in await bob.fetch()]

    assert in_office(tmp_path, story) == [letter()]


def test_letters_for_nobody_are_refused(tmp_path):
    async def story(served, alice, bob):
        with pytest.raises(ViolationError, match="no seat 'eve' takes letters"):
            await alice.post(letter(0, to="eve"))

    in_office(tmp_path, story)


def test_a_seat_that_left_has_no_line(tmp_path):
    async def story(served, alice, bob):
        del served.callbacks.keys[STUDY, "bob"]
        with pytest.raises(MismatchError, match="no seat 'bob'"):
            await bob.fetch()

    in_office(tmp_path, story)


def test_logs_carry_no_content(tmp_path, caplog):
    body = b"a sentence that nobody may read"

    async def story(served, alice, bob):
        await alice.post(letter(1, body))
        await bob.fetch()
        with pytest.raises(SottovoceError):
            await alice.post(letter(1, body + body))
        served.callbacks.describe = None
        alice.retry_seconds = 0.1
        with pytest.raises(SottovoceError, match="the server failed"):
            await alice.describe()
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", served.server.port, ssl=client_context(served.fingerprint)
        )
        writer.write(body + b"\r\n\r\n")
        assert b"application/problem+json" in await reader.read()
        writer.close()

    with caplog.at_level("DEBUG"):
        in_office(tmp_path, story)
    assert "request failed: TypeError" in caplog.text
    assert body.decode() not in caplog.text
    assert body.hex() not in caplog.text


def test_the_line_keeps_secrets_out_of_repr():
    line = CoordinatorLine(
        "https://a:1", fingerprint=bytes(32), study=STUDY, identity=identity_of("alice")
    )
    shown = repr(line) + repr(vars(line))
    assert repr(identity_of("alice").secret) not in shown
    assert identity_of("alice").secret.hex() not in shown
    assert line._context.protocol == ssl.PROTOCOL_TLS_CLIENT


def posting(body, *, digest=None, size=None):
    """The request that carries a whole letter."""
    query = f"session={SESSION.hex()}&to=bob&number=1&size={len(body) if size is None else size}"
    path = f"/v1/letters?{query}&digest={(digest or body_digest(body)).hex()}&run={RUN}"
    return SignedRequest("POST", path, body_digest(body))


WAITS = {"Expect": "100-continue"}


def test_a_letter_s_body_that_does_not_wait_to_be_asked_for_is_refused(tmp_path):
    async def story(office, alice, bob):
        await at_work(office, "alice")
        asked = posting(b"hasty")
        refused = await ask(office, asked, signed(office, "alice", asked), body=b"hasty")
        return refused, office.mailbox.held("alice").letters

    assert in_office(tmp_path, story) == ((400, "query"), 1)


@pytest.mark.parametrize("asked", [posting(b"body", digest=bytes(32)), posting(b"body", size=3)])
def test_the_body_of_a_request_is_all_of_the_letter_that_it_announces(tmp_path, asked):
    async def story(office, alice, bob):
        await at_work(office, "alice")
        headers = {**signed(office, "alice", asked), **WAITS}
        return await ask(office, asked, headers, body=b"body"), office.mailbox.held("alice").letters

    assert in_office(tmp_path, story) == ((400, "query"), 1)


def test_a_letter_that_is_stored_already_is_not_asked_for_again(tmp_path):
    async def story(office, alice, bob):
        await at_work(office, "alice")
        answers = []
        for seed in (1, 2):
            asked = posting(b"whole")
            signer = Signer(STUDY, identity_of("alice"), office.fingerprint, SeededEntropy(seed))
            headers = {**signer.headers(asked), PROTOCOL: OFFER, **WAITS}
            answers.append(await ask(office, asked, headers, body=b"whole"))
        bodies = [arrived.body for _, arrived in await bob.fetch()]
        return answers[0] == answers[1], answers[0][0], bodies

    assert in_office(tmp_path, story) == (True, 200, [b"body", b"whole"])
