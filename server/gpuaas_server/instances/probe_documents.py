"""The probes of a member as JSON columns keep them: what its host runs, and what it says of them."""

from typing import TypedDict


class ProbeDocument(TypedDict):
    """A probe as the member's host gets it."""

    key: str
    kind: str
    purpose: list[str]
    port: int | None
    path: str | None
    expected_status: list[int]
    unit: str | None
    interval_seconds: int
    timeout_seconds: int
    start_period_seconds: int
    failures: int
    successes: int


class WatchDocument(TypedDict):
    """The probes that a member's host runs, as the newest task says; without probes, it runs none any more."""

    generation: int  # of the task
    operation_id: str  # the one that the member became ready by, or is to
    since: str
    probes: list[ProbeDocument]


class ProbeStateDocument(TypedDict):
    status: str  # pending, passing, failing
    since: str
    answer: str


class ProbeReportDocument(TypedDict):
    """The document holds what the member's host last said of its probes, by their keys. A tenant may control the host: this is
    no proof.
    """

    generation: int  # of the task that it is about
    states: dict[str, ProbeStateDocument]
