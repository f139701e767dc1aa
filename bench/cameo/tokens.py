"""Fig. 6: three queries that could each fill the nodes, with 20, 40 and 40 % of the tokens, begin one after another.

The paper's 300 s between beginnings are a third of the run here. A source takes a token to be read; there are
more tokens than the nodes can serve, so that the shares of tokens are the shares of capacity.
"""

from __future__ import annotations

from dataclasses import replace

from bench.cameo.jobs import bulk, flooded
from bench.cameo.results import CameoResult, measured
from bench.cameo.scenarios import SHARES
from bench.cameo.trials import Trials
from headway.scheduling.tokens import Tokens

TOKENS = 10_000
"""Per second and node, of all queries."""
SETTLED = 2.0
"""Seconds after a beginning until shares are counted."""


def fig6(trials: Trials) -> None:
    gap = trials.seconds / len(SHARES)
    jobs = [
        replace(flooded(bulk(number, 1e6)), name=name, group=name, begin=number * gap)
        for number, name in enumerate(SHARES)
    ]
    policy = Tokens({name: round(TOKENS * share) for name, share in SHARES.items()})
    groups = trials.cluster.run(policy, jobs, trials.seconds)
    timeline = {name: [(at, rate) for _, at, rate, *_ in group.timeline] for name, group in groups.items()}
    for phase in range(1, len(SHARES) + 1):
        within = (phase - 1) * gap + SETTLED, phase * gap
        rates = {name: _mean([rate for at, rate in timeline[name] if within[0] < at <= within[1]]) for name in groups}
        for name, group in groups.items():
            share = rates[name] / max(1.0, sum(rates.values()))
            settings = {"share": share, "tokens": SHARES[name], "timeline": group.timeline if phase == 3 else []}
            made = measured(trials.workload, "tokens", phase, name, group, 0.0, settings)
            trials.results.append(replace(made, rows_per_s=rates[name]))
            trials.say(f"  {phase} running  {name}: {rates[name] / 1e6:6.2f} M rows/s, {share:.1%} of all")


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def table(results: list[CameoResult]) -> list[str]:
    """How far the shares of the last phase are from the tokens'."""
    last = [result for result in results if result.x == len(SHARES)]
    return [f"  {r.group}: {r.settings['share']:.1%} for {r.settings['tokens']:.0%} of the tokens" for r in last]
