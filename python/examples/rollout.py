"""Let a model use tools over several turns, and keep every id that it sampled, for training or for reusing a cache.

Usage: python rollout.py MODEL "Weather in Rome?" [TURNS]      (pip install transformers torch)
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import backchat
from backchat.integrations.transformers import add_response_template
from transformers import AutoModelForCausalLM, AutoTokenizer


def get_weather(city: str = "") -> str:
    """
    The weather of a city.

    Args:
        city: The city.
    """
    return f"12 degrees in {city}"


TOOLS = {"get_weather": get_weather}


@dataclass
class Rollout:
    """A conversation as ids. `own` has 1 for each id of the completion that the model sampled."""

    prompt_ids: list[int]
    completion_ids: list[int]
    own: list[int]
    messages: list[dict[str, Any]]
    end: str


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """Run a call that the model wrote; errors are returned to the model."""
    function = call["function"]
    try:
        said = TOOLS[function["name"]](**function["arguments"])
    except (KeyError, TypeError) as error:
        said = f"error: {error}"
    return {"role": "tool", "name": function["name"], "tool_call_id": call.get("id", "call00000"), "content": said}


def roll_out(
    sample: Callable[[Sequence[int]], Sequence[int]],
    bridge: backchat.Bridge,
    prompt_ids: Sequence[int],
    messages: Sequence[dict[str, Any]],
    tools: Sequence[Any] | None = None,
    turns: int = 4,
) -> Rollout:
    """Sample, run the tools, append the ids that the template has in between, and sample again."""
    rollout = Rollout(list(prompt_ids), [], [], list(messages), "turns")
    for _ in range(turns):
        before = rollout.prompt_ids + rollout.completion_ids
        sampled = list(sample(before))
        rollout.completion_ids += sampled
        rollout.own += [1] * len(sampled)
        message = bridge.read(before, sampled)
        calls = message.get("tool_calls")
        if not calls:
            rollout.messages.append(message)
            rollout.end = "stop"
            return rollout
        results = [answer(call) for call in calls]
        try:
            bridged = bridge.next(rollout.messages, before, sampled, results, tools=tools)
        except backchat.Refused as refused:
            rollout.end = refused.kind
            return rollout
        rollout.messages += [bridged.message, *results]
        rollout.completion_ids += bridged.ids
        rollout.own += [0] * len(bridged.ids)
    return rollout


def main(name: str, question: str, turns: str = "4") -> None:
    tokenizer = add_response_template(AutoTokenizer.from_pretrained(name))
    model = AutoModelForCausalLM.from_pretrained(name)
    bridge = backchat.Bridge(tokenizer.chat_template, tokenizer, tokenizer.response_template)
    messages = [{"role": "user", "content": question}]
    tools = list(TOOLS.values())
    prompt = backchat.render(
        tokenizer.chat_template, messages, tools=tools, add_generation_prompt=True, tokenizer=tokenizer
    )

    def sample(ids: Sequence[int]) -> list[int]:
        import torch

        written = model.generate(torch.tensor([list(ids)]), max_new_tokens=512, do_sample=True)
        return [int(token) for token in written[0][len(ids) :]]

    rollout = roll_out(sample, bridge, prompt.token_ids or [], messages, tools, int(turns))
    print(json.dumps({"messages": rollout.messages, "end": rollout.end, "sampled": sum(rollout.own)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
