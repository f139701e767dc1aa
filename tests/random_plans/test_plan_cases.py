"""Which rows must be kept, and that a case is the same after it was kept."""

from case_strategies import cases
from hypothesis import HealthCheck, given, settings
from plan_cases import Case, Step, disorder, from_json, must_keep


def step(partition: int, wait: bool, *times: int | None) -> Step:
    return Step(0, partition, wait, [[at, at] for at in times])


def kept(steps: list[Step], delay: int) -> list[list[int | None]]:
    return [[cells[0] for cells in step.rows] for step in must_keep(steps, delay)]


def test_rows_of_one_step_are_not_late_to_each_other() -> None:
    steps = [step(0, True, 10, 100, None), step(0, True, 95, 99, None, 200)]
    assert disorder(steps) == 5
    assert kept(steps, 5) == [[10, 100, None], [99, None, 200]]


def test_partitions_do_not_wait_for_each_other() -> None:
    steps = [step(0, False, 10), step(1, False, 100), step(1, True, 90), step(0, True, 200)]
    assert disorder(steps) == 90
    assert kept(steps, 50) == [[], [100], [90], [200]]


@settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_a_case_is_the_same_after_it_was_kept(case: Case) -> None:
    again = from_json(case.to_json())
    assert again.to_json() == case.to_json()
    assert disorder(again.steps) == disorder(case.steps)
