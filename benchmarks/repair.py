"""Measure repair of clips: processor time a frame for 60 joints, and the share of frames kept.

    python benchmarks/repair.py [CLIP ...]

Without clips, a body with joint limits moves for 2,000 frames in which elbows, knees, neck and
shoulders leave them again and again; the bar is 3 ms a frame. With clips, each is repaired with
human limits. `kept` is the share of changed frames in which hands, feet in contact and head are
where they were; `long steps` are those over the bound. The script exits with 1 if the bar is
missed, or if a check of a result finds something.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from synovia import Clip, LimitModel, Pose, Skeleton, human_limits, load_clip, quat
from synovia.population import limits_for
from synovia.repairs import repair

BAR = 3e-3  # seconds of processor time a frame
JOINTS = 60
SIZES = {
    "UpperArm": [0.5, 0.5, 0.9],
    "LowerArm": [0.1, 0.9, 0.1],
    "UpperLeg": [0.6, 0.1, 0.2],
    "LowerLeg": [0.7, 0.05, 0.05],
    "head": [0.8, 0.5, 0.2],
}
"""Amplitudes of rotations in radians, by the end of a joint's name."""


def body() -> LimitModel:
    """Return joint limits of the canonical human, with additional unlimited joints."""
    model = human_limits(source="possible")
    bones = model.skeleton
    more = JOINTS - len(bones)
    skeleton = Skeleton(
        (*bones.names, *(f"extra{k}" for k in range(more))),
        np.append(bones.parents, np.full(more, bones.index("chest"))),
        np.concatenate([bones.offsets, np.tile([0.0, 0.0, 0.1], (more, 1))]),
        up=bones.up,
        unit=bones.unit,
    )
    return LimitModel(model.limits, skeleton)


def wander(skeleton: Skeleton, frames: int) -> Clip:
    """Return smooth motion at 60 frames a second, in and out of the limits."""
    rng, seconds = np.random.default_rng(0), np.arange(frames)[:, None] / 60.0
    vectors = np.zeros((frames, len(skeleton), 3))
    for joint, name in enumerate(skeleton.names):
        for ending, size in SIZES.items():
            if name.endswith(ending):
                speed, phase = rng.uniform(0.5, 2.0, 3), rng.uniform(0.0, 6.3, 3)
                vectors[:, joint] = size * np.sin(speed * seconds + phase)
    positions = np.tile(skeleton.offsets, (frames, 1, 1))
    return Clip(skeleton, Pose(quat.exp(vectors), positions), 1.0 / 60.0, "wander")


def main() -> None:
    warnings.simplefilter("ignore")
    missed, totals = False, np.zeros(5)
    for path in sys.argv[1:] or [""]:
        clip = load_clip(path) if path else wander(body().skeleton, 2000)
        limits = limits_for(clip) if path else body()
        start = time.process_time()
        repaired, report = repair(clip, limits)
        seconds = time.process_time() - start
        model = limits_for(repaired).model if path else body()
        outside = not model.check(repaired).ok
        missed |= outside or (not path and seconds > BAR * clip.frames)
        changed, long = report.changed, sum(map(len, report.over.values()))
        totals += clip.frames, len(changed), report.kept[changed].sum(), long, seconds
        print(
            f"{clip.name}: {clip.frames} frames, changed {len(changed)}, kept "
            f"{100.0 * report.share_kept:.1f} %, long steps {long}, "
            f"{1e3 * seconds / clip.frames:.2f} ms a frame{', a check fails' * outside}"
        )
    frames, changed, kept, long, seconds = totals
    print(
        f"all: {frames:.0f} frames, changed {changed:.0f}, kept "
        f"{100.0 * kept / max(changed, 1.0):.1f} %, long steps {long:.0f}, "
        f"{1e3 * seconds / frames:.2f} ms a frame"
    )
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
