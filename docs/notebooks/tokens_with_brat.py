# %% [markdown]
# # Entities, token by token, from BRAT files
#
# Each site has a folder of BRAT files: `note.txt`, and `note.ann` with the entities that people marked. Here the
# notes are made up.

# %%
import subprocess
import sys

make = "-m sottovoce notes --sites 3 --documents 150 --format brat --out brat-notes"
subprocess.run([sys.executable, *make.split()], check=True, capture_output=True).returncode

# %%
from pathlib import Path

from sottovoce.sources import open_source

parts = {
    folder.name: list(open_source(folder).documents())
    for folder in sorted(Path("brat-notes").iterdir())
    if folder.is_dir()
}
sorted({span.type for documents in parts.values() for document in documents for span in document.spans})

# %% [markdown]
# One row is one token now, and its class says whether it is inside a drug's name.

# %%
from sottovoce import LocalFederation, TextClassifier

federation = LocalFederation(parts)
model = TextClassifier(
    features=64, level="token", labelling="inside", entities=("Drug",), query_budget=20_000
).fit(federation)
model.evaluate()

# %% [markdown]
# Asked as one of the sites, each token comes back with its place in the text.

# %%
text = "Started on amoxicillin 500 mg, reviewed next week."
peer = federation.peers[0]
for start, end, label in model.predict([text], peer=peer)[0]:
    print(f"{text[start:end]:<12} {label}")
