#!/usr/bin/env python3
"""Random templates, texts and chunks: what `backchat parse` answers, beside what transformers answers.

    pip install transformers==5.23.0 regex==2026.11.15
    cargo build --release
    python3 tests/differential.py [--bin PATH] [--seed N] [--rounds N] [--kind parsers|delimiters|tools|all] [--show N]

Reference mode must give the reference's events feed by feed and its message, or an error at the same stage. Stable mode
must give the canonical answer: what the reference's `finalize` gives when its buffer holds the truncated prefix and the
whole text at once and nothing was processed before. The differences that COMPATIBILITY.md lists are not compared. Run it
by hand; what it finds becomes a test in Rust. Exit status 1 where something differs.
"""
import argparse, collections, json, math, os, random, signal, subprocess, sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import regex
from transformers.utils.chat_parsing import ResponseParser

# ---------------------------------------------------------------------------------------------------------- templates

MARKS = ["<x>", "</x>", "<y>", "</y>", "<|a|>", "<|b|>", "[T]", "[/T]", "<think>", "</think>", "◁", "▷", "é!", "\n\n", "```"]
LISTS = [["<a>", "<b>"], ["<a>", "<a><b>"], ["<eos>", "<end>"], ["ab", "abab"], ["\n", "\n\n"], ["é", "éa"]]
OPENS = [r"<x(?: n=(?P<name>\w+))?>", r"<call:(?P<name>[^>]+)>", r"<f=(?P<name>\w+)>\s*", r"\[(?P<name>\w+)\]\(",
         r"(?P<name>\w+)=>", r"<y\s*>", r"(?i)<tool>", r"<t>\s*", r"^\s*<r>", r"(?<=\n)<q>", r"(?=<z>)<z>"]
CLOSES = [r"</x>\s*", r"</\w+>", r"\s*<e>", r"\n?</t>", r"<e>|$", r"(?:<e>\s*)+", r"</x>(?!!)", r"\)\s*", r"$", r"(?=<)"]
TAGS = [r"<(?P<key>\w+)>(?P<value>[^<]*)", r"<p=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</p>", r"(?P<key>\w+)=(?P<value>'[^']*'|[^,)]*)",
        r"<(?P<key>\w+)(?:=(?P<value>\w+))?>", r"@(?P<key>\w+)", r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>", r"<(\w+)>",
        r"(?P<key>[a-z]*)(?P<value>\d*)", r"(?P<key>\w)|(?P<value>.)"]
SHAPES = ["{content}", "{name}", {"function": {"name": "{name}", "arguments": "{content}"}}, ["{content}", {"k": "{content.a}"}],
          {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}, "x", {}, [], "{content.a.b}", "{a}"]
DELIMS = [[["'", "'"]], [["<|\"|>", "<|\"|>"]], [["`", "`"], ["'", "'"]], [["<q>", "</q>"]], [["'''", "'''"], ["'", "'"]]]


def content(r):
    """A content parser with arguments."""
    name = r.choice(["text", "text", "int", "float", "bool", "json", "json", "json", "xml-inline", "kv-lines"])
    args = {}
    if r.random() < .15: args["strip"] = r.choice([True, False, 0, None, "no"])
    if name == "json":
        if r.random() < .3: args["unquoted_keys"] = True
        if r.random() < .3: args["string_delims"] = r.choice(DELIMS)
        if r.random() < .3: args["allow_non_json"] = True
    if name == "xml-inline":
        args["tag_pattern"] = r.choice(TAGS)
        if r.random() < .3: args["merge_duplicates"] = True
    if name == "kv-lines":
        if r.random() < .3: args["line_sep"] = r.choice([";", "\n\n", "ab", " "])
        if r.random() < .3: args["kv_sep"] = r.choice(["=", " ", "::", "->"])
    if name in ("xml-inline", "kv-lines") and r.random() < .4:
        inner, inner_args = content(r)
        if inner not in ("xml-inline", "kv-lines"): args["value_parser"] = {"name": inner, "args": inner_args}
    return name, args


