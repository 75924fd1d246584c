"""Measure exports: shares of all rotations, and overshoot of dropped ragdolls.

Limits are fitted to clips of range of motion, given as arguments:

    python benchmarks/export.py rom/*.bvh
    python benchmarks/export.py rom/*.bvh --drops 100
"""

from __future__ import annotations

import argparse

import numpy as np

from synovia import Hinges, LimitModel, RotationVector, load_clip, quat
from synovia.export import hinged_body, hinged_joint
from synovia.export.mjcf import mjcf_text
from synovia.limit import Limit
from synovia.limit.convert import approximate
from synovia.population.limits import canonical_limits
from synovia.shapes import Box, Ellipsoid

JOINTS = {
    "LeftArm": "shoulder",
    "LeftUpLeg": "hip",
    "LeftLeg": "knee",
    "LeftForeArm": "elbow",
}


def ball(limit):
    """MuJoCo's ball joint: a largest angle from rest."""
    members = limit.sample(20_000, np.random.default_rng(0))
    reach = min(float(quat.angle_between(members, quat.IDENTITY).max()), np.pi)
    return Limit(RotationVector(), Ellipsoid(np.zeros(3), np.full(3, reach), np.eye(3)))


def bone_hinges(limit):
    """Hinges along the axes of the skeleton, from rest."""
    chart = Hinges()
    return Limit(chart, approximate(limit, Box, chart, 20_000, {"along": "chart"}))


def shares(paths):
    model = LimitModel.fit([load_clip(path) for path in paths], joints=list(JOINTS))
    titles = ("joint", "limit", "ball", "skeleton's axes", "data's axes", "+ tendons", "lost")
    print(f"| {' | '.join(titles)} |")
    print("|---|---|---|---|---|---|---|")
    for name, title in JOINTS.items():
        limit = model.limits[name]
        plain, full = (hinged_joint(limit, name, slanted=slanted) for slanted in (False, True))
        each = [limit, ball(limit), bone_hinges(limit), plain.limit, full.limit]
        cells = [f"{100.0 * one.volume():.3g} %" for one in each]
        print(f"| {title} | {' | '.join(cells)} | {100.0 * full.loss.lost:.2g} % |")


def drops(count):
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf_text(hinged_body(canonical_limits("human"))))
    data, rng, worst = mujoco.MjData(model), np.random.default_rng(0), [0.0, 0.0]
    for _ in range(count):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        data.qpos[2], data.qpos[3:7] = 1.5, quat.normalize(rng.normal(size=4))
        data.qvel[:] = 3.0 * rng.normal(size=model.nv)
        for _ in range(1000):
            mujoco.mj_step(model, data)
            for k, ((low, high), at) in enumerate(
                ((model.jnt_range[1:].T, data.qpos[7:]), (model.tendon_range.T, data.ten_length))
            ):
                worst[k] = max(worst[k], float(np.maximum(low - at, at - high).max()))
    angles = " and ".join(f"{np.degrees(each):.1f}°" for each in worst)
    print(f"{count} drops of 2 s: hinges and tendons go beyond their ranges by up to {angles}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clips", nargs="*")
    parser.add_argument("--drops", type=int, default=0)
    asked = parser.parse_args()
    if asked.clips:
        shares(asked.clips)
    if asked.drops:
        drops(asked.drops)
