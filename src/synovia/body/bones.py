"""The bones of the default human, placed on the segments of its figure.

A bone is a surface that several places share: the right side mirrors the left, and all vertebrae of
a region, and all bones of fingers and toes, are one surface each, stretched. Bones stand as the
skeleton does at rest; each goes with one segment, but for the cartilage of a rib, which goes over
from the rib to the sternum, or to the rib above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from .. import quat
from ..anatomy.human import human
from ..arrays import Floats, Ints, Vectors
from ..components import Figure
from ..skeleton import Pose, Skeleton, forward
from . import limbs, trunk
from .connectivity import Connectivity
from .store import load_stored
from .surface import Surface, join_surfaces, round_vertices

REFERENCE_HEIGHT = 1.75
"""Of the person whose bones the numbers are, in metres."""
MILLIMETRE = 1e-3
MIRROR = np.diag([-1.0, 1.0, 1.0])


@cache
def reference_human() -> Figure:
    """Return the default human of the height that the numbers are for."""
    return human(REFERENCE_HEIGHT)


@dataclass(frozen=True, eq=False)
class Bone:
    """A surface, and where it is at rest: a placing (3, 4) in the world, and two joints.

    Vertices go with the first joint, by their shares with the second. `kind` names the surface,
    and is the same for all that share it.
    """

    kind: str
    surface: Surface
    placing: Floats
    joints: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles (m, 3) between vertices (n, 3), which go with joints (n, k) by weights (n, k).

    Vertices are where they are while the skeleton is in the pose `bind`. Where they are in the
    order of a walk over the triangles, that is there, too.
    """

    vertices: Vectors
    triangles: Ints
    joints: Ints
    weights: Floats
    bind: Pose
    connectivity: Connectivity | None = None

    @property
    def owners(self) -> Ints:
        """The joint (n,) that each vertex goes with most."""
        best = self.weights.argmax(axis=1)
        return np.asarray(np.take_along_axis(self.joints, best[:, None], axis=1)[:, 0])


def mesh_of(bones: Sequence[Bone], skeleton: Skeleton) -> Mesh:
    """Return all bones of a skeleton as one mesh."""
    every = join_surfaces(*(bone.surface.place(bone.placing) for bone in bones))
    joints = np.concatenate(
        [np.tile(bone.joints, (len(bone.surface.vertices), 1)) for bone in bones]
    )
    weights = np.stack([1.0 - every.shares, every.shares], axis=-1)
    return Mesh(every.vertices, every.triangles, joints, weights, skeleton.rest_pose())


def pose_vertices(mesh: Mesh, skeleton: Skeleton, pose: Pose) -> Vectors:
    """Return where the vertices (n, 3) are in one pose."""
    start, before = forward(skeleton, mesh.bind)
    end, after = forward(skeleton, pose)
    turn = quat.mul(after, quat.inverse(before))
    total = np.zeros_like(mesh.vertices)
    for joint, weight in zip(mesh.joints.T, mesh.weights.T, strict=True):
        there = quat.rotate(turn[joint], mesh.vertices - start[joint]) + end[joint]
        total += weight[:, None] * there
    return total


Local = tuple[str, Floats]
"""A kind of bone, and its placing (3, 4) in the frame of its segment, millimetres."""
AS_IT_IS = np.eye(3, 4)


@cache
def _left_bones() -> dict[str, list[Local]]:
    """Return the bones of each segment that has no number, sides without their word."""
    hand: list[Local] = [("digit", limbs.along(each)) for each in limbs.hand_digits()]
    foot: list[Local] = [("digit", limbs.along(each)) for each in limbs.foot_digits()]
    toes: list[Local] = [("digit", limbs.along(each)) for each in limbs.toe_digits()]
    return {
        "Clavicle": [("clavicle", AS_IT_IS)],
        "Scapula": [("scapula", AS_IT_IS)],
        "UpperArm": [("humerus", AS_IT_IS)],
        "LowerArm": [("ulna", AS_IT_IS)],
        "Forearm": [("radius", AS_IT_IS)],
        "Hand": [("carpals", AS_IT_IS), *hand],
        "UpperLeg": [("femur", AS_IT_IS)],
        "LowerLeg": [("tibia", AS_IT_IS)],
        "Fibula": [("fibula", AS_IT_IS)],
        "Patella": [("patella", AS_IT_IS)],
        "Foot": [("tarsals", AS_IT_IS), *foot],
        "Toes": toes,
    }


