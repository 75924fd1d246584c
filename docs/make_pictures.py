"""Draw the pictures of the documentation from the demo's data: python docs/make_pictures.py."""

from pathlib import Path

from synovia import LimitModel
from synovia.anatomy.shoulder import shoulders
from synovia.cli.demo import save_picture
from synovia.demo import range_of_motion, wild
from synovia.draw import draw_plate, plates, save_figure

HERE = Path(__file__).parent / "img"


def main() -> None:
    """Write docs/img/overview.png and docs/img/shoulder.png."""
    rom, broken = range_of_motion(), wild()
    model = LimitModel.fit([rom])
    save_picture(model, rom, broken, model.project(broken), HERE / "overview.png")
    save_figure(draw_plate(shoulders(), plates()["scapula"]), HERE / "shoulder.png")


if __name__ == "__main__":
    main()
