"""Where the console listens: at this machine alone, or for others with TLS and a passphrase."""

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
    """A host and a port; with `tls` others may call, under names that they were told."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    names: tuple[str, ...] = ()


def check_loopback(host: str) -> str:
    """Refuse to listen where others could reach us."""
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
    """The passphrase that lets others in; without one nobody is let in from elsewhere."""
    if path is None:
        raise InputError(
            "--listen: expected --access-file FILE with it, found none",
            hints=("write a passphrase of your own into a file with mode 600, and name it",),
        )
    return Passphrase.from_file(path).chosen()


def console_tls(home: Path) -> tuple[ssl.SSLContext, str]:
    """TLS with a certificate of this console's own, and the fingerprint that browsers show."""
    certificate, key = home / "console-certificate.pem", home / "console-key.pem"
    if not certificate.exists():
        made = make_certificate("sottovoce console", now=datetime.now(UTC))
        storage.write_whole(key, made.key, mode=storage.SECRET_MODE, replace=True)
        storage.write_whole(certificate, made.certificate, mode=storage.PUBLIC_MODE)
    storage.read_whole(key, limit=_LARGEST).check_private()
    shown = fingerprint_of(storage.read_whole(certificate, limit=_LARGEST).data).hex(":").upper()
    return server_context(certificate, key), shown
