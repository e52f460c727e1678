"""Compare our chat templates with the real ones of the same family.

    python3 tests/reference/compare_corpus.py [--shared ../shared] [--only NAME ...] [--diff]

Each of our templates and each corpus template of its family renders the same conversations, with transformers'
own Jinja. Compared is everything after the text of the last message that is not the assistant's: the end of that
message, the header and the turn; and beside it the same for the generation prompt. What stands earlier, such as the
words that introduce the tools, is ours and not compared. Run by hand: no test needs the corpus or transformers.
"""

import argparse
import copy
import difflib
import json
from collections import Counter
from pathlib import Path

from transformers.utils.chat_template_utils import render_jinja_template

OURS = Path(__file__).resolve().parents[2] / "chat_templates"


def tool(name, **properties):
    parameters = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": parameters}}


TOOLS = [tool("get_weather", city="string"), tool("save_record", title="string", count="integer"), tool("tick")]


def call(name, arguments, call_id):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(content="", reasoning=None, calls=None):
    message = {"role": "assistant", "content": content}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


SYSTEM = {"role": "system", "content": "Answer in French."}
USER = {"role": "user", "content": "How is the weather?"}
AGAIN = {"role": "user", "content": "And tomorrow?"}
WEATHER = call("get_weather", {"city": "Paris"}, "aB3dE5gH1")
RECORD = call("save_record", {"title": "trip", "count": 2}, "cD7fG9hJ2")
TICK = call("tick", {}, "eF1hJ3kL4")
TYPES = {
    "text": "é \"quoted\" 'single' <b> & \\ back",
    "lines": "one\n two \n",
    "number": 7,
    "real": 1.5,
    "yes": True,
    "none": None,
    "list": ["x", 1, True],
    "object": {"key": "value"},
    "numeral": "00420",
}
EVERY_TYPE = call("save_record", TYPES, "cD7fG9hJ2")
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "aB3dE5gH1", "content": "18 degrees"}
LATER = {"role": "user", "content": "Thank you."}
STORED = {"role": "tool", "content": "Stored."}
ONE_CALL = [USER, assistant(calls=[WEATHER]), RESULT]

# name, messages of which the last is the turn to compare, whether tools are given
CONVERSATIONS = [
    ("plain", [USER, assistant("It is sunny.")], False),
    ("system", [SYSTEM, USER, assistant("Il fait beau.")], False),
    ("second turn", [USER, assistant("It is sunny."), AGAIN, assistant("Rain.")], False),
    ("padded content", [USER, assistant("\n It is\n\nsunny. \n")], False),
    ("reasoning", [USER, assistant("It is sunny.", "I look outside.")], False),
    ("padded reasoning", [USER, assistant("It is sunny.", "\n I look\n\noutside. \n")], False),
    ("earlier reasoning", [USER, assistant("It is sunny.", "I look."), AGAIN, assistant("Rain.", "I think.")], False),
    ("one call", [USER, assistant(calls=[WEATHER])], True),
    ("one call, content none", [USER, assistant(None, calls=[WEATHER])], True),
    ("text and a call", [USER, assistant("I look it up.", calls=[WEATHER])], True),
    ("two calls", [USER, assistant(calls=[WEATHER, RECORD])], True),
    ("text and two calls", [USER, assistant("I look it up.", calls=[WEATHER, RECORD])], True),
    ("reasoning and a call", [USER, assistant("", "I need the tool.", [WEATHER])], True),
    ("reasoning, text, two calls", [USER, assistant("I look.", "I need both.", [WEATHER, RECORD])], True),
    ("no arguments", [USER, assistant(calls=[TICK])], True),
    ("every type", [USER, assistant(calls=[EVERY_TYPE])], True),
    ("answer after a result", [*ONE_CALL, assistant("It is mild.")], True),
    ("call after a result", [*ONE_CALL, assistant(calls=[RECORD])], True),
    ("reasoning after a result", [*ONE_CALL, assistant("It is mild.", "18 is mild.")], True),
]

