//! The proof: conversations rendered, their last answer cut out and parsed back.

use std::collections::HashSet;
use std::sync::Arc;

use super::calls::{Layout, Piece};
use super::conversation::{Answer, Message};
use super::findings::Findings;
use super::probe::{Prober, Setting};
use super::python;
use super::reasoning::{Reasoning, Source};
use super::sample::{self, Sample};
use crate::json::{Object, Value};
use crate::parser::{Finished, Options, Parser, Tools};
use crate::template::Template;

/// What the proof came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Proof {
    pub cases: usize,
    pub passed: usize,
    /// How many of the cases have calls, and how many have reasoning.
    pub with_calls: usize,
    pub with_reasoning: usize,
    /// The failures, the shortest text of each kind.
    pub failures: Vec<Failure>,
    /// What the wire itself changes, each with the text that shows it.
    pub losses: Vec<(Loss, String)>,
}

/// A change that the chat template makes to an argument, which no parser can undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// It is spelled as Python does, not as JSON.
    Python,
    /// Its quotes and line breaks are escaped in a way that only JSON strings undo.
    Escapes,
}

/// A conversation that does not come back as it went in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    /// What was said, and where.
    pub case: String,
    pub setting: Setting,
    /// What came back differently.
    pub what: String,
    pub prefix: String,
    pub text: String,
    pub expected: Value,
    pub got: Value,
}

/// One turn to parse back.
struct Case {
    name: String,
    setting: Setting,
    prefix: String,
    text: String,
    expected: Answer,
    /// Whether the template writes ids of its own, so that any will do.
    any_id: bool,
}

impl Proof {
    /// Whether every case came back.
    pub fn holds(&self) -> bool {
        self.cases > 0 && self.passed == self.cases
    }
}

/// Renders and parses back every sample conversation.
pub(super) fn verify(prober: &Prober, findings: &Findings, template: &Template) -> Proof {
    let Ok(tools) = Tools::new(&sample::tools()).map(Arc::new) else { return Proof::default() };
    let mut proof = Proof::default();
    for case in cases(prober, findings, template) {
        proof.with_calls += usize::from(!case.expected.calls.is_empty());
        proof.with_reasoning += usize::from(case.expected.reasoning.is_some());
        match judge(template, &tools, findings, &case) {
            None => {
                proof.cases += 1;
                proof.passed += 1;
            }
            Some(failure) => match loss(&case, &failure.got) {
                Some(loss) => proof.lose(loss, &case.text),
                None => {
                    proof.cases += 1;
                    proof.note(failure);
                }
            },
        }
    }
    proof.failures.sort_by_key(|failure| failure.text.len());
    proof
}

impl Proof {
    fn lose(&mut self, loss: Loss, text: &str) {
        match self.losses.iter_mut().find(|(known, _)| *known == loss) {
            Some((_, known)) if known.len() <= text.len() => {}
            Some((_, known)) => *known = text.to_owned(),
            None => self.losses.push((loss, text.to_owned())),
        }
    }

    fn note(&mut self, failure: Failure) {
        match self.failures.iter_mut().find(|known| known.what == failure.what) {
            Some(known) if known.text.len() <= failure.text.len() => {}
            Some(known) => *known = failure,
            None => self.failures.push(failure),
        }
    }
}

fn cases(prober: &Prober, findings: &Findings, template: &Template) -> Vec<Case> {
    let mut samples = sample::answers(&marks(findings, template));
    let mut cases = Vec::new();
    let mut prompts: Vec<(usize, String)> = Vec::new();
    for (h, (after, history)) in sample::histories().iter().enumerate() {
        for prompt in &findings.settings {
            // Settings that change nothing here prove nothing more.
            let Some(text) = prober.render(history, prompt, true) else { continue };
            if prompts.contains(&(h, text.clone())) {
                continue;
            }
            prompts.push((h, text.clone()));
            for sample in &mut samples {
                if findings.calls.as_ref().is_some_and(|calls| calls.ids_hold_names) {
                    sample.name_ids();
                }
                // What a value looks like depends neither on the history nor on the setting.
                if prompts.len() > 1 && sample.is_about_a_value {
                    continue;
                }
                cases.extend(case(prober, findings, after, history, prompt, &text, sample));
            }
        }
    }
    cases
}

