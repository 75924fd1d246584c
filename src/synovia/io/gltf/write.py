"""Writing clips: into the file that they come from, or as a new GLB of skeleton and motion."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats, Mask, Quats, tolerance
from ...quat import IDENTITY, inverse, mul, rotate, unroll
from ...skeleton import Clip, Skeleton, list_names, with_unit, with_up
from ..encoding import errors_name, parse_json
from ..files import atomic_write
from ..format import only_clip
from .document import (
    BIN,
    BYTES,
    FLOAT,
    JSON,
    Document,
    Layout,
    data_uri,
    join_chunks,
    json_line,
    layout,
    member,
    read_uri,
    replace_values,
    require,
    whole_number,
)
from .read import Grid, Origin, Track, read_tracks
from .rig import END, channel_sampler, node_transform, refuse_uneven
from .vrma import EXTENSION, comes_from_vrma, joints_left_out, to_vrm_bones

MEDIA_TYPES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8": "image/jpeg",
    b"RIFF": "image/webp",
    b"\xabKTX 20": "image/ktx2",
}
"""Images by how they begin."""
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
SKELETON_SLACK = 1e-9
"""Skeletons that differ by less than this share are the same."""


def write_gltf(clips: Sequence[Clip], path: Path) -> None:
    """Write clips to one file: .gltf, or a GLB whatever else the suffix.

    Clips that all come from one glTF file, and still have its skeleton, are written into a copy of
    it, where joints that have not changed keep their bytes; so do mesh, materials and extensions.
    Others become a new file of nodes, a skin that marks the joints, and one animation a clip.
    """
    with errors_name(str(path)):
        upright = [_to_metres(with_up(clip, "y"), path) for clip in clips]
        if any(clip.frames == 0 for clip in upright):
            raise ValueError("expected clips with frames, got one without")
        source = _source(upright)
        is_binary = path.suffix.lower() != ".gltf"
        if source:
            content = _Patch(_move(source, path, is_binary)).apply(upright)
        else:
            content = _new_file(upright, is_binary)
    atomic_write(path, content)


def write_vrma(clips: Sequence[Clip], path: Path) -> None:
    """Write the clip of a human to a VRMA file.

    Readers of VRMA take the first animation, so there is one. See `to_vrm_bones`. Clips of VRMA
    files are written as `write_gltf` does.
    """
    if all(map(comes_from_vrma, clips)):
        write_gltf(clips, path)
        return
    clip = only_clip(clips, path)
    with errors_name(str(path)):
        if clip.frames == 0:
            raise ValueError("expected a clip with frames, got one without")
        bones = to_vrm_bones(_to_metres(clip, path))
        nodes = {bone: {"node": number} for number, bone in enumerate(bones.skeleton.names)}
        extension = {"specVersion": "1.0", "humanoid": {"humanBones": nodes}}
        content = _new_file([bones], True, {EXTENSION: extension})
    if left_out := joints_left_out(clip):
        warnings.warn(
            f"{path}: left out {list_names(left_out, 12)}, which are no bones of VRM", stacklevel=3
        )
    atomic_write(path, content)


def _to_metres(clip: Clip, path: Path) -> Clip:
    if clip.skeleton.unit:
        return with_unit(clip, 1.0)
    warnings.warn(
        f"{path}: the unit is not known; lengths are written as metres", UserWarning, stacklevel=4
    )
    return clip


# Into the source


def _source(clips: list[Clip]) -> Document | None:
    """Return the file that all clips come from, if there is one and they fit it."""
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
    slack = SKELETON_SLACK * np.abs(b.offsets).max(initial=0.0)
    return (
        a.names == b.names
        and np.array_equal(a.parents, b.parents)
        and bool((np.abs(a.offsets - b.offsets) <= slack).all())
        and np.allclose(a.rest_rotations, b.rest_rotations, rtol=0.0, atol=SKELETON_SLACK)
    )


def _move(document: Document, path: Path, is_binary: bool) -> Document:
    """Return the file as it is to stand at `path`, with what stood beside it if it moves away."""
    embedded = _embed_files(document, path)
    text = replace_values(document.text, embedded) if embedded else document.text
    if is_binary != document.is_binary:
        return Document.parse(path, _convert(document, text, is_binary))
    if not embedded:
        return document
    if not is_binary:
        return Document.parse(path, text.encode())
    return Document.parse(path, join_chunks([(JSON, text.encode()), *document.chunks[1:]]))


def _embed_files(document: Document, path: Path) -> dict[str, Any]:
    """Return the buffers and images as data URIs that a file in another folder needs."""
    changes: dict[str, Any] = {}
    if path.parent.resolve() == document.folder:
        return changes
    for kind in ("buffers", "images"):
        for number, item in enumerate(document.items(kind)):
            uri = member(item, "uri")
            if uri is None or uri.text().startswith("data:"):
                continue
            try:
                content = read_uri(uri, document.folder)
            except (OSError, ValueError) as error:
                if kind == "buffers":
                    raise
                warnings.warn(f"{path}: left an image out of it: {error}", stacklevel=6)
                continue
            media = _media_type(content) if kind == "images" else BYTES
            changes.setdefault(kind, {})[number] = {"uri": data_uri(content, media)}
    return changes


def _media_type(content: bytes) -> str:
    """Return what kind of image `content` is."""
    for head, kind in MEDIA_TYPES.items():
        if content.startswith(head):
            return kind
    return BYTES


def _convert(document: Document, text: str, is_binary: bool) -> bytes:
    """Return a .gltf as GLB, or a GLB as .gltf: the first buffer changes its place."""
    root = parse_json(str(document.path), text.encode())
    buffers = root.get("buffers", [])
    if not is_binary:
        if document.bin_buffer():
            buffers[0]["uri"] = data_uri(document.buffer(0))
        return json_line(root, indent=2).encode()
    chunks = [(BIN, document.buffer(0))] if buffers else []
    if buffers:
        del buffers[0]["uri"]
    return join_chunks([(JSON, json_line(root).encode()), *chunks])


@dataclass
class _Patch:
    """Changes to a file: bytes of buffers in place, values in its JSON, or new parts of both."""

    document: Document
    root: dict[str, Any] = field(init=False)
    buffers: dict[int, bytearray] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    tail: bytearray = field(default_factory=bytearray)
    is_rebuilt: bool = False

    def __post_init__(self) -> None:
        self.root = parse_json(str(self.document.path), self.document.text.encode())

    @cached_property
    def own_outputs(self) -> set[int]:
        """The accessors that can be changed where they stand."""
        return _own_outputs(self.document)

    def apply(self, clips: Sequence[Clip]) -> bytes:
        """Return the file with these clips in it."""
        for clip in clips:
            origin = clip.origin
            if isinstance(origin, Origin):
                _ClipPatch(self, clip, origin).apply()
        return self.content()

    def content(self) -> bytes:
        """Return the bytes of the file; those it came with where nothing has changed."""
        document = self.document
        if not (self.is_rebuilt or self.buffers):
            return document.content
        if self.tail:
            self._add_tail()
        for number, content in self.buffers.items():
            if not (number == 0 and document.bin_buffer()):
                self._set("buffers", number, "uri", self._uri_with(number, content))
        text = document.text
        if self.is_rebuilt:
            text = json_line(self.root, indent=2 if "\n" in text.strip() else None)
        elif self.values:
            text = replace_values(text, self.values)
        if not document.is_binary:
            return text.encode()
        chunks = list(document.chunks)
        if text != document.text:
            chunks[0] = (JSON, text.rstrip().encode())
        if document.bin_buffer() and 0 in self.buffers:
            content = self.buffers[0]
            chunks[1] = (BIN, bytes(content) + chunks[1][1][len(content) :])
        elif self.tail and self._home() == 0:
            chunks[1:] = [(BIN, bytes(self.tail)), *(each for each in chunks[1:] if each[0] != BIN)]
        return join_chunks(chunks)

    def _add_tail(self) -> None:
        """Put the new bytes at the end of the binary chunk, or into a buffer of their own."""
        home = self._home()
        buffers = self.root.setdefault("buffers", [])
        if home < len(buffers):
            own = self.writable(home)
            own += bytes(-len(own) % 4) + self.tail
            buffers[home]["byteLength"] = len(own)
            return
        buffer: dict[str, Any] = {"byteLength": len(self.tail)}
        if not (self.document.is_binary and home == 0):
            buffer["uri"] = data_uri(bytes(self.tail))
        buffers.append(buffer)

    def _home(self) -> int:
        """Return the buffer that new bytes go to."""
        return 0 if self.document.bin_buffer() else self.document.count("buffers")

    def _uri_with(self, number: int, content: bytearray) -> str:
        about = self.document.at("buffers", number).value["uri"].partition(",")[0]
        media = about.removeprefix("data:").removesuffix(";base64")
        return data_uri(bytes(content), media)

    def writable(self, buffer: int) -> bytearray:
        """Return a copy of a buffer, which is written instead of it."""
        if buffer not in self.buffers:
            self.buffers[buffer] = bytearray(self.document.buffer(buffer))
        return self.buffers[buffer]

    def _set(self, kind: str, number: int, key: str, value: Any) -> None:
        """Replace one value of the JSON that is there, and leave the text around it."""
        self.root[kind][number][key] = value
        self.values.setdefault(kind, {}).setdefault(number, {})[key] = value

    def overwrite(self, accessor: int, rows: Mask, values: Floats) -> None:
        """Replace elements of an accessor of floats where they stand, and its bounds."""
        entry = self.document.at("accessors", accessor)
        place = layout(self.document, entry)
        if place is None:
            raise ValueError(f"accessors[{accessor}]: expected bytes, got none")
        stored = place.view(self.writable(place.buffer))
        stored[rows] = _float32(values[rows])
        for key, bounds in (("min", stored.min(0)), ("max", stored.max(0))):
            if member(entry, key) is not None:
                self._set("accessors", accessor, key, bounds.astype(float).tolist())

    def append(self, values: Floats, *, bounds: bool = False) -> int:
        """Add an accessor of floats (n, width), and return its number."""
        self.is_rebuilt = True
        rows = _float32(values)
        home = self._home()
        base = len(self.document.buffer(home)) if home < self.document.count("buffers") else 0
        views = self.root.setdefault("bufferViews", [])
        views.append(
            {
                "buffer": home,
                "byteOffset": base + -base % 4 + len(self.tail),
                "byteLength": rows.nbytes,
            }
        )
        self.tail += rows.tobytes()
        accessors = self.root.setdefault("accessors", [])
        accessors.append(_accessor(rows, len(views) - 1, bounds=bounds))
        return len(accessors) - 1


def _float32(values: Floats) -> Floats:
    """Return values as glTF holds them."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(values, "<f4")
    if not np.isfinite(rows).all():
        raise ValueError(f"expected numbers that float32 can hold, got {np.abs(values).max():g}")
    return rows