# our template: the corpus templates of its family; a family that the corpus does not have is missing here
FAMILIES = {
    "qwen3": ["trl_qwen3_5_think", "trl_qwen3_instruct_2507"],
    "hermes": ["trl_qwen2_5", "chujie_qwen2.5_instruct", "hfjs_nousresearch_hermes_2_pro_llama_3_8b_json_schema"],
    "qwen3_coder": ["lcpp_qwen3_coder", "ollama_qwen3_coder_30b"],
    "qwq": ["ollama_qwq_32b_2", "ollama_qwq_32b_3", "lcpp_qwen_qwq_32b", "ollama_qwq_32b"],
    "deepseek_r1": ["trl_deepseekv3", "trl_deepseek_r1_distill", "hfjs_deepseek_ai_deepseek_r1"],
    "deepseek_v3": ["axo_deepseek_v3", "hfjs_deepseek_ai_deepseek_r1"],
    "deepseek_v3_1": ["ollama_deepseek_v3.1_latest"],
    "glm_4_6": ["lcpp_glm_4.6", "ik_glm_4.6"],
    "glm_4_7": ["lcpp_glm_4.7_flash"],
    "kimi_k2_thinking": ["hfjs_moonshotai_kimi_k2_thinking", "crate_kimi_k25"],
    "minimax_m2": ["lcpp_minimax_m2", "crate_minimax_m2"],
    "command_r7b": ["lcpp_cohereforai_c4ai_command_r7b_12_2024_tool_use", "hfjs_coherelabs_c4ai_command_a_03_2025"],
    "granite_3_3": ["lcpp_ibm_granite_granite_3.3_2b_instruct"],
    "llama_3_1": ["hfjs_meta_llama_llama_3.2_11b_vision_instruct", "axo_llama3_2_vision"],
    "mistral_nemo": ["lcpp_mistralai_mistral_nemo_instruct_2407", "hfjs_mistralai_mistral_nemo_instruct_2407"],
    "devstral": ["lcpp_unsloth_mistral_devstral_small_2507"],
    "ministral_3_reasoning": ["lcpp_mistralai_ministral_3_14b_reasoning_2512"],
    "nemotron_nano_v2": ["lcpp_nvidia_nemotron_nano_v2"],
    "seed_oss": ["lcpp_bytedance_seed_oss"],
    "functionary_v3_1": ["lcpp_meetkai_functionary_medium_v3.1"],
    "gemma_2": ["trl_gemma"],
    "gemma_4": ["lcpp_google_gemma_4_31b_it", "trl_gemma4"],
    "lfm_2_5": ["trl_lfm2_2_5"],
}

# our template: the settings of its switch to render under, besides none at all
THINKING = [{"enable_thinking": True}, {"enable_thinking": False}]
SWITCHES = {
    "qwen3": THINKING,
    "deepseek_v3_1": [{"thinking": True}],
    "glm_4_6": THINKING,
    "glm_4_7": THINKING,
    "command_r7b": THINKING,
    "granite_3_3": [{"thinking": True}],
    "gemma_4": THINKING,
    "seed_oss": [{"thinking_budget": 512}],
}


def with_thinking_blocks(messages):
    """Reasoning as a block of the content, where a template does not look for it beside the content."""
    messages = copy.deepcopy(messages)
    for message in messages:
        if reasoning := message.pop("reasoning_content", None):
            blocks = [{"type": "thinking", "thinking": reasoning}]
            if message["content"]:
                blocks.append({"type": "text", "text": message["content"]})
            message["content"] = blocks
    return messages


# corpus template: how it wants to be given the messages
ADAPTED = {"lcpp_mistralai_ministral_3_14b_reasoning_2512": with_thinking_blocks}

