"""The joints of a glTF file: their nodes, and the rest pose of these.

A rotation r of a joint's node becomes G · r · r_rest⁻¹ · G⁻¹, where G is the rotation in the world,
at rest, of the node above. A translation t becomes base + L · t, where L is the linear part of the
node above at rest, scales included: lengths are those of the world. This is exact where L is a
rotation times one scale, mirrored or not. Below any other scale it is exact if the joint does not
rotate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ... import kernels
from ...arrays import Floats, Ints, Mask, Quats, Vectors
from ...quat import IDENTITY, from_matrix, inverse, mul, normalize, to_matrix
from ...schema import decode, located, quote_value
from ...skeleton import Skeleton
from ..skeletons import depth_first
from .document import Document, Gltf, HumanBone, Node, Vrm, fail

MAX_UNEVEN = 1e-3  # relative difference of scales along the axes: exporters have noise
MIN_SCALE = 1e-9
MAX_NUMBER = 1e12  # larger lengths and scales are taken for mistakes
VRM_EXTENSIONS = ("VRM", "VRMC_vrm", "VRMC_vrm_animation")
HUMAN_BONES_0: Any = tuple[HumanBone, ...]  # VRM 0.x
HUMAN_BONES_1: Any = dict[str, HumanBone]
END = "_end"  # suffix of the names of tips of bones, as exporters write it


@dataclass(frozen=True, eq=False)
class GltfRig:
    """The joints of a file in the order of its skeleton.

    `nodes` are their numbers in the file, `above` (J, 4) the rotation of the node above each in the
    world at rest, `rests` (J, 4) the rotation of each in that frame. `bases` (J, 3) and `linears`
    (J, 3, 3) lead from translations to positions. `uneven` (J,) marks joints that
    a scale above keeps from rotating rigidly. `humanoid` has the joints that a VRM names, by bone.
    """

    skeleton: Skeleton
    nodes: tuple[int, ...]
    above: Quats
    rests: Quats
    bases: Vectors
    linears: Floats
    scales: Vectors
    uneven: Mask
    humanoid: Mapping[str, str]

    def aligned(self, joint: int, rotations: Quats) -> Quats:
        """Return rotations (..., 4) of a joint's node as a clip has them."""
        above = self.above[joint]
        back = inverse(mul(above, self.rests[joint]))
        # The products before and after each rotation are constant: together, one linear map.
        return np.asarray(rotations @ mul(mul(above, np.eye(4)), back))

    def local(self, joint: int, rotations: Quats) -> Quats:
        """Return rotations (..., 4) of a joint in a clip as the joint's node has them."""
        above = self.above[joint]
        return mul(mul(inverse(above), rotations), mul(above, self.rests[joint]))

    def positions(self, joint: int, translations: Vectors) -> Vectors:
        """Return translations (..., 3) of a joint's node as positions in a clip."""
        return np.asarray(translations @ self.linears[joint].T + self.bases[joint])

    def local_positions(self, joint: int, positions: Vectors) -> Vectors:
        """Return positions (..., 3) of a joint in a clip as translations of its node."""
        return np.linalg.solve(self.linears[joint], (positions - self.bases[joint]).T).T


def read_rig(document: Document) -> GltfRig:
    """Return the joints: those of skins and of a humanoid, else animated nodes."""
    gltf = document.gltf
    parents = _parents(gltf.nodes)
    order = _depth_first(gltf.nodes, parents)
    moving = animated_nodes(gltf)
    humanoid = _humanoid(gltf)
    skinned = {joint for skin in gltf.skins for joint in skin.joints}
    marked = skinned | set(humanoid.values()) or moving
    if not marked:
        raise ValueError("skins: expected a skin, a humanoid or animated nodes, got none of them")
    on_path = _ancestors(marked, parents)
    joints = [node for node in order if node in marked or (node in on_path and node in moving)]
    path = [node for node in order if node in on_path]
    return _rig(gltf.nodes, path, joints, parents, humanoid)


def animated_nodes(gltf: Gltf) -> set[int]:
    """Return the nodes that an animation rotates or moves."""
    targets = [channel.target for animation in gltf.animations for channel in animation.channels]
    return {
        target.node
        for target in targets
        if target.node is not None and target.path in ("rotation", "translation")
    }


def unique_names(names: Iterable[tuple[int, str]], kind: str) -> list[str]:
    """Return unique names of numbered items; items without a name are named by their number."""
    unique: dict[str, None] = {}
    ends: dict[str, int] = {}
    for number, name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            fail(f"{kind}s[{number}].name", "text of whole Unicode characters", ascii(name))
        name = plain = name or f"{kind} {number}"
        while name in unique:
            ends[plain] = ends.get(plain, 1) + 1
            name = f"{plain} ({ends[plain]})"
        unique[name] = None
    return list(unique)


