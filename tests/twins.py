"""The same motion on other skeletons: another rest pose, other joints, another world.

A joint of the twin has the world rotation R' = R · W⁻¹ where W is how the new rest pose turns that
bone, so that every bone is, at every moment, where it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synovia import Clip, Pose, Skeleton, forward, quat
from synovia.rigs.canonical import mixamo_skeleton


def walker(frames=90, skeleton=None):
    """A human with Mixamo's names who walks, swings the arms, looks around and bends a little."""
    skeleton = skeleton or mixamo_skeleton()
    t = np.linspace(0.0, 4.0 * np.pi, frames)
    vectors = np.zeros((frames, len(skeleton), 3))

    def turn(name, x=0.0, y=0.0, z=0.0):
        vectors[:, skeleton.index(f"mixamorig:{name}")] = np.stack(
            np.broadcast_arrays(x, y, z, t)[:3], axis=-1
        )

    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        step = sign * np.sin(t)
        thigh, knee = -0.2 + 0.3 * step, 0.45 + 0.35 * np.sin(t + sign)
        turn(f"{side}UpLeg", thigh, 0.05 * step, 0.05 * sign)
        turn(f"{side}Leg", knee)
        turn(f"{side}Foot", -0.8 * (thigh + knee))
        down = quat.exp(np.array([0.0, 0.0, -1.25 * sign]))
        swing = quat.exp(np.stack([-0.3 * step, 0.1 * step, 0.05 * np.cos(t)], axis=-1))
        vectors[:, skeleton.index(f"mixamorig:{side}Arm")] = quat.log(quat.mul(swing, down))
        turn(f"{side}ForeArm", 0.0, -sign * (0.6 + 0.3 * step))
    turn("Spine", 0.05, 0.05 * np.sin(t))
    turn("Spine1", 0.05, 0.05 * np.sin(t))
    turn("Head", 0.1 * np.sin(0.5 * t), 0.5 * np.sin(0.25 * t))
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    positions[:, 0, 2] += np.linspace(0.0, 2.0, frames)
    return Clip(skeleton, Pose(quat.exp(vectors), positions), 1.0 / 30.0, "walker")


def with_rest(clip, turns):
    """The clip on a skeleton whose rest pose is the old one, turned: world turns by joint name.

    A joint that is not named is turned like its parent.
    """
    skeleton = clip.skeleton
    world = np.tile(quat.IDENTITY, (len(skeleton), 1))
    for joint, name in enumerate(skeleton.names):
        above = world[skeleton.parents[joint]] if skeleton.parents[joint] >= 0 else quat.IDENTITY
        world[joint] = turns.get(name, above)
    above = [world[parent] if parent >= 0 else quat.IDENTITY for parent in skeleton.parents]
    other = Skeleton(
        skeleton.names,
        skeleton.parents,
        quat.rotate(np.array(above), skeleton.offsets),
        end_parents=skeleton.end_parents,
        end_offsets=quat.rotate(world[skeleton.end_parents], skeleton.end_offsets),
        up=skeleton.up,
        unit=skeleton.unit,
    )
    positions, rotations = forward(skeleton, clip.pose)
    return from_world(other, positions, quat.mul(rotations, quat.inverse(world)), clip)


def from_world(skeleton, positions, rotations, clip):
    """A clip from world rotations (frames, J, 4) and world positions of roots."""
    local, places = rotations.copy(), np.tile(skeleton.offsets, (len(rotations), 1, 1))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            local[:, joint] = quat.mul(quat.inverse(rotations[:, parent]), rotations[:, joint])
        else:
            places[:, joint] = positions[:, joint]
    return replace(clip, skeleton=skeleton, pose=Pose(quat.normalize(local), places), origin=None)


def renamed(clip, names):
    """The clip with other names of joints."""
    skeleton = clip.skeleton
    new = tuple(names.get(name, name) for name in skeleton.names)
    return replace(clip, skeleton=replace(skeleton, names=new), origin=None)


def scaled(clip, factor):
    """The clip in another unit, without a word about it."""
    skeleton = clip.skeleton
    bigger = replace(
        skeleton, offsets=factor * skeleton.offsets, end_offsets=factor * skeleton.end_offsets
    )
    pose = Pose(clip.pose.rotations, factor * clip.pose.positions)
    return replace(clip, skeleton=bigger, pose=pose)


def turned_world(clip, turn, up=""):
    """The clip in a world that is turned, rest pose and all."""
    everywhere = dict.fromkeys(clip.skeleton.names, turn)
    lying = with_rest(clip, everywhere)
    rotations, positions = np.array(lying.pose.rotations), np.array(lying.pose.positions)
    roots = np.flatnonzero(lying.skeleton.parents < 0)
    rotations[:, roots] = quat.mul(turn, rotations[:, roots])
    positions[:, roots] = quat.rotate(turn, positions[:, roots])
    skeleton = replace(lying.skeleton, up=up)
    return replace(lying, skeleton=skeleton, pose=Pose(rotations, positions))


def with_joints_between(clip, name, count, share):
    """The clip with `count` joints before a joint, which take `share` of its rotation, evenly."""
    skeleton, at = clip.skeleton, clip.skeleton.index(name)
    added = tuple(f"{name}_part{k}" for k in range(count))
    names = (*skeleton.names[:at], *added, *skeleton.names[at:])
    places = np.concatenate([np.arange(at), at + count + np.arange(len(skeleton) - at)])
    parents = np.empty(len(names), int)
    parents[places] = [places[p] if p >= 0 else -1 for p in skeleton.parents]
    offsets = np.zeros((len(names), 3))
    offsets[places] = skeleton.offsets
    parents[at] = parents[at + count]
    for k in range(1, count + 1):
        parents[at + k] = at + k - 1
    offsets[at] = skeleton.offsets[at]
    offsets[at + count] = 0.0
    if count > 1:  # along the way to the parent
        offsets[at : at + count + 1] = skeleton.offsets[at] / (count + 1)
    rotations = np.zeros((clip.frames, len(names), 4))
    rotations[:, places] = clip.pose.rotations
    own = clip.pose.rotations[:, at]
    part = quat.exp(share / count * quat.log(own))
    for k in range(count):
        rotations[:, at + k] = part
    rest = own
    for _ in range(count):
        rest = quat.mul(quat.inverse(part), rest)
    rotations[:, at + count] = rest
    positions = np.tile(offsets, (clip.frames, 1, 1))
    positions[:, 0] = clip.pose.positions[:, 0]
    other = Skeleton(
        names,
        parents,
        offsets,
        end_parents=places[skeleton.end_parents],
        end_offsets=skeleton.end_offsets,
        up=skeleton.up,
    )
    return Clip(other, Pose(rotations, positions), clip.frame_time, clip.name)


def arms_down(degrees, arms=("mixamorig:LeftArm", "mixamorig:RightArm")):
    """World turns by which the arms go down from a T-pose, sideways."""
    down = np.radians(degrees)
    return {
        name: quat.exp(np.array([0.0, 0.0, angle]))
        for name, angle in zip(arms, (-down, down), strict=True)
    }
