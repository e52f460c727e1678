//! The result of a derivation, and how it is told.

use std::collections::HashSet;

use super::calls::{Calls, Layout, Piece};
use super::capability::{self, Capabilities};
use super::evidence::{self, Evidence};
use super::findings::Findings;
use super::probe::Prober;
use super::proof::Tried;
use super::reasoning::Source;
use super::{Attempt, Explained, Options, Verdict, limits};
use crate::diagnostic::{Diagnostic, Severity, shortened};
use crate::json::{Object, Value};

/// How far a derivation got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Every conversation came back as it went in.
    Proved,
    /// Some did.
    Partial,
    /// The format cannot be written as a response template.
    Inexpressible,
    /// There is no draft.
    Failed,
}

impl Status {
    /// The word of the machine-readable report.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proved => "proved",
            Status::Partial => "partial",
            Status::Inexpressible => "inexpressible",
            Status::Failed => "failed",
        }
    }
}

/// What a derivation came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derivation {
    /// How far it got.
    pub status: Status,
    /// The draft, in the key order a person would write.
    pub response_template: Option<Value>,
    /// What was found, with the evidence for it.
    pub findings: Value,
    /// What the proof came to.
    pub verdict: Verdict,
    /// What the draft makes of the samples.
    pub explained: Explained,
    /// What there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
    story: Option<Story>,
}

/// What the readable report is written from.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub findings: Findings,
    pub evidence: Vec<Evidence>,
    /// The candidates that were refuted before the draft was chosen.
    pub tried: Vec<Tried>,
    pub refused: Vec<String>,
    pub manner: String,
    pub renders: usize,
}

impl Derivation {
    pub(crate) fn failed(diagnostic: Diagnostic) -> Self {
        Self {
            status: Status::Failed,
            response_template: None,
            findings: Value::Object(Object::new()),
            verdict: Verdict::default(),
            explained: Explained::default(),
            diagnostics: vec![diagnostic],
            story: None,
        }
    }

    pub(super) fn story(&self) -> Option<&Story> {
        self.story.as_ref()
    }

    /// The machine-readable report.
    pub fn to_value(&self) -> Value {
        let diagnostics = self.diagnostics.iter().map(diagnostic_value);
        Value::from([
            ("status", self.status.name().into()),
            ("response_template", self.response_template.clone().unwrap_or_default()),
            ("findings", self.findings.clone()),
            ("verification", self.verdict.to_value()),
            ("diagnostics", Value::List(diagnostics.collect())),
        ])
    }
}

/// A diagnostic in the machine-readable report.
pub(super) fn diagnostic_value(diagnostic: &Diagnostic) -> Value {
    Value::from([
        ("id", diagnostic.id.into()),
        ("severity", diagnostic.severity.name().into()),
        ("message", diagnostic.message.as_str().into()),
        ("help", diagnostic.help.as_deref().map_or(Value::Null, Value::from)),
    ])
}

/// One line: how far it got, and what that covers.
pub(super) fn headline(status: Status, verdict: &Verdict) -> String {
    let (passed, cases) = (verdict.passed, verdict.cases);
    let lost = match verdict.lost() {
        0 => String::new(),
        lost => format!("; {lost} lost by the wire format"),
    };
    match status {
        Status::Proved => {
            format!(
                "proved: {}. {passed} of {cases} conversations come back as they went in{lost}",
                verdict.scope.describe()
            )
        }
        Status::Partial => format!("partial: {passed} of {cases} conversations come back as they went in{lost}"),
        Status::Inexpressible => {
            "inexpressible: calls are written in a form no response template was found for".to_owned()
        }
        Status::Failed => "failed: no draft".to_owned(),
    }
}

impl Verdict {
    /// Every failure, loss and unverified claim.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for failure in &self.failures {
            let help = failure.hint().unwrap_or_else(|| format!("the text is {:?}", shortened(&failure.text, 160)));
            diagnostics.push(Diagnostic::new(Severity::Warning, "derive-unproved", failure.describe()).help(help));
        }
        for loss in &self.losses {
            let message = format!("the wire format loses {}", loss.describe());
            let help = format!("the smallest example is {:?}", shortened(&loss.example, 160));
            diagnostics.push(Diagnostic::new(Severity::Note, "derive-loss", message).help(help));
        }
        for claim in &self.unverified {
            let message = format!("not verified: {}", claim.message);
            let note = Diagnostic::new(Severity::Note, "derive-unverified", message);
            diagnostics.push(note.help("check it with recorded outputs: --samples FILE"));
        }
        diagnostics
    }
}

