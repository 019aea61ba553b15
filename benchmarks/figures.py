"""The results of a benchmark: figures with their limits, and the size of a run."""

from dataclasses import dataclass, field
from math import isnan
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure without a `limit` is for information; with `at_least` False the limit is a maximum."""

    name: str
    value: float
    unit: str = ""
    limit: float | None = None
    at_least: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        if isnan(self.value):
            return "NOT MEASURED"
        if self.limit is None:
            return "info"
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if met else "MISSED"

    @property
    def shown(self) -> str:
        if isnan(self.value):
            return "–"
        digits = 0 if abs(self.value) >= 100 else 1 if abs(self.value) >= 10 else 3
        return f"{self.value:.{digits}f} {self.unit}".rstrip()

    @property
    def shown_limit(self) -> str:
        if self.limit is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a run. `quick` only proves that the harness works; its figures mean nothing."""

    quick: bool = False
    rounds: int = 5
    seconds: float = 5.0
    nodes: int = 10_000
    agents: int = 10_000
    task_rate: int = 200
    task_seconds: float = 20.0
    idle_seconds: float = 30.0
    instances: int = 10_000
    watchers: int = 2_000
    cycles: int = 100_000
    blob_gib: int = 10

    @staticmethod
    def smoke() -> "Size":
        return Size(True, 1, 0.3, 1000, 20, 20, 0.5, 0.5, 200, 20, 40)


@dataclass(slots=True)
class Series:
    """Named measurements, one per round; a figure is the median of the rounds."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.rounds.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return median(self.rounds[name])

    def least(self, name: str) -> float:
        """The cheapest round, for costs that are nearly alike: whatever else the machine does only ever adds to one."""
        return min(self.rounds[name])

    def ratio(self, name: str, peer: str) -> float:
        """The median of the ratios of each round: what disturbs a whole round disturbs both sides of it."""
        pairs = zip(self.rounds[name], self.rounds[peer], strict=True)
        return median(value / against for value, against in pairs if against)

    def spread(self, name: str) -> str:
        values = self.rounds[name]
        return f"{min(values):.0f}…{max(values):.0f}/s"
