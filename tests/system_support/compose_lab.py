"""An app of three services as its author has it: a folder with app.yaml, a compose file, and archives of the images."""

import io
import json
import tarfile
from pathlib import Path

from gpuaas_lab.container_image import ContainerImage, digest_of
from system_support.container_lab import web_image

SERVICES = ("web", "cache", "store")
# The page is what the two other services say: one on the same allocation, one on the other, each by its name.
_PAGE = (
    "mkdir -p /tmp/www; while :; do"
    " { /bin/busybox wget -qO- http://cache/greeting; echo; /bin/busybox wget -qO- http://store:8002/greeting; echo;"
    ' echo "$WHO"; } > /tmp/www/new 2>/tmp/why && /bin/busybox mv /tmp/www/new /tmp/www/page; sleep 1; done &'
    " exec httpd -f -p 80 -h /tmp/www"
)
_APP = """
app: 1
slug: {slug}
display_name: Three services
description: A page that shows what two other services say.
version: {version}
runtime_version: "1"
allocations:
  front: [web, cache]
  data: [store]
inputs:
  type: object
  additionalProperties: false
  properties:
    who: {{type: string, maxLength: 40, default: nobody}}
endpoints:
  - {{key: page, label: Page, service: web, port: 80, path: /page}}
images: {{web: images/web.tar, cache: images/cache.tar, store: images/store.tar}}
secrets: {{password: {{source: generated, length: 24}}}}
"""
_COMPOSE = """
x-service: &service {{restart: on-failure, mem_limit: 64m, stop_grace_period: 1s}}
services:
  web:
    <<: *service
    image: example/web@{web}
    environment: {{WHO: "${{who}}"}}
    ports: ["8080:80"]
    depends_on: {{store: {{condition: service_healthy}}, cache: {{}}}}
    healthcheck: {{test: [CMD, curl, -f, "http://localhost/page"], interval: 1s, timeout: 3s, start_period: 30s}}
    read_only: true
  cache:
    <<: *service
    image: example/cache@{cache}
    expose: ["80"]
    secrets: [token, {{source: password, target: /etc/password}}]
  store:
    <<: *service
    image: example/store@{store}
    command:
      - sh
      - -c
      - "test -e /data/greeting || cat /www/greeting > /data/greeting; (sleep 2; echo yes > /data/ready) &
        exec httpd -f -p 8002 -h /data"
    expose: ["8002"]
    volumes: ["data:/data"]
    healthcheck: {{test: [CMD, curl, -f, "http://localhost:8002/ready"], interval: 1s, timeout: 3s}}
volumes: {{data: }}
secrets: {{token: {{file: ./token}}, password: {{external: true}}}}
"""


def write_app(folder: Path, slug: str, version: str) -> None:
    """Write the folder of a version; its services say their names and the version."""
    images = {name: web_image(f"{name} {version}") for name in SERVICES if name != "web"}
    images["web"] = web_image(f"web {version}", _PAGE)
    (folder / "images").mkdir(parents=True)
    for name, image in images.items():
        (folder / f"images/{name}.tar").write_bytes(oci_archive(image))
    (folder / "app.yaml").write_text(_APP.format(slug=slug, version=version))
    digests = {name: image.digest for name, image in images.items()}
    (folder / "compose.yaml").write_text(_COMPOSE.format(**digests))


def oci_archive(image: ContainerImage) -> bytes:
    """Return the image as `podman save --format oci-archive` writes it."""
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": image.digest,
                "size": len(image.manifest),
            }
        ],
    }
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode()}
    for blob in (*image.blobs, image.manifest):
        files[f"blobs/sha256/{digest_of(blob).removeprefix('sha256:')}"] = blob
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
