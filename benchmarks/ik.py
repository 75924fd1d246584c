"""Inverse kinematics of an arm within its limits: how many goals are met, and how fast.

The arm: a shoulder with a reach cone of nine points and a twist that depends on direction, an
elbow that is a hinge, a forearm that twists, a wrist that swings. Goals are where legal poses put
the hand, so all of them can be met. Legality is looked at with `contains`, apart from the solver.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

from synovia import (
    Box,
    DirectionTwist,
    Limit,
    LimitModel,
    Pose,
    ReachCone,
    Skeleton,
    SwingTwist,
    forward,
    quat,
)
from synovia.ik import Orient, Reach, solve

CLOSE, STRAIGHT = 1e-3, np.radians(0.2)  # of the chain's length; of the hand's direction
BONES = {"Shoulder": 0.0, "Elbow": 0.30, "Forearm": 0.13, "Wrist": 0.13, "Hand": 0.08}
LENGTH = sum(BONES.values())


def hinge(axis, low, high):
    """About one axis, from low to high."""
    chart = SwingTwist(axis=np.asarray(axis, float))
    return Limit(chart, Box([0.0, 0.0, low], [0.0, 0.0, high], np.eye(3)))


def arm():
    """Return the limits of the arm, with its skeleton."""
    names = tuple(BONES)
    offsets = np.array([[length, 0.0, 0.0] for length in BONES.values()])
    skeleton = Skeleton(names, np.arange(len(names)) - 1, offsets)
    around = 2.0 * np.pi * np.arange(9) / 9
    radius = np.radians(75.0 + 20.0 * np.cos(around) + 8.0 * np.sin(2.0 * around))
    ring = np.stack(
        [np.cos(radius), np.sin(radius) * np.cos(around), np.sin(radius) * np.sin(around)], axis=1
    )
    twist = np.radians(15.0) * np.sin(around)
    cone = ReachCone(ring, twist - np.radians(65.0), twist + np.radians(55.0))
    chart = DirectionTwist(axis=np.array([1.0, 0.0, 0.0]))
    round_ring = np.stack(
        [
            np.full(8, np.cos(0.9)),
            np.sin(0.9) * np.cos(np.pi * np.arange(8) / 4),
            np.sin(0.9) * np.sin(np.pi * np.arange(8) / 4),
        ],
        axis=1,
    )
    limits = {
        "Shoulder": Limit(chart, cone),
        "Elbow": hinge([0.0, -1.0, 0.0], 0.0, np.radians(150.0)),
        "Forearm": hinge([1.0, 0.0, 0.0], -np.radians(80.0), np.radians(80.0)),
        "Wrist": Limit(chart, ReachCone(round_ring, 0.0, 0.0)),
    }
    return LimitModel(limits, skeleton)


def starts(model):
    """Return the two starts by name: straight, and with the elbow at 60 degrees."""
    rest = model.skeleton.rest_pose()
    rotations = rest.rotations.copy()
    rotations[model.skeleton.index("Elbow")] = quat.exp(np.array([0.0, -np.radians(60.0), 0.0]))
    return {"rest": rest, "bent": Pose(rotations, rest.positions)}


def clamp_after(model, pose, goals):
    """Solve without limits but with the same axes, then clamp: what others do."""
    wide = {
        "Elbow": hinge([0.0, -1.0, 0.0], -np.pi, np.pi),
        "Forearm": hinge([1.0, 0.0, 0.0], -np.pi, np.pi),
        "Wrist": Limit(SwingTwist(axis=[1.0, 0.0, 0.0]), Box([-2, -2, 0], [2, 2, 0], np.eye(3))),
    }
    found = solve(LimitModel(wide, model.skeleton), model.skeleton, pose, goals, joints=JOINTS)
    return model.project(found.pose)


JOINTS = ("Shoulder", "Elbow", "Forearm", "Wrist")


def share(model, pose, points, turns):
    """Return the shares of goals met: in place, and in place and direction."""
    where, how = forward(model.skeleton, pose)
    near = np.linalg.norm(where[:, -1] - points, axis=-1) <= CLOSE * LENGTH
    along = quat.angle_between(how[:, -1], turns) <= STRAIGHT
    assert model.contains(pose).all()
    return near.mean(), (near & along).mean()


def timed(run):
    """Return the result, and the seconds it took the second time."""
    run()
    start = perf_counter()
    result = run()
    return result, perf_counter() - start


def main(count=10_000):
    """Print the tables."""
    model = arm()
    truth = model.sample(count, np.random.default_rng(1))
    where, how = forward(model.skeleton, truth)
    points, turns = where[:, -1], how[:, -1]
    position = [Reach("Hand", points)]
    both = [Reach("Hand", points), Orient("Hand", turns)]
    print(f"{'':16}{'position':>20}{'pose':>28}")
    for method in ("least-squares", "ccd", "fabrik", "clamp after"):
        for name, start in starts(model).items():
            line = f"{method:<16}{name:>6}"
            for goals, which in ((position, 0), (both, 1)):
                if method == "clamp after":
                    pose, seconds = timed(lambda g=goals, s=start: clamp_after(model, s, g))
                else:
                    found, seconds = timed(
                        lambda g=goals, s=start, m=method: solve(
                            model, model.skeleton, s, g, joints=JOINTS, method=m
                        )
                    )
                    pose = found.pose
                met = share(model, pose, points, turns)[which]
                line += f"{100.0 * met:>10.2f} %{count / seconds:>10.0f} /s"
            print(line, flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
