//! Tests what grammars promise, without an engine: they accept everything that chat templates render, prefix by prefix, and
//! everything they accept is parsed completely.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::grammar::{self, Choice, Effect, Fed, Grammar, Request, SpecialToken};
use backchat::json::{self, Object, Value};
use backchat::parser::{Tools, parse};
use backchat::template::Template;
use backchat_derive::derive;
use backchat_derive::wire::Wire;

use crate::support::{backchat, outcome};

const NOW: &str = "2026-01-01T00:00:00";

pub(super) fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("chat_templates");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jinja"));
    files.sort();
    files
}

/// A chat template of the repository with its response template and its wire.
pub(super) struct Model {
    pub(super) name: String,
    pub(super) chat: ChatTemplate,
    pub(super) template: Template,
    pub(super) wire: Wire,
}

impl Model {
    fn load(path: &Path) -> Option<Self> {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let chat = ChatTemplate::compile(&fs::read_to_string(path).unwrap()).unwrap();
        let derived = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("derived/{name}.json"));
        let template = Template::load(&fs::read_to_string(derived).unwrap()).unwrap().template;
        let options = derive::Options::default().now(NOW.to_owned());
        let opened = derive::Model::open(&fs::read_to_string(path).unwrap(), Some(template), &options).ok()?;
        Some(Self { name, chat, template: opened.template, wire: opened.wire })
    }

    pub(super) fn named(name: &str) -> &'static Self {
        of_template(name).unwrap()
    }

    pub(super) fn render(&self, messages: &Value, prompt: bool) -> Option<String> {
        let mut context = Object::new();
        context.insert("messages", messages.clone());
        context.insert("tools", tools());
        context.insert("add_generation_prompt", prompt.into());
        let options = RenderOptions::default().now(NOW.to_owned());
        Some(self.chat.render(&context, &options).ok()?.text)
    }

    pub(super) fn prompt(&self) -> Option<String> {
        self.render(&value(r#"[{"role": "user", "content": "What now?"}]"#), true)
    }

    /// The rendered answer after the prompt, up to the stop.
    pub(super) fn output(&self, answer: &str, grammar: &Grammar) -> Option<String> {
        let messages = value(&format!(r#"[{{"role": "user", "content": "What now?"}}, {answer}]"#));
        let whole = self.render(&messages, false)?;
        let rest = whole.strip_prefix(self.prompt()?.as_str())?;
        let stop = grammar.stop().iter().filter_map(|(stop, _)| rest.find(stop.as_str())).min();
        Some(stop.map_or(rest.trim_end(), |at| &rest[..at]).to_owned())
    }
}

/// The models of `chat_templates/` whose wire is found. Each is loaded once for all tests, because that is slow.
pub(super) fn models() -> impl Iterator<Item = &'static Model> {
    templates().into_iter().filter_map(|path| of_template(path.file_stem()?.to_str()?))
}

fn of_template(name: &str) -> Option<&'static Model> {
    static MODELS: LazyLock<BTreeMap<PathBuf, OnceLock<Option<Model>>>> =
        LazyLock::new(|| templates().into_iter().map(|path| (path, OnceLock::new())).collect());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("chat_templates/{name}.jinja"));
    MODELS.get(&path).unwrap().get_or_init(|| Model::load(&path)).as_ref()
}

pub(super) fn value(text: &str) -> Value {
    json::read(text).unwrap()
}

pub(super) fn tools() -> Value {
    value(
        r#"[{"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"type": "object",
            "properties": {"city": {"type": "string", "description": "c"}, "days": {"type": "integer", "description": "n"}},
            "required": ["city"]}}},
          {"type": "function", "function": {"name": "get_time", "description": "t", "parameters": {"type": "object",
            "properties": {}, "required": []}}}]"#,
    )
}

fn build(model: &Model, choice: &Choice, tools: &Value, prompt: Option<&str>) -> Grammar {
    let request = Request::default().tools(tools).choice(choice).prompt(prompt);
    grammar::build(&model.template, &model.wire, &request)
        .unwrap_or_else(|problems| panic!("{}: {}", model.name, problems[0].message))
}

pub(super) fn verdict(grammar: &Grammar, text: &str) -> &'static str {
    match grammar.matcher().feed(text) {
        Fed::Ok { may_end: true } => "accept",
        Fed::Ok { may_end: false } => "prefix",
        _ => "reject",
    }
}

pub(super) fn call(name: &str, arguments: &str) -> String {
    format!(
        r#"{{"role": "assistant", "content": "", "tool_calls": [{{"id": "aB3dE5gH1", "type": "function",
            "function": {{"name": "{name}", "arguments": {arguments}}}}}]}}"#
    )
}

