//! How the JSON of a call deviates, each way with the policy of recovery that reads it.

use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_parser::parser::RecoveryPolicy;

/// Changes the JSON of a call, if it can be changed so.
pub(super) type Change = fn(&str) -> Option<String>;

/// How the JSON of a call is changed, and the policy that reads it.
pub(super) const BODIES: &[(RecoveryPolicy, Change)] = &[
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

/// Quotes inside of texts without their backslashes.
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
pub(super) fn without_last_bracket(body: &str) -> Option<String> {
    let rest = body.strip_suffix(['}', ']'])?;
    (!rest.trim_end().ends_with(['{', '['])).then(|| rest.to_owned())
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
