// What the page asks Python for, and what it is told.
// Written by `python web/protocol.py` from src/synovia/view/protocol: change that, not this.

/** A request about a pose: rotations, at the positions of a frame. */
export interface PoseRequest {
  frame: number;
  rotations: number[];
  /** Of all joints, each as its parent sees it, if not those of the frame. */
  positions?: number[] | null;
}

/** A request for a pose that meets a goal. */
export interface GoalRequest extends PoseRequest {
  /** Where the root is, if not where it is in the frame. */
  root?: number[] | null;
  /** Places of joints that stay. */
  pins?: Record<string, number[]>;
  /** Rotations in the world, of those of them that stay turned as they are. */
  turns?: Record<string, number[]>;
  /** Rotations where the drag began, which is tried before a target is out of reach. */
  start?: number[] | null;
  target: number[];
  /** Whether they are kept. */
  limits: boolean;
  /** The joints that may turn; null for all. */
  joints: string[] | null;
}

/** A request for a pose in which a point of a joint is at the target. */
export interface ReachRequest extends GoalRequest {
  joint: string;
  point: number[];
}

/** A request for a pose in which the last of `joints` looks at the target. */
export interface LookRequest extends GoalRequest {
  axis?: number[];
}

/** By how many degrees the limited joints are outside; negative where they are only unusual. */
export interface Outside {
  outsideDeg: number[];
}

/** A pose that meets a goal, or comes near it. */
export interface Solved extends Outside {
  ms: number;
  met: boolean;
  left: number;
  /** By how much limits of joints would have to give way. */
  blockingDeg: Record<string, number>;
  atLimit: string[];
  rotations: Float32Array;
  root: Float32Array;
}

/** A pose, and how far it is outside. */
export interface PoseAnswer extends Outside {
  rotations: Float32Array;
  positions: Float32Array;
}

/** A request for a pose in which a joint is as it was observed in a frame of a clip. */
export interface ObservedPoseRequest extends PoseRequest {
  joint: string;
  rotation: number[];
  clip: string;
  at: number;
}

/** A pose in which a joint is as it was observed. */
export interface ObservedPose extends PoseAnswer {
  /** The frame of the clip that is shown, if it is one of that. */
  shown: number | null;
  /** Whether all of the body is as it was then, not that joint alone. */
  whole: boolean;
}

/** What was observed that is nearest to a rotation, and how far off that is. */
export interface NearestSample {
  performer: string;
  clip: string;
  frame: number;
  deg: number;
  rotation: number[];
}

/** A request for the reason why a joint of a pose is outside. */
export interface WhyRequest extends PoseRequest {
  joint: string;
}

/** How far a joint is from the nearest legal rotation, and which way. */
export interface Why {
  joint: string;
  outsideDeg: number;
  swingDeg: number;
  twistDeg: number;
  /** What people call the joint, of a rig that is recognised as a human's. */
  name: string | null;
  /** Which way it is beyond, in clinical terms. */
  move: string | null;
  /** The joint that it depends on, if it could be as it is while that one were elsewhere. */
  heldBy: string | null;
  /** The nearest legal rotation, as the one sees it that the limit is measured from. */
  legal: number[];
  /** Where the bone points, in the joint's own frame. */
  bone: number[];
  /** What was observed nearest to it, where the limits kept samples. */
  nearest: NearestSample | null;
}

/** A request about the figure in a pose, which controls give, if these are known. */
export interface FigureRequest extends PoseRequest {
  /** Where the drag began. */
  values: Record<string, number> | null;
  /** Where it was. */
  last?: Record<string, number> | null;
}

/** A request for a pose of the figure in which a point of a joint is at the target. */
export interface PullRequest extends FigureRequest {
  joint: string;
  point: number[];
  target: number[];
  /** The joints that go first. */
  limb: string[];
  /** Whether no others follow. */
  alone: boolean;
  pins?: Record<string, number[]>;
  turns?: Record<string, number[]>;
  /** Whether to try all before the target is called out of reach. */
  thorough: boolean;
}

/** A request for a pose in which a joint has a rotation in the world. */
export interface TurnRequest extends FigureRequest {
  joint: string;
  rotation: number[];
  /** Whether its limit is kept; a figure's controls are then. */
  limits: boolean;
}

