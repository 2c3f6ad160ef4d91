"""PyTorch Geometric: picks mps by itself; a graph network learns as on the CPU."""

import random

import numpy as np
import torch
import torch_geometric
from torch_geometric.datasets import FakeDataset
from torch_geometric.nn import GCN

assert torch_geometric.device("auto").type == "mps"


def train(device: str) -> list[float]:
    torch.manual_seed(0)
    graph = FakeDataset(num_graphs=1, avg_num_nodes=60, num_classes=3, task="node")[0]
    model = GCN(graph.num_features, 16, num_layers=2, out_channels=3).to(device)
    graph = graph.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(graph.x, graph.edge_index), graph.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


results = {}
for device in ("mps", "cpu"):
    random.seed(0)
    np.random.seed(0)
    results[device] = train(device)
assert results["mps"][-1] < results["mps"][0]
worst = max(abs(a - b) for a, b in zip(results["mps"], results["cpu"], strict=True))
assert worst < 1e-2, worst
print("PASS")
