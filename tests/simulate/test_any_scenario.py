"""Any scenario that is accepted gives exactly the results that its arrivals imply, under any policy."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.scheduling import POLICIES
from headway.simulate import Arrivals, Cluster, Cost, Job, Scenario, Spread, StageSpec, Window, run

COSTS = st.builds(
    Cost,
    message=st.sampled_from([0.0, 0.001, 0.05]),
    row=st.sampled_from([0.0, 1e-4]),
    trigger=st.sampled_from([0.0, 0.02]),
    scv=st.sampled_from([0.0, 1.0]),
)
ARRIVALS = st.builds(
    Arrivals,
    rate=st.sampled_from([0.0, 0.7, 5.0, 40.0]),
    rows=st.sampled_from([1, 3, 100]),
    process=st.sampled_from(["constant", "poisson"]),
    phase=st.sampled_from(["even", "random", 0.0]),
    pareto=st.sampled_from([None, 1.5]),
    skew=st.sampled_from([1.0, 50.0]),
    delay=st.builds(Spread, mean=st.sampled_from([0.0, 0.3]), scv=st.sampled_from([0.0, 1.0])),
)
WINDOWS = st.sampled_from([Window(0.5), Window(1.0, slide=0.25), Window(1.0, delay=0.5, first=0.2)])


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Job:
    """One or two sources, then up to four stages, each reading some of those before it."""
    places = st.integers(1, 4)
    costs = st.one_of(st.just(Cost()), COSTS)
    stages = [
        StageSpec(f"s{i}", "source", draw(places), draw(costs), arrivals=draw(ARRIVALS))
        for i in range(draw(st.integers(1, 2)))
    ]
    sources = [stage.name for stage in stages]
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["regular", "window", "join"]))
        names = [stage.name for stage in stages]
        inputs = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
        if i == 0:
            inputs = tuple(sources)
        if kind == "join" and len(inputs) < 2:
            kind = "window"
        window = draw(WINDOWS) if kind != "regular" else None
        selectivity = draw(st.sampled_from([1.0, 0.1]))
        edge = draw(st.sampled_from([None, "key"]))
        stages.append(
            StageSpec(f"t{i}", kind, draw(places), draw(COSTS), inputs, edge, window, selectivity=selectivity)
        )
    latency = draw(st.sampled_from([None, 0.1, 10.0]))
    return Job(name, tuple(stages), latency, event_time=draw(st.booleans()))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    cluster = Cluster(
        draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 0.01])),
        draw(st.sampled_from([0.0, 1e-4])), draw(st.sampled_from([1, 2, 64])), draw(st.sampled_from([0.0, 1e-3])),
    )  # fmt: skip
    made = tuple(draw(jobs(f"job{i}")) for i in range(draw(st.integers(1, 3))))
    return Scenario("any", made, cluster, 2.0, seed=draw(st.integers(0, 9)), drain=draw(st.booleans()))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(scenarios(), st.sampled_from(sorted(POLICIES)))
def test_results_are_those_expected(scenario: Scenario, policy: str) -> None:
    assert all(group.correct for group in run(scenario, policy).groups)
