"""What a folder says: all faults at once with their lines, or a manifest that the platform's own schema takes."""

from pathlib import Path

import pytest
import yaml

from gpuaas_compose.compose_file import refuse_files
from gpuaas_compose.environment import FileRefused
from gpuaas_compose.lint import Lint, inside, lint_folder, lint_texts, read_inside
from gpuaas_compose.yaml_text import LARGEST_TEXT

HERE = Path(__file__).parent
DIGESTS = [f"sha256:{number:064x}" for number in range(1, 9)]
APP = """
app: 1
slug: notes
display_name: Notes
version: 0.1.0
runtime_version: "1"
"""
SPREAD = (
    APP
    + """
allocations: {front: [web, cache], data: [db]}
inputs: {type: object, additionalProperties: false, properties: {title: {type: string}}}
endpoints: [{key: page, label: Page, service: web, port: 80, path: /start}]
probes: {db: {port: 5432}}
metering:
  tokens: {service: web, port: 9100, metric: "web:tokens_total", labels: {kind: out}, description: Tokens}
  queries: {unit: query, service: db, port: 9187, path: /counters, metric: queries_total}
"""
)
COMPOSE = f"""
x-limits: &limits {{deploy: {{resources: {{limits: {{cpus: "0.5", memory: 512m, pids: 64}}}}}}}}
services:
  web:
    <<: *limits
    image: registry.example.com/web:1@{DIGESTS[0]}
    entrypoint: [/bin/serve]
    command: --title ${{title}} --price $$5
    environment: {{TITLE: "${{title}}", PORT: 80}}
    ports: ["8080:80"]
    depends_on: {{db: {{condition: service_healthy}}, cache: {{}}}}
    healthcheck: {{test: "curl -fsS http://localhost/healthz || exit 1", interval: 1m30s, timeout: 2s, retries: 5}}
    restart: unless-stopped
    stop_grace_period: 20s
  cache:
    image: cache@{DIGESTS[1]}
    expose: [6379]
    read_only: true
    user: "1000:2000"
    healthcheck: {{test: [CMD, nc, -z, cache, "6379"]}}
  db:
    image: db@{DIGESTS[2]}
    env_file: db.env
    expose: ["5432/tcp"]
    volumes: ["data:/var/lib/db"]
    healthcheck: {{test: [CMD-SHELL, "pg_isready -U postgres"], interval: 5s}}
    shm_size: 256m
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 2, capabilities: [gpu]}}]}}}}}}
volumes: {{data: }}
"""


def lint(compose: str, app: str = APP) -> Lint:
    return lint_texts(app, compose, "compose.yaml", refuse_files)


def service(lines: str, app: str = APP) -> list[str]:
    """Lint an app of one service with these further lines, and return the messages."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    found = lint(f"services:\n  web:\n    image: web@{DIGESTS[0]}\n{indented}volumes: {{data: }}\n", app)
    return [fault.message for fault in found.faults]


def test_every_fault_of_both_files_is_listed_with_its_line() -> None:
    listed = "".join(f"{fault}\n" for fault in lint_folder(HERE / "hostile").faults)
    assert listed == (HERE / "golden/hostile.txt").read_text()


def test_a_folder_becomes_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(SPREAD)
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    (tmp_path / "db.env").write_text("# of the database\nexport MODE='strict mode'\nEMPTY=\n")
    linted = lint_folder(tmp_path)
    assert linted.faults == ()
    assert linted.manifest == yaml.safe_load((HERE / "golden/manifest.yaml").read_text())


def test_the_example_lacks_nothing_but_the_digests_of_images() -> None:
    faults = lint_folder(HERE.parent / "gpuaas_compose/example").faults
    assert [fault.path for fault in faults] == ["services.web.image", "services.store.image"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("volumes: ['data:/data:z']", "NAME:PATH"),
        ("volumes: [{type: bind, source: /etc, target: /x}]", "never a folder of the host"),
        ("volumes: [{type: tmpfs, target: /x}]", "The type must be volume"),
        ("volumes: ['data:/x', 'data:/y']", "twice"),
        ("volumes: ['unknown:/x']", "no volume unknown"),
        ("tmpfs: /tmp", "temporary already"),
        ("secrets: [key]", "no secret key"),
        (
            "gpus: all\ndeploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}",
            "Reserve GPUs only once",
        ),
        ("cpus: 2\ndeploy: {resources: {limits: {cpus: 2}}}", "already"),
        ("environment: {MODE: true}", "Quote it"),
        ('environment: {LINES: "a\\nb"}', "one line"),
        ("environment: {NVIDIA_VISIBLE_DEVICES: all}", "The platform sets"),
        ("image: again", "twice"),
        (
            "healthcheck: {test: [CMD-SHELL, 'curl -f http://localhost:8080/ && rm -rf /']}",
            "A host cannot run this test",
        ),
        ("healthcheck: {test: [CMD, curl, -d, x, 'http://localhost:8080/']}", "A host cannot run this test"),
        ("healthcheck: {test: [CMD, curl, 'http://169.254.169.254/']}", "A host cannot run this test"),
        ("healthcheck: {test: [CMD, curl, 'http://localhost/']}", "belong to the system; publish another"),
        ("ports: ['8080:80', '8081:80']", "published twice"),
        ("depends_on: [web]", "depends on itself: web → web"),
        ("user: postgres", "only the image knows its user names"),
        ('command: ["$(id)"]', "write $$"),
        ("working_dir: ${HOME}", "The image sets it"),
        ("build: ../..", "inside the app's folder"),
        ("build: {context: ., dockerfile: /etc/passwd}", "inside the app's folder"),
        ("user: '１０００'", "only the image knows its user names"),
    ],
)
def test_what_is_refused_says_why(lines: str, said: str) -> None:
    assert any(said in message for message in service(lines)), service(lines)


@pytest.mark.parametrize(
    "test",
    ["wget -q --spider http://web:8080/up", "curl -sf http://127.0.0.1:8080/up || false", "curl localhost:8080/up"],
)
def test_common_healthchecks_become_probes(test: str) -> None:
    manifest = lint(f"services: {{web: {{image: 'web@{DIGESTS[0]}', healthcheck: {{test: '{test}'}}}}}}").manifest
    assert manifest is not None
    assert isinstance(manifest["probes"], list)
    probe = manifest["probes"][0]
    assert (probe["kind"], probe["port"], probe["path"]) == ("http", 8080, "/up")


def test_services_of_different_allocations_share_no_volume_and_need_ports() -> None:
    app = APP + "allocations: {one: [web], two: [db]}\n"
    compose = f"""
