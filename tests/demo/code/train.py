# SPDX-License-Identifier: Apache-2.0
# A small data-parallel training job: ranks learn the same plane from generated points and
# average their gradients over gloo.
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
points = torch.randn(512, 2)
heights = points @ torch.tensor([[2.0], [-3.0]]) + 1.0
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
for epoch in range(args.epochs):
    loss = torch.nn.functional.mse_loss(model(points), heights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss)
    print(f"epoch {epoch} loss {loss.item() / world:.4f}", flush=True)
if rank == 0:
    path = os.path.join(os.environ["SM_MODEL_DIR"], "model.pt")
    torch.save(model.module.state_dict(), path)
    print(f"saved {os.path.basename(path)}", flush=True)
dist.destroy_process_group()
