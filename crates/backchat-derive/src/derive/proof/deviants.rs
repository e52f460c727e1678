//! Outputs with the deviations that recovery policies handle, made from conforming turns.

use super::boundary::Region;
use super::case::Case;
use super::judge::Judge;
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::slice;
use backchat_parser::parser::{RecoveryPolicy, Span};
use backchat_parser::template::{Delimiter, Field, Template};
use backchat_probe::probe::Answer;

/// What a model may say next to its calls.
const ASIDE: &str = "Let me look that up.";

/// A deviating turn, and its intended message.
pub(super) struct Deviant {
    /// The policy that reads it.
    pub policy: RecoveryPolicy,
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
    template: &'c Template,
}

impl<'c> Regions<'c> {
    /// The regions of a turn that a template finds.
    pub fn read(judge: &Judge<'c, '_>, case: &'c Case) -> Option<Self> {
        let (calls, others): (Vec<Region>, Vec<Region>) =
            judge.regions(case)?.into_iter().partition(|region| &*region.field == "tool_calls");
        Some(Self {
            text: &case.text,
            unstopped: case.unstopped.as_ref().map_or(case.text.len(), String::len),
            calls,
            reasoning: others.into_iter().rfind(|region| Some(&*region.field) == judge.reasoning),
            template: judge.template,
        })
    }

    /// A literal marker that opens or closes calls.
    fn call_marker(&self, side: fn(&Field) -> Option<&Delimiter>) -> Option<&str> {
        Some(side(self.template.field("tool_calls")?)?.literals()?.first()?.trim())
    }

    /// The turn with one deviation, for each that applies.
    pub fn deviants(&self, case: &Case) -> Vec<Deviant> {
        let same = self.same_answer(case);
        let other = [
            (RecoveryPolicy::ClosersInStrings, self.with_closer_in_string(case)),
            (RecoveryPolicy::FalseOpeners, self.with_opener_in_content(case)),
            (RecoveryPolicy::OutsideText, self.with_text_outside(case)),
            (RecoveryPolicy::DropUnfinished, self.unfinished(case)),
        ];
        let same = same.into_iter().map(|(policy, text)| (policy, text.map(|text| (text, case.expected.clone()))));
        let all = same.chain(other).filter_map(|(policy, changed)| Some((policy, changed?)));
        all.filter(|(_, (text, _))| text != self.text)
            .map(|(policy, (text, expected))| Deviant { policy, text, expected })
            .collect()
    }

    /// The deviating turns with the same intended message.
    fn same_answer(&self, case: &Case) -> Vec<(RecoveryPolicy, Option<String>)> {
        let mut found = Vec::new();
        let has_no_content = case.expected.content.is_none();
        if let Some(call) = self.calls.first() {
            found.extend(BODIES.iter().map(|(policy, change)| (*policy, self.with_body(call, *change))));
            let is_delimited = self.mark(call.close).is_some();
            let cut = self.with_body(call, without_last_bracket).filter(|_| is_delimited);
            found.push((RecoveryPolicy::JsonBrackets, cut));
            found.push((RecoveryPolicy::ToolNames, self.renamed(case)));
            found.push((RecoveryPolicy::UnclosedTags, self.without_last_tag_closer(case)));
        }
        if let ([call], true, None) = (self.calls.as_slice(), has_no_content, &self.reasoning) {
            let is_first = slice(self.text, ..call.open.start).trim().is_empty();
            let is_named = case.expected.calls.iter().all(|expected| self.body(call).contains(&expected.name));
            let bare = self.without(call.open).filter(|_| is_first && is_named && self.is_json(call));
            found.push((RecoveryPolicy::MissingCallOpener, bare));
        }
        if let Some(thought) = &self.reasoning {
            if has_no_content && !self.calls.is_empty() {
                found.push((RecoveryPolicy::CallsInReasoning, self.without(thought.close)));
            }
            let is_first = slice(self.text, ..thought.open.start).trim().is_empty();
            let unopened = self.without(thought.open).filter(|_| is_first && self.mark(thought.close).is_some());
            found.push((RecoveryPolicy::MissingReasoningOpener, unopened));
        }
        let closer = self.call_marker(|field| field.close.as_ref());
        if let (Some(closer), true, None) = (closer, self.calls.is_empty(), &self.reasoning) {
            let (before, after) = self.text.split_at_checked(self.unstopped).unwrap_or((self.text, ""));
            found.push((RecoveryPolicy::StrayClosers, Some(format!("{}\n{closer}{after}", before.trim_end()))));
        }
        found
    }

