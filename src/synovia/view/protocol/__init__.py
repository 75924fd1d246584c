"""Messages of the page: its requests, and the answers to them.

`web/protocol.py` derives the page's TypeScript types from the files of this folder when the page is
built. Requests are dataclasses, which `synovia.schema` decodes. Answers are typed dictionaries,
which are only written: their arrays follow the JSON, as `messages` says, floats with 32 bits,
unsigned integers, and short integers if the type says so.
Angles are in degrees if names say so, rotations are quaternions, w first.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from ...arrays import Bytes, Floats, Halves, Ints
from ..messages import Differences as SmoothFloats
from ..messages import Differences as SmoothInts
from .poses import (
    AngleCurves,
    Dependence,
    DependentNumbers,
    Fitted,
    HingeAngle,
    JointAngles,
    ObservedPose,
    Outside,
    PoseAnswer,
    Posed,
    Pulled,
    RangeMap,
    Ranges,
    Repaired,
    Solved,
    Why,
)
from .requests import (
    AngleRequest,
    AnglesRequest,
    Choice,
    ChooseRequest,
    ClampRequest,
    ClipsRequest,
    CompareRequest,
    ControlsRequest,
    CurveRequest,
    CurvesRequest,
    DependentRequest,
    EditRequest,
    EmptyRequest,
    ExportRequest,
    FileRequest,
    FitRequest,
    HereRequest,
    HumanRequest,
    JointRequest,
    JudgeRequest,
    LoadRequest,
    LookRequest,
    MapRequest,
    ObservedPoseRequest,
    ObservedRequest,
    PoseRequest,
    PullRequest,
    ReachRequest,
    RecoverRequest,
    RefitRequest,
    RegionRequest,
    RepairRequest,
    RolesRequest,
    SaveRequest,
    SendRequest,
    StepRequest,
    TurnRequest,
    WhyRequest,
)


class ArrayEntry(TypedDict):
    """An array behind the header of a message."""

    name: str
    type: Literal["f4", "u4", "i2", "u2", "u1", "d2", "d4"]
    shape: list[int]
    step: NotRequired[float]
    """Of differences: what their sums are multiplied by; 0 if they are bits of numbers."""
    whole: NotRequired[bool]
    """True if the sums are integers."""


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
    grouped: list[int]
    """Those of them that are limited together with others: they have no region to draw."""
    measuredFrom: list[int]
    """By joint, the one that its limit is measured from; -1 for none."""
    drivers: list[int]
    """By joint, the one that its limit depends on; -1 for none."""
    undo: str | None
    redo: str | None
    file: str | None
    """Where the limits are saved; without it they can only be downloaded."""
    unsaved: bool
    twoVerdicts: bool
    """Whether joints are judged as impossible and unusual; else they are outside or not."""
    scene: int
    """Which of the scenes that were shown this is: with another number, there is another clip."""
    evidence: int
    """Which of the limits that were given or fitted these are edits of, and whose samples."""
    leftover: Leftover | None


class News(State):
    """Another page has changed the limits."""

    news: Literal[True]


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
    commonNames: list[str]
    """By joint, its common name, such as "left knee"; an empty word for none."""
    frames: int
    frameTime: float
    invented: bool
    """Whether nobody performed the first frame, as the T-pose before a capture."""
    start: Start | None
    notes: list[str]
    moving: list[int]
    """The joints whose positions change, in the order of `positions`."""
    controls: list[Control]
    suffixes: list[str]
    """Ends of the names of files that can be opened."""
    offsets: Floats
    endOffsets: Floats
    rotations: SmoothFloats
    positions: SmoothFloats


class BodyShape(TypedDict):
    """The default human's meshes, and how they attach to a skeleton; empty without a human.

    Each mesh has vertices, triangles, and the four segments that move each vertex, with weights.
    """

    bonesVertices: SmoothFloats
    bonesTriangles: SmoothInts
    bonesSegments: SmoothInts
    bonesWeights: SmoothInts
    """In 255ths."""
    skinVertices: SmoothFloats
    skinTriangles: SmoothInts
    skinSegments: SmoothInts
    skinWeights: SmoothInts
    joints: list[int]
    """The joint that moves each segment, -1 where there is none."""
    offsets: Floats
    """For each segment, a matrix of three rows and four columns, from the meshes' coordinates to
    the frame of its joint."""
    skin: bool
    """Whether the skin is to be shown."""


class OwnMesh(TypedDict):
    """The glTF file that a clip was read from; empty if it has no meshes of its own."""

    content: Bytes
    nodes: list[int]
    """The node of each joint, by its index in the file."""


class Check(TypedDict):
    """How far limited joints are outside, by frame; negative where they are only unusual."""

    outsideDeg: Floats


class Clamping(TypedDict):
    """Rotations of the joints that clamping changes, and what it leaves outside at most."""

    changed: list[int]
    leftDeg: float
    clamped: Floats


class Curve(TypedDict):
    """How far a joint is outside by frame, in degrees, before and after clamping."""

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
    clinical: HingeAngle | None
    """How these angles are clinical ones, if they are."""


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
    directions: SmoothFloats
    faces: SmoothInts
    rim: Ints
    twistDeg: SmoothFloats
    vectors: SmoothFloats
    triangles: SmoothInts


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


class Step(State):
    """What was undone or done again."""

    what: str


class DrawnStep(Step, Drawn):
    """The same, and the picked joint's limit after it."""


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


