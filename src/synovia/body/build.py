"""Make the surfaces of bones and skin beforehand: `python -m synovia.body.build`."""

from __future__ import annotations

from .bones import KINDS, make_surface
from .connectivity import connect
from .skin import make_skin
from .store import FILE, Stored, load_stored, save_stored
from .surface import Surface, reorder


def make_stored() -> Stored:
    """Return all surfaces, made anew, each in the order of its walk."""
    skin, joints, weights = make_skin()
    walk = connect(skin.triangles)
    return Stored(
        {kind: in_walk_order(make_surface(kind)) for kind in KINDS},
        reorder(skin, walk),
        joints[walk.order],
        weights[walk.order],
    )


def in_walk_order(surface: Surface) -> Surface:
    """Return a surface whose vertices are in the order of the walk over it."""
    return reorder(surface, connect(surface.triangles))


def main() -> None:
    """Write the surfaces, unless those that are there were made by the same code."""
    if load_stored() is None:
        save_stored(make_stored())
        print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
