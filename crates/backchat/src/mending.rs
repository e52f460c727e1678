//! Proved repairs of a chat template.

use crate::chat::ChatTemplate;
use crate::json::Value;
use backchat_chats::mending as room;
use backchat_probe::doctor::{Options, Problem};

/// Repairs the given problems of a template, or all that it shows but those that are repaired only by name. `file` is the
/// template's text, whose line ends the repair keeps.
///
/// The examination ends with its budget; what was not tried by then is left.
///
/// ```
/// use backchat::ChatTemplate;
/// use backchat::mending::repair;
///
/// let source = "{% for m in messages %}{% if m.role == 'system' and not loop.first %}\
///               {{ raise_exception('system comes first') }}{% endif %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}";
/// let template = ChatTemplate::compile(source)?;
/// let repaired = repair(source, &template, &[], &Default::default());
/// assert_ne!(repaired.text(), source);
/// assert!(repaired.diff().starts_with("@@ -1 "));
/// assert_eq!(repaired.to_value()["cured"][0]["ailment"].as_str(), Some("late_system"));
/// # Ok::<(), backchat::chat::RenderError>(())
/// ```
pub fn repair(file: &str, template: &ChatTemplate, problems: &[Problem], options: &Options) -> Repair {
    Repair(room::repair(file, template, problems, options))
}

/// A chat template after its repairs.
#[derive(Clone, Debug)]
pub struct Repair(room::Repair);

impl Repair {
    /// The template; the same text if nothing was repaired.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The changes, as a unified diff; empty if there are none.
    pub fn diff(&self) -> &str {
        &self.0.diff
    }

    /// What `backchat fix --format json` prints: what was cured and what is left, with what renders prove.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.to_object())
    }
}
