# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 3 · Retrain, compare with the champion, promote
#
# A model grows old: new optics, new failures, a warmer summer. Training again takes minutes; what takes care is to see that
# the new one is better *on the same failures*, and to be able to go back.
#
# The fleet is **synthetic**. On your home, `Workbench()`, the same cells work on what your command line uses.

# %%
import tempfile
from datetime import timedelta
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from data_samples import FleetConfig, generate
from ingest.errors import ModelError
from serving.workbench import Workbench, scorecards

folder = Path(tempfile.mkdtemp(prefix="forelight-"))
generate(folder / "export", FleetConfig(links=80, days=30, interval_minutes=60, failures_per_link_year=6.0, seed=8))
bench = Workbench(folder / "home")
bench.take(folder / "export")
end = bench.newest

# %% [markdown]
# ## The champion: trained some time ago

# %%
champion = bench.train(end - timedelta(days=18))
version = bench.registry.log(champion, {})
print(f"version {version} is {bench.registry.versions()[0].aliases}, learnt from {champion.facts['failures']} failures")

# %% [markdown]
# ## A challenger: a week more to learn from
#
# Where there is a champion, what is registered later is `challenger`: it scores in the shadow, and nothing rests on it.

# %%
challenger = bench.train(end - timedelta(days=11))
newer = bench.registry.log(challenger, {})
print(f"version {newer} is {bench.registry.versions()[0].aliases}, learnt from {challenger.facts['failures']} failures")

# %% [markdown]
# ## Both on the same failures
#
# Neither may have seen what both are judged by: the days after the later training, up to two days ago, for tickets come
# late. The interval is a bootstrap over links, the same links for both.

# %%
found = bench.compare(champion, challenger)
print(found.said)
print(
    "better" if found.better else "not better beyond chance: it is not promoted, unless somebody says why it should be"
)

# %%
figure, axes = plt.subplots(figsize=(8, 3))
for row, each in enumerate(found.differences):
    gain = each.challenger - each.champion
    axes.plot([each.low, each.high], [row, row], color="#0072b2", linewidth=3)
    axes.plot(gain, row, "o", color="#d55e00", markersize=9)
axes.axvline(0, color="grey", linewidth=1)
axes.set_yticks(range(len(found.differences)), [f"F1 at {each.lead_h} h" for each in found.differences])
axes.set_ylim(-0.6, len(found.differences) - 0.4)
axes.set(xlabel="challenger less champion, with its 90 % interval", title="Is it better? (synthetic)")
figure.tight_layout()

# %% [markdown]
# With so few failures the interval is wide: that is the honest answer, and why `forelight model promote` refuses what it
# cannot show to be better. The scorecards say more than one number:

# %%
span = (challenger.trained_until, end)
cards = {name: bench.backtest(model, *span) for name, model in (("champion", champion), ("challenger", challenger))}
both = scorecards(*(card.cards[0] for card in cards.values()))
both.columns = list(cards)
both

# %% [markdown]
# ## What it leans on

# %%
leans = {
    name: model.facts["unseen_links"].get("importance", {})
    for name, model in zip(cards, (champion, challenger), strict=True)
}
importance = pd.DataFrame(leans).fillna(0)
importance = importance.loc[importance.max(axis=1).sort_values().index].tail(12)
axes = importance.plot.barh(figsize=(9, 5), color=["#999999", "#0072b2"])
axes.set(title="What risk rests on, on links not seen (synthetic)", xlabel="share")
axes.figure.tight_layout()

# %% [markdown]
# ## Promote, and the way back
#
# A promotion is an alias in MLflow, with who, when and why; the next `forelight score` takes it. On the command line:
# `forelight model promote 2`, `forelight model rollback --reason "…"`.

# %%
why = found.said if found.better else "shown here: a person said so"
bench.registry.promote(newer, why, who="notebook", forced=not found.better)
for each in bench.registry.versions():
    print(each.version, each.aliases, each.tags.get("promoted_why", ""))

# %%
print("version", bench.registry.rollback("shown here", "notebook"), "is champion again")
try:
    bench.registry.rollback()
except ModelError as error:
    print("asked twice:", error)
