"""Names what a member has on its host. The platform derives the same names for the footprint from the instance's id."""

import hashlib
from dataclasses import dataclass

UNITS = "/etc/systemd/system"
STATE = "/var/lib/gpuaas-containers"
_PREFIX = "gpuaas-"
_INSTANCE_PART, _MEMBER_PART = 10, 6  # the ends of ids: their beginnings are the time, which others share


@dataclass(frozen=True, slots=True)
class MemberNames:
    """`gpuaas-<instance>-<component>-<member>` is the name of the container, its network and its unit.

    `shared` is the name of what the members of an instance have together on a host, when their components are services.
    """

    name: str
    shared: str | None = None

    @classmethod
    def of(cls, instance_id: str, component_key: str, member_id: str, *, services: bool = False) -> "MemberNames":
        prefix = f"{_PREFIX}{instance_id[-_INSTANCE_PART:]}"
        return cls(f"{prefix}-{component_key}-{member_id[-_MEMBER_PART:]}", f"{prefix}-all" if services else None)

    @property
    def network(self) -> str:
        return self.shared or self.name

    @property
    def unit(self) -> str:
        return f"{self.name}.service"

    @property
    def unit_path(self) -> str:
        return f"{UNITS}/{self.unit}"

    @property
    def folder(self) -> str:
        return f"{STATE}/{self.name}"

    @property
    def meter_program(self) -> str:
        """The program that counts for the member; its settings and its state are beside it."""
        return f"{self.folder}/meter.py"

    @property
    def meter_settings(self) -> str:
        return f"{self.folder}/meter.json"

    @property
    def meter_state(self) -> str:
        return f"{self.folder}/meter-state.json"

    @property
    def meter(self) -> str:
        """The name of the unit and of the timer that count for the member."""
        return f"{self.name}-meter"

    @property
    def meter_unit_path(self) -> str:
        return f"{UNITS}/{self.meter}.service"

    @property
    def meter_timer_path(self) -> str:
        return f"{UNITS}/{self.meter}.timer"

    @property
    def environment_path(self) -> str:
        return f"{self.folder}/environment"

    @property
    def pull_folder(self) -> str:
        """Return where the engine keeps what it downloads, while it pulls the member's image."""
        return f"{self.folder}/pull"

    @property
    def signature_path(self) -> str:
        """Return where the host keeps the signature of the member's image that it found good."""
        return f"{self.folder}/signature.json"

    def file(self, digest: str, unpack: bool) -> str:
        """Returns where the host keeps a published file, or the content of an archive, that the container reads."""
        return f"{self.folder}/files/{digest.removeprefix('sha256:')[:32]}{'.content' if unpack else ''}"

    @property
    def image(self) -> str:
        """The name under which the host keeps the member's images; the tag is the beginning of the digest."""
        return f"localhost/{self.name}"

    @property
    def secrets(self) -> str:
        """The prefix of the engine's names for the member's secrets. They have no room for the component's key."""
        return f"{self.name[: len(_PREFIX) + _INSTANCE_PART]}-{self.name[-_MEMBER_PART:]}"

    def secret(self, key: str, version: int) -> str:
        """Returns the engine's name of one value of a secret; 64 characters are the most that it takes."""
        return f"{self.secrets}.{hashlib.sha256(key.encode()).hexdigest()[:12]}.{version}"

    @property
    def secrets_folder(self) -> str:
        """Return where the host keeps the values that the container reads as files, each under the engine's name for it."""
        return f"{self.folder}/secrets"

    def volume(self, key: str) -> str:
        """Returns the volume's name. A component's key has no dot, so that what is before a dot tells the member."""
        return f"{self.shared or self.name}.{key}"
