"""Protocol: what the page asks for and what it is told, the one place where messages have types.

The page has the same types in `web/src/protocol.ts`, which `python web/protocol.py` writes from
this file. What comes from a page may be anything, so requests are checked all the same. Arrays of
an answer go behind its JSON, as `messages` says: floats with 32 bits, unsigned integers, and short
integers where the type says so.
Angles are in degrees where names say so, rotations are quaternions, w first.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from ..arrays import Bytes, Floats, Halves, Ints

# ---------------------------------------------------------------------------------------- messages


class ArrayEntry(TypedDict):
    """An array behind the header of a message."""

    name: str
    type: Literal["f4", "u4", "i2", "u2", "u1"]
    shape: list[int]


class Header(TypedDict):
    """What every message to the page begins with, as JSON, besides what it says."""

    id: int | None
    """Of the request that it answers, if it does."""
    arrays: list[ArrayEntry]
    """In the order in which they follow."""


class Failure(TypedDict):
    """There is no answer, for a reason."""

    error: str


class Leftover(TypedDict):
    """A file with edits that were not saved when the limits were last shown."""

    name: str
    written: float
    """When it was, in seconds since 1970."""


class State(TypedDict):
    """What all pages show of the limits: which joints have some, what can be undone, the file."""

    limited: list[int]
    measuredFrom: list[int]
    """By joint, the one that its limit is measured from; -1 for none."""
    undo: str | None
    redo: str | None
    file: str | None
    """Where the limits are saved; without it they can only be downloaded."""
    unsaved: bool
    scene: int
    """Which of the scenes that were shown this is: with another number, there is another clip."""
    evidence: int
    """Which of the limits that were given or fitted these are edits of, and whose samples."""
    leftover: Leftover | None


class News(State):
    """Another page has changed the limits."""

    news: Literal[True]


class EmptyRequest(TypedDict):
    """A request that needs nothing besides its name."""


class JointRequest(TypedDict):
    """A request about a joint, by its name."""

    joint: str


# -------------------------------------------------------------------------------- clip and limits


class Control(TypedDict):
    """A control of a figure."""

    name: str
    low: float
    high: float
    neutral: float
    unit: str
    joints: list[int]
    """Those that its joint set moves."""


class Start(TypedDict):
    """What a figure opens with, where no clip is given."""

    values: dict[str, float]
    """Of its controls; others are neutral."""
    joint: int
    """The one that is picked."""


class Orientation(TypedDict):
    """How the clip stands."""

    up: Literal["y", "z"]
    looker: str | None
    """The joint that looks, if one is called so."""
    lookAxis: str
    """Along which of its axes it looks."""


class Opening(Orientation, State):
    """The skeleton, the clip, and which joints have limits."""

    clip: str
    names: list[str]
    parents: list[int]
    endParents: list[int]
    partners: list[int]
    """By joint, its partner on the other side; -1 where there is none."""
    groups: list[str]
    """By joint, what part of a human it belongs to; an empty word for none."""
    frames: int
    frameTime: float
    invented: bool
    """Whether nobody performed the first frame, as the T-pose before a capture."""
    start: Start | None
    notes: list[str]
    moving: list[int]
    """The joints whose positions change, in the order of `positions`."""
    controls: list[Control]
    offsets: Floats
    endOffsets: Floats
    rotations: Floats
    positions: Floats


class SkinShape(TypedDict):
    """The skin around a body, packed as its bones are; no points where there is none."""

    skinStep: float
    skinTriangles: int
    skinPoints: Bytes
    skinCodes: Bytes
    skinOthers: Halves
    skinJoints: Halves
    """Of each vertex, four joints that it goes with."""
    skinWeights: Bytes
    """By how much, of 255."""
    skinRotations: Floats
    """Of joints, each as its parent sees it, in the pose in which the points are so."""
    skinPositions: Floats


class BodyShape(SkinShape):
    """The bones of a human, each a surface that several may share; none where there is no human.

    Triangles are said by a walk over them, `codes` and `others`, which meets vertices in their
    order: see `synovia.body.connectivity`. Points are steps from where the walk guesses them, the
    low bytes of all x, y and z before the high ones.
    """

    sizes: list[list[int]]
    """Of each surface, how many vertices and triangles."""
    steps: list[float]
    """Of each surface, how long a step is."""
    kinds: list[int]
    """Of each bone, which surface it has."""
    points: Bytes
    codes: Bytes
    others: Halves
    shares: Bytes
    """By how much, of 255, a vertex goes with its bone's second joint."""
    joints: Halves
    placings: Floats
    """Of each bone, a matrix of three rows and four columns."""
    bindRotations: Floats
    bindPositions: Floats


