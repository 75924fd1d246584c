"""The skin: a plain body around the bones of the default human, with a face.

It is one solid, around a figure whose limbs are a little apart so that they do not melt into
each other. Head, hands and feet have finer cells than the rest. Vertices go with the segments that
they are around, and where segments meet, with up to four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from synovia import Pose, forward, quat
from synovia.arrays import Floats, Ints, Vectors

from .bones import MILLIMETRE, reference_human, simplify
from .limbs import hand_digits
from .solid import Solid, ball, blend, carve, chain, plate, rod, turn, with_mirror
from .surface import Surface, along_grid, without_shares

APART = {"shoulder.abduction": 50.0, "hip.abduction": 12.0}
"""Controls of the bind pose in degrees: limbs are away from the trunk."""
KEPT = 0.2  # share of triangles that simplification keeps
NEAR, MOST = 46.0, 4
"""Millimetres; farther segments than the nearest plus this get no weight. And the most segments."""
KNEECAP_NEAR, KNEECAP_FAR = 6.0, 66.0
"""Skin up to the first distance from a kneecap, in millimetres, moves with it alone; from the
second on, not at all."""
ROUNDS = 10
"""Smoothing passes of the weights."""
Place = Callable[[str, ArrayLike], Vectors]


def make_skin() -> tuple[Surface, Ints, Floats]:
    """Return the skin in the bind pose (metres), and segments (n, 4) and weights of vertices."""
    skeleton = reference_human().skeleton
    positions, rotations = forward(skeleton, bind_pose())

    def place(name: str, point: ArrayLike) -> Vectors:
        joint = skeleton.index(name)
        offset = quat.rotate(rotations[joint], np.asarray(point, dtype=float) * MILLIMETRE)
        return np.asarray((positions[joint] + offset) / MILLIMETRE)

    whole = _whole(place, quat.to_matrix(rotations[skeleton.index("LeftHand")]))
    vertices, triangles = simplify(along_grid(whole, _grid(whole, place)), KEPT)
    surface = without_shares(MILLIMETRE * vertices, triangles)
    return surface, *_weights(vertices, triangles, place, skeleton.names)


@cache
def bind_pose() -> Pose:
    """Return the pose that the skin is made around."""
    controls = {f"{side}_{name}": deg for side in ("left", "right") for name, deg in APART.items()}
    posed = reference_human().pose(controls)
    return Pose(posed.rotations, posed.positions)


def _whole(place: Place, palm: Floats) -> Solid:
    """Return the left half of the body, and its mirror image, as one solid."""
    trunk = blend(
        30.0,
        ball(place("Pelvis", (0, 62, -16)), (146, 92, 94)),
        ball(place("Pelvis", (62, -10, -42)), (72, 78, 66)),
        ball(place("L5", (0, 0, 12)), (140, 80, 92)),
        ball(place("L3", (0, 0, 12)), (124, 90, 92)),
        ball(place("L1", (0, 0, 18)), (128, 90, 100)),
        ball(place("T9", (0, -14, 40)), (146, 120, 111)),
        ball(place("T5", (0, 0, 42)), (136, 104, 110)),
        ball(place("T3", (62, -28, 90)), (62, 46, 32)),
    )
    yoke = blend(
        30.0,
        chain(
            [
                place("T1", (20, -6, 8)),
                place("LeftClavicle", (70, 2, -18)),
                place("LeftScapula", (-2, -14, -6)),
            ],
            [50, 44, 42],
            20.0,
        ),
        ball(place("LeftUpperArm", (4, -2, 0)), 54),
        chain([place("C6", (0, 0, 2)), place("LeftScapula", (-62, -6, -28))], [44, 30], 20.0),
        ball(place("LeftScapula", (-62, -62, -62)), (52, 74, 34)),
    )
    neck = chain(
        [place("T1", (0, -6, 14)), place("C5", (0, 0, 10)), place("C1", (0, 6, 6))],
        [62, 55, 55],
        20.0,
    )
    arm = chain(
        [
            place("LeftUpperArm", (4, -16, 0)),
            place("LeftUpperArm", (6, -120, 4)),
            place("LeftUpperArm", (2, -230, 4)),
            place("LeftLowerArm", (2, 0, -2)),
        ],
        [50, 46, 42, 38],
        1.0,
    )
    fore = chain(
        [
            place("LeftLowerArm", (2, 0, -2)),
            place("LeftLowerArm", (6, -60, 2)),
            place("LeftLowerArm", (4, -150, 0)),
            place("LeftHand", (0, 10, 0)),
        ],
        [38, 42, 33, 25],
        1.0,
    )
    leg = chain(
        [
            place("LeftUpperLeg", (4, -40, -4)),
            place("LeftUpperLeg", (-1, -110, 4)),
            place("LeftUpperLeg", (2, -230, 4)),
            place("LeftUpperLeg", (4, -330, 4)),
            place("LeftLowerLeg", (2, -4, 0)),
        ],
        [80, 69, 64, 58, 54],
        1.0,
    )
    shin = chain(
        [
            place("LeftLowerLeg", (2, -4, 0)),
            place("LeftLowerLeg", (6, -120, -16)),
            place("LeftLowerLeg", (4, -240, -10)),
            place("LeftFoot", (2, 30, -4)),
        ],
        [54, 55, 43, 35],
        1.0,
    )
    kneecap = ball(place("LeftPatella", (0, -2, -8)), (32, 28, 22))
    foot = blend(
        16.0,
        chain([place("LeftFoot", (2, 6, -6)), place("LeftFoot", (2, -36, -34))], [36, 33]),
        chain(
            [
                place("LeftFoot", (0, -10, 14)),
                place("LeftFoot", (-2, -34, 76)),
                place("LeftToes", (-8, 6, 0)),
            ],
            [38, 31, 22],
            10.0,
        ),
        plate(
            [
                place("LeftFoot", (16, -46, -20)),
                place("LeftToes", (-24, -2, 0)),
                place("LeftToes", (22, -2, -14)),
            ],
            36,
        ),
        plate(
            [
                place("LeftToes", (-28, 2, -6)),
                place("LeftToes", (24, 0, -18)),
                place("LeftToes", (-22, 2, 54)),
            ],
            24,
        ),
        plate(
            [
                place("LeftToes", (24, 0, -18)),
                place("LeftToes", (-22, 2, 54)),
                place("LeftToes", (14, 1, 26)),
            ],
            23,
        ),
    )
    hand = _hand(place, palm)
    body = blend(26.0, trunk, yoke, neck)
    half = blend(30.0, body, blend(14.0, blend(1.0, leg, shin), kneecap, foot))
    half = blend(20.0, half, blend(10.0, blend(1.0, arm, fore), hand))
    return blend(14.0, with_mirror(half), _head(place))


def _hand(place: Place, palm: Floats) -> Solid:
    """Return palm, fingers and thumb."""
    flat = ball((0, -58, 2), (17, 52, 39))
    turned = turn(flat, palm)
    at = place("LeftHand", (0, 0, 0))
    moved = Solid(lambda points: turned.distance(points - at), turned.low + at, turned.high + at)
    fingers = []
    for k, (start, end, thick) in enumerate(hand_digits()):
        if k >= 3 and (k - 3) % 4 == 0:
            continue  # a metacarpal is in the palm
        fingers.append(rod(place("LeftHand", start), place("LeftHand", end), 7.2 * thick + 1.2))
    thumb = rod(place("LeftHand", (-4, -24, 18)), place("LeftHand", (-12, -62, 46)), 15, 12)
    return blend(6.0, moved, thumb, blend(2.0, *fingers))


def _head(place: Place) -> Solid:
    """Return a head with a face."""
    half = blend(
        14.0,
        ball((42, 22, 58), (20, 18, 20)),
        chain([(6, 54, 92), (28, 56, 88), (46, 50, 74)], [9, 9, 9], 4.0),
    )
    solid = blend(
        22.0,
        ball((0, 86, -14), (75, 64, 82)),
        ball((0, 58, -42), (60, 54, 54)),
        ball((0, 82, 38), (62, 60, 56)),
        ball((0, 26, 38), (62, 66, 54)),
        ball((0, -30, 52), (46, 36, 38)),
        ball((0, -58, 80), (18, 12, 13)),
    )
    solid = blend(14.0, solid, with_mirror(half))
    solid = blend(
        8.0,
        solid,
        chain([(0, 50, 93), (0, 34, 102), (0, 20, 112)], [8, 9, 10], 3.0),
        with_mirror(ball((10, 17, 103), (8, 7, 10))),
    )
    solid = carve(10.0, solid, with_mirror(ball((30, 38, 110), (17, 9, 20))))
    solid = blend(2.0, solid, with_mirror(ball((30, 38, 80), (14, 10, 14))))
    solid = blend(10.0, solid, with_mirror(ball((70, 28, 2), (10, 28, 15))))
    solid = blend(9.0, solid, ball((0, -16, 82), (22, 8, 12)), ball((0, -31, 81), (18, 8, 11)))
    at = place("Head", (0, 0, 0))
    return Solid(lambda points: solid.distance(points - at), solid.low + at, solid.high + at)


def _grid(whole: Solid, place: Place) -> list[Floats]:
    """Return the lines of a grid that is finer through head, hands, kneecaps and feet."""
    head, wrist = place("C5", (0, 0, 0))[1], place("LeftHand", (0, 10, 0))[0]
    ankle, knee = place("LeftFoot", (0, 20, 0))[1], place("LeftPatella", (0, 0, 0))[1]
    knuckles = place("LeftHand", (0, -90, 0))[1]

    def step_up(y: float) -> float:
        if y > head:
            return 8.0
        if abs(y - knuckles) < 75.0:
            return 6.0  # less than the gaps between fingers
        return 10.0 if y < ankle or abs(y - knee) < 40.0 else 17.0

    ends = [(low - 24.0, high + 24.0) for low, high in zip(whole.low, whole.high, strict=True)]
    x = _line(0.0, ends[0][1], lambda x: 7.5 if x < 84.0 else 6.0 if x > wrist else 16.0)
    y = _line(*ends[1], step_up)
    z = _line(*ends[2], lambda z: 12.0 if z < -50.0 else 5.0 if z < 60.0 else 9.0)
    return [np.concatenate([-x[:0:-1], x]), y, z]


def _line(low: float, high: float, step: Callable[[float], float]) -> Floats:
    ticks = [low]
    while ticks[-1] < high:
        ticks.append(ticks[-1] + step(ticks[-1]))
    return np.array(ticks)


# Which segments the skin goes with.

Core = tuple[str, tuple[float, float, float], tuple[float, float, float], float]
"""A segment, the line inside it that skin surrounds, and the radius, in millimetres."""
LEFT_CORES: tuple[Core, ...] = (
    ("Scapula", (-66, -30, -50), (-8, -12, -16), 36.0),
    ("UpperArm", (4, -34, 0), (0, -312, 0), 46.0),
    ("LowerArm", (2, -14, 0), (2, -120, 0), 40.0),
    ("Forearm", (-16, -130, 0), (-20, -236, 0), 30.0),
    ("Hand", (0, -18, 0), (0, -180, 0), 22.0),
    ("UpperLeg", (8, -80, 0), (2, -414, 0), 70.0),
    ("LowerLeg", (2, -14, -4), (2, -410, -4), 46.0),
    ("Foot", (0, -30, -40), (4, -44, 120), 32.0),
    ("Toes", (0, 0, 12), (0, -4, 60), 24.0),
)
WIDE = {"L": (60.0, 20.0), "T": (70.0, 45.0), "C": (6.0, 4.0)}
"""By region of the spine: width of the vertebrae's line, and its distance in front of them."""


