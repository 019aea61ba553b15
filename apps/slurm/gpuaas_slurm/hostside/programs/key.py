"""Reads the cluster's munge key, to copy it to another host; empty if there is none.

{"path"} -> {"key"}, in base64
"""

import base64
import json
import sys

try:
    with open(json.load(sys.stdin)["path"], "rb") as file:
        key = file.read()
except FileNotFoundError:
    key = b""
json.dump({"key": base64.b64encode(key).decode()}, sys.stdout)
