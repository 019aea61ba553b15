"""What a member has on its host, by name. The platform derives the same names for the footprint from the instance's id."""

from dataclasses import dataclass

UNITS = "/etc/systemd/system"
STATE = "/var/lib/gpuaas-containers"
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
        prefix = f"gpuaas-{instance_id[-_INSTANCE_PART:]}"
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
    def environment_path(self) -> str:
        return f"{self.folder}/environment"

    def file(self, digest: str, unpack: bool) -> str:
        """Where the host keeps a published file, or the content of an archive, that the container reads."""
        return f"{self.folder}/files/{digest.removeprefix('sha256:')[:32]}{'.content' if unpack else ''}"

    @property
    def image(self) -> str:
        """The name under which the host keeps the member's images; the tag is the beginning of the digest."""
        return f"localhost/{self.name}"

    def volume(self, key: str) -> str:
        """A dot is in no component's key, so that the volumes of a member are known by what is before it."""
        return f"{self.shared or self.name}.{key}"
