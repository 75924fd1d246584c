"""Writing clips: into a copy of the file that they come from, as a new file, or as VRM Animation.

A VRMA has the bones of a human as VRM names them, at rest in the T-pose that faces +z.
"""

from __future__ import annotations

import mimetypes
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats, Quats, Vectors, tolerance
from ...quat import IDENTITY, inverse, mul, normalize, rotate, unroll
from ...rigs import Alignment, NotHumanError, align, parent_role, recognize
from ...rigs.canonical import BONE_DIRECTIONS
from ...rigs.human import FACE, FINGERS, ROLES, split_role
from ...skeleton import Clip, Pose, Skeleton, forward, list_names, with_up
from ..encoding import errors_name, parse_json
from ..files import atomic_write
from ..format import in_metres, only_clip
from .document import (
    BIN,
    BYTES,
    FLOAT,
    JSON,
    Document,
    data_uri,
    join_chunks,
    json_text,
    read_uri,
)
from .read import FRAME_TIME, Grid, Origin, humanoid, read_tracks
from .rig import END, node_transform, read_rig, refuse_uneven

VRMA_EXTENSION = "VRMC_vrm_animation"
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
SKELETON_TOLERANCE = 1e-9  # relative to the largest offset: skeletons that differ less are equal
AS_IN_T_POSE = 1e-9  # 1 − cos of the largest angle of a bone that is as in the T-pose
REQUIRED = (
    *("hips", "spine", "head"),
    *(
        f"{side}{bone}"
        for side in ("left", "right")
        for bone in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
    ),
)
"""The bones that every humanoid of VRM 1.0 has."""


def write_gltf(clips: Sequence[Clip], path: Path) -> None:
    """Write clips to one file: .gltf, or a GLB for any other suffix.

    Clips that all come from one glTF file, and still have its skeleton, are written into a copy of
    it: joints that changed get new keys; meshes, materials, extensions and other animations stay.
    If nothing changed, the copy has the same bytes. Other clips become a new file of nodes, a skin
    that marks the joints, and one animation per clip.
    """
    with errors_name(str(path)):
        upright = [in_metres(with_up(clip, "y"), path) for clip in clips]
        if any(clip.frames == 0 for clip in upright):
            raise ValueError("expected clips with frames, got one without")
        source = _source(upright)
        if path.suffix.lower() == ".vrm" and not (source and source.path.suffix.lower() == ".vrm"):
            raise ValueError(
                "a VRM is a character with a body, and this clip does not come from one: "
                "write .vrma, its motion alone, or .glb"
            )
        if source:
            writer = _Writer(source, path)
            for clip in upright:
                assert isinstance(clip.origin, Origin)
                _write_animation(writer, clip, clip.origin)
            content = writer.content()
        else:
            content = _new_file(upright, path)
    atomic_write(path, content)


def write_vrma(clips: Sequence[Clip], path: Path) -> None:
    """Write the clip of a human to a VRMA file, on VRM's bones (see `to_vrm_bones`).

    Readers of VRMA take the first animation, so there is one. Clips of VRMA files are written as
    `write_gltf` does.
    """
    if all(map(comes_from_vrma, clips)):
        write_gltf(clips, path)
        return
    clip = only_clip(clips, path)
    with errors_name(str(path)):
        if clip.frames == 0:
            raise ValueError("expected a clip with frames, got one without")
        bones = to_vrm_bones(in_metres(clip, path))
        nodes = {bone: {"node": number} for number, bone in enumerate(bones.skeleton.names)}
        extension = {"specVersion": "1.0", "humanoid": {"humanBones": nodes}}
        content = _new_file([bones], path, {VRMA_EXTENSION: extension})
    if left_out := joints_left_out(clip):
        warnings.warn(
            f"{path}: left out {list_names(left_out, 12)}, which are no bones of VRM", stacklevel=3
        )
    atomic_write(path, content)


