//! Handwritten inputs for the unit tests of this room. Each builder returns the plainest input of its kind, so that a test
//! only spells out its subject.

use super::Job;
use super::compile::{Choices, compile};
use super::proof::{Loss, Proof};
use crate::wire::structure::{
    Arguments, Body, CallPart, Calls, Content, Cut, Encoding, History, ObjectBody, Pairs, Prompt, Reasoning, Values,
    WireFormat,
};
use backchat_chat::ChatTemplate;
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser::{Options, Parser};
use backchat_parser::template::Template;
use backchat_probe::probe::{Answer, Call, RequestShape, Setting};

/// A chat template with reasoning, calls and a stop, each part between its own marks.
pub(super) const CHAT: &str = "{% for m in messages %}<{{ m.role }}>\
    {% if m.reasoning_content %}<weigh>{{ m.reasoning_content }}</weigh>{% endif %}{{ m.content }}\
    {% for c in m.tool_calls or [] %}<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": \
    {{ c.function.arguments | tojson }}}</call>{% endfor %}<end>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// The response template for it.
pub(super) const ANSWER: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<assistant>",
    "fields": {
        "reasoning_content": {"open": "<weigh>", "close": "</weigh>", "content": "text"},
        "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json", "transform":
            {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
        "content": {"close": "<end>", "content": "text"}
    }
}"#;

