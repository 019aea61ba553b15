"""When host certificates are asked for again."""

from __future__ import annotations

from gpuaas_agent.certificate_schedule import LONGEST_LIFE, SHORTEST_LIFE, CertificateSchedule

HOUR = 3600.0


class Watch:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def due_after(schedule: CertificateSchedule, watch: Watch) -> float:
    begun = watch.at
    while not schedule.is_due:
        watch.at += 1
    return watch.at - begun


def test_what_an_earlier_agent_left_is_renewed_soon_after_the_start() -> None:
    watch = Watch()
    assert due_after(CertificateSchedule(watch), watch) == 60


def test_a_certificate_is_renewed_after_a_third_of_its_life() -> None:
    watch = Watch()
    schedule = CertificateSchedule(watch)
    for life, pause in ((LONGEST_LIFE, 8 * HOUR), (6 * HOUR, 2 * HOUR), (365 * LONGEST_LIFE, 8 * HOUR)):
        schedule.issued(life)
        schedule.done()
        assert due_after(schedule, watch) == pause


def test_one_that_lives_shorter_than_the_others_is_not_waited_for() -> None:
    watch = Watch()
    schedule = CertificateSchedule(watch)
    schedule.done()
    schedule.issued(HOUR)
    assert due_after(schedule, watch) == HOUR / 3


def test_what_failed_is_tried_again_soon_and_a_life_that_makes_no_sense_hurries_nobody() -> None:
    watch = Watch()
    schedule = CertificateSchedule(watch)
    schedule.failed()
    assert due_after(schedule, watch) == 60
    schedule.issued(-5.0)
    schedule.failed()
    assert due_after(schedule, watch) == SHORTEST_LIFE / 3