def _parents(nodes: Sequence[Node]) -> list[int]:
    """Return the node above each node, -1 at the top."""
    parents = [-1] * len(nodes)
    for number, node in enumerate(nodes):
        for k, child in enumerate(node.children):
            if parents[child] >= 0:
                rule = "a node that no other has as its child"
                fail(f"nodes[{number}].children[{k}]", rule, child)
            parents[child] = number
    return parents


def _depth_first(nodes: Sequence[Node], parents: list[int]) -> list[int]:
    """Return all nodes, each before its children; ValueError where nodes form a circle."""
    roots = [node for node, parent in enumerate(parents) if parent < 0]
    order = list(depth_first(roots, lambda node: nodes[node].children))
    if len(order) < len(nodes):
        node = min(set(range(len(nodes))) - set(order))
        for _ in nodes:  # ends within the circle
            node = parents[node]
        rule = "nodes that are not above this one"
        fail(f"nodes[{node}].children", rule, list(nodes[node].children))
    return order


def _ancestors(nodes: Iterable[int], parents: list[int]) -> set[int]:
    """Return `nodes` and their ancestors."""
    ancestors: set[int] = set()
    for node in nodes:
        while node >= 0 and node not in ancestors:
            ancestors.add(node)
            node = parents[node]
    return ancestors


def _rig(
    nodes: Sequence[Node],
    path: list[int],
    joints: list[int],
    parents: list[int],
    humanoid: Mapping[str, int],
) -> GltfRig:
    """Return the rig of `joints`, where `path` are the joints and the nodes above, top first."""
    row = {-1: -1} | {node: number for number, node in enumerate(path)}
    above = np.array([row[parents[node]] for node in path])
    linears, points, frames, rotations, scales = _world(nodes, path, above)
    joint_of = {node: number for number, node in enumerate(joints)}
    carrier = {-1: -1}  # the joint that each node moves with
    for node in path:
        carrier[node] = joint_of.get(node, carrier[parents[node]])
    parent = np.array([carrier[parents[node]] for node in joints])
    rows = np.array([row[node] for node in joints])
    rows_above = above[rows]
    origins = np.where((parent >= 0)[:, None], points[rows][parent], 0.0)
    names = unique_names([(node, nodes[node].name) for node in joints], "node")
    end_parents, end_offsets = _ends(nodes, joints, set(path), linears[rows])
    skeleton = Skeleton(
        tuple(names),
        parent,
        points[rows] - origins,
        end_parents=np.array(end_parents, dtype=np.int64),
        end_offsets=np.array(end_offsets).reshape(-1, 3),
        rest_rotations=frames[rows],
        up="y",
        unit=1.0,
    )
    return GltfRig(
        skeleton,
        tuple(joints),
        above=frames[rows_above],
        rests=rotations[rows],
        bases=points[rows_above] - origins,
        linears=linears[rows_above],
        scales=scales[rows],
        uneven=_uneven(linears[rows_above]),
        humanoid={bone: names[joint_of[node]] for bone, node in humanoid.items()},
    )


def node_transform(nodes: Sequence[Node], number: int) -> tuple[Vectors, Quats, Vectors]:
    """Return translation, rotation (w first, unit) and scale of a node, from a matrix too."""
    node, location = nodes[number], f"nodes[{number}]"
    if node.matrix is not None:
        return _decompose(f"{location}.matrix", node.matrix)
    length = np.linalg.norm(node.rotation)
    if not 0.5 < length < 2.0:
        fail(f"{location}.rotation", "a unit quaternion", node.rotation.tolist())
    if not np.abs(node.scale).min() >= MIN_SCALE:
        rule = f"scales of at least {MIN_SCALE} at a joint and above"
        fail(f"{location}.scale", rule, node.scale.tolist())
    return node.translation, node.rotation[[3, 0, 1, 2]] / length, node.scale


