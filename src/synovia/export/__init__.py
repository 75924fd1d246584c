"""Limits for engines and editors. `EXPORTERS` is the registry: one file and one line per target.

What a target cannot express is measured: shares of all rotations, and the largest angle.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..lazy import lazy_getattr

if TYPE_CHECKING:
    from ..components import Figure
    from ..model import LimitModel
    from .hinged import HingedBody, HingedJoint, Loss, hinged_body, hinged_joint, measure_loss

Progress = Callable[[Iterable[str]], Iterable[str]]


@dataclass(frozen=True, eq=False)
class Exported:
    """The bytes of a file, with the loss of each joint and a note about it."""

    content: bytes
    losses: dict[str, Loss]
    notes: dict[str, str]


@dataclass(frozen=True)
class Exporter:
    """A target: its description, the suffixes of its files, and the function that writes them.

    `write` is the function's location as "package.module:name", imported on first use. It takes the
    model, the name of the result, the mass in kilograms and a function that shows progress over the
    names of joints. If the target `has_curves`, it also takes a figure: joints that one of its
    controls moves become curves of that control.
    """

    about: str
    suffixes: tuple[str, ...]
    write: str
    has_curves: bool = False


EXPORTERS: dict[str, Exporter] = {
    "mjcf": Exporter(
        "MuJoCo: a body of hinges, tendons for half-spaces",
        (".xml", ".mjcf"),
        "synovia.export.mjcf:write_mjcf",
    ),
    "urdf": Exporter(
        "URDF: a body of revolute joints", (".urdf",), "synovia.export.urdf:write_urdf"
    ),
    "usd": Exporter("USD: a body of UsdPhysics joints", (".usda",), "synovia.export.usd:write_usd"),
    "opensim": Exporter(
        "OpenSim: a body of CustomJoints with clamped coordinates",
        (".osim",),
        "synovia.export.opensim:write_opensim",
        has_curves=True,
    ),
    "blender": Exporter(
        "JSON for Blender's Limit Rotation: ranges of Euler angles, order XYZ (z · y · x)",
        (".blender.json",),
        "synovia.export.tables:write_blender",
    ),
    "vrm": Exporter(
        "JSON for VRM: ranges of Euler angles from the T-pose, order XYZ",
        (".vrm.json",),
        "synovia.export.tables:write_vrm",
    ),
    "godot": Exporter(
        "JSON for Godot's JointLimitationCone3D: a round cone, no twist",
        (".godot.json",),
        "synovia.export.tables:write_godot",
    ),
    "unity": Exporter(
        "JSON for Unity's Character Joint: an elliptic cone of swings, a range of twist",
        (".unity.json",),
        "synovia.export.tables:write_unity",
    ),
    "physx": Exporter(
        "JSON for PhysX's D6 joint: an elliptic cone of swings, a range of twist",
        (".physx.json",),
        "synovia.export.tables:write_physx",
    ),
}
"""The registry of export targets, by name."""


def target_of(file: str) -> str | None:
    """Return the target of a file by its suffix; None if the suffix is not known."""
    name = file.lower()
    matches = [
        (len(suffix), target)
        for target, exporter in EXPORTERS.items()
        for suffix in exporter.suffixes
        if name.endswith(suffix)
    ]
    return max(matches)[1] if matches else None


def export_limits(
    model: LimitModel,
    target: str,
    *,
    name: str = "synovia",
    mass: float = 75.0,
    figure: Figure | None = None,
    progress: Progress = iter,
) -> Exported:
    """Return a model's limits for `target`, one of `EXPORTERS`, with the losses.

    `mass` is that of the whole body, in kilograms, for targets that have one. Joints that one
    control of `figure` moves, such as knees, become curves of that control, for targets that
    support curves.

    Examples
    --------
    >>> import numpy as np
    >>> from synovia import Box, Limit, LimitModel, RotationVector, Skeleton
    >>> arm = Skeleton(("Upper", "Lower"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]], up="y", unit=1.0)
    >>> elbow = Limit(RotationVector(), Box([0, -0.1, -0.1], [2.4, 0.1, 0.1], np.eye(3)))
    >>> exported = export_limits(LimitModel({"Lower": elbow}, arm), "urdf")
    >>> exported.losses["Lower"].lost < 1e-4
    True
    """
    from ..model import joint_by_joint

    if target not in EXPORTERS:
        raise ValueError(f"target must be one of {', '.join(EXPORTERS)}, got {target!r}")
    if not 0.0 < mass < 1e6:
        raise ValueError(f"mass must be above 0 kilograms, got {mass}")
    exporter = EXPORTERS[target]
    if figure is not None and not exporter.has_curves:
        titles = [title for title, exporter in EXPORTERS.items() if exporter.has_curves]
        raise ValueError(f"curves of a figure are for {', '.join(titles)}, got the target {target}")
    model = joint_by_joint(model, f"an export to {target}")
    if not model.limits:
        raise ValueError("a model without limits has nothing to export")
    write: Callable[..., Exported] = pkgutil.resolve_name(exporter.write)
    return write(model, name, mass, progress, *([] if figure is None else [figure]))


_HINGED = ("HingedBody", "HingedJoint", "Loss", "hinged_body", "hinged_joint", "measure_loss")
__getattr__ = lazy_getattr(__name__, {"hinged": _HINGED})  # the registry does not need them

__all__ = [
    "EXPORTERS",
    "Exported",
    "Exporter",
    "HingedBody",
    "HingedJoint",
    "Loss",
    "export_limits",
    "hinged_body",
    "hinged_joint",
    "measure_loss",
    "target_of",
]
