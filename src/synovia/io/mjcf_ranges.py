"""MJCF (MuJoCo): ranges of joints and tendons, read by MuJoCo itself, which is an extra.

Defaults, includes and units are what MuJoCo takes them for. Nothing is compiled, so that meshes
need not be there, and ranges may be wrong.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Quats, Vectors
from .files import read_file
from .ranges import Coupling, HingeRange, RangesFile, skeleton_at_rest

_LINE = re.compile(r"line (\d+)")


def read_mjcf_ranges(path: Path) -> RangesFile:
    """Return the bodies of an MJCF model as joints, and the ranges of their hinges and balls."""
    try:
        import mujoco
    except ImportError:
        raise ValueError(
            f"{path}: MuJoCo reads MJCF, and is not installed: pip install 'synovia[mujoco]'"
        ) from None
    read_file(path)  # what is no regular file is told as elsewhere
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise ValueError(f"{path}: MuJoCo cannot read it: {error}") from None
    return _Spec(spec, mujoco, path).ranges()


class _Spec:
    """A specification that MuJoCo has read."""

    def __init__(self, spec: Any, mujoco: Any, path: Path) -> None:
        self.spec, self.mujoco, self.path = spec, mujoco, path
        self.unit = np.pi / 180.0 if spec.compiler.degree else 1.0

    def ranges(self) -> RangesFile:
        names: list[str] = []
        parents: list[int] = []
        offsets: list[Vectors] = []
        rest: list[Quats] = []
        hinges: list[HingeRange] = []
        number = {"world": -1}
        for body in self.spec.bodies:
            if body.parent is None:
                continue
            name = body.name or f"body_{len(names)}"
            parent = number.get(body.parent.name, -1)
            around = rest[parent] if parent >= 0 else quat.IDENTITY
            number[name] = len(names)
            names.append(name)
            parents.append(parent)
            offsets.append(quat.rotate(around, np.array(body.pos, dtype=np.float64)))
            rest.append(quat.mul(around, self.orientation(body)))
            hinges += self.hinges(body, name, rest[-1])
        if not names:
            raise ValueError(f"{self.path}: expected a body in <worldbody>, got none")
        skeleton = skeleton_at_rest(names, parents, offsets, rest, "z")
        limited = {hinge.name for hinge in hinges}
        return RangesFile(
            self.path,
            skeleton,
            tuple(hinges),
            tuple(self.couplings(limited)),
            tuple(self.slants(limited)),
            bool(self.spec.compiler.degree),
        )

    def orientation(self, body: Any) -> Quats:
        """Return how a body is turned in its parent, however the file says it."""
        kinds, alt = self.mujoco.mjtOrientation, body.alt
        if alt.type == kinds.mjORIENTATION_AXISANGLE:
            axis = np.array(alt.axisangle[:3])
            return quat.exp(axis / np.linalg.norm(axis) * alt.axisangle[3] * self.unit)
        if alt.type == kinds.mjORIENTATION_XYAXES:
            x, y = np.array(alt.xyaxes[:3]), np.array(alt.xyaxes[3:])
            x = x / np.linalg.norm(x)
            y = y - (x @ y) * x
            y = y / np.linalg.norm(y)
            return quat.from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))
        if alt.type == kinds.mjORIENTATION_ZAXIS:
            z = np.array(alt.zaxis)
            return quat.between(np.array([0.0, 0.0, 1.0]), z / np.linalg.norm(z))
        if alt.type == kinds.mjORIENTATION_EULER:
            return self.euler(np.array(alt.euler) * self.unit)
        return quat.normalize(np.array(body.quat, dtype=np.float64))

    def euler(self, angles: Floats) -> Quats:
        """Return the rotation of Euler angles: small letters are turning axes, capitals fixed."""
        turned = quat.IDENTITY
        sequence = "".join(chr(c) if isinstance(c, int) else c for c in self.spec.compiler.eulerseq)
        for letter, angle in zip(sequence, angles, strict=False):
            turn = quat.exp(angle * np.eye(3)["xyz".index(letter.lower())])
            turned = quat.mul(turned, turn) if letter.islower() else quat.mul(turn, turned)
        return turned

    def hinges(self, body: Any, joint: str, rest: Quats) -> list[HingeRange]:
        kinds, found = self.mujoco.mjtJoint, []
        for k, each in enumerate(body.joints):
            if each.type not in (kinds.mjJNT_HINGE, kinds.mjJNT_BALL):
                continue
            ball = each.type == kinds.mjJNT_BALL
            low, high = (float(end) * self.unit for end in each.range)
            reference = float(each.ref) * self.unit * (not ball)
            if not self.is_limited(each.limited, low, high):
                low, high = -np.inf, np.inf
            axis = np.array(each.axis, dtype=np.float64)
            length = float(np.linalg.norm(axis))
            unit = axis / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
            found.append(
                HingeRange(
                    each.name or f"{joint}_{k + 1}",
                    joint,
                    quat.rotate(rest, unit),
                    low - reference,
                    high - reference,
                    length,
                    self.line(each),
                    reference,
                    ball,
                )
            )
        return found

    def is_limited(self, limited: Any, low: float, high: float) -> bool:
        kinds = self.mujoco.mjtLimited
        if int(limited) == int(kinds.mjLIMITED_AUTO):
            return bool(self.spec.compiler.autolimits) and (low, high) != (0.0, 0.0)
        return int(limited) == int(kinds.mjLIMITED_TRUE)

    @staticmethod
    def line(element: Any) -> int:
        found = _LINE.search(str(element.info))
        return int(found[1]) if found else 0

    def couplings(self, hinges: set[str]) -> list[Coupling]:
        kind = self.mujoco.mjtEq.mjEQ_JOINT
        return [
            Coupling(
                each.name1, each.name2, float(each.data[1]), float(each.data[0]), self.line(each)
            )
            for each in self.spec.equalities
            if each.type == kind and each.name1 in hinges and each.name2 in hinges
        ]

    def slants(self, hinges: set[str]) -> list[tuple[dict[str, float], float, float]]:
        found = []
        for tendon in self.spec.tendons:
            low, high = (float(end) for end in tendon.range)
            if not self.is_limited(tendon.limited, low, high):
                continue
            shares = {
                wrap.target.name: float(wrap.coef)
                for wrap in tendon.path
                if wrap.type == self.mujoco.mjtWrap.mjWRAP_JOINT
            }
            if shares and set(shares) <= hinges:
                found.append((shares, low, high))
        return found