def _cores(names: Sequence[str]) -> list[Core]:
    """Return the lines in all segments that have skin around them, some of them two."""
    cores: list[Core] = [
        ("Pelvis", (-60, 20, 0), (60, 20, 0), 90.0),
        ("Head", (0, 30, 10), (0, 80, 0), 92.0),
        ("Head", (0, 0, 40), (0, -44, 64), 68.0),  # the jaw, which is as near to the neck
    ]
    for name in names:
        if name[0] in WIDE and name[1:].isdigit():
            wide, ahead = WIDE[name[0]]
            cores.append((name, (-wide, 0, ahead), (wide, 0, ahead), 70.0))
    for bone, (ax, ay, az), (bx, by, bz), thick in LEFT_CORES:
        cores.append((f"Left{bone}", (ax, ay, az), (bx, by, bz), thick))
        cores.append((f"Right{bone}", (-ax, ay, az), (-bx, by, bz), thick))
    return cores


def _smooth(weights: Floats, triangles: Ints) -> Floats:
    """Return weights (n, k) smoothed over neighbours."""
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.argsort(pairs[:, 0], kind="stable")
    others = pairs[order, 1]
    counts = np.bincount(pairs[:, 0], minlength=len(weights))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for _ in range(ROUNDS):
        around = np.add.reduceat(weights[others], starts, axis=0) / counts[:, None]
        weights = 0.5 * (weights + around)
    return weights


