//! Outputs that deviate in a way that policies of recovery are for, made of a turn that conforms.

use super::case::Case;
use super::judge::Judge;
use crate::wire::conversation::Answer;
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Policies, RecoveryPolicy};

/// A turn that deviates, and what it still means.
pub(super) struct Deviant {
    /// The policies that read it.
    pub policies: Policies,
    pub text: String,
    pub expected: Answer,
}

/// The regions of a turn.
pub(super) struct Regions<'c> {
    text: &'c str,
    /// The length of the turn without its stop token.
    unstopped: usize,
    calls: Vec<Region>,
    reasoning: Option<Region>,
    content: Option<Region>,
    /// A closing marker of calls, as a turn has it.
    call_closer: Option<String>,
}

/// Bytes of the turn.
#[derive(Clone)]
struct Region {
    open: (usize, usize),
    body: (usize, usize),
    close: (usize, usize),
}

impl<'c> Regions<'c> {
    /// The regions of a turn that a template finds.
    pub fn read(judge: &Judge<'_, '_>, case: &'c Case) -> Option<Self> {
        let (_, events, offset) = judge.read(case, &case.text).ok()?;
        let unstopped = case.unstopped.as_ref().map_or(case.text.len(), String::len);
        let (calls, reasoning, content, call_closer) = (Vec::new(), None, None, None);
        let mut regions = Self { text: &case.text, unstopped, calls, reasoning, content, call_closer };
        let mut opened = (0, 0);
        let place = |place: usize| place.saturating_sub(offset);
        for event in events {
            match event {
                Event::Open { span, .. } => opened = (place(span.start), place(span.end)),
                Event::Close { field, body, span, .. } => {
                    let region = Region {
                        open: opened,
                        body: (place(body.start), place(body.end)),
                        close: (place(span.start), place(span.end)),
                    };
                    match &*field {
                        "tool_calls" => regions.calls.push(region),
                        "content" => regions.content = Some(region),
                        name if Some(name) == judge.reasoning => regions.reasoning = Some(region),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let literal = judge.template.field("tool_calls").and_then(|field| field.close.as_ref()?.literals()?.first());
        regions.call_closer = literal.map(|literal| literal.trim().to_owned());
        Some(regions)
    }

    /// The turn deviating in one place, in each way that it can.
    pub fn deviants(&self, case: &Case) -> Vec<Deviant> {
        let mut found = Vec::new();
        let mut add = |policy: RecoveryPolicy, text: Option<String>| {
            let text = text.filter(|text| text != self.text);
            let expected = case.expected.clone();
            found.extend(text.map(|text| Deviant { policies: policy.into(), text, expected }));
        };
        if let Some(call) = self.calls.first() {
            for (policy, change) in BODIES {
                add(*policy, self.with_body(call, *change));
            }
            let is_delimited = self.mark(call.close).is_some();
            add(RecoveryPolicy::JsonBrackets, self.with_body(call, without_last_bracket).filter(|_| is_delimited));
            add(RecoveryPolicy::ToolNames, self.renamed(case));
        }
        let has_no_content = case.expected.content.is_none();
        if let ([call], true, None) = (self.calls.as_slice(), has_no_content, &self.reasoning) {
            let is_first = slice(self.text, ..call.open.0).trim().is_empty();
            add(RecoveryPolicy::MissingCallOpener, self.without(call.open).filter(|_| is_first && self.is_json(call)));
        }
        if let (Some(thought), true, false) = (&self.reasoning, has_no_content, self.calls.is_empty()) {
            add(RecoveryPolicy::CallsInReasoning, self.without(thought.close));
        }
        if let (Some(closer), true, None) = (&self.call_closer, self.calls.is_empty(), &self.reasoning) {
            let (before, after) = self.text.split_at_checked(self.unstopped).unwrap_or((self.text, ""));
            add(RecoveryPolicy::StrayClosers, Some(format!("{}\n{closer}{after}", before.trim_end())));
        }
        found
    }

    /// Whether a region's body is JSON.
    fn is_json(&self, region: &Region) -> bool {
        json::read(slice(self.text, region.body.0..region.body.1).trim()).is_ok()
    }

    /// A delimiter before the stop, if it is seen there.
    fn mark(&self, (start, end): (usize, usize)) -> Option<&str> {
        self.text.get(start..end.min(self.unstopped).max(start)).filter(|mark| !mark.trim().is_empty())
    }

    fn without(&self, (start, end): (usize, usize)) -> Option<String> {
        self.mark((start, end))?;
        Some(format!("{}{}", self.text.get(..start)?, self.text.get(end.min(self.unstopped)..)?))
    }

    fn with_body(&self, region: &Region, change: Change) -> Option<String> {
        let (start, end) = region.body;
        let body = self.text.get(start..end)?;
        let inner = body.trim();
        json::read(inner).ok()?;
        let changed = change(inner)?;
        Some(format!("{}{}{}", self.text.get(..start)?, body.replace(inner, &changed), self.text.get(end..)?))
    }

    /// The first call's name as other formats write it.
    fn renamed(&self, case: &Case) -> Option<String> {
        let name = &case.expected.calls.first()?.name;
        let names = case.expected.calls.iter().filter(|call| call.name == *name).count();
        replaced_once(self.text, name, &format!("functions.{name}")).filter(|_| names == 1)
    }
}

/// Changes the JSON of a call, if it can be changed so.
type Change = fn(&str) -> Option<String>;

/// How the JSON of a call is changed, and the policy that reads it.
const BODIES: &[(RecoveryPolicy, Change)] = &[
    (RecoveryPolicy::JsonFence, |body| Some(format!("```json\n{body}\n```"))),
    (RecoveryPolicy::JsonCommas, with_comma),
    (RecoveryPolicy::JsonPython, in_python),
    (RecoveryPolicy::JsonKeys, |body| replaced_first(body, "\"name\":", "name:")),
    (RecoveryPolicy::CallKeys, |body| replaced_first(body, "\"arguments\":", "\"parameters\":")),
    (RecoveryPolicy::EncodedArguments, with_encoded_arguments),
    (RecoveryPolicy::JsonControl, |body| body.contains("\\n").then(|| body.replace("\\n", "\n"))),
];

fn replaced_first(body: &str, part: &str, by: &str) -> Option<String> {
    body.contains(part).then(|| body.replacen(part, by, 1))
}

fn with_comma(body: &str) -> Option<String> {
    let end = body.rfind(['}', ']'])?;
    let (before, after) = body.split_at_checked(end)?;
    let is_empty = before.trim_end().ends_with(['{', '[']);
    (!is_empty).then(|| format!("{},{after}", before.trim_end()))
}

fn without_last_bracket(body: &str) -> Option<String> {
    body.strip_suffix(['}', ']']).map(str::to_owned)
}

/// Python's spelling. An apostrophe in a text would end it.
fn in_python(body: &str) -> Option<String> {
    let value = json::read(body).ok()?;
    (!body.contains(['\'', '\\'])).then(|| python::spelling(&value))
}

fn with_encoded_arguments(body: &str) -> Option<String> {
    let Value::Object(mut call) = json::read(body).ok()? else { return None };
    let arguments = call.get_mut("arguments").filter(|arguments| matches!(arguments, Value::Object(_)))?;
    *arguments = arguments.to_string().into();
    Some(Value::Object(Object::from_iter(call)).to_string())
}

/// A text with a part replaced that it has once.
pub(super) fn replaced_once(text: &str, part: &str, by: &str) -> Option<String> {
    let (before, after) = text.split_once(part).filter(|(_, after)| !part.is_empty() && !after.contains(part))?;
    Some(format!("{before}{by}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_deviates_as_its_policy_reads() {
        let body = r#"{"name": "f", "arguments": {"a": 1}}"#;
        let changed = |policy: RecoveryPolicy, body: &str| {
            let (_, change) = BODIES.iter().find(|(known, _)| *known == policy).unwrap();
            change(body)
        };
        for (policy, expected) in [
            (RecoveryPolicy::JsonFence, "```json\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n```"),
            (RecoveryPolicy::JsonCommas, r#"{"name": "f", "arguments": {"a": 1},}"#),
            (RecoveryPolicy::JsonPython, "{'name': 'f', 'arguments': {'a': 1}}"),
            (RecoveryPolicy::JsonKeys, r#"{name: "f", "arguments": {"a": 1}}"#),
            (RecoveryPolicy::CallKeys, r#"{"name": "f", "parameters": {"a": 1}}"#),
            (RecoveryPolicy::EncodedArguments, r#"{"name": "f", "arguments": "{\"a\": 1}"}"#),
        ] {
            assert_eq!(changed(policy, body).as_deref(), Some(expected));
        }
        assert_eq!(changed(RecoveryPolicy::JsonControl, body), None);
        assert_eq!(changed(RecoveryPolicy::JsonPython, r#"{"a": "it's"}"#), None);
        assert_eq!(with_comma("{}"), None);
        assert_eq!(without_last_bracket("{\"a\": {}}").as_deref(), Some("{\"a\": {}"));
    }
}
