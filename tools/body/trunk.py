"""Bones of the trunk: skull, vertebrae, ribs, sternum, hip bones and sacrum, from few numbers.

Lengths are millimetres of a person of 1.75 m, in the frame of the bone's segment: x to the left, y
up, z forward. Bones that come in pairs are the left ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from synovia.arrays import Vectors

from .solid import Solid, ball, blade, blend, carve, chain, plate, rod, stretch, with_mirror
from .surface import Surface, around, curve_through, sweep


@cache
def skull() -> Surface:
    """Return the skull without its jaw, on the atlas."""
    vault = blend(
        20.0,
        ball((0, 86, -14), (68, 58, 74)),
        ball((0, 82, 38), (56, 54, 53)),
        ball((0, 60, -40), (52, 44, 44)),
    )
    base = blend(8.0, ball((0, 20, -2), (44, 20, 46)), ball((0, 34, 44), (42, 32, 36)))
    half = [
        chain([(5, 55, 91), (24, 59, 89), (42, 54, 79)], [6.5, 6.5, 6.0], soft=4.0),
        chain([(44, 54, 76), (51, 42, 69), (50, 29, 67)], [6.0, 5.0, 7.0], soft=4.0),
        ball((48, 24, 66), (14, 11, 12)),
        chain([(54, 23, 60), (67, 23, 38), (67, 26, 10), (62, 26, -4)], [6, 4.4, 4.6, 6], soft=3.0),
        chain([(44, 20, 66), (26, -6, 66)], [9, 9]),
        ball((0, 4, 66), (34, 24, 22)),
        ball((45, 4, -16), (12, 24, 14)),
        ball((12, 3, 0), 8),
        chain([(0, -20, 88), (12, -20, 85), (22, -20, 72), (26, -18, 52)], [7, 7, 7, 6.5], soft=5),
        chain([(24, 20, 48), (22, -14, 46)], [16, 8]),
    ]
    face = with_mirror(blend(7.0, *half))
    nose = chain([(0, 56, 89), (0, 44, 95), (0, 36, 100)], [8, 6.5, 5.5])
    whole = blend(8.0, vault, base, face, nose)
    hollows = [
        with_mirror(blend(4.0, ball((27, 38, 96), (17, 15, 24)), ball((22, 38, 78), (10, 9, 16)))),
        blend(5.0, ball((0, 22, 100), (8.5, 14, 22)), with_mirror(ball((7, 11, 96), (7.5, 8, 22)))),
        with_mirror(ball((76, 44, 46), (16, 26, 22))),
        ball((0, -14, 34), (19, 24, 40)),
    ]
    return around(carve(3.0, whole, *hollows), 6.8)


@cache
def jaw() -> Surface:
    """Return the jaw, in the frame of the head."""
    half = blend(
        8.0,
        chain([(0, -56, 84), (18, -55, 79), (34, -48, 60), (44, -39, 34)], [10, 9.5, 9, 8.5]),
        chain([(0, -34, 85), (12, -34, 82), (22, -34, 70), (27, -34, 50)], [6, 6, 6, 6]),
        ball((0, -62, 88), (13, 7, 7)),
        plate([(44, -40, 44), (46, -40, 22), (51, 12, 12)], 8.5),
        plate([(44, -40, 44), (51, 12, 12), (49, 10, 32)], 8.5),
        ball((53, 18, 12), (8, 6, 6)),
    )
    return around(with_mirror(half), 6.2)


def _vertebra(
    body: tuple[float, float, float], wings: Vectors, spine: Vectors, sizes: tuple[float, ...]
) -> Solid:
    """Return a vertebra: half widths of its body, ends of processes, and their radii."""
    wide, high, deep = body
    column = stretch(rod((0, -high, 0), (0, high, 0), wide), (1, 1, deep / wide))
    column = blend(
        3.0, column, *(ball((0, y, 0), (1.1 * wide, 4, 1.1 * deep)) for y in (3 - high, high - 3))
    )
    drum = carve(
        3.0,
        Solid(column.distance, np.array([-wide, -high, -deep]), np.array([wide, high, deep])),
        *(ball((0, y, 0), (9 * wide, high, 9 * deep)) for y in (-2 * high, 2 * high)),
        ball((0, 0, -deep - 0.55 * wide), (0.62 * wide, 2 * high, 0.62 * wide)),
    )
    wing, lamina, thorn = sizes
    back = -deep - 0.95 * wide
    half = blend(
        3.0,
        chain(
            [
                (0.75 * wide, 0.3 * high, -0.6 * deep),
                (0.8 * wide, 0.1 * high, 0.6 * back),
                (0, -0.2 * high, back),
            ],
            [lamina, lamina, lamina],
        ),
        chain(wings, [1.1 * wing, 0.9 * wing, wing]),
        rod((0.72 * wide, high, 0.62 * back), (0.74 * wide, -1.15 * high, 0.66 * back), lamina),
    )
    thorns = chain([(0, -0.2 * high, back), *spine], [thorn, 0.8 * thorn, 1.05 * thorn])
    return blend(3.0, drum, with_mirror(half), thorns)


@cache
def vertebra(region: str) -> Surface:
    """Return a vertebra of a region, "cervical", "thoracic" or "lumbar", or the "atlas"."""
    if region == "atlas":
        half = blend(
            3.0,
            chain(
                [(0, 0, 11), (15, 0, 6), (19, 0, -8), (12, 0, -24), (0, 0, -30)],
                [5, 6, 7, 4.5, 4.5],
            ),
            chain([(19, 0, -6), (36, -1, -8)], [5.5, 5]),
        )
        return around(with_mirror(half), 5.0)
    solid = {
        "cervical": _vertebra(
            (11.5, 7.0, 8.0),
            np.array([(11.0, 1, -6), (17, 0, -7), (25, -1, -8)]),
            np.array([(0, -5, -33), (0, -9, -45)]),
            (4.0, 3.6, 4.2),
        ),
        "thoracic": _vertebra(
            (15.0, 9.6, 14.0),
            np.array([(12.0, 4, -22), (22, 5, -30), (31, 6, -36)]),
            np.array([(0, -14, -43), (0, -25, -54)]),
            (5.2, 4.6, 5.4),
        ),
        "lumbar": _vertebra(
            (22.0, 13.6, 17.0),
            np.array([(17.0, 4, -22), (30, 4, -27), (44, 5, -29)]),
            np.array([(0, -7, -50), (0, -11, -66)]),
            (4.8, 5.2, 4.8),
        ),
    }[region]
    if region == "lumbar":  # a lumbar thorn is a plate that stands upright
        solid = blend(
            4.0,
            solid,
            plate([(0, 2, -44), (0, -16, -46), (0, -2, -66)], 7),
            plate([(0, -16, -46), (0, -18, -66), (0, -2, -66)], 7),
        )
    return around(solid, {"cervical": 4.0, "thoracic": 5.2, "lumbar": 6.4}[region])


@cache
def sternum() -> Surface:
    """Return manubrium, body and xiphoid, below the jugular notch."""
    down = np.array([0.0, -147.0, 50.0]) / 155.3
    ahead = np.array([0.0, 50.0, 147.0]) / 155.3
    place = [(26, 2), (30, -12), (18, -46), (15, -56), (20, -104), (13, -128), (4, -150)]
    edge = [np.array([x, 0, 0]) - y * down - 3.0 * ahead for x, y in place]
    middle = [-y * down - 0.0 * ahead for _, y in place]
    halves = []
    for k in range(len(place) - 1):
        halves += [
            plate([middle[k], edge[k], edge[k + 1]], 9.0),
            plate([middle[k], edge[k + 1], middle[k + 1]], 9.0),
        ]
    whole = with_mirror(blend(4.0, *halves))
    notch = ball((0, 12, 2), (14, 12, 14))
    return around(carve(3.0, whole, notch), (5.4, 6.4, 4.0))


@cache
def hip_bone() -> Surface:
    """Return the left hip bone, in the frame of the pelvis."""
    corners = [
        *((92, 30, 22), (64, 20, -42), (120, 84, 42), (137, 116, 10), (127, 128, -26)),
        *((90, 118, -64), (44, 90, -86), (46, 48, -64), (99, 72, -20)),
    ]
    fans = [(0, 2, 8), (2, 3, 8), (3, 4, 8), (4, 5, 8), (5, 7, 8), (5, 6, 7), (7, 1, 8), (1, 0, 8)]
    wing = blade(corners, fans, 12.0)
    crest = chain([corners[k] for k in (2, 3, 4, 5, 6)], [6.5, 7.5, 6, 6, 8], soft=4.0)
    front = chain([(118, 74, 38), (100, 44, 28), (88, 22, 20)], [6, 7, 9])
    back = chain([(46, 84, -84), (48, 52, -64), (62, 24, -44), (66, -4, -40)], [8, 7, 8, 9])
    hub = ball((77, 2, -2), (27, 36, 36))
    pubis = chain([(72, 16, 24), (44, 10, 46), (15, -4, 55)], [13, 8.5, 8.5])
    body = ball((10, -16, 54), (8, 19, 9))
    lower = chain([(11, -28, 52), (33, -56, 24), (52, -74, -12)], [7, 6, 7])
    seat = chain([(72, -18, -26), (66, -50, -38), (57, -72, -30)], [18, 15, 15])
    spine = rod((66, -8, -42), (52, -14, -54), 6, 4)
    cup = ball((86, -1, 2), 27)
    whole = blend(7.0, wing, crest, front, back, hub, pubis, body, lower, seat, spine)
    return around(carve(3.0, whole, cup), 6.6)


@cache
def sacrum() -> Surface:
    """Return sacrum and coccyx, in the frame of the pelvis."""
    column = blend(
        6.0,
        ball((0, 104, -30), (27, 15, 18)),
        ball((0, 80, -46), (22, 15, 14)),
        ball((0, 58, -58), (18, 14, 12)),
        ball((0, 38, -64), (14, 13, 10)),
        ball((0, 20, -64), (10, 11, 8)),
        ball((0, 3, -58), (7, 10, 6)),
        ball((0, -9, -49), (5, 8, 5)),
    )
    wings = with_mirror(
        blend(
            6.0,
            plate([(8, 102, -36), (40, 96, -52), (40, 60, -64)], 17),
            plate([(8, 102, -40), (40, 60, -64), (12, 24, -66)], 14),
        )
    )
    crest = chain([(0, 102, -64), (0, 80, -76), (0, 50, -80)], [5, 5, 4])
    holes = [with_mirror(ball((21, y, z), 4.5)) for y, z in ((90, -48), (68, -58), (48, -64))]
    joint = ball((0, 122, -20), (30, 8, 22))
    return around(carve(2.0, blend(7.0, column, wings, crest), *holes, joint), 6.4)


def rib_path(number: int, side: Vectors, front: Vectors, joins: Vectors | None) -> Vectors:
    """Return the path (n, 3) of a left rib from its head to the point that it `joins`.

    All are in the frame of the rib, in millimetres. A rib that joins nothing ends at its front.
    """
    out = float(side[0])
    if number <= 10:
        back = np.array([0.46 * out, 0.16 * side[1] - 2.0, -13.0 if number > 1 else -8.0])
        neck = np.array([0.24 * out + 4.0, -1.0, -11.0 if number > 1 else -8.0])
        flank = 0.5 * (back + side) + np.array([0.20 * out, 0.0, -0.10 * (side[2] + 13.0)])
        ahead = 0.52 * side + 0.48 * front + np.array([0.19 * out, -2.0, 0.17 * out])
        points = [np.zeros(3), neck, back, flank, side, ahead, front]
        points += [] if joins is None else [joins]
        return curve_through(points, 30 if number < 4 else 36)
    middle = 0.55 * side
    middle[2] -= 9.0
    return curve_through([np.zeros(3), 0.5 * middle, middle, side, front], 14)


def rib(path: Vectors, number: int, joins: bool) -> Surface:
    """Return a left rib along its path; its cartilage blends to a second joint."""
    along = np.linspace(0.0, 1.0, len(path))
    high = np.interp(along, [0, 0.06, 0.12, 0.6, 0.78, 1], [5.5, 4.2, 5.6, 6.4, 6.6, 5.4])
    thick = np.interp(along, [0, 0.06, 0.12, 0.6, 0.78, 1], [5.0, 3.6, 3.8, 3.4, 4.0, 4.4])
    if number == 1:
        high, thick = 0.9 * high, 1.0 * thick
    if not joins:
        high, thick = high * np.interp(along, [0, 0.7, 1], [0.9, 0.8, 0.4]), 0.85 * thick
    made = sweep(path, high, thick, np.array([0.0, 1.0, 0.12]), sides=7)
    if not joins:
        return made
    ring = np.append(np.repeat(np.arange(len(path)), 7), [0, len(path) - 1])
    share = np.clip((along - 0.72) / 0.26, 0.0, 1.0)
    smooth = share * share * (3.0 - 2.0 * share)
    return Surface(made.vertices, made.triangles, smooth[ring])


TRUNK: Mapping[str, str] = {
    **{f"L{k}": "lumbar" for k in range(1, 6)},
    **{f"T{k}": "thoracic" for k in range(1, 13)},
    **{f"C{k}": "cervical" for k in range(2, 8)},
    "C1": "atlas",
}
"""The region of each vertebra."""
