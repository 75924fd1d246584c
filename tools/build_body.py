"""Build the mesh of the default human, `src/synovia/body/human.glb`.

    pip install fast-simplification
    python tools/build_body.py [-o OUT]

The file has two skinned meshes, `bones` and `skin`, on the segments of the default human. Its
nodes hold the rest pose, and its inverse bind matrices the pose of the meshes. Positions are whole
numbers of steps (KHR_mesh_quantization), whose length is part of those matrices.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from body.bones import Bone, human_bones, reference_human
from body.cover import cover_bones
from body.skin import bind_pose, make_skin
from body.surface import WeightedMesh

from synovia import Skeleton, forward, quat
from synovia.arrays import Floats, Vectors

OUT = Path(__file__).parents[1] / "src/synovia/body/human.glb"
STEP = 0.00025  # metres: an angle of 1 degree on the smallest triangles
UNSIGNED_BYTE, SHORT, UNSIGNED_SHORT, FLOAT = 5121, 5122, 5123, 5126
VERTICES, TRIANGLES = 34962, 34963  # targets of buffer views


def main() -> None:
    """Build the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=OUT)
    out = parser.parse_args().out
    skeleton = reference_human().skeleton
    surface, segments, weights = make_skin()
    bones = join_bones(skeleton)
    skin = WeightedMesh(surface.vertices, surface.triangles, segments, weights)
    meshes = {"bones": bones, "skin": cover_bones(skin, bones)}
    out.write_bytes(write_glb(skeleton, meshes))
    print(f"{out.name}: {out.stat().st_size / 1000:.0f} kB")


def join_bones(skeleton: Skeleton) -> WeightedMesh:
    """Return all bones as one mesh, moved from the rest pose to the bind pose."""
    start, before = forward(skeleton, skeleton.rest_pose())
    end, after = forward(skeleton, bind_pose())
    rotations = quat.mul(after, quat.inverse(before))

    def move(bone: Bone) -> Vectors:
        first, second = (
            quat.rotate(rotations[joint], bone.surface.vertices - start[joint]) + end[joint]
            for joint in bone.segments
        )
        return np.asarray(first + bone.surface.shares[:, None] * (second - first))

    bones = human_bones()
    counts = [len(bone.surface.vertices) for bone in bones]
    firsts = np.cumsum([0, *counts[:-1]])
    shares = np.concatenate([bone.surface.shares for bone in bones])
    pairs = np.repeat([bone.segments for bone in bones], counts, axis=0)
    return WeightedMesh(
        np.concatenate([move(bone) for bone in bones]),
        np.concatenate(
            [bone.surface.triangles + first for bone, first in zip(bones, firsts, strict=True)]
        ),
        np.column_stack([pairs, np.zeros_like(pairs)]),
        np.column_stack([1.0 - shares, shares, 0.0 * shares, 0.0 * shares]),
    )


