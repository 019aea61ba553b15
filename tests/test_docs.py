"""The documentation is true: links resolve, commands exist, the tutorial runs, generated parts are current."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import pytest
import typer

from gpuaas_cli.main import app
from gpuaas_lab import cli as lab_cli
from gpuaas_sdk import GpuaasError
from gpuaas_sdk.testing import Sandbox
from gpuaas_server import main as server_cli
from gpuaas_server.identity.rules import SCOPES
from system_support.documents import REPOSITORY, Example, anchors, examples, links, pages, simple_commands
from system_support.reader import ADDRESS, Reader
from system_support.server import RunningServer

TUTORIAL = REPOSITORY / "docs/tutorial/first-allocation.md"
CLUSTER_TUTORIAL = REPOSITORY / "docs/tutorial/first-cluster.md"
APP_TUTORIAL = REPOSITORY / "docs/tutorial/write-an-app.md"
ALL_EXAMPLES = [example for page in pages() for example in examples(page)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [link for link in links(page) if not _resolves(page, link)]
    assert not broken, f"{page.relative_to(REPOSITORY)} links to {broken}"


def test_every_file_that_the_guide_for_contributors_names_exists() -> None:
    """A name may begin anywhere below the root: `kernel/ids.py`. One with a placeholder is left out."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    files = [f"/{name}" for name in listed.split()]
    named = set(re.findall(r"`([\w./-]+\.(?:py|tsx?|md|tsv|json|sql))`", (REPOSITORY / "CONTRIBUTING.md").read_text()))
    assert sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files)) == []


def test_the_page_about_programs_explains_every_scope() -> None:
    page = (REPOSITORY / "docs/howto/give-a-program-access.md").read_text()
    explained = re.findall(r"^\| `([a-z]+:[a-z]+)` \|", page, re.MULTILINE)
    assert sorted(explained) == sorted(SCOPES), "docs/howto/give-a-program-access.md has a row for each scope"


