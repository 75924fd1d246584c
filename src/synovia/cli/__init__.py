"""The command line: files of one or two commands, imported when a command runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import click

from .. import __version__
from ..processes import limit_blas_threads
from ..text import error_text, printable
from . import terminal
from .options import Settings, debug_option

COMMANDS = {
    "fit": "Learn the limits of every joint from clips.",
    "check": "Show which joints of clips leave their limits.",
    "clamp": "Write clips with every joint inside its limits, free of pops.",
    "repair": "Write clips that look the same, with every joint inside its limits.",
    "report": "Show the range of motion of clips, joint by joint.",
    "view": "Show CLIP within its limits, on a page in the browser.",
    "solve": "Drive joints of CLIP to their goals, frame by frame.",
    "look": "Turn spine, neck and head of CLIP towards something.",
    "info": "Show what is in FILE: a clip, or limits.",
    "limits": "Write human limits, or those in FILE, for a rig.",
    "export": "Write limits for an engine or an editor, and say what that gains and loses.",
    "lint": "Show what is wrong with the ranges in a model of another tool.",
    "convert": "Write clips in another format, with another axis up, another unit or rate.",
    "runtime": "Write a C header that applies limits, and limits as it reads them.",
    "draw": "Draw the limits in FILE, or a plate of joints.",
    "compare": "Show which family of limits fits clips best.",
    "corpus": "Learn from thousands of clips, stopped and resumed at will.",
    "figure": "Pose the human, or the figure in FILE.xml, by its controls; or fit it to a person.",
    "demo": "Learn limits from motion, and clamp a wild clip with them.",
}
"""Commands with the first line of their help, so that the list is shown without importing them."""
FILES = {
    "lint": "export",
    "look": "solve",
    "repair": "clamp",
    "report": "check",
    "runtime": "limits",
}
"""Files of commands that share one with another command."""
FAILED, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


class Commands(click.Group):
    """The commands by name. An error in one is printed as a sentence, without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command from the file of its name."""
        if name not in COMMANDS:
            close = get_close_matches(name, COMMANDS, 1, 0.5)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {name!r:.40}; {hint}", ctx)
        module = importlib.import_module(f"{__name__}.{FILES.get(name, name)}")
        command = getattr(module, name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and show its warnings; a closed pipe is not an error."""
        if terminal.is_colourless():
            ctx.color = False
        try:
            with terminal.show_warnings():
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except BrokenPipeError:
            _discard_output()
            raise click.exceptions.Exit(BROKEN_PIPE) from None

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit with the codes that the help lists."""
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        limit_blas_threads()
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by the shell, which is no error
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        settings = Settings()
        extra["obj"] = settings
        try:
            with _exit_at_signals():
                code = super().main(args, prog_name, standalone_mode=False, **extra)
        except click.Abort:
            code = INTERRUPTED
        except Exception as error:
            with contextlib.suppress(OSError):  # stderr may be on a full disk
                _print_error(error, debug=settings.debug)
            code = FAILED
        sys.exit(code if isinstance(code, int) else 0)


@contextlib.contextmanager
def _exit_at_signals() -> Iterator[None]:
    """Raise SystemExit at SIGTERM and SIGHUP, so that temporary files are removed.

    A signal that is ignored or handled already, as under nohup, stays so.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only the main thread may set handlers
    changed = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _print_error(error: Exception, *, debug: bool) -> None:
    """Print an error in one line; with `debug`, the traceback before it."""
    if debug:
        terminal.note("".join(traceback.format_exception(error)))
    prefix = click.style("synovia: error:", fg="red", bold=True)
    terminal.echo(f"{prefix} {printable(_error_message(error))}", err=True)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        terminal.echo(f"Try '{error.ctx.command_path} --help'.", err=True)


def _error_message(error: Exception) -> str:
    """Return the message of an error, preceded by the file of a system error."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError | ValueError):
        return error_text(error)
    kind = type(error).__name__
    return f"{kind}: {error} (a fault in synovia; with --debug it shows where)"


def _discard_output() -> None:
    """Redirect stdout to the null device, so that flushing a closed pipe at exit is no error."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Every command has its own help: synovia fit --help
Completion, for bash (zsh and fish alike), in your ~/.bashrc:
  eval "$(_SYNOVIA_COMPLETE=bash_source synovia)"
""",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@debug_option
def main() -> None:
    """Joint limits: of a human on any rig, or learned from motion capture.

    \b
    Find joints outside their limits, bring clips back inside, and look:
      synovia check walk.bvh
      synovia clamp walk.bvh -o clamped.bvh
      synovia view walk.bvh

    \b
    Limits of your own, from captures of one person or many:
      synovia fit captures/ -o mine.limits.json
      synovia check walk.bvh --limits mine.limits.json

    CLIPs are files, directories (with all that is below them), globs, and tables (.csv) with the
    columns path and performer; FILE#NAME is one of several clips in a file. Angles are in degrees,
    frames count from 0. A file that exists is replaced only with --force.

    \b
    Exit codes:
      0    success, and nothing to report
      1    check or lint found something; a clip was left out because it is not human or
           cannot be read; a goal of solve, look or figure --reach is not met; a joint gains
           more than export --max-gain
      2    an error; one line on stderr describes it
      130  interrupted; nothing is half-written
    """