    /// A text of the first call with a closing marker in it.
    fn with_closer_in_string(&self, case: &Case) -> Option<(String, Answer)> {
        let call = self.calls.first().filter(|call| self.is_json(call))?;
        let closer = self.mark(call.close)?.trim();
        let mut expected = case.expected.clone();
        let arguments = &mut expected.calls.first_mut()?.arguments;
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let (key, text) = arguments.iter().find(|(_, value)| is_text(value))?;
        let said = Value::from(format!("{} {closer}", text.as_str()?));
        let changed = replaced_once(self.text, &text.to_string(), &said.to_string())?;
        let key = key.to_owned();
        arguments.insert(key, said);
        Some((changed, expected))
    }

    /// An answer that mentions the opening marker of calls.
    fn with_opener_in_content(&self, case: &Case) -> Option<(String, Answer)> {
        let content = case.expected.content.as_deref().filter(|_| self.calls.is_empty())?;
        let said = format!("{content} It begins with {} there.", self.call_marker(|field| field.open.as_ref())?);
        let changed = replaced_once(self.text, content, &said)?;
        Some((changed, Answer { content: Some(said), ..case.expected.clone() }))
    }

    /// Text before the calls although content has its own marker.
    fn with_text_outside(&self, case: &Case) -> Option<(String, Answer)> {
        let has_implicit = self.template.implicit_field().is_some();
        let call = self.calls.first().filter(|_| !has_implicit && case.expected.content.is_none())?;
        let expected = Answer { content: Some(ASIDE.to_owned()), ..case.expected.clone() };
        Some((replaced_at(self.text, Span { end: call.open.start, ..call.open }, &format!("{ASIDE}\n"))?, expected))
    }

    /// A tagged call that is cut off inside its last tag.
    fn unfinished(&self, case: &Case) -> Option<(String, Answer)> {
        let (start, closer) = self.last_tag_closer(case)?;
        let first = closer.chars().next()?;
        let mut expected = case.expected.clone();
        expected.calls.pop();
        Some((self.text.get(..start + first.len_utf8())?.to_owned(), expected))
    }

    fn without_last_tag_closer(&self, case: &Case) -> Option<String> {
        let (start, closer) = self.last_tag_closer(case)?;
        replaced_at(self.text, Span { start, end: start + closer.len() }, "")
    }

    /// The closer of the last tag of the last call, and where it begins.
    fn last_tag_closer(&self, case: &Case) -> Option<(usize, &str)> {
        let is_tagged = self.template.field("tool_calls")?.content.tags().is_some();
        let call = self.calls.last().filter(|_| is_tagged)?;
        let (_, value) = case.expected.calls.last()?.arguments.iter().next_back()?;
        let value = value.as_str().filter(|text| !text.is_empty())?;
        let body = self.body(call);
        let at = body.rfind(value)? + value.len();
        let after = body.get(at..)?.trim_end();
        let closer = after.trim_start();
        let is_mark = closer.len() > 1 && !closer.starts_with('"');
        is_mark.then_some((call.body.start + at + after.len() - closer.len(), closer))
    }

    /// Whether a region's body is JSON.
    fn is_json(&self, region: &Region) -> bool {
        json::read(self.body(region).trim()).is_ok()
    }

