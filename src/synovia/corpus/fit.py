"""Limits from a corpus: each joint's cells are merged, and fitted as takes are, by any process."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .. import quat
from ..arrays import Quats
from ..learn import FitOptions, Progress, joints_to_fit, learn_from_takes
from ..learn.duplicates import compare_marks
from ..learn.fitting import LearnedLimits
from ..model import LimitModel
from ..skeleton import Skeleton, match, names_in
from .executors import run
from .store import Corpus, Entry, Outcome, error_message
from .summary import Head, Place, load_cells, load_head, merge_cells, numbered, places_of, take_of


@dataclass(frozen=True)
class JointTask:
    """A joint to fit: its cells in all clips, each with the number of the clip and who performs."""

    joint: str
    parts: tuple[tuple[int, str, Place], ...]
    flips: int
    """Frames of capture flips, which are in no cell."""

    @property
    def size(self) -> int:
        """How many cells there are before they are merged."""
        return sum(place.size for _, _, place in self.parts)


@dataclass(frozen=True, eq=False)
class JointFit:
    """What was learned of a joint, and what was warned of."""

    learned: LearnedLimits
    warnings: tuple[Warning | str, ...]


def fit_corpus(
    corpus: Corpus,
    options: FitOptions,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress = iter,
) -> LimitModel:
    """Return limits from the summaries of a corpus; `LimitModel.fit` says what the options mean.

    Performers are those of the corpus; what joints are measured from is what it was made with.
    The reference is the mean, or the pose at rest. Joints are fitted one by one, in so many
    processes or by the workers of a scheduler of Dask's; each holds one joint at a time. The same
    comes out for any number of them.
    """
    entries = _distinct(corpus.entries)
    if not entries:
        raise ValueError(f"{corpus.folder}: no clips to learn from")
    if options.blend is not None or options.reference not in ("mean", "rest"):
        raise ValueError("a corpus is fitted about its mean or the pose at rest, and not blended")
    if options.depends:
        raise ValueError("a corpus knows joints apart: limits that depend on others need `fit`")
    options = replace(options, relative_to=dict(corpus.options.ancestors))
    heads = {entry.mark: head for entry, head in _heads(corpus, entries)}
    first = min(entries, key=lambda entry: (entry.name, entry.mark))
    skeleton = heads[first.mark].skeleton
    wanted = joints_to_fit(skeleton, options.joints, options.exclude)
    if roots := [name for name in wanted if skeleton.parents[skeleton.index(name)] < 0]:
        raise ValueError(f"a corpus knows nothing of roots, got {', '.join(roots)}")
    names = {
        mark: _names_of(wanted, skeleton, head.skeleton, options) for mark, head in heads.items()
    }
    if options.leaves_out({entry.performer for entry in entries}):
        entries = _merge_people(entries, [heads[entry.mark] for entry in entries])
    tasks = _tasks(wanted, entries, heads, names)
    work, folder = partial(fit_work, skeleton, options), str(corpus.folder.resolve())
    shown = iter(progress([task.joint for task in tasks]))
    next(shown, None)
    found: dict[str, JointFit] = {}
    for outcome in run(folder, tasks, work, jobs=jobs, scheduler=scheduler):
        if outcome.error:
            raise ValueError(f"{outcome.task.joint}: {outcome.error}")
        found[outcome.task.joint] = outcome.result
        next(shown, None)
    parts = [found[joint].learned for joint in wanted]
    for joint in wanted:
        for warning in found[joint].warnings:
            warnings.warn(warning, stacklevel=2)
    provenance = {
        "clips": [_clip_row(entry, heads) for entry in sorted(entries, key=lambda e: e.name)],
        "options": options.to_dict(),
        "joints": {k: v for part in parts for k, v in part.provenance["joints"].items()},
        "cell": corpus.options.cell,
    }
    limits = {name: limit for part in parts for name, limit in part.limits.items()}
    samples = {name: kept for part in parts for name, kept in part.samples.items()}
    return LimitModel(limits, skeleton, provenance, samples)


def fit_work(skeleton: Skeleton, options: FitOptions, folder: str, task: JointTask) -> Outcome:
    """Fit one joint from the summaries in a folder, in any process; never raises ValueError."""
    try:
        corpus = Corpus.open(Path(folder))
        merged = merge_cells(
            (performer, numbered(load_cells(corpus.summary_file(place.mark), place), number))
            for number, performer, place in task.parts
        )
        takes = [take_of(cells, who) for who, cells in merged.items() if len(cells.counts)]
        references: dict[str, Quats] = {}
        if options.reference == "rest":
            references = {task.joint: quat.IDENTITY}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learned = learn_from_takes(
                {task.joint: takes},
                skeleton,
                options,
                references,
                (),
                flips={task.joint: task.flips},
            )
    except (ValueError, OSError) as error:
        return Outcome(task, error=error_message(error))
    return Outcome(task, JointFit(learned, tuple(warning.message for warning in caught)))


def _tasks(
    wanted: Sequence[str],
    entries: Sequence[Entry],
    heads: Mapping[str, Head],
    names: Mapping[str, Mapping[str, str]],
) -> list[JointTask]:
    """Return the joints to fit, those with the most cells first, since they take the longest."""
    parts: dict[str, list[tuple[int, str, Place]]] = {joint: [] for joint in wanted}
    flips: Counter[str] = Counter()
    for number, entry in enumerate(entries):
        head = heads[entry.mark]
        places = places_of(head)
        for theirs, ours in names[entry.mark].items():
            if theirs in places:  # summaries have no roots
                parts[ours].append((number, entry.performer, places[theirs]))
                flips[ours] += head.flips[theirs]
    tasks = [JointTask(joint, tuple(own), flips[joint]) for joint, own in parts.items()]
    return sorted(tasks, key=lambda task: -task.size)


def _clip_row(entry: Entry, heads: Mapping[str, Head]) -> dict[str, object]:
    """Return what the provenance says of a clip."""
    head = heads[entry.mark]
    return {
        "name": entry.name,
        "performer": entry.performer,
        "frames": entry.frames,
        "frame_time": head.frame_time,
        "first_frame_dropped": head.first_frame_dropped,
    }


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
