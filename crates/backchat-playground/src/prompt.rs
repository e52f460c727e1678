//! The prompt that a chat template renders for a conversation, with the author of each text, and the variables it reads.

use std::collections::HashMap;

use backchat::chat::{ChatTemplate, Origin, RenderError, RenderOptions, Rendered};
use backchat::diagnostic::Diagnostic;
use backchat::json::{self, Object, Value};
use backchat_chats::chats::{Author, authors};
use backchat_workbench::answers::NOW;

use crate::request::{count, maybe, note};
use backchat_core::text::{Utf16Offsets, slice, units};

/// Variables that a conversation sets.
const CONVERSATION: [&str; 4] = ["messages", "tools", "add_generation_prompt", "continue_final_message"];

/// The variables of a chat template, with the constants that it compares each with.
pub fn variables(chat_template: &str) -> Value {
    let Ok(template) = ChatTemplate::compile(chat_template) else { return Value::Null };
    let names = template.variables().iter().filter(|name| !CONVERSATION.contains(&name.as_str()));
    let variables = names.map(|name| {
        let constants = template.compared_constants().get(name).map(Vec::as_slice).unwrap_or_default();
        Value::from([("name", name.as_str().into()), ("constants", Value::List(constants.to_vec()))])
    });
    Value::List(variables.collect())
}

/// The prompt for a conversation: an object with `messages`, and with `tools` and other variables if there are any.
pub fn prompt(chat_template: &str, conversation: &str) -> Value {
    let mut context = match json::read(conversation) {
        Ok(Value::Object(context)) => context,
        Ok(other) => return unreadable(format!("expected an object with the messages, not {}", other.kind())),
        Err(error) => return unreadable(format!("the messages, the tools or the variables can't be read: {error}")),
    };
    for name in ["tools", "documents"] {
        context.entry(name).or_default();
    }
    let options = RenderOptions::default().now(NOW.to_owned());
    let traced = options.clone().origins(true);
    let failed = |error: RenderError| refused(&error, chat_template);
    let template = match ChatTemplate::compile(chat_template) {
        Ok(template) => template,
        Err(error) => return failed(error),
    };
    match template.render(&context, &traced) {
        Ok(rendered) => {
            let runs = runs(&template, &context, &rendered.text, &options);
            let origins = origins(template.source(), &rendered);
            let text = rendered.text.as_str().into();
            Value::from([("text", text), ("runs", runs), ("origins", origins), ("problem", Value::Null)])
        }
        Err(error) => failed(error),
    }
}

fn refused(error: &RenderError, chat_template: &str) -> Value {
    let source = ChatTemplate::normalize(chat_template);
    without_text(note(&error.diagnostic(&source, ""), Some(&source)))
}

fn unreadable(message: String) -> Value {
    without_text(note(&Diagnostic::error("invalid-json", message), None))
}

fn without_text(problem: Value) -> Value {
    let none = || Value::List(Vec::new());
    Value::from([("text", maybe(None)), ("runs", none()), ("origins", none()), ("problem", problem)])
}

/// The stretches of a prompt: the UTF-16 offset of the end of each, and its author.
fn runs(template: &ChatTemplate, context: &Object, text: &str, options: &RenderOptions) -> Value {
    let mut offsets = Utf16Offsets::of(text);
    let mut runs = Vec::new();
    let mut end = 0;
    let mut push = |until: usize, author: &str| runs.extend([count(offsets.at(until)), author.into()]);
    for (span, author) in authors(template, context, text, options) {
        if span.start > end {
            push(span.start, "template");
        }
        push(span.end, role(author, context));
        end = span.end;
    }
    if end < text.len() {
        push(text.len(), "template");
    }
    Value::List(runs)
}

/// What printed each piece of a prompt: the UTF-16 offset of the end of the piece, and those of the place in the template.
fn origins(source: &str, rendered: &Rendered) -> Value {
    let mut offsets = Utf16Offsets::of(&rendered.text);
    // A loop prints the same few places again and again.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut at = |byte: usize| count(*places.entry(byte).or_insert_with(|| units(slice(source, ..byte))));
    let piece = |origin: &Origin| [count(offsets.at(origin.text.end)), at(origin.source.start), at(origin.source.end)];
    Value::List(rendered.origins.iter().flat_map(piece).collect())
}

/// Who an author is to the reader of a page.
fn role(author: Author, context: &Object) -> &'static str {
    let Author::Message(index) = author else { return "tools" };
    let messages = context.get("messages").and_then(Value::as_list).unwrap_or_default();
    match messages.get(index).and_then(|message| message.get("role")).and_then(Value::as_str) {
        Some("assistant" | "model") => "model",
        Some("user") => "user",
        Some("system" | "developer") => "system",
        _ => "tools",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if style == 'é' %}!{% endif %}\
                          {% endfor %}{% if messages | length > 2 %}{{ raise_exception('too long') }}{% endif %}";

    #[test]
    fn a_prompt_has_an_author_for_each_stretch() {
        let conversation = r#"{"messages": [{"role": "user", "content": "🚆"}, {"role": "assistant", "content": "Yes"}],
            "bos_token": "[B]"}"#;
        assert_eq!(
            prompt(SOURCE, conversation).to_string(),
            r#"{"text": "[B]<user>🚆<assistant>Yes", "runs": [9, "template", 11, "user", 22, "template", 25, "model"], "origins": [3, 3, 12, 4, 38, 39, 8, 42, 48, 9, 51, 52, 11, 55, 64, 12, 38, 39, 21, 42, 48, 22, 51, 52, 25, 55, 64], "problem": null}"#
        );
    }

    #[test]
    fn a_problem_has_its_line() {
        let line = |source: &str, conversation: &str| {
            let prompt = prompt(source, conversation);
            assert_eq!(prompt.get("text"), Some(&Value::Null));
            prompt.get("problem").and_then(|problem| problem.get("line").cloned()).and_then(|line| line.as_i64())
        };
        let long = r#"{"messages": [{"role": "user"}, {"role": "user"}, {"role": "user"}]}"#;
        assert_eq!(line(&format!("\n{SOURCE}"), long), Some(2));
        assert_eq!(line("a\nb{% if", "{}"), Some(2));
    }

    #[test]
    fn a_conversation_that_is_not_read_is_a_problem() {
        let deep = format!(r#"{{"messages": {}{}}}"#, "[".repeat(2000), "]".repeat(2000));
        for (conversation, problem) in [("[]", "expected an object"), (&deep, "can't be read"), ("{", "can't be read")]
        {
            let prompt = prompt(SOURCE, conversation);
            let message = prompt.get("problem").and_then(|problem| problem.get("message")?.as_str()).unwrap();
            assert!(prompt.get("text") == Some(&Value::Null) && message.contains(problem), "{message}");
        }
    }

    #[test]
    fn variables_come_with_the_constants_they_are_compared_with() {
        assert_eq!(
            variables(SOURCE).to_string(),
            r#"[{"name": "bos_token", "constants": []}, {"name": "style", "constants": ["é"]}]"#
        );
        assert_eq!(variables("{% if"), Value::Null);
    }
}
