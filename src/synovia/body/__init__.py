"""Bodies: bones with a shape, and a skin around them, made from few numbers."""

from .body import Body, body_of
from .bones import Bone, Mesh, human_bones, mesh_of, pose_vertices
from .rig import rig_bones, rig_skin
from .skin import human_skin
from .surface import Surface

__all__ = [
    "Body",
    "Bone",
    "Mesh",
    "Surface",
    "body_of",
    "human_bones",
    "human_skin",
    "mesh_of",
    "pose_vertices",
    "rig_bones",
    "rig_skin",
]
