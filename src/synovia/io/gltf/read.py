"""Reading clips: an animation's keys, at frames that are evenly spaced."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...arrays import Floats, Ints, Scalars
from ...quat import IDENTITY, angle_between, normalize, slerp
from ...skeleton import Clip, Pose, list_names
from ...skeleton.skeleton import MAX_FRAMES
from ..format import ReadOptions
from .document import Document, Sampler, fail
from .rig import GltfRig, read_rig, refuse_uneven, unique_names

FRAME_TIME = "frameTime"  # key of seconds between frames in our files: times of keys are float32
STILL_FRAME_TIME = 1.0 / 30.0  # seconds: frame time of a clip with one frame
MAX_SPLINE_STEP = 1.0 / 24.0  # seconds between frames of splines
MIN_UNEVEN_STEP = 1.0 / 120.0  # seconds between frames of unevenly spaced keys
MIN_STEP, MAX_STEP, MAX_TIME = 1e-6, 1e4, 1e6  # seconds
RATES = (24, 25, 30, 48, 50, 60, 90, 100, 120, 240)  # common frames per second
MAX_DIVISOR = 32  # parts of the shortest gap between keys that are tried as a spacing
GRID_SLACK = 0.02  # frames from a key to its frame: some exporters round times
FINE_SLACK = 1e-3  # the same for spacings that are parts of the shortest gap
MAX_POSES = 4 * 10**6  # frames × joints, or keys, beyond one per byte of the file
SCALE_SLACK = 1e-3  # relative change of a scale that counts as none
MAX_NAMED = 40  # clips in an error message
STILL = 1e-6  # radians: largest rotation of a joint that must be still


@dataclass(frozen=True)
class Grid:
    """Frames evenly spaced in time, in seconds."""

    start: float
    step: float
    count: int

    def times(self) -> Scalars:
        """Return the time of each frame."""
        return self.start + self.step * np.arange(self.count)

    def coordinates(self, times: Scalars) -> Scalars:
        """Return `times` in frames, rounded if they are near a frame."""
        frames = (times - self.start) / self.step
        nearest = np.rint(frames)
        slack = GRID_SLACK + 8.0 * _rounding(times) / self.step
        return np.where(np.abs(frames - nearest) <= slack, nearest, frames)


@dataclass(frozen=True, eq=False)
class Track:
    """The keys of one property of a joint: times in seconds, and values a row each.

    `channel` is the number of its channel in the animation, `input` of the accessor of its times.
    """

    joint: int
    channel: int
    path: str
    mode: str
    input: int
    times: Scalars
    values: Floats


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a clip comes from: file, rig, index of the animation, frames and motion."""

    document: Document
    rig: GltfRig
    animation: int | None
    grid: Grid
    pose: Pose


def read_gltf(path: Path, options: ReadOptions) -> Clip:
    """Return a clip of a glTF, GLB, VRM or VRMA file: metres, y up.

    Without an animation it is one frame at rest. Raises ValueError where there are several
    animations and `options.clip` names none.
    """
    document = Document.open(path)
    rig = read_rig(document)
    animation, name = _choose(document, options.clip)
    tracks = [] if animation is None else read_tracks(document, rig, animation)
    hint = 0.0 if animation is None else _frame_time_hint(document, animation)
    moving = [track for track in tracks if track.path != "scale"]
    grid = frame_grid(moving, hint)
    most = MAX_POSES + document.size
    if grid.count * len(rig.nodes) > most:
        raise ValueError(
            f"animations[{animation}]: expected at most {most} poses of joints, "
            f"got {grid.count} frames of {len(rig.nodes)} joints"
        )
    pose = _pose(rig, moving, grid)
    scaled = [rig.skeleton.names[track.joint] for track in tracks if _is_scaled(track, rig)]
    if scaled:
        warnings.warn(
            f"{path}: scale that changes is not read, at {', '.join(scaled[:12])}", stacklevel=3
        )
    origin = Origin(document, rig, animation, grid, pose)
    return Clip(rig.skeleton, pose, grid.step, name or path.stem, origin)


def clip_names(path: Path) -> list[str]:
    """Return the names of the animations in a file; [""] where there is at most one."""
    names = _animation_names(Document.open(path))
    return names if len(names) > 1 else [""]


