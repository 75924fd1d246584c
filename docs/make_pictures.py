"""Draw the pictures of the documentation from the demo's data: python docs/make_pictures.py."""

from pathlib import Path

from synovia import human
from synovia.anatomy.shoulder import shoulders
from synovia.cli.demo import BEST, save_picture
from synovia.demo import learned, range_of_motion, wild
from synovia.draw import draw_plate, plates, save_figure
from synovia.draw.skeleton import draw_skeleton

HERE = Path(__file__).parent / "img"


def main() -> None:
    """Write the pictures in docs/img."""
    rom, broken = range_of_motion(), wild()
    model = learned(rom, *BEST)
    save_picture(model, rom, broken, model.project(broken), HERE / "overview.png")
    people(HERE / "human.png")
    save_figure(draw_plate(shoulders(), plates()["scapula"]), HERE / "shoulder.png")


def people(path: Path) -> None:
    """Draw the default human, standing, bent to the side, and squatting."""
    from matplotlib.figure import Figure

    body = human()
    legs = {
        "hip.flexion": 95,
        "knee.flexion": 120,
        "ankle.dorsiflexion": 22,
        "shoulder.flexion": 70,
    }
    squat = {f"{side}_{name}": value for side in ("left", "right") for name, value in legs.items()}
    bent = {"lumbar.bend": 15, "thoracic.bend": 25, "cervical.bend": 20}
    bent |= {"left_shoulder.abduction": 70, "right_shoulder.abduction": 110}
    figure = Figure(figsize=(9.0, 4.6), dpi=120)
    poses = ({}, bent, {"lumbar.flexion": 25, "cervical.flexion": -20, **squat})
    for axes, controls in zip(figure.subplots(1, 3), poses, strict=True):
        draw_skeleton(axes, body.skeleton, body.pose(controls), thickness=0.005)
        axes.set(xlim=(-0.85, 0.85), ylim=(-0.1, 2.2))
    figure.tight_layout()
    save_figure(figure, path)


if __name__ == "__main__":
    main()
