"""Draw the pictures of the documentation from the demo's data: python docs/make_pictures.py."""

from pathlib import Path

from synovia import LimitModel
from synovia.cli.demo import save_picture
from synovia.demo import range_of_motion, wild

HERE = Path(__file__).parent / "img"


def main() -> None:
    """Write docs/img/overview.png."""
    rom, broken = range_of_motion(), wild()
    model = LimitModel.fit([rom])
    save_picture(model, rom, broken, model.project(broken), HERE / "overview.png")


if __name__ == "__main__":
    main()
