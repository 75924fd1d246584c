"""Measure inverse kinematics within limits: goals met, time, smoothness, and blocking joints.

The arm: a shoulder with a reach cone of nine points and a twist that depends on direction, an
elbow that is a hinge, a forearm that twists, a wrist that swings; for the harder problems with a
clavicle before it. The body: 24 joints, the arms twice. Goals are where legal poses put hands,
feet and head, so all of them can be met, but for those that are said to be beyond reach. Legality
is looked at with `contains`, apart from the solver.
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time

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
from synovia.ik import Orient, Reach, SearchSettings, solve, track

CLOSE, STRAIGHT = 1e-3, np.radians(0.2)  # of the chain's length; of the hand's direction
X = np.array([1.0, 0.0, 0.0])
BONES = {"Shoulder": 0.0, "Elbow": 0.30, "Forearm": 0.13, "Wrist": 0.13, "Hand": 0.08}
LENGTH = sum(BONES.values())
JOINTS = ("Shoulder", "Elbow", "Forearm", "Wrist")
ENDS = ("LeftWrist", "RightWrist", "LeftAnkle", "RightAnkle", "Head")
WIDER = np.radians(10.0)  # by which a limit is widened to see whether it blocked
SHRUNK = 0.995  # it did, if at most this share of the gap is left


def hinge(axis, low, high):
    """Return a hinge about an axis, from low to high."""
    chart = SwingTwist(axis=np.asarray(axis, float))
    return Limit(chart, Box([0.0, 0.0, low], [0.0, 0.0, high], np.eye(3)))


def cone(axis, radius, low, high):
    """Return a reach cone about an axis with a point for each radius, and twist limits."""
    axis, radius = np.asarray(axis, float), np.asarray(radius, float)
    first = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    first /= np.linalg.norm(first)
    around = 2.0 * np.pi * np.arange(len(radius)) / len(radius)
    across = np.outer(np.cos(around), first) + np.outer(np.sin(around), np.cross(axis, first))
    ring = np.cos(radius)[:, None] * axis + np.sin(radius)[:, None] * across
    return Limit(DirectionTwist(axis=axis), ReachCone(ring, low, high))


def arm_limits(wider=None, side=1.0):
    """Return the limits of an arm along ±x; `wider` names a joint whose limit is widened."""
    around = 2.0 * np.pi * np.arange(9) / 9
    more = {name: WIDER if name == wider else 0.0 for name in ("Clavicle", *JOINTS)}
    radius = np.radians(75.0 + 20.0 * np.cos(around) + 8.0 * np.sin(2.0 * around))
    twist = np.radians(15.0) * np.sin(around)
    low = twist - np.radians(65.0) - more["Shoulder"]
    high = twist + np.radians(55.0) + more["Shoulder"]
    turn = np.radians(80.0) + more["Forearm"]
    lift, roll = np.full(8, 0.35) + more["Clavicle"], 0.2 + more["Clavicle"]
    return {
        "Clavicle": cone(side * X, lift, -roll, roll),
        "Shoulder": cone(side * X, radius + more["Shoulder"], low, high),
        "Elbow": hinge([0.0, -side, 0.0], -more["Elbow"], np.radians(150.0) + more["Elbow"]),
        "Forearm": hinge(side * X, -turn, turn),
        "Wrist": cone(side * X, np.full(8, 0.9 + more["Wrist"]), 0.0, 0.0),
    }


def arm(clavicle=False, wider=None):
    """Return the limits of the arm, with its skeleton."""
    bones = {"Clavicle": 0.0, **BONES, "Shoulder": 0.15} if clavicle else BONES
    offsets = np.array([[length, 0.0, 0.0] for length in bones.values()])
    skeleton = Skeleton(tuple(bones), np.arange(len(bones)) - 1, offsets)
    limits = {name: limit for name, limit in arm_limits(wider).items() if name in bones}
    return LimitModel(limits, skeleton)


def body():
    """Return the limits of a body of 24 joints, with its skeleton."""
    up = np.array([0.0, 1.0, 0.0])
    rows = [("Hips", "", [0, 1, 0], None)]
    for name, parent, width in (("Spine", "Hips", 0.35), ("Chest", "Spine", 0.35)):
        rows.append((name, parent, [0, 0.13, 0], cone(up, np.full(8, width), -0.4, 0.4)))
    rows.append(("Neck", "Chest", [0, 0.28, 0], cone(up, np.full(8, 0.6), -0.8, 0.8)))
    rows.append(("Head", "Neck", [0, 0.1, 0], cone(up, np.full(8, 0.5), -0.6, 0.6)))
    for name, side in (("Left", 1.0), ("Right", -1.0)):
        limits, parent = arm_limits(side=side), "Chest"
        for bone, at in (
            *(("Clavicle", [0.04, 0.22, 0]), ("Shoulder", [0.14, 0, 0])),
            *(("Elbow", [0.28, 0, 0]), ("Forearm", [0.12, 0, 0]), ("Wrist", [0.13, 0, 0])),
        ):
            rows.append((name + bone, parent, side * np.array(at), limits[bone]))
            parent = name + bone
        for bone, at, limit in (
            ("Hip", [side * 0.1, -0.05, 0], cone(-up, np.full(8, 1.2), -0.7, 0.7)),
            ("Knee", [0, -0.42, 0], hinge([1.0, 0, 0], 0.0, 2.5)),
            ("Ankle", [0, -0.42, 0], cone(-up, np.full(8, 0.6), -0.3, 0.3)),
            ("Toe", [0, -0.05, 0.15], hinge([1.0, 0, 0], -0.8, 0.5)),
        ):
            up_to = "Hips" if bone == "Hip" else parent
            rows.append((name + bone, up_to, at, limit))
            parent = name + bone
    rows.append(("Tip", "Head", [0, 0.1, 0], None))
    names = tuple(row[0] for row in rows)
    parents = [names.index(row[1]) if row[1] else -1 for row in rows]
    skeleton = Skeleton(names, parents, np.array([row[2] for row in rows], float))
    return LimitModel({row[0]: row[3] for row in rows if row[3] is not None}, skeleton)


def starts(model):
    """Return the two starts by name: straight, and with the elbow at 60 degrees."""
    rest = model.skeleton.rest_pose()
    return {"rest": rest, "bent": bent(rest, model.skeleton, {"Elbow": [0.0, -1.0, 0.0]}, 60.0)}


def bent(pose, skeleton, axes, angle_deg):
    """Return the pose with some joints rotated about axes."""
    rotations = pose.rotations.copy()
    for name, axis in axes.items():
        rotations[skeleton.index(name)] = quat.exp(np.radians(angle_deg) * np.array(axis))
    return Pose(rotations, pose.positions)


def clamp_after(model, wide, pose, goals):
    """Solve without limits but with the same axes, then clamp."""
    return model.project(solve(wide, model.skeleton, pose, goals, joints=JOINTS).pose)


def unlimited(model):
    """Return the arm with limits that only define the axes of its joints."""
    wide = {
        "Elbow": hinge([0.0, -1.0, 0.0], -np.pi, np.pi),
        "Forearm": hinge([1.0, 0.0, 0.0], -np.pi, np.pi),
        "Wrist": Limit(SwingTwist(axis=[1.0, 0.0, 0.0]), Box([-2, -2, 0], [2, 2, 0], np.eye(3))),
    }
    return LimitModel(wide, model.skeleton)


def share(model, pose, points, turns):
    """Return the shares of goals met: in position, and in position and rotation."""
    where, how = forward(model.skeleton, pose)
    near = np.linalg.norm(where[:, -1] - points, axis=-1) <= CLOSE * LENGTH
    along = quat.angle_between(how[:, -1], turns) <= STRAIGHT
    assert model.contains(pose).all()
    return near.mean(), (near & along).mean()


def timed(run, repeats=3):
    """Return the result, and the shortest wall and processor times of several runs, in seconds."""
    run()
    clock, work = np.inf, np.inf
    for _ in range(repeats):
        start, busy = perf_counter(), process_time()
        result = run()
        clock, work = min(clock, perf_counter() - start), min(work, process_time() - busy)
    return result, clock, work


def rate(count, clock, work):
    """Return problems a second by wall time, and by processor time on two processors."""
    return f"{count / clock:>9.0f} /s ({2.0 * count / work:.0f})"


def reachable(count):
    """Print success and speed for goals that the arm can reach."""
    model = arm()
    wide = unlimited(model)
    where, how = forward(model.skeleton, model.sample(count, np.random.default_rng(1)))
    points, turns = where[:, -1], how[:, -1]
    position = [Reach("Hand", points)]
    both = [Reach("Hand", points), Orient("Hand", turns)]
    print(f"{'':22}{'position':>24}{'pose':>32}")
    for method in ("least-squares", "clamp after"):
        for name, start in starts(model).items():
            line = f"{method:<16}{name:>6}"
            for goals, which in ((position, 0), (both, 1)):
                if method == "clamp after":
                    pose, *times = timed(lambda g=goals, s=start: clamp_after(model, wide, s, g))
                else:
                    found, *times = timed(
                        lambda g=goals, s=start: solve(model, model.skeleton, s, g, joints=JOINTS)
                    )
                    pose = found.pose
                met = share(model, pose, points, turns)[which]
                line += f"{100.0 * met:>10.2f} %{rate(count, *times)}"
            print(line, flush=True)
    model = arm(clavicle=True)
    where, how = forward(model.skeleton, model.sample(count, np.random.default_rng(2)))
    goals = [Reach("Hand", where[:, -1]), Orient("Hand", how[:, -1])]
    start = starts(model)["bent"]
    found, *times = timed(
        lambda: solve(model, model.skeleton, start, goals, joints=("Clavicle", *JOINTS))
    )
    met = share(model, found.pose, where[:, -1], how[:, -1])[1]
    print(f"with clavicle, pose, bent: {100.0 * met:.2f} %{rate(count, *times)}", flush=True)


def too_far(model, count):
    """Return points around the shoulder, also near ones, that the arm cannot reach."""
    rng = np.random.default_rng(5)
    ways = rng.normal(size=(4 * count, 3))
    points = ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    points *= LENGTH * rng.uniform(0.3, 1.5, size=(len(points), 1))
    found = solve(model, model.skeleton, starts(model)["bent"], [Reach("Hand", points)])
    return points[~found.converged][:count]


def unreachable(count):
    """Print errors, time and blocking joints for goals beyond the arm's reach."""
    model = arm()
    points = too_far(model, count)
    start = starts(model)["bent"]
    found, *times = timed(
        lambda: solve(model, model.skeleton, start, [Reach("Hand", points)], joints=JOINTS)
    )
    best = found.errors[:, 0].copy()
    for pose_of in range(12):  # the best of many starts stands for the truth
        other = model.sample(len(points), np.random.default_rng(pose_of))
        tried = solve(model, model.skeleton, other, [Reach("Hand", points)], joints=JOINTS)
        best = np.minimum(best, tried.errors[:, 0])
    near = (found.errors[:, 0] <= best + 0.01 * LENGTH).mean()
    print(f"beyond reach: within 1 % of the best {100.0 * near:.1f} %{rate(len(points), *times)}")
    said, true = blocking(model, found, points)
    both = (said & true).sum()
    print(f"which joints block: precision {both / said.sum():.3f}, recall {both / true.sum():.3f}")