def write_glb(skeleton: Skeleton, meshes: dict[str, WeightedMesh]) -> bytes:
    """Return the content of the file."""
    positions, rotations = forward(skeleton, bind_pose())
    rest = skeleton.rest_pose()
    count = len(skeleton)
    data = bytearray()
    views: list[dict[str, Any]] = []
    accessors: list[dict[str, Any]] = []

    def add(array: Any, component: int, kind: str, target: int | None = None, **more: Any) -> int:
        data.extend(b"\0" * (-len(data) % 4))
        content = np.ascontiguousarray(array).tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(data), "byteLength": len(content)}
        if target is not None:
            view["target"] = target
        if target == VERTICES:
            view["byteStride"] = len(content) // len(array)
        data.extend(content)
        views.append(view)
        entry = {"bufferView": len(views) - 1, "componentType": component, "type": kind}
        rows = array.size if kind == "SCALAR" else len(array)
        accessors.append({**entry, "count": rows, **more})
        return len(accessors) - 1

    inverses = np.zeros((count, 4, 4))
    linear = quat.to_matrix(quat.inverse(rotations))
    inverses[:, :3, :3] = STEP * linear
    inverses[:, :3, 3] = -np.einsum("nij,nj->ni", linear, positions)
    inverses[:, 3, 3] = 1.0
    columns = inverses.transpose(0, 2, 1).astype("<f4")  # glTF stores columns
    skin = {
        "name": "human",
        "joints": list(range(count)),
        "inverseBindMatrices": add(columns.reshape(count, 16), FLOAT, "MAT4"),
    }
    written = []
    for name, mesh in meshes.items():
        mesh = reorder(mesh)
        steps = np.round(mesh.vertices / STEP).astype("<i2")
        padded = np.column_stack([steps, np.zeros(len(steps), "<i2")])  # rows of 8 bytes
        bounds = {"min": steps.min(axis=0).tolist(), "max": steps.max(axis=0).tolist()}
        attributes = {
            "POSITION": add(padded, SHORT, "VEC3", VERTICES, **bounds),
            "JOINTS_0": add(mesh.segments.astype("u1"), UNSIGNED_BYTE, "VEC4", VERTICES),
            "WEIGHTS_0": add(
                to_bytes(mesh.weights), UNSIGNED_BYTE, "VEC4", VERTICES, normalized=True
            ),
        }
        indices = add(mesh.triangles.astype("<u2"), UNSIGNED_SHORT, "SCALAR", TRIANGLES)
        written.append(
            {"name": name, "primitives": [{"attributes": attributes, "indices": indices}]}
        )
    nodes: list[dict[str, Any]] = []
    for joint, name in enumerate(skeleton.names):
        w, x, y, z = (float(part) for part in rest.rotations[joint])
        node: dict[str, Any] = {"name": name, "translation": skeleton.offsets[joint].tolist()}
        if w < 1.0:
            node["rotation"] = [x, y, z, w]
        children = np.flatnonzero(np.asarray(skeleton.parents) == joint).tolist()
        nodes.append({**node, **({"children": children} if children else {})})
    roots = np.flatnonzero(np.asarray(skeleton.parents) < 0).tolist()
    for number, entry in enumerate(written):
        roots.append(len(nodes))
        nodes.append({"name": entry["name"], "mesh": number, "skin": 0})
    content = {
        "asset": {"version": "2.0", "generator": "Synovia"},
        "extensionsUsed": ["KHR_mesh_quantization"],
        "extensionsRequired": ["KHR_mesh_quantization"],
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        "skins": [skin],
        "meshes": written,
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data.extend(b"\0" * (-len(data) % 4))
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def to_bytes(weights: Floats) -> Any:
    """Return weights (n, 4) of the sum 1 as bytes of the sum 255."""
    whole = np.round(255.0 * weights).astype(np.int64)
    whole[np.arange(len(whole)), weights.argmax(axis=1)] += 255 - whole.sum(axis=1)
    return whole.astype("u1")


def reorder(mesh: WeightedMesh) -> WeightedMesh:
    """Return the same mesh in an order that compresses well.

    Triangles are visited depth first across edges, and vertices are numbered by their first use.
    """
    triangles = [tuple(row) for row in mesh.triangles.tolist()]
    owner = {edge: t for t, (a, b, c) in enumerate(triangles) for edge in ((a, b), (b, c), (c, a))}
    visited, rows = [False] * len(triangles), []
    for seed in range(len(triangles)):
        stack = [(seed, triangles[seed][0])]
        while stack:
            current, first = stack.pop()
            if visited[current]:
                continue
            visited[current] = True
            at = triangles[current].index(first)
            a, b, c = triangles[current][at:] + triangles[current][:at]
            rows.append((a, b, c))
            across = [(owner.get(edge), edge[0]) for edge in ((b, a), (c, b), (a, c))]
            stack.extend((t, start) for t, start in across if t is not None and not visited[t])
    corners = np.array(rows)
    _, first_use = np.unique(corners, return_index=True)
    used = corners.reshape(-1)[np.sort(first_use)]
    number = np.full(len(mesh.vertices), -1)
    number[used] = np.arange(len(used))
    return WeightedMesh(
        mesh.vertices[used], number[corners], mesh.segments[used], mesh.weights[used]
    )


if __name__ == "__main__":
    main()
