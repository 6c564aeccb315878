# %% [markdown]
# # A first joint model
#
# Three hospitals with made-up notes learn one classifier. Everything happens in this process, message by
# message, with the real protocols and real keys; nobody's text is in anybody else's messages.

# %%
from sottovoce import LocalFederation, TextClassifier
from sottovoce.datasets import clinical_notes

notes = clinical_notes(600, sites=["northfield", "harbour", "stanmore"])
federation = LocalFederation({site: notes.at(site).documents("urgency") for site in notes.sites})
federation

# %% [markdown]
# `fit` runs the whole study: agreement, dictionary, contributions, the sealed solve. A line says how far it
# is. What remains is a model that nobody can read.

# %%
model = TextClassifier(features=256).fit(federation)
model.study_

# %%
model.predict(["Transferred at once, airway at risk.", "Routine review."], peer="harbour")

# %% [markdown]
# The joint figures are opened once, over all peers, and without small cells.

# %%
joint = model.evaluate()
joint

# %%
joint.plot_roc()

# %% [markdown]
# What would each hospital reach alone, and what if all text lay in one place?

# %%
model.compare_alone()

# %% [markdown]
# One page with everything, to send around: figures, time and bytes, what each party saw, a model card, text
# for an impact assessment.

# %%
model.report("first-joint-model.html")
