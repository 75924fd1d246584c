"""Body: the bones and the skin of a skeleton, if it is a human's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..rigs import align, recognize
from ..skeleton import Clip, Pose, Skeleton
from .bones import Bone, Mesh, human_bones, human_scale, mesh_of
from .rig import rig_bones, rig_skin
from .skin import human_skin

SIDES = ("left", "right")
WHOLE = ("Pelvis", "Head", "LeftHand", "RightHand", "LeftToes", "RightToes")
"""Segments without which the default human has no skin."""


@dataclass(frozen=True, eq=False)
class Body:
    """Bones, where they are in the pose `bind`, and the skin around them, if there is one."""

    skeleton: Skeleton
    bones: tuple[Bone, ...]
    bind: Pose
    skin: Mesh | None

    @property
    def mesh(self) -> Mesh:
        """All bones as one mesh."""
        return replace(mesh_of(self.bones, self.skeleton), bind=self.bind)


def body_of(skeleton: Skeleton, clip: Clip | None = None, *, skin: bool = True) -> Body | None:
    """Return the body of a skeleton: of the default human, or of a rig that is recognised as one.

    A clip of the skeleton shows more of how its bones stand. None if no human is recognised, or one
    whose feet are not below its legs, as those of rigs that hang on goals of their own.
    """
    scale = human_scale(skeleton)
    if scale is not None:
        whole = skin and all(name in skeleton.names for name in WHOLE)
        made = _scale_skin(skeleton, scale) if whole else None
        return Body(skeleton, human_bones(skeleton), skeleton.rest_pose(), made)
    try:
        rig = recognize(skeleton)
        if any(f"{side}Foot" not in rig.roles for side in SIDES if f"{side}LowerLeg" in rig.roles):
            return None
        alignment = align(rig, [] if clip is None else [clip])
        bones, bind = rig_bones(alignment)
        return Body(skeleton, bones, bind, rig_skin(alignment) if skin else None)
    except ValueError:  # no human, or none that stands
        return None


def _scale_skin(skeleton: Skeleton, scale: float) -> Mesh | None:
    """Return the default human's skin on a figure of another size."""
    ours = human_skin()
    if len(skeleton) != len(ours.bind.rotations):
        return None
    positions = scale * np.asarray(ours.bind.positions)
    return replace(ours, vertices=scale * ours.vertices, bind=Pose(ours.bind.rotations, positions))
