# SPDX-License-Identifier: GPL-3.0-or-later
"""Pack the extension: python blender/build.py WHEEL… -o dist makes a zip for each platform.

Run it with a Python that has bpy, which contains Blender's tool for building extensions. A wheel
with compiled kernels is for one platform; a wheel without them is for all, and slow. Of several
wheels for one platform the last is used.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
NOT_PACKED = ("build.py", "pictures.py")
"""Files that are not in the zip."""
PLATFORMS = (
    (r"win_amd64", "windows-x64"),
    (r"win_arm64", "windows-arm64"),
    (r"macosx_.*_arm64", "macos-arm64"),
    (r"macosx_.*_x86_64", "macos-x64"),
    (r".*linux.*_x86_64", "linux-x64"),
    (r".*linux.*_aarch64", "linux-arm64"),
)
"""Patterns of wheels' platform tags, and Blender's names of the platforms."""


def platform_of(wheel: Path) -> str:
    """Return Blender's name of a wheel's platform; empty if the wheel is for all platforms."""
    tag = wheel.stem.rsplit("-", 1)[-1]
    if tag == "any":
        return ""
    for pattern, name in PLATFORMS:
        if re.fullmatch(pattern, tag.split(".")[0]):
            return name
    raise ValueError(f"{wheel}: the platform must be one that Blender runs on, got {tag!r}")


def manifest_text(wheel: Path) -> str:
    """Return the manifest with the wheel, its version and its platform in it."""
    version = wheel.name.split("-")[1]
    text = (HERE / "blender_manifest.toml").read_text(encoding="utf-8")
    text = re.sub(r'(?m)^version = ".*"$', f'version = "{version}"', text)
    lines = [f'wheels = ["./wheels/{wheel.name}"]']
    if platform := platform_of(wheel):
        lines.append(f'platforms = ["{platform}"]')
    return text.replace("\n[permissions]", "\n" + "\n".join(lines) + "\n\n[permissions]")


def stage(folder: Path, wheel: Path) -> None:
    """Copy the contents of the zip into a folder."""
    for path in [*HERE.glob("*.py"), HERE / "LICENSE"]:
        if path.name not in NOT_PACKED:
            shutil.copy(path, folder / path.name)
    (folder / "wheels").mkdir()
    shutil.copy(wheel, folder / "wheels" / wheel.name)
    (folder / "blender_manifest.toml").write_text(manifest_text(wheel), encoding="utf-8")


def extension_tool() -> list[str]:
    """Return the command that runs Blender's tool for building extensions."""
    spec = find_spec("bpy")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        for path in Path(folder).rglob("bl_pkg/cli/blender_ext.py"):
            return [sys.executable, str(path)]
    raise ValueError(f"{sys.executable} must have bpy, which contains the tool for extensions")


def build(wheel: Path, out: Path) -> Path:
    """Build and validate the zip for a wheel; return its path."""
    tool = extension_tool()
    platform = platform_of(wheel).replace("-", "_") or "any"
    target = out / f"synovia-blender-{wheel.name.split('-')[1]}-{platform}.zip"
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        stage(Path(folder), wheel)
        _run([*tool, "build", "--source-dir", folder, "--output-filepath", str(target)])
    _run([*tool, "validate", str(target)])
    return target


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command[1:3])} failed: {done.stdout}{done.stderr}")


def main() -> None:
    """Build a zip for each platform of the given wheels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", nargs="+", type=Path, help="wheels of synovia")
    parser.add_argument("-o", "--out", type=Path, default=Path("dist"), help="where to write")
    arguments = parser.parse_args()
    for wheel in {platform_of(wheel): wheel for wheel in arguments.wheels}.values():
        print(build(wheel, arguments.out))


if __name__ == "__main__":
    main()
