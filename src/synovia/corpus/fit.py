"""Limits from a corpus: summaries are merged joint by joint, and fitted as takes are."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .. import quat
from ..arrays import Quats
from ..learn import FitOptions, Progress, joints_to_fit, learn_from_takes
from ..learn.duplicates import compare_marks
from ..learn.fitting import LearnedLimits
from ..model import LimitModel
from ..skeleton import Skeleton, match, names_in
from .store import Corpus, Entry
from .summary import Head, load_head, merge, take_of

MAX_CELLS = 4_000_000
"""Cells that are merged at a time, of some joints: a few hundred megabytes."""


def fit_corpus(corpus: Corpus, options: FitOptions, *, progress: Progress = iter) -> LimitModel:
    """Return limits from the summaries of a corpus; `LimitModel.fit` says what the options mean.

    Performers are those of the corpus; what joints are measured from is what it was made with.
    The reference is the mean, or the pose at rest.
    """
    entries = _distinct(corpus.entries)
    if not entries:
        raise ValueError(f"{corpus.folder}: no clips to learn from")
    if options.blend is not None or options.reference not in ("mean", "rest"):
        raise ValueError("a corpus is fitted about its mean or the pose at rest, and not blended")
    options = replace(options, relative_to=dict(corpus.options.ancestors))
    heads = {entry.mark: head for entry, head in _heads(corpus, entries)}
    first = min(entries, key=lambda entry: (entry.name, entry.mark))
    skeleton = heads[first.mark].skeleton
    wanted = joints_to_fit(skeleton, options.joints, options.exclude)
    names = {
        mark: _names_of(wanted, skeleton, head.skeleton, options) for mark, head in heads.items()
    }
    if options.reject is not None:
        entries = _merge_people(entries, [heads[entry.mark] for entry in entries])
    sizes: Counter[str] = Counter()
    flips: Counter[str] = Counter()
    for mark, head in heads.items():
        for theirs, ours in names[mark].items():
            sizes[ours] += head.sizes[theirs]
            flips[ours] += head.flips[theirs]
    rows = [
        {
            "name": entry.name,
            "performer": entry.performer,
            "frames": entry.frames,
            "frame_time": heads[entry.mark].frame_time,
            "first_frame_dropped": heads[entry.mark].first_frame_dropped,
        }
        for entry in sorted(entries, key=lambda entry: entry.name)
    ]
    references: dict[str, Quats] = {}
    if options.reference == "rest":
        references = dict.fromkeys(skeleton.names, quat.IDENTITY)
    joints = iter(progress(wanted))
    parts: list[LearnedLimits] = []
    for group in _groups(wanted, sizes):
        chosen = {
            mark: {theirs: ours for theirs, ours in found.items() if ours in group}
            for mark, found in names.items()
        }
        known = {name for found in chosen.values() for name in found}
        merged = merge(corpus.summaries(entries, known), chosen)
        takes = {
            joint: [
                take_of(cells, performer)
                for performer, cells in merged.get(joint, {}).items()
                if len(cells.counts)
            ]
            for joint in group
        }
        parts.append(
            learn_from_takes(
                takes,
                skeleton,
                options,
                references,
                rows,
                flips=flips,
                progress=lambda names: (next(joints) for _ in names),
            )
        )
    next(joints, None)  # so that a progress bar sees its end
    provenance = {
        **parts[0].provenance,
        "joints": {k: v for part in parts for k, v in part.provenance["joints"].items()},
        "cell": corpus.options.cell,
    }
    limits = {name: limit for part in parts for name, limit in part.limits.items()}
    samples = {name: kept for part in parts for name, kept in part.samples.items()}
    return LimitModel(limits, skeleton, provenance, samples)


def _distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries but for those of a clip that is there under another name."""
    return list({entry.mark: entry for entry in reversed(entries)}.values())[::-1]


def _heads(corpus: Corpus, entries: Sequence[Entry]) -> Iterator[tuple[Entry, Head]]:
    for entry in entries:
        yield entry, load_head(corpus.summary_file(entry.mark))


def _names_of(
    wanted: Sequence[str], ours: Skeleton, theirs: Skeleton, options: FitOptions
) -> dict[str, str]:
    """Return what a skeleton calls the joints that are wanted, and what they are called here."""
    found = match(wanted, ours, theirs, names_in(options.names, theirs))
    found.warn("some clips")
    return {theirs.names[joint]: name for name, joint in found.joints.items()}


def _merge_people(entries: Sequence[Entry], heads: Sequence[Head]) -> list[Entry]:
    """Return the entries with one name for performers who are one person, warned of."""
    performers = {entry.name: entry.performer for entry in entries}
    duplicates = compare_marks(
        [entry.name for entry in entries],
        [head.skeleton for head in heads],
        [head.fingerprint for head in heads],
        performers,
    )
    for message in replace(duplicates, common_rig=()).warnings():
        warnings.warn(message, stacklevel=3)
    people = duplicates.people(performers)
    return [replace(entry, performer=people[entry.name]) for entry in entries]


def _groups(joints: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield joints in groups whose cells fit into memory together."""
    group: list[str] = []
    for joint in joints:
        if group and sum(sizes[each] for each in (*group, joint)) > MAX_CELLS:
            yield group
            group = []
        group.append(joint)
    yield group
