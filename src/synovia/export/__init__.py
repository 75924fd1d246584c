"""Limits for engines and editors: one file a target, and `EXPORTERS` the one registry.

What a target cannot say is measured, and told: shares of all rotations, and the largest angle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..components import Figure
from ..model import LimitModel, joint_by_joint, without_limbs
from .coupled import CoupledJoint, coupled_joints, coupled_note, split_model
from .hinged import HingedBody, HingedJoint, Loss, hinged_body, hinged_joint, measure_loss
from .mjcf import mjcf_text
from .opensim import opensim_text
from .pairs import HingedPair
from .tables import TABLES, table_rows, table_text
from .urdf import urdf_text
from .usd import usd_text

Progress = Callable[[Iterable[str]], Iterable[str]]


@dataclass(frozen=True, eq=False)
class Exported:
    """What is to be written, and what each joint gains and loses by it, with a note on it.

    Of the losses, the last `pairs` are of two joints together.
    """

    content: bytes
    losses: dict[str, Loss]
    notes: dict[str, str]
    pairs: int = 0


@dataclass(frozen=True)
class Exporter:
    """A target: what it is, the suffixes that tell it, and how a model is written for it.

    `write` takes the model, the name of what is written, the mass in kilograms, and what shows
    progress over the names of joints.
    """

    about: str
    suffixes: tuple[str, ...]
    write: Callable[[LimitModel, str, float, Progress], Exported]
    has_pairs: bool = False
    """Whether it can say that a joint depends on another."""
    write_curves: Callable[[LimitModel, Figure, str, float, Progress], Exported] | None = None
    """The same where joints that one control of a figure moves become curves of it, if it can."""


def _write_body(
    text: Callable[..., str | bytes],
    slanted: bool,
    model: LimitModel,
    name: str,
    mass: float,
    progress: Progress,
) -> Exported:
    body = hinged_body(model, slanted=slanted, progress=progress)
    written: Any = text(body, name=name, mass=mass)
    content = written if isinstance(written, bytes) else written.encode()
    return Exported(content, body.losses, body.notes, len(body.pairs))


def _write_opensim_curves(
    model: LimitModel, figure: Figure, name: str, mass: float, progress: Progress
) -> Exported:
    others, coupled, losses = split_model(model, figure)
    body = hinged_body(others, slanted=False, progress=progress)
    text = opensim_text(body, name=name, mass=mass, coupled=coupled, losses=losses)
    notes = {name: coupled_note(each, model.limits.get(name)) for name, each in coupled.items()}
    return Exported(text.encode(), body.losses | losses, body.notes | notes)


def _write_table(
    target: str, model: LimitModel, name: str, mass: float, progress: Progress
) -> Exported:
    rows = table_rows(model, target, progress)
    content = table_text(rows, target).encode()
    return Exported(content, {row.name: row.loss for row in rows}, {})


EXPORTERS: dict[str, Exporter] = {
    "mjcf": Exporter(
        "MuJoCo: a body of hinges, tendons for half-spaces",
        (".xml", ".mjcf"),
        partial(_write_body, mjcf_text, True),
        has_pairs=True,
    ),
    "urdf": Exporter(
        "URDF: a body of revolute joints", (".urdf",), partial(_write_body, urdf_text, False)
    ),
    "usd": Exporter(
        "USD: a body of UsdPhysics joints", (".usda",), partial(_write_body, usd_text, False)
    ),
    "opensim": Exporter(
        "OpenSim: a body of CustomJoints with clamped coordinates",
        (".osim",),
        partial(_write_body, opensim_text, False),
        write_curves=_write_opensim_curves,
    ),
    **{
        name: Exporter(f"JSON for {name}: {about}", (f".{name}.json",), partial(_write_table, name))
        for name, (about, _) in TABLES.items()
    },
}
"""Every target by its name."""


def target_of(file: str) -> str | None:
    """Return the target that a file's suffix tells; None if none does."""
    name = file.lower()
    found = [
        (len(suffix), target)
        for target, each in EXPORTERS.items()
        for suffix in each.suffixes
        if name.endswith(suffix)
    ]
    return max(found)[1] if found else None


def export_limits(
    model: LimitModel,
    target: str,
    *,
    name: str = "synovia",
    mass: float = 75.0,
    figure: Figure | None = None,
    progress: Progress = iter,
) -> Exported:
    """Return a model's limits for `target`, one of `EXPORTERS`, and what they gain and lose.

    `mass` is that of the whole body, in kilograms, for targets that have one. Joints that one
    control of `figure` moves, as knees do, become curves of that control: OpenSim knows such.

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
    if target not in EXPORTERS:
        raise ValueError(f"target must be one of {', '.join(EXPORTERS)}, got {target!r}")
    if not 0.0 < mass < 1e6:
        raise ValueError(f"mass must be above 0 kilograms, got {mass}")
    if model.groups or not EXPORTERS[target].has_pairs:
        model = joint_by_joint(model, f"an export to {target}")
    model = without_limbs(model, f"an export to {target}")
    if not model.limits:
        raise ValueError("a model without limits has nothing to export")
    if figure is None:
        return EXPORTERS[target].write(model, name, mass, progress)
    write = EXPORTERS[target].write_curves
    if write is None:
        known = [each for each, exporter in EXPORTERS.items() if exporter.write_curves]
        raise ValueError(f"curves of a figure are for {', '.join(known)}, got the target {target}")
    return write(model, figure, name, mass, progress)


__all__ = [
    "EXPORTERS",
    "CoupledJoint",
    "Exported",
    "Exporter",
    "HingedBody",
    "HingedJoint",
    "HingedPair",
    "Loss",
    "coupled_joints",
    "export_limits",
    "hinged_body",
    "hinged_joint",
    "measure_loss",
    "target_of",
]