class Check(TypedDict):
    """How far limited joints are outside, by frame."""

    outsideDeg: Floats


class ClampRequest(TypedDict):
    """How clamping treats the limit, as `synovia clamp --soften` takes it; null is hard."""

    soften: str | None


class Clamping(TypedDict):
    """Rotations of the joints that clamping changes, and what it leaves outside at most."""

    changed: list[int]
    leftDeg: float
    clamped: Floats


class CurveRequest(JointRequest, ClampRequest):
    """A request for the curve of a joint."""


class Curve(TypedDict):
    """The distance of a joint to its limit by frame, negative inside, before and after clamping."""

    joint: str
    before: Floats
    after: Floats


class ShapeNumber(TypedDict):
    """A number of a shape that can be typed."""

    row: str
    column: str
    field: str
    index: int
    deg: float


class ConePoints(TypedDict):
    """The points of reach cones, one cone after the other; of other families there are none."""

    corners: Floats
    cornersTwistDeg: Floats
    cornerCounts: Ints
    visible: Floats
    visibleTwistDeg: Floats


class Hinge(TypedDict):
    """The one axis that a joint turns about, and how far, as its parent sees it."""

    axis: list[float]
    zero: list[float]
    """Where the bone points at 0, which is the limit's reference, across the axis."""
    lowDeg: float
    highDeg: float


class Picture(ConePoints):
    """A limit as it is drawn: the directions of the bone, and the boundary among rotations."""

    family: str
    label: str
    """What the family is called."""
    chart: str
    sculptable: bool
    """Whether it can be pushed and pulled."""
    share: float
    """Of all rotations."""
    reference: list[float]
    axis: list[float]
    numbers: list[ShapeNumber]
    hinge: Hinge | None
    """Of a joint that turns about one axis."""
    directions: Floats
    faces: Ints
    rim: Ints
    twistDeg: Floats
    vectors: Floats
    triangles: Ints


class ObservedRequest(JointRequest):
    """A request for what was kept of a joint, but not more rotations than `most`."""

    most: int


class Observed(TypedDict):
    """Rotations that the limits kept of a joint, or some of them, and where each is from."""

    count: int
    performers: list[str]
    counts: list[int]
    """Of each performer, how many were kept."""
    clips: list[str]
    whose: Halves
    """By rotation, the number of the performer."""
    clip: Halves
    """By rotation, the number of the clip."""
    frames: Ints
    """By rotation, the frame of that clip."""
    rotations: Floats


# ------------------------------------------------------------------------------------------- poses


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
    """By how many degrees the limited joints are outside."""

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


# ------------------------------------------------------------------------------------------- edits


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


class Refusal(Reason, State):
    """An edit was refused, or the limits cannot be saved."""


class EdgeRefusal(EdgeReason, State):
    """An edit of a cone was refused."""


class Drawn(Picture, State):
    """The limit after an edit."""


class StepRequest(TypedDict):
    """A request to undo or redo, and for the picture of the joint that is picked."""

    joint: str | None


class Step(State):
    """What was undone or done again."""

    what: str


class DrawnStep(Step, Drawn):
    """The same, and the picked joint's limit after it."""


# --------------------------------------------------------------------------------- families, files

Choice = TypedDict("Choice", {"family": str, "chart": str | None, "marginDeg": float, "from": str})
"""How a limit is made: its family and chart, the margin, and what it is made from."""


