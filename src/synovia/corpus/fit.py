"""Limits from a corpus: each joint's cells are merged, and fitted as takes are, by any process.

Then, of joints that are to depend on another one, cells of both together.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .. import quat
from ..arrays import Quats
from ..learn import FitOptions, Progress, bone_axes, joints_to_fit, learn_from_takes
from ..learn.dependents import LearnedPair, VariableLimit, cut_chains, learn_pair, pairs_to_learn
from ..learn.duplicates import compare_marks
from ..learn.fitting import LearnedLimits, thin_message
from ..model import LimitModel, couple
from ..skeleton import Skeleton, match, names_in
from .executors import run
from .store import Corpus, Entry, Outcome, error_message
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


@dataclass(frozen=True)
class JointTask:
    """A joint to fit: its cells in all clips, each with the number of the clip and who performs."""

    joint: str
    parts: tuple[tuple[int, str, CellsMember], ...]
    flips: int
    """Frames of capture flips, which are in no cell."""

    @property
    def size(self) -> int:
        """How many cells there are before they are merged."""
        return sum(member.size for _, _, member in self.parts)


@dataclass(frozen=True, eq=False)
class PairTask:
    """A pair to learn: its cells in all clips, and what of the joint's limit may vary."""

    joint: str
    driver: str
    parts: tuple[tuple[int, str, CellsMember], ...]
    variable: VariableLimit

    @property
    def size(self) -> int:
        """How many cells there are before they are merged."""
        return sum(member.size for _, _, member in self.parts)


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
    drivers = {}
    if options.depends:
        drivers = _drivers(corpus, options.depends, skeleton, wanted, heads, names)
    tasks = _tasks(wanted, entries, heads, names)
    work, folder = partial(fit_work, skeleton, options), str(corpus.folder.resolve())
    together = [f"{name} with {driver}" for name, driver in drivers.items()]
    shown = iter(progress([*(task.joint for task in tasks), *together]))
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
        "options": options.with_defaults({entry.performer for entry in entries}).to_dict(),
        "joints": {k: v for part in parts for k, v in part.provenance["joints"].items()},
        "cell": corpus.options.cell,
    }
    limits = {name: limit for part in parts for name, limit in part.limits.items()}
    samples = {name: kept for part in parts for name, kept in part.samples.items()}
    variable = {name: each for part in parts for name, each in part.variable.items()}
    learned = LearnedLimits(limits, samples, provenance, variable=variable)
    if options.depends:
        pair_tasks = _pair_tasks(drivers, learned, options, entries, heads, names)
        pairs: dict[str, LearnedPair] = {}
        work = partial(pair_work, skeleton, options)
        for outcome in run(folder, pair_tasks, work, jobs=jobs, scheduler=scheduler):
            if outcome.error:
                raise ValueError(f"{outcome.task.joint}: {outcome.error}")
            if outcome.result is not None:
                pairs[outcome.task.joint] = outcome.result
            next(shown, None)
        kept = {name: pairs[name] for name in drivers if name in pairs}
        learned = learned.with_dependents(cut_chains(kept) if options.depends == "auto" else kept)
    constraints = couple(learned.limits, learned.dependents)
    return LimitModel(constraints, skeleton, learned.provenance, learned.samples)


def fit_work(skeleton: Skeleton, options: FitOptions, folder: str, task: JointTask) -> Outcome:
    """Fit one joint from the summaries in a folder, in any process; never raises ValueError."""
    try:
        merged = _merged_parts(folder, task.parts)
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
    parts: dict[str, list[tuple[int, str, CellsMember]]] = {joint: [] for joint in wanted}
    flips: Counter[str] = Counter()
    for number, entry in enumerate(entries):
        head = heads[entry.mark]
        members, _ = cell_members(head)
        for theirs, ours in names[entry.mark].items():
            if theirs in members:  # summaries have no roots
                parts[ours].append((number, entry.performer, members[theirs]))
                flips[ours] += head.flips[theirs]
    tasks = [JointTask(joint, tuple(own), flips[joint]) for joint, own in parts.items()]
    return sorted(tasks, key=lambda task: -task.size)