def _accessor(rows: Floats, view: int, *, bounds: bool) -> dict[str, Any]:
    """Return the accessor of float32 (n, width) that are all of a bufferView."""
    found: dict[str, Any] = {
        "bufferView": view,
        "componentType": FLOAT,
        "count": len(rows),
        "type": TYPES[rows.shape[1]],
    }
    if bounds:
        found["min"] = rows.min(0).astype(float).tolist()
        found["max"] = rows.max(0).astype(float).tolist()
    return found


class _ClipPatch:
    """Changes to one animation of a file."""

    def __init__(self, patch: _Patch, clip: Clip, origin: Origin) -> None:
        self.patch, self.clip, self.origin = patch, clip, origin
        document = patch.document
        same_time = abs(clip.frame_time - origin.grid.step) <= 1e-9 * origin.grid.step
        self.on_grid = same_time and clip.frames == origin.grid.count
        tracks = (
            [] if origin.animation is None else read_tracks(document, origin.rig, origin.animation)
        )
        self.tracks = {(track.joint, track.path): track for track in tracks}
        self.times: int | None = None

    def apply(self) -> None:
        """Write the joints that have changed."""
        rig, pose, old = self.origin.rig, self.clip.pose, self.origin.pose
        size = np.abs(old.positions).max(initial=0.0)
        for joint in range(len(rig.nodes)):
            rotations = pose.rotations[:, joint].astype(np.float64)
            slack = tolerance(pose.rotations.dtype)
            was = old.rotations[:, joint] if self.on_grid else IDENTITY
            nearest = np.where(_dots(rotations, was) < 0.0, -1.0, 1.0) * rotations
            turned = np.abs(nearest - was).max(axis=-1) > slack
            self._write(joint, "rotation", turned)
            positions = pose.positions[:, joint].astype(np.float64)
            at = old.positions[:, joint] if self.on_grid else rig.skeleton.offsets[joint]
            moved = np.abs(positions - at).max(axis=-1) > slack * size
            self._write(joint, "translation", moved)

    def _write(self, joint: int, path: str, changed: Mask) -> None:
        track = self.tracks.get((joint, path))
        if not (changed.any() or (track and not self.on_grid)):
            return
        rig, pose = self.origin.rig, self.clip.pose
        if path == "rotation":
            if rig.uneven[joint] and changed.any():
                refuse_uneven(self.patch.document, rig.nodes[joint])
            local = rig.local(joint, pose.rotations[:, joint].astype(np.float64))
        else:
            local = rig.local_positions(joint, pose.positions[:, joint].astype(np.float64))
        accessor = self._in_place(track) if track else None
        if accessor is None or track is None:
            values = unroll(local)[:, [1, 2, 3, 0]] if path == "rotation" else local
            self._replace(joint, path, track, values)
            return
        if path == "rotation":
            local = np.where(_dots(local, track.values) < 0.0, -1.0, 1.0) * local
            local = local[:, [1, 2, 3, 0]]
        self.patch.overwrite(accessor, changed, local)

    def _in_place(self, track: Track) -> int | None:
        """Return the accessor of a track that has a float for each frame, and to itself."""
        document, grid = self.patch.document, self.origin.grid
        frames = np.arange(grid.count)
        if not self.on_grid or track.mode == "CUBICSPLINE" or len(track.times) != grid.count:
            return None
        if not np.array_equal(grid.coordinates(track.times), frames):
            return None
        output = int(self._sampler(track)["output"])
        if output not in self.patch.own_outputs:
            return None
        buffer = document.at("bufferViews", document.at("accessors", output).value["bufferView"])
        uri = member(document.at("buffers", buffer.value["buffer"]), "uri")
        # A file beside this one may be that of others, too.
        return output if uri is None or uri.text().startswith("data:") else None

    def _animation(self) -> dict[str, Any]:
        """Return the animation; a new one where the file had none."""
        root = self.patch.root
        if self.origin.animation is None:
            self.origin = replace(self.origin, animation=len(root.setdefault("animations", [])))
            root["animations"].append({"name": self.clip.name, "channels": [], "samplers": []})
        found: dict[str, Any] = root["animations"][self.origin.animation]
        return found

    def _update_hint(self) -> None:
        """Correct the spacing of frames that our own files have."""
        extras = self._animation().get("extras")
        if isinstance(extras, dict) and "frameTime" in extras:
            extras["frameTime"] = self.clip.frame_time

    def _sampler(self, track: Track) -> dict[str, Any]:
        animation = self._animation()
        found: dict[str, Any] = animation["samplers"][
            animation["channels"][track.channel]["sampler"]
        ]
        return found

    def _replace(self, joint: int, path: str, track: Track | None, values: Floats) -> None:
        """Give a joint new keys, one for each frame."""
        if self.times is None:
            start = self.origin.grid.start
            seconds = Grid(start, self.clip.frame_time, self.clip.frames).times()
            self.times = self.patch.append(seconds[:, None], bounds=True)
            self._update_hint()
        sampler = {
            "input": self.times,
            "output": self.patch.append(values),
            "interpolation": "LINEAR",
        }
        animation = self._animation()
        channels, samplers = animation["channels"], animation["samplers"]
        node = self.origin.rig.nodes[joint]
        if track is None:
            _split_matrix(self.patch, node)
            channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            samplers.append(sampler)
            return
        channel = channels[track.channel]
        if sum(each["sampler"] == channel["sampler"] for each in channels) > 1:
            channel["sampler"] = len(samplers)
            samplers.append(sampler)
        else:
            samplers[channel["sampler"]].update(sampler)


