# %% [markdown]
# # Your own CSV files, and an encoder
#
# Five commands from files to a joint model. The files here are made up; put your own in their place.

# %%
import subprocess
import sys

make = "-m sottovoce notes --sites 3 --documents 240 --out own-notes"
subprocess.run([sys.executable, *make.split()], check=True, capture_output=True).returncode

# %%
from pathlib import Path

import pandas as pd

from sottovoce import LocalFederation, TextClassifier

names = {"urgency": "label", "patient": "group"}
frames = {path.stem: pd.read_csv(path).rename(columns=names) for path in Path("own-notes").glob("*.csv")}
federation = LocalFederation({site: frame[["text", "label", "group"]] for site, frame in frames.items()})
model = TextClassifier(features=64).fit(federation)
model.evaluate()

# %% [markdown]
# An encoder is a public model that turns a text into a vector, at the site; vectors do not leave it either. Any
# object with a `name` and `encode` will do. This one adds up vectors that belong to words by a hash. Between
# machines, name a folder with a tokenizer and an ONNX network or static vectors: all sites compare its hash.

# %%
import hashlib

import numpy as np

from sottovoce.text.encoding import EncoderKind, EncoderName, unit_rows


class HashedVectors:
    """Sixteen columns."""

    name = EncoderName(EncoderKind.STATIC, 16, hashlib.sha256(b"hashed vectors").hexdigest())

    def encode(self, texts):
        return unit_rows(np.array([sum(map(self.vector, text.split()), np.zeros(16)) for text in texts]))

    def vector(self, word):
        seed = int.from_bytes(hashlib.sha256(word.lower().encode()).digest()[:4], "big")
        return np.random.default_rng(seed).normal(size=16)


encoded = TextClassifier(features=64, encoder=HashedVectors()).fit(federation)
encoded.evaluate().report()

# %% [markdown]
# These vectors know nothing about language, so they help little; an encoder that does is worth more the fewer
# documents there are.
