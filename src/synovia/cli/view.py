"""`synovia view`: a page in the browser that shows a skeleton within its limits."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options, terminal
from .apply import NoHumanLimitsError, load_limits, model_on_rig
from .clips import check_map, clip_files, joint_names, load_clip

if TYPE_CHECKING:
    from ..components import Figure
    from ..model import LimitModel
    from ..population import Source
    from ..skeleton import Clip
    from ..view.folder import Folder

EXAMPLES = (
    ("the default human, an arm raised; Space moves every control", "synovia view"),
    ("a clip of a human against what humans can do", "synovia view wild.bvh"),
    ("all clips of a folder, or of one file, the worst first", "synovia view captures/"),
    (
        "what one file of limits allows beyond another",
        "synovia view --limits mine.limits.json --compare human.limits.json",
    ),
    (
        "edit limits at the page, and save them as others",
        "synovia view wild.bvh -l human.limits.json -o mine.limits.json",
    ),
    (
        "on a machine without a browser: forward the port, then open the link at home",
        "synovia view wild.bvh -l human.limits.json --no-browser --port 8123",
    ),
)
CHECK_SECONDS = 1.5  # of checking several clips, before the worst so far is shown


def _parse_address(address: str) -> str:
    from ..view.server import parse_address

    return parse_address(address)


def _parse_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    from ..view.server import parse_host

    return tuple(map(parse_host, names))


@options.command(examples=EXAMPLES)
@click.argument("clip", metavar="[CLIP]", required=False, type=click.Path(path_type=Path))
@click.option(
    "-l",
    "--limits",
    "limits",
    metavar=options.LIMITS_METAVAR,
    help="The limits, as `synovia fit` writes them, or those of a human on the clip's rig.  "
    "[default: those of the figure, if there is one, else human where a human is recognised]",
)
@click.option(
    "--compare",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Other limits: the page shows what those of --limits gain and lose beside them.",
)
@click.option(
    "-f",
    "--figure",
    "which",
    metavar="human|FILE.xml",
    help="A figure with controls.  [default: human, where neither clip nor limits are given]",
)
@options.rig_options
@options.output_option(
    "Where the page saves edited limits: a name that ends in .limits.json.  [default: the file of "
    "--limits, after a question]",
    "FILE",
    required=False,
    force=False,
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="[default: any that is free]"
)
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
@click.option(
    "--allow-remote",
    metavar="ADDRESS",
    callback=options.parsed_by(_parse_address),
    help="Listen on this address of this machine instead of 127.0.0.1, so that others who have "
    "the link can come in. The connection is not encrypted.",
)
@click.option(
    "--host",
    "hosts",
    metavar="NAME",
    multiple=True,
    callback=options.parsed_by(_parse_hosts),
    help="A name by which others reach this machine: links with other names than that and the "
    "address are refused. May be repeated; with --allow-remote.",
)
def view(
    clip: Path | None,
    limits: str | None,
    compare: Path | None,
    which: str | None,
    output: Path | None,
    port: int,
    no_browser: bool,
    allow_remote: str | None,
    hosts: tuple[str, ...],
) -> None:
    """Show CLIP within its limits, on a page in the browser.

    Of a folder, the page lists all clips with how far they are outside, to choose between.

    The page is served on this machine alone, until Ctrl-C, and the link that is printed is the key
    to it. Nothing is loaded from elsewhere, and files are written only where --output or --limits
    says, or beside it.
    """
    from .. import io
    from ..io import clip_suffix, split_clip
    from ..io.files import check_writable
    from ..view import open_browser
    from ..view.folder import show_clip
    from ..view.scene import scene_of, start_of
    from ..view.server import PageServer

    if hosts and allow_remote is None:
        raise click.UsageError("--host names a machine for others: it needs --allow-remote")
    if output is not None:
        options.check_suffix(output, (options.LIMITS_SUFFIX,))
        check_writable(output)  # the page asks before it replaces a file
    folder = _folder_of(clip)
    if folder is not None:
        clip = folder.paths[0]
    compared = None if compare is None else (compare.name, io.load_limits(compare))
    scene = scene_of(*_load_inputs(clip, limits, which))
    if clip is None:
        scene = replace(scene, start=start_of(scene.figure))
    save_to = output
    if output is None and limits is not None and limits.lower().endswith(options.LIMITS_SUFFIX):
        save_to = Path(limits)
    server = PageServer(scene, port=port, allow_remote=allow_remote, hosts=hosts, save_to=save_to)
    session = server.session
    session.folder, session.compared = folder, compared
    if clip is not None:
        session.clip_suffix = clip_suffix(split_clip(clip)[0])
    if folder is not None:
        folder.check(session.model)
        folder.shown = folder.worst(CHECK_SECONDS)
        entry = folder.entries[folder.shown]
        if folder.shown:  # the first is shown
            show_clip(session, entry.load(), entry.suffix)
    try:  # from here on, the server is closed in any case
        terminal.echo(f"{click.style(server.url, bold=True)}\nCtrl-C ends it.")
        if allow_remote is not None:
            names = ", ".join(server.guard.names)
            terminal.echo(f"It answers to {names}; --host NAME adds a name.")
        if server.session.leftover is not None:
            terminal.note(
                f"edits were not saved last time: the page offers {server.session.leftover}"
            )
        with contextlib.nullcontext() if no_browser else open_browser(server.url):
            server.wait()
    except KeyboardInterrupt:
        terminal.echo("")
    finally:
        server.close()
        if server.session.kept is not None:
            terminal.note(
                f"edits were not saved: {server.session.kept} has them, and the next start offers "
                "them"
            )
        elif server.session.unsaved:
            terminal.note("edits that were not saved are gone")


def _folder_of(path: Path | None) -> Folder | None:
    """Return the clips of a folder, or of a file that has several; None for anything else."""
    from ..view.folder import Folder

    if path is None or not path.exists():
        return None
    files = clip_files([str(path)])
    if len(files) == 1 and not path.is_dir():
        return None
    paths = [Path(f"{file.path}#{file.clip}") if file.clip else file.path for file in files]
    return Folder(paths, [file.name for file in files])


def _load_inputs(
    clip_path: Path | None, limits: str | None, which: str | None
) -> tuple[LimitModel, Clip | None, Figure | None, dict[str, str]]:
    """Return the limits, clip, figure and map of joints that were requested."""
    from ..anatomy import limits_of
    from ..population import canonical_limits
    from .figure import HUMAN, figure_of

    if clip_path is None and limits is None and which is None:
        which = HUMAN
    if clip_path is not None and clip_path.name.endswith(options.LIMITS_SUFFIX):
        raise click.UsageError(f"{clip_path} is no clip but limits: give it after --limits")
    body = None if which is None else figure_of(which, None)
    clip = None if clip_path is None else load_clip(clip_path)
    names = joint_names()
    if limits is None and body is not None:
        model: LimitModel | Source = limits_of(body)
    elif limits is None and clip is None:
        raise click.UsageError("nothing to show: give a clip, limits or a figure")
    else:
        model = load_limits(HUMAN if limits is None else limits)
    if isinstance(model, str):
        if clip is None:
            return canonical_limits(model), None, body, names
        on_rig = _on_rig(model, clip, names, str(clip_path), required=limits is not None)
        return on_rig, clip, body, {}
    if clip is not None:
        check_map(names, model.skeleton, [clip])
    return model, clip, body, names


def _on_rig(
    source: Source, clip: Clip, names: dict[str, str], path: str, *, required: bool
) -> LimitModel:
    """Return human limits for a clip; no limits if it is not human, unless they are `required`."""
    from ..model import LimitModel

    try:
        return model_on_rig(source, clip, names, path)
    except NoHumanLimitsError as error:
        if required or names:
            raise
        terminal.note(f"{terminal.printable(str(error))}; shown without limits")
        return LimitModel({}, clip.skeleton)