/** A pose of the figure that meets a goal, or comes near it. */
export interface Pulled extends PoseAnswer {
  ms: number;
  met: boolean;
  left: number;
  /** Whether the target is farther off than the bones are long. */
  beyond: boolean;
  /** Controls at an end of their range that would have to go on. */
  held: Record<string, number>;
  /** Controls of what is pulled that are at an end of their range. */
  atEnd: Record<string, number>;
  /** All controls, those of the root among them. */
  values: Record<string, number>;
}

/** The controls nearest to a pose, and how far they are off. */
export interface Fitted {
  values: Record<string, number>;
  offDeg: number;
}

/** A request for the pose that values of controls give. */
export interface ControlsRequest {
  values: Record<string, number>;
}

/** A pose of the figure, and what became of its controls. */
export interface Posed extends PoseAnswer {
  clamped: Record<string, number>;
  gaps: Record<string, number>;
}

/** A request about a joint whose limit depends on another, in a pose. */
export interface DependentRequest {
  joint: string;
  pose: PoseRequest;
}

/** A number that the driver changes: the end of a range, or a margin. */
export interface DependentField {
  field: string;
  label: string;
}

/** What a joint depends on, and which numbers it has in each frame of the clip. */
export interface Dependence {
  driver: string;
  fields: DependentField[];
  /** Whether they are the two ends of the hinge's arc, in degrees from its reference. */
  hinge: boolean;
  /** By frame, the number of each field. */
  valuesDeg: Float32Array;
}

/** The numbers of a dependent limit in a pose, in the order of its fields. */
export interface DependentNumbers {
  valuesDeg: number[];
}

/** A request for what is legal for such a joint in a pose. */
export interface HereRequest extends DependentRequest {
  /** Whether a rough picture will do, as while the driver moves. */
  draft: boolean;
}

/** A request for the map of a dependent limit: by the driver's twist in a pose, or null. */
export interface MapRequest {
  joint: string;
  pose: PoseRequest | null;
}

/** The numbers of a dependent limit, all over where the driver's bone may point. */
export interface RangeMap {
  driver: string;
  /** Whether it is another map where the driver is twisted otherwise. */
  twists: boolean;
  /** Of the driver: directions are seen from it. */
  reference: number[];
  /** What points there: a direction in the driver's own frame. */
  axis: number[];
  directions: Float32Array;
  faces: Uint32Array;
  /** Ends of edges, in pairs, where the driver's directions end. */
  rim: Float32Array;
  /** By direction, the number of each field. */
  valuesDeg: Float32Array;
}

/** Set a number where the driver is in a pose; nodes nearer than the radius change with it. */
export interface SetNumberHere {
  edit: "number-here";
  field: string;
  deg: number;
  radiusDeg: number;
  pose: PoseRequest;
}

/** Let the joint be as it is in a pose, while its driver is as it is there. */
export interface AllowHere {
  edit: "allow-here";
  radiusDeg: number;
  pose: PoseRequest;
}

/** Let the limit depend on no other joint any more. */
export interface Detach {
  edit: "detach";
}

/** What every edit is of: a joint, and a stroke, whose edits are undone together. */
export interface Stroke {
  joint: string;
  stroke: string;
}

/** Put a point of a cone into a direction. */
export interface MovePoint {
  edit: "move-point";
  part?: number;
  index: number;
  point: number[];
}

/** Add a point: in a direction, or in the middle of the edge after a point. */
export interface AddPoint {
  edit: "add-point";
  part?: number;
  point?: number[];
  after?: number;
}

/** Delete a point of a cone. */
export interface DeletePoint {
  edit: "delete-point";
  part?: number;
  index: number;
}

/** Put a point of a cone so many places later in the order. */
export interface ReorderPoint {
  edit: "reorder-point";
  part?: number;
  index: number;
  by: number;
}

/** Put the visible point of a cone into a direction. */
export interface MoveVisible {
  edit: "move-visible";
  part?: number;
  point: number[];
}

/** Set the limits of the twist at a point, or at the visible point, which has no index. */
export interface Twist {
  edit: "twist";
  part?: number;
  index: number | null;
  lowDeg: number;
  highDeg: number;
}

/** Smooth a cone, or all of them. */
export interface Smooth {
  edit: "smooth";
  part?: number;
  rounds: number;
}

/** Calm the points of a cone, or of all, as many as there are. */
export interface Relax {
  edit: "relax";
  part?: number;
  rounds: number;
}

/** Leave out points of a cone, or of all, that matter by less than so many degrees. */
export interface Simplify {
  edit: "simplify";
  part?: number;
  toleranceDeg: number;
}

