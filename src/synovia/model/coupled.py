"""Coupled: joints whose limits depend on the rotation of another joint, the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from .. import kernels, quat
from ..arrays import Quats, Scalars
from ..charts import RotationVector
from ..limit import DependentLimit, Limit
from ..limit.softening import Softening
from ..shapes import Box
from ..skeleton import Lineage, Skeleton
from .constraint import Carried, Constraint, JointLimit, carry_limits
from .limb import Limb
from .placed import Placed
from .report import NEGLIGIBLE, Held

MAX_DRAWS = 60  # rotations drawn for each one requested, before a sample is given up
VOLUME_DRAWS = 20_000  # samples for a share of the volume


@dataclass(frozen=True, eq=False)
class Coupled(Constraint):
    """A driver with its own limit, if it has one, and the followers whose limits depend on it.

    The driver is first in all arrays, then the followers in order. `project` moves the driver and
    its followers to the nearest legal rotations together; `distance` and `violation` of a follower
    take the driver as it is.

    Examples
    --------
    >>> from synovia import Box, RotationVector
    >>> from synovia.limit import DependentRange, Limit
    >>> hip = Limit(RotationVector(), Box(low=[-1, -1, -1], high=[1, 1, 1], axes=np.eye(3)))
    >>> bend = Limit(RotationVector(), Box(low=[0, 0, 0], high=[2.4, 0, 0], axes=np.eye(3)))
    >>> # Nodes are -x, -y, -z, z, y and x: a leg that hangs down bends less than one forward.
    >>> high = [2.0, 1.4, 2.0, 2.4, 2.0, 2.0]
    >>> knee = DependentRange(bend, "Hip", [0, -1, 0], [0] * 6, high, [1, 0, 0])
    >>> pair = Coupled("Hip", hip, {"Knee": knee})
    >>> straight, bent = [1.0, 0.0, 0.0, 0.0], [np.cos(1.0), np.sin(1.0), 0.0, 0.0]
    >>> pair.contains(np.array([[straight, straight], [straight, bent]]))
    array([ True, False])
    """

    driver: str
    driver_limit: Limit | None
    followers: Mapping[str, DependentLimit]

    kind: ClassVar[str] = "coupled limit"

    def __post_init__(self) -> None:
        if not self.followers:
            raise ValueError(f"Coupled.followers of {self.driver} must not be empty")
        for name, dependent in self.followers.items():
            if dependent.driver != self.driver:
                raise ValueError(f"{name} must depend on {self.driver}, got {dependent.driver}")
        object.__setattr__(self, "followers", MappingProxyType(dict(self.followers)))

    @property
    def measured_from(self) -> Mapping[str, str | None]:
        above = None if self.driver_limit is None else self.driver_limit.relative_to
        return {
            self.driver: above,
            **{name: dependent.limit.relative_to for name, dependent in self.followers.items()},
        }

    @property
    def limits(self) -> dict[str, Limit]:
        """The limits of the joints by themselves: what each may do whatever the others do."""
        own = {} if self.driver_limit is None else {self.driver: self.driver_limit}
        return {**own, **{name: dependent.limit for name, dependent in self.followers.items()}}

    def check(self, skeleton: Skeleton) -> None:
        super().check(skeleton)
        above = skeleton.path_to_root(skeleton.index(self.driver))
        for name in self.followers:
            if skeleton.index(name) in above:
                raise ValueError(
                    f"{name} must depend on a joint above it or beside it, got {self.driver}"
                )

    def distance(self, rotations: Quats) -> Scalars:
        return self._measure("distance", rotations, -np.inf)

    def violation(self, rotations: Quats) -> Scalars:
        return self._measure("violation", rotations, 0.0)

    def _measure(self, verb: str, rotations: Quats, without_limit: float) -> Scalars:
        """Return the values (..., k) of a verb of limits; `without_limit` for a free driver."""
        driver, own = rotations[..., 0, :], self.driver_limit
        followers = [
            getattr(dependent, verb)(rotation, driver)
            for dependent, rotation in self._followers(rotations)
        ]
        free = np.full_like(followers[0], without_limit)
        first = free if own is None else getattr(own, verb)(driver)
        return np.stack([first, *followers], axis=-1)

    def nearest_rotations(self, rotations: Quats) -> Quats:
        driver, own = rotations[..., 0, :], self.driver_limit
        followers = [
            dependent.nearest_rotation(rotation, driver)
            for dependent, rotation in self._followers(rotations)
        ]
        first = driver if own is None else own.nearest_rotation(driver)
        return np.stack([first, *followers], axis=-2)

    def _followers(self, rotations: Quats) -> list[tuple[DependentLimit, Quats]]:
        """Return the followers with their rotations (..., 4)."""
        dependents = list(self.followers.values())
        return [(dependent, rotations[..., k + 1, :]) for k, dependent in enumerate(dependents)]

    def project(self, rotations: Quats) -> Quats:
        """Return the nearest legal rotations of the driver and its followers.

        The sum of squared distances of all joints, each in its limit's chart, is smallest. For one
        follower it is at most 2 % and a tenth of a degree farther than the nearest, if the
        driver's limit has a kernel and the families' own projections are exact. Legal rotations
        come back bit for bit.

        At a given rotation of the driver, the best rotation of a follower is the nearest one that
        is legal there. So the search, `kernels.pair`, is over rotations of the driver alone.
        """
        flat = np.array(rotations).reshape(-1, *rotations.shape[-2:])
        illegal = ~self.contains(flat)
        if illegal.any():
            flat[illegal] = self._nearest(flat[illegal])
        return flat.reshape(rotations.shape)

    def _nearest(self, rotations: Quats) -> Quats:
        """Return the nearest legal rotations (n, k, 4) of illegal ones."""
        source, limit = np.ascontiguousarray(rotations[:, 0], np.float64), self.driver_limit
        followers = self._followers(rotations)
        measured = [dependent.measure(rotation) for dependent, rotation in followers]
        rows = [numbers.reshape(len(numbers), -1) for numbers in measured]
        driver: Quats = np.empty_like(source)
        kernels.pair.search(
            source,
            np.empty(0) if limit is None else limit.stand_in.packed,
            np.concatenate([dependent.packed for dependent, _ in followers]),
            np.ascontiguousarray(np.hstack(rows)),
            np.array([row.shape[1] for row in rows]),
            driver,
        )
        if limit is not None and not limit.compiled:
            driver = limit.project(driver)
        opposite = np.sum(driver * source, axis=-1, keepdims=True) < 0.0
        driver = np.where(opposite, -driver, driver)
        others = [dependent.project(rotation, driver) for dependent, rotation in followers]
        return np.stack([driver, *others], axis=-2)

    def soften(self, rotations: Quats, softening: Softening) -> Quats:
        driver = rotations[..., 0, :]
        if self.driver_limit is not None:
            driver = self.driver_limit.soften(driver, softening)
        followers = [
            dependent.project(dependent.limit.soften(rotation, softening), driver)
            for dependent, rotation in self._followers(rotations)
        ]
        return np.stack([driver, *followers], axis=-2)

    def sample(self, n: int, rng: np.random.Generator, rest: Quats) -> Quats:
        own = self.driver_limit
        if own is None:  # the driver stays at rest
            own = Limit(RotationVector(rest[0]), Box(np.zeros(3), np.zeros(3), np.eye(3)))
        batches: list[Quats] = [np.empty((0, 1 + len(self.followers), 4))]
        drawn = 0
        while sum(map(len, batches)) < n:
            if drawn > MAX_DRAWS * max(n, VOLUME_DRAWS):
                raise ValueError(
                    "hardly any rotations are legal together: none are drawn at random"
                )
            rotations = self._draw(own, 2 * n + 64, rng)
            batches.append(rotations[self.contains(rotations)])
            drawn += len(rotations)
        return np.concatenate(batches)[:n]

    def _draw(self, driver: Limit | None, n: int, rng: np.random.Generator) -> Quats:
        """Return `n` rotations (n, k, 4), uniformly distributed in each joint's own limit."""
        free = quat.normalize(rng.normal(size=(n, 4))) if driver is None else driver.sample(n, rng)
        followers = [dependent.limit.sample(n, rng) for dependent in self.followers.values()]
        return np.stack([free, *followers], axis=1)

    def share_of_product(self, samples: int = VOLUME_DRAWS, seed: int = 0) -> float:
        """Return the share of legal rotations among those legal for each joint by itself."""
        drawn = self._draw(self.driver_limit, samples, np.random.default_rng(seed))
        return float(self.contains(drawn).mean())

    def held_frames(self, rotations: Quats, violation: Scalars) -> dict[str, Held]:
        held = {}
        for k, (name, dependent) in enumerate(self.followers.items()):
            legal_alone = dependent.limit.contains(rotations[:, k + 1])
            held[name] = Held(self.driver, (violation[:, k + 1] > NEGLIGIBLE) & legal_alone)
        return held

    def on(self, skeleton: Skeleton, found: Mapping[str, Lineage]) -> Carried:
        """Return the followers that the skeleton has; by themselves where it has no driver."""
        present = {name: each for name, each in self.followers.items() if name in found}
        limits = carry_limits(self.limits, skeleton, found)
        names = {name: skeleton.names[target.joint] for name, target in found.items()}
        if self.driver in found and present:
            driver = names[self.driver]
            followers = {
                names[name]: replace(dependent, limit=limits[names[name]], driver=driver)
                for name, dependent in present.items()
            }
            return Carried((Coupled(driver, limits.get(driver), followers),))
        alone = tuple(JointLimit(*each) for each in limits.items())
        if not present:
            return Carried(alone)
        loss = f"limits that depend on {self.driver}, which is not here, are as wide as they get"
        return Carried(alone, loss, tuple(present))


