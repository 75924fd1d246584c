"""LimitLoss: a differentiable penalty on poses outside their limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from ..model import LimitModel, joint_by_joint, without_limbs
from ..population import Source, human_limits
from ..skeleton import lineage, list_names
from .operators import JointLimits, distances_by_id, id_of
from .rotations import SIZES, Form, multiply, quaternions

Body = Literal["smpl", "smplh", "smplx"]


class LimitLoss(torch.nn.Module):
    """The squared distances outside the limits, summed over joints and averaged over poses.

    The joints of a `Limb` are limited one by one: twist that the limb may share costs something
    here, and the muscles that span two joints cost nothing.

    Parameters
    ----------
    model
        The limits. A limit measured from an ancestor needs the joints between them in the poses.
    joints
        Names of the joints in the order of the poses; by default those of the model's skeleton.
        Joints without a limit cost nothing.
    margin
        Radians inside the boundary at which the cost begins, so that poses keep away from it.
    form
        Form of the rotations in a pose: "quaternion", "rotation-vector", "6d" or "matrix".
    usual_weight
        Weight of the same cost for the model's usual limits, if it has some (`LimitModel.usual`),
        relative to that of the possible ones. 0 leaves them out.

    Examples
    --------
    >>> loss = LimitLoss(human("smpl"), form="rotation-vector", usual_weight=0.1)
    >>> pose = torch.zeros(8, 24, 3)
    >>> pose[:, 4, 0] = -1.5  # left knee bent forwards
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
        usual_weight: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0.0 <= usual_weight < float("inf"):
            raise ValueError(f"usual_weight must be at least 0 and finite, got {usual_weight}")
        if usual_weight and model.usual is None:
            raise ValueError("usual_weight needs a model with usual limits, got one without")
        self.usual_weight = usual_weight
        self.usual: LimitLoss | None = None
        if usual_weight and model.usual is not None:
            self.usual = LimitLoss(model.usual, joints, margin=margin, form=form)
        model = joint_by_joint(without_limbs(model), "LimitLoss")
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
        index = {name: k for k, name in enumerate(self.joints)}
        self._paths: dict[str, tuple[int, ...]] = {}
        for name in self.joints:
            if name not in model.limits:
                continue
            ancestors = lineage(model.skeleton, name, model.limits[name].relative_to)
            path = [model.skeleton.names[k] for k in (*ancestors.between, ancestors.joint)]
            if missing := [each for each in path if each not in index]:
                raise ValueError(
                    f"{name} is measured from {model.limits[name].relative_to}: "
                    f"joints must have {list_names(missing)} too"
                )
            self._paths[name] = tuple(index[each] for each in path)
        if not self._paths:
            raise ValueError(f"none of the joints has a limit: {list_names(self.joints)}")
        used = sorted({joint for path in self._paths.values() for joint in path})
        longest = max(map(len, self._paths.values()))
        rows = [
            [*map(used.index, path), *[len(used)] * (longest - len(path))]
            for path in self._paths.values()
        ]
        self._used, self._rows = torch.tensor(used), torch.tensor(rows)
        self._limits = JointLimits(tuple(model.limits[name] for name in self._paths))
        self._id = id_of(self._limits)

    @property
    def limited(self) -> tuple[str, ...]:
        """Names of the joints that have a limit, in the order of `distances`."""
        return tuple(self._paths)

    def distances(self, poses: Tensor) -> Tensor:
        """Return the signed distances (..., k) of the limited joints, radians; at most 0 inside."""
        return self._distances(poses, -np.inf)

    def forward(self, poses: Tensor) -> Tensor:
        """Return the loss of poses (..., J, form), in radians²: a scalar.

        The cost of the usual limits is weighted by `usual_weight`.
        """
        outside = torch.relu(self._distances(poses, -self.margin) + self.margin)
        cost: Tensor = outside.square().sum(-1).mean()
        return cost if self.usual is None else cost + self.usual_weight * self.usual(poses)

    def _distances(self, poses: Tensor, least: float) -> Tensor:
        """Return as `distances`, with gradients only of distances above `least`."""
        size = SIZES[self.form]
        at = -len(size) - 1
        fits = poses.ndim >= -at and poses.shape[at:] == (len(self.joints), *size)
        if not fits or not poses.is_floating_point():
            wanted = ", ".join(map(str, (len(self.joints), *size)))
            raise ValueError(
                f"poses must be floats of shape (..., {wanted}), "
                f"got {poses.dtype} {tuple(poses.shape)}"
            )
        return distances_by_id(self._relative_rotations(poses), self._id, least)

    def _relative_rotations(self, poses: Tensor) -> Tensor:
        """Return the unit quaternions (..., k, 4) that the limits measure, as products of joints'.

        Row k of `_rows` has the joints of a product, as indices into `_used`; the index beyond
        those stands for the identity.
        """
        used = poses.index_select(-1 - len(SIZES[self.form]), self._used.to(poses.device))
        rotations = quaternions(used, self.form)
        identity = rotations.new_tensor([1.0, 0.0, 0.0, 0.0])
        identity = identity.expand(*rotations.shape[:-2], 1, 4)
        rotations = torch.cat([rotations, identity], dim=-2)
        factors = [rotations[..., column, :] for column in self._rows.to(poses.device).unbind(-1)]
        return reduce(multiply, factors)


def human(body: Body = "smpl", source: Source = "human") -> LimitModel:
    """Return limits of a human in the frames of an SMPL body, by the names of its joints.

    Parameters
    ----------
    body
        "smpl" (24 joints), "smplh" (52) or "smplx" (55).
    source
        "human", "possible", "usual" or "anatomy"; see `synovia.human_limits`.
    """
    from ..io.smpl import smpl_skeleton

    if body not in get_args(Body):
        raise ValueError(f"body must be one of {', '.join(get_args(Body))}, got {body!r}")
    joints = {"smpl": 24, "smplh": 52, "smplx": 55}[body]
    return human_limits(source=source).on(smpl_skeleton(joints))
