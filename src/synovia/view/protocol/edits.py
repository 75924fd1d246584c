"""Messages about edits: all that can be done to a limit, and why it was refused."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .dependents import AllowHere, Detach, SetNumberHere


class Stroke(TypedDict):
    """What every edit is of: a joint, and a stroke, whose edits are undone together."""

    joint: str
    stroke: str


class MovePoint(TypedDict):
    """Put a point of a cone into a direction."""

    edit: Literal["move-point"]
    part: NotRequired[int]
    index: int
    point: list[float]


class AddPoint(TypedDict):
    """Add a point: in a direction, or in the middle of the edge after a point."""

    edit: Literal["add-point"]
    part: NotRequired[int]
    point: NotRequired[list[float]]
    after: NotRequired[int]


class DeletePoint(TypedDict):
    """Delete a point of a cone."""

    edit: Literal["delete-point"]
    part: NotRequired[int]
    index: int


class ReorderPoint(TypedDict):
    """Put a point of a cone so many places later in the order."""

    edit: Literal["reorder-point"]
    part: NotRequired[int]
    index: int
    by: int


class MoveVisible(TypedDict):
    """Put the visible point of a cone into a direction."""

    edit: Literal["move-visible"]
    part: NotRequired[int]
    point: list[float]


class Twist(TypedDict):
    """Set the limits of the twist at a point, or at the visible point, which has no index."""

    edit: Literal["twist"]
    part: NotRequired[int]
    index: int | None
    lowDeg: float
    highDeg: float


class Smooth(TypedDict):
    """Smooth a cone, or all of them."""

    edit: Literal["smooth"]
    part: NotRequired[int]
    rounds: int


class Relax(TypedDict):
    """Calm the points of a cone, or of all, as many as there are."""

    edit: Literal["relax"]
    part: NotRequired[int]
    rounds: int


class Simplify(TypedDict):
    """Leave out points of a cone, or of all, that matter by less than so many degrees."""

    edit: Literal["simplify"]
    part: NotRequired[int]
    toleranceDeg: float


class Brush(TypedDict):
    """Push a distance field out around places, or pull it in."""

    edit: Literal["brush"]
    draft: NotRequired[bool]
    centers: list[list[float]]
    radiusDeg: float
    amountDeg: float


class Settle(TypedDict):
    """End the drafts of a brush."""

    edit: Literal["settle"]


class AddSample(TypedDict):
    """Take a rotation into the limit."""

    edit: Literal["add-sample"]
    rotation: list[float]


class SetNumber(TypedDict):
    """Set a number of the shape."""

    edit: Literal["number"]
    field: str
    index: int
    deg: float


class SetHingeEnd(TypedDict):
    """Move an end of the range of a hinge, in degrees from the limit's reference."""

    edit: Literal["hinge"]
    side: Literal["low", "high"]
    deg: float


class Mirror(TypedDict):
    """Give the joint's partner the limit, mirrored."""

    edit: Literal["mirror"]


class Copy(TypedDict):
    """Give another joint the limit."""

    edit: Literal["copy"]
    to: str


class Draw(TypedDict):
    """Draw a new cone around where the bone points at a rotation."""

    edit: Literal["draw"]
    rotation: list[float]


class Remove(TypedDict):
    """Remove the limit."""

    edit: Literal["remove"]


Edit = (
    MovePoint
    | AddPoint
    | DeletePoint
    | ReorderPoint
    | MoveVisible
    | Twist
    | Smooth
    | Relax
    | Simplify
    | Brush
    | Settle
    | AddSample
    | SetNumber
    | SetHingeEnd
    | Mirror
    | Copy
    | Draw
    | Remove
    | SetNumberHere
    | AllowHere
    | Detach
)
"""What can be done to a limit, but for a refit, which is asked for by a name of its own."""


class Edge(TypedDict):
    """An edge of a cone, for which an edit was refused."""

    number: int
    ends: list[list[float]]


class Reason(TypedDict):
    """Why something was refused; nothing has changed."""

    refused: str


class EdgeReason(Reason):
    """The same, and the edge of a cone that is at fault."""

    edge: Edge