services:
  web: {{image: "web@{DIGESTS[0]}", depends_on: [db], volumes: ["data:/data"], ports: ["8080:8080"]}}
  db: {{image: "db@{DIGESTS[1]}", volumes: ["data:/data"]}}
volumes: {{data: }}
"""
    assert [fault.message.split(" ", 1)[1] for fault in lint(compose, app).faults] == [
        "is on another allocation and has no port; name it in its ports or expose.",
        "uses the volume data on another allocation; a volume is on one allocation.",
    ]


def test_services_of_one_allocation_share_neither_ports_of_the_host_nor_all_gpus() -> None:
    one = f"image: 'web@{DIGESTS[0]}', gpus: all, ports: ['8080:80']"
    messages = [fault.message for fault in lint(f"services: {{a: {{{one}}}, b: {{{one}}}}}").faults]
    assert len(messages) == 2
    assert any("has the host's port 8080 already" in message for message in messages)
    assert any("has GPUs of the same allocation, so neither can have all" in message for message in messages)


@pytest.mark.parametrize(("gpus", "faults"), [((1, 2), 0), ((1, "all"), 1), (("all", 1), 1)])
def test_services_of_one_allocation_have_numbers_of_gpus(gpus: tuple[object, object], faults: int) -> None:
    services = (
        f"{name}: {{image: 'web@{DIGESTS[0]}', gpus: {wanted}}}" for name, wanted in zip("ab", gpus, strict=True)
    )
    checked = lint(f"services: {{{', '.join(services)}}}")
    assert len(checked.faults) == faults
    if gpus == (1, 2):
        assert checked.manifest is not None
        assert isinstance(checked.manifest["components"], list)
        assert [one["compatibility"] for one in checked.manifest["components"]] == [{"min_gpu_count": 3}] * 2


def test_files_are_read_only_inside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (tmp_path / "outside").write_text("PASSWORD=x")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "large").write_bytes(b"x" * (LARGEST_TEXT + 1))
    (folder / "bytes").write_bytes(b"\xff\xfe")
    for name in ("../outside", "/etc/passwd", "link", ".", "a/../../outside", "~/x", "absent"):
        with pytest.raises(FileRefused):
            inside(folder, name)
    for name in ("large", "bytes"):
        with pytest.raises(FileRefused):
            read_inside(folder, name)


SECRETS = f"""
services:
  web:
    image: web@{DIGESTS[0]}
    secrets: [token, {{source: password, target: /etc/app/password}}, {{source: password, target: db}}]
secrets:
  token: {{environment: TOKEN_OF_MY_SHELL}}
  password: {{file: ./password}}
"""


def test_secrets_are_references_and_their_values_are_never_read() -> None:
    app = APP + "secrets: {password: {source: generated, length: 24}}\n"
    manifest = lint(SECRETS, app).manifest
    assert manifest is not None
    assert manifest["secrets"] == [
        {"key": "token", "source": "given"},
        {"key": "password", "source": "generated", "length": 24},
    ]
    assert isinstance(manifest["components"], list)
    assert manifest["components"][0]["runtime_profile"]["secrets"] == [
        {"secret": "token", "path": "/run/secrets/token"},
        {"secret": "password", "path": "/etc/app/password"},
        {"secret": "password", "path": "/run/secrets/db"},
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("secrets: {token: {}}", "must be a list"),
        ("secrets: [ghost]", "no secret ghost"),
        ("secrets: [token, token]", "something else at /run/secrets/token"),
        ("secrets: [{source: token, target: ../x}]", "must be absolute, without . and .."),
        ("secrets: [{source: token, target: /proc/x}]", "/proc belongs to the system"),
        ("secrets: [{source: token, mode: 0444}]", "mode is refused"),
        ("secrets: [{source: token, target: /data}]\nvolumes: ['data:/data']", "something else at /data"),
        ("read_only: true", "No service reads this secret"),
    ],
)
def test_a_secret_that_leads_nowhere_is_refused(lines: str, said: str) -> None:
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    compose = f"services:\n  web:\n    image: web@{DIGESTS[0]}\n{indented}volumes: {{data: }}\nsecrets: {{token: }}\n"
    assert any(said in fault.message for fault in lint(compose).faults), lint(compose).faults


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("token: {value: hunter2}", "never published"),
        ("token: {source: elsewhere}", "given or generated"),
        ("token: {source: given, length: 20}", "A given secret has no length"),
        ("token: {source: generated, length: 4}", "from 16 to 4096"),
        ("ghost: {source: generated}", "No service has the secret ghost"),
    ],
)
def test_an_app_file_says_where_values_come_from_and_has_none(field: str, said: str) -> None:
    messages = [fault.message for fault in lint(SECRETS, f"{APP}secrets: {{{field}}}\n").faults]
    assert any(said in message for message in messages), messages
    assert not any("hunter2" in message for message in messages)