#[test]
fn rendered_answers_are_accepted_at_every_prefix() {
    let mut seen = 0;
    for model in models() {
        let Some(prompt) = model.prompt() else { continue };
        let answers = [
            (call("get_weather", r#"{"city": "São Paulo", "days": 3}"#), true),
            (call("get_time", "{}"), true),
            (r#"{"role": "assistant", "content": "If a < b: {\"k\": [1]}, see </b>.\n\nDone."}"#.to_owned(), false),
        ];
        for (answer, is_call) in answers {
            for choice in [Choice::Auto, Choice::Required, Choice::None] {
                if is_call && choice == Choice::None || !is_call && choice == Choice::Required {
                    continue;
                }
                let tools = tools();
                let request = Request::default().tools(&tools).choice(&choice).prompt(prompt.as_str());
                let Ok(grammar) = grammar::build(&model.template, &model.wire, &request) else { continue };
                let Some(output) = model.output(&answer, &grammar) else { continue };
                // A template that drops the call renders none of it.
                if is_call && !output.contains("get_") {
                    continue;
                }
                let name = &model.name;
                let mut matcher = grammar.matcher();
                for (at, c) in output.char_indices() {
                    if let Fed::Broken { expected, .. } = matcher.feed(c.encode_utf8(&mut [0; 4])) {
                        panic!("{name}, {choice:?}: {output:?} breaks at {at}: expected {expected:?}");
                    }
                }
                assert_eq!(verdict(&grammar, &output), "accept", "{name}, {choice:?}: {output:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen} outputs were rendered");
}

/// A random number generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// A text of random pieces, each of which is allowed; `None` if no end was reached.
fn walk(grammar: &Grammar, pieces: &[String], dice: &mut Dice) -> Option<String> {
    let mut matcher = grammar.matcher();
    let mut text = String::new();
    let mut may_end = false;
    for _ in 0..600 {
        if may_end && dice.roll(4) == 0 {
            return Some(text);
        }
        let piece = &pieces[dice.roll(pieces.len())];
        let mut next = matcher.clone();
        if let Fed::Ok { may_end: end } = next.feed(piece) {
            matcher = next;
            may_end = end;
            text.push_str(piece);
        }
    }
    may_end.then_some(text)
}

/// The result of the first of these calls.
fn result_of(calls: &[Value]) -> Value {
    let mut result = Object::from_iter([("role".to_owned(), Value::from("tool"))]);
    result.insert("name", calls[0]["function"]["name"].clone());
    result.insert("content", "21 degrees".into());
    let id = calls[0].as_object().and_then(|call| call.get("id"));
    result.extend(id.map(|id| ("tool_call_id".to_owned(), id.clone())));
    Value::Object(result)
}

#[test]
fn accepted_texts_are_parsed_completely() {
    let known = Arc::new(Tools::new(&tools()).unwrap());
    let mut drawn = 0;
    for (number, model) in models().enumerate() {
        let Some(prompt) = model.prompt() else { continue };
        let choice = Choice::Required;
        let tools = tools();
        let request = Request::default().tools(&tools).choice(&choice).prompt(prompt.as_str());
        let Ok(grammar) = grammar::build(&model.template, &model.wire, &request) else { continue };
        let mut pieces: Vec<String> =
            ["get_weather", "get_time", "city", "days", "a", "7", "-", "\"", "{", "}", ":", " ", ",", "\n", "<", ">"]
                .map(str::to_owned)
                .to_vec();
        for (name, arguments) in [("get_weather", r#"{"city": "x", "days": 3}"#), ("get_time", "{}")] {
            let Some(output) = model.output(&call(name, arguments), &grammar) else { continue };
            let words = output.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
            pieces.extend(words.map(str::to_owned));
            pieces.extend(output.chars().map(String::from));
            pieces.push(output);
        }
        let mut dice = Dice(0x9E37_79B9 + number as u64);
        for _ in 0..12 {
            let Some(text) = walk(&grammar, &pieces, &mut dice) else { continue };
            let read = parse(&model.template, &prompt, &text, Some(known.clone())).unwrap();
            let name = &model.name;
            assert!(read.malformed.is_empty(), "{name}: {text:?} reads back malformed");
            let calls = read.message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]).to_vec();
            assert!(!calls.is_empty(), "{name}: {text:?} reads back without a call");
            for call in &calls {
                let called = call["function"]["name"].as_str().unwrap_or_default().to_owned();
                assert!(["get_weather", "get_time"].contains(&called.as_str()), "{name}: {text:?} calls {called:?}");
            }
            // The server passes the message and the call's result to the chat template again.
            let answer = Value::Object(read.message.clone()).to_string();
            let result = result_of(&calls);
            let turns = value(&format!(r#"[{{"role": "user", "content": "What now?"}}, {answer}, {result}]"#));
            assert!(model.render(&turns, true).is_some(), "{name}: the template refuses {answer}");
            let again = model.output(&answer, &grammar).filter(|again| again.contains("get_"));
            if let Some(again) = again {
                let again = parse(&model.template, &prompt, &again, Some(known.clone())).unwrap();
                assert_eq!(again.message.get("tool_calls"), read.message.get("tool_calls"), "{name}: {text:?}");
            }
            drawn += 1;
        }
    }
    assert!(drawn > 100, "only {drawn} texts were drawn");
}

#[test]
fn damaged_calls_are_not_accepted() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let grammar = build(model, &Choice::Required, &tools(), Some(&prompt));
    let table = [
        (r#"{"name": "get_weather", "arguments": {"city": "Paris"}}"#, "accept"),
        (r#"{"name": "get_wether", "arguments": {"city": "Paris"}}"#, "reject"),
        (r#"{"name": "get_weather", "arguments": {"days": 3}}"#, "reject"),
        (r#"{"name": "get_weather", "arguments": {"city": "Paris", "days": 2.5}}"#, "reject"),
        (r#"{"name": "get_weather", "arguments": {"city": "Paris",}}"#, "reject"),
        (r#"{"name": "get_weather", "arguments": {"city": "a</tool_call>b"}}"#, "reject"),
        (r#"{"name": "get_weather", "arguments": {"city": "a\u003c/tool_call>b"}}"#, "accept"),
        (r#"{"name": "get_weather", "arguments": {"city": "Paris", "hour": 1}}"#, "reject"),
    ];
    for (body, wanted) in table {
        assert_eq!(verdict(&grammar, &format!("<tool_call>\n{body}\n</tool_call>")), wanted, "{body}");
    }
    assert_eq!(verdict(&grammar, "<tool_call>\n{\"name\": \"get_w"), "prefix");
    assert_eq!(verdict(&grammar, ""), "prefix");
    assert_eq!(verdict(&grammar, "Hello."), "reject");
    let none = build(model, &Choice::None, &tools(), Some(&prompt));
    assert_eq!(verdict(&none, "Hello <tool"), "accept");
    assert_eq!(verdict(&none, "Hello <tool_call>"), "reject");
}

/// A model with this chat template.
fn written(source: &str) -> Model {
    let options = derive::Options::default().now(NOW.to_owned());
    let opened = derive::Model::open(source, None, &options).unwrap();
    let chat = ChatTemplate::compile(source).unwrap();
    Model { name: "written".to_owned(), chat, template: opened.template, wire: opened.wire }
}

/// A chat template that writes calls in this way, one per answer.
fn turns_of(call: &str) -> String {
    format!(
        "{{%- for m in messages %}}<|begin|>{{{{ m.role }}}}\n{{% if m.tool_calls %}}{{% for c in m.tool_calls %}}{call}\
         {{% endfor %}}{{% else %}}{{{{ m.content }}}}{{% endif %}}<|end|>\n{{% endfor %}}\
         {{% if add_generation_prompt %}}<|begin|>assistant\n{{% endif %}}"
    )
}

/// If a server strips a marker inside a call, the parser does not see what the model wrote.
#[test]
fn every_mark_of_the_turn_is_preserved() {
    let table: [(&str, &[&str]); 3] = [
        (
            "<|call|>{{ c.function.name }}<|args|>{{ c.function.arguments | tojson }}<|/call|>",
            &["<|call|>", "<|args|>", "<|/call|>"],
        ),
        (
            "[CALL]{{ c.function.name }}[ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}",
            &["[CALL]", "[ID]", "[ARGS]"],
        ),
        (
            "<call>{{ c.function.name }}{% for k, v in c.function.arguments | items %}<key>{{ k }}</key>\
             <value>{{ v if v is string else v | tojson }}</value>{% endfor %}</call>",
            &["<call>", "<key>", "</key>", "<value>", "</value>", "</call>"],
        ),
    ];
    for (call, wanted) in table {
        let model = written(&turns_of(call));
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
        assert_eq!(grammar.preserved_tokens(), wanted, "{call}");
    }
}

/// A call whose id the chat template refuses cannot be part of the next prompt.
#[test]
fn ids_are_limited_to_those_that_the_chat_template_accepts() {
    let call = |rule: &str| {
        turns_of(&format!(
            "{{% if {rule} %}}{{{{ raise_exception('no such id') }}}}{{% endif %}}\
             [CALL]{{{{ c.function.name }}}}[ID]{{{{ c.id }}}}[ARGS]{{{{ c.function.arguments | tojson }}}}"
        ))
    };
    let table: [(&str, &[&str], &[&str]); 4] = [
        ("false", &["a", "call_aB3-9", "0123456789012345"], &["", "a b", "é"]),
        ("c.id | length != 9", &["aB3dE5gH1", "call_a-b9"], &["aB3dE5gH", "aB3dE5gH12"]),
        ("c.id | length != 9 or not c.id.isalnum()", &["aB3dE5gH1"], &["call_a-b9", "aB3dE5gH"]),
        ("c.id | length < 4 or c.id | length > 12", &["abcd", "call_a", "abcdefghijkl"], &["abc", "abcdefghijklm"]),
    ];
    for (rule, taken, refused) in table {
        let model = written(&call(rule));
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
        for (ids, wanted) in [(taken, "accept"), (refused, "reject")] {
            for id in ids {
                let text = format!("[CALL]get_time[ID]{id}[ARGS]{{}}");
                assert_eq!(verdict(&grammar, &text), wanted, "{rule}: {id:?}");
            }
        }
    }
}

/// Renders show every id as it is given: only the response template says how an id holds a name.
#[test]
fn ids_that_hold_names_are_those_that_the_response_template_reads() {
    let source = turns_of("<run>{{ c.id }}<args>{{ c.function.arguments | tojson }}</run>");
    let derived = written(&source);
    let stored = |open: &str, id: &str| {
        let text = format!(
            r#"{{"start_anchor": "<|begin|>assistant\n", "fields": {{"tool_calls": {{"open_pattern": "{open}", "close": "</run>",
            "repeats": true, "content": "json", "transform": {{"type": "function", {id}
            "function": {{"name": "{{name}}", "arguments": "{{content}}"}}}}}}, "content": {{"close": "<|end|>"}}}}}}"#
        );
        let template = Template::load(&text).unwrap().template;
        let opened = derive::Model::open(&source, Some(template), &derive::Options::default()).unwrap();
        let chat = ChatTemplate::compile(&source).unwrap();
        Model { name: "stored".to_owned(), chat, template: opened.template, wire: opened.wire }
    };
    let hashed = stored("<run>(?P<id>(?P<name>\\\\w+)#[0-9a-f]{4})<args>", r#""id": "{id}","#);
    let unread = stored("<run>call/(?P<name>\\\\w+)@\\\\d+\\\\s*<args>", "");
    let table: [(&Model, &[&str], &[&str]); 3] = [
        (
            &derived,
            &["tools.get_time:0", "functions.get_time:12", "get_time:3", "get_time"],
            &["tools.get_day:0", "a.b.get_time:0", "get_time:", "tools.get_time:0<end>", ""],
        ),
        (&hashed, &["get_time#00ff"], &["get_time#00f", "functions.get_time:0", "get_time"]),
        (&unread, &["call/get_time@7"], &["get_time", "call/get_time", "functions.get_time:0"]),
    ];
    for (model, taken, refused) in table {
        let prompt = model.prompt().unwrap();
        let grammar = build(model, &Choice::Required, &tools(), Some(&prompt));
        for (ids, wanted) in [(taken, "accept"), (refused, "reject")] {
            for id in ids {
                let text = format!("<run>{id}<args>{{}}</run>");
                assert_eq!(verdict(&grammar, &text), wanted, "{}: {id:?}", model.template.to_value());
                if wanted == "accept" {
                    let message = parse(&model.template, &prompt, &text, None).unwrap().message;
                    assert_eq!(message["tool_calls"][0]["function"]["name"].as_str(), Some("get_time"), "{id:?}");
                }
            }
        }
    }
}

/// A name with a sign of the pattern is read only in some of the forms.
#[test]
fn ids_are_left_out_that_would_be_read_as_another_name() {
    let model = written(&turns_of("<run>{{ c.id }}<args>{{ c.function.arguments | tojson }}</run>"));
    let tools = value(r#"[{"type": "function", "function": {"name": "day.next", "parameters": {"type": "object"}}}]"#);
    let grammar = build(&model, &Choice::Required, &tools, Some(&model.prompt().unwrap()));
    for (id, wanted) in [("tools.day.next:0", "accept"), ("day.next:0", "reject"), ("day.next", "reject")] {
        assert_eq!(verdict(&grammar, &format!("<run>{id}<args>{{}}</run>")), wanted, "{id}");
    }
}

/// The grammar of a derivation that is not proved is the best that is known, so it is written, with a warning.
#[test]
fn a_derivation_that_is_not_proved_is_a_warning() {
    let partial = "tests/derive/arguments_of_a_url.jinja";
    let (code, grammar, said) = outcome(&backchat(&["grammar", partial]));
    assert!(code == 0 && grammar.starts_with("root ::= "), "{grammar}");
    assert!(said.starts_with("warning: the derived response template is partial: 41 of 56 "), "{said}");
    for detail in ["\n  lost: the wire format does not distinguish", "\n  unread: a call"] {
        assert!(said.contains(detail), "{said}");
    }
    assert_eq!(outcome(&backchat(&["grammar", "-q", partial])), (0, grammar.clone(), String::new()));
    assert_eq!(outcome(&backchat(&["grammar", "-q", "--strict", partial])), (1, grammar, String::new()));
    let proved = outcome(&backchat(&["grammar", "--strict", "chat_templates/hermes.jinja"]));
    assert!(proved.0 == 0 && !proved.2.contains("warning"), "{}", proved.2);
}

/// The prompt closes reasoning that no render of the whole turn shows; the call after it must still be complete.
#[test]
fn a_prompt_that_writes_more_than_renders_leaves_whole_calls() {
    let model = written(
        r#"{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.tool_calls %}{% for c in m.tool_calls %}{% if not loop.first %}
{% endif %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% else %}{{ m.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
</think>{% endif %}"#,
    );
    let prompt = model.prompt().unwrap();
    let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
    assert_eq!(verdict(&grammar, "<tool_call>\n"), "prefix");
    let call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
    assert_eq!(verdict(&grammar, call), "accept");
}

/// A grammar can begin before a call, or inside the marker before it, but not inside the call.
#[test]
fn a_prompt_that_ends_inside_a_call_is_refused() {
    let arguments = r#"{"name": "get_time", "arguments": {}}"#;
    for (name, written, rest) in [
        ("hermes", "<tool_", Some(format!("call>\n{arguments}\n</tool_call>"))),
        ("hermes", "<tool_call>\n", Some(format!("{arguments}\n</tool_call>"))),
        ("hermes", "<tool_call>\n{\"name\": \"", None),
        ("hermes", "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}", None),
        ("qwen3_coder", "<tool_call>\n<function=get_time>\n", None),
        ("gpt_oss", "<|channel|>commentary to=functions.get_t", None),
    ] {
        let model = Model::named(name);
        let prompt = model.prompt().unwrap() + written;
        for choice in [Choice::Auto, Choice::Required] {
            let tools = tools();
            let request = Request::default().tools(&tools).choice(&choice).prompt(prompt.as_str());
            match (&rest, grammar::build(&model.template, &model.wire, &request)) {
                (Some(rest), Ok(grammar)) => assert_eq!(verdict(&grammar, rest), "accept", "{name}: {written:?}"),
                (None, Err(problems)) => {
                    let message = "the prompt ends inside a call, where no grammar can begin";
                    assert_eq!(problems[0].message, message, "{name}: {written:?}");
                }
                (_, built) => panic!("{name}: {written:?}: {:?}", built.map(|grammar| grammar.to_gbnf())),
            }
        }
    }
}

/// A chat template whose answers begin with empty reasoning, and whose prompt ends like this.
fn thinking(empty: &str, prompt: &str) -> String {
    format!(
        "{{%- for m in messages %}}<|begin|>{{{{ m.role }}}}\n{{% if m.role == 'assistant' %}}{{% if m.thinking %}}<think>\n\
         {{{{ m.thinking }}}}\n</think>\n\n{{% else %}}{empty}{{% endif %}}{{% endif %}}{{{{ m.content }}}}<|end|>\n{{% endfor %}}\
         {{% if add_generation_prompt %}}<|begin|>assistant\n{prompt}{{% endif %}}"
    )
}

#[test]
fn text_after_reasoning_is_generated_unless_the_prompt_writes_it() {
    let table: [(&str, &str, &[&str], &[&str]); 4] = [
        // The prompt leaves reasoning open: it may be closed at once, or as in the renders.
        ("", "<think>\n", &["</think>Yes.", "</think>\n\nYes.", "Hm.</think>Yes.", "Hm.\n</think>\n\nYes."], &["Hm."]),
        ("", "<think>", &["</think>Yes.", "</think>\n\nYes.", "Hm.</think>Yes.", "\nHm.\n</think>\n\nYes."], &["Hm."]),
        // The prompt writes empty reasoning differently from the renders, and nothing after it.
        ("<think></think>\n\n", "<think>\n</think>", &["\n\nYes."], &["</think>Yes."]),
        ("<think></think>\n\n", "<think>\n</think>\n", &["\nYes."], &["</think>Yes."]),
    ];
    for (empty, prompt, taken, refused) in table {
        let model = written(&thinking(empty, prompt));
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::None, &tools(), Some(&prompt));
        for (texts, is_taken) in [(taken, true), (refused, false)] {
            for text in texts {
                assert_eq!(verdict(&grammar, text) == "accept", is_taken, "{prompt:?}: {text:?}");
            }
        }
    }
}

/// A lone marker after the calls is the stop, unless it shares a word with the marker that opens them.
#[test]
fn a_lone_marker_after_a_call_is_its_close_or_the_stop() {
    for (call, mark, stops) in [
        ("[CALL]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}", "<|yield|>", true),
        ("<|call|>{{ c.function.name }}<|args|>{{ c.function.arguments | tojson }}", "<|/call|>", false),
    ] {
        let source = turns_of(call).replace("{% endfor %}{% else %}", &format!("{{% endfor %}}{mark}{{% else %}}"));
        let source = source.replace("{% endif %}<|end|>", "<|end|>{% endif %}");
        let model = written(&source);
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
        assert_eq!(grammar.stop().iter().any(|(stop, _)| stop == mark), stops, "{mark}: {:?}", grammar.stop());
        assert_eq!(grammar.preserved_tokens().iter().any(|known| known == mark), !stops, "{mark}");
    }
}

/// A value without quotes ends at its marker, even inside a string of its JSON.
#[test]
fn json_in_a_value_without_quotes_must_not_contain_the_marker_that_ends_it() {
    let model = Model::named("glm_4_6");
    let tools = value(
        r#"[{"name": "f", "parameters": {"type": "object", "required": ["p"],
            "properties": {"p": {"type": "array", "items": {"type": "string"}}}}}]"#,
    );
    let prompt = model.prompt().unwrap();
    let grammar = build(model, &Choice::Required, &tools, Some(&prompt));
    let call = |item: &str| {
        let before = "\n<think></think>\n<tool_call>f\n<arg_key>p</arg_key>\n<arg_value>";
        format!("{before}[\"{item}\"]</arg_value>\n</tool_call>")
    };
    assert_eq!(verdict(&grammar, &call("x")), "accept");
    assert_eq!(verdict(&grammar, &call("x</arg_value>y")), "reject");
}

/// Values for an argument with this schema: accepted ones and rejected ones.
#[test]
fn schemas_are_enforced_keyword_by_keyword() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let table: [(&str, &[&str], &[&str]); 23] = [
        // Parsers read numbers beyond doubles as infinity or text.
        (
            r#"{"type": "number"}"#,
            &["0", "-1.5", "12E99", "1e+07", "3e-400", "-9.9e199", "1E+120"],
            &["1e309", "12e1000", "0e0681", "01", "1e", "+1"],
        ),
        (r#"{"type": "integer", "minimum": -5, "maximum": 120}"#, &["-5", "0", "120", "99"], &["-6", "121", "1.5"]),
        (r#"{"type": "integer", "minimum": -9223372036854775808}"#, &["-5", "0"], &["1.5"]),
        (r#"{"type": "number", "minimum": 1e-9223372036854775808}"#, &["0.5", "7"], &["true"]),
        (r#"{"type": "number", "exclusiveMinimum": 0.25, "maximum": 1}"#, &["0.3", "1", "1.0"], &["0.25", "1.01", "0"]),
        (r#"{"type": "integer", "multipleOf": 7}"#, &["0", "-14", "21"], &["1", "20"]),
        (r#"{"type": "string", "minLength": 2, "maxLength": 3}"#, &[r#""ab""#, r#""äöü""#], &[r#""a""#, r#""abcd""#]),
        (r#"{"type": "string", "pattern": "^a+b?$"}"#, &[r#""aab""#], &[r#""b""#, r#""aabc""#]),
        (r#"{"type": "string", "pattern": "x"}"#, &[r#""axb""#], &[r#""ab""#]),
        (r#"{"type": "string", "format": "date"}"#, &[r#""2026-11-20""#], &[r#""soon""#]),
        (r#"{"enum": ["a", 1, null]}"#, &[r#""a""#, "1", "null"], &[r#""b""#, "2"]),
        (r#"{"const": {"a": [1]}}"#, &[r#"{"a": [1]}"#], &[r#"{"a": []}"#]),
        (r#"{"type": ["string", "null"]}"#, &[r#""x""#, "null"], &["1"]),
        (r#"{"type": "string", "nullable": true}"#, &[r#""x""#, "null"], &["1"]),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}"#,
            &["[1]", "[1, 2]"],
            &["[]", "[1, 2, 3]", r#"["a"]"#],
        ),
        (
            r#"{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false}"#,
            &["[]", "[1]", r#"[1, "a"]"#],
            &[r#"["a"]"#, r#"[1, "a", 2]"#],
        ),
        (
            r#"{"anyOf": [{"type": "integer"}, {"type": "boolean"}], "not": {"const": 5}}"#,
            &["4", "true"],
            &["5", "null"],
        ),
        (r#"{"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 9}]}"#, &["1", "9"], &["0", "10"]),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["b"]}"#,
            &[r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#],
            &[r#"{"a": 1}"#, r#"{"b": 2, "c": 3}"#],
        ),
        (
            r#"{"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1}"#,
            &["{}", r#"{"x": 1}"#],
            &[r#"{"x": "a"}"#, r#"{"x": 1, "y": 2}"#],
        ),
        (
            r#"{"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}"#,
            &[r#"{"x-a": 1}"#],
            &[r#"{"a": 1}"#],
        ),
        (r##"{"$ref": "#/$defs/node"}"##, &[r#"{"v": 1, "next": {"v": 2}}"#], &[r#"{"next": {"v": 2}}"#]),
        ("{}", &["1", r#"{"a": [null, true, "x"]}"#], &["nope"]),
    ];
    for (schema, good, bad) in table {
        let tools = value(&format!(
            r##"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"],
                "$defs": {{"node": {{"type": "object", "properties": {{"v": {{"type": "integer"}},
                "next": {{"$ref": "#/$defs/node"}}}}, "required": ["v"]}}}}}}}}]"##
        ));
        let grammar = build(model, &Choice::Required, &tools, Some(&prompt));
        for (values, wanted) in [(good, "accept"), (bad, "reject")] {
            for text in values {
                let call = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"p\": {text}}}}}\n</tool_call>");
                assert_eq!(verdict(&grammar, &call), wanted, "{schema}: {text}");
            }
        }
    }
}

#[test]
fn types_that_the_parser_does_not_look_up_are_noted_if_values_have_no_quotes() {
    let model = Model::named("qwen3_coder");
    for (schema, keyword) in [
        (r#"{"allOf": [{"type": "integer"}, {"maximum": 9}]}"#, Some("allOf")),
        (r#"{"not": {"type": "string"}}"#, Some("not")),
        (r#"{"type": "integer", "not": {"const": 3}}"#, None),
        (r#"{"type": "integer"}"#, None),
    ] {
        let tools = value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"],
                "additionalProperties": false}}}}]"#
        ));
        let grammar = build(model, &Choice::Required, &tools, None);
        let note = grammar.notes().iter().find(|note| note.effect == Effect::Assumed && note.path.is_some());
        assert_eq!(note.and_then(|note| note.keyword.as_deref()), keyword, "{schema}");
    }
}

/// Arguments follow the tool's schema, even if the chat template prints them as Python does, or if they end at the next key.
#[test]
fn accepted_arguments_are_parsed_to_values_of_their_schemas() {
    let tools = value(
        r#"[{"name": "f", "parameters": {"type": "object", "additionalProperties": false, "required": ["on", "list"],
            "properties": {"on": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "string"}},
              "note": {"type": ["string", "null"]}}}},
          {"name": "g", "parameters": {"type": "object", "additionalProperties": false, "required": ["all"],
            "properties": {"all": {"type": "array", "items": {"type": ["boolean", "null"]}}, "ratio": {"type": "number"},
              "of": {"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}}}},
          {"name": "h", "parameters": {"type": "object", "additionalProperties": false, "required": ["word"],
            "properties": {"word": {"type": "string", "maxLength": 3}, "n": {"type": "integer", "nullable": true}}}}]"#,
    );
    let known = Arc::new(Tools::new(&tools).unwrap());
    let fits = |key: &str, value: &Value| match (key, value) {
        ("on", value) => matches!(value, Value::Bool(_)),
        ("list", Value::List(items)) => items.iter().all(|item| item.as_str().is_some()),
        ("all", Value::List(items)) => items.iter().all(|item| matches!(item, Value::Bool(_) | Value::Null)),
        ("of", Value::Object(items)) => items.values().all(|item| matches!(item, Value::String(_) | Value::Bool(_))),
        ("note", value) => matches!(value, Value::String(_) | Value::Null),
        ("word", Value::String(text)) => text.chars().count() <= 3,
        ("ratio", Value::Number(number)) => number.as_f64().is_finite(),
        ("n", Value::Number(_) | Value::Null) => true,
        _ => false,
    };
    let mut drawn = 0;
    for (number, model) in models().enumerate() {
        let Some(prompt) = model.prompt() else { continue };
        let request = Request::default().tools(&tools).choice(&Choice::Required).prompt(prompt.as_str());
        let Ok(grammar) = grammar::build(&model.template, &model.wire, &request) else { continue };
        let words =
            ["a", "7", "'", "\"", "\\", "[", "]", "{", "}", ",", ", ", ": ", "=", " ", "<", "e9", "true", "null"];
        let mut pieces: Vec<String> = words.map(str::to_owned).to_vec();
        pieces.extend(["True", "None", "['a']", "[\"a\"]", ", a=", "{'a': '", "\"on\""].map(str::to_owned));
        literals(&grammar.to_json(), &mut pieces);
        let mut dice = Dice(0xA5_A5_17 + number as u64);
        for _ in 0..20 {
            let Some(text) = walk(&grammar, &pieces, &mut dice) else { continue };
            let read = parse(&model.template, &prompt, &text, Some(known.clone())).unwrap();
            assert!(read.malformed.is_empty(), "{}: {text:?} reads back malformed", model.name);
            for call in read.message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]) {
                for (key, value) in call["function"]["arguments"].as_object().unwrap().iter() {
                    assert!(fits(key, value), "{}: {text:?} gives {key:?} {value}", model.name);
                }
            }
            drawn += 1;
        }
    }
    assert!(drawn > 100, "only {drawn} texts were drawn");
}

#[test]
fn spellings_that_are_parsed_as_other_values_are_left_out_and_noted() {
    // Bare values between tags, of which the parser casts JSON and words; keywords, whose parser treats single quotes as those
    // of strings.
    let wires = [
        ("seed_oss", "<seed:tool_call>\n<function=f>\n<parameter=p>", "</parameter>\n</function>\n</seed:tool_call>"),
        ("lfm_2_5", "<|tool_call_start|>[f(p=", ")]<|tool_call_end|>"),
    ];
    type Case<'c> = (&'c str, &'c [&'c str], &'c [&'c str], Option<Effect>);
    let tables: [&[Case<'_>]; 2] = [
        &[
            (r#"{"type": "boolean"}"#, &["True", "true"], &["yes"], None),
            (r#"{"type": ["integer", "null"]}"#, &["7", "None", "null"], &["['a']"], None),
            (
                r#"{"type": "array"}"#,
                &["[]", "[1, 2]", r#"["a",true]"#],
                &["['a']", "[True]", "[None]"],
                Some(Effect::Tighter),
            ),
            (r#"{"type": "object"}"#, &["{}", r#"{"a": null}"#], &["{'a': 1}"], Some(Effect::Tighter)),
            // Any text is allowed.
            ("{}", &["[1, 'a', {'b': None}]", "True", "x"], &[], None),
            // Always a text.
            (r#"{"enum": [1, true]}"#, &["1", "True"], &["2"], Some(Effect::Assumed)),
            (r#"{"enum": ["a", "b"]}"#, &["a"], &["c"], None),
        ],
        &[
            (r#"{"type": "boolean"}"#, &["True", "true"], &["'True'"], None),
            (
                r#"{"type": "array"}"#,
                &["['a', 'b c']", "[1, true]", r#"["it's"]"#],
                &["[True]", "[None]", r"['it\'s']", "['a, b=1']"],
                Some(Effect::Tighter),
            ),
            (r#"{"not": {"type": "string"}}"#, &["true", "null", "['a']"], &["True", "None"], Some(Effect::Assumed)),
            (r#"{"type": "string"}"#, &["'a, b=1'", r"'a\nb'", r#"'"x"'"#], &[r"'\n, b=1'", "7"], None),
            (
                r#"{"type": "string", "maxLength": 3}"#,
                &["'a b'"],
                &[r"'\n'", "'abcd'", r#""it's""#],
                Some(Effect::Tighter),
            ),
        ],
    ];
    for ((name, open, close), table) in wires.into_iter().zip(tables) {
        let model = Model::named(name);
        for (schema, good, bad, effect) in table {
            let tools = value(&format!(
                r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"],
                    "additionalProperties": false}}}}]"#
            ));
            let grammar = build(model, &Choice::Required, &tools, model.prompt().as_deref());
            for (values, wanted) in [(good, "accept"), (bad, "reject")] {
                for text in *values {
                    let output = format!("{open}{text}{close}");
                    assert_eq!(verdict(&grammar, &output), wanted, "{name}, {schema}: {text}");
                }
            }
            let note = grammar.notes().iter().find(|note| note.path.as_deref() == Some("/properties/p"));
            assert_eq!(note.map(|note| note.effect), *effect, "{name}, {schema}: {note:?}");
        }
    }
}

/// Its parser takes Python's strings and words, but no other name, number or line break than its grammar has.
#[test]
fn calls_of_a_list_are_those_that_its_parser_reads() {
    let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}<calls>[{% for c in m.tool_calls %}\
        {{ c.function.name }}({% for k, v in c.function.arguments | items %}{{ k }}={{ ([v] | string)[1:-1] }}\
        {{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]</calls>{% endif %}<|end|>\
        {% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let template = r#"{"start_anchor": "<|assistant|>", "fields": {
        "tool_calls": {"open": "<calls>", "close": ["</calls>", "<|end|>"], "content": "python-call-list",
            "transform_each": true, "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}},
        "content": {"close": "<|end|>"}}}"#;
    let template = Template::load(template).unwrap().template;
    let options = derive::Options::default().now(NOW.to_owned());
    let opened = derive::Model::open(source, Some(template), &options).unwrap();
    let tools = value(
        r#"[{"name": "f", "parameters": {"type": "object", "required": ["s"], "additionalProperties": {"type": "integer"},
                "properties": {"s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer", "minimum": 0},
                    "l": {"type": "array"}, "x-y": {"type": "boolean"}, "x y": {"type": "boolean"}, "é": {"type": "null"}}}},
            {"name": "g h", "parameters": {"type": "object", "properties": {}}}, {"name": "ns.g", "parameters": {"type": "object"}}]"#,
    );
    let request = Request::default().tools(&tools).choice(&Choice::Required);
    let grammar = grammar::build(&opened.template, &opened.wire, &request).unwrap();
    let known = Arc::new(Tools::new(&tools).unwrap());
    for (call, wanted) in [
        ("f(s='a')", "accept"),
        (r#"f(s="it's")"#, "accept"),
        (r"f(s='it\'s\n\\')", "accept"),
        ("f(s='a\nb')", "reject"),
        (r"f(s='\x41')", "reject"),
        ("f(s='a', n=1e5, i=9007199254740991)", "accept"),
        ("f(s='a', i=9007199254740992)", "reject"),
        ("f(s='a', n=12345678901234567890)", "reject"),
        ("f(s='a', n=12345678901234567890.5)", "accept"),
        ("f(s='a', other=-9007199254740992)", "reject"),
        ("f(s='a', other=5)", "accept"),
        ("f(s='a', 5th=5)", "reject"),
        (r#"f(s='a', l=['b', True, None, {'c': 1}])"#, "accept"),
        (r#"f(s='a', l=["b", true, null, {"c": 1}])"#, "accept"),
        ("f(s='a', l=['b\nc'])", "reject"),
        ("f(s='a', x-y=True)", "accept"),
        ("f(s='a', x-y=true)", "accept"),
        ("f(s='a', x y=True)", "reject"),
        ("f(s='a', é=None)", "reject"),
        ("g h()", "reject"),
        ("ns.g()", "accept"),
    ] {
        let text = format!("<calls>[{call}]</calls>");
        assert_eq!(verdict(&grammar, &text), wanted, "{call}");
        if wanted == "accept" {
            let read = parse(&opened.template, "<|assistant|>", &text, Some(known.clone())).unwrap();
            assert!(read.malformed.is_empty(), "{call}: {:?}", read.malformed);
        }
    }
    let dropped = grammar.notes().iter().filter(|note| note.message.starts_with("the tool is dropped"));
    assert_eq!(dropped.map(|note| note.tool.as_deref()).collect::<Vec<_>>(), [Some("g h")]);
}

/// A model whose chat template writes each call `c` with this Jinja.
fn calling(call: &str) -> Model {
    written(&format!(
        "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\
         {{% if c.function.arguments is string %}}{{{{ raise_exception('no text') }}}}{{% endif %}}\
         <call>{{{{ c.function.name }}}}:{call}</call>{{% endfor %}}<|end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
    ))
}

#[test]
fn strings_inside_values_must_not_contain_the_end_of_the_value() {
    let tools = value(
        r#"[{"name": "f", "parameters": {"type": "object", "additionalProperties": false, "properties": {
            "s": {"type": "string"}, "l": {"type": "array"}, "b": {"type": "boolean"}}}}]"#,
    );
    let tagged = "{% for k, v in c.function.arguments | items %}<p={{ k }}>{{ v | tojson }}</p>{% endfor %}";
    let keywords = "({% for k, v in c.function.arguments | items %}{{ k }}={{ v | tojson }}\
                    {{ ', ' if not loop.last }}{% endfor %})";
    let table: [(&str, &[&str], &[&str]); 3] = [
        (tagged, &[r#"<p=s>"a</p>b"</p><p=l>["a"]</p>"#], &[r#"<p=l>["a</p>b"]</p>"#]),
        (keywords, &[r#"(s="a, b=1", l=["a, b"])"#], &[r#"(l=["a, b=1"])"#]),
        // The whole object as printed by Python.
        (
            "{{ c.function.arguments }}",
            &["{'s': 'a', 'l': []}", r#"{'s': "it's"}"#, "{'b': true}"],
            &["{'b': True}", r"{'s': 'a\'b'}"],
        ),
    ];
    for (call, good, bad) in table {
        let model = calling(call);
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::Required, &tools, Some(&prompt));
        let known = Arc::new(Tools::new(&tools).unwrap());
        for text in good {
            let text = format!("<call>f:{text}</call>");
            assert_eq!(verdict(&grammar, &text), "accept", "{text}");
            let read = parse(&model.template, &prompt, &text, Some(known.clone())).unwrap();
            assert!(read.malformed.is_empty(), "{text}");
        }
        for text in bad {
            assert_eq!(verdict(&grammar, &format!("<call>f:{text}</call>")), "reject", "{text}");
        }
    }
}

#[test]
fn a_member_that_the_wire_cannot_write_is_noted() {
    for (name, key, place) in [
        ("gemma_4", "x-y", "/properties/x-y"),
        ("qwen3_coder", "x y", "/properties/x y"),
        ("lfm_2_5", "x/y", "/properties/x~1y"),
    ] {
        let tools = value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"a": {{"type": "integer"}},
                "{key}": {{"type": "integer"}}}}, "required": ["a"], "additionalProperties": false}}}}]"#
        ));
        let grammar = build(Model::named(name), &Choice::Required, &tools, None);
        let notes: Vec<_> = grammar.notes().iter().filter(|note| note.effect == Effect::Tighter).collect();
        assert_eq!(notes.iter().map(|note| note.path.as_deref()).collect::<Vec<_>>(), [Some(place)], "{name}");
    }
}

/// Names of a tool and its argument, and whether the parser reads both back from what the chat template writes.
#[test]
fn names_are_those_that_the_response_template_reads() {
    for (name, tool, key, is_read) in [
        ("qwen3_coder", "do.it/now", "$a[b].c", true),
        ("qwen3_coder", "do_it", "a b", false),
        ("qwen3_coder", "do it", "a", false),
        ("qwen3_coder", "do>it", "a", false),
        ("glm_4_6", "do.it", "a/b", true),
        ("glm_4_6", "do/it", "a", true),
        ("glm_4_6", "do<it", "a", false),
        ("glm_4_6", "do_it", "a<b", false),
        ("devstral", "do/it", "a b", true),
        ("devstral", "do it", "a", false),
        ("lfm_2_5", "do/it", "a.b-c", true),
        ("lfm_2_5", "do_it", "$a", false),
        ("lfm_2_5", "do_it", "a/b", false),
        ("apertus", "do it", "a b", true),
        ("apertus", "do \"it\"", "a", false),
        ("hermes", "do it", "a \"b\"", true),
    ] {
        let model = Model::named(name);
        let prompt = model.prompt().unwrap();
        let [quoted_tool, quoted_key] = [tool, key].map(|text| Value::from(text).to_string());
        let tools = value(&format!(
            r#"[{{"type": "function", "function": {{"name": {quoted_tool}, "parameters": {{"type": "object",
                "properties": {{{quoted_key}: {{"type": "string"}}}}, "required": [{quoted_key}],
                "additionalProperties": false}}}}}}]"#
        ));
        let grammar = build(model, &Choice::Auto, &tools, Some(&prompt));
        let answer = call(&quoted_tool[1..quoted_tool.len() - 1], &format!("{{{quoted_key}: \"v w\"}}"));
        let output = model.output(&answer, &grammar).unwrap();
        let read = parse(&model.template, &prompt, &output, Tools::new(&tools).ok().map(Arc::new)).unwrap();
        let wanted = Value::from([("name", tool.into()), ("arguments", Value::from([(key, "v w".into())]))]);
        let found = read.message.get("tool_calls").and_then(|calls| calls.as_list()?.first()?.get("function"));
        assert_eq!(found == Some(&wanted), is_read, "{name}: {found:?}");
        let is_dropped = grammar.notes().iter().any(|note| note.message.contains("dropped"));
        assert_eq!(is_dropped, !is_read, "{name}, {tool}, {key}");
        let request = Request::default().tools(&tools).choice(&Choice::Required).prompt(prompt.as_str());
        let required = grammar::build(&model.template, &model.wire, &request);
        assert_eq!(required.map(|grammar| verdict(&grammar, &output)).ok(), is_read.then_some("accept"), "{output}");
    }
}

/// In a list of calls, the next call begins as an object in a list of the arguments does.
#[test]
fn lists_that_may_be_read_as_the_next_call_are_noted() {
    let objects = r#"{"type": "array", "items": {"type": "object", "additionalProperties":
        {"type": "object", "additionalProperties": {"type": "integer"}}}}"#;
    let texts =
        r#"{"type": "array", "items": {"type": ["object", "string"], "additionalProperties": {"type": "string"}}}"#;
    let inner = format!(r#"{{"type": "object", "properties": {{"l": {objects}}}, "additionalProperties": false}}"#);
    for (name, schema, noted) in [
        ("apertus", objects, vec!["/properties/p"]),
        ("apertus", &inner, vec!["/properties/p/properties/l"]),
        ("apertus", texts, vec![]),
        ("apertus", &objects.replace("\"array\"", "\"array\", \"maxItems\": 1"), vec![]),
        // A value without a schema may be such a list.
        ("apertus", r#"{"type": "array"}"#, vec!["", "/properties/p"]),
        ("apertus", r#"{"type": "object"}"#, vec![""]),
        ("command_r7b", objects, vec![]),
        ("hermes", objects, vec![]),
    ] {
        let model = Model::named(name);
        let tools = value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"],
                "additionalProperties": false}}}}]"#
        ));
        let grammar = build(model, &Choice::Required, &tools, model.prompt().as_deref());
        let notes = grammar.notes().iter().filter(|note| note.effect == Effect::Looser);
        assert_eq!(notes.filter_map(|note| note.path.as_deref()).collect::<Vec<_>>(), noted, "{name}: {schema}");
    }
}

#[test]
fn other_members_are_anywhere_if_the_chat_template_sorts() {
    let tools = value(
        r#"[{"name": "f", "parameters": {"type": "object", "required": ["id"], "additionalProperties": {"type": "boolean"},
            "properties": {"id": {"type": "integer"}, "at": {"type": "string"}}}}]"#,
    );
    let pairs = calling("{% for k, v in c.function.arguments | dictsort %}<p={{ k }}>{{ v | tojson }}</p>{% endfor %}");
    for (model, known) in [(Model::named("gemma_4"), r#"at:<|"|>x<|"|>"#), (&pairs, r#"<p=at>"x"</p>"#)] {
        let prompt = model.prompt().unwrap();
        let grammar = build(model, &Choice::Required, &tools, Some(&prompt));
        let is_braced = model.name == "gemma_4";
        for (keys, wanted) in [
            ("id", "accept"),
            ("at id", "accept"),
            ("all id", "accept"),
            ("id on", "accept"),
            ("all at big id on", "accept"),
            ("all an at id", "accept"),
            ("id at", "reject"),
            ("all id on at", "reject"),
            ("all", "reject"),
            ("all at", "reject"),
            ("id id", "reject"),
        ] {
            let pairs: Vec<String> = keys
                .split(' ')
                .map(|key| match (key, is_braced) {
                    ("at", _) => known.to_owned(),
                    ("id", true) => "id:1".to_owned(),
                    ("id", false) => "<p=id>1</p>".to_owned(),
                    (key, true) => format!("{key}:true"),
                    (key, false) => format!("<p={key}>true</p>"),
                })
                .collect();
            let text = match is_braced {
                true => format!("<|tool_call>call:f{{{}}}<tool_call|>", pairs.join(",")),
                false => format!("<call>f:{}</call>", pairs.concat()),
            };
            assert_eq!(verdict(&grammar, &text), wanted, "{text}");
        }
    }
}

