# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on generated data with DistributedDataParallel over gloo."""
import argparse
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--fail-rank", type=int, default=-1)
parser.add_argument("--kill-rank", type=int, default=-1)
parser.add_argument("--fail-step", type=int, default=0)
args = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()

generator = torch.Generator().manual_seed(rank)
wanted = torch.arange(1.0, 9.0).unsqueeze(1) / 8
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

losses = []
for step in range(args.steps):
    if step == args.fail_step:
        if rank == args.fail_rank:
            raise ValueError(f"bad shard at step {step}")
        if rank == args.kill_rank:
            os.kill(os.getpid(), signal.SIGKILL)
    inputs = torch.randn(64, 8, generator=generator)
    loss = torch.nn.functional.mse_loss(model(inputs), inputs @ wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert losses[-1] < losses[0], losses
print(f"rank {rank} of {world}: loss {losses[0]:.4f} -> {losses[-1]:.4f}", flush=True)
print("weights", [round(w, 5) for w in model.module.weight.flatten().tolist()], flush=True)
if rank == 0:
    torch.save(model.module.state_dict(), os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
dist.destroy_process_group()
