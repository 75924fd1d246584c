"""Populations: what others did, as a file of limits keeps it, beside one performer.

A performer is blended with a population where both make one limit, see `LimitModel.fit`.

A performer is calibrated by it: markers and skeletons are set up a little differently for
everybody, which turns a joint by the same rotation in all of a performer's clips. That is estimated
by turning the performer's rotations until they lie where most people's do: the score of a rotation
is the share of people who come near it, each counted by how much and at most once.

The estimate is the most probable offset. The mean logarithm of the score over the clips counts as
often as there are independent frames; how many that are is told by how parts of the clips disagree:
were all frames independent, the gradient of the mean would vary from part to part as much as its
curvature says (for a likelihood both are Fisher's information). Offsets have a normal distribution
beforehand. The uncertainty is that of the curvature of both together, and that of where so few
people have the joint on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Points, Quats, Scalars
from ..skeleton import Clip, Skeleton, match, names_in
from .takes import Progress, Sample, Take, flips, invented_first_frame
from .trimming import thin

OWN_PEOPLE = 20
"""How many people a performer counts for who is blended with a population."""


@dataclass(frozen=True, eq=False)
class Population:
    """Samples by joint, of the skeleton's names, and the clips they are from."""

    skeleton: Skeleton
    samples: Mapping[str, Sequence[Sample]]
    clips: Sequence[Mapping[str, Any]]
    ancestors: Mapping[str, str] = field(default_factory=dict)
    """What joints are measured from, by joint, where that is not the parent."""

    def __post_init__(self) -> None:
        if not any(self.samples.values()):
            raise ValueError(
                "a population must have kept what was observed: fit it with keep_samples "
                "(--keep-samples)"
            )

    def blend(
        self,
        takes: Mapping[str, Sequence[Take]],
        skeleton: Skeleton,
        names: Mapping[str, str] | None,
        ancestors: Mapping[str, str],
    ) -> tuple[dict[str, list[Take]], dict[str, Sequence[Sample]]]:
        """Return one performer's takes, by joint, together with the samples, and what was added.

        Joints are named as in `skeleton`; `names` maps those of the population to them. Both must
        be measured from the same `ancestors`. The performer counts for many people, in samples of
        their own too.
        """
        performers = {take.performer for each in takes.values() for take in each}
        if len(performers) != 1:
            raise ValueError(
                f"one performer is blended with a population, got {', '.join(sorted(performers))}; "
                "say who performs in the clips"
            )
        known = names_in(names, self.skeleton)
        found = match(takes, skeleton, self.skeleton, known)
        found.warn("the population")
        blended = {name: list(own) for name, own in takes.items()}
        added: dict[str, Sequence[Sample]] = {}
        for name, joint in found.joints.items():
            here, there = ancestors.get(name), self.ancestors.get(self.skeleton.names[joint])
            if here != (there and known.get(there, there)):
                raise ValueError(
                    f"{name} is measured from {here or 'its parent'}, and the population's from "
                    f"{there or 'its parent'}: they must be the same to be blended"
                )
            added[name] = self.samples.get(self.skeleton.names[joint], ())
            blended[name] = [replace(take, person_count=OWN_PEOPLE) for take in takes[name]] + [
                sample.take(OWN_PEOPLE if sample.performer in performers else 1)
                for sample in added[name]
                if len(sample.frames)
            ]
        return blended, added

    def provenance(self, added: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
        """Return what provenance says of a blend with the samples `added`, by joint."""
        performers = {sample.performer: None for each in added.values() for sample in each}
        return {
            "performers": list(performers),
            "samples": sum(len(sample.frames) for each in added.values() for sample in each),
            "counted_as": OWN_PEOPLE,
            "clips": [dict(clip) for clip in self.clips],
        }


# Calibration: by which constant rotation a performer's joints are off.


WIDTH, CUTOFF = np.radians(8.0), np.radians(18.0)
"""The spread of a person's nearness, in radians, and where it ends."""
SAMPLES_PER_PERSON = 10.0
"""Samples nearby, as many as this together, make one person."""
FLOOR = 1e-3
"""The share of people who come near everything, so that the score has a logarithm."""
OFFSET_SPREAD = np.radians(5.0)
"""Standard deviation of offsets about each axis, in radians, habits included."""
MAX_OFFSET = np.radians(20.0)
"""Offsets are searched for up to four times that, in radians."""
PARTS = 10
"""Parts of the clips, one after another, that tell how many frames are independent."""
STEPS = np.radians([4.0, 2.0, 1.0, 0.5])
"""Steps of the search, in radians."""
DIFFERENCE = np.radians(2.0)
"""Derivatives are from differences of so many radians."""
CELL, MAX_FRAMES = 0.1, 250
"""Frames are thinned to one in a cell of so many radians, and to so many."""


@dataclass(frozen=True, eq=False)
class Offset:
    """By what a performer's joint is off: `vector` turns what was captured back, in radians."""

    vector: Points
    covariance: Floats
    """Of the error of the vector, in radians squared: (3, 3)."""
    gain: float
    """How much the mean logarithm of the score grows."""

    @property
    def angle(self) -> float:
        """The size, in radians."""
        return float(np.linalg.norm(self.vector))

    @property
    def uncertainty(self) -> float:
        """The angle, in radians, that the estimate is off by: root mean square."""
        return float(np.sqrt(np.trace(self.covariance)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """The offsets of a performer's joints, by the names of the joints of the population."""

    offsets: Mapping[str, Offset]
    population: Population

    def apply(self, clip: Clip, *, names: Mapping[str, str] | None = None) -> Clip:
        """Return the clip with its joints turned back; `names` maps its joints to these."""
        found = match(self.offsets, self.population.skeleton, clip.skeleton, names)
        rotations = clip.pose.rotations.copy()
        for name, joint in found.joints.items():
            rotations[:, joint] = turn_bones(rotations[:, joint], self.offsets[name].vector)
        return replace(clip, pose=clip.pose.with_rotations(rotations))


def calibrate(
    clips: Sequence[Clip],
    population: Population,
    *,
    joints: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress = iter,
) -> Calibration:
    """Return the offsets of one performer's joints from where most people have them.

    Parameters
    ----------
    clips
        Clips of the performer, other ones than those that are to be turned back.
    population
        What others did, see `LimitModel.population`.
    joints
        The joints to look at, by the population's names; all that have samples unless given.
    names
        Names of the clips' joints, mapped to those of the population.
    progress
        Is given the names of the joints, and gives them back one by one.
    """
    if not clips:
        raise ValueError("a calibration needs clips of the performer, got none")
    wanted = list(joints) if joints is not None else list(population.samples)
    for name in wanted:
        population.skeleton.index(name)
    observed: dict[str, list[Quats]] = {name: [] for name in wanted}
    for clip in clips:
        known = names_in(names, clip.skeleton)
        first = int(invented_first_frame(clip))
        found = match(wanted, population.skeleton, clip.skeleton, known)
        for name, way in found.lineages(population.ancestors, clip.name).items():
            path = way.relative_rotation(clip.pose.rotations[first:])
            observed[name].append(path[~flips(path, clip.frame_time)])
    offsets = {}
    for name in progress(wanted):
        rotations = np.concatenate([np.empty((0, 4)), *observed[name]])
        samples = [each for each in population.samples.get(name, ()) if len(each.rotations)]
        if len(rotations) and samples:
            offsets[name] = estimate_offset(rotations, samples)
    return Calibration(offsets, population)


def estimate_offset(rotations: Quats, samples: Sequence[Sample]) -> Offset:
    """Return the most probable offset of `rotations` (n, 4), in order of time, from samples."""
    objective = OffsetObjective.of(_thin_evenly(rotations), samples)
    independent = float(min(PARTS, len(objective.frames)))
    for _ in range(2):
        vector = most_probable(objective, independent)
        curvature, variance = objective.information(vector)
        if variance > 0.0:
            found = float(np.trace(curvature)) / variance
            independent = float(np.clip(found, 1.0, len(objective.frames)))
    covariance = np.linalg.inv(independent * curvature + np.eye(3) / OFFSET_SPREAD**2)
    # Where people's joints are is known only as well as the mean of so many offsets.
    covariance += np.eye(3) * OFFSET_SPREAD**2 / objective.person_count
    for array in (vector, covariance):
        array.flags.writeable = False
    gain = objective.log_scores(vector).mean() - objective.log_scores(np.zeros(3)).mean()
    return Offset(vector, covariance, float(gain))


def most_probable(objective: OffsetObjective, independent: float) -> Points:
    """Return the most probable offset, of frames of which so many are independent."""

    def value_of(vector: Points) -> float:
        surprise = 0.5 * float(vector @ vector) / float(OFFSET_SPREAD) ** 2
        return independent * float(objective.log_scores(vector).mean()) - surprise

    best, value = np.zeros(3), value_of(np.zeros(3))
    for step in STEPS.tolist():
        improved = True
        while improved:
            improved = False
            for move in step * np.concatenate([np.eye(3), -np.eye(3)]):
                candidate = best + move
                if np.linalg.norm(candidate) > MAX_OFFSET:
                    continue
                if (found := value_of(candidate)) > value + 1e-9:
                    best, value, improved = candidate, found, True
    return best


def turn_bones(rotations: Quats, vector: Points) -> Quats:
    """Return rotations with the bone turned by a rotation vector in its own frame."""
    return quat.mul(rotations, quat.exp(vector)).astype(rotations.dtype)


@dataclass(frozen=True, eq=False)
class OffsetObjective:
    """How many people come near: frames of a performer, and samples within an offset's reach."""

    frames: Quats
    paired_samples: Quats
    """The sample of each pair: (pairs, 4)."""
    frame_indices: Ints
    person_indices: Ints
    person_count: int

    @classmethod
    def of(cls, frames: Quats, samples: Sequence[Sample]) -> OffsetObjective:
        """Return the pairs of frames and samples within reach of the largest offset."""
        from scipy.spatial import cKDTree

        names, number = np.unique([sample.performer for sample in samples], return_inverse=True)
        rotations = [_thin_evenly(sample.rotations, most=None) for sample in samples]
        every = np.concatenate(rotations)
        who = np.repeat(number, [len(each) for each in rotations])
        chord = 2.0 * np.sin((CUTOFF + MAX_OFFSET) / 4.0)
        tree = cKDTree(np.concatenate([every, -every]))
        found = tree.query_ball_point(frames, chord)
        frame_of = np.repeat(np.arange(len(frames)), [len(each) for each in found])
        hits = np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, found)]).astype(int)
        return cls(frames, every[hits % len(every)], frame_of, who[hits % len(every)], len(names))

    def score(self, vector: Points) -> Scalars:
        """Return the share of people near each frame, once turned by `vector`: (frames,)."""
        moved = turn_bones(self.frames, vector)
        cosine = np.abs(np.einsum("ij,ij->i", moved[self.frame_indices], self.paired_samples))
        angle = 2.0 * np.arccos(np.minimum(cosine, 1.0))
        weight = np.where(angle < CUTOFF, np.exp(-0.5 * np.square(angle / WIDTH)), 0.0)
        pair = self.frame_indices * self.person_count + self.person_indices
        size = len(self.frames) * self.person_count
        near = np.bincount(pair, weight, minlength=size) / SAMPLES_PER_PERSON
        return np.asarray(np.minimum(near, 1.0).reshape(-1, self.person_count).mean(axis=1))

    def log_scores(self, vector: Points) -> Scalars:
        """Return the logarithm of the score of each frame, once turned by `vector`: (frames,)."""
        return np.asarray(np.log(self.score(vector) + FLOOR))

    def information(self, vector: Points) -> tuple[Floats, float]:
        """Return what the frames tell of an offset near `vector`, by the mean of `log_scores`.

        Returns
        -------
        curvature
            Minus the second derivatives, (3, 3), directions of growth aside.
        variance
            Of the gradient, summed over its axes, as parts of the clips have it; 0 of one part.
        """
        steps = DIFFERENCE * np.eye(3)
        ahead, behind = (
            np.stack([self.log_scores(vector + sign * step) for step in steps]) for sign in (1, -1)
        )
        parts = np.array_split((ahead - behind) / (2.0 * DIFFERENCE), PARTS, axis=1)
        gradients = np.stack([part.mean(axis=1) for part in parts if part.shape[1]])
        variance = gradients.var(axis=0, ddof=1).sum() / len(gradients) if len(gradients) > 1 else 0
        here = float(self.log_scores(vector).mean())
        hessian = np.diag(ahead.mean(axis=1) + behind.mean(axis=1) - 2.0 * here)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            corners = [
                a * b * float(self.log_scores(vector + a * steps[i] + b * steps[j]).mean())
                for a in (1, -1)
                for b in (1, -1)
            ]
            hessian[i, j] = hessian[j, i] = 0.25 * sum(corners)
        sizes, axes = np.linalg.eigh(-hessian / DIFFERENCE**2)
        return axes * np.maximum(sizes, 0.0) @ axes.T, float(variance)


def _thin_evenly(rotations: Quats, most: int | None = MAX_FRAMES) -> Quats:
    """Return one rotation in each cell, at most `most`, spread over all of them."""
    kept: Quats = rotations[thin(quat.log(rotations), cell=CELL)]
    if most is None or len(kept) <= most:
        return kept
    return np.asarray(kept[np.linspace(0, len(kept) - 1, most).astype(int)])
