"""Works on the containers of a host as root. Each input line is a request, each output line its answer:
{"done": {...}} or {"failed": {"code", "message", "lines"}}. Requests are repeatable, also after a crash at any point.
"""

import errno
import json
import os
import subprocess

from host_commands import Failed
from host_documents import apply
from host_engine import LockTimeout
from host_facts import facts
from host_images import forget_images, pull
from host_probes import await_ready
from host_removal import remove, remove_shared
from host_secrets import forget_secrets, put_secrets
from host_units import status, stop, watch

ACTIONS = {
    "facts": facts,
    "pull": pull,
    "apply": apply,
    "watch": watch,
    "status": status,
    "await_ready": await_ready,
    "forget_images": forget_images,
    "put_secrets": put_secrets,
    "forget_secrets": forget_secrets,
    "stop": stop,
    "remove": remove,
    "remove_shared": remove_shared,
}


def answer(line):
    request = json.loads(line)
    try:
        return {"done": ACTIONS[request["action"]](request)}
    except Failed as failed:
        return {"failed": {"code": failed.code, "message": str(failed), "lines": failed.lines}}
    except subprocess.TimeoutExpired as late:
        message = f"{' '.join(late.cmd[:2])} did not end in {int(late.timeout)} s"
        ending = request["action"] in ("stop", "remove")
        return {"failed": {"code": "stop_failed" if ending else "container_start_timeout", "message": message}}
    except LockTimeout:
        return {"failed": {"code": "removal_failed", "message": "another program works with the images for too long"}}
    except OSError as error:
        code = "disk_full" if error.errno == errno.ENOSPC else "host_refused"
        return {"failed": {"code": code, "message": f"{error.strerror}: {error.filename}"}}
    except Exception as error:
        return {"failed": {"code": "host_error", "message": type(error).__name__}}


if __name__ == "__main__":
    # Standard input and output carry the requests and answers; the programs that are run here must not touch them.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for line in iter(requests.readline, ""):
        replies.write(f"{json.dumps(answer(line))}\n")
        replies.flush()