class Refit(Choice):
    """An edit that makes the limit anew."""

    edit: Literal["refit"]


class FamilyName(TypedDict):
    """A family of limits, and what it is called."""

    name: str
    label: str


class Family(FamilyName):
    """The same, and the charts that it works in."""

    charts: list[str]
    sculptable: bool


class Source(TypedDict):
    """What a limit can be made from, and why not, if it cannot."""

    name: str
    label: str
    why: str | None


class Cost(TypedDict):
    """What a conversion gained and lost, as shares of all rotations, and its largest error."""

    gained: float
    lost: float
    errorDeg: float


class Making(TypedDict):
    """How the present limit was made, as far as that is known."""

    choice: Choice
    known: bool
    fitted: bool
    remarks: list[str]
    cost: Cost | None


class Families(Making):
    """What a joint's limit can be, and what it is."""

    families: list[Family]
    sources: list[Source]


class Refitted(Drawn, Making):
    """The limit made anew."""


class JudgeRequest(Choice):
    """A request to judge a choice: as a whole, or by one of its parts."""

    joint: str
    part: NotRequired[int]


class Judgement(TypedDict):
    """The share of all rotations that a choice allows, and by what it can be judged."""

    share: float
    parts: int
    basis: str


class PartJudgement(TypedDict):
    """The share of a part's frames that is outside the limit of the others."""

    outside: float


SaveRequest = TypedDict("SaveRequest", {"as": str | None, "overwrite": bool})
"""A request to save: beside the file under a name, or to the file itself."""


class Saved(State):
    """The limits are saved, under this name."""

    saved: str


class Exists(State):
    """They are not: a file of this name was there before, or was changed since by others."""

    exists: str
    changed: bool


class RecoverRequest(TypedDict):
    """A request to bring back edits of last time, or to remove them."""

    restore: bool


class SendRequest(TypedDict):
    """A piece of a file, whose bytes follow: the word that the page has for it, name and size."""

    upload: str
    name: str
    size: int


class Received(TypedDict):
    """How many bytes of a file have come."""

    received: int


class LoadRequest(TypedDict):
    """A request to show a file that was sent: a clip, or limits."""

    upload: str
    discard: bool
    """Whether edits that are not saved may go."""


class Discards(State):
    """Nothing was done: edits that are not saved would be gone."""

    discards: bool


class RolesRequest(TypedDict):
    """A request for the roles of joints, some of which are mapped by hand."""

    roles: dict[str, str]


class Roles(TypedDict):
    """The roles of a human's bones, which joints seem to have them, and why it is no human yet."""

    roles: list[str]
    found: dict[str, str]
    recognised: bool
    """Whether that is known without a map."""
    why: str | None


class HumanRequest(TypedDict):
    """A request for limits of a human, with roles of joints that are mapped by hand."""

    source: str
    roles: dict[str, str]
    discard: bool


class ExportRequest(TypedDict):
    """A request for a file to take home."""

    what: Literal["clip", "clamped", "pose", "violations", "page"]
    suffix: NotRequired[Literal[".glb"]]
    """Of clips and poses, where it is not the usual one."""
    soften: NotRequired[str | None]
    frame: NotRequired[int]
    rotations: NotRequired[list[float]]
    positions: NotRequired[list[float]]


class Export(TypedDict):
    """A file to take home, and its name."""

    name: str
    content: Bytes


class ClipRow(TypedDict):
    """A clip of a folder, and how far it is outside, as far as that is known."""

    number: int
    name: str
    performer: str
    worstDeg: float | None
    share: float | None
    """Of its frames."""
    error: str | None


class ClipsRequest(TypedDict):
    """A request for the clips to choose between, and a pattern that tells who performs."""

    performers: NotRequired[str | None]


class Clips(TypedDict):
    """The clips to choose between, the worst first, and whether some are still being checked."""

    clips: list[ClipRow]
    checking: bool
    why: str | None
    """Why the pattern does not tell who performs."""


class ChooseRequest(TypedDict):
    """A request to show a clip of the folder."""

    number: int


# ---------------------------------------------------------------------- other limits, fitted limits


