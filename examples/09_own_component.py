"""A component of your own: a crank that drives a piston."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synovia import Figure, Skeleton, components, save_figure
from synovia.components import Control, JointSet, Rotation, Translation


@dataclass(frozen=True, eq=False)
class Crank(components.ArrayComponent):
    """The position of a piston driven by a crank of `radius` with a rod of `length`."""

    radius: float
    length: float

    kind: ClassVar = "crank"
    inputs: ClassVar = {"angle": "scalar"}
    outputs: ClassVar = {"position": "scalar"}

    def evaluate(self, angle):
        """Return the position for any number of angles."""
        across = self.radius * np.sin(angle)
        return (self.radius * np.cos(angle) + np.sqrt(self.length**2 - across**2),)


components.COMPONENTS["crank"] = Crank  # figures in files may use it now
parts = {"crank": Crank(0.3, 1.0), "wheel": Rotation([0, 0, 1], [0, 6.3]), "slide": Translation()}
wires = {"crank.angle": "angle", "wheel.angle": "angle", "slide.x": "crank.position"}
network = components.Network(parts, wires, {"wheel": "wheel.matrix", "piston": "slide.matrix"})

skeleton = Skeleton(("wheel", "piston"), [-1, -1], np.zeros((2, 3)))
engine = Figure(skeleton, {"engine": JointSet(network, {"angle": Control(0.0, 6.3)})})
save_figure(engine, "engine.xml")
posed = engine.pose({"engine.angle": np.linspace(0.0, np.pi, 5)})
print("positions of the piston:", posed.positions[:, 1, 0].round(3))
print("speed at angle 1:", network.jacobian({"angle": 1.0})["piston"]["angle"][0, 3].round(3))
