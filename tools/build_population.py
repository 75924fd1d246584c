"""Build the limits of `synovia.population`: usual, anatomical, and their intersection.

    python tools/build_population.py FOLDER [-o OUT]

FOLDER holds BVH files and people.csv with the columns clip,performer. What is written are regions
and counts, no observations: people.limits.json, anatomy.limits.json and usual.limits.json, in the
package unless OUT is given. docs/human.md describes them.
"""

from __future__ import annotations

import argparse
import base64
import csv
import sys
import time
import warnings
import zlib
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

import synovia.population
from synovia import (
    Box,
    Clip,
    DistanceField,
    Hinges,
    KDop,
    Limit,
    LimitModel,
    RotationVector,
    SwingTwist,
    forward,
    human,
    load_clip,
    quat,
    save_limits,
)
from synovia.anatomy import limits_of
from synovia.components import Figure
from synovia.learn import FitOptions, Take, fit_joint, invented_first_frame, thin
from synovia.rigs import align, canonical_skeleton, limits_from_rig, recognize
from synovia.rigs.canonical import BONE_DIRECTIONS

LEARNED = ("chest", "head", "leftUpperArm", "leftUpperLeg", "leftFoot")
"""Roles with limits from captures; right sides are mirrored."""
HINGES = {"leftLowerArm": (0.0, 0.0, 1.0), "leftLowerLeg": (0.0, 0.0, -1.0)}
"""Direction of the bone in flexion, for hinges whose range comes from captures."""
REJECT = 0.005
"""Average share of frames of people not in the fit that may be outside."""
RECIPE = {"resolution": 32}
STEP = 1.0 / 1024.0
"""Radians; fields are rounded to multiples of this, which makes files small."""
HINGE_PEOPLE, HINGE_TAIL, HINGE_MARGIN = 3, 0.1, np.radians(5.0)
"""An end of flexion is that of the third most extreme person, by percentile, and so much more."""
NEAR = np.radians(10.0)
NODES = 25
"""Nodes along each axis of the grid of counts: every 15 degrees."""
ALLOWANCE = np.radians(10.0)
"""Allowance beyond published ranges, for differences of people and rigs."""
FEW_PEOPLE = 3
"""Smallest number of people who must come near a rotation beyond anatomy to keep it."""
CARRYING = np.radians(12.0)
"""Sideways bend of the elbow: the carrying angle (11.6 ± 3.2 in men, Van Roy 2005), either way."""
SHIN_ROTATION = np.radians(25.0)
"""Of the tibia against the femur, each way, beyond what the knee's curve brings along: with a bent
knee 45 outwards and 25 inwards (17 people, PubMed 6869656), 24 and 11 in 80 young adults."""
FOOT_ROTATION = np.radians(26.0)
"""Beyond what the ankle's two axes bring along: rotation of a shin whose knee is a hinge, and 10 to
20 of ab- and adduction of the foot."""
KNEE_TWIST = np.radians(45.0)
SIDEWAYS, TILT = np.radians(15.0), np.radians(15.0)
"""Sideways bend of straight hinges, and tilt of their axes."""
MIRROR = np.array([1.0, 1.0, -1.0, -1.0])
POSES = 40_000

CREDITS = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. The database was created "
    "with funding from NSF EIA-0196217."
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    room = Path(synovia.population.__file__).parent
    options.add_argument("-o", "--output", type=Path, default=room)
    given = options.parse_args()
    start = time.process_time()
    takes, people = canonical_takes(given.folder)
    report(f"{len(people)} people, canonical rotations", start)
    exact = anatomy_limits()
    anatomy = {role: widen(limit, ALLOWANCE) for role, limit in exact.items()}
    learned, provenance = learn_people(takes, people)
    report("learned", start)
    both = both_together(learned, exact, takes)
    about = {"anatomy": {"figure": "human"}, "people": provenance}
    about["usual"] = {"people": strip_counts(provenance), "beyond_anatomy": ALLOWANCE}
    for name, limits in (("people", learned), ("anatomy", anatomy), ("usual", both)):
        model = LimitModel(limits, canonical_skeleton(), about[name])
        save_limits(model, given.output / f"{name}.limits.json")
        for role, limit in limits.items():
            print(f"{name:8} {role:14} {limit.shape.name:15} {100.0 * limit.volume():7.3f} %")
    report("written", start)


