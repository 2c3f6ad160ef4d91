"""diffusers: a small UNet trains, samples with a CPU generator, is saved and loaded."""

import tempfile

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
).to("mps")
scheduler = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(unet.parameters(), lr=2e-3)
images = torch.randn(4, 3, 16, 16).tanh().to("mps")
losses = []
for _ in range(8):
    noise = torch.randn_like(images)
    steps = torch.randint(0, 50, (4,), device="mps")
    loss = torch.nn.functional.mse_loss(
        unet(scheduler.add_noise(images, noise, steps), steps).sample, noise
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0], losses


def sample(pipeline):
    dice = torch.Generator().manual_seed(1)
    return pipeline(batch_size=1, generator=dice, num_inference_steps=3, output_type="np").images


with tempfile.TemporaryDirectory() as folder:
    pipeline = DDPMPipeline(unet=unet.eval(), scheduler=scheduler)
    pipeline.set_progress_bar_config(disable=True)
    here = sample(pipeline)
    pipeline.save_pretrained(folder)
    loaded = DDPMPipeline.from_pretrained(folder)
    loaded.set_progress_bar_config(disable=True)
    there = sample(loaded)
    again = sample(loaded.to("mps"))
assert abs(here - again).max() < 1e-6
assert abs(here - there).max() < 2e-2, abs(here - there).max()
print("PASS")
