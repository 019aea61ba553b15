"""A manifest that is right in every part, and ways to make another of it."""

import copy
import json
from typing import Any

from gpuaas_server.catalog.manifest import Manifest, parse

DIGEST = "sha256:" + "a" * 64

EXAMPLE = f"""\
# A small clustered app.
manifest: 1
slug: echo
display_name: Echo
description: Answers what it hears.
version: 1.2.0
runtime_version: "24.10"
artifact:
  kind: controller
  digest: {DIGEST}
compatibility:
  requires_capacity_shape: [baremetal, gpu_slice]
  min_gpu_count: 1
max_members: 9
components:
  - key: head
    min: 1
    max: 1
  - key: node
    min: 1
    max: 8
    depends_on: [head]
    placement: shared
inputs:
  type: object
  additionalProperties: false
  required: [greeting]
  properties:
    greeting: {{type: string, maxLength: 20, x-ui: {{label: Greeting}}}}
    tries: {{type: integer, minimum: 1}}
footprint:
  units: [echo.service, "echo@7.service"]
  processes: [echod]
  ports: [{{port: 7007}}, {{port: 7007, protocol: udp}}]
  paths: [/opt/echo, /etc/echo]
  users: [echo]
  mounts: [/srv/echo/data]
  containers: [echo]
probes:
  - {{key: alive, component: node, kind: tcp, port: 7007}}
ui:
  category: tools
  keywords: [tutorial]
  endpoints: [{{key: talk, component: head, port: 7007, protocol: tcp}}]
metering:
  - {{key: echoes, unit: count}}
"""


def document() -> dict[str, Any]:
    """The example as data, to be changed freely."""
    return copy.deepcopy(parse(EXAMPLE).document)


def text_of(value: object) -> str:
    return json.dumps(value)


def manifest_of(**changes: Any) -> Manifest:
    return parse(text_of({**document(), **changes}))


def version_text(version: str = "1.2.0", slug: str = "echo", digest: str = DIGEST, **changes: Any) -> str:
    artifact = {"kind": "controller", "digest": digest}
    return text_of({**document(), "slug": slug, "version": version, "artifact": artifact, **changes})
