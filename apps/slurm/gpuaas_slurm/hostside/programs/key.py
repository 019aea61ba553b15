"""The cluster's key, for whoever brings it to another host; nothing where there is none.

{"path"} -> {"key"}, in base64
"""

import base64
import json
import sys

try:
    with open(json.load(sys.stdin)["path"], "rb") as there:
        key = there.read()
except FileNotFoundError:
    key = b""
json.dump({"key": base64.b64encode(key).decode()}, sys.stdout)
