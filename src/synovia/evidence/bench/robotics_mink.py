"""mink, as its own examples use it: differential steps by a quadratic program, until close."""

from __future__ import annotations

import importlib
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from ... import quat
from ...arrays import Floats, Quats, Vectors
from .finding import stopped
from .robotics_chain import CLOSE, START, STRAIGHT, as_mjcf, chain_model, hand_at

TRIED = tuple((solver, damping) for solver in ("daqp", "quadprog") for damping in (1.0, 1e-2, 1e-4))
"""Solvers and Levenberg–Marquardt dampings; its examples have daqp and 1.0."""
MOST = 200  # steps for one goal
DT = 0.1  # seconds; without a limit on speeds it plays no part


def mink_missing() -> bool:
    """Tell whether mink, or what it stands on, is not there."""
    return any(find_spec(name) is None for name in ("mink", "mujoco", "daqp", "quadprog"))


class MinkChain:
    """The chain in MuJoCo, its hand led by a frame task, its ranges kept by mink."""

    def __init__(self, solver: str, damping: float) -> None:
        self.mink: Any = importlib.import_module("mink")
        mujoco: Any = importlib.import_module("mujoco")
        model = mujoco.MjModel.from_xml_string(as_mjcf())
        self.configuration = self.mink.Configuration(model)
        self.limits = [self.mink.ConfigurationLimit(model)]
        self.solver, self.damping = solver, damping
        self.tasks = {
            turned: self.mink.FrameTask(
                "hand",
                "site",
                position_cost=1.0,
                orientation_cost=float(turned),
                lm_damping=damping,
            )
            for turned in (False, True)
        }

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"mink, {self.solver}"

    @property
    def said(self) -> str:
        """The settings, in a sentence."""
        return (
            f"mink: frame task of costs 1, lm_damping {self.damping:g}, {self.solver}, "
            f"configuration limit, at most {MOST} steps from the same start; of {len(TRIED)} "
            "settings the one that meets most goals, and of these the quickest"
        )

    @classmethod
    def best(cls, where: Vectors, how: Quats) -> MinkChain:
        """Return the chain with the settings that meet most poses, and of these the quickest."""
        ranked = []
        for solver, damping in TRIED:
            chain = cls(solver, damping)
            found, seconds = stopped(partial(list, map(chain.solve, where, how)))
            hands, turns = hand_at(chain_model().skeleton, np.array(found))
            near = np.linalg.norm(hands - where, axis=-1) <= CLOSE
            met = int((near & (quat.angle_between(turns, how) <= STRAIGHT)).sum())
            ranked.append((-met, seconds, solver, damping))
        _, _, solver, damping = min(ranked)
        return cls(solver, damping)

    def solve(self, point: Vectors, turn: Quats | None) -> Floats:
        """Return the angles at which steps end: close enough, or given up.

        Of a goal without direction the target is turned as the hand is at every step: then only
        the place counts, which is the best that can be done for mink.
        """
        task, here = self.tasks[turn is not None], self.configuration
        here.update(START)
        if turn is not None:
            task.set_target(self.mink.SE3(np.concatenate([turn, point])))
        for _ in range(MOST):
            far = float(np.linalg.norm(here.data.site_xpos[0] - point)) > CLOSE
            if turn is None:
                hand = here.get_transform_frame_to_world("hand", "site").rotation()
                task.set_target(self.mink.SE3.from_rotation_and_translation(hand, point))
            else:
                far = far or float(np.linalg.norm(task.compute_error(here)[3:])) > STRAIGHT
            if not far:
                break
            velocity = self.mink.solve_ik(here, [task], DT, self.solver, limits=self.limits)
            here.integrate_inplace(velocity, DT)
        return np.array(here.q)
