"""Populations: observations of other performers, to blend with one performer or to calibrate one.

Markers and skeletons are set up a little differently for everybody, which offsets each joint of a
performer by a constant rotation. Calibration estimates that offset by rotating the performer's
frames until they lie where most people's do. The score of a rotation is the share of people who
come near it.

The estimate is a maximum a posteriori estimate. Offsets have a normal prior. The log-likelihood is
the mean log score of the frames times the number of independent frames. That number is chosen such
that the gradients of parts of the clips vary as the curvature predicts (for a likelihood both are
the Fisher information). The uncertainty is the inverse curvature plus that of the population mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import quat
from ..arrays import Floats, Ints, Points, Quats, Scalars, evenly_spaced
from ..skeleton import Clip, Skeleton, match, names_in
from .takes import Progress, Sample, Take, flips, invented_first_frame
from .trimming import chord_of, rotation_tree, thin

OWN_PEOPLE = 20  # number of people that a performer blended with a population counts for
WIDTH = np.radians(8.0)  # radians; standard deviation of the kernel around a person's samples
CUTOFF = np.radians(18.0)  # radians; the kernel is 0 beyond
SAMPLES_PER_PERSON = 10.0  # total kernel weight from which a person counts fully
FLOOR = 1e-3  # added to the score, so that its logarithm is finite
OFFSET_SPREAD = np.radians(5.0)  # radians about each axis; prior of offsets, habits included
MAX_OFFSET = 4.0 * OFFSET_SPREAD  # radians; range of the search
PARTS = 10  # consecutive parts of the clips, whose gradients are compared
STEPS = np.radians([4.0, 2.0, 1.0, 0.5])  # radians; steps of the pattern search
DIFFERENCE = np.radians(2.0)  # radians; step of finite differences
CELL = 0.1  # radians; frames are thinned to one in each cell
MAX_FRAMES = 250  # of a performer; more do not improve the estimate


@dataclass(frozen=True, eq=False)
class Population:
    """Samples by joint name of the skeleton, and provenance of their clips."""

    skeleton: Skeleton
    samples: Mapping[str, Sequence[Sample]]
    clips: Sequence[Mapping[str, Any]]
    ancestors: Mapping[str, str] = field(default_factory=dict)
    """Ancestors from which joints are measured, by joint, if it is not the parent."""

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
        """Return one performer's takes by joint, extended by the samples, and the samples added.

        Joints are named as in `skeleton`; `names` maps those of the population to them. The
        performer counts for `OWN_PEOPLE` people, also in the population's samples of the same
        performer. ValueError for several performers, or if joints are measured from other
        `ancestors` than in the population.
        """
        performers = {take.performer for joint_takes in takes.values() for take in joint_takes}
        if len(performers) != 1:
            raise ValueError(
                f"one performer is blended with a population, got {', '.join(sorted(performers))}; "
                "say who performs in the clips"
            )
        mapped = names_in(names, self.skeleton)
        matched = match(takes, skeleton, self.skeleton, mapped)
        matched.warn("the population")
        blended = {name: list(joint_takes) for name, joint_takes in takes.items()}
        added: dict[str, Sequence[Sample]] = {}
        for name, joint in matched.joints.items():
            ancestor, theirs = ancestors.get(name), self.ancestors.get(self.skeleton.names[joint])
            if ancestor != (theirs and mapped.get(theirs, theirs)):
                raise ValueError(
                    f"{name} is measured from {ancestor or 'its parent'}, and the population's "
                    f"from {theirs or 'its parent'}: they must be the same to be blended"
                )
            added[name] = self.samples.get(self.skeleton.names[joint], ())
            blended[name] = [replace(take, person_count=OWN_PEOPLE) for take in takes[name]] + [
                sample.take(OWN_PEOPLE if sample.performer in performers else 1)
                for sample in added[name]
                if len(sample.frames)
            ]
        return blended, added

    def provenance(self, added: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
        """Return the provenance of a blend with the samples `added`, by joint."""
        added_samples = [sample for samples in added.values() for sample in samples]
        performers = {sample.performer: None for sample in added_samples}
        return {
            "performers": list(performers),
            "samples": sum(len(sample.frames) for sample in added_samples),
            "counted_as": OWN_PEOPLE,
            "clips": [dict(clip) for clip in self.clips],
        }


@dataclass(frozen=True, eq=False)
class Offset:
    """Constant offset of a performer's joint."""

    vector: Points
    """(3,): rotation vector that corrects captured rotations, radians."""
    covariance: Floats
    """(3, 3): of the error of the vector, radians squared."""

    @property
    def angle(self) -> float:
        """Angle of the correction, radians."""
        return float(np.linalg.norm(self.vector))

    @property
    def uncertainty(self) -> float:
        """Root mean square error of the estimate, radians."""
        return float(np.sqrt(np.trace(self.covariance)))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Offsets of a performer's joints, by joint names of the population."""

    offsets: Mapping[str, Offset]
    population: Population

    def apply(self, clip: Clip, *, names: Mapping[str, str] | None = None) -> Clip:
        """Return a corrected copy of `clip`; `names` maps its joint names to the population's."""
        matched = match(self.offsets, self.population.skeleton, clip.skeleton, names)
        rotations = clip.pose.rotations.copy()
        for name, joint in matched.joints.items():
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
    """Return the offsets of one performer's joints relative to a population.

    Joints without frames or samples get none. ValueError if there are no clips, or if the
    population does not have a joint.

    Parameters
    ----------
    clips
        Clips of the performer, other than those to correct.
    population
        Observations of others; see `LimitModel.population`.
    joints
        Joint names of the population; by default all with samples.
    names
        Joint names of the clips, mapped to those of the population.
    progress
        Receives the names of the joints and yields them one by one.
    """
    if not clips:
        raise ValueError("a calibration needs clips of the performer, got none")
    wanted = list(joints) if joints is not None else list(population.samples)
    for name in wanted:
        population.skeleton.index(name)
    observed: dict[str, list[Quats]] = {name: [] for name in wanted}
    for clip in clips:
        mapped = names_in(names, clip.skeleton)
        first = int(invented_first_frame(clip))
        matched = match(wanted, population.skeleton, clip.skeleton, mapped)
        for name, line in matched.lineages(population.ancestors, clip.name).items():
            path = line.relative_rotation(clip.pose.rotations[first:])
            observed[name].append(path[~flips(path, clip.frame_time)])
    offsets = {}
    for name in progress(wanted):
        rotations = np.concatenate([np.empty((0, 4)), *observed[name]])
        samples = [s for s in population.samples.get(name, ()) if len(s.rotations)]
        if len(rotations) and samples:
            offsets[name] = estimate_offset(rotations, samples)
    return Calibration(offsets, population)