def _source(clips: list[Clip]) -> Document | None:
    """Return the file that all clips come from, if there is one and they have its skeleton."""
    origins = [clip.origin for clip in clips if isinstance(clip.origin, Origin)]
    if len(origins) < len(clips):
        return None
    first = origins[0].document
    fits = all(
        origin.document.content == first.content
        and _same_skeleton(clip.skeleton, origin.rig.skeleton)
        for clip, origin in zip(clips, origins, strict=True)
    )
    if not fits:
        return None
    numbers = [origin.animation for origin in origins]
    if len(set(numbers)) < len(numbers):
        raise ValueError("expected one clip for each animation of the file, got two for one")
    return first


def _same_skeleton(a: Skeleton, b: Skeleton) -> bool:
    slack = SKELETON_TOLERANCE * np.abs(b.offsets).max(initial=0.0)
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and bool((np.abs(a.offsets - b.offsets) <= slack).all())
        and np.allclose(a.rest_rotations, b.rest_rotations, rtol=0.0, atol=SKELETON_TOLERANCE)
    )


class _Writer:
    """A copy of a file for `path`, to which accessors are appended.

    New bytes go to the end of the binary chunk of a GLB, else to a new buffer in a data URI.
    """

    def __init__(self, document: Document, path: Path) -> None:
        self.document = document
        self.root: dict[str, Any] = parse_json(str(document.path), document.text)
        self.is_binary = path.suffix.lower() != ".gltf"
        self.is_changed = self.is_binary != document.is_binary
        if path.parent.resolve() != document.folder:
            self._embed_files(path)
        buffers = self.root.get("buffers", [])
        self.buffer, self.data = len(buffers), bytearray()
        if self.is_binary and (document.has_bin_buffer or (buffers and not document.is_binary)):
            self.buffer, self.data = 0, bytearray(document.buffer(0))
            buffers[0].pop("uri", None)
        elif not self.is_binary and document.has_bin_buffer:
            buffers[0]["uri"] = data_uri(document.buffer(0))

    def _embed_files(self, path: Path) -> None:
        """Embed buffers and images from files as data URIs, since the copy is elsewhere."""
        for kind in ("buffers", "images"):
            for number, item in enumerate(getattr(self.document.gltf, kind)):
                if item.uri is None or item.uri.startswith("data:"):
                    continue
                try:
                    content = read_uri(f"{kind}[{number}].uri", item.uri, self.document.folder)
                except (OSError, ValueError) as error:
                    if kind == "buffers":
                        raise
                    warnings.warn(f"{path}: left an image out of it: {error}", stacklevel=6)
                    continue
                media_type = mimetypes.guess_type(item.uri)[0] if kind == "images" else None
                self.root[kind][number]["uri"] = data_uri(content, media_type or BYTES)
                self.is_changed = True

    def append(self, values: Floats, *, bounds: bool = False) -> int:
        """Append an accessor of float32 (n, width) and return its index."""
        self.is_changed = True
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(values, "<f4")
        if not np.isfinite(rows).all():
            largest = np.abs(values).max()
            raise ValueError(f"expected numbers that float32 can hold, got {largest:g}")
        self.data += bytes(-len(self.data) % 4)
        views = self.root.setdefault("bufferViews", [])
        accessors = self.root.setdefault("accessors", [])
        accessor = {
            "bufferView": len(views),
            "componentType": FLOAT,
            "count": len(rows),
            "type": TYPES[rows.shape[1]],
        }
        if bounds:
            accessor |= {"min": rows.min(0).tolist(), "max": rows.max(0).tolist()}
        views.append(
            {"buffer": self.buffer, "byteOffset": len(self.data), "byteLength": rows.nbytes}
        )
        accessors.append(accessor)
        self.data += rows.tobytes()
        return len(accessors) - 1

    def content(self) -> bytes:
        """Return the bytes of the file; those of the document if nothing changed."""
        if not self.is_changed:
            return self.document.content
        in_chunk = self.is_binary and self.buffer == 0
        if self.data:
            buffers = self.root.setdefault("buffers", [])
            if self.buffer == len(buffers):
                buffers.append({})
            buffers[self.buffer]["byteLength"] = len(self.data)
            if not in_chunk:
                buffers[self.buffer]["uri"] = data_uri(bytes(self.data))
        text = json_text(self.root, indent=None if self.is_binary else 2).encode()
        if not self.is_binary:
            return text
        chunks = [(BIN, bytes(self.data))] if in_chunk and self.data else []
        chunks += [chunk for chunk in self.document.chunks[1:] if not in_chunk or chunk[0] != BIN]
        return join_chunks([(JSON, text), *chunks])


