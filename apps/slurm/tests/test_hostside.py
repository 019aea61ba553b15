"""The programs for hosts, run by this machine's own Python: what they are told comes in, what they say comes out."""

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm.hostside import ask, ask_in_turn


class Here:
    """A host that is this machine, for programs that need no root."""

    address = "here"

    def __init__(self, path: str = os.environ["PATH"]) -> None:
        self._path, self.questions = path, 0

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        self.questions += 1
        environment = {**os.environ, "PATH": self._path}
        child = await asyncio.create_subprocess_exec(*argv, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        out, err = await asyncio.wait_for(child.communicate(f"{line}\n".encode()), timeout)
        assert (child.returncode, err) == (0, b"")
        return out.decode()


def host(here: Here) -> Host:
    return cast(Host, here)


def links(folder: Path, *names: str) -> dict[str, object]:
    return {"links": [{"path": str(folder / name), "target": "somewhere"} for name in names]}


async def test_several_programs_run_by_one_question_and_each_says_what_it_changed(tmp_path: Path) -> None:
    here = Here()
    first = ("apply", links(tmp_path, "one"))
    answers = await ask_in_turn(host(here), first, first, ("apply", links(tmp_path, "one", "two")))
    assert [answer["changed"] for answer in answers] == [[str(tmp_path / "one")], [], [str(tmp_path / "two")]]
    assert here.questions == 1


async def test_a_link_beside_a_library_is_made_where_the_library_is_whatever_the_machines_kind(tmp_path: Path) -> None:
    for kind in ("aarch64-linux-gnu", "another"):
        (tmp_path / kind / "pmix2").mkdir(parents=True)
    library = tmp_path / "aarch64-linux-gnu" / "pmix2" / "libpmix.so.2"
    library.touch()
    wish = {"links": [{"path": f"{tmp_path}/*/pmix2/libpmix.so", "target": "libpmix.so.2", "keep": True}]}
    answer, again = await ask_in_turn(host(Here()), ("apply", wish), ("apply", wish))
    assert (answer["changed"], again["changed"]) == ([str(library.with_name("libpmix.so"))], [])
    assert library.with_name("libpmix.so").resolve() == library


async def test_the_first_program_that_fails_ends_them_and_is_named(tmp_path: Path) -> None:
    impossible = {"users": [{"name": "root", "uid": 64100, "home": "/nowhere"}]}
    asked = [("apply", told) for told in (links(tmp_path, "one"), impossible, links(tmp_path, "two"))]
    with pytest.raises(Failed) as failed:
        await ask_in_turn(host(Here()), *asked)
    assert failed.value.failure.code == "apply_failed"
    assert "the account root is there with another number" in failed.value.failure.message
    assert os.listdir(tmp_path) == ["one"]


def scontrol(folder: Path, *states: str) -> Here:
    """Answers with one state after the other, the last one for ever, and writes down what it is asked for."""
    program = folder / "scontrol"
    said = [f"NodeName=w1 State={state} Reason=lost it [root@now]" for state in states]
    lines = "\n".join(f"{number}) echo '{line}' ;;" for number, line in enumerate(said))
    program.write_text(
        f'#!/bin/sh\ncd {folder}\necho "$@" >> asked\n[ $1 = -o ] || exit 0\n'
        f"seen=$(cat seen 2>/dev/null || echo 0)\ncase $seen in\n{lines}\nesac\n"
        f"[ $seen -ge {len(states) - 1} ] || echo $((seen + 1)) > seen\n"
    )
    program.chmod(0o755)
    return Here(f"{folder}:{os.environ['PATH']}")


async def test_a_node_has_joined_when_the_cluster_counts_on_it(tmp_path: Path) -> None:
    here = scontrol(tmp_path, "IDLE*+DYNAMIC_NORM", "DOWN+DYNAMIC_NORM", "IDLE+DYNAMIC_NORM")
    assert (await ask(host(here), "joined", {"nodes": ["w1"], "seconds": 10}))["joined"] == ["w1"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked.count("update nodename=w1 state=resume") == 1  # only of the one that was out of use


async def test_of_a_node_that_does_not_join_it_is_said_what_was_seen_last(tmp_path: Path) -> None:
    here = scontrol(tmp_path, "IDLE+DRAIN+DYNAMIC_NORM")
    answer = await ask(host(here), "joined", {"nodes": ["w1"], "seconds": 0.3})
    assert answer == {"joined": [], "seen": {"w1": "IDLE DRAIN lost it"}}


def slurm(folder: Path, node: str, jobs: str) -> Here:
    """A cluster of one node, and what its queue has on it."""
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
        ("true", "echo 7", ""),  # a node that there is not, whatever is elsewhere
        ("echo draining", "echo 7", "draining; jobs 7"),
        ("echo completing", "true", "completing"),
        ("echo drained", "echo 7; echo 8", "jobs 7, 8"),
    ],
)
async def test_what_still_runs_or_ends_on_a_node_is_named(tmp_path: Path, node: str, jobs: str, left: str) -> None:
    asked = {"node": "w1", "seconds": 0.2}
    assert (await ask(host(slurm(tmp_path, node, jobs)), "quiet", asked)) == {"left": left}


async def test_of_a_controller_that_does_not_answer_nothing_is_concluded(tmp_path: Path) -> None:
    here = slurm(tmp_path, "echo unable to contact >&2; exit 1", "true")
    with pytest.raises(Failed, match="unable to contact"):
        await ask(host(here), "quiet", {"node": "w1", "seconds": 5})
