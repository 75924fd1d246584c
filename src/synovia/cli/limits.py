"""`synovia limits` and `synovia runtime`: limits as files, for a rig and for the C runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, terminal
from .apply import load_limits, model_on_rig
from .clips import joint_names, load_clip

if TYPE_CHECKING:
    from ..model import LimitModel
    from ..skeleton import Clip, Skeleton

RIGS = ("smpl", "smplh", "smplx", "vrm", "mixamo", "mujoco-cmu")
"""Rigs that need no file."""
LIMITS_EXAMPLES = (
    ("human limits for every SMPL body", "synovia limits --rig smpl -o smpl.limits.json"),
    (
        "limits learned on one rig, for another",
        "synovia limits captured.limits.json --rig character.glb -o character.limits.json",
    ),
)
RUNTIME_EXAMPLES = (
    ("the header, and limits", "synovia runtime -o game/ --limits walk.limits.json"),
)


@options.command(examples=LIMITS_EXAMPLES)
@click.argument("source", metavar=f"[{options.LIMITS_METAVAR}]", default="human")
@click.option(
    "--rig",
    required=True,
    metavar=f"{'|'.join(RIGS)}|FILE",
    help="The rig: one of these, a clip of it, limits for it, or a model of it (MJCF, URDF).",
)
@options.rig_options
@click.option(
    "--learned-on",
    "original",
    metavar="CLIP",
    help="A clip of the rig that the limits in FILE were learned on. It shows how that rig stands "
    "if its rest pose does not.",
)
@options.limits_output_option
def limits(source: str, rig: str, original: str | None, output: Path) -> None:
    """Write human limits, or those in FILE, for a rig.

    Human limits give both verdicts, impossible and unusual, unless one is named. Limits in FILE
    are carried over from their own rig, which may have other names, another rest pose and other
    frames: both rigs are recognised as humans and brought to the same T-pose. Limits of joints
    that both have are carried over exactly; others are named, with the reason and a remedy.
    """
    from ..io import save_limits

    options.check_limits_output(output)
    clip, loaded = _load_rig(rig), load_limits(source, "FILE")
    if not isinstance(loaded, str):
        model = _retarget(loaded, source, rig, clip, original)
    elif original is not None:
        raise click.UsageError(f"--learned-on is for limits in a file, got {source}")
    else:
        model = model_on_rig(loaded, clip, joint_names(), rig)
    save_limits(model, output)
    terminal.echo(f"limits of {terminal.pluralize(len(model.limits), 'joint')}; wrote {output}")


def _retarget(
    model: LimitModel, file: str, rig: str, clip: Clip, original: str | None
) -> LimitModel:
    """Return limits on the rig of a clip; `file` and `rig` are named in errors."""
    own_clips = [] if original is None else [load_clip(original)]
    if own_clips and own_clips[0].skeleton.names != model.skeleton.names:
        raise ValueError(f"{original}: --learned-on takes a clip of the joints that {file} is for")
    clips = [clip] if clip.frames else []
    try:
        retargeted = model.on(clip.skeleton, clips=clips, roles=joint_names(), own_clips=own_clips)
    except ValueError as error:
        hint = "" if own_clips else "; --learned-on CLIP may show how its rig stands"
        raise ValueError(f"{file} on {rig}: {error}{hint}") from None
    if not retargeted.limits:
        raise ValueError(f"{file}: none of its limits can be carried over to {rig}")
    return retargeted


def _load_rig(rig: str) -> Clip:
    """Return the first clip of a file; for a known rig or limits a clip without frames."""
    from .. import io
    from ..io.ranges import range_suffix, read_ranges
    from ..io.smpl import smpl_skeleton
    from ..rigs.canonical import mixamo_skeleton, mujoco_cmu_skeleton, vrm_skeleton

    known: dict[str, Callable[[], Skeleton]] = {
        "smpl": lambda: smpl_skeleton(24),
        "smplh": lambda: smpl_skeleton(52),
        "smplx": lambda: smpl_skeleton(55),
        "vrm": vrm_skeleton,
        "mixamo": mixamo_skeleton,
        "mujoco-cmu": mujoco_cmu_skeleton,
    }
    if rig in known:
        return _empty_clip(known[rig](), rig)
    if rig.lower().endswith(options.LIMITS_SUFFIX):
        return _empty_clip(io.load_limits(rig).skeleton, rig)
    if range_suffix(rig) and not io.clip_suffix(rig) and Path(rig).exists():
        return _empty_clip(read_ranges(rig).skeleton, rig)
    file, name = io.split_clip(rig)
    if not file.exists():
        raise click.UsageError(f"--rig must be one of {', '.join(known)}, or a file, got {rig!r}")
    names = [] if name else io.list_clips(file)
    return load_clip(f"{rig}#{names[0]}" if len(names) > 1 else rig)


def _empty_clip(skeleton: Skeleton, name: str) -> Clip:
    """Return a clip of a skeleton without frames."""
    import numpy as np

    from ..skeleton import Clip, Pose

    joints = len(skeleton)
    return Clip(skeleton, Pose(np.empty((0, joints, 4)), np.empty((0, joints, 3))), 1.0, name)


@options.command(examples=RUNTIME_EXAMPLES)
@options.output_option("The directory to write to; created if missing.", "DIR", folder=True)
@click.option(
    "--limits",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Limits to pack, a .limits.json. Repeat it for more.",
)
def runtime(output: Path, files: tuple[Path, ...]) -> None:
    """Write a C header that applies limits, and limits as it reads them.

    synovia.h needs libm alone, allocates nothing and may be used by many threads. It loads the
    NAME.limits.bin that is written for each FILE.
    """
    from .. import io
    from ..io.files import atomic_write
    from ..io.packed_limits import SUFFIX, packed_limits_bytes
    from ..native.entries import header_text

    contents = {output / "synovia.h": header_text().encode()}
    for file in files:
        if not file.name.lower().endswith(options.LIMITS_SUFFIX):
            raise click.UsageError(
                f"--limits takes a file that ends in {options.LIMITS_SUFFIX}, got {str(file)!r}"
            )
        target = output / (file.name[: -len(options.LIMITS_SUFFIX)] + SUFFIX)
        if target in contents:
            raise ValueError(f"{file}: {target} would be written twice; rename one of the files")
        model = io.load_limits(file)
        try:
            contents[target] = packed_limits_bytes(model)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    output.mkdir(parents=True, exist_ok=True)
    for target in contents:
        options.check_output(target)
    for target, content in contents.items():
        atomic_write(target, content)
        terminal.note(f"wrote {target}, {len(content) / 1e3:.0f} kB")
