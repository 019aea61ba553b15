"""Watches, reads and stops the unit of a container."""

import json
import re
import socket
import time

from host_commands import ENGINE, Failed, has_engine, run

PROPERTIES = ("ActiveState", "SubState", "Result", "MainPID", "NRestarts", "ExecMainStatus", "Job")
CRASHES = 3  # so many restarts while it is watched are a loop
STEADY_SECONDS, STEADY_WITH_PORTS = 2.0, 10.0
PAUSE, LINES = 0.2, 12
LONGEST_LINE = 2000  # the controller hides secrets in a line before it cuts it shorter: they must be whole
VERSION_LABEL, VERSION = "gpuaas.runtime_version", r"[0-9A-Za-z][0-9A-Za-z._+~:-]{0,63}"  # of an image: what it runs
ENGINE_FAILED = ("125", "126", "127")  # exit status of the engine itself, before the container's program ran


def show(unit):
    shown = run(["systemctl", "show", "--property=" + ",".join(PROPERTIES), unit]).stdout
    return dict(line.partition("=")[::2] for line in shown.splitlines())


def is_active(unit):
    return show(unit)["ActiveState"] == "active"


def restarts_of(state):
    return int(state["NRestarts"] or 0)


def watch(request):
    """{"unit", "ports", "seconds", "restarts"}: returns once the container runs: its ports answer, or it has run for a while.

    Restarts before these, of a container that was left alone, are no part of a crash loop.
    """
    unit, ports = request["unit"], request["ports"]
    deadline, steady_since, seen, ended_with = time.monotonic() + request["seconds"], 0.0, None, "?"
    while True:
        state = show(unit)
        waiting = state.get("Job", "") not in ("", "0")  # what is there now is still the one before
        if state["ActiveState"] in ("failed", "inactive") or state["SubState"] == "auto-restart":
            ended_with = state["ExecMainStatus"]  # a restart makes it 0 again
        if not waiting:
            refuse_failed(unit, state, ended_with, request["restarts"])
        runs = state["ActiveState"] == "active" and not waiting
        if not runs or state["MainPID"] != seen:
            steady_since, seen = time.monotonic(), state["MainPID"] if runs else None
        steady = time.monotonic() - steady_since
        enough = STEADY_WITH_PORTS if ports else STEADY_SECONDS
        if seen is not None and (steady >= enough or (ports and all(map(answers, ports)))):
            return status(request)
        if time.monotonic() > deadline:
            raise Failed(
                "container_start_timeout", f"the container has not started in {request['seconds']} s", log(unit)
            )
        time.sleep(PAUSE)


def refuse_failed(unit, state, ended_with, earlier_restarts):
    crashes = max(0, restarts_of(state) - earlier_restarts)
    ended = state["ActiveState"] in ("failed", "inactive")
    waits = state["SubState"] == "auto-restart"
    if not (ended or waits or crashes):
        return
    lines = log(unit)
    if (ended or waits) and state["ExecMainStatus"] in ENGINE_FAILED:
        refuse_engine_error(lines)
    if state["Result"] == "timeout" and ended:
        raise Failed("container_start_timeout", "the container did not start in time", lines)
    if crashes >= CRASHES or (ended and crashes and state["Result"] != "success"):
        times = f"the container ended {crashes + 1} times, last with status {ended_with}"
        raise Failed("crash_loop", times, lines)
    if ended:
        raise Failed("container_ended", f"the container ended with status {ended_with}", lines)


def refuse_engine_error(lines):
    said = [line for line in lines if line.startswith("Error: ")]
    if not said:
        return
    text = said[-1][len("Error: ") :]
    if re.search("address already in use", text):
        raise Failed("port_taken", text)
    if re.search("no space left", text):
        raise Failed("disk_full", text)
    if re.search("CDI device", text):  # the host's description of its GPUs is broken, or of another time
        raise Failed("gpu_missing", text)
    raise Failed("container_start_failed", text, lines[-3:])


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def log(unit):
    """Returns the last lines that the container and the engine wrote, without those of systemd."""
    command = ["journalctl", f"_SYSTEMD_UNIT={unit}", "--output=json", "--no-pager", f"--lines={LINES}"]
    found = []
    for line in run(command).stdout.splitlines():
        message = json.loads(line).get("MESSAGE")
        text = bytes(message).decode(errors="replace") if isinstance(message, list) else str(message)
        text = text.rstrip("\n")  # the engine's monitor leaves a line's end on it
        if text and not re.fullmatch("[0-9a-f]{64}", text):  # the engine prints the id of what it starts
            found.append(text[:LONGEST_LINE])
    return found


def status(request):
    state = show(request["unit"])
    form = f'--format={{{{.Id}}}} {{{{index .Config.Labels "{VERSION_LABEL}"}}}}'
    shown = run([ENGINE, "container", "inspect", form, request["unit"].rpartition(".")[0]])
    container, _, said = shown.stdout.strip().partition(" ")
    version = {"runtime_version": said} if re.fullmatch(VERSION, said) else {}
    return {
        **version,
        "unit": request["unit"],
        "state": state["ActiveState"],
        "restarts": restarts_of(state),
        "container": container[:12],
    }


def stop(request):
    """{"unit", "seconds"}: nothing runs, and no reboot starts it. The engine removes the container; volumes stay."""
    unit = request["unit"]
    run(["systemctl", "disable", "--quiet", unit])
    run(["systemctl", "stop", unit], request["seconds"])
    run(["systemctl", "reset-failed", unit])
    if has_engine():
        run([ENGINE, "rm", "--force", "--ignore", "--time=0", unit.rpartition(".")[0]])
    if show(unit)["ActiveState"] not in ("inactive", "failed"):
        raise Failed("stop_failed", f"{unit} does not stop", log(unit))
    return {}
