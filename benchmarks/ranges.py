"""Print the possible range along each clinical axis beside the published one, in degrees.

    python benchmarks/ranges.py

Columns: end of the possible range, published mean and SD ("*": no SD is published, this one is
ours), the least and greatest end that is allowed, and the source with its status.
"""

from __future__ import annotations

from synovia.population import canonical_limits, joint_name
from synovia.population.envelope import published_ranges, range_end


def main() -> None:
    limits = canonical_limits("possible").limits
    print(f"{'joint':18} {'motion':42} {'end':>6} {'mean':>6} {'SD':>5}  allowed")
    for row in published_ranges():
        end = range_end(limits[row.joint], row)
        inside = row.mean <= end <= row.farthest
        print(
            f"{joint_name(row.joint):18} {row.motion:42} {end:6.1f} {row.mean:6.1f} {row.sd:5.1f}"
            f"{'*' if row.sd_is_stated else ' '} {row.mean:5.0f} to {row.farthest:3.0f} "
            f"{'' if inside else 'OUTSIDE '}({row.status}) {row.source}"
        )


if __name__ == "__main__":
    main()