def field(r, implicit):
    f = {}
    if not implicit:
        if r.random() < .55: f["open"] = r.choice(MARKS) if r.random() < .8 else r.choice(LISTS)
        else: f["open_pattern"] = r.choice(OPENS)
    if r.random() < (.3 if implicit else .9):
        if r.random() < .6: f["close"] = r.choice(MARKS) if r.random() < .8 else r.choice(LISTS)
        else: f["close_pattern"] = r.choice(CLOSES)
    if not implicit or r.random() < .1:
        f["content"], args = content(r)
        if args: f["content_args"] = args
    if r.random() < .4: f["repeats"] = True
    if f.get("repeats") and f.get("content", "text") == "text" and r.random() < .4: f["join"] = r.choice(["", "\n", " | "])
    if r.random() < .1: f["optional"] = False
    captures = "(?P<" in f.get("open_pattern", "")
    if captures or r.random() < .25: f["transform"] = r.choice(SHAPES)
    if "transform" in f and f.get("content") == "json" and r.random() < .2: f["transform_each"] = True
    return f


def template(r):
    names = r.sample(["content", "reasoning_content", "tool_calls", "a", "b"], r.randint(1, 3))
    implicit = r.choice(names + [None])
    t = {"start_anchor": "<s>", "fields": {n: field(r, n == implicit) for n in names}}
    if r.random() < .3: t["defaults"] = {r.choice(["role"] + names): r.choice(["assistant", [], None, ["d"], ""])}
    return t

# -------------------------------------------------------------------------------------------------------------- texts

BODIES = ["", " ", "a", "text\n", "5", " -7 ", "1_0", "1.50", "1e3", "inf", "true", "1", "٣", "²", "null", '"s"', '{"a": 1}', '{"a": {"b": "x"}}', "[1, 2]",
          '[{"a": "1"}, {"a": 2, "name": "z"}]', '{"name": "f", "arguments": {"x": "5"}}', "{a:1}", "{a:1,b:'x'}", "{'a':'b'}", "['x',`y`]", "{a:<|\"|>v<|\"|>}",
          "<q>a</q>", "<a>1<b>2", "<a>1</a>", "<p=k> v </p><p=k>w</p>", "k: v\nb: 2", "k=v;b=2", "x=1, y='2'", "@a@b", "[1,]", '{"a": NaN}', '{"a": 1e400}', "\u001c", "\u00a0x\u2003",
          "é", "日本", "{}", "[]", "\x01", '"\\ud800"', '{"function": {"name": "f", "arguments": {"x": "5", "y": ["1", "q"]}}}', "x\ny", "<", "</", "<|"]


def marks_of(r, t):
    """What opens and closes the fields: literals as they are, patterns as one of a few texts that they match."""
    samples = {r"<x(?: n=(?P<name>\w+))?>": ["<x>", "<x n=f>"], r"<call:(?P<name>[^>]+)>": ["<call:f>"], r"<f=(?P<name>\w+)>\s*": ["<f=f>\n"],
               r"\[(?P<name>\w+)\]\(": ["[f]("], r"(?P<name>\w+)=>": ["f=>"], r"<y\s*>": ["<y >", "<y>"], r"(?i)<tool>": ["<TOOL>"], r"<t>\s*": ["<t> \n"], r"^\s*<r>": ["<r>"],
               r"(?<=\n)<q>": ["\n<q>"], r"(?=<z>)<z>": ["<z>"], r"</x>\s*": ["</x>\n", "</x>"], r"</\w+>": ["</q>"], r"\s*<e>": [" <e>"], r"\n?</t>": ["\n</t>"],
               r"<e>|$": ["<e>"], r"(?:<e>\s*)+": ["<e><e>"], r"</x>(?!!)": ["</x>", "</x>!"], r"\)\s*": [") "], r"$": [""], r"(?=<)": ["<"]}
    for f in t["fields"].values():
        for side in ("open", "close"):
            if side in f: yield side, r.choice(f[side]) if isinstance(f[side], list) else f[side]
            if side + "_pattern" in f: yield side, r.choice(samples[f[side + "_pattern"]])


def text(r, t):
    out = []
    for _ in range(r.randint(0, 6)):
        k = r.random()
        marks = [m for _, m in marks_of(r, t)]
        if k < .45 and marks: out.append(r.choice(marks))
        elif k < .55 and marks: m = r.choice(marks); out.append(m[:r.randint(0, len(m))])
        elif k < .6: out.append(r.choice(MARKS))
        else: out.append(r.choice(BODIES))
        if marks and r.random() < .5:
            opens = [m for s, m in marks_of(r, t) if s == "open"]; closes = [m for s, m in marks_of(r, t) if s == "close"]
            if opens and closes: out += [r.choice(opens), r.choice(BODIES), r.choice(closes)]
    return "".join(out)