/// What opens reasoning, and the texts of the draft's literal delimiters.
fn marks(findings: &Findings, template: &Template) -> Vec<String> {
    let open = findings.reasoning.iter().map(|reasoning| reasoning.open.clone());
    let fields = template.fields().iter();
    let delimiters = fields.flat_map(|field| field.open.iter().chain(&field.close));
    let literals = delimiters.filter_map(|delimiter| delimiter.literals()).flatten().cloned();
    let mut marks: Vec<String> = open.chain(literals).collect();
    let mut known = HashSet::new();
    marks.retain(|mark| known.insert(mark.clone()));
    marks
}

fn case(
    prober: &Prober,
    findings: &Findings,
    after: &str,
    history: &[Message],
    setting: &Setting,
    prompt: &str,
    sample: &Sample,
) -> Option<Case> {
    if !sample.answer.calls.is_empty() && findings.calls.is_none() {
        return None;
    }
    if sample.answer.calls.len() > 1 && findings.calls.as_ref().is_some_and(|calls| !calls.parallel) {
        return None;
    }
    if sample.answer.reasoning.is_some() && findings.reasoning.is_none() {
        return None;
    }
    let mut messages = history.to_vec();
    messages.push(Message::Assistant(sample.answer.clone()));
    let full = prober.render(&messages, setting, false)?;
    let headers = findings.turn.headers.iter().map(|header| header.text.as_str());
    let mut ends: Vec<usize> = headers.filter_map(|text| Some(prompt.rfind(text)? + text.len())).collect();
    // A prompt without the header, under some odd setting, is none to answer.
    let said = history.last().map_or("", Message::text);
    ends.retain(|end| prompt.rfind(said).is_none_or(|at| at < *end));
    ends.sort_unstable_by(|a, b| b.cmp(a));
    let mut end = *ends.first()?;
    let (mut prefix, mut text) = match full.strip_prefix(prompt) {
        Some(rest) => (prompt.to_owned(), rest.to_owned()),
        // The longest header that this turn has too; where the history itself differs, the render's own prompt.
        None => {
            let is_shared = |end: &&usize| prompt.get(..**end).is_some_and(|prefix| full.starts_with(prefix));
            let shared = ends.iter().find(is_shared).copied();
            end = shared.unwrap_or(end);
            let (prefix, text) = full.split_at_checked(shared.or_else(|| own_header(&full, said, findings))?)?;
            (prefix.to_owned(), text.to_owned())
        }
    };
    text.truncate(own_turn(&text, &sample.answer, findings.turn.header().trim()));
    let mut expected = Answer::default();
    let shown = |part: &str| text.contains(part.trim());
    expected.content = sample.answer.content.clone().filter(|content| shown(content));
    expected.reasoning = sample.answer.reasoning.clone().filter(|reasoning| shown(reasoning));
    expected.calls = sample.answer.calls.iter().filter(|call| shown(&call.name)).cloned().collect();
    let mut name = format!("{} {after}", sample.name);
    if let (Some(reasoning), Some(thought), None) = (&findings.reasoning, &sample.answer.reasoning, &expected.reasoning)
    {
        // The template never renders it, but the prompt opens it: write it as the model would.
        if reasoning.source == Source::Rendered || !opens(prompt.get(end..)?, reasoning) {
            return None;
        }
        if text.trim_start().starts_with(&reasoning.open) {
            return None;
        }
        prefix = prompt.to_owned();
        text = format!("{thought}\n{}\n\n{text}", reasoning.close);
        expected.reasoning = Some(thought.clone());
        name.push_str(", as the model would write it");
    } else if let Some(reasoning) = &findings.reasoning
        && opens(prefix.get(end..)?, reasoning)
        && !text.contains(&reasoning.close)
    {
        // A template that opens reasoning and never closes it: the model does.
        text = format!("{}\n\n{text}", reasoning.close);
    }
    if expected.content.is_none() && expected.reasoning.is_none() && expected.calls.is_empty() {
        return None;
    }
    let mut any_id = false;
    for call in &mut expected.calls {
        if !text.contains(&call.id) {
            any_id = true;
            call.id.clear();
        }
    }
    Some(Case { name, setting: setting.clone(), prefix, text, expected, any_id })
}