def estimate_offset(rotations: Quats, samples: Sequence[Sample]) -> Offset:
    """Return the offset of `rotations` (n, 4), in order of time, relative to samples."""
    objective = OffsetObjective.of(_thin_evenly(rotations), samples)
    independent = float(min(PARTS, len(objective.frames)))
    for _ in range(2):
        vector = most_probable(objective, independent)
        curvature, variance = objective.information(vector)
        if variance > 0.0:
            estimate = float(np.trace(curvature)) / variance
            independent = float(np.clip(estimate, 1.0, len(objective.frames)))
    covariance = np.linalg.inv(independent * curvature + np.eye(3) / OFFSET_SPREAD**2)
    # The population's mean offset is itself uncertain.
    covariance += np.eye(3) * OFFSET_SPREAD**2 / objective.person_count
    for array in (vector, covariance):
        array.flags.writeable = False
    return Offset(vector, covariance)


def most_probable(objective: OffsetObjective, independent: float) -> Points:
    """Return the most probable rotation vector (3,) of an offset, radians, by pattern search.

    `independent` is the number of independent frames.
    """

    def value_of(vector: Points) -> float:
        log_prior = -0.5 * float(vector @ vector) / float(OFFSET_SPREAD) ** 2
        return independent * float(objective.log_scores(vector).mean()) + log_prior

    best, value = np.zeros(3), value_of(np.zeros(3))
    for step in STEPS.tolist():
        improved = True
        while improved:
            improved = False
            for move in step * np.concatenate([np.eye(3), -np.eye(3)]):
                candidate = best + move
                if np.linalg.norm(candidate) > MAX_OFFSET:
                    continue
                if (candidate_value := value_of(candidate)) > value + 1e-9:
                    best, value, improved = candidate, candidate_value, True
    return best