class Judgement(TypedDict):
    """The share of all rotations that a choice allows, and by what it can be judged."""

    share: float
    parts: int
    basis: str


class PartJudgement(TypedDict):
    """The share of a part's frames that is outside the limit of the others."""

    outside: float


class Saved(State):
    """The limits are saved, under this name."""

    saved: str


class Exists(State):
    """They are not: a file of this name was there before, or was changed since by others."""

    exists: str
    changed: bool


class Received(TypedDict):
    """How many bytes of a file have come."""

    received: int


class Discards(State):
    """Nothing was done: edits that are not saved would be gone."""

    discards: bool


class Roles(TypedDict):
    """The roles of a human's bones, which joints seem to have them, and why it is no human yet."""

    roles: list[str]
    found: dict[str, str]
    recognised: bool
    """Whether that is known without a map."""
    why: str | None


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
    """The largest angle outside; negative if joints are only unusual."""
    joint: str
    """The joint of that angle."""
    share: float | None
    """The share of frames in which a joint is outside."""
    strip: list[int]
    """The worst angle of each part of the clip, likewise; empty if all are 0."""
    error: str | None


class Clips(TypedDict):
    """The clips to choose between, the worst first, and whether some are still being checked."""

    clips: list[ClipRow]
    checking: bool
    shown: int | None
    """The number of the clip on the page."""
    why: str | None
    """Why the pattern does not tell who performs."""


class Other(TypedDict):
    """What a limit can be compared with, and why not, if it cannot."""

    name: str
    label: str
    why: str | None


class PairShares(TypedDict):
    """What two limits that depend on the same joint gain and lose, as pairs with that joint."""

    gained: float
    """The share of all pairs of rotations that only the present limits allow; 0 if thin."""
    lost: float
    """The share of all pairs of rotations that only the other limits allow; 0 if thin."""
    added: float
    """Of the pairs that the present limits allow, the share that the others do not."""
    removed: float
    """Of the pairs that the other limits allow, the share that the present ones do not."""


class Comparison(TypedDict):
    """Two limits on one sphere, as the reference of the present one sees it."""

    others: list[Other]
    to: str | None
    gained: float
    """The share of all rotations that only the present limit allows."""
    lost: float
    """The share of all rotations that only the other limit allows."""
    drivers: list[str]
    """The joints that the limits depend on: both are compared as these are in the pose."""
    pairs: PairShares | None
    """Where both depend on the same joint."""
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


class Requests(TypedDict):
    """The request of each name."""

    open: EmptyRequest
    body: EmptyRequest
    mesh: EmptyRequest
    check: EmptyRequest
    clamp: ClampRequest
    curve: CurveRequest
    angles: AnglesRequest
    angle: AngleRequest
    curves: CurvesRequest
    ranges: EmptyRequest
    repair: RepairRequest
    region: RegionRequest
    dependence: JointRequest
    ends: DependentRequest
    here: HereRequest
    map: MapRequest
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
    edit: EditRequest
    undo: StepRequest
    redo: StepRequest
    family: JointRequest
    refit: RefitRequest
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
    """The answers to them, except `Failure`."""

    open: Opening
    body: BodyShape
    mesh: OwnMesh
    check: Check
    clamp: Clamping
    curve: Curve
    angles: JointAngles
    angle: Pulled | PoseAnswer
    curves: AngleCurves
    ranges: Ranges | Refusal
    repair: Repaired | Refusal
    region: Picture
    dependence: Dependence
    ends: DependentNumbers
    here: Picture
    map: RangeMap
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
