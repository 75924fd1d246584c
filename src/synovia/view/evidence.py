"""Evidence at the page: what limits can be made from, which is samples kept, or the clip shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..arrays import Vectors
from ..clip import Clip
from ..fitting import Sample, invented_first_frame
from ..learning import bone_axes, takes_of
from ..limit import Limit
from ..sampling import SHARE, Trimmed, trim
from ..skeleton import Skeleton
from ..takes import Take
from .scene import Scene

KEPT, CLIP, THIS = "samples", "clip", "limit"
"""What a limit can be made from: samples that the file of limits kept, the clip, or itself."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Takes of one joint, the share of them that may be dropped, and the direction of its bone."""

    takes: tuple[Take, ...]
    trim: float
    axis: Vectors


def sources_of(scene: Scene, name: str) -> list[tuple[str, str, str | None]]:
    """Return what a joint's limit can be made from: name, label, and why not, if it cannot."""
    kept = kept_of(scene, name)
    people = len({sample.performer for sample in kept})
    frames = scene.clip.frames
    samples = f"kept samples of {people} {'person' if people == 1 else 'people'}"
    return [
        (KEPT, samples, None) if kept else (KEPT, "kept samples", "The limits kept no samples."),
        (CLIP, "the clip", None if frames > 1 else "The clip has one frame."),
        (THIS, "this limit", None),
    ]


def kept_of(scene: Scene, name: str) -> tuple[Sample, ...]:
    """Return the samples that the limits, as they were given, kept of a joint of the clip."""
    if scene.source is None or name not in scene.names:
        return ()
    kept = scene.source.samples.get(scene.names[name], ())
    return tuple(sample for sample in kept if len(sample.rotations))


def evidence_of(scene: Scene, limit: Limit, name: str, source: str) -> Evidence:
    """Return what there is of a joint in samples kept or in the clip, as its limit is measured."""
    why = {known: reason for known, _, reason in sources_of(scene, name)}[source]
    if why is not None:
        raise ValueError(f"{why} Only this limit itself can be made another family.")
    if source == CLIP:
        return _of_clip(scene.clip, name, limit.relative_to)
    assert scene.source is not None  # or nothing would have been kept
    return _of_samples(kept_of(scene, name), scene.source.skeleton, scene.names[name])


@lru_cache(maxsize=32)
def _of_clip(clip: Clip, name: str, ancestor: str | None) -> Evidence:
    above = {} if ancestor is None else {name: ancestor}
    takes = takes_of([clip], [name], None, None, [invented_first_frame(clip)], above)[name]
    return Evidence(tuple(takes), SHARE, bone_axes(clip.skeleton)[clip.skeleton.index(name)])


@lru_cache(maxsize=32)
def _of_samples(samples: Sequence[Sample], skeleton: Skeleton, name: str) -> Evidence:
    """Return samples as takes of which nothing is dropped: what was kept was believed."""
    takes = [
        Take(sample.rotations, 1.0, sample.clip, sample.performer, thinned=True)
        for sample in samples
    ]
    return Evidence(tuple(takes), 0.0, bone_axes(skeleton)[skeleton.index(name)])


@lru_cache(maxsize=32)
def trimmed(found: Evidence) -> Trimmed:
    """Return which frames of the evidence to believe."""
    return trim(found.takes, found.trim)
