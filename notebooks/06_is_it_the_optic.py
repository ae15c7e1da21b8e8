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
# # 6 · Is it the optic?
#
# A job is slow, and everybody suspects the network. Probes between the servers, what ports counted and what both ends' modules
# read are one answer: a lossy link (which direction, which part), a host, or an innocent network, and how well it was looked.
#
# The fabric is **synthetic**: eight servers on four leaves below two spines, and faults that we put there. On your home,
# `Workbench()` reads what `forelight probe agent` and the collector brought (`docs/probes.md`).

# %%
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from data_samples.probed import SERVERS, ProbedFabric
from ingest.schema import PROBES, SCORES
from serving.workbench import Workbench

now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
folder = Path(tempfile.mkdtemp(prefix="forelight-"))


def home(name, fabric):
    """A home with the fabric's tables in its lake."""
    bench = Workbench(folder / name)
    for table, rows in fabric.tables():
        bench.lake.append(table, rows)
    return bench


def job(bench, **more):
    return bench.diagnose(now, job="llm-7", node=list(SERVERS), **more)


# %% [markdown]
# ## A link that loses one packet in a hundred
#
# The receiver of `gpu3` sees 5 dB less light than an hour ago, and packets are lost there. The probes only know who did not
# hear whom.

# %%
faulty = home("faulty", ProbedFabric(now, {"leaf1:h1 → gpu3:eth0": 0.01}, dim_db={("gpu3", "eth0"): 5.0}))


def losses(bench):
    """Share of the packets that were lost on the way from each server to each other."""
    seen = bench.lake.latest(PROBES).collect().to_pandas()
    ends = {"index": "source_device", "columns": "target_device", "aggfunc": "sum"}
    return seen.pivot_table(values="forward_lost", **ends) / seen.pivot_table(values="sent", **ends)


def draw(axes, matrix, title):
    image = axes.imshow(100 * matrix, cmap="cividis", vmin=0)
    axes.set_xticks(range(len(matrix)), matrix.columns, rotation=60)
    axes.set_yticks(range(len(matrix)), matrix.index)
    axes.set(title=title, xlabel="to", ylabel="from")
    axes.figure.colorbar(image, label="% lost one way")


figure, axes = plt.subplots(figsize=(6, 4.5))
draw(axes, losses(faulty), "Everybody loses towards gpu3 (synthetic)")
figure.tight_layout()


# %%
def show(verdict):
    print(f"{verdict.kind} ({verdict.priority}): {verdict.why}")
    for step in verdict.chain:
        print(f"  {step.layer}: {step.says}")
    print("  part:", "not told" if verdict.part is None else verdict.part.part)
    print("  not looked at:", ", ".join(verdict.missing))


show(job(faulty, slowdown=0.3))

# %% [markdown]
# The chain goes from the application down to the light. Probes name the link and its direction, the modules at both its ends
# the part: the laser launches as before, less arrives. So it is the fibre or its connector, and one *cleans before one swaps*.
#
# ## Two links that probes cannot tell apart
#
# Where every packet may take any spine, two links down to a leaf carry the same share of the same flows. Both are named, and
# neither is picked.

# %%
shared = home("shared", ProbedFabric(now, {"spine1:d1 → leaf1:u1": 0.01}))
figure, axes = plt.subplots(figsize=(6, 4.5))
draw(axes, losses(shared), "Everybody else loses towards leaf1 (synthetic)")
figure.tight_layout()


def suspects(verdict):
    for link, share in zip(verdict.fault.links, verdict.fault.shares, strict=True):
        print(f"{share:7.1%}  {link}")


suspects(job(shared))

# %% [markdown]
# Here the prediction helps: the risk that `forelight score` gave each optic is the prior of its link. The one that was about to
# fail is the one that fails.

# %%
place = {"time": now, "received_at": now, "site": "default", "status": "scored", "model_version": "a model's"}
risks = {"u0": 0.0005, "u1": 0.4}
shared.lake.append(
    SCORES, SCORES.of([{**place, "device": "leaf1", "interface": port, "risk_24h": p} for port, p in risks.items()])
)
verdict = shared.diagnose(now + timedelta(seconds=1), job="llm-7", node=list(SERVERS))
suspects(verdict)
show(verdict)

# %% [markdown]
# ## A server that is down is no bad link
#
# Nothing comes back from `gpu5`, whoever asks. No loss of one link is that even: somebody looks at the server, and at its only
# cable, and no other link is blamed.

# %%
down = home("down", ProbedFabric(now, down=["gpu5"]))
verdict = job(down)
print(f"{verdict.kind}: {verdict.why}")

# %% [markdown]
# ## Innocent, or not looked at?
#
# *Innocent* is an answer only where a fault that matters would have been seen. What matters is the loss that would explain the
# slowdown of the job; one packet in a thousand where nobody says.

# %%
rows = []
for sent in (200, 400, 800, 3_000, 10_000):
    told = job(home(f"sound-{sent}", ProbedFabric(now, sent=sent)))
    rows.append((sent, str(told.kind), told.power.least_loss, told.power.more_windows))
power = pd.DataFrame(rows, columns=["packets a pair and window", "verdict", "least loss found", "more windows needed"])
power

# %%
figure, axes = plt.subplots(figsize=(8, 3.5))
sure = power["verdict"] == "innocent"
for said, marker in ((sure, "o"), (~sure, "x")):
    axes.plot(
        power.loc[said, "packets a pair and window"],
        power.loc[said, "least loss found"],
        marker,
        markersize=9,
        label="innocent" if marker == "o" else "inconclusive",
    )
axes.axhline(1e-3, color="#d55e00", linewidth=1)
axes.annotate("matters", (power["packets a pair and window"].max(), 1e-3), ha="right", va="bottom")
axes.set(xscale="log", yscale="log", xlabel="packets a pair and window", ylabel="least loss that would be found")
axes.set_title("What an all-clear is worth (synthetic)")
axes.legend()
figure.tight_layout()

# %% [markdown]
# Few probes find no fault either: that is *inconclusive*, with the number of windows that are still needed, and no all-clear.
#
# ## What follows
#
# - On the command line: `forelight diagnose leaf1/u1`, `forelight diagnose --job llm-7 --node gpu0 --node gpu1 --slowdown 0.3`;
#   over HTTP `GET /v1/verdict`.
# - Which probes to send so that links can be told apart: `diagnosis.plan` (`docs/diagnosis.md`).
# - What is not read yet (PFC, flows, collectives) is named in every answer, and no score is made up for it.
