//! The findings about a chat template, for programs and for reports.

use super::compile::{Choices, shortest_ends};
use super::evidence::Evidence;
use crate::wire::structure::{Arguments, CallPart, Calls, Encoding, FoundBy, History, Values, WireFormat};
use backchat_chat::ChatTemplate;
use backchat_core::distinct;
use backchat_core::json::{Object, Value, texts};
use backchat_probe::doctor;
use backchat_probe::probe::steady::readable;

/// The findings of a derivation about the chat template.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    found: Option<Box<ReportData>>,
}

/// The data of the readable report.
#[derive(Clone, Debug)]
pub(super) struct ReportData {
    pub wire: WireFormat,
    pub reasoning_field: String,
    /// Where the stop token comes from.
    pub stop_origin: String,
    pub evidence: Vec<Evidence>,
    /// Special tokens in the draft, which a server that decodes without them leaves out of the text.
    pub special_marks: Vec<String>,
    /// The chat template, and the options to examine it with.
    pub source: String,
    /// `None` if the examination ended early: another one would, too.
    pub examined: Option<doctor::Options>,
    pub request_shape: String,
    pub renders: usize,
    pub refused: Vec<String>,
}

/// The pairs of renders that support the findings.
pub fn evidence(findings: &Findings) -> &[Evidence] {
    findings.found().map_or(&[], |found| &found.evidence)
}

impl Findings {
    pub(super) fn new(found: ReportData) -> Self {
        Self { found: Some(Box::new(found)) }
    }

    pub(super) fn found(&self) -> Option<&ReportData> {
        self.found.as_deref()
    }

    /// The machine-readable findings. Also examines which input the template takes, drops and refuses.
    pub fn to_value(&self) -> Value {
        self.found().map_or_else(|| Value::Object(Object::new()), |found| named(found.to_value()))
    }
}

/// The headers of the model's turn, each once.
pub(super) fn headers(wire: &WireFormat) -> Vec<&str> {
    shortest_ends(&distinct(wire.prompts.iter().map(|prompt| prompt.header.trim())))
}

impl History {
    pub(super) fn name(self) -> &'static str {
        match self {
            History::User => "a user message",
            History::SystemAndUser => "a system and a user message",
            History::EarlierTurns => "earlier turns",
            History::ToolResult => "a tool result",
        }
    }
}

impl FoundBy {
    pub(super) fn name(self) -> &'static str {
        match self {
            FoundBy::Rendered => "rendered",
            FoundBy::OpenedByPrompt => "opened by the prompt",
            FoundBy::Removed => "removed from content",
            FoundBy::Guessed => "opened by the prompt, its close guessed",
            FoundBy::Asked => "asked for by the prompt",
        }
    }
}

impl Calls {
    /// How calls are laid out, in words.
    pub(super) fn layout(&self) -> &'static str {
        match &self.body.object {
            Some(object) if object.name.is_none() => "one JSON object per call whose key is the function name",
            Some(object) if object.in_array => "one JSON array of calls",
            Some(_) => "one JSON object per call",
            None => "function name between markers",
        }
    }
}

impl ReportData {
    /// The input that the chat template accepts, drops and refuses.
    fn capabilities(&self) -> Value {
        let options = self.examined.as_ref();
        let template = options.and_then(|options| Some((ChatTemplate::compile(&self.source).ok()?, options)));
        template.map_or(Value::Null, |(template, options)| doctor::examine(&template, options).capabilities())
    }

    fn to_value(&self) -> Value {
        let wire = &self.wire;
        let proof = |finding: &str| -> Value {
            let known = self.evidence.iter().filter(|evidence| evidence.finding == finding);
            known.map(Evidence::to_value).collect::<Vec<_>>().into()
        };
        let headers = wire.prompts.iter().filter(|prompt| prompt.setting.is_empty()).map(|prompt| {
            Value::from([("after", prompt.after.name().into()), ("text", prompt.header.as_str().into())])
        });
        let turn = Value::from([
            ("headers", Value::List(headers.collect())),
            ("stops", texts(&wire.stops)),
            ("evidence", proof("turn")),
        ]);
        let prompts = wire.prompts.iter().map(|prompt| {
            Value::from([
                ("after", prompt.after.name().into()),
                ("setting", Value::Object(prompt.setting.clone())),
                ("writes", prompt.prefill.as_str().into()),
            ])
        });
        let prompts =
            Value::from([("prompts", Value::List(prompts.collect())), ("evidence", proof("generation_prompts"))]);
        let reasoning = wire.reasoning.as_ref().map(|reasoning| {
            let keys: Vec<&str> = reasoning.keys().collect();
            Value::from([
                ("open", reasoning.open.trim().into()),
                ("close", reasoning.close.trim().into()),
                ("field", self.reasoning_field.as_str().into()),
                ("keys", texts(&keys)),
                ("source", reasoning.source.name().into()),
                ("evidence", proof("reasoning")),
            ])
        });
        let content = Value::from([
            ("open", listed(&wire.content.open)),
            ("close", listed(&wire.content.close)),
            ("evidence", proof("content")),
        ]);
        let (tools, arguments) = match &wire.calls {
            Some(calls) => (tools(calls, proof("tools")), arguments(calls, proof("arguments"))),
            None => (Value::Null, Value::Null),
        };
        Value::from([
            ("turn", turn),
            ("generation_prompts", prompts),
            ("reasoning", reasoning.into()),
            ("content", content),
            ("tools", tools),
            ("arguments", arguments),
            ("capabilities", self.capabilities()),
            ("special_marks", texts(&self.special_marks)),
        ])
    }
}

