"""Bones of arm and leg of the left side, from few numbers; see `trunk` for units and frames."""

from __future__ import annotations

from functools import cache

import numpy as np

from synovia.arrays import Floats, Vectors

from .solid import ball, blade, blend, carve, chain, plate, rod, stretch
from .surface import Surface, around, curve_through, sweep

# The arm. It hangs, palm to the thigh: lateral is +x, the thumb is at +z.


@cache
def clavicle() -> Surface:
    """Return the clavicle, an S from the sternum to the acromion."""
    path = curve_through(
        [(-2, -1, -1), (22, 3, 9), (52, 8, 12), (84, 13, 2), (112, 17, -12), (136, 20, -14)], 20
    )
    along = np.linspace(0.0, 1.0, 20)
    high = np.interp(along, [0, 0.08, 0.25, 0.7, 0.9, 1], [11, 11, 7.2, 6.0, 5.4, 5.0])
    deep = np.interp(along, [0, 0.08, 0.25, 0.7, 0.9, 1], [9, 9.5, 7.0, 6.8, 9.6, 8.0])
    return sweep(path, high, deep, np.array([0.0, 1.0, 0.0]), sides=10)


ROOT = np.array([-99.0, -14.0, -84.0])
"""Start of the scapula's spine."""


@cache
def scapula() -> Surface:
    """Return the scapula, with its spine, acromion, coracoid and socket."""
    corners = np.array(
        [
            *((-88, 20, -68), (-101, -13, -84), (-94, -70, -101), (-76, -124, -107)),
            *((-58, -112, -91), (-34, -74, -58), (-14, -50, -34), (-12, -26, -24)),
            *((-34, -2, -34), (-62, 10, -50), (-62, -46, -72), (-44, -24, -54)),
        ],
        dtype=float,
    )
    fans = [
        *((0, 1, 9), (1, 11, 9), (1, 2, 10), (1, 10, 11), (2, 3, 10), (3, 4, 10), (4, 5, 10)),
        *((5, 11, 10), (5, 6, 11), (6, 7, 11), (7, 8, 11), (8, 9, 11)),
    ]
    body = blade(corners, fans, 5.6)
    rim = chain(corners[[0, 1, 2, 3]], [3.2, 3.4, 3.4, 4.6])
    border = chain(corners[[3, 4, 5, 6]], [4.8, 4.4, 4.6, 7.5])
    neck = ball((-15, -36, -26), (9, 17, 13))
    back = np.array([0.5976, 0.2754, -0.7530])  # away from the ribs
    spine = [ROOT + 2 * back, np.array([-76, -6, -73]) + 9 * back]
    spine += [np.array([-54, 1, -59]) + 15 * back, np.array([-33, 5, -44]) + 17 * back]
    foot = [np.array(each, float) for each in ((-97, -16, -83), (-76, -12, -72), (-54, -10, -58))]
    foot += [np.array([-33.0, -12, -42])]
    ridge = chain([*spine, (-9, 7, -34)], [3.2, 4.2, 4.8, 5.2, 6.0])
    web = [
        plate(corner, 6.4)
        for k in range(3)
        for corner in ([foot[k], foot[k + 1], spine[k]], [foot[k + 1], spine[k + 1], spine[k]])
    ]
    roof = blend(
        5.0,
        plate([(-12, 6, -36), (15, 1, -28), (-4, 4, -8)], 8.5),
        plate([(15, 1, -28), (17, -1, -6), (-4, 4, -8)], 8.5),
        plate([(17, -1, -6), (6, 1, 8), (-4, 4, -8)], 8.0),
    )
    beak = chain([(-18, -18, -22), (-19, -2, -8), (-12, -3, 8), (-1, -13, 19)], [8, 7, 6, 5.5], 4.0)
    socket = ball((9, -34, -10), 25.5)
    whole = blend(3.5, body, rim, border, neck, ridge, *web, roof, beak)
    across = np.array([-back[2], 0.0, back[0]]) / np.hypot(back[0], back[2])
    axes = np.stack([across, np.cross(back, across), back])
    return around(carve(2.0, whole, socket), (5.2, 5.6, 2.5), axes=axes)