    fn body(&self, region: &Region) -> &str {
        slice(self.text, region.body.start..region.body.end)
    }

    /// The text of a delimiter before the stop, if it is not blank.
    fn mark(&self, Span { start, end }: Span) -> Option<&str> {
        self.text.get(start..end.min(self.unstopped).max(start)).filter(|mark| !mark.trim().is_empty())
    }

    fn without(&self, delimiter: Span) -> Option<String> {
        self.mark(delimiter)?;
        replaced_at(self.text, Span { end: delimiter.end.min(self.unstopped), ..delimiter }, "")
    }

    fn with_body(&self, region: &Region, change: Change) -> Option<String> {
        let body = self.body(region);
        let inner = body.trim();
        json::read(inner).ok()?;
        replaced_at(self.text, region.body, &body.replace(inner, &change(inner)?))
    }

    /// The turn with the name of the first call as other formats write it.
    fn renamed(&self, case: &Case) -> Option<String> {
        let name = &case.expected.calls.first()?.name;
        let names = case.expected.calls.iter().filter(|call| call.name == *name).count();
        replaced_once(self.text, name, &format!("functions.{name}")).filter(|_| names == 1)
    }
}

/// A text with another part in place of the one between two positions.
pub(super) fn replaced_at(text: &str, Span { start, end }: Span, by: &str) -> Option<String> {
    Some(format!("{}{by}{}", text.get(..start)?, text.get(end..)?))
}

/// A text with its only occurrence of a part replaced.
pub(super) fn replaced_once(text: &str, part: &str, by: &str) -> Option<String> {
    let (before, after) = text.split_once(part).filter(|(_, after)| !part.is_empty() && !after.contains(part))?;
    Some(format!("{before}{by}{after}"))
}

/// Changes the JSON of a call, if it can be changed in this way.
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
    (RecoveryPolicy::JsonEscapes, |body| replaced_first(body, "'", "\\'")),
    (RecoveryPolicy::JsonQuotes, with_bare_quotes),
];

fn replaced_first(body: &str, part: &str, by: &str) -> Option<String> {
    body.contains(part).then(|| body.replacen(part, by, 1))
}

/// Quotes inside strings without their backslashes.
fn with_bare_quotes(body: &str) -> Option<String> {
    let is_plain = body.contains("\\\"") && !body.contains("\\\\");
    is_plain.then(|| body.replace("\\\"", "\""))
}

fn with_comma(body: &str) -> Option<String> {
    let end = body.rfind(['}', ']'])?;
    let (before, after) = body.split_at_checked(end)?;
    let is_empty = before.trim_end().ends_with(['{', '[']);
    (!is_empty).then(|| format!("{},{after}", before.trim_end()))
}

/// The JSON without its last bracket, if a value comes before it.
fn without_last_bracket(body: &str) -> Option<String> {
    let rest = body.strip_suffix(['}', ']'])?;
    (!rest.trim_end().ends_with(['{', '['])).then(|| rest.to_owned())
}

/// Python's spelling, if no string contains an apostrophe, which would end it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_a_body_that_deviates() {
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
        let quoted = r#"{"a": "it's a \"b\""}"#;
        assert_eq!(changed(RecoveryPolicy::JsonEscapes, quoted).as_deref(), Some(r#"{"a": "it\'s a \"b\""}"#));
        assert_eq!(changed(RecoveryPolicy::JsonQuotes, quoted).as_deref(), Some(r#"{"a": "it's a "b""}"#));
        assert_eq!(changed(RecoveryPolicy::JsonQuotes, r#"{"a": "\\\"b"}"#), None);
        assert_eq!(changed(RecoveryPolicy::JsonPython, r#"{"a": "it's"}"#), None);
        assert_eq!(with_comma("{}"), None);
        assert_eq!(without_last_bracket("{}"), None);
        assert_eq!(without_last_bracket("{\"a\": {}}").as_deref(), Some("{\"a\": {}"));
    }
}