/// The findings with varying texts named.
fn named(value: Value) -> Value {
    match value {
        Value::String(text) => readable(&text).into(),
        Value::List(values) => Value::List(values.into_iter().map(named).collect()),
        Value::Object(entries) => Value::Object(entries.into_iter().map(|(key, value)| (key, named(value))).collect()),
        other => other,
    }
}

/// A list with the trimmed text; an empty list if it is blank.
fn listed(text: &str) -> Value {
    texts(Some(text.trim()).filter(|text| !text.is_empty()).as_slice())
}

fn tools(calls: &Calls, evidence: Value) -> Value {
    let path = |path: &[String]| Value::from(path.join("."));
    let cut = Choices::default().cut(calls);
    let mut entries = Object::from([
        ("layout".to_owned(), calls.layout().into()),
        ("section_open".to_owned(), cut.section.trim().into()),
        ("open".to_owned(), cut.open.trim().into()),
        ("close".to_owned(), cut.close.trim().into()),
        ("separator".to_owned(), cut.separator.as_str().into()),
        ("section_close".to_owned(), cut.section_close.trim().into()),
        ("parallel".to_owned(), calls.several.into()),
    ]);
    match &calls.body.object {
        Some(object) => {
            entries.insert("name", object.name.as_deref().map(path).into());
            entries.insert("arguments", path(&object.arguments));
            entries.insert("id", object.id.as_deref().map(path).into());
        }
        None => {
            entries.insert("head", Value::List(calls.body.head.iter().map(piece).collect()));
        }
    }
    entries.insert("evidence", evidence);
    Value::Object(entries)
}

fn piece(piece: &CallPart) -> Value {
    match piece {
        CallPart::Text(text) => text.as_str().into(),
        CallPart::Name => "{name}".into(),
        CallPart::NameAgain => "{name again}".into(),
        CallPart::Id => "{id}".into(),
        CallPart::NamedId => "{id with name}".into(),
        CallPart::Counter(_) => "{number}".into(),
    }
}

fn arguments(calls: &Calls, evidence: Value) -> Value {
    let mut entries = Object::new();
    let mut put = |key: &str, value: Value| entries.insert(key, value);
    match &calls.body.arguments {
        Arguments::Json => drop(put("form", "json".into())),
        Arguments::JsonText => drop(put("form", "json text".into())),
        Arguments::Python => drop(put("form", "python".into())),
        Arguments::Dialect { unquoted_keys, quotes, null } => {
            put("form", "json dialect".into());
            put("unquoted_keys", (*unquoted_keys).into());
            let quotes = quotes.as_ref().map(|(open, close)| texts(&[open, close]));
            put("quotes", quotes.into());
            if let Some(null) = null {
                put("null", null.as_str().into());
            }
        }
        Arguments::Pairs(pairs) => {
            put("form", if pairs.cut.close.trim().is_empty() { "keywords".into() } else { "marks".into() });
            put("before_key", pairs.cut.open.as_str().into());
            put("before_value", pairs.gap.as_str().into());
            put("after_value", pairs.cut.close.replace(crate::wire::structure::KEY_AGAIN, "{key}").as_str().into());
            put("strings", spelled(&pairs.values).into());
            let written = pairs.written.iter().map(|(kind, text)| ((*kind).to_owned(), text.as_str().into()));
            put("written", Value::Object(written.collect()));
        }
    }
    put("evidence", evidence);
    Value::Object(entries)
}