@cache
def humerus() -> Surface:
    """Return the humerus, from the centre of its head to the elbow."""
    head = ball((-2, 1, -2), 22.5)
    knobs = blend(4.0, ball((18, -6, 2), (12, 15, 14)), ball((6, -12, 16), (8, 10, 8)))
    shaft = chain(
        [(7, -24, 2), (9, -60, 2), (7, -130, 2), (4, -220, 0), (2, -280, 0), (0, -306, 0)],
        [19, 12.5, 11.5, 10.0, 10.5, 11.0],
        4.0,
    )
    flare = blend(
        6.0,
        rod((0, -285, 0), (-27, -312, -3), 8, 7),
        rod((0, -282, 0), (28, -312, 0), 7, 6.5),
    )
    spool = blend(2.0, rod((-17, -326, 1), (3, -326, 1), 11, 9), ball((17, -324, 4), (10, 11, 11)))
    fossa = ball((-6, -311, -15), (10, 9, 8))
    whole = blend(6.0, head, knobs, shaft, flare, spool)
    return around(carve(2.0, whole, fossa), 5.8, (36, 38))


@cache
def ulna() -> Surface:
    """Return the ulna, from the elbow to its head behind the wrist."""
    hook = chain([(-7, 14, -10), (-7, 6, -19), (-7, -14, -15)], [9, 11, 11], 4.0)
    crown = rod((-7, -18, -8), (-7, -14, 11), 10, 7)
    shaft = chain(
        [(-6, -34, -7), (-5, -80, -9), (-2, -140, -13), (0, -200, -17), (0, -240, -20)],
        [9.5, 7.5, 7.0, 6.0, 6.0],
    )
    head = blend(2.0, ball((0, -247, -20), 8), rod((0, -248, -24), (0, -257, -25), 4, 3))
    notch = rod((-30, 0, 1), (20, 0, 1), 11.5)
    return around(carve(2.0, blend(5.0, hook, crown, shaft, head), notch), 4.6, (30, 14))


@cache
def radius() -> Surface:
    """Return the radius, from its head to the wrist."""
    head = stretch(ball((-2, -6, 3), 12), (1.0, 0.62, 1.0), (-2, -6, 3))
    shaft = chain(
        [(-2, -12, 2), (-3, -24, 2), (0, -70, 6), (1, -130, 10), (-8, -190, 11), (-16, -226, 9)],
        [8.5, 6.8, 7.2, 8.0, 8.0, 10.0],
        4.0,
    )
    knob = ball((-9, -34, 3), (7, 11, 7))
    end = blend(
        4.0,
        ball((-18, -234, 9), (11, 13, 13)),
        ball((-19, -237, -3), (9, 9, 9)),
        rod((-18, -238, 18), (-19, -248, 19), 6, 4),
    )
    cup = ball((-20, -256, 2), (16, 13, 19))
    return around(carve(2.0, blend(5.0, head, shaft, knob, end), cup), 4.6, (22, 26))


@cache
def carpals() -> Surface:
    """Return the eight bones of the wrist."""
    stones = [
        *(((1, -11, 11), 8.5), ((2, -10, -1), 8), ((1, -13, -12), 7.5), ((-8, -15, -15), 5)),
        *(((-4, -25, 18), 7.5), ((2, -27, 10), 7), ((3, -26, 1), 8.5), ((1, -27, -9), 8)),
    ]
    return around(blend(0.8, *(ball(place, size) for place, size in stones)), 4.4)


@cache
def digit() -> Surface:
    """Return one long bone of a hand or a foot, from the origin 40 mm down."""
    down = np.array([-1.5, -4, -9, -18, -27, -33, -37, -39.3])
    thick = np.array([5.0, 6.6, 5.4, 3.9, 4.2, 5.4, 5.2, 3.4])
    path = np.stack([0 * down, down, 0.5 * np.sin(np.pi * down / -40.0)], axis=-1)
    return sweep(path, thick, 0.94 * thick, np.array([1.0, 0.0, 0.0]), sides=8)


