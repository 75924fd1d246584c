"""The bones of the default human, placed on the segments of its figure at rest.

Several bones share a surface: the right side mirrors the left, and all vertebrae of a region and
all bones of fingers and toes are one surface each, scaled. Each bone moves with one segment. The
cartilage of a rib blends from the rib to the sternum, or to the rib above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import fast_simplification
import numpy as np
from scipy.spatial import cKDTree

from synovia import Skeleton, forward
from synovia.anatomy.human import human
from synovia.arrays import Floats, Ints, Vectors
from synovia.components import Figure

from . import limbs, trunk
from .surface import Surface

REFERENCE_HEIGHT = 1.75  # metres, of the person whose measures the modules contain
MILLIMETRE = 1e-3
MIRROR = np.diag([-1.0, 1.0, 1.0])
KEPT_OF_LARGE, KEPT_OF_SMALL = 0.2, 0.36  # share of triangles that simplification keeps
SMALL = 600  # triangles


@cache
def reference_human() -> Figure:
    """Return the default human of the reference height."""
    return human(REFERENCE_HEIGHT)


@dataclass(frozen=True, eq=False)
class Bone:
    """A surface in world coordinates at rest (metres), and the two segments that move it.

    Vertices move with the first segment, and by their `shares` with the second.
    """

    surface: Surface
    segments: tuple[int, int]


Local = tuple[str, Floats]
"""A kind of bone, and its placing (3, 4) in the frame of its segment, millimetres."""
AS_IT_IS = np.eye(3, 4)


@cache
def _left_bones() -> dict[str, list[Local]]:
    """Return the bones of each segment without a number, without the side in names."""
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
"""Bones of the middle segments, without vertebrae."""


RISE = {"lumbar": 34.0, "thoracic": 24.0, "cervical": 16.8, "atlas": 16.0}
"""Spacing of the vertebrae for which the surfaces were modelled, in millimetres."""
WIDTH = {"L": (0.93, 1.06), "T": (0.84, 1.18), "C": (0.88, 1.12)}
"""Width of the first and the last vertebra of a region."""


def _vertebra(skeleton: Skeleton, name: str) -> Local:
    """Return a vertebra of the default human, scaled to the spacing along the spine."""
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
"""Functions that build the surface of each kind of bone, in millimetres."""


@cache
def make_surface(kind: str) -> Surface:
    """Return the simplified surface of a kind of bones, in millimetres."""
    surface = KINDS[kind]()
    kept = KEPT_OF_SMALL if len(surface.triangles) < SMALL else KEPT_OF_LARGE
    vertices, triangles = simplify(surface, kept)
    shares = surface.shares[cKDTree(surface.vertices).query(vertices)[1]]
    return Surface(vertices, triangles, shares)


def simplify(surface: Surface, kept: float) -> tuple[Vectors, Ints]:
    """Return vertices and triangles of a surface simplified to a share `kept` of its triangles."""
    vertices, triangles = fast_simplification.simplify(
        surface.vertices.astype(np.float32),
        surface.triangles.astype(np.int32),
        target_reduction=1.0 - kept,
    )
    return vertices.astype(float), triangles.astype(np.int64)


def human_bones() -> list[Bone]:
    """Return all bones of the default human."""
    return list(_place_bones(reference_human().skeleton))


def _place_bones(skeleton: Skeleton) -> Iterator[Bone]:
    positions = forward(skeleton, skeleton.rest_pose())[0]
    for joint, name in enumerate(skeleton.names):
        flip = MIRROR if "Right" in name else np.eye(3)
        side = next((side for side in ("Left", "Right") if side in name), "")
        bare = name.replace(side, "") if side else name
        other = joint
        if bare.startswith("Rib"):
            number = int(bare.removeprefix("Rib"))
            local: Sequence[Local] = [(f"rib{number}", AS_IT_IS)]
            if number <= 10:
                carrier = "Sternum" if number <= 7 else f"Rib{number - 1}{side}"
                other = skeleton.index(carrier)
        elif side:
            local = _left_bones().get(bare, [])
        elif name in trunk.TRUNK:
            local = [_vertebra(skeleton, name)]
        else:
            local = MIDDLE_BONES.get(name, [])
        for kind, placing in local:
            matrix = MILLIMETRE * (flip @ placing[:, :3])
            origin = positions[joint] + MILLIMETRE * (flip @ placing[:, 3])
            placed = make_surface(kind).place(np.column_stack([matrix, origin]))
            yield Bone(placed, (joint, other))
