"""A table of the directions of an arm: filled by evidence, narrowed for a task, walked back to."""

import numpy as np

from synovia import DirectionTwist, Limit, ThetaPhi, quat
from synovia.edit import add

rng = np.random.default_rng(0)
chart = DirectionTwist(axis=np.array([1.0, 0.0, 0.0]))


def reaching(n, about, spread):
    """Return made-up samples of an arm: directions and twists."""
    return chart.points(quat.exp(rng.normal(about, spread, size=(n, 3))))


table = ThetaPhi.fit(reaching(3000, [0.0, 0.2, 0.1], 0.4))
print(f"{table.legal.sum()} of {table.legal.size} cells, {table.share:.1%} of all directions")

table = add(table, reaching(1000, [0.0, -0.6, 0.5], 0.3))
print(f"with more evidence {table.share:.1%}, without rare cells {table.trimmed(3.0).share:.1%}")

lat, a, b = np.radians([-20.0, 20.0]), np.radians([-60.0, -60.0]), np.radians([60.0, 60.0])
desk = ThetaPhi.from_rows(np.column_stack([lat, a, b]), -1.0, 1.0, frame=table.frame)
writing = table & desk
print(f"at a desk {writing.share:.1%}")

left, right = Limit(chart, writing), Limit(chart, writing)  # one table for both
wild = quat.exp(np.array([0.3, 1.6, 0.4]))
print(f"asked for {np.degrees(left.violation(wild)):.1f} degrees too much")
print("brought back, it is legal:", bool(right.contains(left.project(wild))))

here = writing.project(chart.points(left.chart.reference))
back = writing.walk_back(here, chart.points(wild))
print(
    f"walking back instead ends {np.degrees(writing.moves(here, back)[3]):.1f} degrees of twist on"
)
