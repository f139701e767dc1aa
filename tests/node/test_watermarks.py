"""Watermarks at a step and where inputs meet; time is an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.node.message import Watermark
from headway.node.watermarks import InputWatermark, SourceWatermark, combine

values = st.none() | st.integers(0, 100)
ONE, OTHER = ("a", 0), ("a", 1)


@given(st.lists(st.tuples(values, st.booleans()), min_size=1))
def test_combine_is_the_least_of_the_active_or_the_highest_of_the_idle(inputs: list[tuple[int | None, bool]]) -> None:
    value, idle = combine(inputs)
    active = [v for v, is_idle in inputs if not is_idle]
    assert idle == (not active)
    if active:
        assert value == (None if None in active else min(v for v in active if v is not None))
    else:
        assert value == max((v for v, _ in inputs if v is not None), default=None)


class TestSourceWatermark:
    def test_the_slowest_partition_counts(self) -> None:
        watermark = SourceWatermark(delay_us=10, idle_after=5.0)
        for partition in (ONE, OTHER):
            watermark.expect(partition, now=0.0)
        watermark.observe(ONE, 100, read=1.0, in_round=False)
        assert watermark.current() == (None, False)
        watermark.observe(OTHER, 60, read=2.0, in_round=False)
        assert watermark.current() == (50, False)

    def test_a_silent_partition_does_not_hold_back_the_others(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.expect(OTHER, now=0.0)
        watermark.observe(ONE, 100, read=99.0, in_round=False)
        assert watermark.current() == (None, False)
        watermark.silence(OTHER)
        assert watermark.current() == (100, False)

    def test_a_partition_that_speaks_again_is_waited_for(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=1.0, in_round=False)
        watermark.silence(OTHER)
        watermark.observe(OTHER, 110, read=9.0, in_round=False)
        watermark.observe(ONE, 200, read=9.0, in_round=False)
        assert watermark.current() == (110, False)

    def test_in_rounds_a_partition_is_silent_that_had_nothing_for_a_while(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        for round, found in enumerate((0.0, 3.0, 6.0), 1):
            watermark.observe(ONE, 100 + round, read=found, in_round=True)
            if round == 1:
                watermark.observe(OTHER, 50, read=found, in_round=True)
            watermark.end_round("a", (("s", round),), {"s": round}, found)
            assert watermark.current() == (50 if round < 3 else 103, False)

    def test_a_partition_whose_rows_have_no_event_time_is_silent(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        for now in (0.0, 2.0, 4.0, 6.0):
            watermark.observe(ONE, 100, read=now, in_round=False)
            watermark.observe(OTHER, None, read=now, in_round=False)
            assert watermark.current() == (None if now < 5.0 else 100, False)

    def test_when_all_are_silent_the_highest_counts(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=False)
        watermark.observe(OTHER, 60, read=0.0, in_round=False)
        assert watermark.current() == (60, False)
        watermark.silence(ONE)
        watermark.silence(OTHER)
        assert watermark.current() == (100, True)

    def test_a_source_that_has_given_all_is_silent_until_its_next_round(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=True)
        watermark.observe(OTHER, 60, read=0.0, in_round=True)
        watermark.end_round("a", (("s", 1),), {"s": 1}, found=0.0)
        assert watermark.current() == (60, False)
        watermark.end_round("a", (("s", 1),), {"s": 1}, found=1.0, idle=True)
        assert watermark.current() == (100, True)
        watermark.observe(OTHER, 120, read=2.0, in_round=True)
        watermark.end_round("a", (("s", 2),), {"s": 2}, found=2.0)
        assert watermark.current() == (100, False)

    def test_it_never_goes_back(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=False)
        assert watermark.current() == (100, False)
        watermark.observe(OTHER, 10, read=0.0, in_round=False)
        assert watermark.current() == (100, False)

    def test_rows_of_a_round_count_when_it_ends(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=True)
        assert watermark.current() == (None, True)
        watermark.end_round("a", (("s", 1),), {"s": 1}, found=0.0)
        assert watermark.current() == (100, False)

    def test_a_stream_that_comes_twice_ends_its_round_twice(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=True)
        watermark.end_round("a", (("s", 2),), {"s": 1}, found=0.0)
        watermark.observe(ONE, 200, read=0.0, in_round=True)
        assert watermark.current() == (None, True)
        watermark.observe(("b", 0), 90, read=0.0, in_round=True)
        watermark.end_round("b", (("s", 2),), {"s": 2}, found=0.0, idle=True)
        assert watermark.current() == (100, False)

    def test_rounds_of_another_source_end_nothing(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.observe(ONE, 100, read=0.0, in_round=True)
        watermark.end_round("b", (("t", 7),), {"s": 1, "t": 7}, found=0.0)
        assert watermark.current() == (None, True)

    def test_it_goes_on_from_a_checkpoint(self) -> None:
        watermark = SourceWatermark(delay_us=0, idle_after=5.0)
        watermark.restore(70)
        watermark.observe(ONE, 20, read=0.0, in_round=False)
        assert watermark.current() == (70, False)


class TestInputWatermark:
    def test_nothing_is_known_before_all_channels_spoke(self) -> None:
        inputs = InputWatermark("ab")
        assert not inputs.update("a", Watermark(5, False))
        assert inputs.current.value is None
        assert inputs.update("b", Watermark(7, False))
        assert inputs.current.value == 5

    def test_an_idle_channel_does_not_count(self) -> None:
        inputs = InputWatermark("ab")
        inputs.update("a", Watermark(5, False))
        inputs.update("b", Watermark(None, True))
        assert inputs.current == Watermark(5, False)

    def test_a_channel_comes_in_rounds_from_its_first_on(self) -> None:
        inputs = InputWatermark("ab")
        inputs.update("a", Watermark(None, False, (("s", 1),)))
        assert inputs.in_rounds("a")
        assert not inputs.in_rounds("b")

    def test_a_round_counts_when_all_are_through_it(self) -> None:
        inputs = InputWatermark("ab")
        for channel in "ab":
            inputs.update(channel, Watermark(None, False, (("s", 1),)))
        inputs.update("a", Watermark(100, False, (("s", 2),)))
        assert inputs.current.value is None
        inputs.update("b", Watermark(None, True, (("s", 2),)))
        assert inputs.current == Watermark(100, False, (("s", 2),))

    def test_rounds_of_different_sources_do_not_wait_for_each_other(self) -> None:
        inputs = InputWatermark("ab")
        inputs.update("a", Watermark(10, False, (("s", 9),)))
        inputs.update("b", Watermark(20, False, (("t", 1),)))
        assert inputs.current == Watermark(10, False, (("s", 9), ("t", 1)))

    @given(st.lists(st.tuples(st.sampled_from("abc"), values, st.booleans())))
    def test_it_never_goes_back(self, told: list[tuple[str, int | None, bool]]) -> None:
        inputs = InputWatermark("abc")
        before = None
        for channel, value, idle in told:
            inputs.update(channel, Watermark(value, idle))
            now = inputs.current.value
            assert before is None or (now is not None and now >= before)
            before = now

    def test_it_goes_on_from_a_checkpoint(self) -> None:
        inputs = InputWatermark("a")
        inputs.restore(50)
        inputs.update("a", Watermark(40, False))
        assert inputs.current.value == 50


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_order_in_which_channels_end_a_round_does_not_matter(order: str) -> None:
    inputs = InputWatermark("ab")
    told = {"a": Watermark(30, False, (("s", 1),)), "b": Watermark(20, False, (("s", 1),))}
    for channel in order:
        inputs.update(channel, told[channel])
    assert inputs.current.value == 20


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 50), st.floats(0.0, 3.0), st.sampled_from("oores")), max_size=40
    )
)
def test_what_is_remembered_is_what_would_be_computed(events: list[tuple[int, int, float, str]]) -> None:
    """o: rows, r: rows of a round, e: its end, s: silence. Asked now and then, or all the time afresh: the same."""
    kept, fresh = SourceWatermark(2, 5.0), SourceWatermark(2, 5.0)
    now = 0.0
    for partition, highest, passed, kind in events:
        now += passed
        fresh._holds = False
        for watermark in (kept, fresh):
            if kind == "e":
                watermark.end_round("a", (("s", 1),), {"s": 1}, now, idle=highest > 40)
            elif kind == "s":
                watermark.silence(("a", partition))
            elif kind == "o" or highest > 25:
                watermark.observe(("a", partition), highest, now, in_round=kind == "r")
            else:
                watermark.expect(("a", partition), now)
        fresh._holds = False
        assert kept.current() == fresh.current()
