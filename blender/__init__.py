# SPDX-License-Identifier: GPL-3.0-or-later
"""Synovia in Blender: joint limits in the sidebar of the 3D view. See docs/blender.md.

The extension imports `synovia`, which its zip contains as a wheel; `synovia` does not import it.
"""

from __future__ import annotations

from . import live, operators, panel, properties

PARTS = (properties, operators, panel, live)


def register() -> None:
    """Add the extension to Blender."""
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Remove the extension from Blender."""
    for part in reversed(PARTS):
        part.unregister()