def _resolves(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True  # another site: not ours to check
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("example", ALL_EXAMPLES, ids=str)
def test_every_command_shown_exists(example: Example) -> None:
    for words in simple_commands(example.command):
        program, arguments = Path(words[0]).name, words[1:]
        if program in ("python", "python3") and arguments[:1] == ["-m"]:
            program, arguments = arguments[1], arguments[2:]
        if program in CHECKS:
            CHECKS[program](arguments)


def _check_typer(application: typer.Typer, arguments: list[str]) -> None:
    """Parse with the Typer application, down to the last command, and run nothing."""
    command: Any = typer.main.get_command(application)
    name = "command"
    while hasattr(command, "resolve_command"):
        if arguments == ["--help"]:
            return
        context = command.make_context(name, list(arguments))
        rest = [*getattr(context, "_protected_args", []), *context.args]
        name, command, arguments = command.resolve_command(context, rest)
        assert command is not None, f"there is no command {name}"
    if "--help" in arguments:
        return
    with ExitStack() as files:
        for parameter in command.params:  # the reader's files are not here
            files.enter_context(patch.object(parameter.type_descriptor.parameter_info, "exists", False))
        command.make_context(name, list(arguments))


def _check_make(arguments: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(arguments) <= targets, f"no such make target: {set(arguments) - targets}"


def _check_by_help(module: str) -> Callable[[list[str]], None]:
    """For programs whose parser is inside their main function: the options must be in the help text."""

    def check(arguments: list[str]) -> None:
        shown = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
        given = {word.partition("=")[0] for word in arguments if word.startswith("--")}
        known = set(re.findall(r"--[a-z-]+", shown.stdout))
        assert given <= known, f"{module} has no {given - known}"

    return check


CHECKS: dict[str, Callable[[list[str]], object]] = {
    "gpuaas": partial(_check_typer, app),
    "gpuaas-lab": partial(_check_typer, lab_cli.app),
    "gpuaas-server": lambda arguments: server_cli._parser().parse_args(arguments),
    "gpuaas-sim-agent": _check_by_help("gpuaas_agent.sim"),
    "gpuaas_agent.sim": _check_by_help("gpuaas_agent.sim"),
    "gpuaas-agent": _check_by_help("gpuaas_agent"),
    "gpuaas_agent": _check_by_help("gpuaas_agent"),
    "gpuaas_lab.demo": _check_by_help("gpuaas_lab.demo"),
    "make": _check_make,
}


def test_the_check_of_commands_finds_wrong_ones() -> None:
    for wrong in ("gpuaas allocations give-back", "gpuaas nodes list --nonsense", "make nothing"):
        [[program, *arguments]] = simple_commands(wrong)
        with pytest.raises((typer.TyperException, AssertionError)):
            CHECKS[program](arguments)


@pytest.mark.parametrize("drawing", ["state-diagram", "import-graph"])
def test_what_is_drawn_is_what_the_code_says(drawing: str) -> None:
    check = [sys.executable, str(REPOSITORY / "tools" / drawing), "--check"]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_no_page_is_long() -> None:
    generated = {"docs/reference", "contract"}
    for page in pages():
        where = str(page.relative_to(REPOSITORY))
        if where.startswith("docs/") and not any(where.startswith(one) for one in generated):
            written = re.sub(r"(?s)<!-- generated by .*?<!-- end of what is generated -->", "", page.read_text())
            assert len(written.splitlines()) <= 125, f"{where} is too long to be read"


def _acme(sandbox: Sandbox) -> None:
    """What `make up` prepares."""
    admin = sandbox.admin
    try:
        tenant = admin.tenants.create("acme", "Acme Research")
        admin.projects.create(tenant.id, "training", "Model training")
    except GpuaasError as error:
        if error.code != "already_exists":
            raise


def test_the_tutorial_does_what_it_says(sandbox: Sandbox, server: RunningServer, tmp_path: Path) -> None:
    _acme(sandbox)
    reader = Reader(tmp_path, server.url, server.admin_password)
    with sandbox.simulated_fleet(2, "--delay-ms", "50", first_index=9200):
        for example in examples(TUTORIAL):
            if not example.mark.startswith("needs:"):
                reader.follow(example)
        reader.finish()


@pytest.mark.lab
@pytest.mark.timeout(600)
def test_the_tutorial_does_what_it_says_on_real_hosts(up: "Up", tmp_path: Path) -> None:
    reader = Reader(tmp_path, up.url, up.password)
    for example in examples(TUTORIAL):
        if example.mark != "needs: a terminal of its own":
            reader.follow(example)
    reader.finish()


@pytest.mark.lab
@pytest.mark.timeout(600)
@pytest.mark.parametrize("tutorial", [CLUSTER_TUTORIAL, APP_TUTORIAL], ids=lambda page: page.stem)
def test_the_tutorials_about_apps_do_what_they_say_on_real_hosts(tutorial: Path, up: "Up", tmp_path: Path) -> None:
    reader = Reader(tmp_path, up.url, up.password, REPOSITORY)
    for example in examples(tutorial):
        reader.follow(example)
    reader.finish()


@pytest.mark.lab
@pytest.mark.timeout(600)
def test_the_commands_that_make_up_prints_for_its_cluster_work(up: "Up", tmp_path: Path) -> None:
    reader = Reader(tmp_path, up.url, up.password, REPOSITORY)
    reader.follow(Example(TUTORIAL, 0, f"gpuaas login admin@gpuaas.local --server {ADDRESS}", ""))
    reader.follow(Example(TUTORIAL, 0, "gpuaas config set project acme/training", ""))
    for name, shown in {
        "nodes": "w2 1 main* idle",
        "run": up.host,
        "run on gpus": "CUDA_VISIBLE_DEVICES=0",
        "submit": "Submitted batch job …",
        "queue": "JOBID PARTITION …",
    }.items():
        reader.follow(Example(TUTORIAL, 0, up.command(name), "", [shown]))


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Up]":
    """Each reader leaves things as they were, so one `make up` is enough for all."""
    with _make_up(tmp_path_factory.mktemp("up")) as made:
        yield made


@dataclass
class Up:
    """What `make up` has said, from its first line to its last."""

    process: int
    said: str

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, self.said, re.MULTILINE)
        if found is None:
            _give_up(self.said)
        return found[1]

    @property
    def url(self) -> str:
        return self._find(r"API +(http\S+)/api/v1")

    @property
    def password(self) -> str:
        return self._find(r"password (\S+) +\(shown once\)")

    @property
    def host(self) -> str:
        """How the names of its hosts begin."""
        return f"demo-{self.process}-"

    def command(self, name: str) -> str:
        return self._find(rf"^  {name} +(\.venv/bin/gpuaas .+)$")


@contextmanager
def _make_up(folder: Path) -> Iterator[Up]:
    """What `make up` runs, on data of its own."""
    environment = {**os.environ, "GPUAAS_DATA_DIR": str(folder / "var"), "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    folder.chmod(0o755)
    command = [sys.executable, "-m", "gpuaas_lab.demo", "--stay"]
    up = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    said = ""
    try:
        for line in up.stdout:
            said += line
            if " log " in line:
                break
        else:
            _give_up(said)
        yield Up(up.pid, said)
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=90)


def _give_up(said: str) -> NoReturn:
    pytest.fail(f"make up did not come up:\n{said}")


def test_every_direct_dependency_says_why_it_is_here() -> None:
    explained = set(
        re.findall(r"^\| `([\w-]+)` \|", (REPOSITORY / "docs/decisions/0009-dependencies.md").read_text(), re.M)
    )
    listed = set()
    for name in ("runtime", "dev", "parts", "node"):
        lines = (REPOSITORY / f"requirements/{name}.in").read_text().splitlines()
        listed |= {re.split(r"[\[<>=~! ]", line)[0] for line in lines if line and not line.startswith(("#", "-"))}
    assert explained == listed


def test_every_page_is_in_the_index() -> None:
    index = {link.partition("#")[0] for link in links(REPOSITORY / "docs/README.md")}
    own = {str(page.relative_to(REPOSITORY / "docs")) for page in (REPOSITORY / "docs").rglob("*.md")}
    assert own - index == {"README.md"}


def test_the_index_gives_each_decision_its_title() -> None:
    index = (REPOSITORY / "docs/README.md").read_text()
    for page in sorted((REPOSITORY / "docs/decisions").glob("*.md")):
        number, title = page.read_text().split("\n", 1)[0].removeprefix("# ").split(" ", 1)
        assert f"| [{number}](decisions/{page.name}) | {title}" in index