/// The chat template writes texts in single quotes without an escape, and its response template reads both kinds.
#[test]
fn a_text_with_the_wires_quotes_is_written_in_others() {
    let model = Model::named("lfm_2_5");
    let prompt = model.prompt().unwrap();
    for schema in
        [r#"{"type": "string"}"#, r#"{"enum": ["it's", "a"]}"#, r#"{"type": "string", "pattern": "^(it's|a)$"}"#]
    {
        let tools = value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"v": {schema}}}, "required": ["v"],
                "additionalProperties": false}}}}]"#
        ));
        let grammar = build(model, &Choice::Required, &tools, Some(&prompt));
        for (text, wanted) in [(r#""it's""#, "it's"), ("'a'", "a"), (r#""a""#, "a")] {
            let text = format!("<|tool_call_start|>[f(v={text})]<|tool_call_end|>");
            assert_eq!(verdict(&grammar, &text), "accept", "{schema}: {text}");
            let read = parse(&model.template, &prompt, &text, Tools::new(&tools).ok().map(Arc::new)).unwrap();
            let calls = read.message.get("tool_calls").unwrap();
            assert_eq!(calls[0]["function"]["arguments"]["v"], wanted.into(), "{text}");
        }
    }
}

#[test]
fn unenforceable_constraints_are_noted_and_unsatisfiable_ones_are_refused() {
    let model = Model::named("hermes");
    let tool = |schema: &str| {
        value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"],
                "additionalProperties": false}}}}]"#
        ))
    };
    let loose = [
        (r#"{"type": "array", "uniqueItems": true}"#, "uniqueItems"),
        (r#"{"type": "string", "pattern": "(?=a)b"}"#, "pattern"),
        (r#"{"if": {}, "type": "string"}"#, "if"),
        (r#"{"type": "string", "format": "color"}"#, "format"),
        (r#"{"$ref": "https://schemas.example/a.json"}"#, "$ref"),
    ];
    for (schema, keyword) in loose {
        let grammar = build(model, &Choice::Required, &tool(schema), None);
        let note = grammar.notes().iter().find(|note| note.effect == Effect::Looser);
        assert_eq!(note.and_then(|note| note.keyword.as_deref()), Some(keyword), "{schema}");
    }
    let wrong = [
        (r##"{"$ref": "#/$defs/none"}"##, "does not exist"),
        (r##"{"$ref": "#/properties/p"}"##, "refers only to itself"),
        (r##"{"$ref": "#none"}"##, "does not exist"),
        // No finite value satisfies these.
        (r##"{"type": "array", "minItems": 1, "items": {"$ref": "#/properties/p"}}"##, "nothing satisfies"),
        (
            r##"{"type": "object", "properties": {"next": {"$ref": "#/properties/p"}}, "required": ["next"]}"##,
            "nothing satisfies",
        ),
        (r#"{"type": "string", "pattern": "("}"#, "not a regular expression"),
        (r#"{"type": "integer", "minimum": 2, "maximum": 1}"#, "nothing satisfies"),
        (r#""text""#, "not a schema"),
    ];
    for (schema, words) in wrong {
        let tools = tool(schema);
        let request = Request::default().tools(&tools).choice(&Choice::Required);
        let problems = grammar::build(&model.template, &model.wire, &request).unwrap_err();
        assert!(problems[0].message.contains(words), "{schema}: {}", problems[0].message);
        // One invalid schema does not affect the other tools.
        let grammar = build(model, &Choice::Auto, &tools, None);
        assert!(grammar.notes().iter().any(|note| note.message.contains("dropped")), "{schema}");
    }
}

#[test]
fn the_tool_choice_is_enforced() {
    let model = Model::named("hermes");
    let prompt = model.prompt().unwrap();
    let one = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
    let two = format!("{one}\n{one}");
    let read = |text: &str| Choice::read(&value(text)).unwrap();
    let table = [
        (r#""auto""#, None, [true, true, true]),
        (r#""required""#, None, [false, true, true]),
        (r#""required""#, Some(false), [false, true, false]),
        (r#""none""#, None, [true, false, false]),
        (r#"{"type": "function", "function": {"name": "get_time"}}"#, None, [false, true, false]),
        (r#"{"type": "function", "function": {"name": "get_weather"}}"#, None, [false, false, false]),
        (
            r#"{"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function",
            "function": {"name": "get_weather"}}]}}"#,
            None,
            [false, false, false],
        ),
    ];
    for (choice, parallel, wanted) in table {
        let (tools, choice) = (tools(), read(choice));
        let request = Request::default().tools(&tools).choice(&choice).parallel(parallel).prompt(prompt.as_str());
        let grammar = grammar::build(&model.template, &model.wire, &request).unwrap();
        let found = ["Hello.", one, &two].map(|text| verdict(&grammar, text) == "accept");
        assert_eq!(found, wanted, "{choice:?} {parallel:?}");
    }
    let (tools, choice) = (tools(), Choice::Named("nobody".to_owned()));
    let request = Request::default().tools(&tools).choice(&choice);
    let problems = grammar::build(&model.template, &model.wire, &request).unwrap_err();
    assert!(problems[0].message.contains("nobody"), "{}", problems[0].message);
}

#[test]
fn arguments_come_in_any_order_on_request() {
    let properties: Vec<String> = (1..=7).map(|at| format!(r#""p{at}": {{"type": "integer"}}"#)).collect();
    let tools = value(&format!(
        r#"[{{"name": "few", "parameters": {{"type": "object", "properties": {{"a": {{"type": "integer"}},
            "b": {{"type": "integer"}}, "c": {{"type": "integer"}}}}, "required": ["a", "c"]}}}},
          {{"name": "many", "parameters": {{"type": "object", "properties": {{{}}}}}}}]"#,
        properties.join(",")
    ));
    for name in ["hermes", "qwen3_coder"] {
        let model = Model::named(name);
        let call = |name: &str, arguments: &[(&str, u32)]| {
            let pair = |(key, value): &(&str, u32)| match model.name.as_str() {
                "hermes" => format!("\"{key}\": {value}"),
                _ => format!("<parameter={key}>\n{value}\n</parameter>\n"),
            };
            let pairs: Vec<String> = arguments.iter().map(pair).collect();
            match model.name.as_str() {
                "hermes" => format!(
                    "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{{}}}}}\n</tool_call>",
                    pairs.join(", ")
                ),
                _ => format!("<tool_call>\n<function={name}>\n{}</function>\n</tool_call>", pairs.concat()),
            }
        };
        let verdicts = |any_order: bool| {
            let (choice, prompt) = (Choice::Required, model.prompt().unwrap());
            let request = Request::default().tools(&tools).choice(&choice).prompt(prompt.as_str()).any_order(any_order);
            let grammar = grammar::build(&model.template, &model.wire, &request).unwrap();
            let texts = [
                call("few", &[("a", 1), ("b", 2), ("c", 3)]),
                call("few", &[("c", 3), ("a", 1)]),
                call("few", &[("b", 2), ("c", 3), ("a", 1)]),
                call("few", &[("b", 2), ("a", 1)]),
                call("few", &[("c", 3), ("a", 1), ("c", 3)]),
                call("many", &[("p1", 1), ("p2", 2)]),
                call("many", &[("p2", 2), ("p1", 1)]),
            ];
            let is_noted = grammar
                .notes()
                .iter()
                .any(|note| note.tool.as_deref() == Some("many") && note.message.contains("order"));
            (texts.map(|text| verdict(&grammar, &text) == "accept"), is_noted)
        };
        assert_eq!(verdicts(false), ([true, false, false, false, false, true, false], false), "{name}");
        // In any order, required arguments must be present and none may repeat; seven are too many.
        assert_eq!(verdicts(true), ([true, true, true, false, false, true, false], true), "{name}");
    }
}

#[test]
fn special_tokens_are_named_if_text_does_not_match_them() {
    let model = Model::named("gemma_4");
    let special = [
        SpecialToken::new("<|tool_call>", Some(1)),
        SpecialToken::new("<tool_call|>", Some(2)),
        SpecialToken::new("<|channel>", Some(3)),
        SpecialToken::new("<reserved>", Some(4)),
    ];
    let grammar = build(model, &Choice::Auto, &tools(), model.prompt().as_deref()).with_special_tokens(&special);
    let lark = grammar.to_lark();
    for named in ["<|tool_call>", "<tool_call|>", "<|channel>"] {
        assert!(lark.contains(named), "{named}: {lark}");
    }
    assert!(!lark.contains("<reserved>"), "a token that is no mark of the wire stays out");
    // Two markers share their first characters, which must not be written as characters.
    assert!(!lark.contains("start: \"\" | /[\\u{3C}]/"), "{lark}");
    let grammar = build(Model::named("mistral_small_3_2"), &Choice::Auto, &tools(), None);
    let named = grammar.clone().with_special_tokens(&[SpecialToken::new("[TOOL_CALLS]", Some(9))]).to_lark();
    assert!(named.contains("<[9]>"), "{named}");
    let unknown = grammar.with_special_tokens(&[SpecialToken::new("[TOOL_CALLS]", None)]);
    assert!(!unknown.to_lark().contains("<["));
    assert!(unknown.notes().iter().any(|note| note.message.contains("[TOOL_CALLS]")), "{:?}", unknown.notes());
}

#[test]
fn the_same_request_gives_the_same_bytes_in_every_format() {
    let model = Model::named("qwen3_coder");
    let again = || {
        let grammar = build(model, &Choice::Auto, &tools(), None);
        let lazy = grammar.to_lazy_gbnf().map(|(text, triggers)| (text, triggers.to_vec()));
        (grammar.to_gbnf(), lazy, grammar.to_ebnf(), grammar.to_lark(), grammar.to_json().to_string())
    };
    let (first, second) = (again(), again());
    assert_eq!(first, second);
    let (_, triggers) = first.1.expect("calls of this wire begin with a mark");
    assert_eq!(triggers[0].value, "<tool_call>");
    assert!(first.0.starts_with("root ::= "));
}

#[test]
fn long_names_with_a_common_beginning_have_separate_rules() {
    let model = Model::named("hermes");
    let name = |at: usize| format!("the_server_of_the_calendar_of_the_team_finds_{at}");
    let schema =
        r#"{"type": "object", "properties": {"p": {"type": "array", "items": {"type": "string", "maxLength": 5}}}}"#;
    let tools: Vec<String> =
        (0..12).map(|at| format!(r#"{{"name": "{}", "parameters": {schema}}}"#, name(at))).collect();
    let tools = value(&format!("[{}]", tools.join(",")));
    let request = Request::default().tools(&tools).choice(&Choice::Required);
    let grammar = grammar::build(&model.template, &model.wire, &request).unwrap();
    for at in [0, 1, 11] {
        let text = format!("<tool_call>\n{{\"name\": \"{}\", \"arguments\": {{}}}}\n</tool_call>", name(at));
        assert_eq!(verdict(&grammar, &text), "accept", "{text}");
    }
    let text = grammar.to_gbnf();
    let rules: Vec<&str> = text.lines().filter_map(|line| line.split_once(" ::= ")).map(|(name, _)| name).collect();
    let mut names = rules.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rules.len(), "{rules:?}");
}

#[test]
fn hostile_requests_finish_in_bounded_time() {
    let model = Model::named("hermes");
    let nested = format!("{}{{}}{}", r#"{"type": "array", "items": "#.repeat(150), "}".repeat(150));
    let many: Vec<String> = (0..1000)
        .map(|at| format!(r#"{{"name": "tool_{at}", "parameters": {{"type": "object", "properties": {{"p": {{"type": "string"}}}}}}}}"#))
        .collect();
    let values = |name: &str| Value::List((0..3000).map(|at| format!("{name} {at}").into()).collect());
    let schemas = [
        format!(r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {nested}}}}}}}]"#),
        format!("[{}]", many.join(",")),
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {"p": {"type": "string", "minLength": 5, "maxLength": 1000000}}}}]"#.to_owned(),
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {"p": {"type": "string", "pattern": "(a|b|c){1,4000}x"}}}}]"#.to_owned(),
        r##"[{"name": "f", "parameters": {"type": "object", "properties": {"p": {"anyOf": [{"$ref": "#/properties/p"}, {"type": "null"}]}}}}]"##.to_owned(),
        // Used to compare each value with all refused ones, and to rebuild their automaton each time.
        format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {{"enum": {0}, "allOf": [{{"enum": {0}}}], "not": {{"enum": {1}}}}}}}}}}}]"#,
            values("value"),
            values("other")
        ),
    ];
    for tools in schemas {
        let tools = value(&tools);
        let request = Request::default().tools(&tools).choice(&Choice::Required);
        // Either a grammar or an error that names the limit; never a panic.
        if let Ok(grammar) = grammar::build(&model.template, &model.wire, &request) {
            assert!(grammar.to_gbnf().len() < 4_000_000);
        }
    }
}