def _write_animation(writer: _Writer, clip: Clip, origin: Origin, *, is_new: bool = False) -> None:
    """Give new keys, one per frame, to all joints that differ from `origin`.

    In a new file all joints get keys of their rotation.
    """
    rig, pose, old, grid = origin.rig, clip.pose, origin.pose, origin.grid
    same_time = abs(clip.frame_time - grid.step) <= 1e-9 * grid.step
    on_grid = same_time and clip.frames == grid.count
    number = origin.animation
    tracks = [] if number is None else read_tracks(writer.document, rig, number)
    channels = {(track.joint, track.path): track.channel for track in tracks}
    slack, size = tolerance(pose.rotations.dtype), np.abs(old.positions).max(initial=0.0)
    keys: dict[tuple[int, str], Floats] = {}
    for joint, node in enumerate(rig.nodes):
        rotations = pose.rotations[:, joint].astype(np.float64)
        before = old.rotations[:, joint] if on_grid else IDENTITY
        signs = np.where((rotations * before).sum(axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
        is_rotated = bool((np.abs(signs * rotations - before) > slack).any())
        if is_new or is_rotated or ((joint, "rotation") in channels and not on_grid):
            if rig.uneven[joint] and is_rotated:
                refuse_uneven(node)
            keys[joint, "rotation"] = unroll(rig.local(joint, rotations))[:, [1, 2, 3, 0]]
        positions = pose.positions[:, joint].astype(np.float64)
        start = old.positions[:, joint] if on_grid else rig.skeleton.offsets[joint]
        is_moved = (np.abs(positions - start) > slack * size).any()
        if is_moved or ((joint, "translation") in channels and not on_grid):
            keys[joint, "translation"] = rig.local_positions(joint, positions)
    if not keys:
        return
    animations = writer.root.setdefault("animations", [])
    if number is None:
        number = len(animations)
        name = clip.name or "clip"
        animations.append({"name": name, "channels": [], "samplers": [], "extras": {FRAME_TIME: 0}})
    animation = animations[number]
    extras = animation.get("extras")
    if isinstance(extras, dict) and FRAME_TIME in extras:
        extras[FRAME_TIME] = clip.frame_time
    times = replace(grid, step=clip.frame_time, count=clip.frames).times()
    times_accessor = writer.append(times[:, None], bounds=True)
    for (joint, path), values in keys.items():
        sampler = len(animation["samplers"])
        animation["samplers"].append({"input": times_accessor, "output": writer.append(values)})
        if (joint, path) in channels:
            animation["channels"][channels[joint, path]]["sampler"] = sampler
            continue
        node = rig.nodes[joint]
        _split_matrix(writer, node)
        animation["channels"].append({"sampler": sampler, "target": {"node": node, "path": path}})


def _split_matrix(writer: _Writer, node: int) -> None:
    """Replace the matrix of a node by its parts: glTF does not allow to animate a matrix."""
    entry = writer.root["nodes"][node]
    if "matrix" in entry:
        translation, rotation, scale = node_transform(writer.document.gltf.nodes, node)
        del entry["matrix"]
        entry.update(
            translation=translation.tolist(),
            rotation=_node_rotation(rotation),
            scale=scale.tolist(),
        )


def _node_rotation(rotation: Quats) -> list[float]:
    """Return a unit quaternion (4,) as a node has it: w last, components within ±1."""
    w, x, y, z = np.clip(rotation, -1.0, 1.0).tolist()
    return [x, y, z, w]


def _new_file(clips: list[Clip], path: Path, extensions: Mapping[str, Any] | None = None) -> bytes:
    """Return a file of skeleton and motion: a skin without a mesh marks the joints.

    `extensions` are those of the whole file, by name.
    """
    skeleton = clips[0].skeleton
    for clip in clips:
        if not _same_skeleton(clip.skeleton, skeleton):
            raise ValueError(f"expected clips of one skeleton, got another in {clip.name!r:.60}")
    nodes, roots = _nodes(skeleton)
    if len(roots) > 1:  # joints of a skin have one common root
        nodes.append({"name": "root", "children": roots})
        roots = [len(nodes) - 1]
    root: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "Synovia"},
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        "skins": [{"joints": list(range(len(skeleton))), "skeleton": roots[0]}],
    }
    if extensions:
        root |= {"extensionsUsed": list(extensions), "extensions": extensions}
    document = Document.parse(path, json_text(root).encode())
    writer, rig = _Writer(document, path), read_rig(document)
    rest = rig.skeleton.rest_pose()
    rest = Pose(rest.rotations[None], rest.positions[None])
    for clip in clips:
        origin = Origin(document, rig, None, Grid(0.0, clip.frame_time, clip.frames), rest)
        joints = list(rig.nodes)  # depth first, and numbered as those of the clip
        pose = Pose(clip.pose.rotations[:, joints], clip.pose.positions[:, joints])
        clip = replace(clip, skeleton=rig.skeleton, pose=pose, origin=None)
        _write_animation(writer, clip, origin, is_new=True)
    return writer.content()