def chunks(r, s):
    k = r.randint(0, 4)
    if k == 0 or not s: return [len(s)]
    if k == 1: return [1] * len(s)
    out, left = [], len(s)
    while left:
        n = min(left, r.choice([0, 1, 2, 3, 5, 8]) if k < 4 else r.randint(1, 3)); out.append(n); left -= n
    return out


TOOLS = [None, None, [], [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
    "x": {"type": "integer"}, "y": {"type": ["number", "null"]}, "a": {"anyOf": [{"type": "boolean"}, {"type": "object"}]}, "k": {"type": "array"}, "b": {"type": "string", "nullable": True}}}}}]]
TYPES = ["integer", "number", "boolean", "null", "object", "array", "string", "nope", 5]
ARGUMENTS = BODIES + ["5.0", "-0", "-0.0", "9007199254740993", "1e22", "+5", "5.", ".5", "None", "False", " TRUE ", "nan", "1e400", "\u00a05", "[1", '{"a": 1} x', "0x10"]


def schema(r, depth=0):
    k = r.random()
    if k < .5: return {"type": r.choice(TYPES)}
    if k < .7: return {"type": [r.choice(TYPES) for _ in range(r.randint(0, 3))]}
    if k < .9 and depth < 2: return {r.choice(["anyOf", "oneOf", "allOf"]): [schema(r, depth + 1) for _ in range(r.randint(0, 3))]}
    return r.choice([{}, True, None, {"nullable": r.choice([True, False, 1])}, {"type": "integer", "nullable": True}])


def case(r, kind):
    if kind == "tools":
        names = r.sample("abcd", r.randint(1, 4))
        call = {"function": {"name": r.choice(["f", "f", "g"]), "arguments": {n: r.choice([r.choice(ARGUMENTS), [r.choice(ARGUMENTS), 1], 5, None]) for n in names}}}
        value = call if r.random() < .7 else [call, 5, call]
        t = {"start_anchor": "<s>", "fields": {"v": {"open": "<x>", "close": "</x>", "content": "json"}}}
        tools = [{"name": "f", "parameters": {"properties": {n: schema(r) for n in "abc"}}} for _ in range(r.randint(1, 2))]
        s = "<x>" + json.dumps(value) + "</x>"
        return t, "", s, tools, [len(s)]
    t = template(r)
    if kind == "parsers":
        name = r.choice(list(t["fields"])); f = t["fields"][name]
        f.pop("open_pattern", None); f.pop("close_pattern", None); f.update(open="<x>", close="</x>")
        if "name" in json.dumps(f.get("transform")): f.pop("transform"); f.pop("transform_each", None)
        s = "<x>" + r.choice(["", " ", "\n"]) + "".join(r.choice(BODIES) for _ in range(r.choice([1, 1, 1, 2]))) + "</x>"
    else:
        s = text(r, t)
    prefix = "" if r.random() < .6 else "p<s>" + (text(r, t) if r.random() < .5 else "")
    return t, prefix, s, r.choice(TOOLS), chunks(r, s)

# ---------------------------------------------------------------------------------------------------- the reference

class Hang(BaseException): pass

def alarm(*_): raise Hang()

def plain(v):
    """A value as a row of `backchat parse` gives it."""
    if isinstance(v, float): return None if math.isnan(v) or math.isinf(v) else ("float", repr(v))
    if isinstance(v, str): return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in v)
    if isinstance(v, list): return [plain(x) for x in v]
    if isinstance(v, dict): return ("object", [(plain(k), plain(x)) for k, x in v.items()])
    return v if isinstance(v, bool) or v is None else ("int", v)

def steps(groups):
    """The events as small steps, and how many were out after each group."""
    out, marks = [], []
    for group in groups:
        for e in group:
            if e["type"] == "region_chunk": out += [(e["field"], e["dirty"], c) for c in e["text"]]
            elif e["type"] == "region_close": out.append(("close", e["field"], json.dumps(plain(e["value"]))))
            else: out.append((e["type"], e["field"]))
        marks.append(len(out))
    return out, marks

def reference(t, prefix, s, tools, lengths):
    stage, groups = "load", []
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        ResponseParser(t, prefix="", tools=tools); stage = "prefix"
        p = ResponseParser(t, prefix=prefix, tools=tools); groups.append(p.initial_events)
        stage, at = "feed", 0
        for n in lengths: groups.append(p.feed(s[at:at + n])); at += n
        stage = "finalize"
        message, events = p.finalize(); groups.append(events)
        return {"groups": groups, "message": message}
    except Hang: return {"error": "hang", "groups": groups}
    except Exception as e: return {"error": stage, "groups": groups, "why": f"{type(e).__name__}: {e}"}
    finally: signal.setitimer(signal.ITIMER_REAL, 0)

