"""The programs for hosts, run with this machine's Python."""

import asyncio
import hashlib
import io
import os
import tarfile
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm.hostside import run_program, run_programs


class Here:
    """A host that is this machine, for programs that need no root."""

    address = "here"

    def __init__(self, path: str = os.environ["PATH"]) -> None:
        self._path, self.requests = path, 0

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        self.requests += 1
        environment = {**os.environ, "PATH": self._path}
        child = await asyncio.create_subprocess_exec(*argv, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        out, err = await asyncio.wait_for(child.communicate(f"{line}\n".encode()), timeout)
        assert (child.returncode, err) == (0, b"")
        return out.decode()


def host(here: Here) -> Host:
    return cast(Host, here)


def links(folder: Path, *names: str) -> dict[str, object]:
    return {"links": [{"path": str(folder / name), "target": "somewhere"} for name in names]}


async def test_several_programs_run_with_one_request_and_each_reports_its_changes(tmp_path: Path) -> None:
    here = Here()
    first = ("apply", links(tmp_path, "one"))
    answers = await run_programs(host(here), first, first, ("apply", links(tmp_path, "one", "two")))
    assert [answer["changed"] for answer in answers] == [[str(tmp_path / "one")], [], [str(tmp_path / "two")]]
    assert here.requests == 1


async def test_a_link_to_a_library_is_made_in_the_folder_of_any_architecture(tmp_path: Path) -> None:
    for kind in ("aarch64-linux-gnu", "another"):
        (tmp_path / kind / "pmix2").mkdir(parents=True)
    library = tmp_path / "aarch64-linux-gnu" / "pmix2" / "libpmix.so.2"
    library.touch()
    links_at_libraries = {"links": [{"path": f"{tmp_path}/*/pmix2/libpmix.so", "target": "libpmix.so.2", "keep": True}]}
    answer, again = await run_programs(host(Here()), ("apply", links_at_libraries), ("apply", links_at_libraries))
    assert (answer["changed"], again["changed"]) == ([str(library.with_name("libpmix.so"))], [])
    assert library.with_name("libpmix.so").resolve() == library


async def test_the_first_program_that_fails_ends_the_list_and_is_named(tmp_path: Path) -> None:
    impossible = {"users": [{"name": "root", "uid": 64100, "home": "/nowhere"}]}
    calls = [("apply", value) for value in (links(tmp_path, "one"), impossible, links(tmp_path, "two"))]
    with pytest.raises(Failed) as failed:
        await run_programs(host(Here()), *calls)
    assert failed.value.failure.code == "apply_failed"
    assert "the account root exists with another uid" in failed.value.failure.message
    assert os.listdir(tmp_path) == ["one"]


def scontrol(folder: Path, *states: str) -> Here:
    """A scontrol that answers with one state after the other, repeats the last, and records its arguments."""
    program = folder / "scontrol"
    lines_of_states = [f"NodeName=w1 State={state} Reason=lost it [root@now]" for state in states]
    lines = "\n".join(f"{number}) echo '{line}' ;;" for number, line in enumerate(lines_of_states))
    program.write_text(
        f'#!/bin/sh\ncd {folder}\necho "$@" >> calls\n[ $1 = -o ] || exit 0\n'
        f"seen=$(cat seen 2>/dev/null || echo 0)\ncase $seen in\n{lines}\nesac\n"
        f"[ $seen -ge {len(states) - 1} ] || echo $((seen + 1)) > seen\n"
    )
    program.chmod(0o755)
    return Here(f"{folder}:{os.environ['PATH']}")


async def test_a_node_has_joined_when_the_cluster_can_use_it(tmp_path: Path) -> None:
    here = scontrol(tmp_path, "IDLE*+DYNAMIC_NORM", "DOWN+DYNAMIC_NORM", "IDLE+DYNAMIC_NORM")
    assert (await run_program(host(here), "wait_joined", {"nodes": ["w1"], "seconds": 10}))["joined"] == ["w1"]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls.count("update nodename=w1 state=resume") == 1  # only while the node was down


async def test_a_node_that_does_not_join_is_reported_with_its_last_state(tmp_path: Path) -> None:
    here = scontrol(tmp_path, "IDLE+DRAIN+DYNAMIC_NORM")
    answer = await run_program(host(here), "wait_joined", {"nodes": ["w1"], "seconds": 0.3})
    assert answer == {"joined": [], "seen": {"w1": "IDLE DRAIN lost it"}}


def slurm(folder: Path, node: str, jobs: str) -> Here:
    """A cluster of one node and its queue."""
    for name, answer in (("sinfo", node), ("squeue", jobs)):
        program = folder / name
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o755)
    return Here(f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("node", "jobs", "left"),
    [
        ("echo drained", "true", ""),
        ("echo idle*", "true", ""),
        ("true", "echo 7", ""),  # an unknown node, whatever runs elsewhere
        ("echo draining", "echo 7", "draining; jobs 7"),
        ("echo completing", "true", "completing"),
        ("echo drained", "echo 7; echo 8", "jobs 7, 8"),
    ],
)
async def test_jobs_that_still_run_or_end_on_a_node_are_named(tmp_path: Path, node: str, jobs: str, left: str) -> None:
    request = {"node": "w1", "seconds": 0.2}
    assert (await run_program(host(slurm(tmp_path, node, jobs)), "wait_idle", request)) == {"left": left}


async def test_without_an_answering_controller_nothing_is_concluded(tmp_path: Path) -> None:
    here = slurm(tmp_path, "echo unable to contact >&2; exit 1", "true")
    with pytest.raises(Failed, match="unable to contact"):
        await run_program(host(here), "wait_idle", {"node": "w1", "seconds": 5})


@pytest.mark.parametrize("mode", ["w:gz", "w"])
async def test_a_bundle_that_becomes_larger_when_it_is_unpacked_is_refused(tmp_path: Path, mode: str) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        entry = tarfile.TarInfo("tool.deb")
        if mode == "w":  # a sparse file of 1 GiB without any content
            entry.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 30), "GNU.sparse.numblocks": "1"}
        archive.addfile(entry)
    bundle = tmp_path / "bundle.tar"
    bundle.write_bytes(packed.getvalue())
    digest = f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"
    request = {
        "folder": str(tmp_path),
        "mode": "artifact",
        "digest": digest,
        "wanted": ["no-such"],
        "bundle": str(bundle),
    }
    with pytest.raises(Failed, match=r"not a tar archive, or is compressed|other than packages"):
        await run_program(host(Here()), "packages", request)
    assert not (tmp_path / "source").exists()