def _nodes(skeleton: Skeleton) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the nodes of joints, then of end sites, and the indices of the roots."""
    frames, roots = skeleton.rest_rotations, (skeleton.parents < 0)[:, None]
    above = np.where(roots, IDENTITY, frames[skeleton.parents])
    rests = mul(inverse(above), frames)
    offsets = rotate(inverse(above), skeleton.offsets)
    nodes: list[dict[str, Any]] = [
        {"name": name, "translation": offset, "rotation": _node_rotation(rest)}
        for name, offset, rest in zip(skeleton.names, offsets.tolist(), rests, strict=True)
    ]
    ends = skeleton.end_parents
    tips = rotate(inverse(skeleton.rest_rotations[ends]), skeleton.end_offsets)
    parents = [*skeleton.parents.tolist(), *ends.tolist()]
    nodes += [
        {"name": f"{skeleton.names[joint]}{END}", "translation": tip}
        for joint, tip in zip(ends.tolist(), tips.tolist(), strict=True)
    ]
    for number, parent in enumerate(parents):
        if parent >= 0:
            nodes[parent].setdefault("children", []).append(number)
    return nodes, [number for number, parent in enumerate(parents) if parent < 0]


def joints_left_out(clip: Clip) -> list[str]:
    """Return the joints of a human's clip whose rotations turn no bone of VRM."""
    skeleton = clip.skeleton
    roles = recognize(skeleton, humanoid=humanoid(clip) or None).roles.values()
    used = {joint for name in roles for joint in skeleton.path_to_root(skeleton.index(name))}
    return [name for joint, name in enumerate(skeleton.names) if joint not in used]


def comes_from_vrma(clip: Clip) -> bool:
    """Return whether a clip was read from a VRMA file."""
    if not isinstance(clip.origin, Origin):
        return False
    return VRMA_EXTENSION in clip.origin.document.gltf.extensions