def couple(
    limits: Mapping[str, Limit],
    dependents: Mapping[str, DependentLimit],
    limbs: Sequence[Limb] = (),
) -> tuple[Constraint, ...]:
    """Return the constraints for limits by joint. Some of these may depend on other joints.

    Parameters
    ----------
    limits
        The limit of each joint, whatever others do.
    dependents
        By joint, how its limit depends on another one; its own `limit` is replaced by the one in
        `limits`. ValueError where the joint has none there, or its driver is a follower itself.
    limbs
        Joints that share twist. Their limits are replaced by those given; limbs without limits
        of both bones are left out. ValueError if a joint of a limb is among `dependents`.
    """
    kept = [there for limb in limbs if (there := limb.rebuild(limits)) is not None]
    in_limbs = {name for limb in kept for name in limb.joints}
    followers: dict[str, dict[str, DependentLimit]] = {}
    for name, dependent in dependents.items():
        driver = dependent.driver
        if name in in_limbs:
            raise ValueError(f"{name} is in a limb: it must not depend on {driver}")
        if name not in limits:
            raise ValueError(f"{name} depends on {driver}, but has no limit of its own")
        if driver in dependents:
            raise ValueError(
                f"{name} depends on {driver}, which depends on {dependents[driver].driver} itself: "
                "one of the two must not"
            )
        same = dependent.limit is limits[name]
        followers.setdefault(driver, {})[name] = (
            dependent if same else replace(dependent, limit=limits[name])
        )
    constraints: list[Constraint] = [
        JointLimit(name, limit)
        for name, limit in limits.items()
        if name not in dependents and name not in followers and name not in in_limbs
    ]
    constraints += [Coupled(name, limits.get(name), each) for name, each in followers.items()]
    return (*constraints, *kept)


def check_across(skeleton: Skeleton, placed: Sequence[Placed]) -> None:
    """Raise ValueError if a limit is measured across a joint of a `Coupled`."""
    pairs = [each.constraint for each in placed if isinstance(each.constraint, Coupled)]
    coupled = {name for pair in pairs for name in pair.joints}
    for each in placed:
        across = [skeleton.names[joint] for joint in sorted(each.between)]
        if mixed := [name for name in across if name in coupled]:
            raise ValueError(
                f"{each.constraint.joints[-1]} is measured across {', '.join(mixed)}, which "
                "must not depend on another joint then, nor drive one"
            )