/// Where the header ends that stands behind what was said last.
fn own_header(full: &str, said: &str, findings: &Findings) -> Option<usize> {
    let from = full.rfind(said.trim()).filter(|_| !said.trim().is_empty())? + said.trim().len();
    let headers = findings.turn.headers.iter().map(|header| header.text.as_str());
    let longest =
        headers.filter(|text| full.get(from..).is_some_and(|rest| rest.contains(text))).max_by_key(|t| t.len())?;
    Some(from + full.get(from..)?.find(longest)? + longest.len())
}

/// Where the answer's own turn ends: some templates open the next one unasked.
fn own_turn(text: &str, answer: &Answer, header: &str) -> usize {
    let parts = answer.content.iter().map(|content| content.trim());
    let parts = parts.chain(answer.calls.iter().map(|call| call.name.as_str()));
    let last = parts.filter_map(|part| text.rfind(part).map(|at| at + part.len())).max().unwrap_or(text.len());
    let next = text.get(last..).and_then(|rest| rest.find(header)).filter(|_| !header.is_empty());
    next.map_or(text.len(), |at| last + at)
}

/// Whether what a prompt writes leaves reasoning open.
fn opens(prefill: &str, reasoning: &Reasoning) -> bool {
    prefill
        .rfind(&reasoning.open)
        .is_some_and(|at| !prefill.get(at..).is_some_and(|rest| rest.contains(&reasoning.close)))
}

fn judge(template: &Template, tools: &Arc<Tools>, findings: &Findings, case: &Case) -> Option<Failure> {
    let fail = |what: String, text: &str, got: Value| {
        Some(Failure {
            case: case.name.clone(),
            setting: case.setting.clone(),
            what,
            prefix: case.prefix.clone(),
            text: text.to_owned(),
            expected: wanted(&case.expected, findings),
            got,
        })
    };
    // With the stop token and without it.
    let bare = findings.stops.iter().find_map(|stop| case.text.trim_end().strip_suffix(stop.as_str()));
    for text in [Some(case.text.as_str()), bare].into_iter().flatten() {
        let whole = match run(template, &case.prefix, [text], tools) {
            Ok(finished) => finished,
            Err(error) => return fail("the parser gave up".to_owned(), text, error.into()),
        };
        if let Some(what) = difference(&case.expected, &whole.message, findings, case.any_id) {
            return fail(what, text, Value::Object(whole.message));
        }
        let single = text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap_or(""));
        match run(template, &case.prefix, single, tools) {
            Ok(finished) if finished.message == whole.message => {}
            Ok(finished) => {
                return fail(
                    "the answer depends on how the text is cut".to_owned(),
                    text,
                    Value::Object(finished.message),
                );
            }
            Err(error) => return fail("the parser gave up".to_owned(), text, error.into()),
        }
    }
    None
}

fn run<'t>(
    template: &Template,
    prefix: &str,
    chunks: impl IntoIterator<Item = &'t str>,
    tools: &Arc<Tools>,
) -> Result<Finished, String> {
    let options = Options { tools: Some(tools.clone()), ..Options::default() };
    let mut parser = Parser::new(template, prefix, options).map_err(|error| error.to_string())?;
    for chunk in chunks {
        parser.feed_into(chunk, &mut |_| {}).map_err(|error| error.to_string())?;
    }
    parser.finish().map_err(|error| error.to_string())
}