def to_vrm_bones(clip: Clip) -> Clip:
    """Return a human's motion on a skeleton of VRM's bones, whose rest pose is the T-pose.

    Joints are called by bone, and only the hips move. With B of `rigs.alignment`, a bone that has
    the rotation R in a world with y up has R · B here. A clip of a VRMA file, or one that this
    function has returned, is returned as it is.
    Raises ValueError where the rig is no human, or lacks a bone that VRM requires.
    """
    if comes_from_vrma(clip) or _has_vrm_bones(clip.skeleton):
        return clip
    try:
        rig = recognize(clip.skeleton, humanoid=humanoid(clip) or None)
    except NotHumanError as error:
        raise ValueError(f"a VRMA file holds the motion of a human: {error}") from None
    alignment = align(rig, [clip])
    bones = list(rig.roles)
    missing = [bone for bone in REQUIRED if bone not in bones]
    if missing:
        raise ValueError(f"a VRMA file needs all bones of VRM, got none for {', '.join(missing)}")
    names, upright = clip.skeleton.names, with_up(clip, "y")
    positions, rotations = forward(upright.skeleton, upright.pose)
    world = {
        bone: mul(rotations[:, names.index(rig.roles[bone])], alignment.frames[bone])
        for bone in bones
    }
    above = {bone: parent_role(bone, bones) for bone in bones}
    rest_positions = _t_pose_positions(alignment)
    skeleton = Skeleton(
        tuple(bones),
        np.array([-1 if parent is None else bones.index(parent) for parent in above.values()]),
        np.array(
            [
                rest_positions[b] - (0.0 if up is None else rest_positions[up])
                for b, up in above.items()
            ]
        ),
        up="y",
        unit=clip.skeleton.unit,
    )
    local = [
        world[bone] if parent is None else mul(inverse(world[parent]), world[bone])
        for bone, parent in above.items()
    ]
    moved = np.tile(skeleton.offsets, (clip.frames, 1, 1))
    moved[:, 0] = positions[:, names.index(rig.starts["hips"])]
    pose = Pose(normalize(np.stack(local, axis=1)), moved)
    return Clip(skeleton, pose, clip.frame_time, clip.name)


def _has_vrm_bones(skeleton: Skeleton) -> bool:
    """Return True if all joints are bones of VRM, and limbs point as in the T-pose at rest."""
    names = skeleton.names
    if (
        skeleton.up != "y"
        or not {*REQUIRED} <= {*names}
        or not {*names} <= {*ROLES, *FINGERS, *FACE}
    ):
        return False
    for name, parent, offset in zip(names, skeleton.parents, skeleton.offsets, strict=True):
        above = BONE_DIRECTIONS.get(names[parent])
        follows = split_role(name)[1] in ("LowerArm", "Hand", "LowerLeg", "Foot")
        length = float(np.linalg.norm(offset))
        if follows and above is not None and offset @ above < (1.0 - AS_IN_T_POSE) * length:
            return False
    return True


def _t_pose_positions(alignment: Alignment) -> dict[str, Vectors]:
    """Return where each bone begins (3,) in the T-pose; the lowest joint or end site is at y = 0.

    A joint that is no bone keeps its parent's rotation; all joints of a split bone have one.
    """
    rig, axes = alignment.rig, alignment.axes
    skeleton = rig.skeleton
    world_rotations: dict[int, Quats] = {}
    for bone, frame in alignment.frames.items():
        first, last = (skeleton.index(names[bone]) for names in (rig.starts, rig.roles))
        path = skeleton.path_to_root(last)
        for joint in path[: path.index(first) + 1]:
            world_rotations.setdefault(joint, mul(inverse(axes), inverse(frame)))
    world = np.tile(IDENTITY, (len(skeleton) + 1, 1))  # the last row is what roots hang on
    rotations = np.empty((len(skeleton), 4))
    for joint, parent in enumerate(skeleton.parents.tolist()):
        world[joint] = world_rotations.get(joint, world[parent])
        rotations[joint] = mul(inverse(world[parent]), world[joint])
    positions, turned = forward(skeleton, Pose(normalize(rotations), skeleton.offsets))
    ends = positions[skeleton.end_parents] + rotate(
        turned[skeleton.end_parents], skeleton.end_offsets
    )
    upright = rotate(axes, np.concatenate([positions, ends]))
    hips = upright[skeleton.index(rig.starts["hips"])]
    origin = np.array([hips[0], upright[:, 1].min(), hips[2]])
    return {bone: upright[skeleton.index(name)] - origin for bone, name in rig.starts.items()}
