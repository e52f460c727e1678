//! Messages and other JSON formatted for people: names and texts, without braces, quotes or escapes.

use super::html::Html;
use backchat_core::json::{Object, Value};

/// A conversation: each message under its role.
pub(super) fn messages(html: &mut Html, messages: &Value) {
    let Some(list) = messages.as_list() else { return value(html, messages) };
    html.of_class("ol", "chat", |html| {
        for message in list {
            html.of_class("li", "", |html| match message.as_object() {
                Some(object) => one(html, object),
                None => value(html, message),
            });
        }
    });
}

fn one(html: &mut Html, message: &Object) {
    html.tag("strong", "", message.get("role").and_then(Value::as_str).unwrap_or("no role"));
    for (key, said) in message.iter().filter(|(key, _)| *key != "role") {
        match (key, said) {
            ("content", Value::String(text)) => html.pre(&[("class", "text")], |html| html.lines(text)),
            ("tool_calls", Value::List(calls)) => calls.iter().for_each(|call| one_call(html, call)),
            _ => entry(html, key, said),
        }
    }
}

/// A call: its function, and each argument.
fn one_call(html: &mut Html, call: &Value) {
    let function = call.get("function").unwrap_or(call);
    let Some(name) = function.get("name").and_then(Value::as_str) else { return entry(html, "call", call) };
    html.of_class("p", "", |html| {
        html.text("calls ");
        html.tag("code", "", name);
    });
    if let Some(arguments) = function.get("arguments") {
        value(html, arguments);
    }
    for (key, said) in call.as_object().into_iter().flatten().filter(|(key, _)| !is_plain(key)) {
        entry(html, key, said);
    }
}

/// The keys of every call that are already shown.
fn is_plain(key: &str) -> bool {
    ["type", "function", "name", "arguments"].contains(&key)
}

fn entry(html: &mut Html, key: &str, said: &Value) {
    html.of_class("dl", "", |html| pair(html, key, said));
}

fn pair(html: &mut Html, key: &str, said: &Value) {
    html.tag("dt", "", key);
    html.of_class("dd", "", |html| value(html, said));
}

/// Any value: objects and lists with their parts below one another.
pub(super) fn value(html: &mut Html, said: &Value) {
    match said {
        Value::Object(object) if object.is_empty() => html.tag("span", "p", "nothing"),
        Value::Object(object) => html.of_class("dl", "", |html| {
            object.iter().for_each(|(key, said)| pair(html, key, said));
        }),
        Value::List(list) if list.is_empty() => html.tag("span", "p", "an empty list"),
        Value::List(list) => html.of_class("ol", "", |html| {
            list.iter().for_each(|said| html.of_class("li", "", |html| value(html, said)));
        }),
        Value::String(text) if text.is_empty() => html.tag("span", "p", "an empty text"),
        Value::String(text) => html.of_class("span", "said", |html| html.lines(text)),
        Value::Null => html.tag("span", "p", "null"),
        other => html.tag("code", "", &other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_conversation_is_shown_without_braces() {
        let chat = r#"[{"role": "user", "content": "Is it {\"a\": 1}?\nSay."},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
             "function": {"name": "add", "arguments": {"a": 1, "b": [true, ""]}}}]}, 7]"#;
        let mut html = Html::default();
        messages(&mut html, &json::read(chat).unwrap());
        insta::assert_snapshot!(html.finish().replace("><", ">\n<"));
    }
}
