"""Limits from a corpus: the cells of each joint, then of each pair, are merged and fitted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import quat
from ..learn import FitOptions, Progress, bone_axes, joints_to_fit, learn_from_takes
from ..learn.dependents import LearnedPair, VariableLimit, cut_chains, learn_pair, pairs_to_learn
from ..learn.duplicates import compare_marks
from ..learn.fitting import LearnedLimits, thin_message
from ..model import LimitModel, couple
from ..skeleton import Skeleton, match, names_in
from ..text import error_text
from .executors import run
from .store import ClipEntry, Corpus, TaskOutcome
from .summary import (
    Cells,
    CellsMember,
    Head,
    Pair,
    cell_members,
    frames_of,
    load_cells,
    load_head,
    merge_cells,
    numbered,
    take_of,
)

Part = tuple[int, str, CellsMember]
"""Index of a clip, its performer, and the member of its summary that holds the cells."""


@dataclass(frozen=True, eq=False)
class CellsTask:
    """A joint to fit, or a pair to learn, with its cells in all clips.

    A pair has a `driver` and the `variable` limit of its joint. `flips` is the number of frames
    that are capture flips and in no cell.
    """

    joint: str
    parts: Sequence[Part]
    flips: int = 0
    driver: str = ""
    variable: VariableLimit | None = None

    @property
    def size(self) -> int:
        """Number of cells before merging."""
        return sum(member.size for _, _, member in self.parts)


@dataclass(frozen=True, eq=False)
class JointFit:
    """The limit learned for a joint, and the warnings of the fit."""

    learned: LearnedLimits
    warnings: tuple[Warning | str, ...]


@dataclass(frozen=True, eq=False)
class CorpusClips:
    """Clips of a corpus: entries, and by mark their heads and the names of their joints.

    `names` maps the names of joints in the clip to those in the model.
    """

    entries: Sequence[ClipEntry]
    heads: Mapping[str, Head]
    names: Mapping[str, Mapping[str, str]]

    def __iter__(self) -> Iterator[tuple[ClipEntry, Head, Mapping[str, str]]]:
        return ((e, self.heads[e.mark], self.names[e.mark]) for e in self.entries)


def fit_corpus(
    corpus: Corpus,
    options: FitOptions,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress = iter,
) -> LimitModel:
    """Return limits from the summaries of a corpus, with the options of `LimitModel.fit`.

    Performers and ancestors are those of the corpus. The reference is the mean, or the rest pose.
    Joints are fitted one by one, in `jobs` processes or on the Dask cluster of `scheduler`, each
    with one joint at a time. The result does not depend on their number.
    """
    entries = list({entry.mark: entry for entry in reversed(corpus.entries)}.values())[::-1]
    if not entries:
        raise ValueError(f"{corpus.folder}: no clips to learn from")
    if options.blend is not None or options.reference not in ("mean", "rest"):
        raise ValueError("a corpus is fitted about its mean or the pose at rest, and not blended")
    options = replace(options, relative_to=dict(corpus.options.ancestors))
    heads = {entry.mark: load_head(corpus.summary_file(entry.mark)) for entry in entries}
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
    clips = CorpusClips(entries, heads, names)
    drivers = _drivers(corpus, options.depends, skeleton, wanted, clips) if options.depends else {}
    titles = [f"{name} with {driver}" for name, driver in drivers.items()]
    tasks = _joint_tasks(wanted, clips)
    shown = iter(progress([*(task.joint for task in tasks), *titles]))
    next(shown, None)

    def results(tasks: Sequence[CellsTask]) -> dict[str, Any]:
        """Return the results of tasks by joint, computed from the largest task on."""
        by_joint = {}
        work, folder = partial(fit_work, skeleton, options), str(corpus.folder.resolve())
        for outcome in run(folder, tasks, work, jobs=jobs, scheduler=scheduler):
            if outcome.error:
                raise ValueError(f"{outcome.task.joint}: {outcome.error}")
            by_joint[outcome.task.joint] = outcome.result
            next(shown, None)
        return by_joint

    fits: dict[str, JointFit] = results(tasks)
    for joint in wanted:
        for warning in fits[joint].warnings:
            warnings.warn(warning, stacklevel=2)
    learned = _join([fits[joint].learned for joint in wanted], corpus, options, clips)
    if options.depends:
        pairs: dict[str, LearnedPair | None] = results(
            _pair_tasks(drivers, learned, options, clips)
        )
        used = {name: pair for name in drivers if (pair := pairs.get(name)) is not None}
        learned = learned.with_dependents(cut_chains(used) if options.depends == "auto" else used)
    constraints = couple(learned.limits, learned.dependents)
    return LimitModel(constraints, skeleton, learned.provenance, learned.samples)


def _join(
    parts: Sequence[LearnedLimits], corpus: Corpus, options: FitOptions, clips: CorpusClips
) -> LearnedLimits:
    """Return the limits of all joints, with the provenance."""
    rows = [
        {
            "name": entry.name,
            "performer": entry.performer,
            "frames": entry.frames,
            "frame_time": head.frame_time,
            "first_frame_dropped": head.first_frame_dropped,
        }
        for entry, head, _ in sorted(clips, key=lambda clip: clip[0].name)
    ]
    provenance = {
        "clips": rows,
        "options": options.with_defaults({entry.performer for entry in clips.entries}).to_dict(),
        "joints": {k: v for part in parts for k, v in part.provenance["joints"].items()},
        "cell": corpus.options.cell,
    }
    return LearnedLimits(
        {name: limit for part in parts for name, limit in part.limits.items()},
        {name: samples for part in parts for name, samples in part.samples.items()},
        provenance,
        variable={name: limit for part in parts for name, limit in part.variable.items()},
    )


def fit_work(skeleton: Skeleton, options: FitOptions, folder: str, task: CellsTask) -> TaskOutcome:
    """Fit one joint or pair from the summaries in a folder, in any process; never raises.

    The result is a `JointFit`, or for a pair a `LearnedPair`, None if it does not pay.
    """
    try:
        corpus = Corpus.open(Path(folder))
        cells = merge_cells(
            (performer, numbered(load_cells(corpus.summary_file(member.mark), member), index))
            for index, performer, member in task.parts
        )
        cells = {performer: part for performer, part in cells.items() if len(part.counts)}
        fit: Callable[..., Any] = _fit_joint if task.variable is None else _fit_pair
        return TaskOutcome(task, fit(skeleton, options, task, cells))
    except (ValueError, OSError) as error:
        return TaskOutcome(task, error=error_text(error))


def _fit_joint(
    skeleton: Skeleton, options: FitOptions, task: CellsTask, cells: Mapping[str, Cells]
) -> JointFit:
    takes = [take_of(part, performer) for performer, part in cells.items()]
    references = {task.joint: quat.IDENTITY} if options.reference == "rest" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flips = {task.joint: task.flips}
        learned = learn_from_takes(
            {task.joint: takes}, skeleton, options, references, (), flips=flips
        )
    return JointFit(learned, tuple(warning.message for warning in caught))


def _fit_pair(
    skeleton: Skeleton, options: FitOptions, task: CellsTask, cells: Mapping[str, Cells]
) -> LearnedPair | None:
    assert task.variable is not None
    people = [frames_of(part, performer) for performer, part in cells.items()]
    axis = bone_axes(skeleton)[skeleton.index(task.driver)]
    reject = options.rejection_for(set(cells))
    auto = options.depends == "auto"
    return learn_pair(task.variable, task.driver, axis, people, reject, if_pays=auto)


def _joint_tasks(wanted: Sequence[str], clips: CorpusClips) -> list[CellsTask]:
    """Return the joints to fit, those with the most cells first, since they take the longest."""
    parts: dict[str, list[Part]] = {joint: [] for joint in wanted}
    flips: Counter[str] = Counter()
    for index, (entry, head, names) in enumerate(clips):
        members, _ = cell_members(head)
        for theirs, ours in names.items():
            if theirs in members:  # summaries have no roots
                parts[ours].append((index, entry.performer, members[theirs]))
                flips[ours] += head.flips[theirs]
    tasks = [CellsTask(joint, cells, flips[joint]) for joint, cells in parts.items()]
    return sorted(tasks, key=lambda task: -task.size)


def _pair_tasks(
    drivers: Mapping[str, str], learned: LearnedLimits, options: FitOptions, clips: CorpusClips
) -> list[CellsTask]:
    """Return the pairs to learn, those with the most cells first."""
    parts: dict[str, list[Part]] = {name: [] for name in drivers}
    for index, (entry, head, names) in enumerate(clips):
        _, members = cell_members(head)
        for theirs, (name, driver) in _renamed_pairs(head, names).items():
            if drivers.get(name) == driver:
                parts[name].append((index, entry.performer, members[theirs]))
    tasks = []
    for name, driver in drivers.items():
        variable = learned.variable.get(name)  # None if all of its frames are capture flips
        if variable is not None and driver in learned.limits and not variable.is_thin:
            tasks.append(CellsTask(name, parts[name], driver=driver, variable=variable))
        elif options.depends != "auto":
            lost = next((n for n in (name, driver) if n not in learned.limits), None)
            reason = f"{name} is to depend on {driver}, but {lost} gets no limit"
            raise ValueError(thin_message(name, driver) if lost is None else reason)
    return sorted(tasks, key=lambda task: -task.size)


def _drivers(
    corpus: Corpus,
    depends: Mapping[str, str] | str,
    skeleton: Skeleton,
    wanted: Sequence[str],
    clips: CorpusClips,
) -> dict[str, str]:
    """Return the requested drivers by joint; ValueError if the corpus lacks a pair."""
    drivers = pairs_to_learn(depends, skeleton, wanted)
    heads = [(head, clips.names[mark]) for mark, head in clips.heads.items()]
    counts = Counter(pair for head, names in heads for pair in _renamed_pairs(head, names).values())
    if isinstance(depends, str):
        drivers = {name: driver for name, driver in drivers.items() if counts[name, driver]}
        if not drivers:
            raise ValueError(_lacking(corpus, "of joints and their drivers", "auto"))
    for pair in drivers.items():
        name, driver = pair
        able = sum(set(pair) <= set(names.values()) for _, names in heads)
        if not counts[pair]:
            raise ValueError(_lacking(corpus, f"of {name} and {driver}", f"{name}:{driver}"))
        if counts[pair] < able:
            warnings.warn(
                f"{able - counts[pair]} of {able} clips with {name} and {driver} have no pairs of "
                "both, since they call them otherwise: `corpus add --pairs auto` keeps all",
                stacklevel=3,
            )
    return drivers


def _lacking(corpus: Corpus, pairs: str, option: str) -> str:
    return (
        f"{corpus.folder}: its summaries keep no pairs {pairs}; make a corpus that does, by "
        f"`synovia corpus add CLIPS -o OTHER --pairs {option}`"
    )


def _renamed_pairs(head: Head, names: Mapping[str, str]) -> dict[Pair, Pair]:
    """Return the pairs of a clip with the names of the model, by those of the clip."""
    return {
        pair: (names[pair[0]], names[pair[1]]) for pair in head.pairs if set(pair) <= set(names)
    }


def _names_of(
    wanted: Sequence[str], ours: Skeleton, theirs: Skeleton, options: FitOptions
) -> dict[str, str]:
    """Return the names of the `wanted` joints of the skeleton `ours` by those in `theirs`."""
    matched = match(wanted, ours, theirs, names_in(options.names, theirs))
    matched.warn("some clips")
    return {theirs.names[joint]: name for name, joint in matched.joints.items()}


def _merge_people(entries: Sequence[ClipEntry], heads: Sequence[Head]) -> list[ClipEntry]:
    """Return the entries with one name for performers who are one person, with a warning."""
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
