"""Messages about limits that depend on another joint, the driver."""

from __future__ import annotations

from typing import Literal, TypedDict

from ...arrays import Floats, Ints
from .poses import PoseRequest


class DependentRequest(TypedDict):
    """A request about a joint whose limit depends on another, in a pose."""

    joint: str
    pose: PoseRequest


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


class HereRequest(DependentRequest):
    """A request for what is legal for such a joint in a pose."""

    draft: bool
    """Whether a rough picture will do, as while the driver moves."""


class MapRequest(TypedDict):
    """A request for the map of a dependent limit: by the driver's twist in a pose, or null."""

    joint: str
    pose: PoseRequest | None


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


class SetNumberHere(TypedDict):
    """Set a number where the driver is in a pose; nodes nearer than the radius change with it."""

    edit: Literal["number-here"]
    field: str
    deg: float
    radiusDeg: float
    pose: PoseRequest


class AllowHere(TypedDict):
    """Let the joint be as it is in a pose, while its driver is as it is there."""

    edit: Literal["allow-here"]
    radiusDeg: float
    pose: PoseRequest


class Detach(TypedDict):
    """Let the limit depend on no other joint any more."""

    edit: Literal["detach"]
