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
# # 2 · Features and labels
#
# What the model sees of a link, what it is told to foresee, and how well one can be told from the other at a glance.
#
# The fleet is **synthetic**, with failures accelerated a hundredfold: look at the shapes, not at the numbers.

# %%
import tempfile
from datetime import timedelta
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from data_samples import FleetConfig, generate
from serving.workbench import Workbench

folder = Path(tempfile.mkdtemp(prefix="forelight-"))
generate(folder / "export", FleetConfig(links=80, days=24, interval_minutes=60, failures_per_link_year=6.0, seed=8))
bench = Workbench(folder / "home")
report = bench.take(folder / "export")

# %% [markdown]
# ## Labels: what was made of each ticket
#
# A failure counts from when it began to hurt, not from when somebody wrote it down; a ticket without a finding, a second
# ticket of one outage or one in announced work is no failure. `why` says so of each.

# %%
labels = bench.labels()
labels["verdict"].value_counts().to_frame("tickets")

# %%
labels[["event_id", "device", "interface", "failure_type", "verdict", "why"]].head(8)

# %%
counted = labels[labels["verdict"] == "counted"]
late = (counted["opened_at"] - counted["failed_at"]) / pd.Timedelta(hours=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 3.5))
counted["failure_type"].value_counts().sort_values().plot.barh(ax=left, color="#0072b2")
left.set_title("What failed (synthetic)")
right.hist(late, bins=np.arange(0, 26, 2), color="#e69f00")
right.set(title="How late the ticket is", xlabel="hours after the outage began", ylabel="tickets")
figure.tight_layout()

# %% [markdown]
# ## Features: what the model sees
#
# A row is one end of a link at one hour: its own features, the far end's (`peer_`), and those of the link. `sign` is what
# physics allows: +1, risk may only rise with the column; -1, only fall.

# %%
columns = bench.feature_columns()
print(f"{len(columns)} columns")
columns[~columns.index.str.startswith("peer_")].sample(8, random_state=1)

# %% [markdown]
# Nothing that was received after an hour is in its row: the same code makes rows for training, for the back-test and for
# tonight. Rows of all links at the hours before each failure:

# %%
before = [1, 6, 12, 24, 48, 96]
start = counted["failed_at"].min().normalize() + timedelta(days=8)
failures = counted[counted["failed_at"] > start].head(24)
hours = {
    (row.failed_at - timedelta(hours=h)).floor("h").to_pydatetime() for row in failures.itertuples() for h in before
}
rows = bench.features(sorted(hours))
print(f"{len(rows):,} rows at {len(hours)} hours")

# %%
ahead = pd.concat(
    rows[(rows["link_id"] == row.link_id) & (rows["time"] == (row.failed_at - timedelta(hours=h)).floor("h"))].assign(
        ahead_h=h
    )
    for row in failures.itertuples()
    for h in before
)
healthy = rows[~rows["link_id"].isin(labels["link_id"])]
shown = {
    "ber_margin_6h": "decades to the FEC limit",
    "rx_min_shift_6h": "received light against habit, dB",
    "bias_max_shift_6h": "laser current against habit",
    "flaps_24h": "flaps of the last day, log1p",
}
shown = {name: label for name, label in shown.items() if name in rows}
figure, axes = plt.subplots(1, len(shown), figsize=(15, 4))
for axis, (name, label) in zip(axes, shown.items(), strict=True):
    values = [ahead.loc[ahead["ahead_h"] == h, name].dropna() for h in reversed(before)]
    axis.boxplot([healthy[name].dropna(), *values], tick_labels=["healthy", *map(str, reversed(before))], whis=(5, 95))
    axis.set(title=label, xlabel="hours before the failure")
figure.suptitle("Some failures announce themselves, some do not (synthetic)")
figure.tight_layout()

# %% [markdown]
# The boxes part only in the last day or two, and for a part of the failures: more than a third of those that the generator
# makes give no sign at all. That is what bounds recall, here and, in another measure, in your fleet.
#
# ## Which features part the day before a failure from healthy hours
#
# The area under the ROC curve of each feature by itself: 0.5 tells nothing, 1 everything.

# %%
day_before = ahead[ahead["ahead_h"] <= 24]


def area(name):
    """Share of pairs, one before a failure and one healthy, that the feature puts in the right order."""
    bad, good = day_before[name].dropna(), healthy[name].dropna()
    if min(len(bad), len(good)) < 20:
        return np.nan
    ranks = pd.concat([bad, good]).rank()
    found = (ranks.iloc[: len(bad)].sum() - len(bad) * (len(bad) + 1) / 2) / (len(bad) * len(good))
    return max(found, 1 - found)


areas = pd.Series({name: area(name) for name in columns.index}).dropna().sort_values()
axes = areas.tail(15).plot.barh(figsize=(9, 5), color="#009e73")
axes.set(xlim=(0.5, 1), title="One feature alone, a day ahead (synthetic)", xlabel="area under the ROC curve")
axes.figure.tight_layout()

# %% [markdown]
# The model joins them, and holds what it learnt against links that it has not seen: [3 · retrain, compare with the
# champion, promote](03_retrain_compare_promote.ipynb). All features in words: `docs/features.md`.
