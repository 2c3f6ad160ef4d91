"""transformers: generation, pipelines and device maps find the device and agree with the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="scripts/setup ecosystem")
pytest.importorskip("accelerate", reason="scripts/setup ecosystem")

from . import glue  # noqa: E402


@pytest.fixture
def llama():
    """Small, with fewer key heads than query heads, as current models have."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=96,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=95,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("more", [{}, {"num_beams": 3}, {"cache_implementation": "static"}])
def test_generation_without_dice_equals_the_cpu(llama, more: dict[str, object]) -> None:
    asked = torch.tensor([[0, 0, 5, 6, 7], [1, 2, 3, 4, 5]])
    options = {"attention_mask": (asked != 0).long(), "max_new_tokens": 12, "do_sample": False}
    expected = llama.generate(asked, **options, **more)
    options["attention_mask"] = options["attention_mask"].to("mps")
    found = llama.to("mps").generate(asked.to("mps"), **options, **more)
    assert found.device.type == "mps"
    assert found.shape[1] > 5
    assert found.tolist() == expected.tolist()


def test_sampling_repeats_with_its_seed(llama) -> None:
    asked = torch.tensor([[1, 2, 3]], device="mps")
    llama.to("mps")

    def sample(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return list(llama.generate(asked, max_new_tokens=16, do_sample=True).tolist())

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


@pytest.mark.parametrize("device_map", ["auto", "mps"])
def test_a_device_map_lands_on_mps(llama, tmp_path: Path, device_map: str) -> None:
    llama.save_pretrained(tmp_path)
    loaded = transformers.LlamaForCausalLM.from_pretrained(tmp_path, device_map=device_map)
    assert {parameter.device.type for parameter in loaded.parameters()} == {"mps"}
    asked = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        expected = llama(asked).logits
        found = loaded(asked.to("mps")).logits
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-5)


def test_a_pipeline_takes_mps_by_itself_and_answers_as_on_the_cpu(tmp_path: Path) -> None:
    glue.write_model(tmp_path)
    here = transformers.pipeline("text-classification", model=str(tmp_path))
    there = transformers.pipeline("text-classification", model=str(tmp_path), device="cpu")
    assert here.device.type == "mps"
    texts = ["the team win the game", "loss in the city"]
    for found, expected in zip(here(texts, batch_size=2), there(texts), strict=True):
        assert found["label"] == expected["label"]
        assert found["score"] == pytest.approx(expected["score"], rel=1e-4)


def test_a_pipeline_writes_the_text_that_it_writes_on_the_cpu(llama, tmp_path: Path) -> None:
    llama.save_pretrained(tmp_path)
    glue.write_tokenizer(tmp_path)
    ask = {"max_new_tokens": 8, "do_sample": False}
    found = {}
    for where in ({}, {"device_map": "auto"}, {"device": "cpu"}):
        pipeline = transformers.pipeline("text-generation", model=str(tmp_path), **where)
        assert pipeline.model.device.type == where.get("device", "mps")
        (written,) = pipeline("the team", **ask)
        found[str(where)] = written["generated_text"]
    (text,) = set(found.values())
    assert text.startswith("the team")
    assert len(text) > len("the team")
