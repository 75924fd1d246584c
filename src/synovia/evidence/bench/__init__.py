"""What the sources measured, measured again here, and beside what robotics people use."""

from collections.abc import Callable
from types import MappingProxyType

from .arm import run_arm
from .capture import Capture, Run, run_capture
from .finding import Finding, Order, Result, Table
from .robotics import run_robotics
from .table1 import run_table1

ITEMS: MappingProxyType[str, Callable[[Order], Result]] = MappingProxyType(
    {"table1": run_table1, "capture": run_capture, "arm": run_arm, "robotics": run_robotics}
)
"""The benchmarks by name."""

__all__ = ["ITEMS", "Capture", "Finding", "Order", "Result", "Run", "Table"]
