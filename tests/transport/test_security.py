"""What an attacker on the network, or at another seat, tries; each by its name."""

import asyncio
import json
import ssl
from dataclasses import replace

import aiohttp
import pytest
from yarl import URL

from harness.entropy import SeededEntropy
from harness.ports import STUDY, certificate_files, identity_of, served_mailbox
from harness.wires import wire_to
from sottovoce.errors import InputError, MismatchError, SottovoceError, ViolationError
from sottovoce.study.relay import Letter
from sottovoce.transport import CoordinatorLine, Mailbox, server_context
from sottovoce.transport.certificates import client_context
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
        told = json.loads(data)
        assert told["status"] == response.status
        return response.status, told["type"].removeprefix("urn:sottovoce:problem:")


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
        return [one for _, one in await bob.fetch()]

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
        return [one for _, one in await bob.fetch()]

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


def line_to(served, address, *, fingerprint=None, retry_seconds=2.0):
    return CoordinatorLine(
        address,
        fingerprint=fingerprint or served.fingerprint,
        study=STUDY,
        identity=identity_of("alice"),
        retry_seconds=retry_seconds,
    )


def test_a_wrong_fingerprint_is_refused_before_a_word_is_said(tmp_path):
    async def story(served, alice, bob):
        said = []
        async with wire_to(
            served.server.port, meddle=lambda data, there: said.append((there, data)) or data
        ) as wire:
            address = f"https://127.0.0.1:{wire.port}"
            async with line_to(served, address, fingerprint=bytes(32)) as line:
                with pytest.raises(
                    ViolationError, match="expected the certificate 0000"
                ) as refused:
                    await line.post(letter(1))
        assert "nothing was sent" in str(refused.value)
        assert "inspects TLS" in str(refused.value)
        assert refused.value.party == "coordinator"
        sent = b"".join(data for there, data in said if there)
        # A handshake is some hundred bytes; neither names nor letters went out, sealed or not.
        assert len(sent) < 1200
        assert len(await bob.fetch()) == 1

    in_office(tmp_path, story)


def test_another_studys_certificate_is_refused(tmp_path):
    other = tmp_path / "other"
    other.mkdir()

    async def story(served, alice, bob):
        async with served_mailbox(other) as theirs, line_to(served, theirs.address) as line:
            with pytest.raises(ViolationError, match="another study's server"):
                await line.fetch(wait=0)

    in_office(tmp_path, story)


def test_a_certificate_with_the_same_name_is_another_certificate(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    certificate, key, _ = certificate_files(other, "coordinator")

    async def story(served, alice, bob):
        context = server_context(certificate, key)
        server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            async with line_to(served, f"https://127.0.0.1:{port}") as line:
                with pytest.raises(ViolationError, match="expected the certificate"):
                    await line.describe()

    in_office(tmp_path, story)


def test_a_downgrade_to_plain_http_is_refused_by_the_line(tmp_path):
    async def story(served, alice, bob):
        with pytest.raises(InputError, match="expected https, found plain http"):
            line_to(served, f"http://127.0.0.1:{served.server.port}")

        async def answer(reader, writer):
            await reader.read(100)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with line_to(served, f"https://127.0.0.1:{port}") as line:
                with pytest.raises(MismatchError, match=r"the server does not speak TLS 1.3"):
                    await line.describe()

    in_office(tmp_path, story)


def test_plain_http_on_the_port_gets_a_clear_refusal_and_nothing_else(tmp_path):
    async def story(served, alice, bob):
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{served.server.port}/v1/study") as response,
        ):
            told = json.loads(await response.read())
            return response.status, response.content_type, told["type"], told["detail"]

    status, content_type, kind, detail = in_office(tmp_path, story)
    assert (status, content_type) == (400, "application/problem+json")
    assert kind == "urn:sottovoce:problem:plain-http"
    assert "https only" in detail