# corpus template: what differs beyond the general reasons below
EXPLAINED = {
    "trl_qwen2_5": "Qwen2.5, which took over the format of the calls: results stand in a turn of the user",
    "chujie_qwen2.5_instruct": "Qwen2.5, which took over the format of the calls: results stand in a turn of the user",
    "trl_qwen3_5_think": "a later format of the same house, here for its reasoning: tagged calls, trimmed text, and a prompt"
    " that opens <think>",
    "trl_qwen3_instruct_2507": "models that never reason, here for their calls: no empty tags in the last turn or the prompt",
    "hfjs_nousresearch_hermes_2_pro_llama_3_8b_json_schema": "of several calls only the first has its opening mark,"
    " text beside calls is dropped, arguments stand before the name; results are wrapped in JSON",
    "ollama_qwen3_coder_30b": "lists and objects are written with str() instead of as JSON",
    "lcpp_qwen_qwq_32b": "the prompt closes the reasoning unless enable_thinking is set",
    "ollama_qwq_32b": "the prompt does not open the reasoning",
    "trl_deepseekv3": "a call after a result lacks the marks before it",
    "trl_deepseek_r1_distill": "calls are rendered only where content is none, and then without the section's end",
    "hfjs_deepseek_ai_deepseek_r1": "the prompt does not open the reasoning; a call after a result lacks the marks before it",
    "axo_deepseek_v3": "a call after a result gets a header, although the prompt after a result has none",
    "crate_kimi_k25": "K2.5: the prompt opens the reasoning",
    "lcpp_cohereforai_c4ai_command_r7b_12_2024_tool_use": "the prompt closes the reasoning unless enable_thinking is set",
    "hfjs_coherelabs_c4ai_command_a_03_2025": "Command A: reasoning is read from tool_plan, and there is no switch",
    "lcpp_nvidia_nemotron_nano_v2": "the last turn is rendered by other code than all earlier ones: <think> always, never"
    " closed, calls after the end mark",
    "lcpp_google_gemma_4_31b_it": "text stands after the calls (the model writes it before them), none is None",
    "trl_gemma4": "text stands after the calls (the model writes it before them), none is None; no empty reasoning in the"
    " prompt",
}


class Refused(Exception):
    pass


def with_string_arguments(messages):
    messages = copy.deepcopy(messages)
    for message in messages:
        for each in message.get("tool_calls", []):
            each["function"]["arguments"] = json.dumps(each["function"]["arguments"], ensure_ascii=False)
    return messages


def render(source, messages, tools, generation_prompt, variables):
    """The prompt's text; arguments are handed over as an object, or as a string where only that is taken."""
    error = None
    for form in (messages, with_string_arguments(messages)):
        try:
            rendered, _ = render_jinja_template(
                [copy.deepcopy(form)],
                tools=copy.deepcopy(TOOLS) if tools else None,
                chat_template=source,
                add_generation_prompt=generation_prompt,
                **variables,
            )
            return rendered[0]
        except Exception as refusal:  # noqa: BLE001 (a template may raise anything)
            error = error or refusal
    raise Refused(f"{type(error).__name__}: {error}")


def continuation(messages):
    """What a conversation goes on with after this last turn: the results of its calls, an answer, the user."""
    calls = messages[-1].get("tool_calls", [])
    results = [{**STORED, "name": each["function"]["name"], "tool_call_id": each["id"]} for each in calls]
    return [*results, assistant("Done."), LATER] if results else [LATER]


def after(text, marker):
    return text[text.rindex(marker) + len(marker) :]


def cut(source, messages, going_on, tools, variables):
    """What follows the text of the message before the last turn: with that turn as the last, with the conversation
    going on after it (and cut off again), and with the turn only asked for."""
    before = messages[-2]["content"]
    last = render(source, messages, tools, False, variables)
    earlier = render(source, [*messages, *going_on], tools, False, variables)
    prompt = render(source, messages[:-1], tools, True, variables)
    if prompt == render(source, messages[:-1], tools, False, variables):
        # This template asks for another turn whether told to or not, so it also did after the last one.
        last = last.removesuffix(after(prompt, before).rpartition(variables["eos_token"])[2])
    return {
        "last turn": after(last, before),
        "earlier turn": after(earlier[: earlier.index(going_on[0]["content"])], before),
        "prompt": after(prompt, before),
    }


def without(*keys):
    return lambda message: {key: value for key, value in message.items() if key not in keys}


def trimmed(message):
    return {**message, "content": message["content"].strip() if message["content"] else message["content"]}


def front_trimmed(message):
    return {**message, "content": (message["content"] or "").lstrip("\n")}


