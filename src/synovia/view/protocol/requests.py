"""Requests of the page, as `synovia.schema` decodes them.

Angles are in degrees if names end in `_deg`. Rotations are quaternions, w first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from ...arrays import Within
from ...population.sources import Source as HumanSource
from ...schema import FLAT, Numbers, Rotation, Vector, VectorList

MAX_CENTERS = 32  # points that one request may brush
INFINITY = float("inf")
EvidenceSource = Literal["samples", "clip", "limit"]
"""What a limit is made from: kept samples, the clip, or the present limit."""
ComparedLimits = Literal["opened", "saved", "mirror", "file"]
"""What a limit is compared with: itself before, its partner, or another file."""


@dataclass(frozen=True, kw_only=True)
class EmptyRequest:
    """A request without parameters."""


@dataclass(frozen=True, kw_only=True)
class JointRequest:
    """A request about a joint, by its name."""

    joint: str


@dataclass(frozen=True, kw_only=True)
class RegionRequest(JointRequest):
    """A request for the picture of a joint's limit."""

    draft: bool = False
    """True for a rough picture, which is there at once."""


@dataclass(frozen=True, kw_only=True)
class PoseRequest:
    """A pose: rotations of all joints, at the positions of a frame."""

    frame: int
    rotations: Numbers
    positions: Numbers | None = None
    """Of all joints, in the parent's frame, if not those of the frame."""


@dataclass(frozen=True, kw_only=True)
class GoalRequest(PoseRequest):
    """A request for a pose that meets a goal."""

    root: Vector | None = None
    """Position of the root, if not that of the frame."""
    pins: dict[str, Vector] = field(default_factory=dict)
    """Positions of joints that stay."""
    turns: dict[str, Rotation] = field(default_factory=dict)
    """World rotations of pinned joints that keep theirs."""
    start: Numbers | None = None
    """Rotations where the drag began."""
    start_root: Vector | None = None
    """Position of the root there."""
    target: Vector
    limits: bool
    """True if limits are kept."""
    joints: list[str] | None
    """The joints that may turn; null for all."""
    feet: bool = True
    """True if the feet of a human stay where they are."""
    thorough: bool = False
    """True to go on until the pose settles, and then to try another start."""


@dataclass(frozen=True, kw_only=True)
class ReachRequest(GoalRequest):
    """A request for a pose in which a point of a joint is at the target."""

    joint: str
    point: Vector


@dataclass(frozen=True, kw_only=True)
class LookRequest(GoalRequest):
    """A request for a pose in which the last of `joints` looks at the target."""

    axis: Vector | None = None


@dataclass(frozen=True, kw_only=True)
class ObservedPoseRequest(PoseRequest):
    """A request for the pose in which a rotation of a joint was observed."""

    joint: str
    rotation: Rotation
    clip: str
    at: int
    """Frame of that clip."""


@dataclass(frozen=True, kw_only=True)
class WhyRequest(PoseRequest):
    """A request for the reason why a joint of a pose is outside."""

    joint: str


@dataclass(frozen=True, kw_only=True)
class FigureRequest(PoseRequest):
    """A request about the figure in a pose, with the controls that gave it, if they are known."""

    values: dict[str, float] | None
    """Controls at the start of the drag."""
    last: dict[str, float] | None = None
    """Controls of the previous answer."""


@dataclass(frozen=True, kw_only=True)
class PullRequest(FigureRequest):
    """A request for a pose of the figure in which a point of a joint is at the target."""

    joint: str
    point: Vector
    target: Vector
    joints: list[str] | None = None
    """The joints that may turn; null for all."""
    feet: bool = True
    """True if the feet of a human stay where they are."""
    pins: dict[str, Vector] = field(default_factory=dict)
    turns: dict[str, Rotation] = field(default_factory=dict)
    thorough: bool = False
    """True to go on until the pose settles, and then to try another start."""


@dataclass(frozen=True, kw_only=True)
class TurnRequest(FigureRequest):
    """A request for a pose in which a joint has a rotation in the world."""

    joint: str
    rotation: Rotation
    limits: bool
    """True if its limit is kept; for a figure, if its controls move."""


@dataclass(frozen=True, kw_only=True)
class AnglesRequest(PoseRequest):
    """A request for the clinical angles of a joint in a pose."""

    joint: str


@dataclass(frozen=True, kw_only=True)
class AngleRequest(FigureRequest):
    """A request for the pose with a joint at an angle along one of its clinical axes."""

    joint: str
    axis: int
    deg: Annotated[float, Within(-360, 360)]
    limits: bool
    """True if the limit is kept."""


@dataclass(frozen=True, kw_only=True)
class CurvesRequest:
    """A request for the clinical angles of joints in each frame."""

    joints: list[str]