impl Explained {
    /// Every sample that is not explained.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let departures = self.departures.iter().map(|departure| {
            let message =
                format!("{}: not explained from byte {} on: {}", departure.sample, departure.at, departure.why);
            let warning = Diagnostic::new(Severity::Warning, "derive-sample", message);
            match &departure.got {
                Some(got) => warning.help(format!("it was read as {}", shortened(&got.to_string(), 160))),
                None => warning,
            }
        });
        departures.collect()
    }
}

/// Puts everything together.
pub(super) fn report(
    prober: &Prober,
    findings: Findings,
    attempt: Attempt,
    mut tried: Vec<Tried>,
    options: &Options,
) -> Derivation {
    let Attempt { draft, verdict, explained } = attempt;
    tried.retain(|tried| tried.draft != draft);
    let capabilities = capability::find(prober, &findings);
    let evidence = evidence::collect(prober, &findings);
    let mut diagnostics = limits::find(&findings);
    if findings.calls.is_none()
        && findings.shows_calls
        && draft.get("fields").is_some_and(|fields| fields.get("tool_calls").is_none())
    {
        let message = "the chat template renders tool calls in a form no response template was found for";
        diagnostics.push(
            Diagnostic::new(Severity::Warning, "derive-calls-unknown", message)
                .help("the draft reads content and reasoning; calls stay in the content as text"),
        );
    }
    let reads_reasoning = draft
        .get("fields")
        .and_then(Value::as_object)
        .is_some_and(|fields| fields.keys().any(|field| !["content", "tool_calls"].contains(&field.as_str())));
    let knows_reasoning = reads_reasoning || !findings.shows_reasoning;
    if !knows_reasoning {
        let message = "the chat template renders reasoning in a form no response template was found for";
        diagnostics.push(
            Diagnostic::new(Severity::Warning, "derive-reasoning-unknown", message)
                .help("reasoning stays in the content as text, or is lost; write the field by hand, and hold it against real outputs"),
        );
    }
    if let (None, Some(error)) = (&findings.calls, prober.refuses_calls()) {
        let message = format!("the chat template refuses every conversation with a tool call: {error}");
        let note = Diagnostic::new(Severity::Note, "derive-calls-refused", message);
        diagnostics.push(note.help("where the model calls tools, mend the chat template and derive again"));
    }
    let reads_calls = draft.get("fields").is_some_and(|fields| fields.get("tool_calls").is_some());
    // A proof that never saw a call says nothing about calls.
    let saw_calls = findings.calls.is_none() || !verdict.scope.not_shown.contains(&"calls");
    // Where no render shows it, another note says so.
    let is_rendered = findings.reasoning.as_ref().is_some_and(|reasoning| reasoning.source == Source::Rendered);
    let saw_reasoning = !is_rendered || !verdict.scope.not_shown.contains(&"reasoning");
    let mut unseen = |what: &str, severity: Severity| {
        let message = format!("no conversation with {what} could be cut out of a render and parsed back");
        let diagnostic = Diagnostic::new(severity, "derive-unseen", message);
        diagnostics.push(diagnostic.help("hold the draft against real outputs with --samples"));
    };
    if !saw_calls {
        unseen("calls", Severity::Warning);
    }
    if !saw_reasoning {
        unseen("reasoning", Severity::Note);
    }
    let status = match &findings.calls {
        None if findings.shows_calls && !reads_calls => Status::Inexpressible,
        _ if verdict.holds() && explained.departures.is_empty() && saw_calls && knows_reasoning => Status::Proved,
        _ => Status::Partial,
    };
    diagnostics.extend(verdict.diagnostics());
    diagnostics.extend(explained.diagnostics());
    let marks = special_marks(&draft, options);
    let findings_value = describe(&findings, &capabilities, &evidence, marks);
    Derivation {
        status,
        response_template: Some(draft),
        findings: findings_value,
        verdict,
        explained,
        diagnostics,
        story: Some(Story {
            findings,
            evidence,
            tried,
            refused: prober.refused(),
            manner: prober.manner.describe(),
            renders: prober.renders(),
        }),
    }
}

