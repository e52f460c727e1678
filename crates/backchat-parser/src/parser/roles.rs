//! The roles of fields for recovery: the fields of calls and of the reasoning, and how a body can begin.

use crate::content::recovery::CallForm;
use crate::parser::closers;
use crate::pattern::{Pattern, PatternPart};
use crate::template::{ContentSpec, Field, Regions, Shape};

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
    /// Whether bodies are plain JSON.
    pub is_json: bool,
    begins: BodyStart,
}

/// How the body of a call can begin.
#[derive(Clone, Debug)]
enum BodyStart {
    Json,
    /// One of these characters: of a tag, or of a closer.
    With(Vec<char>),
    Anything,
}

impl Roles {
    pub fn new(fields: &[Field], turn_marks: &[String]) -> Self {
        let calls = fields.iter().enumerate().filter(|(_, field)| field.regions == Regions::Read && holds_calls(field));
        let calls = calls.map(|(place, field)| CallField {
            field: place,
            form: CallForm::new(field),
            has_own_closer: closers::has_own(field, turn_marks),
            is_json: matches!(&field.content, ContentSpec::Json(args)
                if !args.allow_non_json && !args.unquoted_keys && args.string_delims.is_empty()),
            begins: BodyStart::new(field),
        });
        let is_reasoning = |field: &Field| {
            let has_both = field.open.is_some() && field.close.is_some();
            has_both && matches!(field.content, ContentSpec::Text { .. }) && field.name != "content"
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

impl CallField {
    /// Whether a value of the field can begin with a text whose first character is not blank.
    pub fn can_begin_with(&self, text: &str) -> bool {
        let Some(first) = text.chars().next() else { return true };
        match &self.begins {
            BodyStart::Json => matches!(first, '{' | '[' | '"') || text.starts_with("```"),
            BodyStart::With(all) => all.contains(&first),
            BodyStart::Anything => true,
        }
    }
}

impl BodyStart {
    fn new(field: &Field) -> Self {
        match &field.content {
            ContentSpec::Json(args) if field.transform.is_some() && !args.allow_non_json => {
                let delimiters = args.string_delims.iter().filter_map(|(open, _)| open.chars().next());
                let others: Vec<char> = delimiters.collect();
                match others.is_empty() {
                    true => BodyStart::Json,
                    false => BodyStart::With(others.into_iter().chain(['{', '[', '"']).collect()),
                }
            }
            ContentSpec::XmlInline(args) => {
                let closers = field.close.iter().map(|close| close.pattern());
                let firsts = [&args.tag_pattern].into_iter().chain(closers).map(first_characters);
                match firsts.collect::<Option<Vec<_>>>() {
                    Some(all) => BodyStart::With(all.concat()),
                    None => BodyStart::Anything,
                }
            }
            _ => BodyStart::Anything,
        }
    }
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
    let is_usable = !matches!(field.content, ContentSpec::Unusable { .. });
    let is_structured = is_usable && field.content.is_structured();
    let has_function = || field.transform.as_ref().is_some_and(|transform| has_function(&transform.shape));
    is_structured && field.open.is_some() && (field.name == "tool_calls" || has_function())
}