@dataclass(frozen=True, kw_only=True)
class RepairRequest:
    """A request to repair the clip: what to keep of hands, feet and head."""

    keep: list[Literal["hands", "feet", "head"]]


@dataclass(frozen=True, kw_only=True)
class ControlsRequest:
    """A request for the pose that values of controls give."""

    values: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DependentRequest:
    """A request about a joint whose limit depends on another, in a pose."""

    joint: str
    pose: PoseRequest


@dataclass(frozen=True, kw_only=True)
class HereRequest(DependentRequest):
    """A request for the region that is legal for such a joint in a pose."""

    draft: bool
    """True for a rough picture, as while the driver moves."""


@dataclass(frozen=True, kw_only=True)
class MapRequest:
    """A request for the map of a dependent limit: by the driver's twist in a pose, or null."""

    joint: str
    pose: PoseRequest | None


@dataclass(frozen=True, kw_only=True)
class ClampRequest:
    """How clamping softens the limit, as `synovia clamp --soften` takes it; null is hard."""

    soften: str | None = None


@dataclass(frozen=True, kw_only=True)
class CurveRequest(JointRequest, ClampRequest):
    """A request for the curve of a joint."""


@dataclass(frozen=True, kw_only=True)
class ObservedRequest(JointRequest):
    """A request for the observed rotations of a joint, at most `most` of them."""

    most: Annotated[int, Within(1, INFINITY)]


@dataclass(frozen=True, kw_only=True)
class CompareRequest(JointRequest):
    """A request to compare a joint's limit with another, by its name; null for none."""

    to: ComparedLimits | None
    pose: PoseRequest | None = None
    """The pose of drivers, if one of the limits depends on another joint."""


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """Joint and stroke of an edit; edits of one stroke are undone together."""

    joint: str
    stroke: str | None = None


@dataclass(frozen=True, kw_only=True)
class ConeEdit:
    """An edit of one reach cone of a limit, by its index; some edit all cones without it."""

    part: int | None = None


@dataclass(frozen=True, kw_only=True)
class MovePoint(ConeEdit):
    """Move a point of a cone to a direction."""

    edit: Literal["move-point"]
    index: int
    point: Vector


@dataclass(frozen=True, kw_only=True)
class AddPoint(ConeEdit):
    """Add a point: in a direction, or in the middle of the edge after a point."""

    edit: Literal["add-point"]
    point: Vector | None = None
    after: int | None = None


@dataclass(frozen=True, kw_only=True)
class DeletePoint(ConeEdit):
    """Delete a point of a cone."""

    edit: Literal["delete-point"]
    index: int


@dataclass(frozen=True, kw_only=True)
class ReorderPoint(ConeEdit):
    """Move a point of a cone by so many positions in the order."""

    edit: Literal["reorder-point"]
    index: int
    by: int


@dataclass(frozen=True, kw_only=True)
class MoveVisible(ConeEdit):
    """Move the visible point of a cone to a direction."""

    edit: Literal["move-visible"]
    point: Vector


@dataclass(frozen=True, kw_only=True)
class Twist(ConeEdit):
    """Set the limits of the twist at a point, or at the visible point, which has no index."""

    edit: Literal["twist"]
    index: int | None
    low_deg: float
    high_deg: float


@dataclass(frozen=True, kw_only=True)
class Smooth(ConeEdit):
    """Smooth one cone, or every cone, by subdivision."""

    edit: Literal["smooth"]
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Relax(ConeEdit):
    """Smooth the vertices of one cone, or of every cone, without adding any."""

    edit: Literal["relax"]
    rounds: Annotated[int, Within(0, 100)]


@dataclass(frozen=True, kw_only=True)
class Simplify(ConeEdit):
    """Remove points that change one cone, or every cone, by less than the tolerance."""

    edit: Literal["simplify"]
    tolerance_deg: float


@dataclass(frozen=True, kw_only=True)
class Brush:
    """Push a distance field out around points, or pull it in."""

    edit: Literal["brush"]
    draft: bool = False
    """True during a drag, which `settle` ends."""
    centers: Annotated[VectorList, Within(1, MAX_CENTERS)]
    """Rotation vectors from the limit's reference."""
    radius_deg: float
    amount_deg: float
    """Distance by which the centre moves out; negative to pull in."""


@dataclass(frozen=True, kw_only=True)
class Settle:
    """End the drafts of a brush."""

    edit: Literal["settle"]


@dataclass(frozen=True, kw_only=True)
class AddSample:
    """Extend the limit to contain a rotation."""

    edit: Literal["add-sample"]
    rotation: Rotation


