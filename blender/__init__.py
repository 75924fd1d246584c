# SPDX-License-Identifier: GPL-3.0-or-later
"""Synovia in Blender: joint limits in the sidebar of the 3D view. See docs/blender.md.

The extension imports `synovia`, which comes as a wheel beside it; never the other way round.
"""

from __future__ import annotations

from . import live, operators, panel, properties

PARTS = (properties, operators, panel, live)


def register() -> None:
    """Add the extension to Blender."""
    for part in PARTS:
        part.register()


def unregister() -> None:
    """Take it back whole."""
    for part in reversed(PARTS):
        part.unregister()