MIDDLE_BONES: Mapping[str, Sequence[Local]] = {
    "Pelvis": [
        ("hip", AS_IT_IS),
        ("hip", np.column_stack([MIRROR, np.zeros(3)])),
        ("sacrum", AS_IT_IS),
    ],
    "Head": [("skull", AS_IT_IS), ("jaw", AS_IT_IS)],
    "Sternum": [("sternum", AS_IT_IS)],
}
"""The bones of the segments in the middle, vertebrae aside."""


RISE = {"lumbar": 34.0, "thoracic": 24.0, "cervical": 16.8, "atlas": 16.0}
"""How far vertebrae are apart for which the surfaces were made, in millimetres."""
WIDTH = {"L": (0.93, 1.06), "T": (0.84, 1.18), "C": (0.88, 1.12)}
"""How wide the first and the last vertebra of a region is."""


def _vertebra(skeleton: Skeleton, name: str) -> Local:
    """Return a vertebra of the default human: as high as there is room, along the spine."""
    region = trunk.TRUNK[name]
    joint = skeleton.index(name)
    places = forward(skeleton, skeleton.rest_pose())[0] / MILLIMETRE
    column = [n for n in skeleton.names if n in trunk.TRUNK]
    spot = column.index(name)
    below = places[skeleton.index(column[max(spot - 1, 0)])]
    above = places[skeleton.index(column[min(spot + 1, len(column) - 1)])]
    way = above - below if region != "atlas" else np.array([0.0, 1.0, 0.0])
    up = way / np.linalg.norm(way)
    rise = np.linalg.norm(skeleton.offsets[joint]) / MILLIMETRE if spot else RISE[region]
    number, count = int(name[1:]), {"L": 5, "T": 12, "C": 7}[name[0]]
    low, high = WIDTH[name[0]]
    wide = low + (high - low) * (number - 1) / (count - 1) if region != "atlas" else 1.0
    turn = np.column_stack([[1.0, 0.0, 0.0], up, np.cross([1.0, 0.0, 0.0], up)])
    placing = np.column_stack([turn * [wide, rise / RISE[region], wide], np.zeros(3)])
    return region, placing


@cache
def _rib(number: int) -> Surface:
    """Return a left rib, in its own frame, in millimetres."""
    skeleton = reference_human().skeleton
    places = forward(skeleton, skeleton.rest_pose())[0] / MILLIMETRE
    joint = skeleton.index(f"Rib{number}Left")
    side, front = skeleton.end_offsets[skeleton.end_parents == joint] / MILLIMETRE
    joins: Vectors | None = None
    if number <= 7:
        notch = places[skeleton.index("Sternum")]
        tip = (
            skeleton.end_offsets[skeleton.end_parents == skeleton.index("Sternum")][0] / MILLIMETRE
        )
        share = np.clip((places[joint] + front - notch)[1] / tip[1], 0.0, 1.0) + 0.02
        edge = np.interp(share, [0.0, 0.09, 0.3, 0.38, 0.7, 0.86, 1.0], [24, 27, 16, 13, 17, 11, 4])
        joins = notch + share * tip + [0.9 * edge, 0.0, -3.0] - places[joint]
    elif number <= 10:
        above = skeleton.index(f"Rib{number - 1}Left")
        ends = skeleton.end_offsets[skeleton.end_parents == above][1] / MILLIMETRE
        joins = places[above] + ends + [6.0, -5.0, -2.0] - places[joint]
    path = trunk.rib_path(number, side, front, joins)
    return trunk.rib(path, number, joins is not None)


