"""A population: what others did, as a file of limits keeps it, to be blended with one performer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..skeleton import Skeleton, match, names_in
from .fitting import Sample
from .takes import Take

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

    def join(
        self,
        takes: dict[str, list[Take]],
        skeleton: Skeleton,
        names: Mapping[str, str] | None,
        ancestors: Mapping[str, str],
    ) -> dict[str, Sequence[Sample]]:
        """Add the samples to the `takes` of one performer, by joint, and return what was added.

        Joints are named as in `skeleton`; `names` maps those of the population to them. Both must
        be measured from the same `ancestors`.
        """
        who = {take.performer for each in takes.values() for take in each}
        if len(who) != 1:
            raise ValueError(
                f"one performer is blended with a population, got {', '.join(sorted(who))}; say "
                "who performs in the clips"
            )
        known = names_in(names, self.skeleton)
        found = match(takes, skeleton, self.skeleton, known)
        found.warn("the population")
        added: dict[str, Sequence[Sample]] = {}
        for name, joint in found.joints.items():
            here, there = ancestors.get(name), self.ancestors.get(self.skeleton.names[joint])
            if here != (there and known.get(there, there)):
                raise ValueError(
                    f"{name} is measured from {here or 'its parent'}, and the population's from "
                    f"{there or 'its parent'}: they must be the same to be blended"
                )
            added[name] = self.samples.get(self.skeleton.names[joint], ())
            own = [replace(take, people=OWN_PEOPLE) for take in takes[name]]
            takes[name] = own + [_take(sample, who) for sample in added[name] if len(sample.frames)]
        return added

    def row(self, added: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
        """Return what provenance says of a blend with the samples `added`, by joint."""
        performers = {sample.performer: None for each in added.values() for sample in each}
        return {
            "performers": list(performers),
            "samples": sum(len(sample.frames) for each in added.values() for sample in each),
            "counted_as": OWN_PEOPLE,
            "clips": [dict(clip) for clip in self.clips],
        }


def _take(sample: Sample, own: set[str]) -> Take:
    """Return the sample as a take; the performer's own samples count as their frames do."""
    people = OWN_PEOPLE if sample.performer in own else 1
    # Nobody asks how long a frame of thinned ones lasts.
    return Take(sample.rotations, 1.0, sample.clip, sample.performer, people=people, thinned=True)
