"""glTF 2.0: .gltf, .glb, and VRM and VRMA, which are GLB with names for the bones of a human.

See docs/formats.md. `humanoid` gives the joints that a VRM names, `mesh_of` the file that a clip's
meshes are in.
"""

from __future__ import annotations

from dataclasses import replace

from ..format import ClipFormat
from .read import clip_names, humanoid, mesh_of, read_gltf
from .write import to_vrm_bones, write_gltf, write_vrma

GLTF = ClipFormat(
    read_gltf,
    write_gltf,
    clip_names,
    up="y",
    unit=1.0,
    beside="meshes, materials and other animations",
)
VRMA = replace(GLTF, write=write_vrma, as_written=to_vrm_bones)

__all__ = ["GLTF", "VRMA", "humanoid", "mesh_of"]
