"""Runs programs of this folder until its input ends: each input line is a list of programs, each output line their answers.

[{"name", "text", "input"}] -> {"answers": [answer], "failed": why | null}. The first failure ends the list; the number of
answers tells which program failed.
"""

import io
import json
import os
import sys

# Standard input and output carry the requests and answers: programs must not read or write them.
requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
compiled = {}


def run(one):
    if one["text"] not in compiled:
        compiled[one["text"]] = compile(one["text"], one["name"], "exec")
    sys.stdin, sys.stdout = io.StringIO(json.dumps(one["input"])), io.StringIO()
    try:
        exec(compiled[one["text"]], {"__name__": "__main__"})  # noqa: S102 - the app's own code
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    return json.loads(sys.stdout.getvalue())


for line in iter(requests.readline, ""):
    reply = {"answers": [], "failed": None}
    try:
        for one in json.loads(line):
            reply["answers"].append(run(one))
    except SystemExit as end:
        reply["failed"] = str(end.code)
    except Exception as error:
        reply["failed"] = f"{type(error).__name__}: {error}"
    answers.write(f"{json.dumps(reply)}\n")
    answers.flush()
