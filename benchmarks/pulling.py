"""Measure eight pulls of 60 steps on the default human and on two rigs: continuity and time.

For each path the largest rotation of a joint in a step, the deepest a hand or forearm goes into
trunk, head or thighs, how far a foot moves, how far anything goes below the floor, milliseconds of
processor time (mean and largest), and how far the pulled point is from the target at the end.
Exits with 1 if a bar is missed: 20 degrees, 1 cm, 16 ms a step.

python benchmarks/pulling.py [--pictures FOLDER] [--rig NAME]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synovia import Pose, Skeleton, forward, human, quat
from synovia.ik import ControlDrag, Drag, JointDrag, Reach
from synovia.ik.drag import with_free_root
from synovia.ik.person import Person, penetration, person_of
from synovia.io.smpl import smpl_skeleton
from synovia.population.limits import limits_on
from synovia.rigs import align, recognize
from synovia.rigs.canonical import mixamo_skeleton

STEPS = 60
MAX_DEG, MAX_DEPTH, MAX_MS = 20.0, 0.01, 16.0
PATHS = {
    "overhead": ("leftHand", [(0.45, 1.3, 0.35), (0.15, 2.02, 0.05)]),
    "mouth": ("leftHand", [(0.03, 1.56, 0.15)]),
    "floor": ("leftHand", [(0.2, 0.1, 0.3)]),
    "behind": ("leftHand", [(0.5, 0.95, -0.1), (0.15, 1.0, -0.45)]),
    "across": ("leftHand", [(0.1, 1.0, 0.4), (-0.35, 1.15, 0.3)]),
    "side": ("leftHand", [(1.05, 1.2, 0.1)]),
    "foot up": ("leftFoot", [(0.1, 0.55, 0.4)]),
    "head down": ("head", [(0.0, 1.0, 0.45)]),
}
"""By name, the bone that is pulled, and positions in metres of a human of 1.75 m, facing z."""


def targets(start: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return positions (STEPS, 3) at equal distances along a smooth path through corners."""
    knots = np.concatenate([start[None], corners])
    dense = np.linspace(0.0, 1.0, 400)[:, None]
    if len(knots) == 3:  # a parabola through all three
        a, b, c = knots
        b = 2.0 * b - 0.5 * (a + c)
        path = (1 - dense) ** 2 * a + 2 * dense * (1 - dense) * b + dense**2 * c
    else:
        path = (1 - dense) * knots[0] + dense * knots[1]
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    at = np.linspace(0.0, lengths[-1], STEPS + 1)[1:]
    return np.stack([np.interp(at, lengths, path[:, i]) for i in range(3)], axis=1)


@dataclass
class Body:
    """A body that can be pulled: its skeleton, standing pose, and the drag of a step."""

    name: str
    skeleton: Skeleton
    home: object
    model: object = None

    def drag(self, last: object) -> Drag:
        if isinstance(self.home, np.ndarray):
            return ControlDrag(self.model, self.home, last)
        return JointDrag(self.model, last, self.home)

    def pose(self, state: object) -> Pose:
        return self.model.pose(state) if isinstance(state, np.ndarray) else state

    def state(self, pulled: object) -> object:
        solution = pulled.solution
        return solution.controls if isinstance(self.home, np.ndarray) else solution.pose


def bodies() -> Iterator[Body]:
    figure = with_free_root(human())
    yield Body("human", figure.skeleton, figure.pose().controls, figure)
    for name, skeleton in (("mixamo", mixamo_skeleton()), ("smpl", smpl_skeleton(24))):
        limits = limits_on(align(recognize(skeleton), []))
        yield Body(name, skeleton, standing(limits.model, skeleton), limits.model)


def standing(model: object, skeleton: Skeleton) -> Pose:
    """Return the rest pose, a T-pose, with the arms hanging."""
    rest, person = skeleton.rest_pose(), person_of(skeleton)
    _, world = forward(skeleton, rest)
    rotations = np.array(rest.rotations)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joint = skeleton.index(person.rig.starts[f"{side}UpperArm"])
        down = quat.exp(np.array([0.0, 0.0, -sign * np.radians(80.0)]))
        own = quat.mul(quat.inverse(world[joint]), quat.mul(down, world[joint]))
        rotations[joint] = quat.mul(rotations[joint], own)
    return model.project(rest.with_rotations(rotations))