def test_a_redirect_is_not_followed(tmp_path):
    """A server that holds the pinned certificate is trusted to answer, not to send us elsewhere."""

    async def story(served, alice, bob):
        hits = []

        async def elsewhere(reader, writer):
            hits.append(await reader.read(10))
            writer.close()

        async def answer(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            target = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/".encode()
            writer.write(
                b"HTTP/1.1 307 Moved\r\nContent-Length: 0\r\nLocation: " + target + b"\r\n\r\n"
            )
            await writer.drain()
            writer.close()

        context = server_context(tmp_path / "coordinator.pem", tmp_path / "coordinator.key")
        async with (
            await asyncio.start_server(elsewhere, "127.0.0.1", 0) as other,
            await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server,
            line_to(served, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}") as line,
        ):
            with pytest.raises(ViolationError, match="the status 307"):
                await line.describe()
        return hits

    assert in_office(tmp_path, story) == []


def test_a_client_of_another_protocol_version_is_told_so(tmp_path):
    async def story(served, alice, bob):
        await at_work(served, "bob")
        headers = signed(served, "bob", FETCH)
        old = await ask(served, FETCH, {**headers, PROTOCOL: "0"})
        none = await ask(
            served, FETCH, {name: headers[name] for name in headers if name != PROTOCOL}
        )
        both = await ask(served, FETCH, {**headers, PROTOCOL: f"7, {OFFER}"})
        return old, none, both[0]

    assert in_office(tmp_path, story) == ((400, "version"), (400, "version"), 200)


def test_clocks_that_are_off_by_years_do_not_matter(tmp_path):
    async def story(served, alice, bob):
        for years in (-3, 3):
            bob._signer = replace(bob._signer, clock=lambda years=years: 1.7e9 + years * 3.2e7)
            assert len(await bob.fetch()) == 1

    in_office(tmp_path, story)


def test_a_proxy_that_inspects_tls_is_named(tmp_path, monkeypatch):
    other = tmp_path / "inspector"
    other.mkdir()

    async def story(served, alice, bob):
        async with (
            served_mailbox(other) as inspector,
            wire_to(
                inspector.server.port, proxying=b"HTTP/1.1 200 Connection established\r\n\r\n"
            ) as proxy,
        ):
            monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{proxy.port}")
            async with line_to(served, "https://coordinator.example:8443") as line:
                with pytest.raises(ViolationError, match="inspects TLS") as refused:
                    await line.describe()
            assert f"127.0.0.1:{proxy.port}" in str(refused.value)
            assert "secret" not in str(refused.value) + str(refused.value.hints)
            return proxy.asked

    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    (asked,) = in_office(tmp_path, story)
    assert asked.startswith(b"CONNECT coordinator.example:8443 ")


def test_a_proxy_is_used_with_its_password_and_the_pin_holds_through_it(tmp_path, monkeypatch):
    async def story(served, alice, bob):
        async with wire_to(
            served.server.port, proxying=b"HTTP/1.1 200 Connection established\r\n\r\n"
        ) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "")
            async with line_to(served, "https://coordinator.example:8443") as line:
                await line.post(letter(1))
                await line.post(letter(2))
            assert len(await bob.fetch()) == 3
            return proxy.asked

    (asked,) = in_office(tmp_path, story)
    assert b"Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=" in asked


@pytest.mark.parametrize("status", [b"403 Forbidden", b"407 Proxy Authentication Required"])
def test_a_proxy_that_refuses_is_named(tmp_path, monkeypatch, status):
    async def story(served, alice, bob):
        answer = b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n"
        async with wire_to(served.server.port, proxying=answer) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "")
            async with line_to(served, "https://coordinator.example:8443") as line:
                with pytest.raises(InputError, match=r"through the proxy 127.0.0.1:.* refuses"):
                    await line.describe()

    in_office(tmp_path, story)


def test_a_proxy_of_another_kind_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(InputError, match="HTTPS_PROXY: expected an address like") as refused:
        CoordinatorLine(
            "https://coordinator.example:8443",
            fingerprint=bytes(32),
            study=STUDY,
            identity=identity_of("alice"),
        )
    assert refused.value.hints[0].startswith("export HTTPS_PROXY=")


@pytest.mark.parametrize(
    "address", ["", "coordinator:8443", "ftp://a:1", "https://", "https://a/b"]
)
def test_addresses_that_are_none_are_named(address):
    with pytest.raises(InputError, match="expected one like https://host:8443"):
        CoordinatorLine(address, fingerprint=bytes(32), study=STUDY, identity=identity_of("alice"))


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
    told = repr(line) + repr(vars(line))
    assert repr(identity_of("alice").secret) not in told
    assert identity_of("alice").secret.hex() not in told
    assert line._context.protocol == ssl.PROTOCOL_TLS_CLIENT


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_no_proxy_leads_to_this_machine(monkeypatch, host):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "")
    line = CoordinatorLine(
        f"https://{host}:8443", fingerprint=bytes(32), study=STUDY, identity=identity_of("alice")
    )
    assert line.route.proxy is None


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
        bodies = [one.body for _, one in await bob.fetch()]
        return answers[0] == answers[1], answers[0][0], bodies

    assert in_office(tmp_path, story) == (True, 200, [b"body", b"whole"])