/** Push a distance field out around places, or pull it in. */
export interface Brush {
  edit: "brush";
  draft?: boolean;
  centers: number[][];
  radiusDeg: number;
  amountDeg: number;
}

/** End the drafts of a brush. */
export interface Settle {
  edit: "settle";
}

/** Take a rotation into the limit. */
export interface AddSample {
  edit: "add-sample";
  rotation: number[];
}

/** Set a number of the shape. */
export interface SetNumber {
  edit: "number";
  field: string;
  index: number;
  deg: number;
}

/** Move an end of the range of a hinge, in degrees from the limit's reference. */
export interface SetHingeEnd {
  edit: "hinge";
  side: "low" | "high";
  deg: number;
}

/** Give the joint's partner the limit, mirrored. */
export interface Mirror {
  edit: "mirror";
}

/** Give another joint the limit. */
export interface Copy {
  edit: "copy";
  to: string;
}

/** Draw a new cone around where the bone points at a rotation. */
export interface Draw {
  edit: "draw";
  rotation: number[];
}

/** Remove the limit. */
export interface Remove {
  edit: "remove";
}

/** What can be done to a limit, but for a refit, which is asked for by a name of its own. */
export type Edit =
  | MovePoint
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
  | Detach;

/** An edge of a cone, for which an edit was refused. */
export interface Edge {
  number: number;
  ends: number[][];
}

/** Why something was refused; nothing has changed. */
export interface Reason {
  refused: string;
}

/** The same, and the edge of a cone that is at fault. */
export interface EdgeReason extends Reason {
  edge: Edge;
}

/** An array behind the header of a message. */
export interface ArrayEntry {
  name: string;
  type: "f4" | "u4" | "i2" | "u2" | "u1";
  shape: number[];
}

/** What every message to the page begins with, as JSON, besides what it says. */
export interface Header {
  /** Of the request that it answers, if it does. */
  id: number | null;
  /** In the order in which they follow. */
  arrays: ArrayEntry[];
}

/** There is no answer, for a reason. */
export interface Failure {
  error: string;
}

/** A file with edits that were not saved when the limits were last shown. */
export interface Leftover {
  name: string;
  /** When it was, in seconds since 1970. */
  written: number;
}

/** What all pages show of the limits: which joints have some, what can be undone, the file. */
export interface State {
  limited: number[];
  /** Those of them that are limited together with others: they have no region to draw. */
  grouped: number[];
  /** By joint, the one that its limit is measured from; -1 for none. */
  measuredFrom: number[];
  /** By joint, the one that its limit depends on; -1 for none. */
  drivers: number[];
  undo: string | null;
  redo: string | null;
  /** Where the limits are saved; without it they can only be downloaded. */
  file: string | null;
  unsaved: boolean;
  /** Whether joints are judged as impossible and unusual; else they are outside or not. */
  twoVerdicts: boolean;
  /** Which of the scenes that were shown this is: with another number, there is another clip. */
  scene: number;
  /** Which of the limits that were given or fitted these are edits of, and whose samples. */
  evidence: number;
  leftover: Leftover | null;
}

/** Another page has changed the limits. */
export interface News extends State {
  news: true;
}

/** A request that needs nothing besides its name. */
export type EmptyRequest = Record<string, never>;

/** A request about a joint, by its name. */
export interface JointRequest {
  joint: string;
}

/** A control of a figure. */
export interface Control {
  name: string;
  low: number;
  high: number;
  neutral: number;
  unit: string;
  /** Those that its joint set moves. */
  joints: number[];
}

/** What a figure opens with, where no clip is given. */
export interface Start {
  /** Of its controls; others are neutral. */
  values: Record<string, number>;
  /** The one that is picked. */
  joint: number;
}

/** How the clip stands. */
export interface Orientation {
  up: "y" | "z";
  /** The joint that looks, if one is called so. */
  looker: string | null;
  /** Along which of its axes it looks. */
  lookAxis: string;
}

/** The skeleton, the clip, and which joints have limits. */
export interface Opening extends Orientation, State {
  clip: string;
  names: string[];
  parents: number[];
  endParents: number[];
  /** By joint, its partner on the other side; -1 where there is none. */
  partners: number[];
  /** By joint, what part of a human it belongs to; an empty word for none. */
  groups: string[];
  frames: number;
  frameTime: number;
  /** Whether nobody performed the first frame, as the T-pose before a capture. */
  invented: boolean;
  start: Start | null;
  notes: string[];
  /** The joints whose positions change, in the order of `positions`. */
  moving: number[];
  controls: Control[];
  offsets: Float32Array;
  endOffsets: Float32Array;
  rotations: Float32Array;
  positions: Float32Array;
}

