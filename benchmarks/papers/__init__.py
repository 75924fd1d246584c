"""Reproductions of the papers' measurements: `python -m benchmarks.papers`, or `make papers`.

One file a paper, called after its authors, and two of ours: an arm, and a chain for robotics.
"""