def blocking(model, found, points):
    """Return masks (n, joints) of joints reported as blocking, and of those that do block."""
    at = [model.skeleton.index(name) for name in JOINTS]
    true = np.zeros((len(points), len(JOINTS)), bool)
    for k, name in enumerate(JOINTS):
        wide = arm(wider=name)
        tried = solve(
            *(wide, model.skeleton, found.pose, [Reach("Hand", points)]),
            joints=JOINTS,
            settings=SearchSettings(restarts=0),
        )
        true[:, k] = tried.errors[:, 0] < SHRUNK * found.errors[:, 0]
    return found.blocked_angle[:, at] > 0.0, true


def whole_body(count):
    """Print success and time for hands, feet and head of a body of 24 joints."""
    model = body()
    skeleton = model.skeleton
    axes = {"LeftElbow": [0, -1, 0], "RightElbow": [0, 1, 0]}
    axes |= {"LeftKnee": [1, 0, 0], "RightKnee": [1, 0, 0]}
    start = bent(skeleton.rest_pose(), skeleton, axes, 25.0)
    where, _ = forward(skeleton, model.sample(count, np.random.default_rng(4)))
    goals = [Reach(name, where[:, skeleton.index(name)]) for name in ENDS]
    found, *times = timed(lambda: solve(model, skeleton, start, goals))
    assert model.contains(found.pose).all()
    each = 1e3 * times[1] / found.iterations.sum() * found.iterations  # a step is like another
    print(
        f"body of {len(skeleton)}: met {100.0 * found.converged.mean():.1f} %"
        f"{rate(count, *times)}, {each.mean():.2f} ms of a processor each, by their steps "
        f"99 % under {np.quantile(each, 0.99):.2f} ms"
    )


