"""A coordinator that makes its key for it, and marks what it encrypts, to read what is computed.

P − 1 and Q − 1 have, beside the primes that the profile hides, many small factors. The coordinator
multiplies a number of that smooth order to a power of its choice, a tag, into every ciphertext that
it makes. Sums and products carry the tags along, randomisers from the group of h do not touch them,
and logarithms in a smooth group are easy: so tags would tell the row of every query, and the masks
of every question. The key is well-formed, and its proof holds.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, get_type_hints

import gmpy2
import numpy as np
import pytest
from scipy import sparse

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.studies import BINARY, Case, notes
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.primes import _lowest
from sottovoce.paillier import (
    Ciphertext,
    ForKeyHolder,
    InsecureToyPublicKey,
    InsecureToySecretKey,
    Layout,
    Plain,
    Profile,
    SparseRows,
    Unsent,
    check_key_proof,
    decrypt,
    encrypt,
    prove_key,
)
from sottovoce.paillier.profiles import strength
from sottovoce.paillier.tensors import mint_unchecked
from sottovoce.protocols.messages import Message, message_kinds
from sottovoce.protocols.shares import handover
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.own_masks import OwnDirection, OwnFactor, OwnFactors
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries.classification import MaskedScores
from sottovoce.study.stages.holdings import integer_rows

BITS = 768
COLUMNS = 24
SCALE = Scale(0, 1000)


class UncheckedKey(InsecureToySecretKey):
    """Its own maker does not check it."""

    def __post_init__(self) -> None:
        pass


def smooth_prime(rng: Random, used: set[int]) -> tuple[int, int, list[int]]:
    """A prime P = 2·p·S + 1 with p as the profile hides it and S of small factors; p; those."""
    bits, hidden = BITS // 2, 2 * strength(BITS)
    while True:
        smooth, factors = gmpy2.mpz(1), []
        while smooth.bit_length() < bits - hidden - 14:
            factor = int(gmpy2.next_prime(rng.randrange(1 << 12, 1 << 13)))
            if factor not in used and factor not in factors:
                factors.append(factor)
                smooth *= factor
        low = -(-_lowest(bits) // (2 * smooth))
        high = ((1 << bits) - 2) // (2 * smooth)
        for _ in range(2000):
            p = gmpy2.next_prime(low + rng.randrange(int(high - low)))
            prime = 2 * p * smooth + 1
            if prime.bit_length() == bits and gmpy2.is_prime(prime):
                return int(prime), int(p), factors


@dataclass(frozen=True)
class Tagger:
    """The coordinator's key, and the group of its tags."""

    key: UncheckedKey
    generator: int
    factors: tuple[tuple[int, ...], tuple[int, ...]] = field(repr=False)

    @classmethod
    def make(cls, seed: int = 1) -> "Tagger":
        rng = Random(seed)
        P, p, left = smooth_prime(rng, set())
        Q, q, right = smooth_prime(rng, set(left))
        if P > Q:
            P, Q, p, q, left, right = Q, P, q, p, right, left
        n = P * Q
        smooth = ((P - 1) // (2 * p)) * ((Q - 1) // (2 * q))
        h = -pow(rng.randrange(2, n), 2 * smooth, n) % n
        public = InsecureToyPublicKey.from_bytes(
            InsecureToyPublicKey(Profile.SHORT, n, h).to_bytes()
        )
        generator = pow(rng.randrange(2, n), 2 * p * q, n)
        return cls(UncheckedKey(public, P, Q, p, q), generator, (tuple(left), tuple(right)))

    def tagged(self, ciphertext: Ciphertext) -> Ciphertext:
        """Two bits of every weight's place in its randomiser, of both where it comes twice."""
        square = self.key.public.modulus**2
        places = (place % COLUMNS for place in range(len(ciphertext.residues)))
        marks = (pow(self.generator, 4**place, square) for place in places)
        tags = (pow(mark, self.key.public.modulus, square) for mark in marks)
        residues = [int(r) * tag % square for r, tag in zip(ciphertext.residues, tags, strict=True)]
        reduced = self.key.public.square.reduced(residues)
        return mint_unchecked(self.key.public, reduced, ciphertext.layout, ciphertext.scale)

    def read(self, residue: Any) -> list[int]:
        """The tags' sum, as the counts of a row."""
        key, exponent, modulus = self.key, 0, 1
        n, order = key.public.modulus, 2 * key.hidden_p * key.hidden_q
        value = pow(int(residue) % n, order, n)
        base = pow(self.generator, n * order, n)
        for prime, hidden, factors in (
            (key.p, key.hidden_p, self.factors[0]),
            (key.q, key.hidden_q, self.factors[1]),
        ):
            whole = (prime - 1) // (2 * hidden)
            for factor in factors:
                power = pow(base, whole // factor, prime)
                other = pow(value, whole // factor, prime)
                result = logarithm(power, other, prime, factor)
                exponent += modulus * ((result - exponent) * pow(modulus, -1, factor) % factor)
                modulus *= factor
        return [exponent >> 2 * j & 3 for j in range(COLUMNS)]


def logarithm(base: int, value: int, prime: int, order: int) -> int:
    power = 1
    for exponent in range(order):
        if power == value:
            return exponent
        power = power * base % prime
    return 0


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger.make()


@pytest.fixture(scope="module")
def model(tagger: Tagger) -> Ciphertext:
    """Weights as this coordinator hands them out."""
    weights = Plain(np.arange(COLUMNS, dtype=object) - 9, SCALE)
    return tagger.tagged(encrypt(tagger.key.public, weights, entropy=SeededEntropy(1)))


def rows(seed: int) -> sparse.csr_array:
    counts = np.random.default_rng(seed).integers(0, 4, (1, COLUMNS))
    return sparse.csr_array(counts * (counts > 1))


def asked(model: Ciphertext, seed: int) -> Unsent:
    return SparseRows.of(rows(seed), reach=4 * COLUMNS) @ model.reshaped(COLUMNS, 1)


def test_such_a_key_passes_every_check(tagger: Tagger) -> None:
    check_key_proof(tagger.key.public, prove_key(tagger.key))


def test_randomisers_of_the_profile_alone_tell_the_query(tagger: Tagger, model: Ciphertext) -> None:
    """What would happen without the repair: every count of every row is read."""
    for seed in range(3):
        scores = asked(model, seed).fresh(entropy=SeededEntropy(seed))
        assert tagger.read(scores.residues[0]) == rows(seed).toarray()[0].tolist()


# By default the whole study below.
@pytest.mark.soak
def test_the_coordinator_reads_no_query_through_randomisers(
    tagger: Tagger, model: Ciphertext
) -> None:
    """A uniform N-th power makes the tag uniform: what is read says nothing of the row."""
    readings = []
    for seed in range(40):
        scores = asked(model, 0).for_key_holder(entropy=SeededEntropy(seed))
        assert decrypt(tagger.key, scores).flat() == decrypt(tagger.key, asked(model, 0)).flat()
        readings.append(tagger.read(scores.residues[0]))
    truth = np.array(rows(0).toarray()[0])
    right = float((np.array(readings) == truth).mean())
    assert abs(right - 0.25) < 0.06
    assert len({tuple(reading) for reading in readings}) == len(readings)


def test_the_evaluator_reads_no_direction_through_its_own_key(tagger: Tagger) -> None:
    """The other way round: under the evaluator's own key it is the coordinator who computes."""
    key = toy_key(bits=BITS)
    slots = Slots(200, 1)
    held = OwnFactors(key, Masking(40), uses=1)
    matrix = Plain(np.ones((COLUMNS, 1), dtype=object), SCALE)
    masks = tagger.tagged(encrypt(tagger.key.public, matrix, slots=slots, entropy=SeededEntropy(2)))
    covered = encrypt(key.public, matrix, slots=slots, entropy=SeededEntropy(3)).cover(
        [0] * COLUMNS
    )
    public, proof = tagger.key.public.to_bytes(), prove_key(tagger.key)
    question = OwnFactor(
        covered.for_key_holder(entropy=SeededEntropy(4)), public, proof, masks.to_bytes()
    )
    held.keep(question)
    direction = rows(0).toarray()[0].astype(object) * 4
    plain = Plain(direction, Scale(4, 1000))
    sent = encrypt(key.public, plain, slots=Slots(20, COLUMNS), entropy=SeededEntropy(5))
    answers = []
    for seed in range(20):
        ask = OwnDirection(sent.for_key_holder(entropy=SeededEntropy(seed)), 2)
        step = held.answer(ask, entropy=SeededEntropy(100 + seed))
        hidden = Ciphertext.from_bytes(step.hidden, key=tagger.key.public)
        answers.append(tagger.read(hidden.residues[0]))
    assert rows(0).toarray()[0].tolist() not in answers
    assert len({tuple(answer) for answer in answers}) == len(answers)


def ciphertext_fields(kind: type[Message]) -> set[type]:
    kinds_seen: set[type] = set()

    def look(hint: Any) -> None:
        if isinstance(hint, type) and issubclass(hint, Ciphertext):
            kinds_seen.add(hint)
        elif hasattr(hint, "__struct_fields__"):
            for inner in get_type_hints(hint).values():
                look(inner)
        for part in getattr(hint, "__args__", ()):
            look(part)

    for name, hint in get_type_hints(kind).items():
        if name in kind.__struct_fields__:
            look(hint)
    return kinds_seen


@pytest.mark.parametrize("kind", message_kinds(), ids=lambda kind: kind.__name__)
def test_whoever_can_decrypt_gets_the_type_for_it(kind: type[Message]) -> None:
    fields = ciphertext_fields(kind)
    if not fields:
        return
    words = kind.discloses.seen_by
    decrypts = any(phrase in words for phrase in ("decrypts", "can decrypt", "key holder, who"))
    blind = (
        any(phrase in words for phrase in ("cannot", "no key", "evaluator", "sealed against"))
        and not decrypts
    )
    assert blind or decrypts, words
    assert fields == ({ForKeyHolder} if decrypts else {Ciphertext})


def test_the_codec_lets_no_other_ciphertext_to_a_key_holder(tagger: Tagger) -> None:
    from sottovoce.errors import MalformedError
    from sottovoce.protocols.ciphertexts import ciphertexts_under
    from sottovoce.protocols.two_party.truncation import MaskedTruncation
    from sottovoce.wire import Codec

    codec = Codec(ciphertexts_under(tagger.key.public))
    plain = Plain(np.array([1, 2], dtype=object), Scale(4, 1000))
    sealed = encrypt(tagger.key.public, plain, entropy=SeededEntropy(1))
    forgot = codec.encode(MaskedTruncation(sealed, 2))  # type: ignore[arg-type]
    with pytest.raises(MalformedError, match="key-holder-bytes"):
        codec.decode(forgot, MaskedTruncation)
    right = MaskedTruncation(sealed.for_key_holder(entropy=SeededEntropy(1)), 2)
    assert type(codec.decode(codec.encode(right), MaskedTruncation).values) is ForKeyHolder
    assert sealed.layout == Layout((2,))


# A whole study, as an asker's coordinator plays it.

FEATURES = COLUMNS - 1
"""Beside them stands the bias."""


class TaggedStudy:
    """A study whose coordinator made its key for it, and tags the weights that it hands over."""

    def __init__(self, tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = handover.encrypt

        def tagging(key: Any, plain: Plain, **settings: Any) -> Ciphertext:
            return tagger.tagged(honest(key, plain, **settings))

        monkeypatch.setattr(handover, "encrypt", tagging)
        plan = InsecureToyPlan(
            "tags", BINARY, features=FEATURES, key_bits=BITS, labels_on="paillier", bucket_bits=12
        )
        self.tagger = tagger
        self.case = Case(notes(240), plan, tagger.key)
        self.outcome = self.case.run()

    def queries(self) -> list[tuple[list[int], list[int]]]:
        """Of some queries, the row that the coordinator reads and the true one."""
        asker = self.case.study.roster.peers[0]
        model, view = self.outcome.models[asker], self.outcome.views["coordinator"]
        pairs = []
        for document in self.case.documents[asker][:3]:
            before = len(view.received)
            self.outcome.classify(asker, [document])
            (asked,) = [
                item.message
                for item in view.received[before:]
                if isinstance(item.message, MaskedScores)
            ]
            rows = integer_rows(self.case.study, model.space, asker, [document], key=model.key)
            read = self.tagger.read(asked.scores.residues[0])
            pairs.append((read[:FEATURES], rows.toarray()[0][:FEATURES].tolist()))
        assert sum(map(any, (true for _, true in pairs))) == len(pairs)
        return pairs


def test_a_coordinator_that_made_its_key_for_it_reads_no_query_of_a_study(
    tagger: Tagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without uniform N-th powers it would read every one."""
    study = TaggedStudy(tagger, monkeypatch)
    assert all(read != true for read, true in study.queries())

    def of_the_key(key: Any, count: int, *, entropy: Any) -> list[int]:
        """Numbers in the group of the base: their N-th powers hide from everybody else."""
        return [pow(int(key.base), entropy.bits(BITS), key.modulus) for _ in range(count)]

    monkeypatch.setattr(InsecureToyPublicKey, "units", of_the_key)
    assert all(read == true for read, true in study.queries())
