"""How good a family is for a joint: its volume, and what it rejects of frames that it never saw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..arrays import Quats
from ..sampling import flips
from ..takes import Take
from .evidence import THIS, Evidence, evidence_of
from .families import choice_of, fitted
from .messages import Request
from .protocol import Judgement, PartJudgement
from .session import Session

PARTS = 5
"""Into so many pieces, one after the other in time, a single clip is cut."""
FEWEST = 10
"""Frames that a clip needs to be cut."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Evidence without a part of it, and the rotations (n, 4) of that part."""

    rest: Evidence
    left: Quats


def judged(session: Session, asked: Request) -> Judgement | PartJudgement:
    """Return the volume of a joint's limit in a family, and in how many parts it can be judged.

    With a `part`, return instead the share of that part's frames that is outside the limit of the
    others, made in the same way. The mean over all parts is the held-out rejection; each is a
    request of its own, so that a page can stop in between.
    """
    scene, name, choice = session.scene, asked["joint"], choice_of(asked)
    if choice.source == THIS:
        raise ValueError("only what is made from evidence can be judged by evidence left out")
    if name not in scene.model.limits:
        raise ValueError(f"{name} has no limit to judge")
    found = evidence_of(scene, scene.model.limits[name], name, choice.source)
    folds, basis = folds_of(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the limit is made, if it is
        part = asked.get("part")
        if part is None:
            share = fitted(found, choice).volume(4000)
            return {"share": share, "parts": len(folds), "basis": basis}
        if not (isinstance(part, int) and 0 <= part < len(folds)):
            raise ValueError(f"part must be from 0 to {len(folds) - 1}, got {part!r:.60}")
        limit = fitted(folds[part].rest, choice)
        outside = 1.0 - float(limit.contains(folds[part].left).mean())
    return {"outside": outside}


@lru_cache(maxsize=32)
def folds_of(found: Evidence) -> tuple[list[Fold], str]:
    """Return what is left out in turn, and in words what that is: people, clips or times."""
    people = dict.fromkeys(take.performer for take in found.takes)
    clips = dict.fromkeys(take.clip for take in found.takes)
    if len(people) > 1:
        parted = [[take.performer == who for take in found.takes] for who in people]
        return [_fold(found, apart) for apart in parted], f"{len(people)} people"
    if len(clips) > 1:
        parted = [[take.clip == clip for take in found.takes] for clip in clips]
        return [_fold(found, apart) for apart in parted], f"{len(clips)} clips"
    if len(found.takes) != 1 or found.takes[0].thinned:
        return [], "samples of one clip, which cannot be parted in time"
    if len(found.takes[0].rotations) < FEWEST:
        return [], "a clip too short to be cut in parts"
    return list(_in_time(found)), f"{PARTS} parts of this clip"


def _fold(found: Evidence, apart: list[bool]) -> Fold:
    pairs = list(zip(found.takes, apart, strict=True))
    left = [_steady(take) for take, out in pairs if out]
    rest = tuple(take for take, out in pairs if not out)
    return Fold(replace(found, takes=rest), np.concatenate(left))


def _in_time(found: Evidence) -> Iterator[Fold]:
    """Yield the one take without each of its parts: what is before it, and what is after it."""
    (take,) = found.takes
    steady = ~flips(take.rotations, take.frame_time)
    ends = np.linspace(0, len(take.rotations), PARTS + 1).astype(int)
    for start, end in pairwise(ends):
        sides = (take.rotations[:start], take.rotations[end:])
        rest = tuple(replace(take, rotations=side) for side in sides if len(side))
        left = take.rotations[start:end][steady[start:end]]
        yield Fold(replace(found, takes=rest), left if len(left) else take.rotations[start:end])


def _steady(take: Take) -> Quats:
    """Return the rotations of a take, capture flips aside."""
    return (
        take.rotations if take.thinned else take.rotations[~flips(take.rotations, take.frame_time)]
    )


JUDGED = {"judge": judged}
"""What may be asked for, by name."""
