//! The effect of a change on the conversations of a proof.

use std::collections::HashMap;

use backchat_core::diagnostic::Fix;
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{self, Conversation, Fate, Options};
use backchat_parser::template::source;

/// How many conversations a change repairs, and how many it breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// They parse back with it and do not now.
    pub fixes: usize,
    /// They parse back now and not with it.
    pub breaks: usize,
}

/// The effects of changes to a file with a response template; `None` for a change after which it does not load.
pub fn effects(chat_template: &str, file: &str, text: &str, fixes: &[&Fix], options: &Options) -> Vec<Option<Effect>> {
    let opened = |text: String| source::from_text(file.to_owned(), text).ok();
    let Some(now) = opened(text.to_owned()) else { return vec![None; fixes.len()] };
    derive::with_conversations(chat_template, options, |conversations| {
        let before = fates(&conversations(&now.loaded.template));
        let effect = |fix: &&Fix| {
            let changed = opened(fix.apply(text))?;
            Some(compared(&before, &fates(&conversations(&changed.loaded.template))))
        };
        fixes.iter().map(effect).collect()
    })
    .unwrap_or_else(|| vec![None; fixes.len()])
}

/// Whether each conversation is read right, by its name.
pub(super) fn fates(conversations: &[Conversation]) -> HashMap<String, bool> {
    let named = conversations.iter().map(|conversation| {
        let is_read = !matches!(conversation.fate, Fate::Failed(_));
        (name(conversation), is_read)
    });
    named.collect()
}

/// The name of a conversation, whatever template reads it.
pub(super) fn name(conversation: &Conversation) -> String {
    let Conversation { said, after, setting, .. } = conversation;
    name_of(&format!("{said} after {after}"), setting)
}

/// The name of a conversation by its description and its variables.
pub(super) fn name_of(case: &str, setting: &Object) -> String {
    format!("{case} with {}", Value::Object(setting.clone()))
}

/// How many conversations are newly read right, and how many no longer. Those that only one of the templates has, which
/// are about its own markers, are not compared.
pub(super) fn compared(before: &HashMap<String, bool>, after: &HashMap<String, bool>) -> Effect {
    let changes = before.iter().filter_map(|(name, was_read)| Some((*was_read, *after.get(name)?)));
    changes.fold(Effect::default(), |effect, change| match change {
        (false, true) => Effect { fixes: effect.fixes + 1, ..effect },
        (true, false) => Effect { breaks: effect.breaks + 1, ..effect },
        _ => effect,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::diagnostic::Edit;

    #[test]
    fn effects_count_fixed_and_broken_conversations() {
        let chat = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
                    {% if add_generation_prompt %}[assistant]{% endif %}";
        let right = r#"{"start_anchor": "[assistant]", "fields": {"content": {"close": "<end>"}}}"#;
        let wrong = right.replace("<end>", "<end>>");
        let change = |from: &str, to: &str, text: &str| {
            let at = text.find(from).unwrap();
            let edit = Edit { span: at..at + from.len(), text: to.to_owned() };
            Fix { message: String::new(), edits: vec![edit] }
        };
        let count = |text: &str, fixes: &[&Fix]| effects(chat, "a.json", text, fixes, &Options::default());
        let fixes = count(&wrong, &[&change("<end>>", "<end>", &wrong), &change("{", "[", &wrong)]);
        let [Some(effect), None] = fixes[..] else { panic!("{fixes:?}") };
        assert!(effect.fixes > 0 && effect.breaks == 0, "{effect:?}");
        let breaks = count(right, &[&change("<end>", "<end>>", right)]);
        assert_eq!(breaks, [Some(Effect { fixes: 0, breaks: effect.fixes })]);
    }
}