def _dots(a: Quats, b: Quats) -> Floats:
    """Return the inner products (n, 1) of rows."""
    return np.asarray((a * b).sum(axis=-1, keepdims=True))


def _own_outputs(document: Document) -> set[int]:
    """Return the accessors of floats that are the output of one channel and share no bytes."""
    uses = Counter(
        whole_number(require(channel_sampler(animation, channel), "output"))
        for animation in document.items("animations")
        for channel in require(animation, "channels").items()
    )
    places, views = _places(document), _view_ranges(document)
    ranges = views + [(place.buffer, place.start, place.stop) for place in places.values()]
    buffers, begins, ends = np.array(ranges, dtype=np.int64).reshape(-1, 3).T
    # An accessor meets itself and its view, and nothing else.
    return {
        output
        for output, count in uses.items()
        if count == 1 and output in places and places[output].dtype == "<f4"
        for place in [places[output]]
        if not member(document.at("accessors", output), "sparse")
        and ((buffers == place.buffer) & (begins < place.stop) & (place.start < ends)).sum() == 2
    }


def _view_ranges(document: Document) -> list[tuple[int, int, int]]:
    """Return the buffer of each bufferView, its first byte, and the byte after its last."""
    found = []
    for view in document.items("bufferViews"):
        offset = member(view, "byteOffset")
        begin = whole_number(offset) if offset else 0
        length = whole_number(require(view, "byteLength"))
        found.append((whole_number(require(view, "buffer")), begin, begin + length))
    return found