Digit = tuple[Vectors, Vectors, float]
"""Start and end of a bone of a hand or foot, and its thickness relative to a finger's."""


def _finger(
    base: tuple[float, ...],
    knuckle: tuple[float, ...],
    lengths: tuple[float, ...],
    thick: float,
    curl: float = 0.04,
) -> list[Digit]:
    """Return metacarpal and phalanges; each bends a little more to the palm."""
    a, b = np.array(base, float), np.array(knuckle, float)
    bones = [(a, b, thick)]
    way = (b - a) / np.linalg.norm(b - a)
    way = way * [1, 1, 0.8]
    for k, length in enumerate(lengths):
        angle = curl * (k + 1) ** 1.2
        towards = np.array([way[0] - angle, way[1], way[2]])
        end = b + length * towards / np.linalg.norm(towards)
        bones.append((b, end, thick * (0.94 - 0.14 * k)))
        b = end
    return bones


def hand_digits() -> list[Digit]:
    """Return the bones of the fingers, thumb first, in the frame of the hand."""
    thumb: list[Digit] = [
        (np.array([-5.0, -28, 22]), np.array([-12.0, -62, 46]), 1.1),
        (np.array([-12.0, -62, 46]), np.array([-15.0, -89, 58]), 1.0),
        (np.array([-15.0, -89, 58]), np.array([-17.0, -111, 65]), 0.85),
    ]
    return [
        *thumb,
        *_finger((2, -34, 13), (3, -94, 23), (43, 25, 18), 1.08),
        *_finger((3, -34, 3), (4, -94, 6), (46, 29, 19), 1.08),
        *_finger((2, -35, -6), (3, -88, -9), (42, 27, 18), 1.0),
        *_finger((1, -34, -13), (0, -81, -23), (33, 20, 16), 0.9),
    ]


# The leg.


@cache
def femur() -> Surface:
    """Return the femur, from the centre of its head to the knee."""
    head = ball((0, 0, 0), 23.5)
    neck = rod((6, -5, 0), (44, -30, -2), 14, 16)
    top = blend(6.0, ball((54, -22, -8), (13, 21, 18)), ball((26, -66, -16), (9, 11, 9)))
    shaft = chain(
        [(46, -44, -2), (43, -90, 4), (33, -180, 12), (19, -280, 11), (8, -360, 3), (3, -396, 0)],
        [17.5, 14.5, 13.5, 13.8, 17.0, 22.0],
        8.0,
    )
    knobs = blend(
        4.0,
        ball((-23, -421, -6), (16, 22, 29)),
        ball((25, -421, -5), (16, 22, 29)),
        ball((1, -410, 10), (30, 20, 22)),
    )
    groove = rod((1, -448, 40), (1, -390, 46), 14)
    notch = ball((1, -444, -18), (9, 22, 24))
    whole = blend(12.0, blend(9.0, head, neck, top, shaft), knobs)
    return around(carve(4.0, whole, groove, notch), 7.0, (64, 52))


@cache
def tibia() -> Surface:
    """Return the tibia, from the knee to the ankle."""
    table = blend(6.0, ball((-19, -29, -4), (20, 12, 24)), ball((19, -29, -4), (20, 12, 24)))
    table = carve(3.0, table, ball((0, 8, -4), (90, 23.5, 90)))
    hill = ball((0, -19, -4), (5, 6, 7))
    shaft = chain(
        [(0, -40, 0), (0, -76, 3), (-1, -160, 6), (-1, -270, 4), (0, -370, 0), (0, -402, 0)],
        [25, 17.5, 14.0, 12.0, 12.5, 17.0],
        6.0,
    )
    knob = chain([(1, -46, 20), (0, -64, 21), (-1, -110, 15)], [8, 8, 6])
    ankle = blend(5.0, ball((0, -410, 0), (22, 13, 19)), rod((-17, -412, 2), (-20, -432, 2), 11, 7))
    roof = ball((2, -437, 2), (18, 20, 22))
    return around(carve(2.5, blend(8.0, table, hill, shaft, knob, ankle), roof), 6.4, (50, 34))


