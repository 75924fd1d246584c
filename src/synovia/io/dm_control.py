"""Trajectories of dm_control (HDF5): read if h5py is there; the skeleton is an MJCF file.

A file holds, for each walker, the root in the world and the angles of its hinges in the order of
the MJCF file. It also holds the rotations of all bodies, by which we know the right skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import UNIT_SLACK, Floats
from ..quat import IDENTITY, angle_between, exp, inverse, mul, normalize, rotate, to_matrix
from ..skeleton import Clip, Pose, forward
from .files import check_regular
from .format import ClipFormat, ReadOptions
from .mjcf import HingeSkeleton, read_mjcf

MAX_NUMBER = 1e6
"""Positions and angles above this are a mistake, not a motion."""
MAX_RATIO = 100
"""How many times larger than the file its numbers may be: more is a bomb."""
SLACK = 1e-4
"""Radians by which rotations of bodies in the file may differ from those of its hinges."""
_COMPLAINTS = (OSError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError)
_MAGIC = b"\x89HDF\r\n\x1a\n"


def read_trajectory(path: Path, options: ReadOptions) -> Clip:
    """Return one walker's motion; the skeleton is the MJCF file of the options, or beside."""
    model = read_mjcf(options.skeleton or _find_mjcf(path))
    with _open(path) as file:
        walkers = _walkers(file, path)
        if options.clip not in walkers and (options.clip or len(walkers) != 1):
            names = ", ".join(list(walkers)[:12])
            raise ValueError(
                f"{path}: name one of its clips after #: {names}; got {options.clip!r:.60}"
            )
        name = options.clip or next(iter(walkers))
        group, walker = walkers[name]
        frame_time = float(np.asarray(group.attrs.get("dt", np.nan)).reshape(-1)[0])
        if not 1e-6 <= frame_time <= 1e4:
            raise ValueError(f"{path}: {name}: expected dt from 1e-6 to 1e4 s, got {frame_time}")
        angles = _rows(walker, "joints", sum(map(len, model.hinges)), path)
        positions = _rows(walker, "position", 3, path)
        rotations = _rows(walker, "quaternion", 4, path)
        bodies = None
        if "body_quaternions" in walker:
            bodies = _rows(walker, "body_quaternions", 4 * (len(model.skeleton) - 1), path)
    if not len(angles) == len(positions) == len(rotations):
        counts = f"{len(angles)}, {len(positions)} and {len(rotations)}"
        raise ValueError(f"{path}: {name}: expected as many frames of all, got {counts}")
    if np.abs(np.linalg.norm(rotations, axis=-1) - 1.0).max(initial=0.0) > UNIT_SLACK:
        raise ValueError(f"{path}: {name}: expected unit quaternions of the root, got others")
    clip = Clip(model.skeleton, _pose(model, angles, positions, rotations), frame_time, name)
    if bodies is not None:
        _check_bodies(clip, bodies.reshape(len(bodies), -1, 4), path)
    return clip


def list_trajectories(path: Path) -> list[str]:
    """Return the names of the clips in a file: of its trajectories, or of several walkers each."""
    with _open(path) as file:
        return list(_walkers(file, path))


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open an HDF5 file; what its library complains about becomes ValueError."""
    try:
        import h5py
    except ImportError:
        raise ValueError(f"{path}: reading HDF5 needs h5py: pip install 'synovia[hdf5]'") from None
    check_regular(path)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (ValueError, *_COMPLAINTS) as error:
        if str(error).startswith(f"{path}: "):
            raise
        raise ValueError(f"{path}: expected trajectories in HDF5, got an error: {error}") from error


def _walkers(file: Any, path: Path) -> dict[str, tuple[Any, Any]]:
    """Return the group of the trajectory and that of the walker, by the name of the clip."""
    found = {}
    for name in file:
        group = _member(file, name, path)
        walkers = _member(group, "walkers", path) if "walkers" in group else {}
        for walker in walkers:
            label = name if len(walkers) == 1 else f"{name}/{walker}"
            found[label] = (group, _member(walkers, walker, path))
    if not found:
        raise ValueError(f"{path}: expected trajectories with walkers, got {list(file)!r:.60}")
    return found


def _member(group: Any, name: str, path: Path) -> Any:
    """Return what a group has under a name; links to other places are refused."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{path}: {group.name}: expected {name!r:.60} in the file, got a link")
    return group[name]


