"""Print the changelog's section of a version as release notes, or name what keeps it from release.

    python tools/release_notes.py           # notes of the version in src/synovia/__init__.py
    python tools/release_notes.py --check   # exit code 1 if a file says another version

A section begins with `## 0.1.0 (2026-12-01)`; before the day, it is called `## Unreleased`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def versions() -> dict[str, str]:
    """Return what each file that names the version says it is."""
    patterns = {
        "src/synovia/__init__.py": r'^__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)$",
        "packaging/recipe.yaml": r'^  version: "(.+)"',
        "blender/blender_manifest.toml": r'^version = "(.+)"',
    }
    found = {}
    for name, pattern in patterns.items():
        path = ROOT / name
        if path.exists():
            match = re.search(pattern, path.read_text(), re.MULTILINE)
            found[name] = match.group(1) if match else "none"
    found["npm/package.json"] = json.loads((ROOT / "npm/package.json").read_text())["version"]
    return found


def sections(text: str) -> dict[str, str]:
    """Return the changelog's sections by version: their text without the heading."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.split()[0].strip("[]"): part.partition("\n")[2].strip() for part in parts}


def problems(changelog: str) -> list[str]:
    """Return what keeps this state from being released, a sentence each."""
    found = versions()
    version = found["src/synovia/__init__.py"]
    others = {name: other for name, other in found.items() if other != version}
    said = [f"{name} says version {other}, not {version}" for name, other in others.items()]
    if version not in sections(changelog):
        said.append(f"CHANGELOG.md has no section {version}: rename the one called Unreleased")
    return said


def main(arguments: list[str]) -> int:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if arguments == ["--check"]:
        print("\n".join(problems(changelog)) or "every file says the same version")
        return 1 if problems(changelog) else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    version = versions()["src/synovia/__init__.py"]
    notes = sections(changelog)
    print(f"# Synovia {version}\n\n{notes.get(version) or notes['Unreleased']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
