"""Work that may block shares threads, and each one's own tasks keep their order."""

import threading

from headway.threads import Lane, Threads


def test_tasks_of_a_lane_keep_their_order_and_never_overlap() -> None:
    threads = Threads("test")
    done = threading.Event()
    taken: list[int] = []
    inside = threading.Lock()

    def work(task: int | None) -> None:
        assert inside.acquire(blocking=False)
        if task is not None:
            taken.append(task)
            if task == 999:
                done.set()
        inside.release()

    lane = Lane(threads, work)
    for task in range(1000):
        lane.put(task)
    assert done.wait(30)
    assert taken == list(range(1000))


def test_a_lane_tells_when_there_is_no_more_for_now() -> None:
    idle = threading.Event()
    Lane(Threads("test"), lambda task: idle.set() if task is None else None).put(1)
    assert idle.wait(30)


def test_one_that_blocks_delays_no_other() -> None:
    threads = Threads("test")
    held, went_on = threading.Event(), threading.Event()
    Lane(threads, lambda task: held.wait(30) if task is not None else None).put(1)  # type: ignore[func-returns-value]
    Lane(threads, lambda task: went_on.set()).put(1)
    assert went_on.wait(30)
    held.set()


def test_a_thousand_one_after_the_other_need_one_thread() -> None:
    threads = Threads("test")
    for _ in range(1000):
        done = threading.Event()
        threads.run(done.set)
        assert done.wait(30)
    assert threads.running <= 2


def test_no_more_than_the_most_run_at_once() -> None:
    threads = Threads("test", most=3)
    held = threading.Event()
    counted = threading.Semaphore(0)

    def work() -> None:
        held.wait(30)
        counted.release()

    for _ in range(20):
        threads.run(work)
    assert threads.running == 3
    held.set()
    for _ in range(20):
        assert counted.acquire(timeout=30)


def test_what_raises_does_not_end_the_thread_for_others() -> None:
    threads = Threads("test", most=1)
    done = threading.Event()

    def fail() -> None:
        raise ValueError("a bad task")

    threads.run(fail)
    threads.run(done.set)
    assert done.wait(30)


def test_threads_end_when_there_is_nothing_to_do() -> None:
    threads = Threads("test", keep=0.0)
    names: list[threading.Thread] = []
    threads.run(lambda: names.append(threading.current_thread()))
    while not names:
        threading.Event().wait(0.001)
    names[0].join(30)
    assert threads.running == 0
