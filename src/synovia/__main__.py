"""The entry point of `synovia` and `python -m synovia`."""

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported ends it without a traceback."""
    try:
        from .cli import main as run

        run(prog_name="synovia")
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
