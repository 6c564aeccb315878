"""Make tests/vectors/key_proofs.json: keys with proofs that they are fit, good and bad.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_key_proofs.py
Keys come from seeds and proofs from keys, so the same bytes come out every time.
"""

import json
from pathlib import Path

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.paillier import Profile, SecretKey, generate, prove_key

FILE = Path(__file__).with_name("key_proofs.json")


def main() -> None:
    """Write the file."""
    keys = {f"toy {profile}": toy_key(profile=profile) for profile in Profile}
    real = generate(2048, entropy=SeededEntropy(2048))
    good = [_case(name, key, prove_key(key)) for name, key in {**keys, "2048 bits": real}.items()]
    key = toy_key()
    proof, width = prove_key(key), key.bits // 8
    bad = [
        _case("no proof", key, b"") | {"error": "expected .* bytes, found 0"},
        _case("one root short", key, proof[width:]) | {"error": "expected .* bytes"},
        _case("another key's", key, prove_key(toy_key(seed=7))) | {"error": "found others|below"},
        _case("roots exchanged", key, proof[width:] + proof[:width]) | {"error": "found others"},
        _case(
            "square roots exchanged",
            key,
            proof[: -2 * width] + proof[-width:] + proof[-2 * width : -width],
        )
        | {"error": "square roots"},
        _case("a root of nothing", key, bytes(width) + proof[width:]) | {"error": "one outside"},
        _case("2048 bits, one bit off", real, _flipped(prove_key(real)))
        | {"error": "square roots"},
    ]
    provenance = "made by tests/vectors/make_key_proofs.py from seeds: these keys protect nothing"
    text = json.dumps({"provenance": provenance, "good": good, "bad": bad}, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")


def _case(name: str, key: SecretKey, proof: bytes) -> dict[str, str]:
    return {"name": name, "key": key.public.to_bytes().hex(), "proof": proof.hex()}


def _flipped(proof: bytes) -> bytes:
    return proof[:-1] + bytes([proof[-1] ^ 1])


if __name__ == "__main__":
    main()
