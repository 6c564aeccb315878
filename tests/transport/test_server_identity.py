"""A seat talks to the pinned server alone: certificates, plain HTTP, redirects and proxies."""

import asyncio
import json
from dataclasses import replace

import aiohttp
import pytest

from harness.ports import STUDY, certificate_files, identity_of, served_mailbox
from harness.processes.served_office import FETCH, ask, at_work, in_office, letter, signed
from harness.processes.wires import wire_to
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.transport.certificates import server_context
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.signing import (
    PROTOCOL,
)
from sottovoce.transport.versions import OFFER


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
            parsed = json.loads(await response.read())
            return response.status, response.content_type, parsed["type"], parsed["detail"]

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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_no_proxy_leads_to_this_machine(monkeypatch, host):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "")
    line = CoordinatorLine(
        f"https://{host}:8443", fingerprint=bytes(32), study=STUDY, identity=identity_of("alice")
    )
    assert line.route.proxy is None
