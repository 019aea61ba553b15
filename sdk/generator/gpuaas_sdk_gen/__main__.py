"""`tools/sdk-client [--check]`: writes the generated files of the SDK, or lists those that are out of date."""

import argparse
import json
import sys
from pathlib import Path

from gpuaas_sdk_gen.client import generated_files

ROOT = Path(__file__).parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(prog="sdk-client", description="The SDK's generated files.")
    parser.add_argument("--check", action="store_true", help="Only list files that are out of date.")
    parser.add_argument("--contract", type=Path, default=ROOT / "contract" / "openapi.json")
    arguments = parser.parse_args()
    package = ROOT / "sdk" / "gpuaas_sdk"
    files = generated_files(json.loads(arguments.contract.read_text()), package)
    stale = [name for name, text in files.items() if not _is_current(package / name, text)]
    for name in stale:
        if arguments.check:
            print(f"sdk/gpuaas_sdk/{name} is out of date; run `make contract` and commit it", file=sys.stderr)
        else:
            (package / name).parent.mkdir(exist_ok=True)
            (package / name).write_text(files[name])
            print(f"wrote sdk/gpuaas_sdk/{name}")
    return 1 if stale and arguments.check else 0


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
