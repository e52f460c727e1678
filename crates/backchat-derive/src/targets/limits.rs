//! The limits of a template for a reader, for code that writes templates.

use super::{CONTENT, Reader, THINKING, TOOL_CALLS};

/// The limits of a template. Patterns are checked one by one:
/// [`Reader::check_pattern`](super::Reader::check_pattern).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The only fields allowed; any if absent.
    pub fields: Option<&'static [&'static str]>,
    /// The only keys allowed in `defaults`; any if absent.
    pub defaults: Option<&'static [&'static str]>,
    /// The required name of the field for reasoning; any if absent.
    pub reasoning: Option<&'static str>,
    /// Whether the fields for content and reasoning may have a `join`.
    pub joins_text: bool,
    /// Whether these fields may have a `transform`, or a content parser other than `text`.
    pub shapes_text: bool,
    /// Whether the field for reasoning may have `repeats`.
    pub repeats_reasoning: bool,
    /// Whether open and close patterns may look ahead or behind.
    pub looks_around: bool,
    /// Whether reasoning must open and close with literals, which the reader needs to find its beginning and end.
    pub literal_reasoning: bool,
    /// Whether `tool_calls` must have an `open`.
    pub calls_need_open: bool,
    /// Whether a call without a matched close is lost, because the text ends or because the stop token is part of a
    /// pattern: `tool_calls` should close with literals, one of them the stop token.
    pub calls_need_literal_close: bool,
    /// Whether each call must be `{"function": {"name": …, "arguments": …}}`.
    pub calls_are_functions: bool,
}

/// The fields that servers can route into an answer.
pub(super) const SERVED: [&str; 3] = [CONTENT, THINKING, TOOL_CALLS];
/// The defaults that servers allow.
pub(super) const SERVED_DEFAULTS: [&str; 1] = ["role"];

impl Limits {
    /// No limits at all.
    pub const NONE: Self = Self {
        fields: None,
        defaults: None,
        reasoning: None,
        joins_text: true,
        shapes_text: true,
        repeats_reasoning: true,
        looks_around: true,
        literal_reasoning: false,
        calls_need_open: false,
        calls_need_literal_close: false,
        calls_are_functions: false,
    };

    /// The limits of two readers at once.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            // There are two sets only: any, and that of the servers.
            fields: self.fields.or(other.fields),
            defaults: self.defaults.or(other.defaults),
            reasoning: self.reasoning.or(other.reasoning),
            joins_text: self.joins_text && other.joins_text,
            shapes_text: self.shapes_text && other.shapes_text,
            repeats_reasoning: self.repeats_reasoning && other.repeats_reasoning,
            looks_around: self.looks_around && other.looks_around,
            literal_reasoning: self.literal_reasoning || other.literal_reasoning,
            calls_need_open: self.calls_need_open || other.calls_need_open,
            calls_need_literal_close: self.calls_need_literal_close || other.calls_need_literal_close,
            calls_are_functions: self.calls_are_functions || other.calls_are_functions,
        }
    }
}

impl Reader {
    /// The limits of a template that this reader accepts and uses.
    pub fn limits(self) -> Limits {
        let served = Limits {
            fields: Some(&SERVED),
            defaults: Some(&SERVED_DEFAULTS),
            reasoning: Some(THINKING),
            joins_text: false,
            shapes_text: false,
            repeats_reasoning: false,
            literal_reasoning: true,
            calls_are_functions: true,
            ..Limits::NONE
        };
        match self {
            Reader::Transformers | Reader::Trl => Limits::NONE,
            Reader::Vllm => served,
            Reader::Sglang => {
                Limits { repeats_reasoning: true, calls_need_open: true, calls_need_literal_close: true, ..served }
            }
            Reader::Smg => Limits { looks_around: false, ..Limits::NONE },
        }
    }
}
