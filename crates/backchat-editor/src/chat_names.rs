//! Definitions, references and renames of the names of a chat template.

use std::ops::Range;

use backchat_chat::{Binding, BindingKind, Mention, Role};

use crate::chat_text::ChatText;
use crate::words::{FUNCTIONS, GIVEN};

/// Words that cannot be names.
const KEYWORDS: &[&str] = &[
    "and",
    "else",
    "elif",
    "false",
    "False",
    "for",
    "if",
    "in",
    "is",
    "none",
    "None",
    "not",
    "or",
    "recursive",
    "true",
    "True",
    "loop",
    "self",
    "super",
    "caller",
    "varargs",
    "kwargs",
];

/// The mention at a byte of the source.
fn mention_at(text: &ChatText, byte: usize) -> Option<&Mention> {
    let touches = |mention: &&Mention| mention.span.start <= byte && byte <= mention.span.end;
    let found = text.reading.mentions.iter().filter(touches);
    // Between two names the one that begins here counts.
    found.max_by_key(|mention| mention.span.start)
}

fn same<'t>(text: &'t ChatText, mention: &Mention) -> Vec<&'t Mention> {
    let is_same = |other: &&Mention| match mention.binding {
        Some(binding) => other.binding == Some(binding),
        None => other.binding.is_none() && other.name == mention.name && is_key(text, other) == is_key(text, mention),
    };
    text.reading.mentions.iter().filter(is_same).collect()
}

/// Whether a mention is a key that is looked up, and not a name.
fn is_key(text: &ChatText, mention: &Mention) -> bool {
    text.reading.lookups.iter().any(|lookup| lookup.key_span == mention.span)
}

/// Where the name at a byte of the document is defined.
pub fn definition(text: &ChatText, byte: usize) -> Option<Range<usize>> {
    let mention = mention_at(text, text.to_source(byte)?)?;
    let binding = text.reading.bindings.get(mention.binding?)?;
    let bound = same(text, mention).into_iter().find(|other| other.role == Role::Bound);
    Some(text.span(bound.map_or(&binding.declared, |bound| &bound.span)))
}

/// The occurrences of the name at a byte of the document, and whether each binds it.
pub fn references(text: &ChatText, byte: usize) -> Vec<(Range<usize>, bool)> {
    let Some(mention) = text.to_source(byte).and_then(|byte| mention_at(text, byte)) else { return Vec::new() };
    let found = same(text, mention).into_iter();
    found.map(|other| (text.span(&other.span), other.role == Role::Bound)).collect()
}

/// The name at a byte that can be renamed, or why it cannot.
pub fn renamable(text: &ChatText, byte: usize) -> Result<Range<usize>, String> {
    let mention = text.to_source(byte).and_then(|byte| mention_at(text, byte)).ok_or("there is no name here")?;
    let name = &mention.name;
    let Some(binding) = mention.binding.and_then(|at| text.reading.bindings.get(at)) else {
        return Err(format!("`{name}` comes from outside the template: what passes it would have to change, too"));
    };
    check_binding(text, binding)?;
    Ok(text.span(&mention.span))
}

fn check_binding(text: &ChatText, binding: &Binding) -> Result<(), String> {
    let name = &binding.name;
    if !text.reading.problems.is_empty() && text.reading.problems.iter().any(|problem| problem.meant.is_none()) {
        return Err("the template has errors, so that not every use of the name is known".to_owned());
    }
    let is_outside = binding.may_be_given && binding.kind != BindingKind::Field;
    if is_outside || (GIVEN.iter().any(|(given, _)| given == name) && binding.kind == BindingKind::Variable) {
        return Err(format!("`{name}` may also come from outside the template, where it keeps its name"));
    }
    let holder = binding.of.and_then(|at| text.reading.bindings.get(at));
    match (binding.kind, holder) {
        (BindingKind::Parameter, Some(of)) if of.escapes => {
            Err(format!("the macro `{}` is used as a value, so that not every call of it is known", of.name))
        }
        (BindingKind::Field, Some(of)) if of.escapes => {
            Err(format!("the namespace `{}` is used as a value, so that not every use of `{name}` is known", of.name))
        }
        _ => Ok(()),
    }
}

/// The places to change for a new name, or why it is refused.
pub fn rename(text: &ChatText, byte: usize, new: &str) -> Result<Vec<Range<usize>>, String> {
    renamable(text, byte)?;
    let mention = text.to_source(byte).and_then(|byte| mention_at(text, byte)).ok_or("there is no name here")?;
    let binding = mention.binding.and_then(|at| text.reading.bindings.get(at)).ok_or("there is no name here")?;
    let is_identifier = new.chars().all(|c| c.is_alphanumeric() || c == '_')
        && new.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !is_identifier {
        return Err(format!("`{new}` is no name: write letters, digits and underscores, and begin with no digit"));
    }
    if KEYWORDS.contains(&new) {
        return Err(format!("`{new}` is a word of the language"));
    }
    let is_taken = match binding.kind {
        BindingKind::Field => text.reading.bindings.iter().any(|other| other.of == binding.of && other.name == new),
        _ => {
            let is_known =
                GIVEN.iter().any(|(given, _)| *given == new) || FUNCTIONS.iter().any(|(known, ..)| *known == new);
            is_known || text.reading.mentions.iter().any(|other| other.name == new && !is_key(text, other))
        }
    };
    if is_taken && new != binding.name {
        return Err(format!("`{new}` already means something here, and one of them would hide the other"));
    }
    Ok(same(text, mention).into_iter().map(|other| text.span(&other.span)).collect())
}