/** How the default human's meshes attach to a skeleton; empty where there is no human. */
export interface BodyShape {
  /** The file `human.glb`: two skinned meshes, `bones` and `skin`, on the human's segments. */
  human: Uint8Array<ArrayBuffer>;
  /** The joint that moves each segment, -1 where there is none. */
  joints: number[];
  /** For each segment, a matrix of three rows and four columns, from the file's coordinates to the frame of its joint. */
  offsets: Float32Array;
  /** Whether the skin is to be shown. */
  skin: boolean;
}

/** How far limited joints are outside, by frame; negative where they are only unusual. */
export interface Check {
  outsideDeg: Float32Array;
}

/** How clamping treats the limit, as `synovia clamp --soften` takes it; null is hard. */
export interface ClampRequest {
  soften: string | null;
}

/** Rotations of the joints that clamping changes, and what it leaves outside at most. */
export interface Clamping {
  changed: number[];
  leftDeg: number;
  clamped: Float32Array;
}

/** A request for the curve of a joint. */
export type CurveRequest = JointRequest & ClampRequest;

/** The distance of a joint to its limit by frame, negative inside, before and after clamping. */
export interface Curve {
  joint: string;
  before: Float32Array;
  after: Float32Array;
}

/** A number of a shape that can be typed. */
export interface ShapeNumber {
  row: string;
  column: string;
  field: string;
  index: number;
  deg: number;
}

/** The points of reach cones, one cone after the other; of other families there are none. */
export interface ConePoints {
  corners: Float32Array;
  cornersTwistDeg: Float32Array;
  cornerCounts: Uint32Array;
  visible: Float32Array;
  visibleTwistDeg: Float32Array;
}

/** The one axis that a joint turns about, and how far, as its parent sees it. */
export interface Hinge {
  axis: number[];
  /** Where the bone points at 0, which is the limit's reference, across the axis. */
  zero: number[];
  lowDeg: number;
  highDeg: number;
}

/** A limit as it is drawn: the directions of the bone, and the boundary among rotations. */
export interface Picture extends ConePoints {
  family: string;
  /** What the family is called. */
  label: string;
  chart: string;
  /** Whether it can be pushed and pulled. */
  sculptable: boolean;
  /** Of all rotations. */
  share: number;
  reference: number[];
  axis: number[];
  numbers: ShapeNumber[];
  /** Of a joint that turns about one axis. */
  hinge: Hinge | null;
  directions: Float32Array;
  faces: Uint32Array;
  rim: Uint32Array;
  twistDeg: Float32Array;
  vectors: Float32Array;
  triangles: Uint32Array;
}

/** A request for what was kept of a joint, but not more rotations than `most`. */
export interface ObservedRequest extends JointRequest {
  most: number;
}

/** Rotations that the limits kept of a joint, or some of them, and where each is from. */
export interface Observed {
  count: number;
  performers: string[];
  /** Of each performer, how many were kept. */
  counts: number[];
  clips: string[];
  /** By rotation, the number of the performer. */
  whose: Uint16Array;
  /** By rotation, the number of the clip. */
  clip: Uint16Array;
  /** By rotation, the frame of that clip. */
  frames: Uint32Array;
  rotations: Float32Array;
}

/** An edit was refused, or the limits cannot be saved. */
export type Refusal = Reason & State;

/** An edit of a cone was refused. */
export type EdgeRefusal = EdgeReason & State;

/** The limit after an edit. */
export type Drawn = Picture & State;

/** A request to undo or redo, and for the picture of the joint that is picked. */
export interface StepRequest {
  joint: string | null;
}

/** What was undone or done again. */
export interface Step extends State {
  what: string;
}

/** The same, and the picked joint's limit after it. */
export type DrawnStep = Step & Drawn;

/** How a limit is made: its family and chart, the margin, and what it is made from. */
export interface Choice {
  family: string;
  chart: string | null;
  marginDeg: number;
  from: string;
}

/** An edit that makes the limit anew. */
export interface Refit extends Choice {
  edit: "refit";
}

/** A family of limits, and what it is called. */
export interface FamilyName {
  name: string;
  label: string;
}

/** The same, and the charts that it works in. */
export interface Family extends FamilyName {
  charts: string[];
  sculptable: boolean;
}

