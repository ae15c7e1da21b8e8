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
# # 4 · Choose the threshold for a budget and a cost
#
# A lower threshold foresees more and cries wolf more often. Which is right is no question for a model: it depends on what a false
# alarm costs you, what a surprise costs you, and on how often your optics fail. This notebook turns the three into a threshold,
# and judges it on days that had no say in it.
#
# The fleet is **synthetic**, with failures accelerated a hundredfold: what a year of yours brings is put in by hand below.

# %%
import tempfile
from datetime import timedelta
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from data_samples import FleetConfig, generate
from serving.workbench import Workbench, scorecards

folder = Path(tempfile.mkdtemp(prefix="forelight-"))
generate(folder / "export", FleetConfig(links=100, days=32, interval_minutes=60, failures_per_link_year=6.0, seed=8))
bench = Workbench(folder / "home")
bench.take(folder / "export")
end = bench.newest
trained, chosen = end - timedelta(days=20), end - timedelta(days=10)
model = bench.train(trained)
print(f"learnt from {model.facts['failures']} failures; `watch` from a risk of {model.policy.watch:.1%} within a day")

# %% [markdown]
# ## What each threshold would have done
#
# On the ten days after training: how many failures it would have foreseen, and what that would have cost in false alarms. The
# model chose its own threshold from the days it was trained on, for one false alarm per 1,000 modules and week.

# %%
past = bench.backtest(model, trained, chosen)
curve = past.curve()
figure, axes = plt.subplots(figsize=(8, 4))
for lead, colour in ((1, "#0072b2"), (6, "#d55e00"), (24, "#009e73")):
    axes.plot(curve["false_per_1000_module_weeks"], curve[f"recall_{lead}h"], color=colour, label=f"{lead} h ahead")
axes.axvline(1.0, color="grey", linewidth=1)
axes.annotate("budget", (1.0, 0.02), xytext=(4, 0), textcoords="offset points", color="grey")
axes.set_xscale("symlog", linthresh=1.0)
axes.set_xlim(left=0)
axes.set(
    xlabel="false alarms per 1,000 modules and week",
    ylabel="failures foreseen",
    title="The price of seeing more (synthetic)",
)
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## For a budget
#
# Where somebody says how many false alarms the crew bears, the threshold follows. In hindsight:

# %%
rows = []
for budget in (2.0, 5.0, 10.0, 20.0):
    point = past.within(budget)
    rows.append((budget, point.threshold, point.false_per_1000_module_weeks, point.recall[6], point.precision[6]))
pd.DataFrame(rows, columns=["budget", "threshold", "false alarms", "foreseen 6 h ahead", "right"]).set_index(
    "budget"
).round(3)

# %% [markdown]
# Steps are coarse: in so few module-weeks one false alarm more or less is the difference. On a fleet of thousands they are not.
#
# ## For a cost
#
# Put in what things cost you, in whatever unit you have; here, hours of a GPU [invented]. A failure that was foreseen is drained
# and repaired in peace; one that was not takes a large job back to its last checkpoint; a false alarm drains a sound link.

# %%
COST = {"false alarm": 8.0, "foreseen": 24.0, "surprise": 1000.0}
FAILURES_A_YEAR = 0.01  # of the modules: what your tickets say
LEAD_H = 6  # what your drain needs

weeks = 365.25 / 7
card = past.cards[0]
accelerated = 1000 * card.failures / card.module_weeks
own = 1000 * FAILURES_A_YEAR / weeks
print(f"failures per 1,000 modules and week: {accelerated:.1f} in this fleet, {own:.2f} in yours")


def cost(failures):
    """Hours per 1,000 modules and week of each threshold, at so many failures."""
    seen = curve[f"recall_{LEAD_H}h"]
    wrong = COST["false alarm"] * curve["false_per_1000_module_weeks"]
    return wrong + failures * (seen * COST["foreseen"] + (1 - seen) * COST["surprise"])


figure, both = plt.subplots(1, 2, figsize=(13, 3.8))
best = {}
for axes, (name, failures) in zip(both, (("this fleet", accelerated), ("1 % a year", own)), strict=True):
    hours, without = cost(failures), failures * COST["surprise"]
    best[name] = curve.loc[hours.idxmin()] if hours.min() < without else None
    axes.plot(curve["threshold"], hours, color="#0072b2", label="with alarms")
    axes.axhline(without, color="grey", linestyle="--", label="without any")
    if best[name] is not None:
        axes.plot(best[name]["threshold"], hours.min(), "o", color="#d55e00", markersize=9, label="least")
    axes.set(xlabel="threshold", ylabel="hours, 1,000 modules and week", title=f"{name} (synthetic)", xscale="log")
    axes.set_ylim(0, 1.5 * without)
    axes.legend()
figure.tight_layout()

# %% [markdown]
# The curve of what is foreseen is the same in both; what changes is how many failures there are to be foreseen. False alarms come
# from healthy modules, of which there are as many either way: where failures are a hundred times rarer, the same threshold costs
# as much and saves a hundredth. Somebody who tunes on accelerated or on hand-picked data tunes too low. (So low that the curve
# itself is wrong there: it knows nothing of the storm breaker, which holds back alarms that come on many links at once.)

# %%
for name, point in best.items():
    if point is None:
        print(f"{name}: at these costs no threshold of this curve pays")
    else:
        print(f"{name}: from {point['threshold']:.1%}, {point['false_per_1000_module_weeks']:.1f} false alarms")

# %% [markdown]
# ## A model with that threshold
#
# `with_watch` gives the same model with another threshold, under a version of its own: scores stay what they are, alarms change.
# Both are judged on the last ten days, which neither the training nor the choice has seen.

# %%
point = best["1 % a year"]
threshold = past.within(2.0).threshold if point is None else float(point["threshold"])
other = model.with_watch(threshold, "least cost where 1 % fail a year, notebook 04")
after = {name: bench.backtest(each, chosen, end) for name, each in (("as trained", model), ("as chosen", other))}
both = scorecards(*(each.cards[0] for each in after.values()))
both.columns = list(after)
both


# %%
def parts(card):
    """What one policy would have cost at your failures, from what it did on these days."""
    recall = next(each.recall for each in card.leads if each.lead_h == LEAD_H)
    return {
        "false alarms": COST["false alarm"] * card.false_per_1000_module_weeks,
        "foreseen": own * recall * COST["foreseen"],
        "surprises": own * (1 - recall) * COST["surprise"],
    }


judged = pd.DataFrame({name: parts(each.cards[0]) for name, each in after.items()}).T
judged.loc["without any"] = {"false alarms": 0.0, "foreseen": 0.0, "surprises": own * COST["surprise"]}
axes = judged.plot.barh(stacked=True, figsize=(9, 2.8), color=["#d55e00", "#009e73", "#0072b2"])
axes.set(title="At 1 % a year, on days that had no say (synthetic)", xlabel="hours, 1,000 modules and week")
axes.figure.tight_layout()

# %% [markdown]
# On so few days either may win by chance: the intervals above say how wide that is. With a year of your own tickets they say
# more, and the costs are then worth an argument.
#
# ## Into service
#
# It is registered like any other: a challenger first, in the shadow of what is in service (notebook 3).

# %%
first, second = (bench.registry.log(each, {}) for each in (model, other))
for each in bench.registry.versions():
    print(each.version, each.aliases)
print(bench.registry.load(second).facts["watch_chosen"])
