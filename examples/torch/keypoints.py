"""Estimate a pose from 2-D keypoints without and with limits, which resolve the depth of knees."""

import numpy as np
import torch

from synovia.io.smpl import smpl_skeleton
from synovia.torch import LimitLoss, human, multiply, quaternions, rotate

skeleton = smpl_skeleton(24)
offsets = torch.tensor(np.array(skeleton.offsets))
limits = LimitLoss(human("smpl"), form="rotation-vector")


def keypoints(pose: torch.Tensor) -> torch.Tensor:
    """Return the positions (24, 2) of the joints in the image, in metres."""
    local = quaternions(pose, "rotation-vector")
    rotations, positions = [local[0]], [offsets[0]]
    for joint, parent in enumerate(skeleton.parents[1:], 1):
        positions.append(positions[parent] + rotate(rotations[parent], offsets[joint]))
        rotations.append(multiply(rotations[parent], local[joint]))
    return torch.stack(positions)[:, :2]


true = torch.zeros(24, 3, dtype=torch.float64)
true[4, 0], true[5, 0], true[18, 1], true[19, 1] = 0.7, 0.9, -1.0, 0.8  # knees and elbows
image = keypoints(true)

for weight in (0.0, 10.0):
    pose = 0.05 * torch.randn(24, 3, generator=torch.manual_seed(2), dtype=torch.float64)
    pose.requires_grad_()
    optimizer = torch.optim.Adam([pose], lr=0.1)
    for _ in range(80):
        optimizer.zero_grad()
        error = (keypoints(pose) - image).square().sum() + 1e-4 * pose.square().sum()
        (error + weight * limits(pose)).backward()
        optimizer.step()
    off_mm = 1000.0 * (keypoints(pose) - image).norm(dim=1).mean().item()
    outside = np.degrees(limits.distances(pose).detach().numpy())
    print(f"weight {weight:2.0f}: {off_mm:.0f} mm off, {int((outside > 1).sum())} joints outside")