/// What the wire did to a call's arguments, where that explains the difference.
fn loss(case: &Case, got: &Value) -> Option<Loss> {
    let [call] = case.expected.calls.as_slice() else { return None };
    let calls = got.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]);
    let arguments = calls.first().and_then(|call| call.get("function")).and_then(|function| function.get("arguments"));
    call.arguments.iter().find_map(|(key, wanted)| {
        let spelled = python::spelling(wanted);
        let is_python = spelled != wanted.to_string() && !matches!(wanted, Value::String(_));
        match arguments.and_then(|arguments| arguments.get(key)) {
            Some(Value::String(text)) if is_python && *text == spelled => Some(Loss::Python),
            Some(Value::String(text)) => {
                let escaped = |quote| python::quoted(wanted.as_str()?, quote).get(1..).map(str::to_owned);
                let escaped =
                    ['\'', '"'].into_iter().filter_map(escaped).any(|form| form.get(..form.len() - 1) == Some(text));
                (escaped && wanted.as_str() != Some(text)).then_some(Loss::Escapes)
            }
            // The value makes the whole region no JSON.
            None if calls.is_empty() && is_python && case.text.contains(&spelled) => Some(Loss::Python),
            _ => None,
        }
    })
}

/// The message a perfect parser gives.
fn wanted(answer: &Answer, findings: &Findings) -> Value {
    let mut message = Object::new();
    message.insert("role".to_owned(), "assistant".into());
    if let Some(reasoning) = &answer.reasoning {
        message.insert(findings.reasoning_field.clone(), reasoning.as_str().into());
    }
    if let Some(content) = &answer.content {
        message.insert("content".to_owned(), content.as_str().into());
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            let mut entries = Object::new();
            entries.insert("type".to_owned(), "function".into());
            if !call.id.is_empty() {
                entries.insert("id".to_owned(), call.id.as_str().into());
            }
            let arguments = Value::Object(call.arguments.clone());
            let function = Value::from([("name", call.name.as_str().into()), ("arguments", arguments)]);
            entries.insert("function".to_owned(), function);
            Value::Object(entries)
        });
        message.insert("tool_calls".to_owned(), calls.collect::<Vec<_>>().into());
    }
    Value::Object(message)
}

/// What differs between the answer that went in and the message that came back.
fn difference(answer: &Answer, message: &Object, findings: &Findings, any_id: bool) -> Option<String> {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or("").trim().to_owned();
    if text("content") != answer.content.as_deref().unwrap_or("").trim() {
        return Some("content".to_owned());
    }
    if findings.reasoning.is_some()
        && text(&findings.reasoning_field) != answer.reasoning.as_deref().unwrap_or("").trim()
    {
        return Some("reasoning".to_owned());
    }
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or(&[]);
    if calls.len() != answer.calls.len() {
        return Some("number of calls".to_owned());
    }
    for (got, call) in calls.iter().zip(&answer.calls) {
        let function = got.get("function");
        if function.and_then(|f| f.get("name")).and_then(Value::as_str) != Some(&call.name) {
            return Some("name of a call".to_owned());
        }
        let arguments = function.and_then(|f| f.get("arguments")).and_then(Value::as_object);
        if !arguments.is_some_and(|arguments| super::scan::same_entries(arguments, &call.arguments)) {
            return Some("arguments of a call".to_owned());
        }
        let id = got.get("id").and_then(Value::as_str).unwrap_or("");
        if id != call.id && !(any_id && makes_ids(findings)) {
            return Some("id of a call".to_owned());
        }
    }
    None
}

/// Whether calls carry ids that are the template's own.
fn makes_ids(findings: &Findings) -> bool {
    findings.calls.as_ref().is_some_and(|calls| match &calls.layout {
        Layout::Object(paths) | Layout::Array(paths) => paths.id.is_some(),
        Layout::Marked { head, .. } => head.contains(&Piece::NamedId) || head.contains(&Piece::Id),
        Layout::Keyed => false,
    })
}
