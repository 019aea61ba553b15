"""Client certificates of service accounts over real TLS: tokens are bound to them, and nobody else notices."""

import asyncio
import base64
import hashlib
import json
import os
import secrets
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from click.testing import Result
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import NameOID
from pydantic import SecretStr
from typer.testing import CliRunner

from gpuaas_cli.main import app
from gpuaas_sdk import (
    NO_RETRIES,
    Client,
    ClientCertificate,
    Conflict,
    GpuaasError,
    InvalidRequest,
    ServiceAccountCredentials,
    Unreachable,
)
from gpuaas_sdk.testing import RunningServer, Sandbox, free_port
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import keys, tls_authority
from gpuaas_server.pki.client_authority import client_certificate
from gpuaas_server.runtime import running_platform
from system_support.ledger import Ledger, until


@dataclass(frozen=True)
class Places:
    """The three listeners of one platform, by what they can carry."""

    sandbox: Sandbox
    plain_http: str
    https: str
    asking: str
    ca_file: Path


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    plain, asking = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with RunningServer.start(https_bind=plain, client_certificate_bind=asking) as server:
        ca_file = Path(server.environment["GPUAAS_DATA_DIR"]) / "tls" / "ca.crt"
        yield Places(Sandbox.create(server), server.url, f"https://{plain}", f"https://{asking}", ca_file)