def humanoid(clip: Clip) -> dict[str, str]:
    """Return the joints that the VRM or VRMA file of `clip` names, by bone; else none.

    Bones are called as in VRM: hips, spine, leftUpperArm. VRM 0.x differs from 1.0 at the thumbs.
    """
    return dict(clip.origin.rig.humanoid) if isinstance(clip.origin, Origin) else {}


def mesh_of(clip: Clip) -> tuple[bytes, tuple[int, ...]] | None:
    """Return the glTF file of a clip and the node of each joint, if it draws meshes by itself.

    None for clips of other formats, and for files that need other files beside them.
    """
    if not isinstance(clip.origin, Origin):
        return None
    document, rig = clip.origin.document, clip.origin.rig
    uris = [buffer.uri for buffer in document.gltf.buffers]
    uris += [image.uri for image in document.gltf.images]
    is_whole = all(uri is None or uri.startswith("data:") for uri in uris)
    if not is_whole or not document.gltf.meshes or len(rig.nodes) != len(clip.skeleton):
        return None
    return document.content, rig.nodes


def _animation_names(document: Document) -> list[str]:
    names = [animation.name for animation in document.gltf.animations]
    return unique_names(enumerate(names), "animation")


def _choose(document: Document, wanted: str) -> tuple[int | None, str]:
    """Return the index and the name of the wanted animation; None for the rest pose."""
    names = _animation_names(document)
    known = list_names((name[:60] for name in names), MAX_NAMED)
    if wanted and wanted not in names:
        raise ValueError(f"no clip {wanted!r:.60}; this file has {known or 'none'}")
    if len(names) > 1 and not wanted:
        raise ValueError(
            f"expected one of its clips, as in {document.path.name}#{names[0]:.60}; it has {known}"
        )
    if not names:
        return None, ""
    number = names.index(wanted) if wanted else 0
    is_named = bool(document.gltf.animations[number].name)
    return number, names[number] if is_named or len(names) > 1 else ""


def _frame_time_hint(document: Document, animation: int) -> float:
    """Return the seconds between frames that our writer leaves, since key times are float32."""
    extras = document.gltf.animations[animation].extras
    hint = extras.get(FRAME_TIME) if isinstance(extras, dict) else None
    return float(hint) if isinstance(hint, float) and MIN_STEP <= hint <= MAX_STEP else 0.0


def read_tracks(document: Document, rig: GltfRig, number: int) -> list[Track]:
    """Return the keys of all joints in an animation, by its number."""
    animation, location = document.gltf.animations[number], f"animations[{number}]"
    joint_of = {node: joint for joint, node in enumerate(rig.nodes)}
    arrays: dict[int, Floats] = {}
    count, most = 0, MAX_POSES + document.size
    tracks: dict[tuple[int, str], Track] = {}
    for channel_number, channel in enumerate(animation.channels):
        node, path = channel.target.node, channel.target.path
        if node not in joint_of or path not in ("rotation", "translation", "scale"):
            continue
        if (node, path) in tracks:
            rule = "one channel for each property of a node"
            fail(f"{location}.channels[{channel_number}]", rule, f"{path} of {node} again")
        sampler = animation.samplers[channel.sampler]
        for accessor in (sampler.input, sampler.output):
            if accessor not in arrays:
                arrays[accessor] = document.floats(accessor)
            count += len(arrays[accessor])
            if count > most:
                fail(location, f"at most {most} keys", "more")
        times, values = arrays[sampler.input], arrays[sampler.output]
        _check_keys(document, sampler, times, path)
        times, joint, mode = times[:, 0], joint_of[node], sampler.interpolation
        if path == "rotation":
            values = _quaternions(sampler, values)
        tracks[node, path] = Track(joint, channel_number, path, mode, sampler.input, times, values)
    return list(tracks.values())