#[test]
fn schemas_nest_200_deep_and_references_any_depth() {
    let model = Model::named("hermes");
    let tools = |schema: &str| {
        value(&format!(
            r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"]}}}}]"#
        ))
    };
    let chosen = |tools: &Value, choice: &Choice| {
        grammar::build(&model.template, &model.wire, &Request::default().tools(tools).choice(choice))
    };
    let built = |tools: &Value| chosen(tools, &Choice::Required);
    let lists = |depth: usize| format!("{}{{}}{}", r#"{"type": "array", "items": "#.repeat(depth), "}".repeat(depth));
    let objects = |depth: usize| {
        let open = r#"{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": "#;
        format!("{}{{\"type\": \"integer\"}}{}", open.repeat(depth), "}}".repeat(depth))
    };
    let tree =
        r##"{"type": "object", "additionalProperties": false, "properties": {"a": {"$ref": "#/properties/p"}}}"##;
    for (schema, open, inner, close) in
        [(lists(190), "[", "1", "]"), (objects(190), r#"{"a": "#, "1", "}"), (tree.to_owned(), r#"{"a": "#, "{}", "}")]
    {
        let grammar = built(&tools(&schema)).unwrap();
        let arguments = format!(r#"{{"p": {}{inner}{}}}"#, open.repeat(190), close.repeat(190));
        let output = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {arguments}}}\n</tool_call>");
        assert_eq!(verdict(&grammar, &output), "accept", "{}", &schema[..60]);
        let fewer = output.replacen(close, "", 1);
        assert_ne!(verdict(&grammar, &fewer), "accept", "{}", &schema[..60]);
    }
    // Without the tool, the grammar would forbid calls that its schema allows.
    for choice in [Choice::Required, Choice::Auto] {
        let refused = chosen(&tools(&objects(201)), &choice).unwrap_err();
        let message = &refused[0].message;
        assert!(
            message.starts_with("tool `f` at ")
                && message.ends_with("values nest more than 200 deep")
                && message.len() < 300,
            "{message}"
        );
    }
}

/// The literals of a grammar, and the words and signs in them.
fn literals(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| literals(item, found)),
        Value::Object(entries) => {
            if let Some(text) = entries.get("lit").and_then(Value::as_str) {
                found.extend(text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
                found.push(text.to_owned());
            }
            entries.values().for_each(|value| literals(value, found));
        }
        _ => {}
    }
}

#[test]
fn the_wire_of_a_response_template_alone_is_assumed() {
    let known = Arc::new(Tools::new(&tools()).unwrap());
    let (mut assumed, mut drawn) = (0, 0);
    for (number, model) in models().enumerate() {
        let wire = match grammar::assume(&model.template) {
            Ok(wire) => wire,
            Err(refused) => {
                assert_eq!(refused.id, "grammar-no-wire", "{}", model.name);
                continue;
            }
        };
        let tools = tools();
        let request = Request::default().tools(&tools).choice(&Choice::Required);
        let Ok(grammar) = grammar::build(&model.template, &wire, &request) else { continue };
        assumed += 1;
        let says_so =
            |note: &grammar::Note| note.effect == Effect::Assumed && note.message.contains("no chat template");
        assert!(grammar.notes().iter().any(says_so), "{}", model.name);
        let mut pieces: Vec<String> = ["x", "7", "\"", "{", "}", "\n", "<"].map(str::to_owned).to_vec();
        literals(&grammar.to_json(), &mut pieces);
        let anchor = model.template.to_value()["start_anchor"].as_str().unwrap_or_default().to_owned();
        let mut dice = Dice(0x51_7C_C1 + number as u64);
        for _ in 0..12 {
            let Some(text) = walk(&grammar, &pieces, &mut dice) else { continue };
            let read = parse(&model.template, &format!("Hi\n{anchor}"), &text, Some(known.clone())).unwrap();
            assert!(read.malformed.is_empty(), "{}: {text:?} reads back malformed", model.name);
            let calls = read.message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]);
            assert!(!calls.is_empty(), "{}: {text:?} reads back without a call", model.name);
            drawn += 1;
        }
    }
    assert!(assumed > 20 && drawn > 100, "{assumed} templates, {drawn} texts");
    for fields in [
        r#""tool_calls": {"open": "<c>", "close": "</c>", "content": "text"}, "content": {}"#,
        r#""tool_calls": {"open_pattern": "(<a>|<b>)\\1", "close": "</c>", "content": "json"}, "content": {}"#,
    ] {
        let text = format!("{{\"start_anchor\": \"<bot>\", \"fields\": {{{fields}}}}}");
        let refused = grammar::assume(&Template::load(&text).unwrap().template).unwrap_err();
        assert!(refused.message.starts_with("the response template alone does not tell"), "{}", refused.message);
    }
}

