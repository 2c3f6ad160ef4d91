"""peft: LoRA learns as on the CPU, its adapters are saved and loaded, and merged."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def base() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES))


def train(device: str):
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(base(), config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens = torch.arange(64).reshape(4, 16).to(device)
    losses = []
    for _ in range(10):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model.eval(), losses


model, losses = train("mps")
_, expected = train("cpu")
assert losses[-1] < losses[0], losses
assert max(abs(a - b) for a, b in zip(losses, expected, strict=True)) < 1e-4, (losses, expected)
tokens = torch.arange(8, device="mps").reshape(1, 8)
with tempfile.TemporaryDirectory() as folder, torch.no_grad():
    found = model(tokens).logits
    model.save_pretrained(folder)
    again = PeftModel.from_pretrained(base().to("mps"), folder)
    assert torch.equal(again(tokens).logits, found)
    merged = model.merge_and_unload()
    assert merged.device.type == "mps"
    torch.testing.assert_close(merged(tokens).logits, found, rtol=1e-4, atol=1e-4)
print("PASS")