def _check_keys(document: Document, sampler: Sampler, times: Floats, path: str) -> None:
    """Raise ValueError unless a sampler has times, and a value of the right kind for each."""
    inputs, outputs = (document.gltf.accessors[n] for n in (sampler.input, sampler.output))
    input_location, output_location = f"accessors[{sampler.input}]", f"accessors[{sampler.output}]"
    if inputs.type != "SCALAR":
        fail(f"{input_location}.type", "SCALAR for times", repr(inputs.type))
    if outputs.type != ("VEC4" if path == "rotation" else "VEC3"):
        rule = "VEC4 for rotations, VEC3 for others"
        fail(f"{output_location}.type", rule, repr(outputs.type))
    if (np.diff(times[:, 0]) < 0.0).any() or np.abs(times).max() > MAX_TIME:
        rule = f"times that increase, up to {MAX_TIME:g} seconds"
        fail(input_location, rule, "others")
    mode = sampler.interpolation
    if outputs.count != len(times) * (3 if mode == "CUBICSPLINE" else 1):
        rule = f"as many as there are times, {len(times)} ({mode})"
        fail(f"{output_location}.count", rule, outputs.count)


def _quaternions(sampler: Sampler, values: Floats) -> Floats:
    """Return rotations (n, 4) w first, those of keys unit; splines have tangents between them."""
    wxyz, is_spline = values[:, [3, 0, 1, 2]], sampler.interpolation == "CUBICSPLINE"
    keys = wxyz[1::3] if is_spline else wxyz
    length = np.linalg.norm(keys, axis=-1)
    if not ((length > 0.5) & (length < 2.0)).all():
        worst = length[np.abs(length - 1.0).argmax()]
        fail(f"accessors[{sampler.output}]", "unit quaternions", f"one of length {worst:g}")
    return wxyz if is_spline else wxyz / length[:, None]


def frame_grid(tracks: list[Track], hint: float = 0.0) -> Grid:
    """Return evenly spaced frames for the keys of all tracks, from the first key to the last.

    The widest spacing at which every key falls on a frame: `hint`, the shortest gap between keys
    or up to a 32nd part of it, or a common rate. Where there is none, the shortest gap, but at most
    120 frames a second. Splines get at least 24 frames a second.
    """
    distinct = {track.input: track.times for track in tracks}
    times = np.unique(np.concatenate([*distinct.values(), np.zeros(0)]))
    if not len(times) or times[-1] - times[0] < MIN_STEP:
        return Grid(float(times[0]) if len(times) else 0.0, hint or STILL_FRAME_TIME, 1)
    grid = _regular_grid(times, hint) or _uneven_grid(times)
    if any(track.mode == "CUBICSPLINE" for track in tracks) and grid.step > MAX_SPLINE_STEP:
        parts = math.ceil(grid.step / MAX_SPLINE_STEP * (1.0 - 1e-6))
        grid = Grid(grid.start, grid.step / parts, (grid.count - 1) * parts + 1)
    if not MIN_STEP <= grid.step <= MAX_STEP:
        raise ValueError(
            f"expected keys {MIN_STEP:g} to {MAX_STEP:g} seconds apart, got {grid.step:g}"
        )
    return grid


def _shortest_gap(times: Scalars) -> float:
    """Return the shortest gap between times, in seconds, that is not a rounding error."""
    gaps = np.diff(times)
    some = gaps[gaps > max(MIN_STEP, 4.0 * _rounding(times))]
    return float(some.min(initial=times[-1] - times[0]))


def _uneven_grid(times: Scalars) -> Grid:
    """Return frames about as dense as `times`."""
    span = float(times[-1] - times[0])
    step = max(_shortest_gap(times), MIN_UNEVEN_STEP)
    count = math.ceil(span / step * (1.0 - 1e-9)) + 1
    return Grid(float(times[0]), span / (count - 1), count)


def _regular_grid(times: Scalars, hint: float) -> Grid | None:
    """Return the coarsest grid that has all of `times` on frames; None if there is none."""
    shortest = _shortest_gap(times)
    steps = [(step, GRID_SLACK) for step in (hint, shortest)]
    steps += [(shortest / parts, FINE_SLACK) for parts in range(2, MAX_DIVISOR + 1)]
    steps += [(1.0 / rate, GRID_SLACK) for rate in RATES]
    grids = (_fitted_grid(times, step, slack, hint) for step, slack in steps if step >= MIN_STEP)
    return next(filter(None, grids), None)


