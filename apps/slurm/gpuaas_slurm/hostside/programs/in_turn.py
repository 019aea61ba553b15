"""Runs programs of this folder for as long as somebody asks: a line in is a list of them, a line out has their answers.

[{"name", "text", "told"}] -> {"answers": [answer], "failed": why | null}. The first that fails ends its list: how many
answers there are says which one that was.
"""

import io
import json
import os
import sys

# Input and output are the conversation's: what the programs start must neither read the one nor write to the other.
asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
compiled = {}


def run(one):
    if one["text"] not in compiled:
        compiled[one["text"]] = compile(one["text"], one["name"], "exec")
    sys.stdin, sys.stdout = io.StringIO(json.dumps(one["told"])), io.StringIO()
    try:
        exec(compiled[one["text"]], {"__name__": "__main__"})  # noqa: S102 - the app's own text
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    return json.loads(sys.stdout.getvalue())


for line in iter(asked.readline, ""):
    said = {"answers": [], "failed": None}
    try:
        for one in json.loads(line):
            said["answers"].append(run(one))
    except SystemExit as end:
        said["failed"] = str(end.code)
    except Exception as error:
        said["failed"] = f"{type(error).__name__}: {error}"
    answers.write(f"{json.dumps(said)}\n")
    answers.flush()
