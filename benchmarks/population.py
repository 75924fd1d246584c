"""Who is rejected, for how much room: every family of limits and every baseline, people left out.

    python benchmarks/population.py [DIRECTORY OF CLIPS]

A study, not a test: shoulder and hip of the CMU clips, each performer left out in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from synovia import load_clip
from synovia.evidence import BASELINES, Curve, at_rejection, at_volume, curves
from synovia.evidence.folds import Study

CAPTURES = Path(__file__).parents[2] / "shared" / "data" / "cmu_bvh"
VOLUMES = {"LeftArm": (0.12, 0.21, 0.25, 0.31), "LeftUpLeg": (0.04, 0.08, 0.12, 0.16)}
REJECTIONS = (0.05, 0.02, 0.01, 0.005)
REPORTED = {"LeftArm": {0.12: 0.084, 0.21: 0.012, 0.31: 0.0033}}
"""What the nearest frame was reported to reject, by volume."""
SAMPLES = 50_000


def table(found: Sequence[Curve], volumes: Sequence[float]) -> None:
    titles = [f"{100 * v:.0f} %" for v in volumes] + [f"{100 * r:g} %" for r in REJECTIONS]
    print(f"{'':<32}{'rejected (%) at volume':<{8 * len(volumes)}}   volume (%) at rejection")
    print(f"{'':<32}" + "".join(f"{title:>8}" for title in titles))
    for curve in found:
        shares = [at_volume(curve, v) for v in volumes]
        shares += [at_rejection(curve, r) for r in REJECTIONS]
        print(f"{curve.name:<32}" + "".join(f"{100 * share:>8.2f}" for share in shares))


def verdict(found: Sequence[Curve], volumes: Sequence[float]) -> None:
    """Print, at each volume, the best family beside the best baseline."""
    baselines = {kind.name for kind in BASELINES}
    for volume in volumes:
        shares = {curve.name: at_volume(curve, volume) for curve in found}
        known = {name: share for name, share in shares.items() if share == share}
        ours = min((name for name in known if name not in baselines), key=known.__getitem__)
        theirs = min((name for name in known if name in baselines), key=known.__getitem__)
        better = "below every baseline" if known[ours] < known[theirs] else "NOT below"
        print(
            f"  at {100 * volume:.0f} %: {ours} {100 * known[ours]:.2f} %, "
            f"{theirs} {100 * known[theirs]:.2f} %: {better}"
        )


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
    for complaint in study.leaks.complaints():
        print(complaint)
    for joint, volumes in VOLUMES.items():
        start = time.perf_counter()
        found = curves(clips, joint, samples=SAMPLES)
        print(f"\n{joint} ({time.perf_counter() - start:.0f} s)")
        table(found, volumes)
        verdict(found, volumes)
        for volume, share in REPORTED.get(joint, {}).items():
            print(f"  reported of the nearest frame at {100 * volume:.0f} %: {100 * share:.2f} %")


if __name__ == "__main__":
    main()
