"""The coordinator's own certificate, and clients that accept no other.

No authority certifies a coordinator: the invitation holds the fingerprint of its certificate, and a
client compares it inside the handshake, before it sends anything. A proxy that inspects TLS shows
another certificate and is refused. Both sides use TLS 1.3 only.
"""

import hashlib
import ssl
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sottovoce.errors import KeyFileError
from sottovoce.transport.problems import PLAIN_HTTP, Refusal

FINGERPRINT_BYTES = 32
YEARS = 10
# A certificate must be valid for a site whose clock is behind.
_EARLIER = timedelta(days=2)


@dataclass(frozen=True)
class Certificate:
    """A certificate and its secret key, both as PEM text for the files of a coordinator."""

    certificate: bytes
    key: bytes = field(repr=False)

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint in invitations."""
        return fingerprint_of(self.certificate)


def make_certificate(name: str, *, now: datetime) -> Certificate:
    """A new self-signed certificate (EC P-256) for the server of a coordinator."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64] or "sottovoce")])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Certificate(made.public_bytes(serialization.Encoding.PEM), secret)


def fingerprint_of(certificate: bytes) -> bytes:
    """SHA-256 of the certificate (PEM text) as it is shown in the handshake."""
    try:
        shown = x509.load_pem_x509_certificate(certificate)
    except ValueError as error:
        raise KeyFileError("certificate: it is no PEM text") from error
    return hashlib.sha256(shown.public_bytes(serialization.Encoding.DER)).digest()


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.3 with the certificate and key of these files."""
    context = _SayingHttps(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # With session tickets a session could outlast the pinned certificate.
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise KeyFileError(f"{certificate}: cannot be used with its key {key} ({error})") from error
    return context


def client_context(fingerprint: bytes) -> ssl.SSLContext:
    """TLS 1.3 that accepts only the certificate of this fingerprint."""
    context = _Pinning(ssl.PROTOCOL_TLS_CLIENT)
    context.fingerprint = fingerprint
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["http/1.1"])
    # Names and authorities prove nothing about a self-signed certificate; the pin does, and the
    # handshake proves that the other side holds the certificate's key.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class PinError(ssl.SSLCertVerificationError):
    """The server showed another certificate than the pinned one."""

    def __init__(self, expected: bytes, served: bytes) -> None:
        super().__init__(f"expected the certificate {expected.hex()}, found {served.hex()}")
        self.expected = expected
        self.served = served


class _PinnedObject(ssl.SSLObject):
    """Ends the handshake with an error if the certificate is not the pinned one."""

    def do_handshake(self) -> None:
        super().do_handshake()
        assert isinstance(self.context, _Pinning)
        shown = hashlib.sha256(self.getpeercert(binary_form=True) or b"").digest()
        if shown != self.context.fingerprint:
            raise PinError(self.context.fingerprint, shown)


class _Pinning(ssl.SSLContext):
    """A context whose connections check the pin."""

    fingerprint = b""
    sslobject_class = _PinnedObject


class _ServerObject(ssl.SSLObject):
    """Answers plain HTTP with an explanation before it closes."""

    outgoing: ssl.MemoryBIO
    refused = False

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if self.refused or error.reason != "HTTP_REQUEST":
                raise
            self.refused = True
            self.outgoing.write(_refusal(PLAIN_HTTP))
            # Asking for more bytes lets the answer leave; the next bytes end the handshake.
            raise ssl.SSLWantReadError from None


class _SayingHttps(ssl.SSLContext):
    """A context that answers plain HTTP with an explanation."""

    sslobject_class = _ServerObject

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **options: Any
    ) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, *args, **options)
        assert isinstance(made, _ServerObject)
        made.outgoing = outgoing
        return made


def _refusal(problem: Refusal) -> bytes:
    body = problem.document()
    head = (
        f"HTTP/1.1 {problem.status} Bad Request\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
