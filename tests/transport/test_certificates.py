"""The coordinator's certificate, and clients that accept no other."""

import asyncio
import ssl
from datetime import UTC, datetime

import pytest
from cryptography import x509

from harness.ports import certificate_files, served_mailbox
from sottovoce.errors import KeyFileError
from sottovoce.transport.certificates import (
    PinError,
    client_context,
    fingerprint_of,
    make_certificate,
    server_context,
)


def test_a_certificate_is_new_each_time_and_valid_for_years():
    now = datetime(2030, 1, 1, tzinfo=UTC)
    first, other = make_certificate("Cate", now=now), make_certificate("Cate", now=now)
    assert first.fingerprint != other.fingerprint
    read = x509.load_pem_x509_certificate(first.certificate)
    assert read.not_valid_before_utc < now
    assert (read.not_valid_after_utc - now).days > 3000
    assert (
        fingerprint_of(first.certificate)
        == first.fingerprint
        == bytes.fromhex(read.fingerprint(read.signature_hash_algorithm).hex())
    )


def test_the_key_stays_out_of_repr():
    made = make_certificate("Cate", now=datetime.now(UTC))
    assert "PRIVATE" not in repr(made)


def test_what_is_no_certificate_is_named(tmp_path):
    with pytest.raises(KeyFileError, match="it is no PEM text"):
        fingerprint_of(b"nothing")
    with pytest.raises(KeyFileError, match=r"none.pem: cannot be used"):
        server_context(tmp_path / "none.pem", tmp_path / "none.key")


async def shake(port, context):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    result = writer.get_extra_info("ssl_object").version()
    writer.close()
    del reader
    return result


def test_the_pinned_certificate_is_accepted_over_tls_1_3(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            return await shake(served.server.port, client_context(served.fingerprint))

    assert asyncio.run(story()) == "TLSv1.3"


def test_another_certificate_ends_the_handshake(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            with pytest.raises(PinError) as refused:
                await shake(served.server.port, client_context(bytes(32)))
            assert refused.value.expected == bytes(32)
            assert refused.value.served == served.fingerprint

    asyncio.run(story())


def test_the_server_refuses_tls_1_2(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            old = ssl.create_default_context()
            old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
            old.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await shake(served.server.port, old)

    asyncio.run(story())


def test_the_client_refuses_tls_1_2(tmp_path):
    certificate, key, fingerprint = certificate_files(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    async def story():
        server = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0, ssl=context)
        async with server:
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await shake(server.sockets[0].getsockname()[1], client_context(fingerprint))

    asyncio.run(story())
