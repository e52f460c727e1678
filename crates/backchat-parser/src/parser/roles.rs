//! The roles of fields for recovery: the fields of calls and of the reasoning, and how a body can begin.

use crate::content::recovery::CallForm;
use crate::parser::closers;
use crate::pattern::{Pattern, PatternPart};
use crate::template::{Field, JsonArgs, Regions, Shape};

/// The roles of a template's fields.
#[derive(Clone, Debug, Default)]
pub(in crate::parser) struct Roles {
    /// The fields that hold calls, by their place in the template.
    pub calls: Vec<CallField>,
    /// The field of the reasoning.
    pub reasoning: Option<usize>,
}

/// A field that holds calls.
#[derive(Clone, Debug)]
pub(in crate::parser) struct CallField {
    pub field: usize,
    /// How its calls are written.
    pub form: CallForm,
    /// Whether it has closers that do not end every field.
    pub has_own_closer: bool,
    /// The notation of bodies, if it shows where they end.
    pub notation: Option<Notation>,
    /// The characters with which a body can begin after white space; `None` if they are not limited.
    begins: Option<Vec<char>>,
    /// Whether a body in a fence may be read.
    may_be_fenced: bool,
}

impl Roles {
    pub fn new(fields: &[Field], turn_marks: &[String]) -> Self {
        let calls = fields.iter().enumerate().filter(|(_, field)| field.regions == Regions::Read && holds_calls(field));
        let calls = calls.map(|(place, field)| CallField {
            field: place,
            form: CallForm::new(field),
            has_own_closer: closers::has_own(field, turn_marks),
            notation: Notation::of(field),
            begins: first_of_body(field),
            may_be_fenced: field.content.is_call_list()
                || field.content.json().is_some_and(|args| args.string_delims.is_empty()),
        });
        let is_reasoning = |field: &Field| {
            let has_both = field.open.is_some() && field.close.is_some();
            has_both && field.content.is_text() && field.name != "content"
        };
        let reasoning = fields.iter().position(is_reasoning);
        let is_read = |place: &usize| fields.get(*place).is_some_and(|field| field.regions == Regions::Read);
        Self { calls: calls.collect(), reasoning: reasoning.filter(is_read) }
    }

    /// A field, if it holds calls.
    pub fn call(&self, field: usize) -> Option<&CallField> {
        self.calls.iter().find(|call| call.field == field)
    }
}

/// A notation in which a body shows where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::parser) enum Notation {
    /// JSON itself, no dialect.
    Json,
    /// Calls as Python writes them.
    CallList,
}

impl Notation {
    fn of(field: &Field) -> Option<Self> {
        let is_json = field.content.json().is_some_and(JsonArgs::is_plain);
        let is_call_list = field.content.is_call_list();
        is_json.then_some(Self::Json).or_else(|| is_call_list.then_some(Self::CallList))
    }
}

impl CallField {
    /// Whether a value of the field can begin with a text whose first character is not blank.
    pub fn can_begin_with(&self, text: &str) -> bool {
        let Some(first) = text.chars().next() else { return true };
        let Some(all) = &self.begins else { return true };
        all.contains(&first) || self.may_be_fenced && text.starts_with("```")
    }
}

/// The characters with which a body of the field can begin after white space.
fn first_of_body(field: &Field) -> Option<Vec<char>> {
    let Some(args) = field.content.tags() else {
        return field.content.first_characters().filter(|_| field.transform.is_some());
    };
    let closers = field.close.iter().map(|close| close.pattern());
    let firsts = [&args.tag_pattern].into_iter().chain(closers).map(first_characters);
    let mut firsts = firsts.collect::<Option<Vec<_>>>()?.concat();
    // Tags that begin with a quote are members of an object.
    if firsts.contains(&'"') {
        firsts.push('{');
    }
    Some(firsts)
}

/// The characters with which a match can begin after white space, if they are literal.
fn first_characters(pattern: &Pattern) -> Option<Vec<char>> {
    fn of_parts(parts: &[PatternPart]) -> Option<Vec<char>> {
        for (place, part) in parts.iter().enumerate() {
            match part {
                PatternPart::Space => {}
                PatternPart::Text(text) if text.trim_start().is_empty() => {}
                PatternPart::Text(text) => return Some(text.trim_start().chars().take(1).collect()),
                PatternPart::Group { parts: inside, .. } | PatternPart::Many(inside) => return of_parts(inside),
                PatternPart::Maybe(inside) => {
                    let mut all = of_parts(inside).unwrap_or_default();
                    all.extend(of_parts(parts.get(place + 1..)?)?);
                    return Some(all);
                }
                PatternPart::Either(branches) => {
                    let all: Option<Vec<_>> = branches.iter().map(|branch| of_parts(branch)).collect();
                    return all.map(|all| all.concat());
                }
                _ => return None,
            }
        }
        None
    }
    of_parts(&pattern.outline())
}

/// Whether a field's regions are calls.
fn holds_calls(field: &Field) -> bool {
    fn has_function(shape: &Shape) -> bool {
        match shape {
            Shape::Object(entries) => entries.iter().any(|(key, shape)| key == "function" || has_function(shape)),
            Shape::List(items) => items.iter().any(has_function),
            Shape::Placeholder(_) | Shape::Literal(_) => false,
        }
    }
    let is_structured = !field.content.is_unusable() && field.content.is_structured();
    let has_function = || field.transform.as_ref().is_some_and(|transform| has_function(&transform.shape));
    is_structured && field.open.is_some() && (field.name == "tool_calls" || has_function())
}
