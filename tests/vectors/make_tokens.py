"""Write `tests/vectors/tokens.json`: what texts must fold to, on every machine.

    python tests/vectors/make_tokens.py

Provenance: the tokens are written by hand below, from the Unicode Standard's own
words on normalisation (UAX #15) and case folding (UTS #18, CaseFolding.txt). The
ids come from this file's own few lines over hashlib and Python integers, not from
the package. `every_character` is the digest of what the package made, under
CPython 3.11.7 (Unicode 14.0), of each of the characters that can be part of a
token; CPython 3.12.1 (15.0) and 3.13.0 (15.1) gave the same digest.
"""

import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from sottovoce.text.tokenizing import characters
from sottovoce.text.tokenizing.tokens import WordTokenizer

DEFAULT = {"fold_case": True, "numbers": "shape", "symbols": True}
AS_IS = {"fold_case": False, "numbers": "keep", "symbols": False}

CASES = [
    ("plain words", DEFAULT, "The patient, aged 45.", ["the", "patient", "aged", "00"]),
    ("nothing", DEFAULT, "", []),
    ("white space and punctuation only", DEFAULT, " \t\n… -- !? \u00a0", []),
    ("apostrophes", DEFAULT, "don't don\u2019t 'quoted'", ["don't", "don't", "quoted"]),
    ("underscores separate", DEFAULT, "a_b", ["a", "b"]),
    (
        "numbers and dates",
        DEFAULT,
        "1.50 1,000 10:30 21/05/2005 2005-05-21 12.5mg 2nd",
        ["0.00", "0,000", "00:00", "00/00/0000", "0000-00-00", "00.0mg", "0nd"],
    ),
    ("names keep a few digits", DEFAULT, "B12 H1N1 MRN12345", ["b12", "h1n1", "mrn00000"]),
    ("a long number", DEFAULT, "1" * 40, ["0" * 12]),
    ("a hyphen between words", DEFAULT, "28-year-old", ["00", "year", "old"]),
    ("Turkish i", DEFAULT, "İI ıi", ["i\u0307i", "ıi"]),
    ("sharp s", DEFAULT, "Straße STRASSE STRAẞE", ["strasse"] * 3),
    ("final sigma", DEFAULT, "ΣΑΣ σας", ["σασ", "σασ"]),
    ("composed and decomposed", DEFAULT, "café cafe\u0301 CAFÉ", ["café"] * 3),
    ("marks in another order", DEFAULT, "a\u0323\u0307 a\u0307\u0323", ["ạ\u0307", "ạ\u0307"]),
    ("compatibility forms", DEFAULT, "ﬁne Ｆｕｌｌ x² K Å", ["fine", "full", "x2", "k", "å"]),
    ("one character, several words", DEFAULT, "½ ℃ ㎏", ["0", "0", "°", "c", "kg"]),
    ("Hindi with vowel signs", DEFAULT, "नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
    ("Persian with a non-joiner", DEFAULT, "می\u200cخواهم", ["میخواهم"]),
    ("soft hyphen", DEFAULT, "co\u00adoperate", ["cooperate"]),
    ("Arabic digits", DEFAULT, "١٢٣", ["000"]),
    ("Chinese", DEFAULT, "病人发热。", ["病", "人", "发", "热"]),
    ("Japanese", DEFAULT, "日本のテスト ｶﾞ", ["日", "本", "の", "テスト", "ガ"]),
    ("Korean", DEFAULT, "한국어 한국어", ["한국어", "한국어"]),
    ("Thai stays in one piece", DEFAULT, "สวัสดี", ["สวัสดี"]),
    ("Georgian capitals", DEFAULT, "ᲐᲑ აბ", ["აბ", "აბ"]),
    ("Cherokee folds to capitals", DEFAULT, "ꭰ Ꭰ", ["Ꭰ", "Ꭰ"]),
    ("an old script", DEFAULT, "𐐀𐐨 𒀀", ["𐐨𐐨", "𒀀"]),
    ("emoji", DEFAULT, "❤️🙂 👩\u200d👧 👍🏽", ["❤", "🙂", "👩", "👧", "👍"]),
    ("currency", DEFAULT, "£5 €1,50", ["£", "0", "€", "0,00"]),
    ("a character of Unicode 15 separates", DEFAULT, "a\U0001e4d0b", ["a", "b"]),
    ("an emoji of Unicode 15 separates", DEFAULT, "a\U0001fae8b", ["a", "b"]),
    ("a lone surrogate and a NUL separate", DEFAULT, "a\ud800b\x00c", ["a", "b", "c"]),
    ("a mark without a letter is dropped", DEFAULT, "\u0301 a", ["a"]),
    (
        "as it is",
        AS_IS,
        "The £5 Straße B12 21/05/2005",
        ["The", "5", "Straße", "B12", "21/05/2005"],
    ),
]

KEY = bytes(range(32))
MASK = 2**64 - 1


def word_id(token: str) -> int:
    data = token.encode()
    digest = hashlib.blake2b(data, digest_size=8, key=KEY, person=b"sottovoce/word/1").digest()
    return int.from_bytes(digest, "little")


def pair_id(first: int, second: int) -> int:
    x = (first * 0x9E3779B97F4A7C15 + (second ^ 0xD1B54A32D192ED03)) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def every_character() -> str:
    """One digest of what each character folds to: alone, after a letter and before one."""
    digest = hashlib.blake2b(digest_size=16)
    tokenizer = WordTokenizer()
    tables = ("LETTERS", "DIGITS", "NUMERALS", "MARKS", "ALONE", "SYMBOLS")
    for span in " ".join(getattr(characters, name) for name in tables).split():
        first, _, last = span.partition("-")
        for point in range(int(first, 16), int(last or first, 16) + 1):
            folded = tokenizer.fold(f"{chr(point)} a{chr(point)} {chr(point)}b")
            digest.update("\0".join(folded).encode() + b"\n")
    return digest.hexdigest()


def main() -> None:
    words = ["the", "patient", "café", "病", "🙂"]
    ids = {word: word_id(word) for word in words}
    vectors = {
        "provenance": (__doc__ or "").partition("Provenance: ")[2].strip().replace("\n", " "),
        "cases": [
            # Escaped, so that the file survives editors that normalise.
            {"name": name, "settings": settings, "text": text, "tokens": tokens}
            for name, settings, text, tokens in CASES
        ],
        "every_character": every_character(),
        # Also by the package: a change here means that plans of old no longer match.
        "fingerprint": WordTokenizer().fingerprint,
        "key": KEY.hex(),
        "ids": [{"token": word, "id": str(number)} for word, number in ids.items()],
        "sequences": [
            {
                "tokens": words[:2],
                "id": str(pair_id(ids["the"], ids["patient"])),
            },
            {
                "tokens": words[:3],
                "id": str(pair_id(pair_id(ids["the"], ids["patient"]), ids["café"])),
            },
        ],
    }
    path = Path(__file__).with_name("tokens.json")
    path.write_text(json.dumps(vectors, indent=1, ensure_ascii=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
