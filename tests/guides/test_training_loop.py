"""Training on mps: the loops of the guides, checkpoints, loaders."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "one step",
        """
        import torch
        import torch.nn as nn
        import torch.optim as optim
        device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
        torch.manual_seed(0)
        model = nn.Linear(10, 2).to(device)
        data = torch.randn(5, 10).to(device)
        target = torch.randn(5, 2).to(device)
        criterion = nn.MSELoss()
        optimizer = optim.SGD(model.parameters(), lr=0.01)
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        print(f"Loss: {loss.item():.4f}")
        """,
        "Loss: <number>\n",
        then="assert criterion(model(data), target).item() < loss.item()",
    ),
    Snippet(
        "a classifier",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        device = torch.accelerator.current_accelerator().type
        torch.manual_seed(0)
        images = torch.randn(256, 1, 8, 8)
        labels = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
        train = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
        test = DataLoader(TensorDataset(images, labels), batch_size=64)

        class NeuralNetwork(nn.Module):
            def __init__(self):
                super().__init__()
                self.flatten = nn.Flatten()
                self.stack = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))

            def forward(self, x):
                return self.stack(self.flatten(x))

        model = NeuralNetwork().to(device)
        loss_fn = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

        for epoch in range(10):
            model.train()
            for X, y in train:
                X, y = X.to(device), y.to(device)
                loss = loss_fn(model(X), y)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            scheduler.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for X, y in test:
                pred = model(X.to(device))
                correct += (pred.argmax(1) == y.to(device)).type(torch.float).sum().item()
        print(f"Accuracy: {100 * correct / len(labels):>0.1f}%")
        print(model)
        """,
        """
        Accuracy: <number>%
        NeuralNetwork(
          (flatten): Flatten(start_dim=1, end_dim=-1)
          (stack): Sequential(
            (0): Linear(in_features=64, out_features=32, bias=True)
            (1): ReLU()
            (2): Linear(in_features=32, out_features=2, bias=True)
          )
        )
        """,
        then="assert correct / len(labels) > 0.95, correct",
    ),
    Snippet(
        "a convolutional network",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1 = nn.Conv2d(1, 8, 3, 1)
                self.conv2 = nn.Conv2d(8, 16, 3, 1)
                self.norm = nn.BatchNorm2d(16)
                self.dropout = nn.Dropout(0.25)
                self.fc = nn.Linear(16 * 4 * 4, 10)

            def forward(self, x):
                x = F.relu(self.conv1(x))
                x = F.max_pool2d(self.norm(F.relu(self.conv2(x))), 2)
                return F.log_softmax(self.fc(self.dropout(torch.flatten(x, 1))), dim=1)

        torch.manual_seed(1)
        device = torch.device("mps")
        model = Net().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        data, target = torch.randn(16, 1, 12, 12), torch.randint(0, 10, (16,))
        data, target = data.to(device), target.to(device)
        losses = []
        for step in range(15):
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(model.training, losses[-1] < losses[0] / 4)
        """,
        "True True\n",
    ),
    Snippet(
        "the same as on the CPU",
        """
        import torch
        from torch import nn

        def train(device):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
            x = torch.randn(32, 4)
            y = x.sum(1, keepdim=True)
            model, x, y = model.to(device), x.to(device), y.to(device)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
            for _ in range(20):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
            return loss.item()

        print(abs(train("mps") - train("cpu")) < 1e-4)
        """,
        "True\n",
    ),
    Snippet(
        "a checkpoint",
        """
        import torch
        from torch import nn
        device = torch.device("mps")
        model = nn.Linear(3, 2).to(device)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(1, 3, device=device)).sum().backward()
        optimizer.step()
        torch.save(model.state_dict(), "model.pth")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "both.pt")

        print(torch.load("model.pth")["weight"].device)
        print(torch.load("model.pth", weights_only=True)["weight"].device)
        print(torch.load("model.pth", map_location="cpu")["weight"].device)
        print(torch.load("model.pth", map_location=torch.device("mps"))["bias"].device)
        print(torch.load("model.pth", map_location={"mps": "cpu"})["bias"].device)
        print(torch.load("model.pth", map_location=lambda storage, loc: storage)["bias"].device)
        both = torch.load("both.pt", map_location=device)
        other = nn.Linear(3, 2).to(device)
        other.load_state_dict(both["model"])
        again = torch.optim.Adam(other.parameters())
        again.load_state_dict(both["optimizer"])
        print(torch.equal(other.weight, model.weight), again.state[other.weight]["exp_avg"].device)
        """,
        "mps:0\nmps:0\ncpu\nmps:0\ncpu\ncpu\nTrue mps:0\n",
    ),
    Snippet(
        "a checkpoint of the CPU's",
        """
        import torch
        torch.save({"w": torch.arange(3.0)}, "cpu.pt")
        state = torch.load("cpu.pt", map_location="mps")
        print(state["w"])
        torch.save({"w": torch.zeros(3, dtype=torch.float64)}, "double.pt")
        try:
            torch.load("double.pt", map_location="mps")
        except TypeError as error:
            print(error)
        """,
        """
        tensor([0., 1., 2.], device='mps:0')
        Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead.
        """,  # noqa: E501
    ),
    Snippet(
        "a loader with workers and pinned memory",
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == "__main__":
            device = torch.device("mps")
            data = TensorDataset(torch.arange(8.0), torch.arange(8))
            loader = DataLoader(
                data, batch_size=4, num_workers=2, pin_memory=True, persistent_workers=True
            )
            for x, y in loader:
                x = x.to(device, non_blocking=True)
                print(x, y.to(device).sum().item())
        """,
        """
        tensor([0., 1., 2., 3.], device='mps:0') 6
        tensor([4., 5., 6., 7.], device='mps:0') 22
        """,
        tells=(
            "'pin_memory' argument is set as true but not supported on MPS now, "
            "device pinned memory won't be used.",
        ),
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_training_loop(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))
