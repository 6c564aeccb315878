"""The console's address: this machine only, or for others with TLS and a passphrase."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sottovoce.errors import InputError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.passphrase import Passphrase
from sottovoce.transport.certificates import fingerprint_of, make_certificate, server_context

_LARGEST = 2**16


@dataclass(frozen=True)
class ConsoleAddress:
    """A host and a port; with `tls` also for others, under these names."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    names: tuple[str, ...] = ()


def check_loopback(host: str) -> str:
    """Refuse an address that others can reach."""
    try:
        fine = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        fine = False
    if not fine:
        raise InputError(
            f"--host: expected a loopback address, found {host!r}",
            hints=("--host 127.0.0.1", "from elsewhere: ssh -L 8450:127.0.0.1:8450 THIS-MACHINE"),
        )
    return host


def access_of(path: Path | None) -> Passphrase:
    """The passphrase for others; without one the console is for this machine only."""
    if path is None:
        raise InputError(
            "--listen: this option needs --access-file FILE",
            hints=("write a passphrase of your own into a file with mode 600, and name it",),
        )
    return Passphrase.from_file(path).chosen()


def console_tls(home: Path) -> tuple[ssl.SSLContext, str]:
    """TLS with this console's own certificate, and its fingerprint."""
    certificate, key = home / "console-certificate.pem", home / "console-key.pem"
    if not certificate.exists():
        made = make_certificate("sottovoce console", now=datetime.now(UTC))
        storage.write_whole(key, made.key, mode=storage.SECRET_MODE, replace=True)
        storage.write_whole(certificate, made.certificate, mode=storage.PUBLIC_MODE)
    storage.read_whole(key, limit=_LARGEST).check_private()
    shown = fingerprint_of(storage.read_whole(certificate, limit=_LARGEST).data).hex(":").upper()
    return server_context(certificate, key), shown
