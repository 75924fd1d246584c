"""A table of the directions of an arm: fitted, extended, narrowed for a task, and applied."""

import numpy as np

from synovia import DirectionTwist, Limit, ThetaPhi, quat
from synovia.edit import add

rng = np.random.default_rng(0)
chart = DirectionTwist(axis=np.array([1.0, 0.0, 0.0]))


def reaching(n, about, spread):
    """Return n random samples of an arm: directions and twists (n, 4)."""
    return chart.points(quat.exp(rng.normal(about, spread, size=(n, 3))))


table = ThetaPhi.fit(reaching(3000, [0.0, 0.2, 0.1], 0.4))
print(f"{table.legal.sum()} of {table.legal.size} cells, {table.share:.1%} of all directions")

table = add(table, reaching(1000, [0.0, -0.6, 0.5], 0.3))
print(f"with more samples {table.share:.1%}, without rare cells {table.trimmed(3.0).share:.1%}")

lat, a, b = np.radians([-20.0, 20.0]), np.radians([-60.0, -60.0]), np.radians([60.0, 60.0])
desk = ThetaPhi.from_rows(np.column_stack([lat, a, b]), -1.0, 1.0, frame=table.frame)
writing = table & desk
print(f"at a desk {writing.share:.1%}")

arm = Limit(chart, writing)
wild = quat.exp(np.array([0.3, 1.6, 0.4]))
print(f"the pose is {np.degrees(arm.violation(wild)):.1f} degrees outside")
print("after projection it is legal:", bool(arm.contains(arm.project(wild))))

start = writing.project(chart.points(arm.chart.reference))
end = writing.walk_back(start, chart.points(wild))
twist_deg = np.degrees(writing.moves(start, end)[3])
print(f"walking back along the path instead ends after {twist_deg:.1f} degrees of twist")