def turn_bones(rotations: Quats, vector: Points) -> Quats:
    """Return rotations (..., 4) followed by a rotation vector (3,) in the bone's frame."""
    return quat.mul(rotations, quat.exp(vector)).astype(rotations.dtype)


@dataclass(frozen=True, eq=False)
class OffsetObjective:
    """Scores of a performer's frames under an offset, from pairs of nearby frames and samples."""

    frames: Quats
    paired_samples: Quats
    """(pairs, 4): the sample of each pair."""
    frame_indices: Ints
    """(pairs,)"""
    person_indices: Ints
    """(pairs,)"""
    person_count: int

    @classmethod
    def of(cls, frames: Quats, samples: Sequence[Sample]) -> OffsetObjective:
        """Return the pairs of frames and samples that the largest offset can bring together."""
        names, number = np.unique([sample.performer for sample in samples], return_inverse=True)
        parts = [_thin_evenly(sample.rotations, most=None) for sample in samples]
        rotations = np.concatenate(parts)
        person_of = np.repeat(number, [len(part) for part in parts])
        nearby = rotation_tree(rotations).query_ball_point(frames, chord_of(CUTOFF + MAX_OFFSET))
        frame_of = np.repeat(np.arange(len(frames)), [len(indices) for indices in nearby])
        hits = np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, nearby)]).astype(int)
        hits %= len(rotations)  # the tree contains the rotations with both signs
        return cls(frames, rotations[hits], frame_of, person_of[hits], len(names))

    def score(self, vector: Points) -> Scalars:
        """Return the share (frames,) of people near each frame after the offset `vector`.

        A person counts partly if their samples have little total kernel weight.
        """
        moved = turn_bones(self.frames, vector)
        cosine = np.abs(np.einsum("ij,ij->i", moved[self.frame_indices], self.paired_samples))
        angle = 2.0 * np.arccos(np.minimum(cosine, 1.0))
        weight = np.where(angle < CUTOFF, np.exp(-0.5 * np.square(angle / WIDTH)), 0.0)
        pair = self.frame_indices * self.person_count + self.person_indices
        size = len(self.frames) * self.person_count
        support = np.bincount(pair, weight, minlength=size) / SAMPLES_PER_PERSON
        return np.asarray(np.minimum(support, 1.0).reshape(-1, self.person_count).mean(axis=1))

    def log_scores(self, vector: Points) -> Scalars:
        """Return the log score (frames,) of each frame after the offset `vector`."""
        return np.asarray(np.log(self.score(vector) + FLOOR))

    def information(self, vector: Points) -> tuple[Floats, float]:
        """Return curvature and variance of the mean log score at `vector`.

        Returns
        -------
        curvature
            (3, 3): negative Hessian, projected to positive semidefinite matrices.
        variance
            Of the gradient over parts of the clips, summed over axes; 0 for one part.
        """
        steps = DIFFERENCE * np.eye(3)
        ahead, behind = (
            np.stack([self.log_scores(vector + sign * step) for step in steps]) for sign in (1, -1)
        )
        parts = np.array_split((ahead - behind) / (2.0 * DIFFERENCE), PARTS, axis=1)
        gradients = np.stack([part.mean(axis=1) for part in parts if part.shape[1]])
        variance = gradients.var(axis=0, ddof=1).sum() / len(gradients) if len(gradients) > 1 else 0
        middle = float(self.log_scores(vector).mean())
        hessian = np.diag(ahead.mean(axis=1) + behind.mean(axis=1) - 2.0 * middle)
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
    """Return the first rotation of each cell, or at most `most` of these, evenly spaced."""
    thinned: Quats = rotations[thin(quat.log(rotations), cell=CELL)]
    return thinned if most is None else np.asarray(thinned[evenly_spaced(len(thinned), most)])
