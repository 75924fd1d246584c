"""Answers about poses, and about limits that depend on another joint, the driver."""

from __future__ import annotations

from typing import TypedDict

from ...arrays import Floats, Ints


class Outside(TypedDict):
    """By how many degrees the limited joints are outside; negative where they are only unusual."""

    outsideDeg: list[float]


class Solved(Outside):
    """A pose that meets a goal, or comes near it."""

    ms: float
    met: bool
    left: float
    blockingDeg: dict[str, float]
    """By how much limits of joints would have to give way."""
    atLimit: list[str]
    rotations: Floats
    root: Floats


class PoseAnswer(Outside):
    """A pose, and how far it is outside."""

    rotations: Floats
    positions: Floats


class ObservedPose(PoseAnswer):
    """A pose in which a joint is as it was observed."""

    shown: int | None
    """The frame of the clip that is shown, if it is one of that."""
    whole: bool
    """Whether all of the body is as it was then, not that joint alone."""


class NearestSample(TypedDict):
    """What was observed that is nearest to a rotation, and how far off that is."""

    performer: str
    clip: str
    frame: int
    deg: float
    rotation: list[float]


class Why(TypedDict):
    """How far a joint is from the nearest legal rotation, and which way."""

    joint: str
    outsideDeg: float
    swingDeg: float
    twistDeg: float
    name: str | None
    """What people call the joint, of a rig that is recognised as a human's."""
    move: str | None
    """Which way it is beyond, in clinical terms."""
    heldBy: str | None
    """The joint that it depends on, if it could be as it is while that one were elsewhere."""
    legal: list[float]
    """The nearest legal rotation, as the one sees it that the limit is measured from."""
    bone: list[float]
    """Where the bone points, in the joint's own frame."""
    nearest: NearestSample | None
    """What was observed nearest to it, where the limits kept samples."""


class Pulled(PoseAnswer):
    """A pose of the figure that meets a goal, or comes near it."""

    ms: float
    met: bool
    left: float
    beyond: bool
    """Whether the target is farther off than the bones are long."""
    held: dict[str, float]
    """Controls at an end of their range that would have to go on."""
    atEnd: dict[str, float]
    """Controls of what is pulled that are at an end of their range."""
    values: dict[str, float]
    """All controls, those of the root among them."""


class Fitted(TypedDict):
    """The controls nearest to a pose, and how far they are off."""

    values: dict[str, float]
    offDeg: float


class Posed(PoseAnswer):
    """A pose of the figure, and what became of its controls."""

    clamped: dict[str, float]
    gaps: dict[str, float]


class DependentField(TypedDict):
    """A number that the driver changes: the end of a range, or a margin."""

    field: str
    label: str


class Dependence(TypedDict):
    """What a joint depends on, and which numbers it has in each frame of the clip."""

    driver: str
    fields: list[DependentField]
    hinge: bool
    """Whether they are the two ends of the hinge's arc, in degrees from its reference."""
    valuesDeg: Floats
    """By frame, the number of each field."""


class DependentNumbers(TypedDict):
    """The numbers of a dependent limit in a pose, in the order of its fields."""

    valuesDeg: list[float]


class RangeMap(TypedDict):
    """The numbers of a dependent limit, all over where the driver's bone may point."""

    driver: str
    twists: bool
    """Whether it is another map where the driver is twisted otherwise."""
    reference: list[float]
    """Of the driver: directions are seen from it."""
    axis: list[float]
    """What points there: a direction in the driver's own frame."""
    directions: Floats
    faces: Ints
    rim: Floats
    """Ends of edges, in pairs, where the driver's directions end."""
    valuesDeg: Floats
    """By direction, the number of each field."""
