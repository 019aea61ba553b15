"""What a check has found, and the table of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN = 5  # violations in words, of each invariant


@dataclass
class Finding:
    """An invariant, how often it was looked at, and where it does not hold."""

    invariant: str
    checked: int = 0
    violations: list[str] = field(default_factory=list)

    def expect(self, holds: bool, violation: str) -> None:
        self.checked += 1
        if not holds:
            self.violations.append(violation)


def table(findings: Iterable[Finding]) -> str:
    """Invariant, checked, violations; and the first few of those in words."""
    lines = [f"{'invariant':<34}{'checked':>9}{'violations':>12}"]
    for finding in findings:
        lines.append(f"{finding.invariant:<34}{finding.checked:>9}{len(finding.violations):>12}")
        lines += [f"    {violation}" for violation in finding.violations[:SHOWN]]
    return "\n".join(lines)
