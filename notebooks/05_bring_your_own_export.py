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
# # 5 · Bring your own export: from CSV to scorecard
#
# Four CSV files, and you know whether forelight would have helped. This notebook writes such files from a **synthetic** fleet
# and goes on as if they were yours; put your own folder into the second cell and leave the first out.

# %%
import tempfile
from datetime import timedelta
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from data_samples import FleetConfig, generate
from serving.workbench import Workbench, scorecards

folder = Path(tempfile.mkdtemp(prefix="forelight-"))
export = folder / "export"
generate(export, FleetConfig(links=80, days=28, interval_minutes=60, failures_per_link_year=6.0, seed=11))
for part in sorted((export / "telemetry").glob("*.parquet")):
    plain = pd.read_parquet(part).drop(columns=["fec_bins"], errors="ignore")
    plain.to_csv(part.with_suffix(".csv"), index=False, date_format="%Y-%m-%dT%H:%M:%SZ")
    part.unlink()

# %% [markdown]
# ## What the files look like
#
# `telemetry/`: a row a lane and poll, with the port's columns repeated. Columns that you do not have you leave out; what you
# have under another name the import tells you. Times are ISO 8601 *with their zone*: a time without one is refused, with
# file and line.

# %%
csv = next((export / "telemetry").glob("*.csv"))
pd.read_csv(csv, nrows=4).dropna(axis=1, how="all")

# %%
for name in ("inventory", "links", "tickets"):
    print(f"{name}.csv:", ", ".join(pd.read_csv(export / f"{name}.csv", nrows=1).columns))

# %% [markdown]
# Tickets in ServiceNow, Jira or a spreadsheet need not be rewritten: `forelight import --suggest-map tickets.csv` writes a map
# from their columns to ours (`docs/records.md`). What switches print (`show interfaces transceiver`, SONiC's database,
# `ethtool -m`, ibdiagnet) is read as it is (`docs/dumps.md`).
#
# ## Import, and read the report
#
# What cannot be taken is refused by file, row and reason, and everything else is kept.

# %%
bench = Workbench(folder / "home")
report = bench.take(export)
print(
    f"{report.lane_samples:,} lane readings; " + ", ".join(f"{new} {name}" for name, (new, _) in report.records.items())
)
for finding in report.findings[:8]:
    print(" ", finding.kind, finding)

# %% [markdown]
# ## Is there enough to learn from?
#
# Some weeks of telemetry and some tens of tickets that count. Where tickets are left out, `why` says it: often the port's
# name in the ticket is not that of the inventory.

# %%
labels = bench.labels()
counts = labels["verdict"].value_counts()
axes = counts.sort_values().plot.barh(figsize=(8, 2.5), color="#0072b2")
axes.set(title="What became of the tickets (synthetic)", xlabel="tickets")
axes.figure.tight_layout()

# %% [markdown]
# ## Would it have helped?
#
# Train on what was known until a day, walk through the days after it hour by hour as if they were live, then judge by event.
# On the command line: `forelight backtest --from T --to T --alarms alarms.csv --report backtest.html`.

# %%
end = bench.newest
model = bench.train(end - timedelta(days=11))
tested = bench.backtest(model, model.trained_until, end)
tested.scorecard()

# %% [markdown]
# Read it from *your* side: F1 a day ahead, false alarms per 1,000 modules and week, and the line *if 1 % fail a year*, which
# is what precision would be where failures are as rare as in a healthy fleet.

# %%
caught = sorted(tested.cards[0].lead_times_h)
figure, axes = plt.subplots(figsize=(9, 3))
axes.hist([min(hours, 168) for hours in caught], bins=range(0, 169, 12), color="#009e73")
axes.set(xlabel="hours between the alarm and the failure", ylabel="failures")
axes.set_title(f"Caught: {len(caught)} of {tested.cards[0].failures} (synthetic)")
figure.tight_layout()

# %% [markdown]
# ## What would your alarms of today have scored?
#
# Any CSV with `device, interface, raised_at` is judged on the same failures: your threshold script, your vendor's tool. Here
# a rule that a NOC might have: a port that flapped more than five times in a day.

# %%
flaps = bench.features(pd.date_range(model.trained_until, end, freq="6h").to_pydatetime().tolist())
mine = flaps[flaps["flaps_24h"] > 1.8].sort_values("time").drop_duplicates("link_id")
mine = mine.assign(raised_at=mine["time"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"))[["device", "interface", "raised_at"]]
mine.to_csv(folder / "mine.csv", index=False)
yours = bench.judge(folder / "mine.csv", model.trained_until, end, name="flaps of a day")
scorecards(tested.cards[0], yours).loc[["failures", "alarms raised", "F1 at 1 h", "F1 at 24 h", "false alarms"]]

# %% [markdown]
# Next: `forelight train`, `forelight score` each hour, `forelight serve`. What the figures do and do not mean:
# `docs/figures.md`.