def one_call(count):
    """Print the time of a single call, as when dragging a hand."""
    model = arm()
    start = starts(model)["bent"]
    where, _ = forward(model.skeleton, model.sample(count, np.random.default_rng(7)))
    goals = [[Reach("Hand", place)] for place in where[:, -1]]
    each = [
        timed(lambda g=goal: solve(model, model.skeleton, start, g, joints=JOINTS))[1]
        for goal in goals
    ]
    print(f"one call, arm, position: {1e3 * np.median(each):.2f} ms")


def smooth_paths(count, frames=60):
    """Print the largest rotations a frame when targets move by 1 % of the chain's length."""
    model = arm()
    wide, start = unlimited(model), starts(model)["bent"]
    rng = np.random.default_rng(6)
    first, _ = forward(model.skeleton, model.sample(count, rng))
    found = solve(model, model.skeleton, start, [Reach("Hand", first[:, -1])], joints=JOINTS)
    free = solve(*(wide, model.skeleton, start, [Reach("Hand", first[:, -1])]), joints=JOINTS).pose
    pose, clamped, target = found.pose, model.project(free), first[:, -1]
    way = rng.normal(size=(count, 3))
    worst, others = np.zeros(count), np.zeros(count)
    for _ in range(frames):
        way += 0.3 * rng.normal(size=(count, 3)) - 0.3 * (target - first[:, -1]) / LENGTH
        target = target + 0.01 * LENGTH * way / np.linalg.norm(way, axis=-1, keepdims=True)
        now = track(model, model.skeleton, pose, [Reach("Hand", target)], joints=JOINTS).pose
        worst = np.maximum(worst, quat.angle_between(pose.rotations, now.rotations).max(axis=-1))
        free = solve(*(wide, model.skeleton, free, [Reach("Hand", target)]), joints=JOINTS).pose
        other = model.project(free)
        turned = quat.angle_between(clamped.rotations, other.rotations).max(axis=-1)
        others, pose, clamped = np.maximum(others, turned), now, other
    for name, angles in (("track", worst), ("clamp after", others)):
        at = np.degrees(np.quantile(angles, [0.5, 0.99, 1.0]))
        print(
            f"{count} smooth paths, {name}: largest turn of a joint a frame {at[0]:.1f} degrees "
            f"(half of them), {at[1]:.1f} (99 %), {at[2]:.1f} (all)"
        )


def main(count=10_000):
    """Print the tables."""
    reachable(count)
    unreachable(max(count // 10, 50))
    whole_body(max(count // 10, 50))
    one_call(50)
    smooth_paths(min(count, 1000))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
