"""The rig of the clip as that of a human, and which joints move its clinical joints."""

from __future__ import annotations

from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from ..model import LimitModel
from ..population import recognize_clip
from ..population.bands import ClinicalJoint, Link, links
from ..rigs import Alignment, align
from ..skeleton import Clip, Pose
from .protocol.poses import HingeAngle
from .session import Scene

STRAIGHT = np.radians(0.5)  # how much a hinge's angle may differ from a clinical one on its way
_alignments = WeakKeyDictionary[Clip, Alignment | None]()


def remember_alignment(clip: Clip, alignment: Alignment) -> None:
    """Use an alignment for a clip, such as one with roles that somebody mapped."""
    _alignments[clip] = alignment


def alignment_of(clip: Clip) -> Alignment | None:
    """Return how a clip's rig stands, if it is one of a human."""
    if clip not in _alignments:
        try:
            _alignments[clip] = align(recognize_clip(clip), [clip])
        except ValueError:
            _alignments[clip] = None
    return _alignments[clip]


@lru_cache(maxsize=4)
def _links(model: LimitModel, alignment: Alignment) -> dict[str, list[Link]]:
    return links(model, alignment)


def links_of(scene: Scene, name: str) -> tuple[Alignment, list[Link]] | None:
    """Return the joints that move the clinical joint that a joint belongs to; None without one."""
    known, joint = alignment_of(scene.clip), scene.clip.skeleton.index(name)
    if known is None:
        return None
    for some in _links(scene.model, known).values():
        if any(joint in (link.moving, link.bone) for link in some):
            return known, some
    return None


def hinge_angle(scene: Scene, name: str) -> HingeAngle | None:
    """Return how angles along a hinge, in degrees from its reference, are clinical angles.

    None if they differ by more than a sign and a constant, or if the joint has no clinical axes.
    """
    found = links_of(scene, name)
    if found is None:
        return None
    known, some = found
    skeleton, joint = scene.clip.skeleton, scene.clip.skeleton.index(name)
    link = next((link for link in some if link.moving == joint and link.placed), None)
    if link is None or link.placed is None:
        return None
    rest = skeleton.rest_pose()
    clinical = ClinicalJoint(link, known, Pose(rest.rotations[None], rest.positions[None]))
    hinge = clinical.hinge
    if hinge is None:
        return None
    sign = float(np.sign(hinge.along[-1] - hinge.along[0]))
    offset = hinge.angles[0] - sign * hinge.along
    if np.ptp(offset) > STRAIGHT:
        return None
    degrees = float(np.degrees(offset.mean()))
    return {"name": clinical.axes[hinge.axis].name, "sign": sign, "offsetDeg": degrees}
