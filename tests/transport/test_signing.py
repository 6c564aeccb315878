"""Signed requests: every part counts, each is taken once, and clocks may be off."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.ports import identity_of
from sottovoce.transport.problems import Refusal
from sottovoce.transport.signing import (
    DIGEST,
    MOMENT,
    NONCE,
    SEAT,
    SIGNATURE,
    STUDY,
    WINDOW,
    SignatureChecks,
    SignedRequest,
    Signer,
    body_digest,
    read_digest,
    read_signed,
)

FINGERPRINT = bytes(range(32))
ASKED = SignedRequest("POST", "/v1/letters?to=bob", body_digest(b"body"))
SECONDS = 1_700_000_000.0


class Clock:
    def __init__(self, now=SECONDS):
        self.now = now

    def __call__(self):
        return self.now


def signer(seat="alice", *, clock=None, seed=0, fingerprint=FINGERPRINT, study="study"):
    return Signer(study, identity_of(seat), fingerprint, SeededEntropy(seed), clock or Clock())


def test_a_request_is_taken_once():
    bouncer = SignatureChecks(FINGERPRINT, clock=Clock())
    signed = read_signed(signer().headers(ASKED))
    bouncer.check(ASKED, signed, identity_of("alice").public)
    with pytest.raises(Refusal, match="this request was already seen") as refused:
        bouncer.check(ASKED, signed, identity_of("alice").public)
    assert (refused.value.status, refused.value.kind) == (401, "replay")


@pytest.mark.parametrize("later", [0, WINDOW // 2, WINDOW])
def test_a_replay_is_refused_for_as_long_as_it_would_be_in_time(later):
    clock = Clock()
    bouncer = SignatureChecks(FINGERPRINT, clock=clock)
    # Signed as far ahead as is acceptable, it stays in time for two windows.
    ahead = signer(clock=Clock(SECONDS + WINDOW / 1000))
    signed, public = read_signed(ahead.headers(ASKED)), identity_of("alice").public
    bouncer.check(ASKED, signed, public)
    for step in range(40):
        clock.now = SECONDS + step * 2 * WINDOW / 1000 / 40 + later / 40_000
        others = signer(clock=clock, seed=step + 1)
        bouncer.check(ASKED, read_signed(others.headers(ASKED)), public)
        with pytest.raises(Refusal, match="already seen"):
            bouncer.check(ASKED, signed, public)
    clock.now = SECONDS + 2 * WINDOW / 1000 + 1
    with pytest.raises(Refusal, match="expected a request signed at"):
        bouncer.check(ASKED, signed, public)


def test_what_was_seen_is_forgotten_when_it_is_too_old_anyway():
    clock = Clock()
    bouncer, public = SignatureChecks(FINGERPRINT, clock=clock), identity_of("alice").public
    for step in range(90):
        clock.now = SECONDS + step
        bouncer.check(ASKED, read_signed(signer(clock=clock, seed=step).headers(ASKED)), public)
    # One request a second: a window of them, and a span that is not over.
    assert sum(map(len, bouncer._seen.values())) <= WINDOW // 1000 + 6


CHANGES = {
    "method": ({"method": "GET"}, {}),
    "path": ({"path": "/v1/letters?to=eve"}, {}),
    "body": ({"digest": body_digest(b"other")}, {}),
    "study": ({}, {"study": "other"}),
    "seat": ({}, {"seat": "bob"}),
    "moment": ({}, {"moment": int(SECONDS * 1000) + 1}),
    "nonce": ({}, {"nonce": bytes(16)}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_part_of_a_request_is_signed(change):
    bouncer = SignatureChecks(FINGERPRINT, clock=Clock())
    signed = read_signed(signer().headers(ASKED))
    asked = dataclasses.replace(ASKED, **change[0])
    with pytest.raises(Refusal, match="found another's") as refused:
        bouncer.check(asked, dataclasses.replace(signed, **change[1]), identity_of("alice").public)
    assert (refused.value.status, refused.value.kind) == (401, "signature")
    bouncer.check(ASKED, signed, identity_of("alice").public)


def test_a_request_for_another_server_is_refused():
    bouncer = SignatureChecks(bytes(32), clock=Clock())
    with pytest.raises(Refusal, match="found another's"):
        bouncer.check(ASKED, read_signed(signer().headers(ASKED)), identity_of("alice").public)


@given(bit=st.integers(0, 511))
def test_a_forged_signature_is_refused(bit):
    bouncer = SignatureChecks(FINGERPRINT, clock=Clock())
    signed = read_signed(signer().headers(ASKED))
    forged = int.from_bytes(signed.signature) ^ (1 << bit)
    forged = dataclasses.replace(signed, signature=forged.to_bytes(64))
    with pytest.raises(Refusal, match="found another's"):
        bouncer.check(ASKED, forged, identity_of("alice").public)


@given(skew=st.integers(-(10**9), 10**9))
def test_any_skew_is_tolerated_once_the_server_told_its_time(skew):
    theirs = SignatureChecks(FINGERPRINT, clock=Clock())
    ours = signer(clock=Clock(SECONDS + skew))
    public = identity_of("alice").public
    if abs(skew) * 1000 > WINDOW or skew < 0:
        with pytest.raises(Refusal, match="expected a request signed at") as refused:
            theirs.check(ASKED, read_signed(ours.headers(ASKED)), public)
        assert refused.value.facts == {"now": int(SECONDS * 1000)}
        ours.follow_clock(refused.value.facts["now"])
    theirs.check(ASKED, read_signed(ours.headers(ASKED)), public)


def test_a_restarted_server_takes_nothing_signed_before_it_opened():
    clock = Clock()
    signed = read_signed(signer(clock=clock).headers(ASKED))
    clock.now += 1
    with pytest.raises(Refusal, match="expected a request signed at"):
        SignatureChecks(FINGERPRINT, clock=clock).check(ASKED, signed, identity_of("alice").public)


BAD = {
    "no seat": {SEAT: None},
    "empty seat": {SEAT: ""},
    "seat in two spellings": {SEAT: "%61lice"},
    "seat that is no text": {SEAT: "%FF"},
    "seat in bytes that are no text": {SEAT: "\udcff"},
    "endless study": {STUDY: "a" * 201},
    "moment with a sign": {MOMENT: "-1"},
    "moment in other digits": {MOMENT: "١"},
    "endless moment": {MOMENT: "9" * 16},
    "short nonce": {NONCE: "00"},
    "nonce in capitals": {NONCE: "AB" * 16},
    "signature that is no number": {SIGNATURE: "z" * 128},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_fields_have_one_spelling(change):
    headers = {**signer().headers(ASKED), **change}
    headers = {name: text for name, text in headers.items() if text is not None}
    with pytest.raises(Refusal, match=r"must be|is missing") as refused:
        read_signed(headers)
    assert (refused.value.status, refused.value.kind) == (401, "unsigned")


def test_a_digest_has_its_size():
    with pytest.raises(Refusal, match="Sottovoce-Digest must be 32 bytes"):
        read_digest({DIGEST: "00"})


@given(seat=st.text(min_size=1, max_size=60).filter(lambda text: text.isprintable()))
def test_names_in_any_script_travel(seat):
    ours = Signer(
        "Studie Ä/1",
        dataclasses.replace(identity_of("a"), name=seat),
        FINGERPRINT,
        SeededEntropy(0),
        Clock(),
    )
    headers = ours.headers(ASKED)
    assert all(text.isascii() and text.isprintable() for text in headers.values())
    signed = read_signed(headers)
    assert (signed.study, signed.seat) == ("Studie Ä/1", seat)


def test_nothing_secret_in_a_signers_repr():
    ours = signer()
    assert ours.identity.secret.hex() not in repr(ours)
    assert repr(ours.identity.secret) not in repr(ours)


def test_setting_the_servers_clock_back_stops_nobody(monkeypatch):
    bouncer = SignatureChecks(FINGERPRINT)
    monkeypatch.setattr("time.time", lambda: SECONDS)
    ours = signer(clock=Clock(SECONDS))
    ours.follow_clock(bouncer.now())
    bouncer.check(ASKED, read_signed(ours.headers(ASKED)), identity_of("alice").public)
