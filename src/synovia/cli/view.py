"""`synovia view`: a page in the browser that shows a skeleton within its limits."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import inputs, terminal

if TYPE_CHECKING:
    from ..components import Figure
    from ..model import LimitModel
    from ..skeleton import Clip


EXAMPLES = (
    ("the default human, every control through its range", "synovia view"),
    ("a clip against limits", "synovia view wild.bvh --limits human.limits.json"),
    ("limits alone, joint by joint", "synovia view --limits human.limits.json"),
    ("a figure of your own", "synovia view --figure mine.xml"),
    (
        "edit limits at the page, and save them as others",
        "synovia view wild.bvh -l human.limits.json -o mine.limits.json",
    ),
    (
        "on a machine without a browser: forward the port, then open the link at home",
        "synovia view wild.bvh -l human.limits.json --no-browser --port 8123",
    ),
)
SECTIONS = {
    "What to show": ("limits_path", "which", "maps"),
    "What to save": ("output",),
    "How to serve it": ("port", "no_browser", "allow_remote"),
}


def _parse_address(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Return the address, before anything is loaded."""
    from ..view.server import parse_address

    try:
        return None if value is None else parse_address(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(cls=terminal.TeachingCommand, sections=SECTIONS, examples=EXAMPLES)
@click.argument("clip", metavar="[CLIP]", required=False, type=click.Path(path_type=Path))
@click.option(
    "-l",
    "--limits",
    "limits_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The limits, as `synovia fit` writes them; those of the figure, if there is one, unless "
    "given.",
)
@click.option(
    "-f",
    "--figure",
    "which",
    metavar="human|FILE.xml",
    help="A figure with controls.  [default: human, where neither clip nor limits are given]",
)
@inputs.map_option
@inputs.skeleton_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where the page saves edited limits: a name that ends in .limits.json.  [default: the "
    "file of --limits, after a question]",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="[default: any that is free]"
)
@click.option("--no-browser", is_flag=True, help="Print the link, and open no browser.")
@click.option(
    "--allow-remote",
    metavar="ADDRESS",
    callback=_parse_address,
    help="Listen on this address of this machine instead of 127.0.0.1, so that others who have "
    "the link can come in. The connection is not encrypted.",
)
@terminal.debug_option
def view(
    clip: Path | None,
    limits_path: Path | None,
    which: str | None,
    maps: tuple[str, ...],
    output: Path | None,
    port: int,
    no_browser: bool,
    allow_remote: str | None,
) -> None:
    """Show CLIP within its limits, on a page in the browser.

    The page is served on this machine alone, until Ctrl-C, and the link that is printed is the key
    to it. Nothing is loaded from elsewhere, and files are written only where --output or --limits
    says, or beside it.
    """
    from ..view.server import PageServer
    from ..view.session import scene_of
    from .fit import check_output

    if output is not None:
        check_output(output)
    scene = scene_of(*_load_inputs(clip, limits_path, which, maps))
    save_to = limits_path if output is None else output
    server = PageServer(scene, port=port, allow_remote=allow_remote, save_to=save_to)
    click.echo(f"{click.style(server.url, bold=True)}\nCtrl-C ends it.")
    if not no_browser:
        webbrowser.open(server.url)
    try:
        server.wait()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.close()
        if server.session.unsaved:
            terminal.note("edits that were not saved are gone")


def _load_inputs(
    clip_path: Path | None, limits_path: Path | None, which: str | None, maps: Sequence[str]
) -> tuple[LimitModel, Clip | None, Figure | None, dict[str, str]]:
    """Return what the command line names: limits, clip, figure, and the map of joints."""
    from ..anatomy import limits_of
    from ..io import load_clip, load_limits
    from ..io.limits import SUFFIX
    from ..model import LimitModel
    from .figure import HUMAN, figure_of

    if clip_path is None and limits_path is None and which is None:
        which = HUMAN
    if clip_path is not None and clip_path.name.endswith(SUFFIX):
        raise click.UsageError(f"{clip_path} is no clip but limits: give it after --limits")
    body = None if which is None else figure_of(which, None)
    clip = None if clip_path is None else load_clip(clip_path, skeleton=inputs.SKELETON.get())
    if limits_path is not None:
        model = load_limits(limits_path)
    elif body is not None:
        model = limits_of(body)
    elif clip is not None:
        model = LimitModel({}, clip.skeleton)
    else:
        raise click.UsageError("nothing to show: give a clip, limits or a figure")
    names = inputs.joint_names(maps)
    if clip is not None:
        inputs.check_map(names, model.skeleton, [clip])
    return model, clip, body, names