def _rows(walker: Any, name: str, width: int, path: Path) -> Floats:
    """Return numbers (frames, width) of a walker; in the file, frames are last."""
    place = f"{path}: {walker.name}/{name}"
    if name not in walker:
        raise ValueError(f"{place}: expected numbers, got nothing")
    data = _member(walker, name, path)
    shape = getattr(data, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != width or data.dtype.kind != "f":
        got = f"{shape} {getattr(data, 'dtype', '')}"
        raise ValueError(f"{place}: expected {width} rows of floats, got {got}")
    if data.is_virtual or data.external or data.nbytes > MAX_RATIO * path.stat().st_size:
        raise ValueError(
            f"{place}: expected numbers in the file, got {data.nbytes} bytes elsewhere"
        )
    numbers: Floats = data[()].T.astype(np.float64)
    if not (np.abs(numbers) <= MAX_NUMBER).all():
        raise ValueError(f"{place}: expected finite numbers of at most {MAX_NUMBER:g}, got others")
    return numbers


def _find_mjcf(path: Path) -> Path:
    beside = sorted(path.parent.glob("*.xml"))
    if len(beside) != 1:
        names = ", ".join(each.name for each in beside[:12]) or "none"
        raise ValueError(
            f"{path}: expected its skeleton as the one MJCF file (.xml) in its folder, got {names}"
        )
    return beside[0]


def _pose(model: HingeSkeleton, angles: Floats, positions: Floats, rotations: Floats) -> Pose:
    """Return the poses for angles of hinges (frames, hinges), and the root in the world."""
    skeleton, frames = model.skeleton, len(angles)
    turned = np.tile(IDENTITY, (frames, len(skeleton), 1))
    places = np.broadcast_to(skeleton.offsets, (frames, len(skeleton), 3)).copy()
    column = 0
    for joint, hinges in enumerate(model.hinges):
        rest = skeleton.rest_rotations[joint]
        for axis, anchor in hinges:
            before = turned[:, joint]
            after = mul(before, exp(angles[:, column, None] * axis))
            # The anchor stays where it is, so a body whose origin is elsewhere is moved.
            places[:, joint] += rotate(rest, rotate(before, anchor) - rotate(after, anchor))
            turned[:, joint] = after
            column += 1
    # G M G⁻¹ has the angle of M, about an axis that G turns.
    axes = to_matrix(skeleton.rest_rotations)
    turned[..., 1:] = np.einsum("jkl,fjl->fjk", axes, turned[..., 1:])
    turned[:, 0] = mul(mul(rotations, inverse(skeleton.rest_rotations[0])), turned[:, 0])
    places[:, 0] = positions
    return Pose(turned, places)


def _check_bodies(clip: Clip, bodies: Floats, path: Path) -> None:
    """Raise ValueError unless the bodies turn as the file says: else the skeleton is another."""
    world = mul(forward(clip.skeleton, clip.pose)[1], clip.skeleton.rest_rotations)[:, 1:]
    if world.shape != bodies.shape:
        raise ValueError(
            f"{path}: {clip.name}: expected {len(world)} frames of bodies, got {len(bodies)}"
        )
    off = angle_between(world, normalize(bodies))
    if off.max(initial=0.0) > SLACK:
        worst = 1 + int(off.max(axis=0).argmax())
        raise ValueError(
            f"{path}: {clip.name}: expected the skeleton that was recorded, got one that turns "
            f"{clip.skeleton.names[worst]} {np.degrees(off.max()):.3g} degrees away"
        )


DM_CONTROL = ClipFormat(
    read_trajectory, contents=list_trajectories, begins=lambda head: head.startswith(_MAGIC)
)