#[test]
fn a_chat_template_with_a_required_variable_has_a_grammar() {
    let (code, written, said) = outcome(&backchat(&["grammar", "-q", "tests/derive/variable_nobody_gave.jinja"]));
    assert_eq!((code, said.as_str()), (0, ""));
    // Content until its marker, `<|over|>`.
    assert!(
        written.starts_with("root ::= \"\" | content\ncontent ::= [^<] content | [<] content-1 | \"\"\n"),
        "{written}"
    );
}

/// Prompts may differ from turns in white space, and in markers with a common beginning.
#[test]
fn text_that_the_prompt_writes_is_left_out_of_the_turn() {
    let turns = |between: &str, header: &str, prompt: &str| {
        format!(
            "{{%- for m in messages %}}{{% if m.role == 'assistant' %}}{header}{{{{ m.content or '' }}}}\
             {{% for c in m.tool_calls %}}<bot_calls>{{{{ c.function | tojson }}}}</bot_calls>{{% endfor %}}<end>\
             {{% else %}}<user>{{{{ m.content }}}}{between}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{prompt}{{% endif %}}"
        )
    };
    let call = r#"<bot_calls>{"name": "get_time", "arguments": {}}</bot_calls>"#;
    for (between, header, prompt) in [
        ("", "{{ '\\n\\n' }}### Response:\n", "### Response:\n"),
        ("{{ '\\n' }}<eot>", "{{ '\\n' }}<bot>\n", "<bot>\n"),
        ("", "", "<bot_start>"),
    ] {
        let model = written(&turns(between, header, prompt));
        let prompt = model.prompt().unwrap();
        let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
        assert_eq!(verdict(&grammar, call), "accept", "{prompt:?}");
        let grammar = build(&model, &Choice::None, &tools(), Some(&prompt));
        assert_eq!(verdict(&grammar, "Yes."), "accept", "{prompt:?}");
    }
}

