"""Pose an arm by goals within limits, and print the reason if a goal cannot be met."""

import numpy as np

from synovia import Box, DirectionTwist, Limit, LimitModel, ReachCone, Skeleton, SwingTwist
from synovia.ik import Aim, Reach, solve

names = ("Chest", "Shoulder", "Elbow", "Hand")
skeleton = Skeleton(names, [-1, 0, 1, 2], [[0, 1.3, 0], [0.2, 0, 0], [0.3, 0, 0], [0.27, 0, 0]])

around = 2.0 * np.pi * np.arange(8) / 8
ring = np.sin(1.3) * np.array([np.cos(around), np.sin(around)])
cone = ReachCone(np.stack([np.full(8, np.cos(1.3)), *ring], axis=1), -1.2, 1.0)
bend = Box([0.0, 0.0, 0.0], [0.0, 0.0, 2.5], np.eye(3))  # a hinge: no swing, 0 to 143 degrees
limits = {
    "Shoulder": Limit(DirectionTwist(axis=np.array([1.0, 0.0, 0.0])), cone),
    "Elbow": Limit(SwingTwist(axis=np.array([0.0, -1.0, 0.0])), bend),
}
model, rest = LimitModel(limits, skeleton), skeleton.rest_pose()

near = solve(model, skeleton, rest, [Reach("Hand", [0.5, 1.5, 0.2])])
print(f"in {near.iterations} steps: {near.reason()}; legal: {model.contains(near.pose)}")

behind = solve(model, skeleton, rest, [Reach("Hand", [-0.1, 1.3, -0.3])])
print(behind.reason())

far = solve(model, skeleton, rest, [Reach("Hand", [2.0, 1.3, 0.0])])
print(far.reason())

pointed = solve(model, skeleton, rest, [Aim("Elbow", [0.6, 1.8, 1.0], axis=[1.0, 0.0, 0.0])])
print("aiming the forearm:", pointed.reason())

targets = np.random.default_rng(0).normal([0.5, 1.3, 0.2], 0.15, size=(1000, 3))
many = solve(model, skeleton, rest, [Reach("Hand", targets)])
print(f"of 1000 goals {many.converged.sum()} are met, all legal: {model.contains(many.pose).all()}")
