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
        ("volumes: [{type: tmpfs, target: /x}]", "The type is volume"),
        ("volumes: ['data:/x', 'data:/y']", "twice"),
        ("volumes: ['unknown:/x']", "no volume unknown"),
        ("tmpfs: /tmp", "temporary already"),
        ("secrets: [key]", "not delivered"),
        ("gpus: all\ndeploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}", "reserved once"),
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
        ("healthcheck: {test: [CMD, curl, 'http://localhost/']}", "system's; publish another"),
        ("ports: ['8080:80', '8081:80']", "published twice"),
        ("depends_on: [web]", "depends on itself: web → web"),
        ("user: postgres", "names are the image's own"),
        ('command: ["$(id)"]', "write $$"),
        ("working_dir: ${HOME}", "image's own"),
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
        "has the volume data on another allocation; a volume is on one.",
    ]


def test_services_of_one_allocation_share_neither_ports_of_the_host_nor_gpus() -> None:
    one = f"image: 'web@{DIGESTS[0]}', gpus: 1, ports: ['8080:80']"
    messages = [fault.message for fault in lint(f"services: {{a: {{{one}}}, b: {{{one}}}}}").faults]
    assert len(messages) == 2
    assert any("has the host's port 8080 already" in message for message in messages)
    assert any("has the GPUs of the same allocation" in message for message in messages)


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
