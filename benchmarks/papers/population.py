"""Rejection against volume, for every family of limits and every baseline, by leave-one-out.

    python -m benchmarks.papers.population [DIRECTORY OF CLIPS]

Shoulder and hip of the CMU clips, each performer left out in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from synovia import load_clip, quat
from synovia.evidence import TradeoffCurve, at_rejection, families
from synovia.evidence.study import JointStudy, Study, family_name, growing_limit
from synovia.learn import DEFAULT_WITHIN, FitOptions, Fold, Sample, thin
from synovia.learn.population import estimate_offset, turn_bones

from .tradeoff import BASELINES, at_volume, curves

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "cmu_bvh"
VOLUMES = {"LeftArm": (0.12, 0.21, 0.25, 0.31), "LeftUpLeg": (0.04, 0.08, 0.12, 0.16)}
AIMED = {"LeftArm": 0.25, "LeftUpLeg": 0.12}
"""Volume at which single performers are listed."""
REJECTIONS = (0.05, 0.02, 0.01, 0.005)
REPORTED = {"LeftArm": {0.12: 0.084, 0.21: 0.012, 0.31: 0.0033}}
"""Published rejection of the nearest-frame baseline, by volume."""
SAMPLES = 50_000
MARGINS = np.radians([*range(-30, 0, 5), *range(0, 40, 2), 45.0, 50.0])
"""Margins, in radians, that families are widened by: as many as it takes between these volumes."""


def table(found: Sequence[TradeoffCurve], volumes: Sequence[float]) -> None:
    titles = [f"{100 * v:.0f} %" for v in volumes] + [f"{100 * r:g} %" for r in REJECTIONS]
    print(f"{'':<32}{'rejected (%) at volume':<{8 * len(volumes)}}   volume (%) at rejection")
    print(f"{'':<32}" + "".join(f"{title:>8}" for title in titles))
    for curve in found:
        shares = [at_volume(curve, v) for v in volumes]
        shares += [at_rejection(curve, r) for r in REJECTIONS]
        print(f"{curve.name:<32}" + "".join(f"{100 * share:>8.2f}" for share in shares))


def verdict(found: Sequence[TradeoffCurve], volumes: Sequence[float]) -> None:
    """Print, at each volume, the best family beside the best baseline, and who is below all."""
    ours = [curve for curve in found if curve.name not in BASELINES]
    theirs = [curve for curve in found if curve.name in BASELINES]
    for volume in volumes:
        best, other = (
            min(((at_volume(curve, volume), curve.name) for curve in group), key=_known_first)
            for group in (ours, theirs)
        )
        better = "below every baseline" if best[0] < other[0] else "NOT below"
        print(
            f"  at {100 * volume:.0f} %: {best[1]} {100 * best[0]:.3f} %, "
            f"{other[1]} {100 * other[0]:.3f} %: {better}"
        )
    for curve in ours:
        if all(
            at_volume(curve, volume) < np.nanmin([at_volume(other, volume) for other in theirs])
            for volume in volumes
        ):
            print(f"  below every baseline at all of these: {curve.name}")


def _known_first(pair: tuple[float, str]) -> tuple[bool, float]:
    return bool(np.isnan(pair[0])), pair[0]


def performers(joint: JointStudy, found: Sequence[TradeoffCurve], volume: float) -> None:
    """Print who is outside of the fields near people, at the margin for this volume."""
    for shape, chart in families(["people"]):
        curve = next(curve for curve in found if curve.name == family_name(shape, chart))
        margin = float(np.interp(volume, curve.volume, curve.knobs) - DEFAULT_WITHIN)
        fitted = {
            fold.name: growing_limit(
                joint, FitOptions(shape, chart, margin=0.0), fold, fold.held_out
            ).limit(margin)
            for fold in joint.folds
        }
        volumes = [limit.volume() for limit in fitted.values()]
        print(f"  {curve.name} as fields of 32³, {100 * np.mean(volumes):.1f} % of all rotations:")
        for title, acted in (("as captured", captured), ("calibrated", calibrated)):
            rejected = {
                fold.name: 1.0 - fitted[fold.name].contains(acted(joint, fold)).mean()
                for fold in joint.folds
            }
            shares = list(rejected.values())
            worst = max(rejected, key=rejected.__getitem__)
            print(
                f"    {title}: {100 * np.mean(shares):.2f} % rejected, 95th percentile "
                f"{100 * np.percentile(shares, 95.0):.2f} %, worst {worst} "
                f"{100 * rejected[worst]:.2f} %"
            )


def captured(joint: JointStudy, fold: Fold) -> np.ndarray:
    """Return what those held out did."""
    return fold.held_out


def calibrated(joint: JointStudy, fold: Fold) -> np.ndarray:
    """Return the same with each clip turned back by the offset that their other clips show."""
    samples = []
    for take in fold.rest:
        frames = thin(quat.log(take.rotations), cell=0.05)
        samples.append(Sample(take.clip, take.performer, frames, take.rotations[frames]))
    rest = {id(take) for take in fold.rest}
    own = [take.without_flips() for take in joint.takes if id(take) not in rest]
    found = []
    for k, rotations in enumerate(own):
        others = [path for j, path in enumerate(own) if j != k]
        if others:
            rotations = turn_bones(
                rotations, estimate_offset(np.concatenate(others), samples).vector
            )
        found.append(rotations)
    return np.concatenate(found)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CAPTURES
    files = sorted(folder.rglob("*.bvh")) if folder.is_dir() else []
    if not files:
        print(f"no captures in {folder}: give the directory of the CMU clips (BVH) as an argument")
        return
    clips = [load_clip(path) for path in files]
    study = Study.of(clips)
    frames = sum(clip.frames for clip in clips)
    print(f"{len(clips)} clips, {frames} frames, {len(study.groups)} people, each left out in turn")
    for message in study.duplicates.warnings():
        print(message)
    for joint, volumes in VOLUMES.items():
        start = time.process_time()
        found = curves(clips, joint, margins=MARGINS, samples=SAMPLES)
        print(f"\n{joint} ({time.process_time() - start:.0f} s)")
        table(found, volumes)
        verdict(found, volumes)
        for volume, share in REPORTED.get(joint, {}).items():
            print(f"  reported of the nearest frame at {100 * volume:.0f} %: {100 * share:.2f} %")
        performers(study.joint(joint), found, AIMED[joint])


if __name__ == "__main__":
    main()
