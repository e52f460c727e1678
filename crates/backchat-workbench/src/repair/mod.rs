//! Repairs of a response template that its chat template refutes.
//!
//! A repair is one change towards the derived draft, and it is proved: it is offered only if more conversations parse
//! back than before, with the numbers that it repairs and breaks.
//!
//! ```
//! use backchat_derive::derive::Options;
//! use backchat_workbench::repair::repairs;
//!
//! let chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
//!                      {% if add_generation_prompt %}[assistant]{% endif %}";
//! let text = r#"{"start_anchor": "[assistant]", "fields": {"content": {"close": "<end>>"}}}"#;
//! let found = repairs(chat_template, "response_template.json", text, &Options::default());
//! assert_eq!(found[0].fix.message, "write `fields.content.close` as `close_pattern`: \"<end>\\\\s*\"");
//! assert_eq!(found[0].breaks, 0);
//! ```

mod candidates;
mod edits;
mod effect;
mod plan;

use backchat_core::diagnostic::{Diagnostic, Fix, Place};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{self, Conversation, Options};
use backchat_parser::template::{Template, source};
use candidates::{Candidate, candidates};
use effect::{compared, fates};

pub use effect::{Effect, effects};
pub use plan::{Plan, Step, plan};

/// A change of a response template with which more conversations parse back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// Its place in the file.
    pub place: Place,
    /// The change.
    pub fix: Fix,
    /// How many conversations parse back with it that do not now.
    pub fixes: usize,
    /// How many conversations parse back now and not with it.
    pub breaks: usize,
}

impl Repair {
    /// The change and its effect, in one line.
    pub fn describe(&self) -> String {
        format!("{}: {}", self.fix.message, self.effect())
    }

    /// How many conversations it fixes and breaks.
    pub fn effect(&self) -> String {
        let count = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
        format!("fixes {}, breaks {}", count(self.fixes), count(self.breaks))
    }

    /// The data of the command's JSON; the edits are bytes of the file.
    pub fn to_value(&self) -> Value {
        let found = Diagnostic { fix: Some(self.fix.clone()), ..Diagnostic::error("", "") }.at(self.place.clone());
        let Value::Object(mut found) = found.to_value() else { return Value::Null };
        let mut entries = Object::from([("message", self.fix.message.as_str().into())]);
        for key in ["file", "line", "column", "path"] {
            entries.extend(found.shift_remove(key).map(|value| (key, value)));
        }
        entries.insert("fixes", self.fixes.into());
        entries.insert("breaks", self.breaks.into());
        let edits = found.get("fix").and_then(|fix| fix.get("edits")).cloned();
        entries.insert("edits", edits.unwrap_or_default());
        Value::Object(entries)
    }
}

/// The repairs of a file that holds a response template, the best first; none if the template does not load, if it
/// is proved, or if no draft is derived.
///
/// It derives a draft and proves a template for every difference between the two: it takes a few times as long as
/// deriving.
pub fn repairs(chat_template: &str, file: &str, text: &str, options: &Options) -> Vec<Repair> {
    with_draft(chat_template, file, text, options, |draft| {
        let found = draft.improvements(text)?.found;
        Some(in_order(found))
    })
    .unwrap_or_default()
}

/// The draft that a template is changed towards, and the conversations that judge a change.
struct Draft<'d> {
    file: &'d str,
    template: Value,
    conversations: &'d dyn Fn(&Template) -> Vec<Conversation>,
}

/// The changes of a template with which more conversations parse back.
struct Improvements {
    /// The conversations as the template reads them.
    before: Vec<Conversation>,
    found: Vec<(Candidate, Repair)>,
}

/// Runs a closure with the draft for a file that holds a template; `None` if there is nothing to repair, or no draft.
fn with_draft<T>(
    chat_template: &str,
    file: &str,
    text: &str,
    options: &Options,
    use_it: impl FnOnce(&Draft<'_>) -> Option<T>,
) -> Option<T> {
    let opened = source::from_text(file.to_owned(), text.to_owned()).ok()?;
    derive::with_conversations(chat_template, options, |conversations| {
        let template = &opened.loaded.template;
        if fates(&conversations(template)).values().all(|is_read| *is_read) {
            return None;
        }
        // The proof tries the policies; a draft does not depend on them.
        let options = options.clone().leave_policies(true);
        let wanted = match derive::reasoning_field(template) {
            Some(name) => options.reasoning_field(name.to_owned()),
            None => options,
        };
        let template = derive::derive(chat_template, &wanted).response_template?;
        use_it(&Draft { file, template, conversations })
    })?
}

impl Draft<'_> {
    /// The changes of a file's text with which more conversations parse back; `None` if it does not load.
    fn improvements(&self, text: &str) -> Option<Improvements> {
        let opened = source::from_text(self.file.to_owned(), text.to_owned()).ok()?;
        let template = &opened.loaded.template;
        let before = (self.conversations)(template);
        let known = fates(&before);
        let changes = match known.values().all(|is_read| *is_read) {
            true => Vec::new(),
            false => candidates(&template.to_value(), &self.template),
        };
        let found = changes.into_iter().filter_map(|candidate| {
            let changed = Template::from_value(&candidate.template).ok()?.template;
            let Effect { fixes, breaks } = compared(&known, &fates(&(self.conversations)(&changed)));
            let edit = edits::edit(text, &opened.path, &candidate)?;
            let place = Place::span(text, edit.span.clone()).in_file(&*opened.file);
            let place = place.path(candidate.place.below(&opened.path).to_string());
            let fix = Fix { message: candidate.message.clone(), edits: vec![edit] };
            (fixes > breaks).then_some((candidate, Repair { place, fix, fixes, breaks }))
        });
        let found = found.collect();
        Some(Improvements { before, found })
    }
}