@dataclass(frozen=True, kw_only=True)
class SetNumber:
    """Set a number of the shape."""

    edit: Literal["number"]
    field: str
    index: int
    deg: Annotated[float, Within(-1800, 1800)]


@dataclass(frozen=True, kw_only=True)
class SetHingeEnd:
    """Move an end of the range of a hinge, in degrees from the limit's reference."""

    edit: Literal["hinge"]
    side: Literal["low", "high"]
    deg: Annotated[float, Within(-180, 180)]


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Give the joint's partner the mirrored limit."""

    edit: Literal["mirror"]


@dataclass(frozen=True, kw_only=True)
class Copy:
    """Give another joint the limit."""

    edit: Literal["copy"]
    to: str


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw a new cone around the direction of the bone at a rotation."""

    edit: Literal["draw"]
    rotation: Rotation


@dataclass(frozen=True, kw_only=True)
class Remove:
    """Remove the limit."""

    edit: Literal["remove"]


@dataclass(frozen=True, kw_only=True)
class SetNumberHere:
    """Set a number at the driver's rotation in a pose, and nodes within the radius with it."""

    edit: Literal["number-here"]
    field: str
    deg: float
    radius_deg: Annotated[float, Within(0, 180)]
    pose: PoseRequest


@dataclass(frozen=True, kw_only=True)
class AllowHere:
    """Make the joint's rotation in a pose legal at the driver's rotation in that pose."""

    edit: Literal["allow-here"]
    radius_deg: Annotated[float, Within(0, 180)]
    pose: PoseRequest


@dataclass(frozen=True, kw_only=True)
class Detach:
    """Make the limit independent of other joints."""

    edit: Literal["detach"]


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
"""An edit of a limit; a refit has a request of its own."""


@dataclass(frozen=True, kw_only=True)
class EditRequest(Stroke):
    """A request to edit the limit of a joint."""

    edit: Annotated[Edit, FLAT]


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """A request to undo or redo, and for the picture of the picked joint, if there is one."""

    joint: str | None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Family and chart of a limit, its margin, and what it is made from."""

    family: str
    chart: str | None
    margin_deg: Annotated[float, Within(0, 90)]
    from_: EvidenceSource


@dataclass(frozen=True, kw_only=True)
class Refit(Choice):
    """An edit that fits or converts the limit."""

    edit: Literal["refit"]


@dataclass(frozen=True, kw_only=True)
class RefitRequest(Stroke):
    """A request to fit or convert the limit of a joint."""

    choice: Annotated[Refit, FLAT]


@dataclass(frozen=True, kw_only=True)
class JudgeRequest(Choice):
    """A request to evaluate a choice: as a whole, or one of its folds."""

    joint: str
    part: int | None = None


@dataclass(frozen=True, kw_only=True)
class SaveRequest:
    """A request to save: to a name beside the file, or to the file itself."""

    as_: str | None
    overwrite: bool


@dataclass(frozen=True, kw_only=True)
class RecoverRequest:
    """A request to restore the unsaved edits of the last session, or to delete them."""

    restore: bool


@dataclass(frozen=True, kw_only=True)
class SendRequest:
    """A piece of a file: the upload's id, the file's name and its size in bytes."""

    upload: str
    name: str
    size: int
    content: bytes = b""


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """A request to show an uploaded file: a clip, or limits."""

    upload: str
    discard: bool
    """True if unsaved edits may be lost."""


@dataclass(frozen=True, kw_only=True)
class RolesRequest:
    """A request for the roles of joints, some of which are mapped by hand."""

    roles: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class HumanRequest:
    """A request for default human limits, with roles of joints that are mapped by hand."""

    source: HumanSource
    roles: dict[str, str]
    discard: bool


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """A request for a file to download."""

    what: Literal[
        "clip",
        "clamped",
        "repaired",
        "pose",
        "violations",
        "page",
        "angles",
        "ranges",
        "report",
    ]
    suffix: Literal[".glb"] | None = None
    """Of clips and poses, if not the default."""
    view: str = ""
    """What a page opens with: frame, joint and camera, as in a link."""
    soften: str | None = None
    frame: int | None = None
    rotations: Numbers | None = None
    positions: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class ClipsRequest:
    """A request for the list of clips, and the pattern of performers in their names."""

    performers: str | None = None


@dataclass(frozen=True, kw_only=True)
class ChooseRequest:
    """A request to show a clip of the list."""

    number: int


@dataclass(frozen=True, kw_only=True)
class FileRequest:
    """A request about an uploaded file."""

    upload: str


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """A request to fit limits from clips, by their numbers; -1 is the clip on the page."""

    clips: list[int]
    family: str
    margin_deg: Annotated[float | None, Within(0, 90)]
    reject_percent: float | None
    performers: str | None
