"""Two limits on one sphere: each triangle is of directions that the limits decide on alike."""

from __future__ import annotations

import numpy as np
import pytest

from clips import clip
from synovia import LimitModel, quat
from synovia.limit import gained_and_lost
from synovia.mesh import Quality, sheet_difference

BONE = np.array([1.0, 0.0, 0.0])
TWISTS = np.radians(np.arange(-180.0, 180.0, 1.0))
PAIRS = (("box", "kdop"), ("reach-cone", "product"), ("theta-phi", "reach-cone"))


def arm(family, **options):
    return LimitModel.fit([clip(**options)], family, joints=["LeftArm"], margin=0.03).limits[
        "LeftArm"
    ]


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def pair(request):
    old, new = request.param
    pair = arm(old, size=0.5), arm(new, size=0.55, seed=3)
    return *pair, sheet_difference(*pair, BONE)


def allowed(limit, new, directions):
    """Which twists (twists, n) of directions, as the new limit's reference sees them, are legal."""
    swings = quat.mul(new.chart.reference, quat.between(BONE, directions))
    twists = quat.exp(TWISTS[:, None] * BONE)
    return limit.contains(quat.mul(swings, twists[:, None]))


def test_every_triangle_is_what_the_limits_say(pair):
    old, new, seen = pair
    triangles = seen.mesh.triangles[::7]
    corners = seen.mesh.vertices[triangles]
    size = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    large = size > 1e-4  # a degree or so: of smaller ones at a rim the oracle's step decides
    middles = corners[large].mean(axis=1)
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    was, now = allowed(old, new, middles).any(axis=0), allowed(new, new, middles).any(axis=0)
    gained, lost = (each[triangles[large]].min(axis=1) for each in (seen.gained, seen.lost))
    drawn = np.where(gained == 1.0, "new", np.where(lost == 1.0, "old", "both"))
    truth = np.where(was & now, "both", np.where(now, "new", np.where(was, "old", "none")))
    assert len(set(truth)) > 1
    assert (drawn == truth).mean() > 0.99


def test_shares_of_twists_are_those_that_only_one_allows(pair):
    old, new, seen = pair
    some = np.arange(0, len(seen.mesh.vertices), 11)
    was, now = (allowed(limit, new, seen.mesh.vertices[some]) for limit in (old, new))
    either = np.maximum((was | now).sum(axis=0), 1)
    wide = either > 40  # degrees: shares are told to five
    for drawn, true in ((seen.gained, now & ~was), (seen.lost, was & ~now)):
        off = np.abs(drawn[some] - true.sum(axis=0) / either)[wide]
        assert np.quantile(off, 0.95) < 0.2


def test_gained_and_lost_are_shares_of_all_rotations(pair):
    old, new, _ = pair
    gained, lost = gained_and_lost(old, new)
    some = quat.normalize(np.random.default_rng(5).normal(size=(60_000, 4)))
    was, now = old.contains(some), new.contains(some)
    for share, mask in ((gained, now & ~was), (lost, was & ~now)):
        assert abs(share - mask.mean()) < 5.0 * np.sqrt(0.05 / 60_000)
    assert gained_and_lost(new, old) == (lost, gained)
    assert gained_and_lost(old, old) == (0.0, 0.0)


def test_an_axis_of_its_own_is_no_obstacle():
    """A cone has its axis, and is seen along another bone beside a limit that has none."""
    old, new, up = arm("reach-cone"), arm("box"), np.array([0.0, 1.0, 0.0])
    seen = sheet_difference(old, new, up, Quality(0.05, 500))
    assert np.allclose(np.linalg.norm(seen.mesh.vertices, axis=1), 1.0)
    assert 0 < (seen.gained < 0.5).sum() < len(seen.gained)