def _weights(
    points: Vectors, triangles: Ints, place: Place, names: Sequence[str]
) -> tuple[Ints, Floats]:
    """Return segments (n, 4) and weights (n, 4), which decrease with the distance of a segment."""
    nearest: dict[str, Floats] = {}
    for name, start, end, thick in _cores(names):
        away = rod(place(name, start), place(name, end), thick).distance(points)
        nearest[name] = np.minimum(away, nearest.get(name, away))
    off = np.stack(list(nearest.values()))
    index = np.array([list(names).index(name) for name in nearest])
    near = np.clip(1.0 - (off - off.min(axis=0)) / NEAR, 0.0, None).T ** 2
    near = _smooth(near / near.sum(axis=1, keepdims=True), triangles)
    for side in ("Left", "Right"):  # not smoothed: the kneecap must stay below the skin
        patella = f"{side}Patella"
        away = ball(place(patella, (0, -2, -5)), (21, 19, 10)).distance(points)
        share = np.clip((KNEECAP_FAR - away) / (KNEECAP_FAR - KNEECAP_NEAR), 0.0, 1.0)[:, None]
        near = np.column_stack([(1.0 - share) * near, share])
        index = np.append(index, list(names).index(patella))
    best = np.argsort(-near, axis=1, kind="stable")[:, :MOST]
    weights = np.take_along_axis(near, best, axis=1)
    return index[best], weights / weights.sum(axis=1, keepdims=True)