/** What a limit can be made from, and why not, if it cannot. */
export interface Source {
  name: string;
  label: string;
  why: string | null;
}

/** What a conversion gained and lost, as shares of all rotations, and its largest error. */
export interface Cost {
  gained: number;
  lost: number;
  errorDeg: number;
}

/** How the present limit was made, as far as that is known. */
export interface Making {
  choice: Choice;
  known: boolean;
  fitted: boolean;
  remarks: string[];
  cost: Cost | null;
}

/** What a joint's limit can be, and what it is. */
export interface Families extends Making {
  families: Family[];
  sources: Source[];
}

/** The limit made anew. */
export type Refitted = Drawn & Making;

/** A request to judge a choice: as a whole, or by one of its parts. */
export interface JudgeRequest extends Choice {
  joint: string;
  part?: number;
}

/** The share of all rotations that a choice allows, and by what it can be judged. */
export interface Judgement {
  share: number;
  parts: number;
  basis: string;
}

/** The share of a part's frames that is outside the limit of the others. */
export interface PartJudgement {
  outside: number;
}

/** A request to save: beside the file under a name, or to the file itself. */
export interface SaveRequest {
  as: string | null;
  overwrite: boolean;
}

/** The limits are saved, under this name. */
export interface Saved extends State {
  saved: string;
}

/** They are not: a file of this name was there before, or was changed since by others. */
export interface Exists extends State {
  exists: string;
  changed: boolean;
}

/** A request to bring back edits of last time, or to remove them. */
export interface RecoverRequest {
  restore: boolean;
}

/** A piece of a file, whose bytes follow: the word that the page has for it, name and size. */
export interface SendRequest {
  upload: string;
  name: string;
  size: number;
}

/** How many bytes of a file have come. */
export interface Received {
  received: number;
}

/** A request to show a file that was sent: a clip, or limits. */
export interface LoadRequest {
  upload: string;
  /** Whether edits that are not saved may go. */
  discard: boolean;
}

/** Nothing was done: edits that are not saved would be gone. */
export interface Discards extends State {
  discards: boolean;
}

/** A request for the roles of joints, some of which are mapped by hand. */
export interface RolesRequest {
  roles: Record<string, string>;
}

/** The roles of a human's bones, which joints seem to have them, and why it is no human yet. */
export interface Roles {
  roles: string[];
  found: Record<string, string>;
  /** Whether that is known without a map. */
  recognised: boolean;
  why: string | null;
}

/** A request for limits of a human, with roles of joints that are mapped by hand. */
export interface HumanRequest {
  source: string;
  roles: Record<string, string>;
  discard: boolean;
}

/** A request for a file to take home. */
export interface ExportRequest {
  what: "clip" | "clamped" | "pose" | "violations" | "page";
  /** Of clips and poses, where it is not the usual one. */
  suffix?: ".glb";
  soften?: string | null;
  frame?: number;
  rotations?: number[];
  positions?: number[];
}

/** A file to take home, and its name. */
export interface Export {
  name: string;
  content: Uint8Array<ArrayBuffer>;
}

/** A clip of a folder, and how far it is outside, as far as that is known. */
export interface ClipRow {
  number: number;
  name: string;
  performer: string;
  worstDeg: number | null;
  /** Of its frames. */
  share: number | null;
  error: string | null;
}

/** A request for the clips to choose between, and a pattern that tells who performs. */
export interface ClipsRequest {
  performers?: string | null;
}

/** The clips to choose between, the worst first, and whether some are still being checked. */
export interface Clips {
  clips: ClipRow[];
  checking: boolean;
  /** Why the pattern does not tell who performs. */
  why: string | null;
}

/** A request to show a clip of the folder. */
export interface ChooseRequest {
  number: number;
}

/** A request about a file that was sent, by the page's word for it. */
export interface FileRequest {
  upload: string;
}

/** A request to compare a joint's limit with another, by its name; null for none. */
export interface CompareRequest extends JointRequest {
  to: string | null;
  /** In which drivers are as they are, where one of the limits depends on another joint. */
  pose: PoseRequest | null;
}

/** What a limit can be compared with, and why not, if it cannot. */
export interface Other {
  name: string;
  label: string;
  why: string | null;
}

/** What two limits that depend on the same joint gain and lose, as pairs with that joint. */
export interface PairShares {
  /** The share of all pairs of rotations that only the present limits allow; 0 if thin. */
  gained: number;
  /** The share of all pairs of rotations that only the other limits allow; 0 if thin. */
  lost: number;
  /** Of the pairs that the present limits allow, the share that the others do not. */
  added: number;
  /** Of the pairs that the other limits allow, the share that the present ones do not. */
  removed: number;
}

