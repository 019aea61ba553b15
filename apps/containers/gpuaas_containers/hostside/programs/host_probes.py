"""Waits until a container passes its readiness probes, as the agent will judge them: for containers that need it."""

import re
import socket
import time

from host_commands import Failed
from host_units import is_active, log

PAUSE, LONGEST_LINE = 0.5, 1024
STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: |\r|\n|$)")


def await_ready(request):
    """{"unit", "probes": [{"key", "kind", "port", "path", "expected_status", "timeout", "successes"}], "seconds"}"""
    deadline, passed = time.monotonic() + request["seconds"], {probe["key"]: 0 for probe in request["probes"]}
    while True:
        answers = {}
        for probe in request["probes"]:
            if passed[probe["key"]] < probe["successes"]:
                answers[probe["key"]] = answer = try_probe(probe)
                passed[probe["key"]] = 0 if answer else passed[probe["key"]] + 1
        left = [probe["key"] for probe in request["probes"] if passed[probe["key"]] < probe["successes"]]
        if not left:
            return {}
        if time.monotonic() > deadline:
            unit, why = request["unit"], answers[left[0]] or "it passed too late"
            ended = "" if is_active(unit) else ", and the container no longer runs"
            raise Failed(
                "not_ready", f"probe {left[0]} did not pass in {int(request['seconds'])} s: {why}{ended}", log(unit)
            )
        time.sleep(PAUSE)


def try_probe(probe):
    """Return why the probe does not pass; empty if it passes."""
    deadline = time.monotonic() + probe["timeout"]
    try:
        with socket.create_connection(("127.0.0.1", probe["port"]), probe["timeout"]) as connection:
            if probe["kind"] == "tcp":
                return ""
            request = f"GET {probe['path']} HTTP/1.1\r\nHost: 127.0.0.1:{probe['port']}\r\nUser-Agent: gpuaas-probe\r\n"
            connection.sendall(f"{request}Accept: */*\r\nConnection: close\r\n\r\n".encode())
            found = STATUS_LINE.match(first_line(connection, deadline))
    except OSError as error:
        return "timed out" if isinstance(error, socket.timeout) else error.strerror or type(error).__name__
    if found is None:
        return "the answer is not HTTP"
    status = int(found.group(1))
    right = status in probe["expected_status"] if probe["expected_status"] else 200 <= status < 400
    return "" if right else f"HTTP {status}"


def first_line(connection, deadline):
    line = b""
    while b"\n" not in line and len(line) < LONGEST_LINE:
        connection.settimeout(max(deadline - time.monotonic(), 0.01))
        data = connection.recv(LONGEST_LINE)
        if not data:
            break
        line += data
    return line