pub(super) fn value(json: &str) -> Value {
    json::read(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

pub(super) fn object(json: &str) -> Object {
    value(json).as_object().unwrap_or_else(|| panic!("{json}: not an object")).clone()
}

pub(super) fn template(json: &str) -> Template {
    load(&value(json))
}

pub(super) fn load(template: &Value) -> Template {
    Template::from_value(template).unwrap_or_else(|error| panic!("{template}: {error}")).template
}

/// The message that a response template parses.
pub(super) fn read(template: &Value, text: &str) -> Value {
    let template = load(template);
    let mut parser = Parser::new(&template, "", Options::default()).unwrap();
    parser.feed(text).unwrap();
    Value::Object(parser.finish().unwrap().message)
}

/// What these losses say, but for that of null content, which [`CHAT`] prints.
pub(super) fn losses_beside_null<'l>(losses: impl IntoIterator<Item = &'l Loss>) -> Vec<String> {
    let messages = losses.into_iter().map(|loss| loss.message.clone());
    messages.filter(|message| !message.starts_with("the template prints `None`")).collect()
}

/// The proof of a chat template, without variables.
pub(super) fn with_proof<T>(chat_template: &str, work: impl FnOnce(Proof<'_>) -> T) -> T {
    let template = ChatTemplate::compile(chat_template).unwrap();
    work(Proof::new(&template, &Default::default()).expect("the chat template shows content"))
}

pub(super) fn with_job<T>(chat_template: &str, work: impl FnOnce(&Job<'_>) -> T) -> T {
    let template = ChatTemplate::compile(chat_template).unwrap();
    let options = Default::default();
    work(&Job::new(Proof::new(&template, &options).expect("the chat template shows content"), &options))
}

pub(super) fn call(name: &str, arguments: &str) -> Call {
    Call { id: String::new(), name: name.to_owned(), arguments: object(arguments) }
}

pub(super) fn calls_answer(calls: &[(&str, &str)]) -> Answer {
    Answer::calls(calls.iter().map(|(name, arguments)| call(name, arguments)).collect())
}

/// A prompt that ends with this header.
pub(super) fn prompt(header: &str) -> Prompt {
    Prompt {
        after: History::User,
        setting: Setting::new(),
        header: header.to_owned(),
        prefill: String::new(),
        before: String::new(),
        header_in_prompt_only: false,
    }
}

/// Bare content up to `<end>`, without reasoning or calls.
pub(super) fn wire() -> WireFormat {
    WireFormat {
        segmentation: crate::wire::marks::Segmentation::Words,
        trailing: Vec::new(),
        request_shape: RequestShape::USUAL,
        prompts: vec![prompt("<bot>")],
        reasoning: None,
        content: Content::default(),
        calls: None,
        message: None,
        end: "<end>".to_owned(),
        stops: vec!["<end>".to_owned()],
        given_stops: Vec::new(),
    }
}

/// Reasoning between these marks, as renders show it.
pub(super) fn reasoning(open: &str, close: &str) -> Reasoning {
    Reasoning { open: open.to_owned(), close: close.to_owned(), ..Reasoning::default() }
}

/// The texts once before, before each, after each, between two, once after.
pub(super) fn cut(texts: [&str; 5]) -> Cut {
    Cut::of(texts)
}

/// Any number of calls of this form.
pub(super) fn calls(texts: [&str; 5], body: Body) -> Calls {
    Calls {
        sections: Vec::new(),
        section_closes: Vec::new(),
        cuts: vec![cut(texts)],
        body,
        several: true,
        end: None,
        request_shape: RequestShape::USUAL,
        setting: Setting::new(),
        ids_hold_names: false,
        margins: (0, 0),
    }
}

/// The wire with calls of this form.
pub(super) fn wire_with(texts: [&str; 5], body: Body) -> WireFormat {
    WireFormat { calls: Some(calls(texts, body)), ..wire() }
}

/// A call that is a JSON object: `{"name": …, "arguments": …}`.
pub(super) fn object_body() -> Body {
    let text = |text: &str| CallPart::Text(text.to_owned());
    Body {
        head: vec![text("{\"name\": \""), CallPart::Name, text("\", \"arguments\": ")],
        arguments: Arguments::Json,
        tail: vec![text("}")],
        object: Some(ObjectBody {
            name: Some(vec!["name".to_owned()]),
            arguments: vec!["arguments".to_owned()],
            id: None,
            keys: vec!["name".to_owned(), "arguments".to_owned()],
            in_array: false,
        }),
        left_out: None,
    }
}

/// A call that is a name, a text and its arguments.
pub(super) fn named_body(between: &str, arguments: Arguments) -> Body {
    let mut head = vec![CallPart::Name];
    head.extend((!between.is_empty()).then(|| CallPart::Text(between.to_owned())));
    Body { head, arguments, tail: Vec::new(), object: None, left_out: None }
}

/// Arguments key by key, of bare text: before a key, between key and value, after a value, between two.
pub(super) fn pairs([open, gap, close, separator]: [&str; 4]) -> Pairs {
    Pairs {
        cut: cut(["", open, close, separator, ""]),
        gap: gap.to_owned(),
        key_again: false,
        braces: None,
        values: Values { strings: Encoding::Bare, python: false, frame: None, typed: None },
        written: Vec::new(),
        forms: Vec::new(),
    }
}

/// The wire of calls as Python writes them: `<calls>[f(a='x', b=1), g()]</calls>`.
pub(super) fn python_list() -> WireFormat {
    let mut keywords = pairs(["", "=", "", ", "]);
    let quote = || "'".to_owned();
    keywords.values = Values {
        strings: Encoding::Quoted { open: quote(), close: quote(), escaped: true },
        python: true,
        ..keywords.values
    };
    let body = named_body("(", Arguments::Pairs(Box::new(keywords)));
    wire_with(["<calls>[", "", ")", ", ", "]</calls>"], body)
}

/// The draft of a wire under the plainest choices.
pub(super) fn draft(wire: &WireFormat) -> Value {
    compile(wire, &Choices::default(), "thinking")
}

/// The calls of a message, as `name{arguments}`.
pub(super) fn said_calls(message: &Value) -> Vec<String> {
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]);
    let said = calls.iter().map(|call| {
        let function = call.get("function").unwrap();
        format!("{}{}", function.get("name").unwrap().as_str().unwrap(), function.get("arguments").unwrap())
    });
    said.collect()
}