/** Two limits on one sphere, as the reference of the present one sees it. */
export interface Comparison {
  others: Other[];
  to: string | null;
  /** The share of all rotations that only the present limit allows. */
  gained: number;
  /** The share of all rotations that only the other limit allows. */
  lost: number;
  /** The joints that the limits depend on: both are compared as these are in the pose. */
  drivers: string[];
  /** Where both depend on the same joint. */
  pairs: PairShares | null;
  directions: Float32Array;
  faces: Uint32Array;
  /** By direction, the share, of 255, of the twists that only the present limit allows. */
  gainedTwists: Uint8Array<ArrayBuffer>;
  lostTwists: Uint8Array<ArrayBuffer>;
  /** Ends of edges, in pairs, where the directions of the other limit end. */
  rim: Float32Array;
}

/** The families that limits can be fitted in. */
export interface Kinds {
  families: FamilyName[];
}

/** A request to fit limits from clips, by their numbers; -1 is the one that is shown. */
export interface FitRequest {
  clips: number[];
  family: string;
  marginDeg: number | null;
  rejectPercent: number | null;
  performers: string | null;
}

/** How far a fit has come, if one was begun. */
export interface Fitting {
  /** Which fit it is; 0 for none. */
  number: number;
  running: boolean;
  /** What is done now, or what became of it. */
  stage: string;
  done: number;
  total: number;
  failed: boolean;
  /** What the fit warned of. */
  remarks: string[];
}

/** The limits as a file, and its name. */
export interface Download extends State {
  name: string;
  text: string;
}

/** What the page may ask for, by name. */
export interface Requests {
  open: EmptyRequest;
  body: EmptyRequest;
  check: EmptyRequest;
  clamp: ClampRequest;
  curve: CurveRequest;
  region: JointRequest;
  dependence: JointRequest;
  ends: DependentRequest;
  here: HereRequest;
  map: MapRequest;
  observed: ObservedRequest;
  recall: ObservedPoseRequest;
  compare: CompareRequest;
  reach: ReachRequest;
  look: LookRequest;
  pull: PullRequest;
  turn: TurnRequest;
  mirror: PoseRequest;
  why: WhyRequest;
  fitted: PoseRequest;
  pose: ControlsRequest;
  outside: PoseRequest;
  edit: Edit & Stroke;
  undo: StepRequest;
  redo: StepRequest;
  family: JointRequest;
  refit: Refit & Stroke;
  judge: JudgeRequest;
  save: SaveRequest;
  recover: RecoverRequest;
  send: SendRequest;
  load: LoadRequest;
  roles: RolesRequest;
  human: HumanRequest;
  export: ExportRequest;
  clips: ClipsRequest;
  choose: ChooseRequest;
  keep: FileRequest;
  other: FileRequest;
  kinds: EmptyRequest;
  fit: FitRequest;
  progress: EmptyRequest;
  stop: EmptyRequest;
  download: EmptyRequest;
}

/** What it is answered, by the same names, where there is no failure. */
export interface Answers {
  open: Opening;
  body: BodyShape;
  check: Check;
  clamp: Clamping;
  curve: Curve;
  region: Picture;
  dependence: Dependence;
  ends: DependentNumbers;
  here: Picture;
  map: RangeMap;
  observed: Observed;
  recall: ObservedPose;
  compare: Comparison;
  reach: Solved;
  look: Solved;
  pull: Pulled;
  turn: Pulled | PoseAnswer;
  mirror: PoseAnswer;
  why: Why;
  fitted: Fitted;
  pose: Posed;
  outside: Outside;
  edit: Drawn | State | Refusal | EdgeRefusal;
  undo: DrawnStep | Step;
  redo: DrawnStep | Step;
  family: Families;
  refit: Refitted | Refusal;
  judge: Judgement | PartJudgement;
  save: Saved | Exists | Refusal;
  recover: State | Refusal;
  send: Received;
  load: State | Refusal | Discards;
  roles: Roles;
  human: State | Refusal | Discards;
  export: Export | Refusal;
  clips: Clips;
  choose: State | Refusal;
  keep: State | Refusal;
  other: State | Refusal;
  kinds: Kinds;
  fit: Fitting | Refusal;
  progress: Fitting;
  stop: Fitting;
  download: Download | Refusal;
}