/// How strings are spelled, in words.
fn spelled(values: &Values) -> String {
    match (&values.strings, &values.typed) {
        (_, Some(typed)) => format!("marked {}", typed.string),
        (Encoding::Bare, None) => "bare text, like every value".to_owned(),
        (Encoding::Json, None) => "JSON strings".to_owned(),
        (Encoding::Quoted { open, escaped: true, .. }, None) => format!("between {open}, escaped as Python does"),
        (Encoding::Quoted { open, escaped: false, .. }, None) => format!("between {open}, not escaped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{CHAT, named_body, object_body, pairs, prompt, value, wire};
    use crate::derive::{Options, derive};
    use crate::wire::structure::Typed;

    #[test]
    fn the_findings_name_the_marks_of_every_part() {
        let findings = derive(CHAT, &Options::default()).findings;
        let found = findings.to_value();
        let reasoning = ["open", "close"].map(|key| found["reasoning"][key].as_str().map(str::trim));
        assert_eq!(reasoning, [Some("<weigh>"), Some("</weigh>")]);
        assert_eq!(found["turn"]["stops"], value("[\"<end>\"]"));
        let tools = found.get("tools").unwrap();
        for (key, json) in [
            ("layout", "\"one JSON object per call\""),
            ("open", "\"<call>\""),
            ("close", "\"</call>\""),
            ("parallel", "true"),
            ("name", "\"name\""),
            ("id", "null"),
        ] {
            assert_eq!(tools.get(key), Some(&value(json)), "{key}");
        }
        assert_eq!(found.get("reasoning").unwrap().get("source"), Some(&"rendered".into()));
        let evidence = evidence(&findings).iter().map(|evidence| evidence.finding).collect::<Vec<_>>();
        assert!(
            ["turn", "content", "reasoning", "tools", "arguments"].iter().all(|finding| evidence.contains(finding))
        );
    }

    #[test]
    fn a_failed_derivation_has_no_findings() {
        let none = Findings::default();
        assert_eq!(none.to_value(), value("{}"));
        assert!(evidence(&none).is_empty());
    }

    #[test]
    fn headers_are_listed_once() {
        let prompts = ["<a>\n", "<b>", "\n<a>", "<tools>f</tools><b>", "<b><c>"].map(prompt);
        let wire = WireFormat { prompts: prompts.to_vec(), ..wire() };
        assert_eq!(headers(&wire), ["<a>", "<b>", "<b><c>"]);
    }

    #[test]
    fn each_layout_of_calls_has_a_description() {
        let layout = |body| crate::derive::by_hand::calls([""; 5], body).layout();
        let object = |change: fn(&mut crate::wire::structure::ObjectBody)| {
            let mut body = object_body();
            change(body.object.as_mut().unwrap());
            layout(body)
        };
        assert_eq!(layout(object_body()), "one JSON object per call");
        assert_eq!(object(|object| object.in_array = true), "one JSON array of calls");
        assert_eq!(object(|object| object.name = None), "one JSON object per call whose key is the function name");
        assert_eq!(layout(named_body("", Arguments::Json)), "function name between markers");
    }

    #[test]
    fn the_head_of_a_named_call_lists_its_parts() {
        let body = named_body(">", Arguments::Python);
        let calls = crate::derive::by_hand::calls(["<calls>", "<f=", "</f>", "\n", "</calls>"], body);
        let found = tools(&calls, Value::Null);
        assert_eq!(found.get("head"), Some(&value(r#"["{name}", ">"]"#)));
        assert_eq!(found.get("section_open"), Some(&"<calls>".into()));
        assert_eq!(found.get("separator"), Some(&"\n".into()), "with its white space");
        assert_eq!(arguments(&calls, Value::Null).get("form"), Some(&"python".into()));
    }

    #[test]
    fn arguments_are_named_by_their_form() {
        let form = |arguments| {
            let calls = crate::derive::by_hand::calls([""; 5], named_body("", arguments));
            super::arguments(&calls, Value::Null).to_string()
        };
        let dialect = |quotes: Option<(&str, &str)>| Arguments::Dialect {
            unquoted_keys: true,
            quotes: quotes.map(|(open, close)| (open.to_owned(), close.to_owned())),
            null: quotes.map(|_| "None".to_owned()),
        };
        assert_eq!(form(Arguments::Json), r#"{"form": "json", "evidence": null}"#);
        assert_eq!(
            form(dialect(None)),
            r#"{"form": "json dialect", "unquoted_keys": true, "quotes": null, "evidence": null}"#
        );
        assert!(form(dialect(Some(("'", "'")))).contains(r#""quotes": ["'", "'"], "null": "None""#));
        let keyed = |close: &str| form(Arguments::Pairs(Box::new(pairs(["<", ">", close, ""]))));
        assert!(
            keyed("</>")
                .starts_with(r#"{"form": "marks", "before_key": "<", "before_value": ">", "after_value": "</>""#)
        );
        assert!(keyed("").starts_with(r#"{"form": "keywords""#));
        assert!(keyed(&format!("</{}>", crate::wire::structure::KEY_AGAIN)).contains(r#""after_value": "</{key}>""#));
    }

    #[test]
    fn strings_are_spelled_in_words() {
        let plain = pairs([""; 4]).values;
        let quoted = |escaped| Encoding::Quoted { open: "'".to_owned(), close: "'".to_owned(), escaped };
        for (strings, words) in [
            (Encoding::Bare, "bare text, like every value"),
            (Encoding::Json, "JSON strings"),
            (quoted(true), "between ', escaped as Python does"),
            (quoted(false), "between ', not escaped"),
        ] {
            assert_eq!(spelled(&Values { strings, ..plain.clone() }), words);
        }
        let typed =
            Typed { prefix: ":".to_owned(), string: "str".to_owned(), suffix: "=".to_owned(), has_space: false };
        assert_eq!(spelled(&Values { typed: Some(typed), ..plain }), "marked str");
    }
}