def _places(document: Document) -> dict[int, Layout]:
    """Return where the elements of each accessor stand, of those that have bytes."""
    found = {}
    for number, accessor in enumerate(document.items("accessors")):
        with suppress(ValueError, OSError):  # of a mesh, perhaps, that we do not need
            if place := layout(document, accessor):
                found[number] = place
    return found


def _split_matrix(patch: _Patch, node: int) -> None:
    """Give a node that is to be animated the parts of its matrix: glTF does not allow both."""
    found = patch.root["nodes"][node]
    if "matrix" in found:
        move, turn, scale = node_transform(patch.document.at("nodes", node))
        del found["matrix"]
        found.update(translation=move, rotation=_node_rotation(np.array(turn)), scale=scale)


def _node_rotation(rotation: Quats) -> list[float]:
    """Return a unit quaternion (4,) as a node has it: w last, no component beyond 1 by rounding."""
    w, x, y, z = np.clip(rotation, -1.0, 1.0).tolist()
    return [x, y, z, w]


# New files


def _new_file(
    clips: list[Clip], is_binary: bool, extensions: Mapping[str, Any] | None = None
) -> bytes:
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
    text = json_line(root, indent=None if is_binary else 2).encode()
    content = join_chunks([(JSON, text)]) if is_binary else text
    patch = _Patch(Document.parse(Path("new"), content))
    patch.root["animations"] = [_animation(patch, clip) for clip in clips]
    return patch.content()


