"""Development: which files count, what a change concerns, and what its versions are called."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from gpuaas_compose.compose_file import refuse_files
from gpuaas_compose.development import (
    Build,
    changed_services,
    development_slug,
    development_version,
    is_changed,
    is_same_place,
    with_images,
)
from gpuaas_compose.file_watch import FileWatch
from gpuaas_compose.lint import lint_folder, lint_texts
from gpuaas_compose.service_logs import service_of

DIGESTS = [f"sha256:{number:064x}" for number in range(1, 5)]
APP = 'app: 1\nslug: notes\ndisplay_name: Notes\nversion: 0.1.0-rc.1\nruntime_version: "1"\n'
COMPOSE = f"services:\n  web: {{image: 'web@{DIGESTS[0]}', ports: ['8080:80']}}\n  db: {{image: 'db@{DIGESTS[1]}'}}\n"
LONGEST = 30.0


def build(compose: str = COMPOSE, app: str = APP, **archived: str) -> Build:
    linted = lint_texts(app, compose, "compose.yaml", refuse_files)
    assert linted.app is not None, linted.faults
    return with_images(linted.app, linted.services, archived)


def test_a_change_concerns_the_services_whose_containers_differ() -> None:
    running = build()
    assert not is_changed(running, build("# a remark\n" + COMPOSE))
    assert changed_services(running, build(COMPOSE.replace("8080", "8081"))) == ["web"]
    assert changed_services(running, build(db=DIGESTS[2])) == ["db"], "the archive has another image"
    described = build(app=APP + "description: Something else\n")
    assert (is_changed(running, described), changed_services(running, described)) == (True, [])


def test_another_service_or_allocation_is_no_upgrade() -> None:
    running = build()
    assert is_same_place(running, build(COMPOSE.replace("8080", "8081")))
    assert not is_same_place(running, build(COMPOSE + f"  new: {{image: 'new@{DIGESTS[2]}'}}\n"))
    assert not is_same_place(running, build(app=APP + "allocations: {one: [web], two: [db]}\n"))


def test_versions_rise_and_stay_below_the_release() -> None:
    assert development_version("0.1.0-rc.1", 1790000000, 12) == "0.1.0-dev.t1790000000.12"
    assert development_slug("a" * 40, "prj_01m7f81xage15rhw01dexynkp5") == f"{'a' * 29}-dev-xynkp5"
    assert build().manifest("notes-dev-x", "0.1.0-dev.1.1")["display_name"] == "Notes (development)"


def test_a_line_is_the_service_s_whose_unit_wrote_it() -> None:
    services = {"ad7fy1": "cache", "ppqz61": "web"}
    assert service_of("gpuaas-65vnzm54fy-cache-ad7fy1.service", services) == "cache"
    assert service_of("gpuaas-65vnzm54fy-web-ppqz61", services) == "web"
    assert service_of("kernel", services) == "kernel"


def test_one_allocation_takes_all_services(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(APP + "allocations: {one: [web], two: [db]}\nimages: {web: web.tar}\n")
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    linted = lint_folder(tmp_path, one_allocation=True)
    assert linted.app is not None
    assert Build(linted.app, linted.services).places == {"web": "main", "db": "main"}
    assert {"app.yaml", "compose.yaml", "docker-compose.yml", "web.tar"} <= set(linted.files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.yaml").write_text("a")
    return tmp_path


def test_a_file_that_is_replaced_made_or_removed_is_noticed(folder: Path) -> None:
    with FileWatch() as watch:
        assert watch.watch(folder, ["app.yaml", "images/web.tar"])
        assert not watch.watch(folder, ["app.yaml", "images/web.tar"]), "nothing is new"
        (folder / "other").write_text("b")
        os.replace(folder / "other", folder / "app.yaml")
        assert watch.wait(LONGEST) == {folder / "app.yaml"}
        (folder / "images").mkdir()
        assert watch.wait(LONGEST) == {folder / "images"}
        assert watch.watch(folder, ["app.yaml", "images/web.tar"]), "its folder can be watched now"
        (folder / "images/web.tar").write_text("c")
        assert watch.wait(LONGEST) == {folder / "images/web.tar"}
        shutil.rmtree(folder / "images")
        assert folder / "images/web.tar" in watch.wait(LONGEST)


def test_other_files_and_files_outside_are_not_noticed(folder: Path) -> None:
    with FileWatch() as watch:
        watch.watch(folder, ["app.yaml", "../outside"])
        (folder / "log").write_text("x")
        (folder.parent / "outside").write_text("x")
        assert watch.wait(0.2) == frozenset()


def test_a_wait_ends_with_the_change(folder: Path) -> None:
    with FileWatch() as watch:
        watch.watch(folder, ["app.yaml"])
        later = threading.Timer(0.2, (folder / "app.yaml").write_text, ["b"])
        later.start()
        assert watch.wait(LONGEST) == {folder / "app.yaml"}
        later.join()
