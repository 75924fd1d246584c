"""MJCF (MuJoCo): ranges of joints and tendons, read by MuJoCo itself, which is an extra.

MuJoCo interprets defaults and units. It gets the model as one text, and opens no file. It compiles
nothing, so that meshes need not be there, and ranges may be wrong.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .files import read_file
from .ranges import Coupling, HingeRange, RangedBody, RangesFile
from .xml import Element, format_element, parse_xml

MAX_DEPTH = 200  # bodies within bodies; a human has fewer than 20
_OPENED = ("model", "flexcomp")  # MuJoCo opens the files of these while it parses
_LINE = re.compile(r",? ?line (\d+)")


def read_mjcf_ranges(path: Path) -> RangesFile:
    """Return the bodies of an MJCF model as joints, and the ranges of their hinges and balls."""
    try:
        import mujoco
    except ImportError:
        raise ValueError(
            f"{path}: MuJoCo reads MJCF, and is not installed: pip install 'synovia[mujoco]'"
        ) from None
    tree = _read_tree(path)
    lines = list(_formatted_lines(tree))
    messages: list[str] = []
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(messages.append)  # MuJoCo would write them to MUJOCO_LOG.TXT
    try:
        spec = mujoco.MjSpec.from_string(format_element(tree))
    except (ValueError, mujoco.FatalError) as error:
        source = _find_source(str(error), lines)
        reason = " ".join(_LINE.sub("", str(error)).split())
        raise ValueError(f"{source.path}:{source.line}: MuJoCo cannot read it: {reason}") from None
    finally:
        mujoco.set_mju_user_warning(previous)
    for message in dict.fromkeys(messages):
        warnings.warn(f"{path}: MuJoCo warns: {message}", stacklevel=2)
    return _Spec(spec, mujoco, path, lines).ranges()


def _read_tree(path: Path) -> Element:
    """Return the root of the MJCF file at `path`, with the contents of files that it includes.

    An element keeps the path and the line that it was read from. As in MuJoCo, an included file is
    searched from the folder of the file at `path`, then from that of the file that includes it, and
    is included once. ValueError if it is outside of the folder of the file at `path`, or if an
    element needs another file.
    """
    root = parse_xml(str(path), read_file(path), MAX_DEPTH)
    if root.tag != "mujoco":
        root.fail(f"expected <mujoco>, got <{root.tag}>")
    return replace(root, text="", children=_expand(root, path.parent, {path.resolve()}))


def _expand(element: Element, folder: Path, included: set[Path]) -> list[Element]:
    """Return the children of an element, with the children of the roots of files that it includes.

    `folder` is that of the main file. The files that were read are added to `included`.
    """
    children: list[Element] = []
    for child in element.children:
        if child.tag in _OPENED and "file" in child.attributes:
            child.fail(f"<{child.tag}> must have no file, got {child.attributes['file']!r:.80}")
        if child.tag == "include":
            path = _included_path(child, folder)
            if path.resolve() in included:
                child.fail(f"a file must be included once, got {path.name!r:.80} again")
            included.add(path.resolve())
            root = parse_xml(str(path), read_file(path), MAX_DEPTH)
            children += _expand(root, folder, included)
        else:
            below = _expand(child, folder, included)
            children.append(replace(child, text="", children=below))
    return children


def _included_path(include: Element, folder: Path) -> Path:
    if "file" not in include.attributes:
        include.fail("<include> must have the attribute 'file', got none")
    name = include.attributes["file"]
    paths = [folder / name, Path(include.path).parent / name]
    path = next(filter(Path.exists, paths), paths[0])
    if not path.resolve().is_relative_to(folder.resolve()):
        include.fail(f"an included file must be in the folder of the model, got {name!r:.80}")
    return path


def _formatted_lines(element: Element) -> Iterator[Element]:
    """Yield the element that each line of `format_element(element)` is of."""
    yield element
    for child in element.children:
        yield from _formatted_lines(child)
    if element.children:
        yield element


def _find_source(text: str, lines: Sequence[Element]) -> Element:
    """Return the element of the line that MuJoCo names in `text`; the root if it names none."""
    match = _LINE.search(text)
    return lines[int(match[1]) - 1 if match else 0]


class _Spec:
    """A specification that MuJoCo has read from `lines`, one element each."""

    def __init__(self, spec: Any, mujoco: Any, path: Path, lines: Sequence[Element]) -> None:
        self.spec, self.mujoco, self.path, self.lines = spec, mujoco, path, lines
        self.unit = np.pi / 180.0 if spec.compiler.degree else 1.0

    def ranges(self) -> RangesFile:
        bodies: list[RangedBody] = []
        stack: list[tuple[str | None, Any]]
        stack = [(None, body) for body in reversed(self.spec.worldbody.bodies)]
        while stack:
            parent, body = stack.pop()
            name = body.name or f"body_{len(bodies)}"
            bodies.append(RangedBody(name, parent, *self.placement(body), self.hinges(body, name)))
            stack += [(name, child) for child in reversed(body.bodies)]
        if not bodies:
            self.lines[0].fail("expected a body in <worldbody>, got none")
        hinges = {hinge.name for body in bodies for hinge in body.hinges}
        with self.lines[0].locate_errors():
            return RangesFile.of_bodies(
                self.path,
                bodies,
                "z",
                couplings=tuple(self.couplings(hinges)),
                slants=tuple(self.slants(hinges)),
                degrees=bool(self.spec.compiler.degree),
            )

    def numbers(self, element: Any, what: str, values: Any) -> Floats:
        """Return an element's numbers as an array; ValueError with its place if one is NaN."""
        array = np.array(values, dtype=np.float64)
        if np.isnan(array).any():
            source = self.source(element)
            source.fail(f"<{source.tag}> must have numbers as its {what}, got {array.tolist()}")
        return array

    def placement(self, element: Any) -> tuple[Vectors, Quats]:
        """Return the position (3,) and rotation (4,) of a body or a frame in the parent body."""
        position = self.numbers(element, "pos", element.pos)
        with np.errstate(invalid="ignore"):  # of axes without a length
            rotation = self.numbers(element, "orientation", self.orientation(element))
        if element.frame is None:
            return position, rotation
        offset, frame = self.placement(element.frame)
        return offset + quat.rotate(frame, position), quat.mul(frame, rotation)

    def orientation(self, element: Any) -> Quats:
        """Return the rotation (4,) of a body or a frame in its own frame or its parent."""
        mujoco, alt = self.mujoco, element.alt
        kinds, rotation = mujoco.mjtOrientation, np.array(element.quat, dtype=np.float64)
        if alt.type == kinds.mjORIENTATION_AXISANGLE:
            axis = np.array(alt.axisangle[:3])
            return quat.exp(axis / np.linalg.norm(axis) * alt.axisangle[3] * self.unit)
        if alt.type == kinds.mjORIENTATION_XYAXES:
            x, y = np.array(alt.xyaxes[:3]), np.array(alt.xyaxes[3:])
            z = np.cross(x, y)
            columns = np.stack([x, np.cross(z, x), z], axis=1)
            return quat.from_matrix(columns / np.linalg.norm(columns, axis=0))
        if alt.type == kinds.mjORIENTATION_ZAXIS:
            z = np.array(alt.zaxis)
            return quat.between(np.array([0.0, 0.0, 1.0]), z / np.linalg.norm(z))
        if alt.type == kinds.mjORIENTATION_EULER:
            letters = (chr(c) if isinstance(c, int) else c for c in self.spec.compiler.eulerseq)
            mujoco.mju_euler2Quat(rotation, np.array(alt.euler) * self.unit, "".join(letters))
        return quat.normalize(rotation)

    def hinges(self, body: Any, joint: str) -> list[HingeRange]:
        kinds, hinges = self.mujoco.mjtJoint, []
        for k, hinge in enumerate(body.joints):
            if hinge.type not in (kinds.mjJNT_HINGE, kinds.mjJNT_BALL):
                continue
            ball = hinge.type == kinds.mjJNT_BALL
            low, high = (self.unit * self.numbers(hinge, "range", hinge.range)).tolist()
            zero = 0.0 if ball else self.unit * float(self.numbers(hinge, "ref", hinge.ref))
            if not self.is_limited(hinge.limited, low, high):
                low, high = -np.inf, np.inf
            axis = self.numbers(hinge, "axis", hinge.axis)
            length = float(np.linalg.norm(axis))
            unit = axis / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
            frame = quat.IDENTITY if hinge.frame is None else self.placement(hinge.frame)[1]
            hinges.append(
                HingeRange(
                    hinge.name or f"{joint}_{k + 1}",
                    joint,
                    quat.rotate(frame, unit),
                    low - zero,
                    high - zero,
                    length,
                    self.line(hinge),
                    zero,
                    ball,
                )
            )
        return hinges

    def is_limited(self, limited: Any, low: float, high: float) -> bool:
        kinds = self.mujoco.mjtLimited
        if int(limited) == int(kinds.mjLIMITED_AUTO):
            return bool(self.spec.compiler.autolimits) and (low, high) != (0.0, 0.0)
        return int(limited) == int(kinds.mjLIMITED_TRUE)

    def line(self, element: Any) -> int:
        """Return the line of an element in the model's own file; 0 if an included file has it."""
        source = self.source(element)
        return source.line if source.path == str(self.path) else 0

    def source(self, element: Any) -> Element:
        return _find_source(str(element.info), self.lines)

    def couplings(self, hinges: set[str]) -> Iterator[Coupling]:
        """Yield the active equalities of two hinges: polynomials of degree 4, in radians."""
        for equality in self.spec.equalities:
            driven, driver = equality.name1, equality.name2
            is_joint = equality.type == self.mujoco.mjtEq.mjEQ_JOINT
            if is_joint and equality.active and {driven, driver} <= hinges:
                coefficients = self.numbers(equality, "polycoef", equality.data[:5]).tolist()
                yield Coupling(driven, driver, tuple(coefficients), self.line(equality))

    def slants(self, hinges: set[str]) -> Iterator[tuple[dict[str, float], float, float]]:
        """Yield the limited sums of angles: shares by hinge, and low and high in radians."""
        for tendon in self.spec.tendons:
            low, high = self.numbers(tendon, "range", tendon.range).tolist()
            if not self.is_limited(tendon.limited, low, high):
                continue
            joints = [w for w in tendon.path if w.type == self.mujoco.mjtWrap.mjWRAP_JOINT]
            if any(wrap.target is None for wrap in joints):
                self.source(tendon).fail(
                    f"the tendon {tendon.name!r:.80} must name joints of the model, got another"
                )
            shares = {w.target.name: float(self.numbers(tendon, "coef", w.coef)) for w in joints}
            if shares and set(shares) <= hinges:
                yield shares, low, high
