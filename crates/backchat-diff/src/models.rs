//! What changes for whom between two models: their chat templates, and their stored response templates.

use crate::response::{ResponseDiff, response_templates};
use crate::side::Chat;
use crate::templates::{ChatDiff, Options, Problem, Verdict, chat_templates};
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

/// What a model has of both kinds of templates.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Its chat template.
    pub chat: Option<Chat>,
    /// Its stored response template.
    pub response: Option<Template>,
}

impl Model {
    /// Its chat template, with the stored response template unless another one is given.
    fn chat_with_response(&self) -> Option<Chat> {
        let chat = self.chat.clone()?;
        Some(Chat { response: chat.response.or_else(|| self.response.clone()), ..chat })
    }
}

/// What changes between two models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelDiff {
    /// Between their chat templates, if both have one.
    pub chat: Option<ChatDiff>,
    /// Between their response templates, if both have one.
    pub response: Option<ResponseDiff>,
    /// What one of them alone has, in words.
    pub alone: Vec<&'static str>,
}

/// Compares what two models have in common.
///
/// # Errors
///
/// A chat template does not compile, or both refuse everything.
pub fn models(old: &Model, new: &Model, options: &Options) -> Result<ModelDiff, Problem> {
    let chat = match (old.chat_with_response(), new.chat_with_response()) {
        (Some(old), Some(new)) => Some(chat_templates(&old, &new, options)?),
        _ => None,
    };
    let partner = new.chat.as_ref().or(old.chat.as_ref());
    let response = match (&old.response, &new.response) {
        (Some(old), Some(new)) => Some(response_templates(old, new, partner, options)),
        _ => None,
    };
    let mut alone = Vec::new();
    for (has, only_old, only_new) in [
        (
            [old.chat.is_some(), new.chat.is_some()],
            "only the old one has a chat template",
            "only the new one has a chat template",
        ),
        (
            [old.response.is_some(), new.response.is_some()],
            "only the old one has a response template",
            "only the new one has a response template",
        ),
    ] {
        match has {
            [true, false] => alone.push(only_old),
            [false, true] => alone.push(only_new),
            _ => {}
        }
    }
    Ok(ModelDiff { chat, response, alone })
}

impl ModelDiff {
    /// A comparison of response templates alone.
    pub fn of_response(response: ResponseDiff) -> Self {
        Self { chat: None, response: Some(response), alone: Vec::new() }
    }

    /// The worst verdict of both.
    pub fn verdict(&self) -> Verdict {
        let verdicts = [self.chat.as_ref().map(|diff| diff.verdict), self.response.as_ref().map(|diff| diff.verdict)];
        let has = |wanted: Verdict| verdicts.contains(&Some(wanted));
        match () {
            () if has(Verdict::Differs) || !self.alone.is_empty() => Verdict::Differs,
            () if has(Verdict::Undecided) => Verdict::Undecided,
            () => Verdict::Same,
        }
    }

    /// The comparison as JSON: that of the kind of templates that both have, or both under `chat` and `response`.
    pub fn to_value(&self) -> Value {
        match (&self.chat, &self.response) {
            (Some(chat), None) if self.alone.is_empty() => return chat.to_value(),
            (None, Some(response)) if self.alone.is_empty() => return response.to_value(),
            _ => {}
        }
        let alone = self.alone.iter().map(|words| (*words).into()).collect::<Vec<Value>>();
        Value::Object(Object::from_iter([
            ("version".to_owned(), 1.into()),
            ("kind".to_owned(), "models".into()),
            ("verdict".to_owned(), self.verdict().name().into()),
            ("chat".to_owned(), self.chat.as_ref().map_or(Value::Null, ChatDiff::to_value)),
            ("response".to_owned(), self.response.as_ref().map_or(Value::Null, ResponseDiff::to_value)),
            ("alone".to_owned(), Value::List(alone)),
        ]))
    }

    /// The comparison for a terminal of 80 columns.
    pub fn text(&self) -> String {
        self.joined(ChatDiff::text, ResponseDiff::text)
    }

    /// The comparison as Markdown.
    pub fn markdown(&self) -> String {
        self.joined(ChatDiff::markdown, ResponseDiff::markdown)
    }

    fn joined(&self, chat: fn(&ChatDiff) -> String, response: fn(&ResponseDiff) -> String) -> String {
        let are_both = self.chat.is_some() && self.response.is_some();
        let mut parts: Vec<String> = Vec::new();
        if let Some(diff) = &self.chat {
            parts.push(format!("{}{}", if are_both { "chat template: " } else { "" }, chat(diff)));
        }
        if let Some(diff) = &self.response {
            parts.push(format!("{}{}", if are_both { "response template: " } else { "" }, response(diff)));
        }
        parts.extend((!self.alone.is_empty()).then(|| format!("{}\n", self.alone.join("; "))));
        parts.join("\n")
    }

    /// One change as a whole, or all of them; the changes of the response templates come after the others.
    pub fn explained(&self, number: Option<usize>) -> Option<String> {
        let of_chat = self.chat.as_ref().map_or(0, |diff| diff.changes.len());
        let of_response = self.response.as_ref().map_or(0, |diff| diff.changes.len());
        let one = |number: usize| match number.checked_sub(of_chat).filter(|left| *left > 0) {
            Some(left) => self.response.as_ref()?.explained(left),
            None => self.chat.as_ref()?.explained(number),
        };
        match number {
            Some(number) => one(number),
            None => Some((1..=of_chat + of_response).filter_map(one).collect::<Vec<_>>().join("\n")),
        }
    }
}
