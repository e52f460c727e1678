"""Train a model to use a tool, with TRL's GRPO: TRL reads its calls with the template that Backchat derives.

Usage: python trl_grpo.py MODEL prompts.jsonl output/ [STEPS]      (pip install trl)

A line of prompts.jsonl is {"prompt": [{"role": "user", "content": "Weather in Rome?"}], "city": "Rome"}.
"""

import sys
from typing import Any

import backchat
from backchat.integrations.transformers import add_response_template
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer


def get_weather(city: str) -> str:
    """
    The weather of a city.

    Args:
        city: The city.
    """
    return f"12 degrees in {city}"


def asks_for_the_city(completions: list[list[dict[str, Any]]], city: list[str], **_: Any) -> list[float]:
    """A reward of 1 for each call with the right city, from the messages that TRL parsed."""
    calls = [[call["function"] for turn in turns for call in turn.get("tool_calls") or ()] for turns in completions]
    return [
        float(any(call["arguments"] == {"city": wanted} for call in made))
        for made, wanted in zip(calls, city, strict=True)
    ]


def main(model: str, prompts: str, output: str, steps: str = "100") -> None:
    tokenizer = add_response_template(AutoTokenizer.from_pretrained(model))
    # TRL appends the tool's results to what it rendered before, and trains on the model's tokens, not on the tool's.
    continued = backchat.fix(tokenizer.chat_template, ["prefix"]).text
    tokenizer.chat_template = backchat.add_generation_blocks(continued).chat_template
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        reward_funcs=asks_for_the_city,
        args=GRPOConfig(output, max_steps=int(steps), num_generations=2, per_device_train_batch_size=2, report_to=[]),
        train_dataset=load_dataset("json", data_files=prompts, split="train"),
        processing_class=tokenizer,
        tools=[get_weather],
    )
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