@dataclass(frozen=True)
class Program:
    """A service account with the files that its program has."""

    places: Places
    id: str
    secret: str
    directory: Path

    def request(self, key: CertificateIssuerPrivateKeyTypes, name: str = "own") -> str:
        path = self.directory / f"{name}.key"
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        path.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "whatever it says")])
        algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, algorithm)
        return made.public_bytes(encoding).decode()

    def certify(self, name: str = "own") -> tuple[str, ClientCertificate]:
        """A new key, whose request is signed by the platform: the certificate's id, and its files."""
        request = self.request(ec.generate_private_key(ec.SECP256R1()), name)
        accounts, where = self.places.sandbox.admin.service_accounts, self.places.sandbox.project_id
        made = accounts.create_certificate(where, self.id, request)
        return made.id, self.keep(made.certificate, name)

    def keep(self, certificate_pem: str, name: str) -> ClientCertificate:
        path = self.directory / f"{name}.crt"
        path.write_text(certificate_pem)
        return ClientCertificate(path, self.directory / f"{name}.key")

    def context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.places.ca_file))
        if certificate is not None:
            context.load_cert_chain(str(certificate.certificate_file), str(certificate.key_file))
        return context

    def sign_in(self, url: str, certificate: ClientCertificate | None = None) -> httpx.Response:
        body = {"grant_type": "client_credentials", "client_id": self.id, "client_secret": self.secret}
        return httpx.post(f"{url}/api/v1/auth/token", json=body, verify=self.context(certificate), timeout=30)

    def use(self, token: str, url: str, certificate: ClientCertificate | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{url}/api/v1/me", headers=headers, verify=self.context(certificate), timeout=30)

    def require(self, required: bool = True) -> None:
        where = self.places.sandbox.project_id
        self.places.sandbox.admin.service_accounts.update(where, self.id, certificate_required=required)


@pytest.fixture
def program(places: Places, tmp_path: Path) -> Program:
    return new_program(places, tmp_path)


def new_program(places: Places, directory: Path) -> Program:
    accounts = places.sandbox.admin.service_accounts
    made = accounts.create(places.sandbox.project_id, f"robot {secrets.token_hex(3)}", ["projects:read"])
    return Program(places, made.id, made.key.secret, directory)


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def claims_of(token: str) -> dict[str, object]:
    payload = token.split(".")[1]
    found: dict[str, object] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return found


def thumbprint(certificate: ClientCertificate) -> str:
    made = x509.load_pem_x509_certificate(Path(certificate.certificate_file).read_bytes())
    digest = hashlib.sha256(made.public_bytes(serialization.Encoding.DER)).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


REQUIRED, REFUSED = (401, "client_certificate_required"), (401, "client_certificate_refused")


def test_a_token_got_with_a_certificate_works_with_it_and_with_nothing_else(
    places: Places, program: Program, tmp_path: Path
) -> None:
    _, own = program.certify()
    answer = program.sign_in(places.asking, own).json()
    token = answer["access_token"]
    assert claims_of(token)["cnf"] == {"x5t#S256": thumbprint(own)}
    assert answer["certificate_thumbprint"] == thumbprint(own)
    assert program.use(token, places.asking, own).status_code == 200
    assert code_of(program.use(token, places.asking)) == REQUIRED
    assert "showed no certificate" in program.use(token, places.asking).json()["detail"]
    for elsewhere in (places.https, places.plain_http):  # as behind a proxy that ends TLS
        refused = program.use(token, elsewhere, own)
        assert code_of(refused) == REQUIRED
        assert "cannot carry a client certificate" in refused.json()["detail"]
    (tmp_path / "other").mkdir()
    _, others = new_program(places, tmp_path / "other").certify()
    assert code_of(program.use(token, places.asking, others)) == REFUSED
    _, second = program.certify("second")
    assert code_of(program.use(token, places.asking, second)) == REFUSED, "another one of the same account"


def test_clients_without_a_certificate_are_served_as_ever_where_certificates_are_asked_for(
    places: Places, program: Program
) -> None:
    answer = program.sign_in(places.asking).json()
    assert answer["certificate_thumbprint"] is None
    assert "cnf" not in claims_of(answer["access_token"])
    for url in (places.asking, places.https, places.plain_http):
        assert program.use(answer["access_token"], url).status_code == 200
    person = Client(places.asking, credentials=places.sandbox.credentials("project_viewer"), ca_file=places.ca_file)
    with person:
        assert person.me.show().kind == "user"


def test_an_account_that_requires_a_certificate_is_refused_without_one_and_its_free_tokens_end(
    places: Places, program: Program
) -> None:
    free = program.sign_in(places.asking).json()["access_token"]
    _, own = program.certify()
    program.require()
    assert code_of(program.use(free, places.plain_http)) == REQUIRED
    assert code_of(program.use(free, places.asking, own)) == REQUIRED, "it is not bound"
    for url in (places.plain_http, places.https, places.asking):
        assert code_of(program.sign_in(url)) == REQUIRED
    bound = program.sign_in(places.asking, own).json()["access_token"]
    assert program.use(bound, places.asking, own).status_code == 200
    program.require(False)
    assert program.use(free, places.plain_http).status_code == 200
    trail = places.sandbox.admin.audit.list(tenant_id=places.sandbox.tenant_id, action="auth_token")
    assert any(row.outcome == "denied" and row.details.get("why") == "client_certificate_required" for row in trail), (
        "a refused sign-in is in the trail"
    )


def test_a_deleted_certificate_ends_its_tokens_and_others_live_on(places: Places, program: Program) -> None:
    first_id, first = program.certify("first")
    _, second = program.certify("second")
    tokens = [program.sign_in(places.asking, one).json()["access_token"] for one in (first, second)]
    accounts, where = places.sandbox.admin.service_accounts, places.sandbox.project_id
    assert [one.last_used_at is not None for one in accounts.certificates(where, program.id)] == [True, True]
    accounts.delete_certificate(where, program.id, first_id)
    assert code_of(program.use(tokens[0], places.asking, first)) == REFUSED
    assert code_of(program.sign_in(places.asking, first)) == REFUSED
    assert program.use(tokens[1], places.asking, second).status_code == 200
    actions = [
        row.action
        for row in places.sandbox.admin.audit.list(tenant_id=places.sandbox.tenant_id, resource_id=program.id)
    ]
    assert actions.count("service_account_certificate_create") == 2
    assert actions.count("service_account_certificate_delete") == 1


def test_forged_and_expired_certificates_are_refused_by_tls_and_plain_clients_go_on(
    places: Places, program: Program
) -> None:
    _, own = program.certify()
    genuine = x509.load_pem_x509_certificate(Path(own.certificate_file).read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    program.request(key, "bad")
    now, forger = utc_now(), ec.generate_private_key(ec.SECP256R1())
    forged_ca = tls_authority.certificate_of_authority(forger, now, "gpuaas client CA", path_length=0)
    until_then = now + timedelta(days=1)
    forged = client_certificate(forged_ca, forger, key.public_key(), program.id, now, until_then)
    authority = client_authority(places)
    assert isinstance(authority.private, ec.EllipticCurvePrivateKey)
    before = now - timedelta(days=2)
    expired = client_certificate(
        authority.certificate or "", authority.private, key.public_key(), program.id, before, now - timedelta(days=1)
    )
    assert expired.issuer == forged.issuer == genuine.issuer
    for bad in (forged, expired):
        files = program.keep(bad.public_bytes(serialization.Encoding.PEM).decode(), "bad")
        with pytest.raises(httpx.TransportError):  # in the handshake, so that there is no answer
            program.sign_in(places.asking, files)
        with Client(places.asking, token="any", ca_file=places.ca_file, certificate=files, retry=NO_RETRIES) as client:
            with pytest.raises(Unreachable, match="client certificate"):
                client.me.show()
        assert program.sign_in(places.asking).status_code == 200
    # Genuinely signed and in its time, and yet nobody registered it.
    stray = client_certificate(
        authority.certificate or "", authority.private, key.public_key(), program.id, now, until_then
    )
    files = program.keep(stray.public_bytes(serialization.Encoding.PEM).decode(), "bad")
    assert code_of(program.sign_in(places.asking, files)) == REFUSED


def client_authority(places: Places) -> keys.PlatformKey:
    """The platform's own client CA with its private side, as only its processes have it."""
    server = places.sandbox.server
    url = SecretStr(server.database_url())
    settings = Settings(data_dir=Path(server.environment["GPUAAS_DATA_DIR"]), database_url=url)

    async def read() -> keys.PlatformKey:
        async with running_platform(settings) as platform:
            return (await keys.live_keys(platform, "client_ca"))[-1]

    return asyncio.run(read())


def test_requests_with_weak_or_strange_keys_and_false_signatures_are_refused(places: Places, program: Program) -> None:
    accounts, where = places.sandbox.admin.service_accounts, places.sandbox.project_id
    for good in (ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)):
        made = accounts.create_certificate(where, program.id, program.request(good), days=1)
        assert program.sign_in(places.asking, program.keep(made.certificate, "own")).status_code == 200
    weak = program.request(rsa.generate_private_key(65537, 1024))  # noqa: S505 - that is the point
    curve = program.request(ec.generate_private_key(ec.SECP521R1()))
    body = program.request(ec.generate_private_key(ec.SECP256R1())).splitlines()
    false = "\n".join([*body[:-2], "A" * len(body[-2].rstrip("=")) + "=" * body[-2].count("="), body[-1]])
    for bad in (weak, curve, false, "-----BEGIN CERTIFICATE REQUEST-----" + "x" * 100):
        with pytest.raises(InvalidRequest) as refused:
            accounts.create_certificate(where, program.id, bad)
        assert refused.value.code == "certificate_request_invalid"


def test_the_sdk_renews_its_bound_token_by_itself(places: Places, program: Program) -> None:
    _, own = program.certify()
    program.require()
    credentials = ServiceAccountCredentials(program.id, program.secret)
    with Client(places.asking, credentials=credentials, ca_file=places.ca_file, certificate=own) as client:
        assert client.me.show().id == program.id
    with Client(places.asking, credentials=credentials, ca_file=places.ca_file) as client:
        with pytest.raises(GpuaasError) as refused:
            client.me.show()
    assert refused.value.code == "client_certificate_required"


def test_a_new_client_ca_signs_and_the_old_one_is_retired_only_by_force_while_its_certificates_are_used(
    places: Places, program: Program
) -> None:
    platform_keys = places.sandbox.admin.platform_keys
    _, old = program.certify("old")
    token = program.sign_in(places.asking, old).json()["access_token"]
    [before] = [key for key in platform_keys.list() if key.kind == "client_ca" and key.retired_at is None]
    platform_keys.rotate("client_ca", "the yearly rotation")
    Ledger(places.sandbox.server.database_url()).change("UPDATE platform_keys SET signs_from = created_at")
    _, new = program.certify("new")
    assert program.use(token, places.asking, old).status_code == 200, "both are trusted"
    until(lambda: is_taken(program, new), "the listener trusts the new CA")
    with pytest.raises(Conflict, match="in use"):
        platform_keys.retire(before.id, "replaced")
    platform_keys.retire(before.id, "replaced", force=True)
    until(lambda: not is_taken(program, old), "the old CA leads nowhere")
    assert is_taken(program, new)


def is_taken(program: Program, certificate: ClientCertificate) -> bool:
    try:
        return program.sign_in(program.places.asking, certificate).status_code == 200
    except httpx.TransportError:
        return False


def test_the_command_gets_a_certificate_signed_and_a_program_logs_in_with_it(
    places: Places, program: Program, tmp_path: Path
) -> None:
    sandbox = places.sandbox
    shell = Shell(tmp_path / "admin", {"GPUAAS_PROJECT": sandbox.project_id})
    shell.run(
        "login", sandbox.server.admin_email, "--server", places.plain_http, "--password-stdin", typed=admin(sandbox)
    )
    (program.directory / "ci.csr").write_text(program.request(ec.generate_private_key(ec.SECP256R1()), "ci"))
    files = {name: str(program.directory / name) for name in ("ci.csr", "ci.crt", "ci.key")}
    group = ("service-accounts", "certificates")
    shell.run(*group, "create", program.id, "--request", files["ci.csr"], "--out", files["ci.crt"], "--days", "7")
    [listed] = json.loads(shell.run(*group, "list", program.id, "-o", "json"))
    assert listed["thumbprint"] == thumbprint(ClientCertificate(files["ci.crt"]))
    shell.run(*group, "require", program.id, "--yes")
    assert "required" in shell.run("service-accounts", "show", program.id)
    robot = Shell(tmp_path / "robot", {"GPUAAS_CA_FILE": str(places.ca_file)})
    login = ("login", "--service-account", program.id, "--server", places.asking, "--password-stdin")
    assert "client_certificate_required" in robot.fail(*login, typed=program.secret)
    shown = ("--certificate", files["ci.crt"], "--certificate-key", files["ci.key"])
    robot.run(*login, *shown, typed=program.secret)
    assert program.id in robot.run("whoami"), "the certificate is remembered with the server"
    shell.run(*group, "delete", program.id, listed["id"], "--yes")
    assert "client_certificate_refused" in robot.fail("whoami")
    shell.run(*group, "make-optional", program.id)
    assert "optional" in shell.run("service-accounts", "show", program.id)


def admin(sandbox: Sandbox) -> str:
    return sandbox.server.admin_password


@dataclass(frozen=True)
class Shell:
    """Somebody's shell, with a configuration of their own."""

    home: Path
    variables: dict[str, str]

    def run(self, *arguments: str, typed: str = "") -> str:
        ended = self._run(arguments, typed)
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout

    def fail(self, *arguments: str, typed: str = "") -> str:
        ended = self._run(arguments, typed)
        assert ended.exit_code != 0, ended.stdout
        return ended.stderr

    def _run(self, arguments: tuple[str, ...], typed: str) -> Result:
        variables: dict[str, str | None] = {name: None for name in os.environ if name.startswith("GPUAAS_")}
        variables |= {**self.variables, "XDG_CONFIG_HOME": str(self.home)}
        return CliRunner().invoke(app, list(arguments), input=f"{typed}\n", env=variables, prog_name="gpuaas")
