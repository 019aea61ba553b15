"""The installer killed at every line, and run again."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sdk_support.artifact_stores import archive, artifact
from sdk_support.local_installer import ME, LocalInstaller, command_for

# Runs a request again and again, each time killed one line later than before, until it survives; then once more.
KILLED_AT_EACH_LINE = """
import os, sys
text, line, undo = sys.argv[1:]
space = {"__name__": "installer"}
exec(compile(text, "installer", "exec"), space)
names = {"installer", "host_files", "host_record", "host_streams", "host_downloads"}
def run(kill_at):
    seen = 0
    def trace(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename not in names:
            return None
        seen += event == "line"
        if seen == kill_at:
            os._exit(9)
        return trace
    child = os.fork()
    if child == 0:
        sys.settrace(trace)
        answer = space["answer"](line)
        os._exit(0 if "done" in answer else 7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
kills = 0
while (status := run(kills + 1)) == 9:
    kills += 1
    if undo and kills % 2:
        assert "done" in space["answer"](undo), kills
        assert os.listdir(os.path.dirname(os.environ["PLACE"])) == [], (kills, os.listdir(os.path.dirname(os.environ["PLACE"])))
print(kills, status, "done" in space["answer"](line))
"""


def killed_at_each_line(
    here: LocalInstaller, place: Path, request: dict[str, object], undo: dict[str, object] | None
) -> int:
    words = [sys.executable, "-c", KILLED_AT_EACH_LINE, command_for(here.records)[-1]]
    lines = [json.dumps({"instance": "ins_one", **one}) if one else "" for one in (request, undo)]
    done = subprocess.run(
        [*words, *lines], capture_output=True, text=True, env={**os.environ, "PLACE": str(place / "x")}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kills, status, again = done.stdout.split()
    assert (status, again) == ("0", "True")
    return int(kills)


REMOVE = {"action": "remove_all"}


def test_a_put_that_is_killed_anywhere_is_completed_or_undone_by_the_next_call(
    here: LocalInstaller, place: Path
) -> None:
    content = base64.b64encode(b"text").decode()
    put: dict[str, object] = {
        "action": "put",
        "path": str(place / "a/b"),
        "owner": ME,
        "mode": 0o600,
        "content": content,
    }
    assert killed_at_each_line(here, place, put, None) > 20
    assert ((place / "a/b").read_text(), os.listdir(place / "a")) == ("text", ["b"])
    assert killed_at_each_line(here, place, REMOVE, None) > 10
    assert (os.listdir(place), here.records.exists()) == ([], False)
    assert killed_at_each_line(here, place, put, REMOVE) > 20


def test_an_unpack_that_is_killed_anywhere_is_completed_or_undone_by_the_next_call(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    document = artifact(store, archive(("bin/run", b"one"), ("link", "bin/run"))).document
    unpack = {"action": "unpack", "path": str(place / "tool"), "owner": ME, "strip": 0, **document}
    assert killed_at_each_line(here, place, unpack, None) > 60
    assert ((place / "tool/bin/run").read_bytes(), os.listdir(place)) == (b"one", ["tool"])
    assert killed_at_each_line(here, place, REMOVE, None) > 10
    assert os.listdir(place) == []
    assert killed_at_each_line(here, place, unpack, REMOVE) > 60
