"""Answers about poses, and about limits that depend on another joint, the driver."""

from __future__ import annotations

from typing import TypedDict

from ...arrays import Floats, Ints


class Outside(TypedDict):
    """By how many degrees the limited joints are outside; negative where they are only unusual."""

    outsideDeg: list[float]


class Step(Outside):
    """A step of a pull: a pose nearer to its goal."""

    ms: float
    met: bool
    left: float
    settled: bool
    """False if the same request again would go on."""
    jumped: bool
    """True if the pose is far from the last one, so that the page shows a transition."""
    center: list[float] | None
    """The centre of mass of a human on the floor."""
    balanced: bool
    """True if that is between the feet that stand."""


class Solved(Step):
    """A step over joints."""

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


class ClinicalAngle(TypedDict):
    """The angle of a joint along a clinical axis, and how far it can go."""

    name: str
    """The motion in the positive direction, such as "flexion"."""
    opposite: str
    deg: float
    lowDeg: float | None
    """The least legal angle, the others being as they are; null where no limit ends it."""
    highDeg: float | None
    isPossible: bool
    """Whether any angle along the axis is legal."""
    leastDeg: float
    """The least angle of the axis, legal or not."""
    mostDeg: float


class JointAngles(TypedDict):
    """The clinical angles of a joint in a pose."""

    joint: str
    name: str
    """What people call the joint; empty if it has no clinical angles."""
    axes: list[ClinicalAngle]


class CurveTitle(TypedDict):
    """Of which joint and axis a curve is."""

    joint: str
    name: str
    axis: str
    opposite: str


class AngleCurves(TypedDict):
    """Clinical angles in each frame, and the limit's ends there; NaN where no angle is legal."""

    curves: list[CurveTitle]
    anglesDeg: Floats
    """By curve and frame."""
    lowDeg: Floats
    highDeg: Floats


class RangeRow(CurveTitle):
    """The range of motion along one axis, the frames at its ends, norm and limit."""

    minDeg: float
    minFrame: int
    maxDeg: float
    maxFrame: int
    norm: str
    """The published norm of both directions, such as "-4 to 142"; empty for none."""
    lowDeg: float | None
    """The widest limit in the clip."""
    highDeg: float | None


class Ranges(TypedDict):
    """The ranges of motion of the clip."""

    ranges: list[RangeRow]
    notes: list[str]


class HingeAngle(TypedDict):
    """How angles of a hinge are clinical ones: `sign` times the degrees, plus `offsetDeg`."""

    name: str
    sign: float
    offsetDeg: float


class RepairStage(TypedDict):
    """What one stage of a repair changed."""

    name: str
    joints: int
    frames: int
    deg: float
    """The largest rotation of a joint, and of which."""
    joint: str
    moved: float
    """How far a hand or a foot in contact moved at most, in `unit`."""
    unit: str


class Repaired(TypedDict):
    """A repaired clip: its motion, what it took, and how far it is outside now."""

    frames: int
    """How many frames changed."""
    stages: list[RepairStage]
    glitches: dict[str, int]
    """By joint, the number of frames, as below."""
    notKept: dict[str, int]
    over: dict[str, int]
    shareKept: float
    note: str
    moving: list[int]
    """The joints whose positions change, in the order of `positions`."""
    outsideDeg: Floats
    rotations: Floats
    positions: Floats


class Pulled(Step):
    """A step over the controls of the figure."""

    rotations: Floats
    positions: Floats
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