# Why theirs may differ though the format is the same: ours renders the same when the last message is so altered.
REASONS = {
    "drop reasoning": without("reasoning_content"),
    "drop calls": without("tool_calls"),
    "drop reasoning and calls": without("reasoning_content", "tool_calls"),
    "write None for no content": lambda message: {**message, "content": "None"},
    "trim content": trimmed,
    "trim newlines before content": front_trimmed,
}


def compare(ours, theirs, adapt, variables):
    """Rows of (conversation, part, verdict, our text, their text)."""
    for name, messages, tools in CONVERSATIONS:
        going_on = continuation(messages)
        try:
            their_parts = cut(theirs, adapt(messages), going_on, tools, variables)
        except Refused as refusal:
            yield name, "last turn", "refused", "", str(refusal)
            continue
        try:
            our_parts = cut(ours, messages, going_on, tools, variables)
        except Refused as refusal:
            our_parts = dict.fromkeys(their_parts, f"refused: {refusal}")
        for part, our_text in our_parts.items():
            verdict = "same"
            if our_text != their_parts[part]:
                verdict = reason(ours, messages, going_on, tools, variables, part, their_parts[part]) or "differ"
            yield name, part, verdict, our_text, their_parts[part]


def reason(ours, messages, going_on, tools, variables, part, their_text):
    for sentence, alter in REASONS.items():
        try:
            if cut(ours, [*messages[:-1], alter(messages[-1])], going_on, tools, variables)[part] == their_text:
                return sentence
        except Refused:
            pass
    return None


def print_diff(ours, theirs):
    def lines(text):
        return [line.replace("\n", "⏎") for line in text.splitlines(keepends=True)]

    for line in difflib.unified_diff(lines(theirs), lines(ours), "theirs", "ours", lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            print(f"        {line}")


def print_pair(relative, switch, rows, diff):
    setting = " ".join(f"{key}={value}" for key, value in switch.items())
    print(f"  {relative}{f' with {setting}' if setting else ''}")
    refused = [row[0] for row in rows if row[2] == "refused"]
    for part in ("last turn", "earlier turn", "prompt"):
        verdicts = Counter(row[2] for row in rows if row[1] == part and row[2] != "refused")
        others = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items() if verdict != "same")
        print(f"    {part:12} {verdicts['same']:2}/{verdicts.total():2} same{f'; theirs: {others}' if others else ''}")
    if refused:
        print(f"    refused by theirs: {'; '.join(refused)}")
    if sentence := EXPLAINED.get(relative):
        print(f"    differs: {sentence}")
    if diff:
        for conversation, part, verdict, our_text, their_text in rows:
            if verdict == "differ":
                print(f"      {conversation}, {part}:")
                print_diff(our_text, their_text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--shared", type=Path, default=OURS.parent.parent / "shared")
    arguments.add_argument("--only", nargs="*", default=[], metavar="NAME")
    arguments.add_argument("--diff", action="store_true", help="show each difference that has no general reason")
    options = arguments.parse_args()
    corpus = options.shared / "corpus"
    tokens = {
        entry["name"]: {"bos_token": entry.get("bos_token") or "", "eos_token": entry.get("eos_token") or ""}
        for entry in json.loads((corpus / "index.json").read_text())
    }
    total = Counter()
    for name, relatives in FAMILIES.items():
        if options.only and name not in options.only:
            continue
        ours = (OURS / f"{name}.jinja").read_text()
        print(name)
        for relative in relatives:
            theirs = (corpus / "templates" / f"{relative}.jinja").read_text()
            for switch in [{}, *SWITCHES.get(name, [])]:
                rows = list(compare(ours, theirs, ADAPTED.get(relative, list), {**tokens[relative], **switch}))
                print_pair(relative, switch, rows, options.diff)
                total.update(row[2] if row[2] in ("same", "refused", "differ") else "reason" for row in rows)
    print(
        f"in all: {total['same']} turns and prompts are the same, {total['reason']} but for what theirs drop, trim or"
        f" write for none, {total['differ']} differ, {total['refused']} conversations are refused by theirs"
    )
    missing = sorted(path.stem for path in OURS.glob("*.jinja") if path.stem not in FAMILIES)
    print(f"not in the corpus: {', '.join(missing)}")


if __name__ == "__main__":
    main()