class FileRequest(TypedDict):
    """A request about a file that was sent, by the page's word for it."""

    upload: str


class CompareRequest(JointRequest):
    """A request to compare a joint's limit with another, by its name; null for none."""

    to: str | None


class Other(TypedDict):
    """What a limit can be compared with, and why not, if it cannot."""

    name: str
    label: str
    why: str | None


class Comparison(TypedDict):
    """Two limits on one sphere, as the reference of the present one sees it."""

    others: list[Other]
    to: str | None
    gained: float
    """The share of all rotations that only the present limit allows."""
    lost: float
    """The share of all rotations that only the other limit allows."""
    directions: Floats
    faces: Ints
    gainedTwists: Bytes
    """By direction, the share, of 255, of the twists that only the present limit allows."""
    lostTwists: Bytes
    rim: Floats
    """Ends of edges, in pairs, where the directions of the other limit end."""


class Kinds(TypedDict):
    """The families that limits can be fitted in."""

    families: list[FamilyName]


class FitRequest(TypedDict):
    """A request to fit limits from clips, by their numbers; -1 is the one that is shown."""

    clips: list[int]
    family: str
    marginDeg: float | None
    rejectPercent: float | None
    performers: str | None


class Fitting(TypedDict):
    """How far a fit has come, if one was begun."""

    number: int
    """Which fit it is; 0 for none."""
    running: bool
    stage: str
    """What is done now, or what became of it."""
    done: int
    total: int
    failed: bool
    remarks: list[str]
    """What the fit warned of."""


class Download(State):
    """The limits as a file, and its name."""

    name: str
    text: str


# ------------------------------------------------------------------------------------ all together


class Requests(TypedDict):
    """What the page may ask for, by name."""

    open: EmptyRequest
    body: EmptyRequest
    check: EmptyRequest
    clamp: ClampRequest
    curve: CurveRequest
    region: JointRequest
    observed: ObservedRequest
    recall: ObservedPoseRequest
    compare: CompareRequest
    reach: ReachRequest
    look: LookRequest
    pull: PullRequest
    turn: TurnRequest
    mirror: PoseRequest
    why: WhyRequest
    fitted: PoseRequest
    pose: ControlsRequest
    outside: PoseRequest
    edit: Annotated[Edit, Stroke]
    undo: StepRequest
    redo: StepRequest
    family: JointRequest
    refit: Annotated[Refit, Stroke]
    judge: JudgeRequest
    save: SaveRequest
    recover: RecoverRequest
    send: SendRequest
    load: LoadRequest
    roles: RolesRequest
    human: HumanRequest
    export: ExportRequest
    clips: ClipsRequest
    choose: ChooseRequest
    keep: FileRequest
    other: FileRequest
    kinds: EmptyRequest
    fit: FitRequest
    progress: EmptyRequest
    stop: EmptyRequest
    download: EmptyRequest


class Answers(TypedDict):
    """What it is answered, by the same names, where there is no failure."""

    open: Opening
    body: BodyShape
    check: Check
    clamp: Clamping
    curve: Curve
    region: Picture
    observed: Observed
    recall: ObservedPose
    compare: Comparison
    reach: Solved
    look: Solved
    pull: Pulled
    turn: Pulled | PoseAnswer
    mirror: PoseAnswer
    why: Why
    fitted: Fitted
    pose: Posed
    outside: Outside
    edit: Drawn | State | Refusal | EdgeRefusal
    undo: DrawnStep | Step
    redo: DrawnStep | Step
    family: Families
    refit: Refitted | Refusal
    judge: Judgement | PartJudgement
    save: Saved | Exists | Refusal
    recover: State | Refusal
    send: Received
    load: State | Refusal | Discards
    roles: Roles
    human: State | Refusal | Discards
    export: Export | Refusal
    clips: Clips
    choose: State | Refusal
    keep: State | Refusal
    other: State | Refusal
    kinds: Kinds
    fit: Fitting | Refusal
    progress: Fitting
    stop: Fitting
    download: Download | Refusal
