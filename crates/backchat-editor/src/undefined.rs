//! Names that nothing sets and that are probably mistakes.

use backchat_chat::{Mention, Reading, Role};
use backchat_core::diagnostic::Edit;
use strsim::osa_distance;

use crate::chat_text::ChatText;
use crate::finding::{Finding, Level};
use crate::words::{FUNCTIONS, GIVEN};

/// Shorter names differ by one letter too often.
const SHORTEST: usize = 4;

/// Names that Jinja2 itself binds in some places.
const SPECIAL: [&str; 7] = ["loop", "caller", "self", "super", "varargs", "kwargs", "lipsum"];

/// The findings about undefined names of a template.
pub fn findings(text: &ChatText) -> Vec<Finding> {
    let reading = &text.reading;
    let free = reading.mentions.iter().filter(|mention| is_free(reading, mention));
    free.filter_map(|mention| finding(text, mention)).collect()
}

fn is_free(reading: &Reading, mention: &Mention) -> bool {
    let name = mention.name.as_str();
    mention.binding.is_none()
        && matches!(mention.role, Role::Read | Role::Holder | Role::Called)
        && !reading.lookups.iter().any(|lookup| lookup.key_span == mention.span)
        && !SPECIAL.contains(&name)
        && !GIVEN.iter().any(|(given, _)| *given == name)
        && !FUNCTIONS.iter().any(|(known, ..)| *known == name)
        && !reading.mentions.iter().any(|other| other.is_guard && other.name == name && other.binding.is_none())
}

fn finding(text: &ChatText, mention: &Mention) -> Option<Finding> {
    let reading = &text.reading;
    let name = mention.name.as_str();
    let span = text.span(&mention.span);
    let warn = |message: String| Finding::new(Level::Warning, "undefined-name", span.clone(), message);
    let visible = reading.visible(mention.scope);
    let in_scope = visible.iter().filter_map(|at| reading.bindings.get(*at)).map(|binding| binding.name.as_str());
    let given = GIVEN.iter().map(|(given, _)| *given).chain(FUNCTIONS.iter().map(|(known, ..)| *known));
    let is_near = |known: &&str| name.len() >= SHORTEST && known.len() >= SHORTEST && osa_distance(name, known) == 1;
    if let Some(meant) = in_scope.chain(given).find(is_near) {
        let edits = vec![Edit { span: span.clone(), text: meant.to_owned() }];
        let message = format!("nothing sets `{name}`; did you mean `{meant}`?");
        return Some(warn(message).remedy(format!("Write `{meant}`"), edits, true));
    }
    let elsewhere = reading.bindings.iter().enumerate().find(|(at, binding)| {
        binding.name == name && !visible.contains(at) && is_inner(reading, binding.scope, mention.scope)
    });
    if elsewhere.is_some() {
        let message = format!(
            "`{name}` is set only in an inner scope and undefined here; use a namespace: `{{% set ns = namespace({name}=none) %}}`, and set `ns.{name}`"
        );
        return Some(warn(message));
    }
    if mention.role == Role::Called {
        let names = FUNCTIONS.iter().map(|(known, ..)| *known);
        let closest = backchat_core::diagnostic::closest(name, names);
        let finding = |meant: &str| warn(format!("there is no function `{name}`{meant}"));
        return Some(match closest {
            Some(meant) => {
                let edits = vec![Edit { span: span.clone(), text: meant.to_owned() }];
                finding(&format!("; did you mean `{meant}`?")).remedy(format!("Write `{meant}`"), edits, true)
            }
            None => finding(""),
        });
    }
    None
}

/// Whether a scope lies in another one.
fn is_inner(reading: &Reading, scope: usize, around: usize) -> bool {
    let mut here = Some(scope);
    while let Some(at) = here {
        if at == around {
            return true;
        }
        here = reading.scopes.get(at).and_then(|scope| scope.around);
    }
    false
}
