"""The errors of the lab; each message says what to do next.

Every error that a caller of the lab may see is a `LabError`.
"""


class LabError(Exception):
    """The lab cannot do this; the message says why and what to do."""


class RequirementMissing(LabError):
    """This machine lacks something that the lab needs."""

    def __init__(self, missing: list[str]) -> None:
        super().__init__("this machine cannot run lab hosts:\n  - " + "\n  - ".join(missing))
        self.missing = missing


class FleetExists(LabError):
    """Another fleet of this name is running."""


class FleetNotFound(LabError):
    """No fleet of this name is running."""


class FleetInUse(LabError):
    """The fleet belongs to a running process, which must end it itself."""


class HostPoweredOff(LabError):
    """The host has no running system to talk to."""


class CommandFailed(LabError):
    """A command ended with another status than 0."""

    def __init__(self, argv: list[str], returncode: int, output: str) -> None:
        shown = output.strip()[-2000:]
        super().__init__(f"{' '.join(argv)!r} ended with status {returncode}: {shown}")
        self.argv = argv
        self.returncode = returncode
        self.output = output


class DeadlinePassed(LabError):
    """A wait reached its deadline."""