@cache
def fibula() -> Surface:
    """Return the fibula, in its own frame below the knee."""
    shaft = chain(
        [(0, -2, 0), (-2, -24, 1), (-3, -120, 2), (-3, -260, 5), (-3, -370, 9), (-3, -388, 9)],
        [10, 6.5, 5.8, 6.0, 6.8, 8.5],
        4.0,
    )
    ankle = ball((-3, -404, 9), (8, 17, 10))
    return around(blend(5.0, shaft, ankle), 4.8, (18, 30))


@cache
def patella() -> Surface:
    """Return the kneecap."""
    shield = blend(6.0, ball((0, 4, -5), (21, 17, 10)), ball((0, -10, -5), (12, 14, 8)))
    return around(shield, 4.6)


@cache
def tarsals() -> Surface:
    """Return the bones of the foot behind the metatarsals."""
    talus = blend(5.0, ball((0, -9, 2), (18, 17, 22)), rod((-3, -18, 14), (-6, -24, 31), 14, 13))
    heel = chain([(6, -38, 10), (5, -38, -14), (2, -44, -44)], [15, 16, 19], 6.0)
    boat = ball((-8, -28, 46), (18, 14, 8.5))
    wedges = [ball((-15, -34, 60), (9, 13, 11)), ball((-3, -29, 60), (8.5, 12, 10))]
    cube = ball((16, -43, 44), (14, 13, 17))
    more = ball((8, -33, 58), (7, 12, 10))
    return around(blend(1.2, talus, heel, boat, *wedges, more, cube), 6.0)


def foot_digits() -> list[Digit]:
    """Return the metatarsals, in the frame of the foot."""
    return [
        (np.array(a, float), np.array(b, float), thick)
        for a, b, thick in (
            ((-16, -37, 66), (-19, -55, 132), 1.55),
            ((-3, -33, 66), (-3, -56, 142), 1.1),
            ((8, -36, 64), (9, -57, 138), 1.05),
            ((16, -43, 58), (21, -58, 130), 1.05),
            ((27, -49, 52), (33, -59, 119), 1.1),
        )
    ]


def toe_digits() -> list[Digit]:
    """Return the bones of the toes, in the frame of the toes."""
    bones: list[Digit] = []
    for base, lengths, thick in (
        ((-27, 0, -5), (32, 27), 1.45),
        ((-11, -1, 5), (27, 14, 11), 0.95),
        ((1, -2, 1), (24, 12, 10), 0.9),
        ((13, -3, -7), (22, 10, 9), 0.85),
        ((25, -4, -18), (20, 8, 9), 0.85),
    ):
        at = np.array(base, float)
        for k, length in enumerate(lengths):
            droop = 0.06 + 0.10 * k if thick < 1 else 0.05
            way = np.array([0.05, -droop, 1.0])
            end = at + length * way / np.linalg.norm(way)
            bones.append((at, end, thick * (1 - 0.1 * k)))
            at = end
    return bones


def along(bone: Digit, length: float = 40.0) -> Floats:
    """Return the transform (3, 4) from the surface `digit` of this length to a bone."""
    start, end, thick = bone
    way = end - start
    far = float(np.linalg.norm(way))
    down = way / far
    side = np.array([1.0, 0.0, 0.0])
    side -= (side @ down) * down
    if np.linalg.norm(side) < 0.2:
        side = np.array([0.0, 0.0, 1.0]) - down[2] * down
    side /= np.linalg.norm(side)
    ahead = np.cross(side, -down)
    return np.column_stack([thick * side, -down * far / length, thick * ahead, start])
