"""timm: a training step equals the CPU's, under autocast too; a checkpoint goes back and forth."""

import io

import timm
import timm.optim
import torch

torch.manual_seed(0)
x, y = torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])


def loss_after_steps(device: str, name: str) -> float:
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=4, **sizes[name]).to(device)
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-4)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


sizes = {"resnet18": {}, "vit_tiny_patch16_224": {"img_size": 64}}
for name in sizes:
    here, there = loss_after_steps("mps", name), loss_after_steps("cpu", name)
    assert abs(here - there) < 1e-2 * abs(there) + 1e-3, (name, here, there)
    print(name, here, there)

model = timm.create_model("resnet18", num_classes=4).to("mps").eval()
kept = io.BytesIO()
torch.save(model.state_dict(), kept)
for device in ("cpu", "mps"):
    kept.seek(0)
    again = timm.create_model("resnet18", num_classes=4)
    again.load_state_dict(torch.load(kept, map_location=device))
    found = again.to("mps").eval()(x.to("mps"))
    assert torch.equal(found, model(x.to("mps")))
with torch.autocast("mps", dtype=torch.float16):
    assert model(x.to("mps")).dtype == torch.float16
print("PASS")
