"""LimitLoss: what a pose costs that leaves its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..model import LimitModel, joint_by_joint, pack_limits
from ..population import Source, human_limits
from ..skeleton import lineage, list_names
from . import devices
from .operators import PackedLoss, is_transformed, numbered_distance, numbered_loss
from .registry import number_of
from .rotations import SIZES, Form, multiply, quaternions

Body = Literal["smpl", "smplh", "smplx"]


class LimitLoss(torch.nn.Module):
    """The squared distance by which joints are outside, summed over joints, averaged over poses.

    Parameters
    ----------
    model
        The limits. Those that name an ancestor need the joints between in the poses.
    joints
        Names of the joints in the order in which poses have them; those of the model's skeleton
        unless given. Joints without a limit cost nothing.
    margin
        Radians before the boundary where the cost begins, so that poses keep away from it.
    form
        Of the rotations in a pose: "quaternion", "rotation-vector", "6d" or "matrix".

    Examples
    --------
    >>> loss = LimitLoss(human("smpl"), form="rotation-vector")
    >>> pose = torch.zeros(8, 24, 3)
    >>> pose[:, 4, 0] = -1.5  # knees bent forwards
    >>> loss(pose).item() > 0.5
    True
    """

    def __init__(
        self,
        model: LimitModel,
        joints: Sequence[str] | None = None,
        *,
        margin: float = 0.0,
        form: Form = "quaternion",
    ) -> None:
        super().__init__()
        model = joint_by_joint(model, "LimitLoss")
        if form not in SIZES:
            raise ValueError(f"form must be one of {', '.join(SIZES)}, got {form!r}")
        if not 0.0 <= margin < float("inf"):
            raise ValueError(f"margin must be at least 0 radians and finite, got {margin}")
        self.joints = tuple(model.skeleton.names if joints is None else joints)
        if unknown := [name for name in self.joints if name not in model.skeleton.names]:
            raise ValueError(
                f"no joint {list_names(unknown)}; the limits are for a skeleton with "
                f"{list_names(model.skeleton.names)}"
            )
        if len(set(self.joints)) != len(self.joints):
            raise ValueError(f"joints must differ, got {list_names(self.joints)}")
        self.model, self.margin, self.form = model, margin, form
        place = {name: at for at, name in enumerate(self.joints)}
        self._paths: dict[str, tuple[int, ...]] = {}
        for name in self.joints:
            if name not in model.limits:
                continue
            way = lineage(model.skeleton, name, model.limits[name].relative_to)
            path = [model.skeleton.names[joint] for joint in (*way.between, way.joint)]
            if missing := [each for each in path if each not in place]:
                raise ValueError(
                    f"{name} is measured from {model.limits[name].relative_to}: "
                    f"joints must have {list_names(missing)} too"
                )
            self._paths[name] = tuple(place[each] for each in path)
        if not self._paths:
            raise ValueError(f"none of the joints has a limit: {list_names(self.joints)}")
        limits = [model.limits[name] for name in self._paths]
        self._numbers = [number_of(limit) for limit in limits]
        self._packed: PackedLoss | None = None
        self._number = 0
        if all(limit.compiled for limit in limits):
            offsets, packed = pack_limits(limits)
            paths = np.zeros((len(offsets), 2 + max(map(len, self._paths.values()))), np.int64)
            for row, offset, joints_of in zip(paths, offsets, self._paths.values(), strict=True):
                row[: 2 + len(joints_of)] = offset, len(joints_of), *joints_of
            self._packed = PackedLoss(form, len(self.joints), paths, packed, margin)
            self._number = number_of(self._packed)

    @property
    def limited(self) -> tuple[str, ...]:
        """The names of the joints that have a limit, as `distances` gives them."""
        return tuple(self._paths)

    def distances(self, poses: Tensor) -> Tensor:
        """Return how far outside each limited joint (..., k) is, in radians; at most 0 inside."""
        self._check(poses)
        rotations = quaternions(poses, self.form)
        return torch.stack(
            [
                numbered_distance(_relative(rotations, path), number)
                for path, number in zip(self._paths.values(), self._numbers, strict=True)
            ],
            dim=-1,
        )

    def forward(self, poses: Tensor) -> Tensor:
        """Return the mean over poses (..., J, form) of the squares of what joints are outside by.

        In radians², summed over joints.
        """
        self._check(poses)
        if self._packed is not None and not is_transformed() and not self._stays(poses):
            return numbered_loss(poses, self._number)
        outside = torch.relu(self.distances(poses) + self.margin)
        return outside.square().sum(-1).mean()

    def _stays(self, poses: Tensor) -> bool:
        """Tell whether all limits have operations on the device of poses, and this is another."""
        if devices.on_processor(poses):
            return False
        return all(devices.stays(number, poses.device.type) for number in self._numbers)

    def _check(self, poses: Tensor) -> None:
        size = SIZES[self.form]
        at = -len(size) - 1
        fits = poses.ndim >= -at and poses.shape[at:] == (len(self.joints), *size)
        if not fits or not poses.is_floating_point():
            wanted = ", ".join(map(str, (len(self.joints), *size)))
            raise ValueError(
                f"poses must be floats of shape (..., {wanted}), "
                f"got {poses.dtype} {tuple(poses.shape)}"
            )


def human(body: Body = "smpl", source: Source = "human") -> LimitModel:
    """Return limits of a human in the frames of an SMPL body, by the names of its joints.

    Parameters
    ----------
    body
        "smpl" (24 joints), "smplh" (52) or "smplx" (55).
    source
        "human", "people" or "anatomy"; see `synovia.human_limits`.
    """
    from ..io.smpl import smpl_skeleton

    if body not in get_args(Body):
        raise ValueError(f"body must be one of {', '.join(get_args(Body))}, got {body!r}")
    joints = {"smpl": 24, "smplh": 52, "smplx": 55}[body]
    return human_limits(source=source).on(smpl_skeleton(joints))


def _relative(rotations: Tensor, path: tuple[int, ...]) -> Tensor:
    """Return the product of the rotations of joints, from the outermost ancestor on."""
    turned = rotations[..., path[0], :]
    for joint in path[1:]:
        turned = multiply(turned, rotations[..., joint, :])
    return turned
