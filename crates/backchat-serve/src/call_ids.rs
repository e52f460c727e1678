//! Ids of calls: the model's own, or new ones that the chat template takes back.

use crate::identifier::identifier;
use crate::messages::{MessageForm, for_template};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::json::{Object, Value};
use backchat_probe::probe::NOW;

/// The form of new ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdForm {
    /// That of each API.
    #[default]
    Prefixed,
    /// Nine letters and digits, because the chat template refuses longer ids.
    Nine,
}

impl IdForm {
    /// The form in which the chat template, which takes messages like this, renders a call and its result.
    pub fn of(template: &ChatTemplate, special_tokens: &Object, messages: MessageForm) -> Self {
        let options = RenderOptions::default().now(Some(NOW.to_owned()));
        let renders = |form: &Self| {
            let mut context = special_tokens.clone();
            context.insert("messages", Value::List(for_template(&called(&form.new_id("call_")), messages)));
            template.render(&context, &options).is_ok()
        };
        [Self::Prefixed, Self::Nine].into_iter().find(renders).unwrap_or_default()
    }

    fn new_id(self, lead: &str) -> String {
        match self {
            Self::Prefixed => identifier(lead),
            Self::Nine => identifier("").chars().take(9).collect(),
        }
    }
}

/// A conversation with a call and its result.
fn called(id: &str) -> [Value; 3] {
    let function = Value::from([("name", "f".into()), ("arguments", Value::Object(Object::new()))]);
    let call = Value::from([("id", id.into()), ("type", "function".into()), ("function", function)]);
    [
        Value::from([("role", "user".into()), ("content", "Hi".into())]),
        Value::from([("role", "assistant".into()), ("content", "".into()), ("tool_calls", Value::List(vec![call]))]),
        Value::from([
            ("role", "tool".into()),
            ("tool_call_id", id.into()),
            ("name", "f".into()),
            ("content", "1".into()),
        ]),
    ]
}

/// The ids of the calls of one choice: the model's own if it is unique, else a new one.
#[derive(Clone, Debug)]
pub struct CallIds {
    form: IdForm,
    /// The beginning of new ids that have one.
    lead: &'static str,
    known: Vec<String>,
}

impl CallIds {
    pub fn new(form: IdForm, lead: &'static str) -> Self {
        Self { form, lead, known: Vec::new() }
    }

    pub fn next(&mut self, own: Option<&str>) -> &str {
        let own = own.filter(|id| !id.is_empty() && !self.known.iter().any(|known| known == id));
        self.known.push(own.map_or_else(|| self.form.new_id(self.lead), str::to_owned));
        self.known.last().map_or("", String::as_str)
    }
}
