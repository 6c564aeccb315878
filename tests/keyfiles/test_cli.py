"""The command `sottovoce keys`, as people type it."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "keyfiles.json").read_text())
WORDS = VECTORS["passphrase"]


def run(*words: str, descriptor: int | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", "keys", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=() if descriptor is None else (descriptor,),
        env={**os.environ, "COLUMNS": "200"},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a pair of keys and a file with their passphrase."""
    (tmp_path / "public.key").write_text(VECTORS["good"]["public"])
    for name, text in (("secret.key", VECTORS["good"]["secret"]), ("words", WORDS + "\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


def test_generate_show_check_and_change(tmp_path: Path) -> None:
    words, keys = tmp_path / "words", tmp_path / "keys"
    words.write_text(WORDS)
    words.chmod(0o600)
    options = ("--bits", "2048", "--profile", "djn", "--passphrase-file", str(words))
    done = run("generate", "--out", str(keys), *options, "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["bits"], made["profile"]) == (2048, "djn")
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert stat.S_IMODE((keys / "secret.key").stat().st_mode) == 0o600

    shown = json.loads(run("show", str(keys / "public.key"), "--json").stdout)
    assert shown["fingerprint"] == made["fingerprint"]
    assert "composite residuosity" in shown["assumption"]

    checked = run("check", str(keys / "secret.key"), "--passphrase-file", str(words))
    assert "whole, opened by this passphrase, and a valid secret key" in checked.stdout

    again = run("generate", "--out", str(keys), *options)
    assert again.returncode == 1
    assert "error: " in again.stderr
    assert "public.key: already exists; nothing was changed" in again.stderr

    anew = run("generate", "--out", str(keys), *options, "--replace")
    assert anew.returncode == 0, anew.stderr
    old = json.loads(run("show", str(keys / "secret.key.old-1"), "--json").stdout)
    assert old["fingerprint"] == made["fingerprint"]
    new = json.loads(run("show", str(keys / "secret.key"), "--json").stdout)
    assert new["fingerprint"] != made["fingerprint"]


def test_the_passphrase_comes_from_a_descriptor_and_changes(folder: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"three loud geese sang\n")
    os.close(writer)
    secret = str(folder / "secret.key")
    old = ("--passphrase-file", str(folder / "words"))
    changed = run("passphrase", secret, *old, "--new-passphrase-fd", str(reader), descriptor=reader)
    os.close(reader)
    assert changed.returncode == 0, changed.stderr
    refused = run("check", secret, *old)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"error: {secret}: this passphrase does not open it")


def test_the_public_half_is_written_again(folder: Path) -> None:
    out = folder / "again.key"
    words = ("--passphrase-file", str(folder / "words"))
    done = run("public", str(folder / "secret.key"), "--out", str(out), *words)
    assert done.returncode == 0, done.stderr
    assert out.read_text() == VECTORS["good"]["public"]
    assert run("public", str(folder / "secret.key"), "--out", str(out), *words).returncode == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("show", "{folder}/nothing.key"), "nothing.key: cannot be read (no such file"),
        (("show", "{folder}"), "expected a key file, found a folder"),
        (("check", "{folder}/secret.key"), "passphrase: no terminal to ask at"),
        (
            ("check", "{folder}/secret.key", "--passphrase-fd", "0", "--passphrase-file", "x"),
            "expected a file or a descriptor, found both",
        ),
        (("generate", "--out", "{folder}/n", "--bits", "1024"), "--bits: expected 2048, 3072 or"),
        (("generate", "--out", "{folder}/n", "--profile", "fast"), "key profile: expected one of"),
        (("generate", "--out", "{folder}/words"), "words: cannot be made (file exists)"),
    ],
)
def test_mistakes_are_one_line(folder: Path, words: tuple[str, ...], error: str) -> None:
    done = run(*(word.format(folder=folder) for word in words))
    assert done.returncode == 1
    first = done.stderr.splitlines()[0]
    assert first.startswith("error: ")
    assert error in first
    assert "Traceback" not in done.stderr
    assert not (folder / "n").exists()


def test_arguments_and_the_environment_hold_no_passphrase() -> None:
    for command in ("generate", "check", "passphrase", "public"):
        text = run(command, "--help").stdout
        assert "--passphrase-file" in text
        assert "--passphrase " not in text
        assert "env var" not in text


def test_a_person_is_asked_at_the_terminal_and_nothing_is_shown(folder: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "keys", "check", str(folder / "secret.key")],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = b""
    deadline = time.monotonic() + 60
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                shown += _read(master)
            if shown.endswith(b"passphrase: "):
                os.write(master, WORDS.encode() + b"\n")
                shown += b"<typed>"
        shown += _read(master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert b"valid secret key" in shown, shown
    assert WORDS.encode() not in shown


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        # The other end of a terminal that has gone away is an error, not an end.
        return b""
