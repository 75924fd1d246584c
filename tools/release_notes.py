"""Print the release notes of a version from the changelog, or check the version in all files.

    python tools/release_notes.py           # notes of the version in src/synovia/__init__.py
    python tools/release_notes.py --check   # exit code 1 if a file has another version
    python tools/release_notes.py --write   # write the version into the other files

A section begins with `## 0.1.0 (2026-12-01)`, or `## 0.1.0 (unreleased)` before the release.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "src/synovia/__init__.py"
PATTERNS = {
    SOURCE: r'^(__version__ = ")(.+)(")',
    "CITATION.cff": r"^(version: )(.+)()$",
    "packaging/recipe.yaml": r'^(  version: ")(.+)(")',
    "blender/blender_manifest.toml": r'^(version = ")(.+)(")',
    "npm/package.json": r'^(  "version": ")(.+)(")',
}
"""Files that contain the version, as a pattern: text before it, the version, text after it."""


def versions() -> dict[str, str]:
    """Return the version in each file."""
    versions_by_file = {}
    for name, pattern in PATTERNS.items():
        path = ROOT / name
        if path.exists():
            match = re.search(pattern, path.read_text(), re.MULTILINE)
            versions_by_file[name] = match[2] if match else "none"
    return versions_by_file


def write(version: str) -> None:
    """Write the version into every file."""
    for name, pattern in PATTERNS.items():
        path = ROOT / name
        if path.exists():
            text = re.sub(pattern, rf"\g<1>{version}\g<3>", path.read_text(), count=1, flags=re.M)
            path.write_text(text)


def sections(text: str) -> dict[str, str]:
    """Return the changelog's sections by version: their text without the heading."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.split()[0].strip("[]"): part.partition("\n")[2].strip() for part in parts}


def problems(changelog: str) -> list[str]:
    """Return a sentence for each problem that prevents a release."""
    by_file = versions()
    version = by_file[SOURCE]
    others = {name: other for name, other in by_file.items() if other != version}
    messages = [f"{name} says version {other}, not {version}" for name, other in others.items()]
    if version not in sections(changelog):
        messages.append(f"CHANGELOG.md has no section {version}")
    if f"## {version} (unreleased)" in changelog:
        messages.append(f"CHANGELOG.md has no date for {version}")
    return messages


def main(arguments: list[str]) -> int:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    version = versions()[SOURCE]
    if arguments == ["--check"]:
        print("\n".join(problems(changelog)) or "every file has the same version")
        return 1 if problems(changelog) else 0
    if arguments == ["--write"]:
        write(version)
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    print(f"# Synovia {version}\n\n{sections(changelog)[version]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
