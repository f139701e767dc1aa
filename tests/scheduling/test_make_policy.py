"""Policies by name, with settings."""

from __future__ import annotations

from typing import Any

import pytest
from virtual_node import context

from headway.errors import InvalidOption
from headway.scheduling import DEFAULT, POLICIES, Converter, Fifo, Knowledge, Llf, make_policy, thread_per_operator


@pytest.mark.parametrize(
    "name",
    ["llf", "edf", "sjf", "fifo", "orleans", "tokens", "arrival", "enjima", "fcfs", "ml", "mc", "rr", "hr", "slack"],
)
def test_each_policy_has_a_name(name: str) -> None:
    assert make_policy(name).name == name
    assert name in POLICIES


def test_least_laxity_first_is_the_default() -> None:
    assert isinstance(make_policy(DEFAULT), Llf)


def test_a_policy_of_ones_own_is_used_as_it_is() -> None:
    policy = Fifo(quantum=0.5)
    assert make_policy(policy, {"headway.scheduling.grain": "5 ms"}) is policy


@pytest.mark.parametrize("name", ["lifo", "", "LLF", None, 3, Llf])
def test_a_name_that_is_none_is_refused_with_those_there_are(name: Any) -> None:
    with pytest.raises(InvalidOption, match=r"there is no scheduling policy .*arrival, edf, enjima, fcfs, fifo"):
        make_policy(name)


@pytest.mark.parametrize(
    ("conf", "knowledge"),
    [
        ({}, Knowledge()),
        ({"headway.scheduling.semantics": "false"}, Knowledge(semantics=False)),
        ({"headway.scheduling.topology": "FALSE"}, Knowledge(topology=False)),
        ({"headway.scheduling.semantics": False}, Knowledge(semantics=False)),
        ({"headway.scheduling.costError": "100 ms"}, Knowledge(cost_error=0.1)),
        ({"HEADWAY.scheduling.costerror": 0.5}, Knowledge(cost_error=0.5)),
        ({"headway.checkpointInterval": "2 seconds"}, Knowledge()),
    ],
)
def test_settings_narrow_what_a_policy_knows(conf: dict[str, Any], knowledge: Knowledge) -> None:
    policy = make_policy("edf", conf)
    assert policy.knowledge == knowledge  # type: ignore[attr-defined]


@pytest.mark.parametrize(("grain", "second"), [("1 ms", "urgent"), ("1 second", "a")])
def test_the_grain_is_a_setting(grain: str, second: str) -> None:
    queue = make_policy("llf", {"headway.scheduling.grain": grain}).queue()
    queue.push("a", context(5.0), 0, 0.0)
    queue.pop(0.0)
    queue.push("a", context(5.0), 0, 0.1, 0)
    queue.push("urgent", context(1.0), 0, 0.1)
    queue.done("a", 0.1)
    assert queue.pop(0.1) == second


@pytest.mark.parametrize(("patience", "second"), [("10 ms", "bulk"), ("1 hour", "urgent")])
def test_the_patience_is_a_setting(patience: str, second: str) -> None:
    queue = make_policy("llf", {"headway.scheduling.patience": patience}).queue()
    queue.push("bulk", context(900.0), 0, 0.0)
    queue.push("urgent", context(1.0), 0, 0.0)
    queue.pop(0.0)
    queue.push("urgent", context(1.0), 0, 0.5, 0)
    queue.done("urgent", 0.5)
    assert queue.pop(0.5) == second


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("semantics", "no", "headway.scheduling.semantics is 'no'; use true or false"),
        ("topology", 1, "headway.scheduling.topology is 1; use true or false"),
        ("grain", "soon", "headway.scheduling.grain: 'soon' is not an interval"),
        ("grain", "-1 ms", "headway.scheduling.grain is '-1 ms'; it may be zero"),
        ("patience", None, "headway.scheduling.patience: None is not a length of time"),
        ("patience", float("nan"), "headway.scheduling.patience: nan is not a length of time"),
        ("costError", "-5 ms", "headway.scheduling.costError is '-5 ms'"),
    ],
)
def test_a_bad_value_is_refused_with_the_settings_name(name: str, value: Any, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        make_policy("llf", {f"headway.scheduling.{name}": value})


@pytest.mark.parametrize("policy", ["llf", "fifo"])
def test_a_setting_that_is_none_is_refused_with_those_there_are(policy: str) -> None:
    with pytest.raises(InvalidOption, match=r"no setting 'headway.scheduling.gain'; there are .*scheduling.grain"):
        make_policy(policy, {"headway.scheduling.gain": "1 ms"})


def test_a_grain_of_zero_is_taken() -> None:
    policy = make_policy("llf", {"headway.scheduling.grain": "0 seconds"})
    assert policy.at_source(Converter("q", latency=0.5), 10.0001, 10.0001).priority == 10.5001


def test_threads_of_operators_are_asked_for_by_name() -> None:
    assert not thread_per_operator({})
    assert thread_per_operator({"headway.scheduling.threads": "Operators"})
    with pytest.raises(InvalidOption, match=r"headway.scheduling.threads is 'many'; use one or operators"):
        thread_per_operator({"headway.scheduling.threads": "many"})


def test_the_length_of_an_epoch_is_a_setting() -> None:
    policy = make_policy("enjima", {"headway.scheduling.period": "5 ms"})
    assert policy.period == 0.005  # type: ignore[attr-defined]
    assert make_policy("enjima").period == 0.02  # type: ignore[attr-defined]
