"""What the status program says of ended jobs where there is no accounting, from the lines of `jobcomp.lua`."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from gpuaas_slurm import layout, usage
from gpuaas_slurm.usage import EndedJobs

PROGRAM = files("gpuaas_slurm.hostside").joinpath("programs", "status.py").read_text()
START = 1_700_000_000


def line(number: int, ended: int = START + 60, cores: int = 4, gpus: int = 2) -> str:
    return f"{number} {START} {ended} {cores} {gpus}\n"


def ended(folder: Path, text: str, since: int = 0, squeue: str = '{"jobs": []}', before: str = "") -> EndedJobs:
    """What the program answers, with the files of completed jobs in this folder, read in small parts."""
    completed, program = folder / "completed-jobs", folder / "status"
    assert (PROGRAM.count(f'"{layout.COMPLETED_JOBS}"'), PROGRAM.count("CHUNK = 1 << 20")) == (1, 1)
    changed = PROGRAM.replace(layout.COMPLETED_JOBS, str(completed))
    program.write_text(changed.replace("CHUNK = 1 << 20", "CHUNK = 50"))
    for path, lines in ((completed, text), (folder / "completed-jobs.1", before)):
        if lines:
            path.write_text(lines)
    for name, said in (("sinfo", '{"nodes": []}'), ("squeue", squeue)):
        (folder / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    argv, request = [sys.executable, "-I", str(program), "local"], f"since {since}\n"
    answer = subprocess.run(argv, input=request, env=environment, capture_output=True, text=True, check=True).stdout
    found = usage.parse_ended_jobs(json.loads(answer)["ended"])
    assert found is not None
    return found


def numbers(found: EndedJobs) -> list[int]:
    return sorted(int(one.number) for one in found.jobs)


def test_a_job_counts_with_its_cores_and_gpus(tmp_path: Path) -> None:
    [job] = ended(tmp_path, line(7)).jobs
    assert (job.number, job.account, job.ended - job.started) == ("7", "", 60)
    assert (job.cpu_seconds, job.gpu_seconds) == (240, 120)


def test_before_the_first_job_has_ended_there_is_nothing_and_what_runs_is_counted(tmp_path: Path) -> None:
    queue = json.dumps({"jobs": [{"job_state": "RUNNING"}, {"job_state": "PENDING"}, {"job_state": "COMPLETING"}]})
    assert ended(tmp_path, "", squeue=queue) == EndedJobs((), False, 2)


def test_a_line_that_is_not_whole_yet_is_left_for_the_next_time(tmp_path: Path) -> None:
    assert numbers(ended(tmp_path, line(7) + "8 17000")) == [7]
    assert numbers(ended(tmp_path, line(7) + "nonsense here\n" + line(8))) == [7, 8]


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    """The first line's end would be late enough; it lies behind lines that are older than any late one."""
    hours = [line(number, START + 3600 * (number // 40)) for number in range(1, 400)]
    text = line(1000, START + 40_000) + "".join(hours)
    assert numbers(ended(tmp_path, text, since=START + 3600 * 9)) == list(range(360, 400))
    assert numbers(ended(tmp_path, text)) == [*range(1, 400), 1000]


def test_the_file_before_the_present_one_is_read_too(tmp_path: Path) -> None:
    assert numbers(ended(tmp_path, line(9), before=line(7) + line(8))) == [7, 8, 9]