def _fitted_grid(times: Scalars, step: float, slack: float, hint: float) -> Grid | None:
    """Return a grid with about `step` between frames that has all of `times` on frames, or None."""
    # Gap by gap, so that an error of the step does not add up over a long clip.
    frames = np.concatenate([[0.0], np.cumsum(np.rint(np.diff(times) / step))])
    if not 1 <= frames[-1] <= MAX_FRAMES:
        return None
    mean = float(times[-1] - times[0]) / float(frames[-1])
    whole_rate = 1.0 / max(round(1.0 / mean), 1)
    # Rates are whole numbers, unless times say precisely that they are not.
    precise = [(spacing, 0.0) for spacing in (hint, whole_rate, mean)]
    for spacing, share in [*precise, (whole_rate, slack), (mean, slack)]:
        error = np.abs(times - times[0] - spacing * frames).max()
        if error <= 8.0 * _rounding(times) + share * spacing:
            return Grid(float(times[0]), spacing, int(frames[-1]) + 1)
    return None


def _rounding(times: Scalars) -> float:
    """Return the rounding error of times, in seconds, as float32."""
    return float(np.finfo(np.float32).eps * np.abs(times).max())


def _pose(rig: GltfRig, tracks: list[Track], grid: Grid) -> Pose:
    """Return the pose of each frame; joints without keys stay at rest."""
    rotations = np.tile(IDENTITY, (grid.count, len(rig.nodes), 1))
    positions = np.tile(rig.skeleton.offsets, (grid.count, 1, 1))
    coordinates = {track.input: grid.coordinates(track.times) for track in tracks}
    for track in tracks:
        joint, values = track.joint, sample(track, coordinates[track.input], grid)
        if track.path == "translation":
            positions[:, joint] = rig.positions(joint, values)
            continue
        if rig.uneven[joint] and angle_between(rig.rests[joint], values).max() > STILL:
            refuse_uneven(rig.nodes[joint])
        rotations[:, joint] = rig.aligned(joint, values)
    return Pose(rotations, positions)


def sample(track: Track, at: Scalars, grid: Grid) -> Floats:
    """Return the values of a track at all frames; `at` are the frames of its keys."""
    count = grid.count
    keys = track.values[1::3] if track.mode == "CUBICSPLINE" else track.values
    if len(at) == count and (at == np.arange(count)).all():
        return _unit(track, keys)
    if len(at) == 1:
        return np.repeat(_unit(track, keys), count, axis=0)
    frames = np.arange(count)
    before = np.clip(np.searchsorted(at, frames, "right") - 1, 0, len(at) - 2)
    gap = at[before + 1] - at[before]
    share = np.clip((frames - at[before]) / np.where(gap > 0.0, gap, 1.0), 0.0, 1.0)
    if track.mode == "STEP":
        steps: Floats = keys[before + (share == 1.0)]
        return steps
    if track.mode == "CUBICSPLINE":
        seconds = (grid.step * gap)[:, None]
        return _unit(track, _hermite(track.values, before, share[:, None], seconds))
    if track.path == "rotation":
        return slerp(keys[before], keys[before + 1], share)
    return (1.0 - share[:, None]) * keys[before] + share[:, None] * keys[before + 1]


def _unit(track: Track, values: Floats) -> Floats:
    if track.mode != "CUBICSPLINE" or track.path != "rotation":
        return values
    if not np.linalg.norm(values, axis=-1).min() > 1e-6:
        raise ValueError(
            f"channel {track.channel}: expected a spline of rotations that stays away from zero, "
            "got one that does not"
        )
    return normalize(values)


def _hermite(values: Floats, before: Ints, s: Floats, seconds: Floats) -> Floats:
    """Return the cubic spline: rows of in-tangent, value, out-tangent for each key."""
    value, leave = values[3 * before + 1], values[3 * before + 2]
    arrive, following = values[3 * before + 3], values[3 * before + 4]
    return (
        (2 * s**3 - 3 * s**2 + 1) * value
        + seconds * (s**3 - 2 * s**2 + s) * leave
        + (3 * s**2 - 2 * s**3) * following
        + seconds * (s**3 - s**2) * arrive
    )


def _is_scaled(track: Track, rig: GltfRig) -> bool:
    """Return whether a track changes the scale of a joint from its scale at rest."""
    if track.path != "scale":
        return False
    keys = track.values[1::3] if track.mode == "CUBICSPLINE" else track.values
    rest = rig.scales[track.joint]
    return bool((np.abs(keys - rest) > SCALE_SLACK * np.abs(rest)).any())
