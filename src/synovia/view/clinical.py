"""Alignment of the clip's rig with a human, and the joints that move its clinical joints."""

from __future__ import annotations

from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from ..model import LimitModel
from ..population import recognize_clip
from ..population.bands import ClinicalJoint, Link, links
from ..rigs import Alignment, align
from ..skeleton import Clip, Pose
from .hinges import HingeAngle
from .session import Scene

STRAIGHT = np.radians(0.5)  # largest difference between a hinge's angle and a clinical one
_alignments = WeakKeyDictionary[Clip, Alignment | None]()


def remember_alignment(clip: Clip, alignment: Alignment) -> None:
    """Use an alignment for a clip, such as one with roles that the user mapped."""
    _alignments[clip] = alignment


def alignment_of(clip: Clip) -> Alignment | None:
    """Return the alignment of a clip's rig with a human; None for other rigs."""
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
    """Return the alignment, and the links of the clinical joint of a joint; None without one."""
    alignment, joint = alignment_of(scene.clip), scene.clip.skeleton.index(name)
    if alignment is None:
        return None
    for links_of_role in _links(scene.model, alignment).values():
        if any(joint in (link.moving, link.bone) for link in links_of_role):
            return alignment, links_of_role
    return None


def hinge_angle(scene: Scene, name: str) -> HingeAngle | None:
    """Return sign and offset that convert angles along a hinge to angles of a clinical axis.

    None if they differ by more than that, or if the joint has no clinical axes.
    """
    linked = links_of(scene, name)
    if linked is None:
        return None
    alignment, joint_links = linked
    skeleton, joint = scene.clip.skeleton, scene.clip.skeleton.index(name)
    link = next((link for link in joint_links if link.moving == joint and link.placed), None)
    if link is None or link.placed is None:
        return None
    rest = skeleton.rest_pose()
    clinical = ClinicalJoint(link, alignment, Pose(rest.rotations[None], rest.positions[None]))
    hinge = clinical.hinge
    if hinge is None:
        return None
    sign = float(np.sign(hinge.along[-1] - hinge.along[0]))
    offset = hinge.angles[0] - sign * hinge.along
    if np.ptp(offset) > STRAIGHT:
        return None
    degrees = float(np.degrees(offset.mean()))
    return HingeAngle(name=clinical.axes[hinge.axis].name, sign=sign, offset_deg=degrees)