def canonical(t, prefix, s, tools):
    """Nothing is processed before everything is there."""
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        cut = ""
        if prefix:
            anchors = [m.end() for m in regex.finditer(regex.escape(t["start_anchor"]), prefix)]
            cut = prefix[anchors[-1]:] if anchors else prefix
        p = ResponseParser(t, prefix="", tools=tools); p._buffer = cut + s
        message, events = p.finalize()
        return {"groups": [events], "message": message}
    except Hang: return {"error": "hang"}
    except Exception as e: return {"error": "x", "why": f"{type(e).__name__}: {e}"}
    finally: signal.setitimer(signal.ITIMER_REAL, 0)

def departs(t, prefix, s):
    """Whether stable mode may differ on purpose: the JSON dialect, or an implicit close of no width."""
    for f in t["fields"].values():
        if '"unquoted_keys": true' in json.dumps(f) or '"string_delims"' in json.dumps(f): return True
        if not ({"open", "open_pattern"} & f.keys()) and f.get("close_pattern"):
            if any(m.end() == m.start() for m in regex.finditer(f["close_pattern"], prefix + s, regex.DOTALL)): return True
    return False

# ------------------------------------------------------------------------------------------------------------- compare

def compare(want, got, by_group):
    if want.get("error") == "hang": return None
    if "error" in want:
        if "error" not in got: return f"no error, wanted one at {want['error']} ({want['why'][:80]})"
        if got["error"]["stage"] != want["error"]: return f"error at {got['error']['stage']}, wanted {want['error']} ({want['why'][:80]})"
    elif "error" in got: return f"error: {got['error']}"
    xs, xm = steps([got.get("initial_events") or []] + (got.get("feeds") or []) + ([got["final_events"]] if "final_events" in got else []))
    ws, wm = steps(want["groups"])
    if "error" in want: return None if xs[:len(ws)] == ws else "events before the error"
    if json.dumps(plain(got["message"])) != json.dumps(plain(want["message"])): return f"message {json.dumps(got['message'], ensure_ascii=False)}, wanted {want['message']!r}"
    if xs != ws: return "events"
    return "released at another feed" if by_group and xm != wm else None

def run(binary, mode, rows):
    p = subprocess.run([binary, "parse", "--jsonl", "-", "--events", "--mode", mode], input="".join(json.dumps(r) + "\n" for r in rows).encode(), stdout=subprocess.PIPE)
    return [json.loads(line) for line in p.stdout.split(b"\n") if line]

def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", default="target/release/backchat"); a.add_argument("--seed", type=int, default=random.randrange(10**6))
    a.add_argument("--rounds", type=int, default=3000); a.add_argument("--kind", default="all", choices=["parsers", "delimiters", "tools", "all"]); a.add_argument("--show", type=int, default=10)
    a = a.parse_args()
    signal.signal(signal.SIGALRM, alarm); sys.setrecursionlimit(1000)
    r = random.Random(a.seed); print("seed", a.seed)
    cases = [case(r, r.choice(["parsers", "delimiters", "tools"]) if a.kind == "all" else a.kind) for _ in range(a.rounds)]
    rows = [dict(id=i, template=t, prefix=p, text=s, tools=tools, chunks=n) for i, (t, p, s, tools, n) in enumerate(cases)]
    bad = 0
    for mode in ("reference", "stable"):
        got = run(a.bin, mode, rows); seen = collections.Counter()
        assert [g["id"] for g in got] == list(range(len(rows))), f"{len(got)} answers for {len(rows)} rows"
        for g, (t, p, s, tools, n) in zip(got, cases):
            if mode == "reference": want = reference(t, p, s, tools, n); what = compare(want, g, True)
            else:
                want = canonical(t, p, s, tools)
                if departs(t, p, s): what = None
                elif "Required response_template fields" in want.get("why", ""): what = None if g.get("missing") else "no missing field"
                elif "error" in want: what = None
                else: what = compare(want, g, False)
            seen["same" if what is None else what.split(",")[0].split(" {")[0][:40]] += 1
            if what:
                bad += 1
                if bad <= a.show: print(f"{mode}: {what}\n  {json.dumps(dict(template=t, prefix=p, text=s, tools=tools, chunks=n), ensure_ascii=False)}")
        print(mode, dict(seen.most_common(8)))
    sys.exit(1 if bad else 0)

if __name__ == "__main__": main()
