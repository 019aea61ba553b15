"""The pull of an image as a host's program makes it, with an engine that does as told: one at a time, and with one deadline."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from gpuaas_containers.hostside import command_of

DIGEST = f"sha256:{'1' * 64}"
REFERENCE = f"registry.test/team/web@{DIGEST}"
HANG = 60.0
# `images` lists what was pulled. A pull takes a while, and fails if somebody takes its folders away meanwhile.
ENGINE = """#!/bin/sh
folder={folder}
case "$1" in
images) cat "$folder/listed" ;;
pull)
    echo pull >>"$folder/pulls"
    for one in "$@"; do case "$one" in --cert-dir=*) trust=${{one#--cert-dir=}} ;; esac; done
    touch "$TMPDIR/blob-$$"
    ls "$trust" >>"$folder/trusted"
    sleep {seconds}
    [ -e "$TMPDIR/blob-$$" ] && [ -d "$trust" ] || {{ echo "its folders are gone" >&2; exit 125; }}
    printf '[{{"Id": "1", "Digest": "{digest}", "RepoDigests": ["{reference}"]}}]' >"$folder/listed" ;;
esac
"""
# The host's folders are in one of the test, and the check of the signature takes as long as told.
MAIN = """
import json, subprocess, sys, time
import host_images
folder, request = sys.argv[1], json.loads(sys.argv[2])
host_images.ENGINE, host_images.STORAGE = f"{folder}/engine", folder
host_images.trust_folder = lambda name: f"{folder}/trust"
host_images.refuse_filling = host_images.refuse_without_room = lambda *_: None
host_images.verify = lambda *_: time.sleep(request["verify_seconds"])
began = time.monotonic()
try:
    answer = {"done": host_images.pull(request)}
except host_images.Failed as failed:
    answer = {"failed": failed.code, "message": str(failed)}
except subprocess.TimeoutExpired:
    answer = {"failed": "container_start_timeout"}
print(json.dumps({**answer, "seconds": time.monotonic() - began}))
"""


def make_engine(folder: Path, seconds: float) -> None:
    program = folder / "engine"
    program.write_text(ENGINE.format(folder=folder, seconds=seconds, digest=DIGEST, reference=REFERENCE))
    program.chmod(0o755)
    (folder / "listed").write_text("[]")


def begin(folder: Path, seconds: float = HANG, verify_seconds: float = 0, trust: str = "") -> subprocess.Popen[str]:
    request = {
        "name": "localhost/gpuaas/web", "digest": DIGEST, "reference": REFERENCE, "registry": "registry.test",
        "username": "", "password": "", "tls": True, "trust": [trust] if trust else [], "size": 1,
        "folder": str(folder / "downloads"), "seconds": seconds, "verify_seconds": verify_seconds,
    }  # fmt: skip
    return subprocess.Popen([*command_of(MAIN), str(folder), json.dumps(request)], stdout=subprocess.PIPE, text=True)


def answer_of(running: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = running.communicate(timeout=HANG)
    found: dict[str, Any] = json.loads(out)
    return found


def wait_for_pull(folder: Path) -> None:
    deadline = time.monotonic() + HANG
    while not (folder / "trusted").exists():
        assert time.monotonic() < deadline, "no pull has begun"
        time.sleep(0.02)


def left_in(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()} - {"engine", "listed", "pulls", "trusted"}


def test_a_pull_that_is_resumed_waits_for_the_one_that_still_runs_and_uses_its_image(tmp_path: Path) -> None:
    make_engine(tmp_path, 2)
    first = begin(tmp_path, trust="authority")
    wait_for_pull(tmp_path)
    others = [begin(tmp_path, trust="authority") for _ in range(2)]
    answers = [answer_of(one) for one in (first, *others)]
    assert [one.get("failed") for one in answers] == [None] * 3, answers
    assert (tmp_path / "pulls").read_text().split() == ["pull"]
    assert left_in(tmp_path) == set()


def test_a_pull_waits_for_another_until_its_deadline_and_harms_nothing(tmp_path: Path) -> None:
    make_engine(tmp_path, 4)
    first = begin(tmp_path)
    wait_for_pull(tmp_path)
    late = answer_of(begin(tmp_path, seconds=1))
    assert late["failed"] == "container_start_timeout"
    assert "earlier pull" in late["message"]
    assert "done" in answer_of(first)
    assert left_in(tmp_path) == set()


def test_the_check_of_the_signature_and_the_pull_have_one_deadline(tmp_path: Path) -> None:
    make_engine(tmp_path, HANG)
    late = answer_of(begin(tmp_path, seconds=4, verify_seconds=3))
    assert late["failed"] == "container_start_timeout"
    assert late["seconds"] < 6.5
    assert left_in(tmp_path) == set()


def test_a_pull_after_a_killed_program_trusts_no_authority_of_that_one(tmp_path: Path) -> None:
    make_engine(tmp_path, 0)
    for name in ("trust/platform.crt", "downloads/part"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("of a program that was killed")
    assert "done" in answer_of(begin(tmp_path))
    assert (tmp_path / "trusted").read_text() == ""
    assert left_in(tmp_path) == set()


def test_a_pull_whose_folders_a_removal_took_leaves_those_of_the_next_pull(tmp_path: Path) -> None:
    make_engine(tmp_path, 2)
    first = begin(tmp_path)
    wait_for_pull(tmp_path)
    for name in ("trust", "downloads"):
        (tmp_path / name).rename(tmp_path / f"{name}.removed")
    (tmp_path / "trusted").unlink()
    second = begin(tmp_path)
    assert answer_of(first)["failed"] == "image_pull_failed"
    assert "done" in answer_of(second)
