"""Sealed training gives what the plaintext learner gives on pooled text."""

import numpy as np

from harness.studies import Case, accuracy


def test_sealed_equals_plain_on_held_out_documents(binary: Case) -> None:
    test = binary.held_out()
    sealed = binary.outcome.classify("north", test).classes
    plain = binary.plain(test)
    assert len(test) >= 100
    assert np.mean([one == other for one, other in zip(sealed, plain, strict=True)]) >= 0.999
    assert abs(accuracy(test, sealed) - accuracy(test, plain)) <= 0.001


def test_every_peer_gets_the_same_answers(binary: Case) -> None:
    test = binary.held_out()[:10]
    answers = [binary.outcome.classify(name, test).classes for name in binary.study.roster.peers]
    assert answers[0] == answers[1] == answers[2]


def test_joint_is_better_than_every_local(binary: Case) -> None:
    test = binary.held_out()
    joint = accuracy(test, binary.plain(test))
    for name in binary.study.roster.peers:
        assert accuracy(test, binary.plain(test, name)) < joint
