"""What the joints of the demo's human can really do, and what they only just cannot."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from .. import quat
from ..anatomy import human, limits_of
from ..arrays import Floats, Quats
from ..components import Figure
from ..limit import Limit
from ..lineage import lineage
from ..model import LimitModel

LIMBS = ("Clavicle", "UpperArm", "LowerArm", "Forearm", "Hand", "UpperLeg", "LowerLeg", "Foot")
JOINTS = ("Head", *(f"{side}{limb}" for side in ("Left", "Right") for limb in LIMBS))
"""The joints that the demo learns about; vertebrae and ribs move too little each."""
ANCESTORS = {"Head": "T1", "LeftUpperArm": "Sternum", "RightUpperArm": "Sternum"}
"""Those that are measured from a joint above their parent: the head from below the neck."""
TRUNK = ("lumbar", "thoracic", "cervical", "head")
DRAWN = 4000
"""Poses of the neck that its limit is made of."""
SLACK = np.radians(0.5)
NEAR = (math.radians(5.0), math.radians(45.0))
"""How far a near miss is from a legal rotation, in radians."""
FREE = 0.01
"""The share of all rotations from which on a joint turns freely about three axes."""


@cache
def body() -> Figure:
    """Return the default human."""
    return human()


def drawn_controls(n: int, rng: np.random.Generator, beyond: float = 0.0) -> Floats:
    """Return controls (n, C) at random, those `beyond` their ends, as a share, at the ends.

    Flexion and abduction of a shoulder are within an ellipse of their ranges, because an arm that
    does both to the end could as well be on the other side of the body. Head and neck go together.
    """
    controls = body().controls
    place = {name: k for k, name in enumerate(controls)}
    low, neutral, high = np.array([(c.low, c.neutral, c.high) for c in controls.values()]).T
    shares = rng.uniform(-beyond, 1.0 + beyond, (n, len(low)))
    table = low + np.clip(shares, 0.0, 1.0) * (high - low)
    for side in ("left", "right"):
        pair = [place[f"{side}_shoulder.{move}"] for move in ("flexion", "abduction")]
        around = rng.uniform(0.0, 2.0 * np.pi, n)
        size = np.minimum(np.sqrt(rng.uniform(0.0, 1.0 + 2.0 * beyond, n)), 1.0)
        for k, part in zip(pair, (np.cos(around), np.sin(around)), strict=True):
            ends = np.where(part > 0.0, high[k] - neutral[k], neutral[k] - low[k])
            table[:, k] = neutral[k] + size * part * ends
    for move in ("flexion", "bend", "twist"):
        neck, head = place[f"cervical.{move}"], place[f"head.{move}"]
        share = (table[:, neck] - low[neck]) / (high[neck] - low[neck])
        table[:, head] = low[head] + share * (high[head] - low[head])
    return np.asarray(table)


@cache
def true_limits() -> LimitModel:
    """Return the truth: limits of `JOINTS`, around all that the human's controls can do."""
    figure = body()
    sets = {name: each for name, each in figure.joint_sets.items() if name not in TRUNK}
    limbs = Figure(figure.skeleton, sets)
    limits = {**limits_of(limbs).limits, "Head": _neck()}
    return LimitModel({name: limits[name] for name in JOINTS}, figure.skeleton)


def _neck() -> Limit:
    """Return the limit of the head as the first rib's vertebra sees it."""
    seen = done("Head", drawn_controls(DRAWN, np.random.default_rng(0), beyond=0.5))
    fitted = Limit.fit(seen, "kdop", "rotation-vector", margin=SLACK)
    return Limit(fitted.chart, fitted.shape, ANCESTORS["Head"])


def done(name: str, controls: Floats) -> Quats:
    """Return what a joint does by these controls (n, C), as it is measured: (n, 4)."""
    figure = body()
    return lineage(figure.skeleton, name, ANCESTORS.get(name)).seen(figure.pose(controls).rotations)


def near_misses(limit: Limit, n: int, rng: np.random.Generator) -> Quats:
    """Return `n` illegal rotations, 5 to 45 degrees from a legal one."""
    illegal = np.empty((0, 4))
    while len(illegal) < n:
        axes = rng.normal(size=(2 * n, 3))
        axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
        turns = quat.exp(rng.uniform(*NEAR, size=(2 * n, 1)) * axes)
        drawn = quat.mul(limit.sample(2 * n, rng), turns)
        illegal = np.concatenate([illegal, drawn[~limit.contains(drawn)]])
    return illegal[:n]
