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
# # 1 · Look at DOM, and at a failing link
#
# What an optical module tells about itself (*digital optical monitoring*, DOM), what that looks like while a link
# fails, and why the module's own warning limits often say nothing until it is too late.
#
# The data are the small **synthetic** sample of this repository: 24 links over 12 days. For yours, see the last cell.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from data_samples import SAMPLE
from serving.workbench import Workbench

bench = Workbench(Path(tempfile.mkdtemp(prefix="forelight-")))
report = bench.take(SAMPLE)
print(f"{report.lane_samples:,} readings of lanes, {report.port_samples:,} of ports; {len(report.findings)} findings:")
for finding in report.findings:
    print(" ", finding)

# %% [markdown]
# The import refuses nothing silently: a value that no module can give becomes *missing*, never 0 (0 dBm would be a
# healthy milliwatt).
#
# ## Which links failed
#
# Tickets are what the model learns from. Each is judged first: is it a failure, and when did it begin to hurt? A ticket
# is opened hours after the outage, at times at the wrong end, at times about nothing.

# %%
tickets = bench.labels()
tickets["hours_late"] = (tickets["opened_at"] - tickets["failed_at"]) / pd.Timedelta(hours=1)
tickets[["event_id", "device", "interface", "failed_at", "hours_late", "failure_type", "verdict"]]

# %% [markdown]
# ## One of them, from both ends
#
# A link has two ends, and light goes both ways. What one end launches (Tx) the other receives (Rx): only side by side
# do they tell a tired laser from a dirty connector or a weak receiver.

# %%
failure = tickets.set_index("event_id").loc["INC1005"]
near = bench.end(failure["device"], failure["interface"])
far_device, far_interface = near.peer
far = bench.end(far_device, far_interface)
ends = {f"{failure['device']} {failure['interface']}": near, f"{far_device} {far_interface}": far}


# %%
def mark(axes):
    """When the link failed, and when somebody wrote a ticket."""
    axes.axvline(failure["failed_at"], color="#d55e00", linewidth=1.5)
    axes.axvline(failure["opened_at"], color="#d55e00", linewidth=1.5, linestyle=":")


def plot_end(column, end):
    """Light, current and errors of one end."""
    for row, (quantity, label) in enumerate(QUANTITIES.items()):
        axes = figure_axes[row][column]
        for lane, readings in end.lanes.groupby("lane"):
            values = np.log10(readings[quantity]) if quantity == "pre_fec_ber" else readings[quantity]
            axes.plot(readings["time"], values, linewidth=0.7, label=f"lane {lane}")
        if end.lanes[quantity].isna().all():
            axes.text(0.3, 0.5, "this end does not tell it lane by lane", transform=axes.transAxes, color="grey")
        low = end.limits.get(f"{quantity.removesuffix('_dbm')}_low_warn_dbm")
        if low is not None:
            axes.axhline(low, color="grey", linestyle="--", linewidth=1)
        axes.set_ylabel(label)
        mark(axes)


QUANTITIES = {
    "tx_power_dbm": "launched light, dBm",
    "rx_power_dbm": "received light, dBm",
    "tx_bias_ma": "laser current, mA",
    "pre_fec_ber": "log10 of errors before FEC",
}
figure, figure_axes = plt.subplots(len(QUANTITIES), 2, figsize=(13, 9), sharex=True, sharey="row")
for column, (name, end) in enumerate(ends.items()):
    figure_axes[0][column].set_title(name)
    plot_end(column, end)
figure_axes[0][0].legend(ncols=4, fontsize=8)
figure.suptitle(
    "A link that fails: solid, the outage; dotted, the ticket; dashed, the module's own warning limit (synthetic)"
)
figure.autofmt_xdate()
figure.tight_layout()

# %% [markdown]
# What the far laser launches does not move, and what arrives does not fall either: the receiver itself tires, so its
# errors rise while all light is as it should be. No limit of the module was crossed.
#
# ## What the counters say
#
# Forward error correction (FEC) repairs errors until it cannot: corrected codewords are normal, uncorrected ones are
# lost packets. Counters are kept as the device has them; what happened is their growth. The far end sees nothing, for
# errors are made where light is received.

# %%
figure, axes = plt.subplots(figsize=(13, 3.5))
for name, end in ends.items():
    growth = end.port.set_index("time")["fec_corrected"].astype("float64").diff().clip(lower=0)
    axes.plot(growth.resample("1h").sum(min_count=1).replace(0, np.nan), label=name)
axes.set(yscale="log", ylabel="codewords corrected an hour")
axes.set_title("FEC repairs more and more, and then there is nothing left to repair (synthetic)")
axes.legend()
mark(axes)
figure.tight_layout()

# %% [markdown]
# ## How long before could one have known?
#
# Take the first hour from which the receiver's errors stay ten times above what they were in its first days.

# %%
ber = near.lanes.groupby("time")["pre_fec_ber"].max().dropna().resample("1h").median()
habit = ber.iloc[:72].median()
above = ber > 10 * habit
since_failure = above[: failure["failed_at"]]
calm = since_failure[~since_failure]
first = calm.index[-1] if len(calm) else ber.index[0]
print(f"errors were ten times their habit from {first:%d %B %H:%M} on,")
print(f"{(failure['failed_at'] - first) / pd.Timedelta(hours=1):.0f} hours before the link failed.")

# %% [markdown]
# That is what forelight looks for: in every link, each hour, against each link's own habit, and with a budget of false
# alarms. How: [2 · features and labels](02_features_and_labels.ipynb).
#
# **Your data.** `Workbench()` without a folder works on FORELIGHT_HOME as the command line does; `bench.end("leaf01",
# "Ethernet1/1")` is then any port of yours. From your CSV to there: [5 · bring your own
# export](05_bring_your_own_export.ipynb).
