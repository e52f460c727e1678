//! Loads one field and finds all of its problems.

use super::arguments;
use super::captures;
use super::problems::Checker;
use super::values::{At, flag, shorten};
use crate::template::keys;
use crate::template::{Field, Placeholder, Shape, Transform};
use backchat_core::diagnostic::{Severity, closest};
use backchat_core::json::{Object, Path, Value};

/// Whether a field takes the text outside the others; an unknown key that was meant to be `open` counts as one.
pub(super) fn is_implicit(value: &Value) -> bool {
    let Some(entries) = value.as_object() else { return false };
    let is_known = |name: &str| keys::FIELD.iter().any(|key| key.name == name);
    let opens = |name: &str| match is_known(name) {
        true => matches!(name, "open" | "open_pattern"),
        false => closest(name, ["open", "open_pattern"]).is_some(),
    };
    !entries.keys().any(opens)
}

pub(super) fn field(check: &mut Checker, name: &str, value: &Value, path: Path) -> Option<Field> {
    let Some(entries) = value.as_object() else {
        let help =
            "write an object with keys such as `open` and `close`, or `{}` for the text outside every other field";
        return check.wrong_type(&path, value, "an object", help);
    };
    let at = At::new(entries, path);
    let misspelled = check.keys(&at, keys::FIELD, "a field", Severity::Error);

    let content = arguments::parser(check, &at);
    let open = check.delimiter(&at, ["open", "open_pattern"]);
    let close = check.delimiter(&at, ["close", "close_pattern"]);
    let repeats = flag(check, &at, "repeats", false);
    let optional = flag(check, &at, "optional", true);
    let join = join(check, &at, repeats || misspelled.contains(&"repeats"));
    let transform = transform(check, &at, &misspelled);
    let content_args = at.get("content_args").cloned().unwrap_or_else(|| Value::Object(Object::new()));
    let content = content.map(|parser| arguments::content(check, parser, &content_args, &at.path("content_args")));
    captures::check(check, &at, [open.as_ref(), close.as_ref()], transform.as_ref(), &misspelled);
    let field = Field {
        name: name.to_owned(),
        open,
        close,
        repeats,
        join,
        optional,
        content: content?,
        transform,
        content_args,
        regions: Default::default(),
        strips_joined: false,
    };
    shape_of_value(check, &at, &field);
    Some(field)
}

fn join(check: &mut Checker, at: &At<'_>, repeats: bool) -> Option<String> {
    let path = at.path("join");
    let join = match at.get("join")? {
        Value::Null => return None,
        Value::String(join) => Some(join.clone()),
        other => check.wrong_type(&path, other, "a string", "write the text between two regions, such as `\"\\n\"`"),
    };
    if !repeats {
        let message = "`join` requires 'repeats': true: it joins the regions of a field that repeats";
        check.error("join-without-repeats", &path, message, "add `\"repeats\": true`, or remove `join`").on_key();
    }
    join
}

fn transform(check: &mut Checker, at: &At<'_>, misspelled: &[&str]) -> Option<Transform> {
    let each_path = at.path("transform_each");
    let each = match at.get("transform_each") {
        None => false,
        Some(Value::Bool(each)) => *each,
        Some(other) => {
            check.wrong_type(&each_path, other, "a bool", "write `true` or `false`, or remove the key").unwrap_or(false)
        }
    };
    let shape = at.get("transform").filter(|shape| **shape != Value::Null);
    if each && shape.is_none() && !misspelled.contains(&"transform") {
        let message = "`transform_each` is set, but there is no `transform`";
        let help = "add the `transform` for the elements, or remove `transform_each`";
        check.error("transform-each-without-transform", &each_path, message, help).on_key();
    }
    let shape = shape?;
    mixed_placeholders(check, &at.path("transform"), shape);
    Some(Transform::new(Shape::of(shape), each))
}

/// Reports strings that contain a placeholder and something else, and keys that contain one.
fn mixed_placeholders(check: &mut Checker, path: &Path, shape: &Value) {
    match shape {
        Value::String(text) if Placeholder::read(text).is_none() => {
            if Placeholder::is_in(text) {
                let message = format!(
                    "`{}` mixes a placeholder with literal text: string interpolation is not supported",
                    shorten(text)
                );
                let help = "a placeholder must be the whole string, such as `\"{content}\"`";
                check.error("mixed-placeholder", path, message, help);
            } else if looks_like_placeholder(text) {
                let message = format!("`{}` is not a placeholder and is kept as literal text", shorten(text));
                let help = "write `{name}` or `{name.key}`, with letters, digits and `_` and without spaces";
                check.warning("literal-braces", path, message, help);
            }
        }
        Value::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| mixed_placeholders(check, &path.index(index), item));
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                let path = path.key(key);
                if Placeholder::is_in(key) {
                    let message =
                        format!("the key `{}` contains a placeholder, but keys are not replaced", shorten(key));
                    let help = "move the placeholder into the value";
                    check.warning("placeholder-in-key", &path, message, help).on_key();
                }
                mixed_placeholders(check, &path, item);
            }
        }
        _ => {}
    }
}

fn looks_like_placeholder(text: &str) -> bool {
    text.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inner| !inner.is_empty() && !inner.contains(['{', '}', '"', ':']))
}

/// Values that can never pass through `join` or `transform_each`.
fn shape_of_value(check: &mut Checker, at: &At<'_>, field: &Field) {
    let Some(parser) = field.content.parser() else { return };
    if field.join.is_some() && field.transform.is_none() && !parser.may_give_text() {
        let message = format!("`join` needs text, but `{}` never gives text: every region will fail", parser.name());
        let help = "remove `join` to get a list, or read the body as `text`";
        check.warning("join-of-values", &at.path("join"), message, help).on_key();
    }
    if field.transform.as_ref().is_some_and(|transform| transform.each) && !parser.may_give_objects() {
        let message = format!(
            "`transform_each` needs a list of objects, but `{}` never gives one: every region will fail",
            parser.name()
        );
        let help = "remove `transform_each`, or read the body as `json`";
        check.warning("transform-each-of-values", &at.path("transform_each"), message, help).on_key();
    }
}
