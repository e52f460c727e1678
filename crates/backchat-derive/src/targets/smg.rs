//! smg: its own crate gives the verdict.

use serde_json::{Value as Json, json};
use smg_response_template::{LoadError, Unsupported, load_response_template};

use super::patterns::patterns;
use super::{Reader, Reason, Refusal, Role};
use backchat_core::json::{Object, Path, Value};
use backchat_parser::template::{Delimiter, Field, TAGGED, Template};

/// Why it refuses a template: every pattern that it refuses, and its other objections.
pub(super) fn check(template: &Template) -> Vec<Refusal> {
    let Err((first, words)) = load(&template.to_value()) else { return Vec::new() };
    let mut refusals: Vec<Refusal> = patterns(template)
        .into_iter()
        .filter_map(|(place, source, role)| Some(refusal(place, Reason::Pattern, check_pattern(&source, role)?)))
        .collect();
    for field in template.fields() {
        let path = Path::root().key("fields").key(&field.name);
        let below = path.steps();
        let is_reported = |refusal: &Refusal| refusal.place.steps().starts_with(&below);
        if let Err((reason, words)) = load(&alone(field))
            && !refusals.iter().any(is_reported)
        {
            refusals.push(refusal(path.key(key(field, reason)), reason, words));
        }
    }
    if refusals.is_empty() {
        let key = if first == Reason::SharedValue { "defaults" } else { "fields" };
        refusals.push(refusal(Path::root().key(key), first, words));
    }
    refusals
}

/// Why it refuses a pattern in a role.
pub(super) fn check_pattern(source: &str, role: Role) -> Option<String> {
    let template = match role {
        Role::Delimiter => json!({"start_anchor": "a", "fields": {"x": {"open_pattern": source, "close": "c",
            "transform": "{content}"}}}),
        Role::Anchor => json!({"start_anchor_pattern": source, "fields": {"x": {}}}),
        Role::Tag => json!({"start_anchor": "a", "fields": {"x": {"content": TAGGED,
            "content_args": {"tag_pattern": source}}}}),
    };
    load_response_template(&template).err().map(|error| reason(&error).1)
}

fn refusal(place: Path, reason: Reason, words: String) -> Refusal {
    Refusal { reader: Reader::Smg, place, reason, words }
}

/// The kind of construct that an error is about, and its message.
fn reason(error: &LoadError) -> (Reason, String) {
    let LoadError::Unsupported { feature, .. } = error else { return (Reason::Other, error.to_string()) };
    let reason = match feature {
        Unsupported::Regex(_) => Reason::Pattern,
        Unsupported::EmptyMatch => Reason::EmptyMatch,
        Unsupported::ContentArgs(_) => Reason::Argument,
        Unsupported::SharedValue => Reason::SharedValue,
        _ => Reason::Other,
    };
    (reason, format!("unsupported {feature}"))
}

/// The key of a field that is refused for this reason.
fn key(field: &Field, reason: Reason) -> &'static str {
    match reason {
        Reason::Argument => "content_args",
        Reason::SharedValue => "transform",
        _ if matches!(field.open, Some(Delimiter::Literals { .. })) => "open",
        _ => "open_pattern",
    }
}

fn load(template: &Value) -> Result<(), (Reason, String)> {
    // It reads JSON with serde_json, which takes no NaN and no lone surrogates.
    let json: Json = serde_json::from_str(&template.to_string())
        .map_err(|error| (Reason::Other, format!("its JSON parser fails: {error}")))?;
    load_response_template(&json).map(|_| ()).map_err(|error| reason(&error))
}

/// A template with only this field.
fn alone(field: &Field) -> Value {
    let mut fields = Object::new();
    fields.insert(field.name.clone(), field.to_value());
    Value::from([("start_anchor", "a".into()), ("fields", Value::Object(fields))])
}