/// Literal marks of the draft that a server would leave out of the text, were it to decode without special tokens.
fn special_marks(draft: &Value, options: &Options) -> Vec<String> {
    let mut known: Vec<&str> = options.special_tokens.iter().map(String::as_str).collect();
    known.extend(
        options.variables.iter().filter(|(name, _)| name.ends_with("_token")).filter_map(|(_, value)| value.as_str()),
    );
    let mut text = String::new();
    strings(draft, &mut text);
    let plain = text.replace('\\', "");
    let mut seen = HashSet::new();
    known.retain(|token| !token.is_empty() && plain.contains(token) && seen.insert(*token));
    known.into_iter().map(str::to_owned).collect()
}

fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::List(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(entries) => entries.values().for_each(|value| strings(value, out)),
        _ => {}
    }
}

fn describe(
    findings: &Findings,
    capabilities: &Capabilities,
    evidence: &[Evidence],
    special_marks: Vec<String>,
) -> Value {
    let proof = |finding: &str| -> Value {
        evidence
            .iter()
            .filter(|evidence| evidence.finding == finding)
            .map(Evidence::to_value)
            .collect::<Vec<_>>()
            .into()
    };
    let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
    let headers = findings
        .turn
        .headers
        .iter()
        .map(|header| Value::from([("after", header.after.into()), ("text", header.text.as_str().into())]));
    let turn = Value::from([
        ("headers", Value::List(headers.collect())),
        ("stops", texts(&findings.stops)),
        ("evidence", proof("turn")),
    ]);
    let prompts = findings.turn.prompts.iter().map(|prompt| {
        Value::from([
            ("after", prompt.after.into()),
            ("setting", Value::Object(prompt.setting.clone())),
            ("writes", prompt.prefill.as_str().into()),
        ])
    });
    let prompts = Value::from([("prompts", Value::List(prompts.collect())), ("evidence", proof("generation_prompts"))]);
    let reasoning = findings.reasoning.as_ref().map_or(Value::Null, |reasoning| {
        Value::from([
            ("open", reasoning.open.as_str().into()),
            ("close", reasoning.close.as_str().into()),
            ("field", findings.reasoning_field.as_str().into()),
            ("keys", texts(&reasoning.keys)),
            ("source", reasoning.source.name().into()),
            ("evidence", proof("reasoning")),
        ])
    });
    let content = Value::from([
        ("open", texts(&findings.content.opens)),
        ("close", texts(&findings.content.closes)),
        ("evidence", proof("content")),
    ]);
    let (tools, arguments) = match &findings.calls {
        Some(calls) => (tools(calls, proof("tools")), arguments(calls, proof("arguments"))),
        None => (Value::Null, Value::Null),
    };
    Value::from([
        ("turn", turn),
        ("generation_prompts", prompts),
        ("reasoning", reasoning),
        ("content", content),
        ("tools", tools),
        ("arguments", arguments),
        ("capabilities", capabilities.to_value()),
        ("special_marks", texts(&special_marks)),
    ])
}

fn tools(calls: &Calls, evidence: Value) -> Value {
    let text = |text: &str| Value::from(text);
    let path = |path: &[String]| Value::from(path.join("."));
    let mut entries = Object::new();
    let mut put = |key: &str, value: Value| entries.insert(key.to_owned(), value);
    put("layout", calls.layout.name().into());
    put("section_open", text(calls.section_open.trim()));
    put("open", text(calls.open.trim()));
    put("close", text(calls.close.trim()));
    put("separator", text(&calls.separator));
    put("section_close", text(calls.section_close.trim()));
    put("parallel", calls.parallel.into());
    match &calls.layout {
        Layout::Object(paths) | Layout::Array(paths) => {
            put("name", path(&paths.name));
            put("arguments", path(&paths.arguments));
            put("id", paths.id.as_deref().map_or(Value::Null, path));
        }
        Layout::Marked { head, .. } => {
            put("head", Value::List(head.iter().map(piece).collect()));
        }
        Layout::Keyed => {}
    }
    put("evidence", evidence);
    Value::Object(entries)
}

fn piece(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => text.as_str().into(),
        Piece::Name => "{name}".into(),
        Piece::NameAgain => "{name again}".into(),
        Piece::Id => "{id}".into(),
        Piece::NamedId => "{id with name}".into(),
        Piece::Index => "{number}".into(),
    }
}

fn arguments(calls: &Calls, evidence: Value) -> Value {
    let mut entries = match &calls.layout {
        Layout::Marked { arguments, .. } => arguments.describe(),
        _ => Object::from([("form".to_owned(), "json".into())]),
    };
    entries.insert("evidence".to_owned(), evidence);
    Value::Object(entries)
}
