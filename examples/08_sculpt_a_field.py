"""Build a distance field from a motion, then sculpt it by hand."""

from dataclasses import replace

import numpy as np

from synovia import quat
from synovia.edit import add_sample, pull, push
from synovia.learn import field_from_paths

t = np.linspace(0.0, 2.0 * np.pi, 120)
motion = quat.exp(0.8 * np.stack([np.sin(t), np.sin(2.0 * t), 0.3 * np.cos(t)], axis=1))
limit = field_from_paths([motion], resolution=32)
field = limit.shape
cell = np.degrees(field.spacing.max())
print(
    f"{field.values.shape} nodes, cells of {cell:.1f} degrees, {field.values.nbytes / 1e3:.0f} kB"
)

strokes = {
    "as built": field,
    "one more pose": add_sample(field, [0.0, 0.0, 0.9]),
    "pushed out": push(field, [0.8, 0.0, 0.0], radius=0.5, amount=0.2),
    "pulled in": pull(field, [0.8, 0.0, 0.0], radius=0.5, amount=0.1),
    "grown": field.grow(0.1),
}
wild = quat.exp(np.array([1.6, 0.2, 0.4]))
for name, shape in strokes.items():
    sculpted = replace(limit, shape=shape)
    degrees = np.degrees(sculpted.violation(wild))
    print(f"{name:<13} {sculpted.volume():6.2%} of all rotations, {degrees:4.1f} degrees outside")