KINDS: Mapping[str, Callable[[], Surface]] = {
    "clavicle": limbs.clavicle,
    "scapula": limbs.scapula,
    "humerus": limbs.humerus,
    "ulna": limbs.ulna,
    "radius": limbs.radius,
    "carpals": limbs.carpals,
    "digit": limbs.digit,
    "femur": limbs.femur,
    "tibia": limbs.tibia,
    "fibula": limbs.fibula,
    "patella": limbs.patella,
    "tarsals": limbs.tarsals,
    "hip": trunk.hip_bone,
    "sacrum": trunk.sacrum,
    "skull": trunk.skull,
    "jaw": trunk.jaw,
    "sternum": trunk.sternum,
    **{region: partial(trunk.vertebra, region) for region in RISE},
    **{f"rib{number}": partial(_rib, number) for number in range(1, 13)},
}
"""What makes the surface of each kind of bones, in millimetres."""


@cache
def surface_of(kind: str) -> Surface:
    """Return the surface of a kind of bones, in millimetres: one made beforehand, or a new one."""
    stored = load_stored()
    return make_surface(kind) if stored is None else stored.surfaces[kind]


def make_surface(kind: str) -> Surface:
    """Return the surface of a kind of bones, made anew."""
    return round_vertices(KINDS[kind]())


def human_scale(skeleton: Skeleton) -> float | None:
    """Return how large a figure is against the default human; None if it is another skeleton.

    It is the default human, or a part of it, if its segments are called and placed alike.
    """
    ours = reference_human().skeleton
    sizes, along = [], []
    for joint, name in enumerate(skeleton.names):
        parent = int(skeleton.parents[joint])
        if name not in ours.names or parent < 0:
            continue
        other = ours.index(name)
        above = int(ours.parents[other])
        if above < 0 or ours.names[above] != skeleton.names[parent]:
            continue
        a, b = skeleton.offsets[joint], ours.offsets[other]
        lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        sizes.append(lengths[0] / lengths[1])
        along.append(float(a @ b) / max(lengths[0] * lengths[1], 1e-30))
    if len(sizes) < 4 or len(sizes) < 0.5 * (len(skeleton) - 1) or min(along) < 0.8:
        return None
    return float(np.median(sizes))


def human_bones(skeleton: Skeleton) -> tuple[Bone, ...]:
    """Return the bones of the default human, or of the part of it that a skeleton has.

    Raises ValueError for any other skeleton.
    """
    scale = human_scale(skeleton)
    if scale is None:
        raise ValueError("the skeleton must have the segments of the default human")
    return tuple(_place_bones(skeleton, scale * MILLIMETRE))


def _place_bones(skeleton: Skeleton, unit: float) -> Iterator[Bone]:
    places = forward(skeleton, skeleton.rest_pose())[0]
    ours = reference_human().skeleton
    for joint, name in enumerate(skeleton.names):
        left = name.replace("Right", "Left")
        flip = np.eye(3) if left == name else MIRROR
        bare = name.removeprefix("Left").removeprefix("Right")
        local: list[Local] = []
        other = joint
        if bare != name:
            local = _left_bones().get(bare, [])
        elif name in trunk.TRUNK:
            local = [_vertebra(ours, name)]
        elif name.startswith("Rib") and left in ours.names:
            number = int(left.removeprefix("Rib").removesuffix("Left"))
            local = [(f"rib{number}", AS_IT_IS)]
            side = name.removeprefix(f"Rib{number}")
            held = "Sternum" if number <= 7 else f"Rib{number - 1}{side}"
            other = skeleton.index(held) if held in skeleton.names and number <= 10 else joint
        else:
            local = list(MIDDLE_BONES.get(name, []))
        for kind, placing in local:
            matrix = unit * (flip @ placing[:, :3])
            spot = places[joint] + unit * (flip @ placing[:, 3])
            yield Bone(kind, surface_of(kind), np.column_stack([matrix, spot]), (joint, other))