def report(what: str, start: float) -> None:
    print(f"{what}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)


# What people did.


def canonical_takes(folder: Path) -> tuple[dict[str, list[Take]], dict[str, list[str]]]:
    """Return takes of canonical rotations by role, and the clips of each person."""
    with (folder / "people.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    people = defaultdict(list)
    for row in rows:
        people[row["performer"]].append(row["clip"])
    takes: dict[str, list[Take]] = defaultdict(list)
    for person, names in sorted(people.items()):
        clips = [load_clip(folder / f"{name}.bvh") for name in names]
        clips = [without_first(clip) if invented_first_frame(clip) else clip for clip in clips]
        alignment = align(recognize(clips[0].skeleton), clips)
        for clip in clips:
            seen = alignment.canonical_rotations(clip.pose)
            for role in alignment.trusted:
                left = f"left{role.removeprefix('right')}" if role.startswith("right") else role
                path = seen[role] * MIRROR if left != role else seen[role]
                takes[left].append(Take(path, clip.frame_time, f"{clip.name} {role}", person))
                if role in ("chest", "head"):
                    mirrored = Take(path * MIRROR, clip.frame_time, f"{clip.name} mirror", person)
                    takes[role].append(mirrored)
    return takes, people


def without_first(clip: Clip) -> Clip:
    pose = replace(clip.pose, rotations=clip.pose.rotations[1:], positions=clip.pose.positions[1:])
    return replace(clip, pose=pose)


def learn_people(
    takes: dict[str, list[Take]], people: dict[str, list[str]]
) -> tuple[dict[str, Limit], dict[str, object]]:
    """Return the limits learned from captures, and their provenance."""
    options = FitOptions.of("people", "rotation-vector", reject=REJECT, **RECIPE)
    limits, rows, counts = {}, {}, {}
    for role in LEARNED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit_joint(takes[role], options, reference=None, axis=np.array([0.0, 0.0, 1.0]))
        assert fitted.promise is not None
        limits[role] = round_field(fitted.limit)
        rows[role] = {
            "people": len({take.performer for take in takes[role]}),
            "frames": fitted.trimmed.frames,
            "flips": fitted.trimmed.flips,
            "unconfirmed": fitted.trimmed.unconfirmed,
            "left_one_out_rejected": fitted.promise.held_out,
            "promised": fitted.promise.rejected,
            "volume": limits[role].volume(),
        }
        counts[role] = count_people(takes[role])
        print(role, rows[role], file=sys.stderr, flush=True)
    for role in HINGES:
        ends = flexion_of_people(takes[role], role)
        limits[role] = hinge_limit(role, ends, np.pi)
        rows[role] = {"flexion": list(ends)}
    provenance = {
        "data": "Carnegie Mellon University Motion Capture Database, mocap.cs.cmu.edu",
        "rights": "free for use in research and commercial projects; the data may not be resold",
        "credits": CREDITS,
        "people": len(people),
        "clips": sum(map(len, people.values())),
        "recipe": {"shape": "people", "reject": REJECT, **RECIPE},
        "joints": rows,
        "people_within_10_degrees": counts,
    }
    return limits, provenance


def round_field(limit: Limit) -> Limit:
    """Return a limit whose field is rounded to multiples of a step."""
    field = limit.shape
    values = np.rint(field.values / STEP) * STEP
    return replace(limit, shape=replace(field, values=values))


def count_people(takes: list[Take]) -> dict[str, object]:
    """Return the number of people within 10 degrees of the rotations at the nodes of a grid."""
    axis = np.linspace(-np.pi, np.pi, NODES)
    nodes = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    counts = people_near(takes, quat.exp(nodes))
    people = len({take.performer for take in takes})
    return {"people": people, "nodes": NODES, "counts": _encode(counts)}


def _encode(counts: np.ndarray) -> str:
    """Return counts up to 255 as compressed bytes in base 64."""
    return base64.b64encode(zlib.compress(counts.astype(np.uint8).tobytes(), 9)).decode()


def people_near(takes: list[Take], rotations: np.ndarray) -> np.ndarray:
    """Return the number of people (...) within 10 degrees of each rotation (..., 4)."""
    flat = rotations.reshape(-1, 4)
    tree = cKDTree(np.concatenate([flat, -flat]))
    counts = np.zeros(len(flat), int)
    for person in sorted({take.performer for take in takes}):
        seen = np.concatenate([take.rotations for take in takes if take.performer == person])
        seen = seen[thin(quat.log(seen))]
        found = tree.query_ball_point(seen, 2.0 * np.sin(0.25 * NEAR))
        near = np.concatenate([np.asarray(each, int) for each in found])
        counts[np.unique(near % len(flat))] += 1
    return counts.reshape(rotations.shape[:-1])


def strip_counts(provenance: dict[str, object]) -> dict[str, object]:
    return {key: each for key, each in provenance.items() if key != "people_within_10_degrees"}


def flexion_of_people(takes: list[Take], role: str) -> tuple[float, float]:
    """Return the least and the largest flexion, in radians, of the third most extreme person."""
    hinge = np.cross(BONE_DIRECTIONS[role], HINGES[role])
    ends = []
    for person in sorted({take.performer for take in takes}):
        seen = np.concatenate([take.rotations for take in takes if take.performer == person])
        flexion = 2.0 * np.arctan2(seen[:, 1:] @ hinge, seen[:, 0])
        flexion = np.remainder(flexion + np.pi, 2.0 * np.pi) - np.pi
        ends.append(np.percentile(flexion, [HINGE_TAIL, 100.0 - HINGE_TAIL]))
    low, high = np.sort(np.array(ends), axis=0).T
    return (
        float(low[HINGE_PEOPLE - 1] - HINGE_MARGIN),
        float(high[-HINGE_PEOPLE] + HINGE_MARGIN),
    )


def hinge_limit(role: str, flexion: tuple[float, float], twist: float) -> Limit:
    """Return a limit with ranges of flexion, twist and sideways bend, in radians.

    The axis of the hinge may be tilted a little, so that the more a joint is bent, the farther it
    may be to the sides.
    """
    bone, ahead = BONE_DIRECTIONS[role], np.array(HINGES[role])
    chart = SwingTwist(axis=bone)
    hinge = np.cross(bone, ahead)
    tilt = np.array(
        [np.cos(TILT) * ahead - np.sin(TILT) * hinge, -np.cos(TILT) * ahead - np.sin(TILT) * hinge]
    )
    axes = quat.rotate(quat.inverse(chart.swing_frame), np.stack([hinge, bone, *tilt]))
    far = 2.0 * np.pi
    return Limit(
        chart, KDop(axes, [flexion[0], -twist, -far, -far], [flexion[1], twist, SIDEWAYS, SIDEWAYS])
    )


# What anatomy says.


def anatomy_limits() -> dict[str, Limit]:
    """Return the default human's limits of left sides and trunk on the canonical skeleton.

    They differ from the figure's own where rigs differ from it: pronation may be in the forearm or
    in the hand, and shin and foot may rotate about themselves or not.
    """
    figure = human()
    skeleton = figure.skeleton
    bends = {f"left_{joint}.flexion": np.linspace(0.0, 120.0, 60) for joint in ("elbow", "knee")}
    bends |= {name.replace("left", "right"): values for name, values in bends.items()}
    moves = Clip(skeleton, figure.pose(bends), 1.0 / 30.0)
    alignment = align(recognize(skeleton), [moves], gravity=False)
    exact = limits_from_rig(limits_of(figure).limits, alignment)
    limits = {role: exact[role] for role in ("leftUpperArm", "leftUpperLeg", "leftFoot")}
    rng = np.random.default_rng(0)
    ranges = np.array([(each.low, each.high) for each in figure.controls.values()])
    shares = np.clip(rng.uniform(-0.5, 1.5, size=(POSES, len(ranges))), 0.0, 1.0)
    values = ranges[:, 0] + shares * (ranges[:, 1] - ranges[:, 0])
    pose = figure.pose(dict(zip(figure.controls, values.T, strict=True)))
    _, rotations = forward(skeleton, pose)
    frames, roles = alignment.frames, alignment.rig.roles
    for role, above in (
        ("chest", "hips"),
        ("head", "chest"),
        ("leftLowerLeg", "leftUpperLeg"),
        ("leftToes", "leftFoot"),
    ):
        near, far = (rotations[:, skeleton.index(roles[each])] for each in (above, role))
        local = quat.mul(quat.inverse(near), far)
        seen = quat.mul(quat.mul(quat.inverse(frames[above]), local), frames[role])
        chart, along = RotationVector(), "data"
        if role == "leftLowerLeg":
            angles = rng.uniform(-SHIN_ROTATION, SHIN_ROTATION, len(seen))
            seen = quat.mul(seen, quat.exp(angles[:, None] * BONE_DIRECTIONS[role]))
            chart, along = Hinges(axes=[[1, 0, 0], [0, 0, 1], [0, -1, 0]]), "chart"
        points = chart.points(quat.normalize(seen))
        limits[role] = Limit(chart, KDop.fit(points, margin=np.radians(0.5), along=along))
    limits |= arm_limits(figure)
    limits["leftFoot"] = loosen_twist(limits["leftFoot"], FOOT_ROTATION)
    clavicle = pose.rotations[:, skeleton.index("LeftClavicle")]
    limits["leftShoulder"] = Limit.fit(clavicle, "kdop", "rotation-vector", margin=np.radians(0.5))
    return limits


def arm_limits(figure: Figure) -> dict[str, Limit]:
    """Return the limits of forearm and hand, from the ranges of their controls.

    Rigs have pronation in the forearm, in the hand, or in both, so that each may have all of it.
    The palm's side then is not known: a hand bends as far every way.
    """
    names = ("elbow.flexion", "elbow.pronation", "wrist.flexion")
    flexion, pronation, wrist = (
        np.radians([each.low, each.high])
        for each in (figure.controls[f"left_{name}"] for name in names)
    )
    low, high = np.array([flexion, [-CARRYING, CARRYING], pronation]).T
    bend = np.full(4, np.abs(wrist).max())
    diagonal = np.sqrt(0.5)
    axes = [[1, 0, 0], [0, 1, 0], [diagonal, diagonal, 0], [diagonal, -diagonal, 0], [0, 0, 1]]
    least, most = np.append(-bend, pronation[0]), np.append(bend, pronation[1])
    return {
        "leftLowerArm": Limit(
            Hinges(axes=[[0, -1, 0], [0, 0, 1], [1, 0, 0]]), KDop(np.eye(3), low, high)
        ),
        "leftHand": Limit(SwingTwist(axis=BONE_DIRECTIONS["leftHand"]), KDop(axes, least, most)),
    }


def loosen_twist(limit: Limit, angle: float) -> Limit:
    """Return the limit with twist ranges of its reach cone widened by `angle` radians."""
    cone = limit.shape
    lower = {"low": cone.low - angle, "visible_low": cone.visible_low - angle}
    upper = {"high": cone.high + angle, "visible_high": cone.visible_high + angle}
    return replace(limit, shape=replace(cone, **lower, **upper))


def widen(limit: Limit, allowance: float) -> Limit:
    """Return a limit widened by an angle, in radians."""
    if limit.shape.name == "kdop":
        return limit.grow(allowance)
    chart = RotationVector(limit.chart.reference)
    seen = chart.points(limit.sample(20_000, np.random.default_rng(0)))

    def distance(points: np.ndarray) -> np.ndarray:
        return beyond_anatomy(limit, chart.rotations(points)) + ALLOWANCE - allowance

    # Around the region, and as much as it grows.
    corners = np.concatenate([seen - allowance, seen + allowance])
    corners = corners[np.linalg.norm(corners, axis=1) < np.pi]
    field = DistanceField.from_distances(corners, distance, exact=False, resolution=24)
    return round_field(Limit(chart, field))


# Both together.


def both_together(
    people: dict[str, Limit], exact: dict[str, Limit], takes: dict[str, list[Take]]
) -> dict[str, Limit]:
    """Return the intersection of both limits where both exist, or else the reliable one."""
    limits = dict(people)
    for role in ("chest", "head", "leftUpperArm", "leftUpperLeg"):
        limits[role] = intersect(people[role], exact[role], takes[role])
    # Elbows of the captures are never quite straight, and both hinges have one axis only.
    elbow, knee = (people[role].shape for role in HINGES)
    straight = min(float(elbow.low[0]), -np.radians(10.0))
    limits["leftLowerArm"] = hinge_limit("leftLowerArm", (straight, float(elbow.high[0])), np.pi)
    ends = float(knee.low[0]), float(knee.high[0])
    limits["leftLowerLeg"] = hinge_limit("leftLowerLeg", ends, KNEE_TWIST)
    # The palm's side is not known on a rig: a wrist bends as far every way.
    wrist = np.radians(95.0)
    limits["leftHand"] = Limit(
        SwingTwist(axis=BONE_DIRECTIONS["leftHand"]),
        Box([-wrist, -wrist, -np.pi], [wrist, wrist, np.pi], np.eye(3)),
    )
    for role in ("leftShoulder", "leftToes"):
        limits[role] = widen(exact[role], 2.0 * ALLOWANCE)
    return limits


def intersect(people: Limit, anatomy: Limit, takes: list[Take]) -> Limit:
    """Return the usual region without rotations beyond anatomy that few people came near.

    It is on the same grid. Where several people go, anatomy's averages are too narrow.
    """
    field = people.shape
    axes = [
        low + step * np.arange(count)
        for low, step, count in zip(field.low, field.spacing, field.values.shape, strict=True)
    ]
    rotations = people.chart.rotations(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    beyond = beyond_anatomy(anatomy, rotations)
    refused = (beyond > 0.0) & (people_near(takes, rotations) < FEW_PEOPLE)
    values = np.maximum(field.values, np.where(refused, beyond, -np.inf) + field.threshold)
    return round_field(replace(people, shape=replace(field, values=values)))


def beyond_anatomy(anatomy: Limit, rotations: np.ndarray) -> np.ndarray:
    """Return the distance of rotations beyond anatomy and allowance, radians; negative inside."""
    beyond = np.array(anatomy.distance(rotations))
    outside = beyond > 0.0
    beyond[outside] = anatomy.correction(rotations[outside])
    return beyond - ALLOWANCE


if __name__ == "__main__":
    main()
