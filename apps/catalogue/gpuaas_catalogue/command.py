"""The command `gpuaas-catalogue`: lists the apps, builds their images, and publishes them."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuaas_catalogue.images.builder import ensure_image
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import INSTALLED, read_base
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.roots import BASE_VARIABLE, ensure_base
from gpuaas_catalogue.manifests import app_names, places_of, recipe_of, required_recipe
from gpuaas_catalogue.platform import image_cache
from gpuaas_catalogue.publication import NotPublished, Publication
from gpuaas_sdk import Client, GpuaasError
from gpuaas_sdk.credentials import ServiceAccountCredentials
from gpuaas_sdk.image_layouts import ImageLayout


def main(argv: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except (BuildFailed, NotPublished, GpuaasError, ValueError, OSError) as failure:
        sys.exit(f"gpuaas-catalogue: {' '.join(str(failure).split())}")  # one line: it is the reason that is shown


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuaas-catalogue", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the apps, and the files that each needs besides its image")
    listing.set_defaults(run=_list)
    building = commands.add_parser("build", help="build the image of an app, and print its digest")
    building.set_defaults(run=_build)
    publishing = commands.add_parser("publish", help="build the image, and publish the app in a project")
    publishing.set_defaults(run=_publish)
    for command in (building, publishing):
        command.add_argument("app", choices=[name for name in app_names() if recipe_of(name) is not None])
        base = (
            f"a Debian root file system, such as debootstrap --include={','.join(INSTALLED)} makes; its layers, topmost first."
            f" If absent: that of {BASE_VARIABLE}, or one that is made here, as root"
        )
        command.add_argument("--base", type=Path, action="append", help=base)
        where = "where images are kept; that of GPUAAS_CATALOGUE_CACHE if absent"
        command.add_argument("--cache", type=Path, default=image_cache().folder, help=where)
    publishing.add_argument("--project", required=True, help="the id of the project that publishes")
    publishing.add_argument("--smoke", required=True, help="the test of the image that passed; kept as evidence")
    publishing.add_argument(
        "--file", action="append", default=[], metavar="NAME=PATH", help="such as weights=model.gguf"
    )
    return parser


def _list(_: argparse.Namespace) -> None:
    for name in app_names():
        built = "built here" if recipe_of(name) is not None else "an image of yours"
        files = ", ".join(place for place in places_of(name) if place != "image")
        print(f"{name:<12} {built}{f'; needs {files}' if files else ''}")


def _build(options: argparse.Namespace) -> None:
    print(_image(options).digest)


def _image(options: argparse.Namespace) -> ImageLayout:
    cache = BuildCache(options.cache)
    cache.prune()
    if not options.base:
        _say("A root file system is made with debootstrap, if there is none.")
    recipe = required_recipe(options.app)
    base = read_base(*options.base) if options.base else ensure_base(cache, recipe.packages)
    return ensure_image(recipe, base, cache, _say)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _publish(options: argparse.Namespace) -> None:
    files = {name: Path(path) for name, _, path in (text.partition("=") for text in options.file)}
    ca_file = os.environ.get("GPUAAS_CA_FILE")
    account = ServiceAccountCredentials(
        os.environ["GPUAAS_CLIENT_ID"], Path(os.environ["GPUAAS_CLIENT_SECRET_FILE"]).read_text().strip()
    )
    with Client(os.environ["GPUAAS_URL"], credentials=account, ca_file=ca_file) as client:
        publication = Publication(client, options.project, options.smoke, ca_file)
        version = publication.publish(options.app, _image(options), files)
    print(f"{version.slug} {version.version} is {version.status}")
