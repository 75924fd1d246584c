"""Small glTF files that the tests make, and a plain evaluation of their nodes to compare with."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np

CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Builder:
    """A file that grows: nodes, accessors, animations."""

    def __init__(self, **parts):
        self.root = {"asset": {"version": "2.0"}, **parts}
        self.data = bytearray()

    def view(self, content, **more):
        """Add a bufferView; return its number."""
        self.data += bytes(-len(self.data) % 4)
        views = self.root.setdefault("bufferViews", [])
        place = {"byteOffset": len(self.data), "byteLength": len(content)}
        views.append({"buffer": 0, **place, **more})
        self.data += content
        return len(views) - 1

    def accessor(self, values, dtype="f4", bounds=False, **more):
        """Add an accessor of float values (n, width), as normalised integers if asked for."""
        values = np.asarray(values, float)
        values = values.reshape(len(values), -1)
        if dtype != "f4":
            values = np.rint(values * np.iinfo(dtype).max)
            more.setdefault("normalized", True)
        rows = values.astype(f"<{dtype}")
        entry = {"componentType": CODES[dtype], "count": len(rows), "type": KINDS[rows.shape[1]]}
        if bounds:
            entry["min"] = rows.min(0).astype(float).tolist()
            entry["max"] = rows.max(0).astype(float).tolist()
        return self.add({"bufferView": self.view(rows.tobytes()), **entry, **more})

    def add(self, accessor):
        self.root.setdefault("accessors", []).append(accessor)
        return len(self.root["accessors"]) - 1

    def animation(self, name=None, **more):
        found = {"channels": [], "samplers": [], **more}
        if name is not None:
            found["name"] = name
        self.root.setdefault("animations", []).append(found)
        return found

    def channel(self, animation, node, path, times, values, mode=None):
        """Animate a node; times and values are accessors, or what they hold."""
        times = times if isinstance(times, int) else self.accessor(times, bounds=True)
        values = values if isinstance(values, int) else self.accessor(values)
        sampler = {"input": times, "output": values}
        if mode:
            sampler["interpolation"] = mode
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]), "target": target})
        animation["samplers"].append(sampler)

    def glb(self):
        root = dict(self.root)
        chunks = []
        if self.data:
            root.setdefault("buffers", [{"byteLength": len(self.data)}])
            chunks = [(b"BIN\0", bytes(self.data))]
        return glb(json.dumps(root).encode(), *chunks)

    def gltf(self, uri=None):
        """The file as JSON; the buffer inside, unless it has a name."""
        inside = f"data:application/octet-stream;base64,{base64.b64encode(self.data).decode()}"
        buffers = [{"byteLength": len(self.data), "uri": inside if uri is None else uri}]
        return json.dumps({**self.root, "buffers": buffers}, indent=1).encode()


def glb(text, *chunks):
    body = b""
    for kind, payload in [(b"JSON", text), *chunks]:
        payload += (b" " if kind == b"JSON" else b"\0") * (-len(payload) % 4)
        body += struct.pack("<I4s", len(payload), kind) + payload
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def split(content):
    """The JSON and the binary chunk of a GLB."""
    size = struct.unpack_from("<I", content, 12)[0]
    return json.loads(content[20 : 20 + size]), content[28 + size :]


def quats(count, seed, width=0.6):
    """Rotations (n, 4), w last, that wander smoothly."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 3.0, count)[:, None]
    xyz = width * np.sin(t * rng.uniform(0.5, 2.0, 3) + rng.uniform(0.0, 6.0, 3))
    found = np.concatenate([xyz, np.ones((count, 1))], axis=1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def quat(*xyzw):
    return (np.array(xyzw) / np.linalg.norm(xyzw)).tolist()


def chain(**parts):
    """Armature (scaled, turned) > hip > spine > bracket (no joint) > arm > tip; leg beside it.

    The arm's node has a matrix. The armature is not animated, nor is the bracket.
    """
    matrix = np.eye(4)
    matrix[:3, :3] = 0.5 * matrix_of(quat(0.1, 0.5, -0.3, 0.8))
    matrix[:3, 3] = [0.0, 30.0, 2.0]
    nodes = [
        {"name": "Armature", "rotation": quat(-1, 0, 0, 1), "scale": [0.01] * 3, "children": [1]},
        {
            "name": "hip",
            "translation": [0, 5, 90],
            "rotation": quat(1, 0.1, 0, 1),
            "children": [2, 6],
        },
        {
            "name": "spine",
            "translation": [1, 20, 0],
            "rotation": quat(0, 0.2, 0, 1),
            "children": [3],
        },
        {
            "name": "bracket",
            "translation": [0, 10, 3],
            "rotation": quat(0, 0, 1, 1),
            "scale": [2, 2, 2],
            "children": [4],
        },
        {"name": "arm", "matrix": matrix.T.ravel().tolist(), "children": [5]},
        {"name": "tip", "translation": [0, 12, 0]},
        {"name": "leg", "translation": [3, -10, 0], "rotation": quat(0.3, 0, 0, -1)},
    ]
    skins = [{"joints": [1, 2, 4, 6]}]
    return Builder(nodes=nodes, skins=skins, scenes=[{"nodes": [0]}], scene=0, **parts)


FRAMES = 13
TIMES = np.arange(FRAMES) / 24.0


def walking():
    """The chain with two animations: Walk has all ways to hold keys, Wave is plain."""
    made = chain()
    walk, wave = made.animation("Walk"), made.animation("Wave")
    times = made.accessor(TIMES, bounds=True)
    made.channel(walk, 1, "rotation", times, made.accessor(quats(FRAMES, 1), bounds=True))
    swing = np.stack([np.sin(TIMES), 5 + TIMES, 90 + np.cos(TIMES)], axis=1)
    made.channel(walk, 1, "translation", times, swing)
    keys = quats(4, 2)
    tangents = 0.3 * np.diff(quats(5, 3), axis=0)
    spline = np.stack([tangents, keys, -tangents], axis=1).reshape(-1, 4)
    made.channel(walk, 2, "rotation", TIMES[::4], spline, "CUBICSPLINE")
    made.channel(walk, 4, "rotation", TIMES[::6], made.accessor(quats(3, 4)))
    made.channel(walk, 6, "rotation", TIMES[::3], made.accessor(quats(5, 5), "i2"), "STEP")
    for node in (1, 2, 4, 6):
        made.channel(wave, node, "rotation", times, made.accessor(quats(FRAMES, 10 + node)))
    return made


# A plain evaluation


def matrix_of(xyzw):
    x, y, z, w = np.array(xyzw) / np.linalg.norm(xyzw)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def elements(root, data, number):
    """The values of an accessor, as plainly as can be."""
    accessor = root["accessors"][number]
    code = next(name for name, code in CODES.items() if code == accessor["componentType"])
    width = next(width for width, kind in KINDS.items() if kind == accessor["type"])

    def rows(entry, count, code, width):
        view = root["bufferViews"][entry["bufferView"]]
        size = np.dtype(code).itemsize * width
        start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        stride = view.get("byteStride", size)
        return np.array(
            [np.frombuffer(data, f"<{code}", width, start + k * stride) for k in range(count)]
        )

    count = accessor["count"]
    found = (
        rows(accessor, count, code, width) if "bufferView" in accessor else np.zeros((count, width))
    )
    found = found.astype(float)
    return np.maximum(found / np.iinfo(code).max, -1) if accessor.get("normalized") else found


def value_at(times, values, mode, path, t):
    """The value of a sampler at a time, by the formulas of the specification."""
    k = int(np.clip(np.searchsorted(times, t + 1e-6, "right") - 1, 0, len(times) - 1))
    cubic = mode == "CUBICSPLINE"
    keys = values[1::3] if cubic else values
    if path == "rotation" and not cubic:
        keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    if k == len(times) - 1 or t <= times[0] or mode == "STEP" or abs(t - times[k]) < 1e-6:
        found = keys[k]
    else:
        d = times[k + 1] - times[k]
        s = (t - times[k]) / d
        a, b = keys[k], keys[k + 1]
        if cubic:
            found = (
                (2 * s**3 - 3 * s**2 + 1) * a
                + d * (s**3 - 2 * s**2 + s) * values[3 * k + 2]
                + (-2 * s**3 + 3 * s**2) * b
                + d * (s**3 - s**2) * values[3 * k + 3]
            )
        elif path == "rotation":
            cosine = a @ b
            b = b if cosine >= 0 else -b
            angle = np.arccos(min(abs(cosine), 1.0))
            if angle < 1e-9:
                found = a
            else:
                found = (np.sin((1 - s) * angle) * a + np.sin(s * angle) * b) / np.sin(angle)
        else:
            found = (1 - s) * a + s * b
    return found / np.linalg.norm(found) if path == "rotation" else found


def keys_of(root, data, animation):
    """What an animation turns and moves: node, property, mode, times, values."""
    found = []
    for channel in [] if animation is None else root["animations"][animation]["channels"]:
        sampler = root["animations"][animation]["samplers"][channel["sampler"]]
        target = channel["target"]
        if target["path"] in ("rotation", "translation"):
            times = np.round(elements(root, data, sampler["input"])[:, 0] * 720) / 720  # as meant
            values = elements(root, data, sampler["output"])
            mode = sampler.get("interpolation", "LINEAR")
            found.append((target["node"], target["path"], mode, times, values))
    return found


def node_matrices(root, keys, t=0.0):
    """Matrices (nodes, 4, 4) in the world, and the rotations (nodes, 3, 3) alone."""
    moved = {
        (node, path): value_at(times, values, mode, path, t)
        for node, path, mode, times, values in keys
    }
    full = np.tile(np.eye(4), (len(root["nodes"]), 1, 1))
    turns = np.tile(np.eye(3), (len(root["nodes"]), 1, 1))

    def place(number, above, turn):
        node = dict(root["nodes"][number])
        if "matrix" in node:
            matrix = np.array(node["matrix"]).reshape(4, 4).T
            scale = np.linalg.norm(matrix[:3, :3], axis=0)
            node |= {"translation": matrix[:3, 3], "scale": scale}
            rotation = matrix[:3, :3] / scale
        else:
            rotation = matrix_of(node.get("rotation", [0, 0, 0, 1]))
        if (number, "rotation") in moved:
            rotation = matrix_of(moved[number, "rotation"])
        own = np.eye(4)
        own[:3, :3] = rotation * np.array(node.get("scale", [1, 1, 1]))
        own[:3, 3] = moved.get((number, "translation"), node.get("translation", [0, 0, 0]))
        full[number], turns[number] = above @ own, turn @ rotation
        for child in node.get("children", []):
            place(child, full[number], turns[number])

    below = {child for node in root["nodes"] for child in node.get("children", [])}
    for number in set(range(len(root["nodes"]))) - below:
        place(number, np.eye(4), np.eye(3))
    return full, turns


def skinned():
    """The chain's two animations, with a strip of skin from the hip to the arm."""
    made = walking()
    joints = [1, 2, 4, 6]
    matrices = [np.linalg.inv(matrix) for matrix in node_matrices(made.root, [])[0][joints]]
    columns = np.array([matrix.T.ravel() for matrix in matrices])
    made.root["skins"][0]["inverseBindMatrices"] = made.accessor(columns)
    places = node_matrices(made.root, [])[0][[1, 2, 4], :3, 3]
    side = np.array([0.1, 0.0, 0.0])
    corners = np.concatenate([places - side, places + side])
    faces = np.array([0, 3, 1, 1, 3, 4, 1, 4, 2, 2, 4, 5], "<u2")
    index = made.add(
        {
            "bufferView": made.view(faces.tobytes()),
            "componentType": CODES["u2"],
            "count": len(faces),
            "type": "SCALAR",
        }
    )
    owners = np.zeros((6, 4), "<u1")
    owners[:, 0] = [0, 1, 2, 0, 1, 2]
    bones = made.add(
        {
            "bufferView": made.view(owners.tobytes()),
            "componentType": CODES["u1"],
            "count": 6,
            "type": "VEC4",
        }
    )
    weights = made.accessor(np.tile([1.0, 0.0, 0.0, 0.0], (6, 1)))
    position = made.accessor(corners, bounds=True)
    attributes = {"POSITION": position, "JOINTS_0": bones, "WEIGHTS_0": weights}
    made.root["meshes"] = [{"primitives": [{"attributes": attributes, "indices": index}]}]
    made.root["nodes"].append({"name": "skin", "mesh": 0, "skin": 0})
    made.root["scenes"][0]["nodes"].append(len(made.root["nodes"]) - 1)
    return made