def run(body: Body, name: str) -> dict[str, object]:
    """Return the measurements of one path, and its poses."""
    person: Person = person_of(body.skeleton)
    role, corners = PATHS[name]
    state, pose = body.home, body.pose(body.home)
    joint = body.skeleton.index(person.rig.roles[role])
    positions, rotations = world = forward(body.skeleton, pose)
    point = np.zeros(3)
    if role == "leftHand":
        row = person.names.index(role)
        point = 0.5 * (person.starts[row] + person.ends[row])
    start = positions[joint] + quat.rotate(rotations[joint], point)
    feet = [body.skeleton.index(person.foot(side)) for side in ("left", "right")]
    feet = [foot for foot in feet if foot != joint]
    ground = min(float(person.sole(world, side)[:, 1].min()) for side in ("left", "right"))
    offset = np.array([0.0, ground + 0.0075 * person.size, 0.0])
    path = targets(start, person.size * np.array(corners) + offset)
    poses, times, turns, depths, slips, sunk, jumps = [pose], [], [], [], [], [], 0
    for target in path:
        drag, goal = body.drag(state), Reach(body.skeleton.names[joint], target, point)
        begin = time.process_time()
        pulled = drag.pull(goal)
        times.append(1e3 * (time.process_time() - begin))
        state, pose = body.state(pulled), pulled.solution.pose
        turns.append(quat.angle_between(poses[-1].rotations, pose.rotations).max())
        poses.append(pose)
        jumps += pulled.jumped
        now = forward(body.skeleton, pose)
        depths.append(float(penetration(person, now)))
        slips.append(max(float(np.linalg.norm(now[0][f] - positions[f])) for f in feet))
        lines = person.lines(now)
        low = min(float((line[:, 1] - person.radii).min()) for line in lines)
        sunk.append(ground - min(low, float(now[0][:, 1].min()) - 0.005))
    for _ in range(20):  # until the pose is at rest
        pulled = body.drag(state).pull(goal)
        state = body.state(pulled)
        if pulled.settled:
            break
    poses.append(pulled.solution.pose)
    return {
        "step": float(np.linalg.norm(np.diff(path, axis=0), axis=1).max()),
        "deg": np.degrees(max(turns)),
        "depth": max(depths[5:]) / person.size,
        "slip": max(slips) / person.size,
        "sunk": max(max(sunk), 0.0) / person.size,
        "ms": float(np.mean(times)),
        "max_ms": max(times),
        "left": float(pulled.solution.errors[0]) / person.size,
        "balanced": pulled.balanced,
        "jumps": jumps,
        "poses": poses,
        "path": path,
        "ground": ground,
    }


def draw(body: Body, results: dict[str, dict], folder: Path) -> None:
    """Draw the end poses from the front and from the left."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from synovia.body import body_of

    skin = body_of(body.skeleton)
    figure, axes = plt.subplots(2, len(results), figsize=(3 * len(results), 8))
    for column, (name, result) in enumerate(results.items()):
        pose = result["poses"][-1]
        vertices = skin.vertices(skin.skin, pose) - [0.0, result["ground"], 0.0]
        for row, (across, sign, depth) in enumerate(((0, 1.0, 2), (2, 1.0, 0))):
            axis = axes[row, column]
            faces = vertices[skin.skin.triangles]
            normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
            normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
            order = np.argsort(faces[:, :, depth].mean(axis=1))
            order = order[normal[order, depth] > 0.0]
            shade = 0.35 + 0.6 * np.clip(normal[order] @ [0.4, 0.5, 0.6], 0.0, 1.0)
            from matplotlib.collections import PolyCollection

            flat = sign * faces[order][:, :, across], faces[order][:, :, 1]
            colours = np.stack([shade, shade * 0.85, shade * 0.75, np.ones_like(shade)], axis=1)
            axis.add_collection(PolyCollection(np.stack(flat, axis=2), facecolors=colours))
            target = result["path"][-1] - [0.0, result["ground"], 0.0]
            axis.plot(*target[[across, 1]], "rx")
            axis.axhline(0.0, color="0.6")
            axis.set(xlim=(-1.1, 1.1), ylim=(-0.1, 2.2), aspect="equal", title=name)
            axis.axis("off")
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"pulling_{body.name}.png", dpi=60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--rig")
    parser.add_argument("--only")
    options = parser.parse_args()
    good = True
    for body in bodies():
        if options.rig not in (None, body.name):
            continue
        results = {name: run(body, name) for name in PATHS if options.only in (None, name)}
        head = "step cm  deg/step  depth cm  feet cm  below cm  ms/step   max  left cm"
        print(f"\n{body.name:10}  {head}")
        for name, r in results.items():
            print(
                f"{name:10} {100 * r['step']:8.2f} {r['deg']:9.1f} {100 * r['depth']:9.2f} "
                f"{100 * r['slip']:8.2f} {100 * r['sunk']:9.2f} {r['ms']:8.1f} {r['max_ms']:6.1f}"
                f" {100 * r['left']:8.2f}{'' if r['balanced'] else '  unbalanced'}"
                f"{'  jumped' if r['jumps'] else ''}"
            )
            fast = r["deg"] <= MAX_DEG and r["ms"] <= MAX_MS
            good = good and fast and r["depth"] <= MAX_DEPTH
        if options.pictures:
            draw(body, results, options.pictures)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
