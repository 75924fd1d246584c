"""Train a small autoencoder of SMPL poses, without and with limits on the poses it generates."""

import math

import numpy as np
import torch

from synovia import quat
from synovia.torch import LimitLoss, human

model = human("smpl")
limits = LimitLoss(model, form="6d")
legal = model.sample(500, np.random.default_rng(0))
poses = torch.tensor(quat.to_6d(legal.rotations), dtype=torch.float32).flatten(1)  # (500, 144)

for weight in (0.0, 1.0):
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(
        torch.nn.Linear(144, 96), torch.nn.ReLU(), torch.nn.Linear(96, 24)
    )
    decoder = torch.nn.Sequential(
        torch.nn.Linear(24, 96), torch.nn.ReLU(), torch.nn.Linear(96, 144)
    )
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    for _ in range(200):
        optimizer.zero_grad()
        code = encoder(poses)
        error = (decoder(code) - poses).square().sum(-1).mean()
        generated = decoder(code.detach().std(0) * torch.randn(200, 24))
        (error + weight * limits(generated.unflatten(-1, (24, 6)))).backward()
        optimizer.step()
    with torch.no_grad():
        generated = decoder(encoder(poses).std(0) * torch.randn(1000, 24))
        outside = limits.distances(generated.unflatten(-1, (24, 6))) > math.radians(1.0)
    share = outside.float().mean().item()
    print(
        f"weight {weight:1.0f}: error {error.item():.1f}, joints of new poses outside {share:.1%}"
    )