/// Numbers that the template counts differ from those in the renders.
#[test]
fn numbers_that_the_chat_template_counts_may_be_any() {
    let model = written(&turns_of("<do_{{ loop.index }}>{{ c.function | tojson }}</do_{{ loop.index }}>"));
    let prompt = model.prompt().unwrap();
    let grammar = build(&model, &Choice::Required, &tools(), Some(&prompt));
    let call = |number: u32| format!(r#"<do_{number}>{{"name": "get_time", "arguments": {{}}}}</do_{number}>"#);
    let calls = |count: u32| (1..=count).map(call).collect::<String>();
    for count in [1, 2, 3, 12] {
        assert_eq!(verdict(&grammar, &calls(count)), "accept", "{count}");
    }
    assert_eq!(verdict(&grammar, &calls(1).replace("do_1", "do_x")), "reject");
    assert!(grammar.notes().iter().any(|note| note.message.contains("counts")), "{:?}", grammar.notes());
}

/// A grammar never requires the placeholder of a variable: the prompt shows the value, or any value is allowed.
#[test]
fn the_value_of_a_missing_variable_is_found_in_the_prompt_or_free() {
    let model = written(
        "{%- if not persona %}{{ raise_exception('who speaks?') }}{% endif %}{% for m in messages %}\
         {% if m.role == 'assistant' %}<bot {{ persona }}>{{ m.content or '' }}{% for c in m.tool_calls %}\
         <call by {{ persona }}>{{ c.function | tojson }}</call>{% endfor %}<end>{% else %}<user>{{ m.content }}<end>\
         {% endif %}{% endfor %}{% if add_generation_prompt %}<bot {{ persona }}>{% endif %}",
    );
    let call = |by: &str| format!(r#"<call by {by}>{{"name": "get_time", "arguments": {{}}}}</call>"#);
    for (prompt, taken, refused) in [
        (Some("<user>Hi<end><bot kind one>"), vec!["kind one"], vec!["somebody", "Qzfilledq"]),
        (None, vec!["kind one", "somebody"], vec!["two\nlines", ""]),
    ] {
        let grammar = build(&model, &Choice::Required, &tools(), prompt);
        for (names, wanted) in [(taken, "accept"), (refused, "reject")] {
            for name in names {
                assert_eq!(verdict(&grammar, &call(name)), wanted, "{prompt:?} {name:?}");
            }
        }
        let is_noted = grammar.notes().iter().any(|note| note.message.contains("was not given"));
        assert_eq!(is_noted, prompt.is_none(), "{:?}", grammar.notes());
        let (gbnf, lark) = (grammar.to_gbnf(), grammar.to_lark());
        assert!(!gbnf.contains("Qzfilledq") && !lark.contains("Qzfilledq"), "{gbnf}");
    }
}