def _drivers(
    corpus: Corpus,
    depends: Mapping[str, str] | str,
    skeleton: Skeleton,
    wanted: Sequence[str],
    heads: Mapping[str, Head],
    names: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """Return drivers by joint, as they are asked for; ValueError where the corpus lacks a pair."""
    asked = pairs_to_learn(depends, skeleton, wanted)
    held = Counter(
        pair for mark, head in heads.items() for pair in _pairs_here(head, names[mark]).values()
    )
    if isinstance(depends, str):
        asked = {name: driver for name, driver in asked.items() if held[name, driver]}
        if not asked:
            raise ValueError(_lacking(corpus, "of joints and their drivers", "auto"))
    for pair in asked.items():
        name, driver = pair
        able = sum(set(pair) <= set(names[mark].values()) for mark in heads)
        if not held[pair]:
            raise ValueError(_lacking(corpus, f"of {name} and {driver}", f"{name}:{driver}"))
        if held[pair] < able:
            warnings.warn(
                f"{able - held[pair]} of {able} clips with {name} and {driver} have no pairs of "
                "both, since they call them otherwise: `corpus add --pairs auto` keeps all",
                stacklevel=3,
            )
    return asked


def _lacking(corpus: Corpus, what: str, word: str) -> str:
    return (
        f"{corpus.folder}: its summaries keep no pairs {what}; make a corpus that does, by "
        f"`synovia corpus add CLIPS -o OTHER --pairs {word}`"
    )


def _pairs_here(head: Head, names: Mapping[str, str]) -> dict[Pair, Pair]:
    """Return the pairs of a clip, and what they are called here."""
    return {
        pair: (names[pair[0]], names[pair[1]]) for pair in head.pairs if set(pair) <= set(names)
    }


def _pair_tasks(
    drivers: Mapping[str, str],
    learned: LearnedLimits,
    options: FitOptions,
    entries: Sequence[Entry],
    heads: Mapping[str, Head],
    names: Mapping[str, Mapping[str, str]],
) -> list[PairTask]:
    """Return the pairs to learn, those with the most cells first."""
    parts: dict[str, list[tuple[int, str, CellsMember]]] = {name: [] for name in drivers}
    for number, entry in enumerate(entries):
        head = heads[entry.mark]
        _, members = cell_members(head)
        for theirs, (name, driver) in _pairs_here(head, names[entry.mark]).items():
            if drivers.get(name) == driver:
                parts[name].append((number, entry.performer, members[theirs]))
    tasks = []
    for name, driver in drivers.items():
        variable = learned.variable.get(name)  # none where all of its frames are capture flips
        if variable is not None and driver in learned.limits and not variable.is_thin:
            tasks.append(PairTask(name, driver, tuple(parts[name]), variable))
        elif options.depends != "auto":
            lost = next((n for n in (name, driver) if n not in learned.limits), None)
            why = f"{name} is to depend on {driver}, but {lost} gets no limit"
            raise ValueError(thin_message(name, driver) if lost is None else why)
    return sorted(tasks, key=lambda task: -task.size)


def pair_work(skeleton: Skeleton, options: FitOptions, folder: str, task: PairTask) -> Outcome:
    """Learn one pair from the summaries in a folder, in any process; never raises ValueError."""
    try:
        merged = _merged_parts(folder, task.parts)
        people = [frames_of(cells, who) for who, cells in merged.items() if len(cells.counts)]
        axis = bone_axes(skeleton)[skeleton.index(task.driver)]
        reject = options.rejection_for({each.performer for each in people})
        auto = options.depends == "auto"
        found = learn_pair(task.variable, task.driver, axis, people, reject, if_pays=auto)
    except (ValueError, OSError) as error:
        return Outcome(task, error=error_message(error))
    return Outcome(task, found)


def _merged_parts(folder: str, parts: Sequence[tuple[int, str, CellsMember]]) -> dict[str, Cells]:
    """Return the cells of one joint or pair, by performer, from the summaries in a folder."""
    corpus = Corpus.open(Path(folder))
    return merge_cells(
        (performer, numbered(load_cells(corpus.summary_file(member.mark), member), number))
        for number, performer, member in parts
    )


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
