"""A process's time, when the wall clock is set."""

from headway.node.clock import Clock


class Times:
    def __init__(self) -> None:
        self.wall, self.even = 1_000_000.0, 50.0
        self.clock = Clock(lambda: self.wall, lambda: self.even)

    def after(self, seconds: float, set_by: float = 0.0) -> float:
        self.even += seconds
        self.wall += seconds + set_by
        return self.clock.now()


def test_it_is_the_wall_clock() -> None:
    assert Times().after(2.0) == 1_000_002.0


def test_forward_it_follows_at_once() -> None:
    assert Times().after(2.0, set_by=3600.0) == 1_003_602.0


def test_backward_it_goes_on_evenly() -> None:
    times = Times()
    assert times.after(1.0, set_by=-3600.0) == 1_000_001.0
    assert times.after(1.0) == 1_000_002.0
    assert times.after(1.0, set_by=3600.0) == 1_000_003.0, "once set right again, it agrees with the wall clock"


def test_a_process_that_is_held_up_between_two_looks_at_the_clock_is_not_ahead() -> None:
    true, held_up = [100.0], [0.0]

    def look() -> float:
        seen = true[0]
        true[0] += held_up[0]
        return seen

    clock = Clock(look, lambda: look() - 99.0)
    held_up[0] = 0.5
    clock.now()
    held_up[0] = 0.0
    assert clock.now() == true[0]