def _decompose(location: str, columns: Floats) -> tuple[Vectors, Quats, Vectors]:
    """Return translation, rotation and scale of a matrix, columns first, that is made of these."""
    matrix = columns.reshape(4, 4).T
    linear = matrix[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    if not scale.min() >= MIN_SCALE or matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        got = quote_value(columns.tolist())
        fail(location, "a matrix of translation, rotation and scale", got)
    scale[0] *= np.sign(np.linalg.det(linear / scale)) or 1.0
    axes = linear / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > MAX_UNEVEN:
        fail(location, "a matrix without shear", quote_value(columns.tolist()))
    return matrix[:3, 3], normalize(from_matrix(axes)), scale


def _world(
    nodes: Sequence[Node], path: list[int], above: Ints
) -> tuple[Floats, Vectors, Quats, Quats, Vectors]:
    """Return where the nodes of a path are at rest, and the rotations and scales they have.

    These are the linear part (n + 1, 3, 3), position (n + 1, 3) and rotation (n + 1, 4) of each
    node in the world, and rotation (n, 4) and scale (n, 3) relative to the node above, which has
    the index `above`. The last row is the world, which is above roots.
    """
    moves, rotations, scales = (
        np.array(parts) for parts in zip(*(node_transform(nodes, n) for n in path), strict=True)
    )
    local = to_matrix(rotations) * scales[:, None, :]
    linears, points = np.tile(np.eye(3), (len(path) + 1, 1, 1)), np.zeros((len(path) + 1, 3))
    for number, parent in enumerate(above.tolist()):
        points[number] = points[parent] + linears[parent] @ moves[number]
        linears[number] = linears[parent] @ local[number]
        size = np.abs(linears[number]).max()
        if not (1.0 / MAX_NUMBER < size < MAX_NUMBER and np.abs(points[number]).max() < MAX_NUMBER):
            fail(f"nodes[{path[number]}]", f"scales and places up to {MAX_NUMBER:g}", "beyond")
    # A mirror becomes a rotation by π: rotations below it are seen from its other side.
    signs = np.sign(scales)
    signs *= np.prod(signs, axis=-1, keepdims=True)
    is_even = (signs > 0).all(-1, keepdims=True)
    mirrors = np.concatenate([is_even, (signs > 0) & ~is_even], -1).astype(float)
    frames = np.ascontiguousarray(mul(rotations, mirrors))[None]
    kernels.vector.forward(above, frames, np.zeros((1, len(above), 3)))
    frames = np.append(normalize(frames[0]), [IDENTITY], 0)
    return linears, points, frames, rotations, scales


def _uneven(linears: Floats) -> Mask:
    """Return which linear parts (n, 3, 3) are not a rotation times one scale, mirrored or not."""
    gram = np.swapaxes(linears, -1, -2) @ linears
    size = np.trace(gram, axis1=-2, axis2=-1)[:, None, None] / 3
    return np.asarray((np.abs(gram - size * np.eye(3)) > 2 * MAX_UNEVEN * size).any((-2, -1)))


def refuse_uneven(node: int) -> NoReturn:
    """Raise ValueError about a node that a scale above it keeps from rotating rigidly."""
    rule = "one scale for all axes of each node above, since it rotates"
    fail(f"nodes[{node}]", rule, "different ones")


def _ends(
    nodes: Sequence[Node], joints: list[int], path: set[int], linears: Floats
) -> tuple[list[int], list[Vectors]]:
    """Return the joints with end sites, and the offsets (3,) of these.

    End sites are bare nodes without children: at the last joint of a chain, or named `..._end`.
    """
    parents, offsets = [], []
    for number, joint in enumerate(joints):
        children = nodes[joint].children
        is_last = path.isdisjoint(children)
        for child in children:
            node = nodes[child]
            content = (node.mesh, node.camera, node.skin, node.extensions)
            is_bare = not node.children and all(part is None for part in content)
            is_named = node.name.lower().endswith(END)
            if child not in path and is_bare and (is_last or is_named):
                translation = node.translation if node.matrix is None else node.matrix[12:15]
                parents.append(number)
                offsets.append(linears[number] @ translation)
    return parents, offsets


def _humanoid(gltf: Gltf) -> dict[str, int]:
    """Return the nodes of the bones that a VRM or VRMA file names."""
    bones: dict[str, int] = {}
    for name in VRM_EXTENSIONS:
        if name not in gltf.extensions:
            continue
        with located("extensions", name):
            humanoid = decode(Vrm, gltf.extensions[name]).humanoid
        if humanoid is None:
            continue
        entries: Any = humanoid.human_bones
        with located("extensions", name, "humanoid", "humanBones"):
            if isinstance(entries, list):
                bones |= {entry.bone: entry.node for entry in decode(HUMAN_BONES_0, entries)}
            else:
                by_name = decode(HUMAN_BONES_1, entries)
                bones |= {bone: entry.node for bone, entry in by_name.items()}
    if wrong := [node for node in bones.values() if node >= len(gltf.nodes)]:
        fail("humanBones", f"the index of one of {len(gltf.nodes)} nodes", wrong[0])
    return bones
