"""Numbers as people read them."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share (0 to 1) in percent: one decimal, or two digits below one percent.

    Trailing zeros are kept, so that 0.01 and its floating-point neighbours read the same.
    """
    if share < 1e-6:
        return "0%" if share == 0.0 else "<0.0001%"
    return f"{100.0 * share:.1f}%" if share >= 0.01 else f"{100.0 * share:#.2g}%"
