"""The relation between the bones of a rig and those of the canonical human.

The canonical human stands in a T-pose that faces +Z, with +X to the left and +Y up, where all its
bones have the identity rotation. A bone with rotation R in the rig's world has A · R · B in the
canonical world. A converts between the axes of the two worlds. B, the *frame* of the bone, makes
the product the identity when the rig is in its T-pose. The canonical rotation of a joint is then
B_parent⁻¹ · (R_parent⁻¹ · R) · B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .. import quat
from ..arrays import Quats
from ..skeleton import Clip, Pose, lineage
from .canonical import MEASURED_FROM
from .recognize import Rig
from .stance import Stance

MIN_CONFIDENCE = 0.55  # joints below it are not judged


@dataclass(eq=False)
class Draft:
    """An alignment under construction: each rule changes frames and the confidence in them."""

    rig: Rig
    reference: Stance
    """The pose from which frames are measured."""
    at_rest: bool
    """True if the reference is a pose at rest, False if it is a frame of the motion."""
    axes: Quats
    """The rotation (4,) from the rig's world to the canonical world."""
    frames: dict[str, Quats]
    confidence: dict[str, float]
    steps: list[str]
    """Sentences about what was done."""

    def rotate_frame(self, role: str, rotation: Quats) -> None:
        """Rotate the frame of a bone; toes follow the foot."""
        for name in {role, role.replace("Foot", "Toes")} & self.frames.keys():
            self.frames[name] = quat.mul(self.frames[name], rotation)

    def set_rotation(self, role: str, rotation: Quats) -> None:
        """Set the frame that gives a bone's canonical axes this rotation (4,) in the reference.

        Its confidence becomes 1.
        """
        inverse = quat.inverse(self.reference.rotations[role])
        self.frames[role] = quat.normalize(quat.mul(inverse, rotation))
        self.confidence[role] = 1.0

    def rotation(self, role: str) -> Quats:
        """Return the rotation (4,) of a bone's canonical axes in the reference."""
        return quat.mul(self.reference.rotations[role], self.frames[role])


@dataclass(frozen=True, eq=False)
class Alignment:
    """The relation between the bones of a rig and those of the canonical human."""

    rig: Rig
    axes: Quats
    """The rotation (4,) from the rig's world to the canonical world."""
    frames: Mapping[str, Quats]
    """The frame (4,) of each bone, by role; see the module."""
    confidence: Mapping[str, float]
    """Confidence in each frame, 0 to 1, by role."""
    steps: tuple[str, ...]
    """Sentences about what was done."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reasons why bones of hands have no frame that can be trusted, by role."""
    palm: Mapping[str, str | None] = field(default_factory=dict)
    """What shows where the palm faces, by side: "fingers", "thumb", "convention", or None."""
    medians: Mapping[str, Quats] = field(default_factory=dict)
    """Median canonical rotation (4,) of hands, feet and head that move, by role."""
    reference: Clip | None = None
    """The clip whose first frame was given as the reference."""

    def estimate_again(self, clip: Clip) -> Alignment:
        """Return the alignment of the same rig by other motion, with the same given reference."""
        from .reference import align

        return align(self.rig, [clip], reference=self.reference)

    @cached_property
    def anchors(self) -> dict[str, tuple[str, Quats]]:
        """By role, the joint of this rig from which it is measured, and the frame of that joint.

        It is the joint of the role in `MEASURED_FROM`. Where that is not above the bone, as a
        sternum is not above a neck, it is the joint of the spine from which both branch off, with
        the frame that it has while the joints between are at rest.
        """
        skeleton, roles = self.rig.skeleton, self.rig.roles
        anchors_by_role = {}
        for role, above in MEASURED_FROM.items():
            if role not in self.frames or above not in self.frames:
                continue
            path = skeleton.path_to_root(skeleton.index(roles[role]))[1:]
            branch = skeleton.path_to_root(skeleton.index(roles[above]))
            if branch[0] in path:
                anchors_by_role[role] = roles[above], self.frames[above]
            elif above == "chest" and "hips" in roles:
                hips = skeleton.index(roles["hips"])
                spine = branch[: branch.index(hips) + 1] if hips in branch else []
                shared = next((skeleton.names[joint] for joint in spine if joint in path), None)
                if shared is not None:
                    rest = skeleton.rest_pose().rotations
                    rest_rotation = lineage(skeleton, roles[above], shared).relative_rotation(rest)
                    anchors_by_role[role] = shared, quat.mul(rest_rotation, self.frames[above])
        return anchors_by_role

    @property
    def measured(self) -> dict[str, str]:
        """Roles that can be measured on this rig, each with the role it is measured from."""
        return {role: MEASURED_FROM[role] for role in self.anchors}

    @property
    def trusted(self) -> dict[str, str]:
        """The entries of `measured` with enough confidence to be judged."""
        return {
            role: above
            for role, above in self.measured.items()
            if min(self.confidence[role], self.confidence[above]) >= MIN_CONFIDENCE
        }

    @property
    def no_verdict(self) -> dict[str, str]:
        """The joints that cannot be judged, each with the reason.

        Joints that are part of a judged bone, such as those of the spine, are not among them.
        """
        rig, measured, trusted = self.rig, self.measured, self.trusted
        role_of = {joint: role for role, joint in rig.roles.items() if role in MEASURED_FROM}
        judged = {*rig.starts.values(), *rig.roles.values(), *rig.torso, *rig.neck}
        reasons = {}
        for joint in rig.skeleton.names:
            role = role_of.get(joint, "")
            if role in self.reasons:
                reasons[joint] = self.reasons[role]
            elif role and role not in measured:
                reasons[joint] = f"it is not below a {MEASURED_FROM[role]} that is recognised"
            elif role and role not in trusted:
                unsure = min((role, measured[role]), key=lambda name: self.confidence[name])
                reasons[joint] = (
                    f"the frame of {unsure} is uncertain ({self.confidence[unsure]:.2f})"
                )
            elif not role and joint not in judged:
                reasons[joint] = "it is no bone of the canonical human"
        return reasons

    def canonical_rotations(self, pose: Pose) -> dict[str, Quats]:
        """Return the rotations (..., 4) of the canonical human in this pose, by role."""
        skeleton, roles = self.rig.skeleton, self.rig.roles
        return {
            role: self.to_canonical(
                role,
                lineage(skeleton, roles[role], anchor).relative_rotation(pose.rotations),
            )
            for role, (anchor, _) in self.anchors.items()
        }

    def to_canonical(self, role: str, rotations: Quats) -> Quats:
        """Return canonical rotations (..., 4) from rotations of a bone against its anchor."""
        above = quat.inverse(self.anchors[role][1])
        return quat.normalize(quat.mul(quat.mul(above, rotations), self.frames[role]))