/// The best first; of equal ones the smallest, which already comes first.
fn in_order(mut found: Vec<(Candidate, Repair)>) -> Vec<Repair> {
    found.sort_by_key(|(_, repair)| std::cmp::Reverse(repair.fixes - repair.breaks));
    // A larger change that does no more than a smaller one is noise.
    let mut kept: Vec<(Candidate, Repair)> = Vec::new();
    for (candidate, repair) in found {
        let gain = |repair: &Repair| repair.fixes - repair.breaks;
        let covers = |(smaller, known): &(Candidate, Repair)| {
            gain(known) >= gain(&repair) && smaller.size <= candidate.size && smaller.lies_within(&candidate)
        };
        if !kept.iter().any(covers) {
            kept.push((candidate, repair));
        }
    }
    kept.into_iter().map(|(_, repair)| repair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;
    use backchat_derive::derive::Status;

    pub(super) const CHAT: &str = "{% for m in messages %}{% if m.role == 'assistant' %}<bot>\
        {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}\
        {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>\
        {% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}\
        {% if add_generation_prompt %}<bot>{% endif %}";

    pub(super) fn draft() -> String {
        let derivation = derive::derive(CHAT, &Options::default());
        assert_eq!(derivation.status, Status::Proved, "{}", derivation.headline());
        derivation.response_template.unwrap().to_pretty("  ")
    }

    pub(super) fn proves(text: &str) -> bool {
        let template = Template::load(text).unwrap().template;
        derive::prove(CHAT, &template, &Options::default()).status == Status::Proved
    }

    #[test]
    fn one_wrong_delimiter_is_repaired_by_one_edit() {
        let draft = draft();
        for (right, wrong) in [
            ("</think>", "</thought>"),
            ("<call>", "<calls>"),
            ("</call>", "</cal>"),
            ("\"<end>\\\\s*\"", "\"<stop>\\\\s*\""),
        ] {
            let text = draft.replace(right, wrong);
            assert_ne!(text, draft, "{right}");
            assert!(!proves(&text), "{wrong} is a fault");
            let found = repairs(CHAT, "a.json", &text, &Options::default());
            let first = found.first().unwrap_or_else(|| panic!("{wrong} is repaired"));
            assert!(first.fixes > 0 && first.breaks == 0, "{first:?}");
            let repaired = first.fix.apply(&text);
            assert_eq!(repaired, draft, "{wrong}: {}", first.fix.message);
        }
    }

    #[test]
    fn a_missing_field_is_added_and_a_field_too_many_goes() {
        let draft = draft();
        let field = |text: &str, change: &dyn Fn(&mut Object)| {
            let Value::Object(mut template) = json::read(text).unwrap() else { panic!() };
            let Some(Value::Object(fields)) = template.get_mut("fields") else { panic!() };
            change(fields);
            Value::Object(template).to_pretty("  ")
        };
        let without = field(&draft, &|fields| {
            fields.shift_remove("tool_calls");
        });
        let more = field(&draft, &|fields| {
            let close = Value::from([("open", "a".into()), ("close", "e".into())]);
            fields.insert("letters", close);
        });
        for (text, message) in [(without, "add the field `tool_calls`"), (more, "remove the field `letters`")] {
            let found = repairs(CHAT, "a.json", &text, &Options::default());
            let first = found.first().unwrap_or_else(|| panic!("{message}"));
            assert_eq!(first.fix.message, message);
            assert!(proves(&first.fix.apply(&text)), "{message}");
        }
    }

    #[test]
    fn a_proved_or_broken_template_has_no_repair() {
        for text in [draft(), "{".to_owned(), "{}".to_owned()] {
            assert_eq!(repairs(CHAT, "a.json", &text, &Options::default()), [], "{text}");
        }
        assert_eq!(repairs("{% if", "a.json", &draft(), &Options::default()), []);
    }

    #[test]
    fn the_template_in_a_config_is_repaired_in_place() {
        let wrong = json::read(&draft().replace("</think>", "</thought>")).unwrap();
        let config = Value::from([("model_max_length", 8.into()), ("response_template", wrong)]);
        let text = config.to_pretty("    ");
        let found = repairs(CHAT, "tokenizer_config.json", &text, &Options::default());
        let repaired = found[0].fix.apply(&text);
        assert_eq!(repaired, text.replace("</thought>", "</think>"));
        assert_eq!(found[0].place.path.as_deref(), Some("response_template.fields.thinking.close"));
    }
}
