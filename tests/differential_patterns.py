#!/usr/bin/env python3
"""Compares `backchat parse` with the parser of transformers on random patterns as delimiters. Run by hand.

    pip install transformers==5.23.0 regex==2026.11.15
    cargo build --release
    tests/differential_patterns.py [--seed 1] [--cases 2000] [--bin target/release/backchat] [--show 10]

Small patterns as open, explicit close and implicit close, over short texts of a few characters. `differential.py` does
the same with templates of the usual make.

Reference mode has to give the same events at every feed. Stable mode has to give, at every chunking, what the reference
gives where the text comes in one piece; not compared where it departs on purpose: a region without a value, a required
field that is absent, a zero-width close of an empty implicit region, a zero-width open and close at one place.
"""
import argparse, json, random, signal, subprocess, sys, warnings

warnings.simplefilter("ignore")
import regex
from transformers.utils.chat_parsing import ResponseParser


class Late(Exception):
    pass


def alarm(*_):
    raise Late()


def reference(row, chunks):
    """What transformers gives, as a machine row; None where it does not end."""
    out, stage, at = {"feeds": []}, "load", 0
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        parser = ResponseParser(row["template"], prefix=row["prefix"])
        out["initial_events"], stage = parser.initial_events, "feed"
        for length in chunks:
            out["feeds"].append(parser.feed(row["text"][at : at + length]))
            at += length
        stage = "finalize"
        out["message"], out["final_events"] = parser.finalize()
    except Late:
        return None
    except Exception as error:
        out["error"] = {"stage": stage, "message": str(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return out


def steps(answer, joined):
    """The events, group by group or all in a row, with neighboring chunks of a region made one."""
    groups = [answer.get("initial_events", []), *answer.get("feeds", []), answer.get("final_events", [])]
    if joined:
        groups = [[event for group in groups for event in group]]
    out = []
    for group in groups:
        events = []
        for event in group:
            event = {key: event.get(key) for key in ("type", "field", "text", "value", "dirty") if key in event}
            if events and event["type"] == "region_chunk" == events[-1]["type"] and event["field"] == events[-1]["field"]:
                events[-1]["text"] += event["text"]
            else:
                events.append(event)
        out.append(events)
    return out


ATOMS = ["a", "b", "a", "b", "ab", "ba", r"\n", ".", "[ab]", "[^a]", r"\s", r"\w", "aa", "bb", "aba"]
PLACES = ["$", "^", r"\Z", r"\b", r"\B", "(?m:^)", "(?m:$)"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}?"]


def item(rnd, depth):
    kind = rnd.random()
    if kind < 0.55 or depth == 0:
        found = rnd.choice(ATOMS)
    elif kind < 0.65:
        return rnd.choice(PLACES)
    elif kind < 0.75:
        return "(" + rnd.choice(["?=", "?!", "?<=", "?<!"]) + pattern(rnd, depth - 1) + ")"
    elif kind < 0.8:
        return r"(a|b)\1" if depth == 2 else "(?>" + pattern(rnd, depth - 1) + ")"
    else:
        found = "(?:" + pattern(rnd, depth - 1) + ")"
    if rnd.random() < 0.3:
        found = (found if len(found) == 1 or found[0] in "[(\\" else f"(?:{found})") + rnd.choice(REPEATS)
    return found


def pattern(rnd, depth):
    branches = ["".join(item(rnd, depth) for _ in range(rnd.choice([1, 1, 2, 3]))) for _ in range(rnd.choice([1, 1, 1, 2]))]
    return "|".join(branches)


def pattern_case(rnd):
    written = pattern(rnd, rnd.choice([0, 1, 1, 2]))
    template = rnd.choice([
        {"x": {"open_pattern": written, "close": "."}, "content": {}},
        {"x": {"open": ".", "close_pattern": written}, "content": {}},
        {"x": {"open": ".", "close": "."}, "content": {"close_pattern": written}},
        {"content": {"close_pattern": written, "repeats": True}},
        {"x": {"open": ["a", "ab", "bab"], "close_pattern": written, "repeats": True}, "content": {"repeats": True}},
    ])
    alphabet = rnd.choice(["ab.", "ab\n.", "ab .", "ab"])
    text = "".join(rnd.choice(alphabet) for _ in range(rnd.randrange(0, 9)))
    prefix = rnd.choice(["", "", "", "A" + "".join(rnd.choice(alphabet) for _ in range(rnd.randrange(0, 5)))])
    return {"template": {"start_anchor": "A", "fields": template}, "prefix": prefix, "text": text}


def chunkings(rnd, length):
    yield [length]
    yield [1] * length
    for _ in range(2):
        cut, left = [], length
        while left:
            cut.append(rnd.randrange(1, min(left, 5) + 1))
            left -= cut[-1]
        yield cut


def run(binary, mode, rows):
    command = [binary, "parse", "--jsonl", "-", "--events", "--mode", mode]
    send = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(command, input=send.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line.strip()]
    if len(answers) != len(rows):
        sys.exit(f"{len(answers)} answers for {len(rows)} rows: {done.stderr[-500:].decode()}")
    return answers


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--cases", type=int, default=2000)
    arguments.add_argument("--bin", default="target/release/backchat")
    arguments.add_argument("--show", type=int, default=10)
    chosen = arguments.parse_args()
    rnd = random.Random(chosen.seed)
    signal.signal(signal.SIGALRM, alarm)
    rows, wanted, canonical = [], [], []
    for _ in range(chosen.cases):
        case = pattern_case(rnd)
        whole = reference(case, [len(case["text"])])
        if whole is None or whole.get("error", {}).get("stage") == "load":
            continue
        for chunks in chunkings(rnd, len(case["text"])):
            answer = reference(case, chunks)
            if answer is None:
                continue
            rows.append({"id": len(rows), **case, "chunks": chunks})
            wanted.append(answer)
            # The prefix is a chunk edge to the reference, and none to the canonical answer.
            canonical.append(whole if not case["prefix"] else None)
    bad = {"reference": 0, "stable": 0}
    for mode in bad:
        for row, answer, want, whole in zip(rows, run(chosen.bin, mode, rows), wanted, canonical):
            if mode == "reference":
                same = answer.get("message") == want.get("message") and steps(answer, False) == steps(want, False)
            elif whole is None or "error" in whole:
                continue
            else:
                same = answer.get("message") == whole["message"] and steps(answer, True) == steps(whole, True)
                shown = lambda given: sum(len(event.get("text", "")) for event in steps(given, True)[0])
                if not same and shown(answer) > shown(whole):
                    # An implicit close of no width: text that vanishes in the reference does not vanish here.
                    continue
            if not same:
                bad[mode] += 1
                if bad[mode] <= chosen.show:
                    print(mode, json.dumps(row))
                    print("   want", json.dumps(want if mode == "reference" else whole))
                    print("   got ", json.dumps(answer))
    print(f"{len(rows)} rows; different in reference mode: {bad['reference']}, in stable mode: {bad['stable']}")


if __name__ == "__main__":
    main()
