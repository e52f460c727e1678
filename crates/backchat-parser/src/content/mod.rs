//! Turns the raw body of a region into a value.
//!
//! [`region_value`] is all a parser needs: it runs the field's content parser over the body, then the field's
//! transform. [`Tools`](crate::parser::Tools) casts the arguments of the tool calls it gives. Both return a value or a
//! [`Reason`] and have no other effect; the caller decides whether a reason becomes an event or an error.
//!
//! In [`Mode::Reference`] values and failures are those of transformers. [`Mode::Stable`] differs in two things: the
//! JSON dialect is repaired if the reference's rewriting is plainly broken, and integers have any length. In both,
//! numbers keep the text they were written with.

mod call_list;
pub mod coerce;
mod error;
pub mod json;
mod json_dialect;
mod kv_lines;
pub mod number;
pub(crate) mod recovery;
mod transform;
mod xml_inline;

use std::sync::Arc;

pub(crate) use call_list::CallListReader;
pub use call_list::is_name as is_call_name;
use call_list::tolerant_call_list;
pub use error::Reason;
pub use transform::transform;
pub(crate) use xml_inline::tagged_value;

use crate::template::{ContentSpec, Field};
use backchat_core::json::Value;
use backchat_core::python::space;

/// Whether to reproduce the reference's answer or a corrected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One answer at every cut of the text; bad model output is never an error.
    #[default]
    Stable,
    /// The reference's answer, flaws included.
    Reference,
}

/// The text that a named group of an open or close pattern matched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capture {
    /// The group's name.
    pub name: Arc<str>,
    /// The text it took; a group that took no part in the match has no capture.
    pub text: String,
}

impl Capture {
    /// Adds the captures of a close to those of the open; where both have a name, that of the close counts.
    pub(crate) fn add_closing(captures: &mut Vec<Self>, closing: &[Self]) {
        for late in closing {
            match captures.iter_mut().find(|capture| capture.name == late.name) {
                Some(capture) => capture.text.clone_from(&late.text),
                None => captures.push(late.clone()),
            }
        }
    }
}

/// The captures of a delimiter, behind one pointer: almost none has any, and every event would be larger for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "a boxed slice is two words")]
pub struct Captures(Option<Box<Vec<Capture>>>);

impl Captures {
    pub(crate) fn of(captures: &[Capture]) -> Self {
        Self((!captures.is_empty()).then(|| Box::new(captures.to_vec())))
    }
}

impl std::ops::Deref for Captures {
    type Target = [Capture];

    fn deref(&self) -> &[Capture] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

/// The value of a region of this field: its content parser, then its transform.
pub fn region_value(field: &Field, body: &str, captures: &[Capture], mode: Mode) -> Result<Value, Reason> {
    let content = value(&field.content, body, mode)?;
    match &field.transform {
        Some(shape) => transform(shape, content, captures),
        None => Ok(content),
    }
}

/// The value of a body, by a content parser.
pub fn value(spec: &ContentSpec, body: &str, mode: Mode) -> Result<Value, Reason> {
    let stripped = |strip: bool| if strip { space::strip(body) } else { body };
    match spec {
        ContentSpec::Text { strip } => Ok(stripped(*strip).into()),
        ContentSpec::Int { strip } => number::int(stripped(*strip), mode).map(Value::Number),
        ContentSpec::Float { strip } => number::float(stripped(*strip)).map(Value::Number),
        ContentSpec::Bool { strip } => Ok(matches!(stripped(*strip).to_lowercase().as_str(), "true" | "1").into()),
        ContentSpec::Json(args) => json::json(body, args, mode),
        ContentSpec::XmlInline(args) => xml_inline::xml_inline(body, args, mode),
        ContentSpec::KvLines(args) => kv_lines::kv_lines(body, args, mode),
        ContentSpec::CallList => call_list::call_list(body),
        ContentSpec::Unusable { reason, .. } => Err(Reason::Unusable(reason.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bool() {
        let text = |strip, body| value(&ContentSpec::Text { strip }, body, Mode::Stable);
        assert_eq!(text(true, "\u{1c} a b\n"), Ok("a b".into()));
        assert_eq!(text(false, " a "), Ok(" a ".into()));
        let truth = |strip, body| value(&ContentSpec::Bool { strip }, body, Mode::Stable);
        for body in ["true", "True", "TRUE", "1", " true ", "\u{1c}true", "trUe\u{2003}"] {
            assert_eq!(truth(true, body), Ok(true.into()), "{body:?}");
        }
        for body in ["", "0", "1.0", "yes", "ＴＲＵＥ", "𝟙", "１", "true\0", "tRue\u{200b}"] {
            assert_eq!(truth(true, body), Ok(false.into()), "{body:?}");
        }
        assert_eq!(truth(false, " true"), Ok(false.into()));
    }

    #[test]
    fn numbers_are_trimmed_as_in_python_even_without_strip() {
        assert_eq!(value(&ContentSpec::Int { strip: true }, "\u{1c}5\u{1f}", Mode::Stable), Ok(5.into()));
        assert!(value(&ContentSpec::Int { strip: false }, "\u{1c}5", Mode::Stable).is_err());
        assert_eq!(value(&ContentSpec::Int { strip: false }, "\u{a0}5", Mode::Stable), Ok(5.into()));
        assert!(value(&ContentSpec::Float { strip: false }, "\u{1c}5", Mode::Stable).is_err());
        assert!(value(&ContentSpec::Float { strip: true }, "\u{1c}5", Mode::Stable).is_ok());
    }
}
