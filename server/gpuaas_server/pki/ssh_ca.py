"""Signing SSH certificates. Pure: the caller brings the CA key, the serial and the time."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import SSHCertificateBuilder, SSHCertificateType

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.networks import parse_network
from gpuaas_server.pki.keys import PlatformKey
from gpuaas_server.pki.ssh_keys import PublicKey

LONGEST_USER_LIFE = timedelta(minutes=60)
HOST_CERTIFICATE_LIFE = timedelta(hours=24)  # agents ask for another after a third of it
SSH_CLOCK_SLACK = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    public_key: PublicKey
    serial: int
    key_id: str
    principals: tuple[str, ...]
    valid_after: datetime
    valid_before: datetime
    # Of a user certificate: from where it may be used. It needs at least one, unless it is meant to work from everywhere.
    sources: tuple[str, ...] = ()
    from_everywhere: bool = False
    # Of a user certificate: the only command that sshd runs for it, whatever is asked for; None: any.
    command: str | None = None


def sign_user_certificate(authority: PlatformKey, wanted: CertificateRequest) -> str:
    """Sign a login certificate: a terminal and port forwarding; no agent or X11 forwarding, no rc files. One for a single
    command has neither. Without a source it is signed only where that is said.
    """
    if wanted.valid_before - wanted.valid_after > LONGEST_USER_LIFE + SSH_CLOCK_SLACK:
        raise ValueError("a user certificate lives an hour at most")
    if bool(wanted.sources) == wanted.from_everywhere:
        raise ValueError("a user certificate works from its sources, or is said to work from everywhere")
    builder = _builder(SSHCertificateType.USER, wanted)
    if wanted.sources:
        builder = builder.add_critical_option(b"source-address", source_list(wanted.sources).encode())
    if wanted.command is not None:
        return _sign(builder.add_critical_option(b"force-command", wanted.command.encode()), authority)
    builder = builder.add_extension(b"permit-port-forwarding", b"").add_extension(b"permit-pty", b"")
    return _sign(builder, authority)


def sign_host_certificate(authority: PlatformKey, wanted: CertificateRequest) -> str:
    return _sign(_builder(SSHCertificateType.HOST, wanted), authority)


def source_list(sources: Sequence[str]) -> str:
    """Write the sources as sshd reads them: networks, separated by commas; an address is a network of its own."""
    return ",".join(str(parse_network(source)) for source in sources)


def _builder(kind: SSHCertificateType, wanted: CertificateRequest) -> SSHCertificateBuilder:
    return (
        SSHCertificateBuilder()
        .type(kind)
        .public_key(wanted.public_key)
        .serial(wanted.serial)
        .key_id(wanted.key_id.encode())
        .valid_principals([principal.encode() for principal in wanted.principals])
        .valid_after(int(wanted.valid_after.timestamp()))
        .valid_before(int(wanted.valid_before.timestamp()))
    )


def _sign(builder: SSHCertificateBuilder, authority: PlatformKey) -> str:
    if not isinstance(authority.private, Ed25519PrivateKey):
        raise TypeError("an SSH authority has an Ed25519 key")
    return builder.sign(authority.private).public_bytes().decode()