def _nodes(skeleton: Skeleton) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the nodes of joints and then of end sites, and which are roots."""
    above, rests = _rest_frames(skeleton)
    offsets = rotate(inverse(above), skeleton.offsets)
    nodes: list[dict[str, Any]] = [
        {"name": name, "translation": offset, "rotation": _node_rotation(rest)}
        for name, offset, rest in zip(skeleton.names, offsets.tolist(), rests, strict=True)
    ]
    ends = skeleton.end_parents
    ways = rotate(inverse(skeleton.rest_rotations[ends]), skeleton.end_offsets)
    parents = [*skeleton.parents.tolist(), *ends.tolist()]
    nodes += [
        {"name": f"{skeleton.names[joint]}{END}", "translation": way}
        for joint, way in zip(ends.tolist(), ways.tolist(), strict=True)
    ]
    for number, parent in enumerate(parents):
        if parent >= 0:
            nodes[parent].setdefault("children", []).append(number)
    return nodes, [number for number, parent in enumerate(parents) if parent < 0]


def _rest_frames(skeleton: Skeleton) -> tuple[Quats, Quats]:
    """Return the rotations (J, 4) of what is above each joint, and of the joint in that frame."""
    frames = skeleton.rest_rotations
    roots = (skeleton.parents < 0)[:, None]
    above = np.where(roots, IDENTITY, frames[skeleton.parents])
    return above, mul(inverse(above), frames)


def _animation(patch: _Patch, clip: Clip) -> dict[str, Any]:
    """Return the animation of a clip: all rotations, and positions of what moves."""
    skeleton, pose = clip.skeleton, clip.pose
    above, rests = _rest_frames(skeleton)
    back = inverse(above)
    rotations = unroll(mul(mul(back, pose.rotations.astype(np.float64)), mul(above, rests)))
    positions = rotate(back, pose.positions.astype(np.float64))
    slack = tolerance(pose.positions.dtype) * np.abs(skeleton.offsets).max()
    moves = (np.abs(pose.positions - skeleton.offsets) > slack).any(axis=(0, 2))
    times = patch.append(Grid(0.0, clip.frame_time, clip.frames).times()[:, None], bounds=True)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for joint in range(len(skeleton)):
        tracks = {"rotation": rotations[:, joint][:, [1, 2, 3, 0]]}
        if moves[joint]:
            tracks["translation"] = positions[:, joint]
        for path, values in tracks.items():
            channels.append({"sampler": len(samplers), "target": {"node": joint, "path": path}})
            samplers.append({"input": times, "output": patch.append(values)})
    return {
        "name": clip.name or "clip",
        "channels": channels,
        "samplers": samplers,
        # Times of keys are float32; this is exact.
        "extras": {"frameTime": clip.frame_time},
    }
