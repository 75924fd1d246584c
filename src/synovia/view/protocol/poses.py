"""Messages about poses: what is asked about one, and poses that meet a goal."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ...arrays import Floats


class PoseRequest(TypedDict):
    """A request about a pose: rotations, at the positions of a frame."""

    frame: int
    rotations: list[float]
    positions: NotRequired[list[float] | None]
    """Of all joints, each as its parent sees it, if not those of the frame."""


class GoalRequest(PoseRequest):
    """A request for a pose that meets a goal."""

    root: NotRequired[list[float] | None]
    """Where the root is, if not where it is in the frame."""
    pins: NotRequired[dict[str, list[float]]]
    """Places of joints that stay."""
    turns: NotRequired[dict[str, list[float]]]
    """Rotations in the world, of those of them that stay turned as they are."""
    start: NotRequired[list[float] | None]
    """Rotations where the drag began, which is tried before a target is out of reach."""
    target: list[float]
    limits: bool
    """Whether they are kept."""
    joints: list[str] | None
    """The joints that may turn; null for all."""


class ReachRequest(GoalRequest):
    """A request for a pose in which a point of a joint is at the target."""

    joint: str
    point: list[float]


class LookRequest(GoalRequest):
    """A request for a pose in which the last of `joints` looks at the target."""

    axis: NotRequired[list[float]]


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


class ObservedPoseRequest(PoseRequest):
    """A request for a pose in which a joint is as it was observed in a frame of a clip."""

    joint: str
    rotation: list[float]
    clip: str
    at: int


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


class WhyRequest(PoseRequest):
    """A request for the reason why a joint of a pose is outside."""

    joint: str


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


class FigureRequest(PoseRequest):
    """A request about the figure in a pose, which controls give, if these are known."""

    values: dict[str, float] | None
    """Where the drag began."""
    last: NotRequired[dict[str, float] | None]
    """Where it was."""


class PullRequest(FigureRequest):
    """A request for a pose of the figure in which a point of a joint is at the target."""

    joint: str
    point: list[float]
    target: list[float]
    limb: list[str]
    """The joints that go first."""
    alone: bool
    """Whether no others follow."""
    pins: NotRequired[dict[str, list[float]]]
    turns: NotRequired[dict[str, list[float]]]
    thorough: bool
    """Whether to try all before the target is called out of reach."""


class TurnRequest(FigureRequest):
    """A request for a pose in which a joint has a rotation in the world."""

    joint: str
    rotation: list[float]
    limits: bool
    """Whether its limit is kept; a figure's controls are then."""


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


class ControlsRequest(TypedDict):
    """A request for the pose that values of controls give."""

    values: dict[str, float]


class Posed(PoseAnswer):
    """A pose of the figure, and what became of its controls."""

    clamped: dict[str, float]
    gaps: dict[str, float]
