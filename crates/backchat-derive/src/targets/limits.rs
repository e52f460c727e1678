//! The limits of a template for a reader, for code that writes templates.

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
    /// The only content parsers known; any if absent.
    pub content_parsers: Option<&'static [&'static str]>,
    /// Whether a `transform` may use what the close pattern captures.
    pub close_captures: bool,
    /// Whether a pair of `string_delims` may end with nothing.
    pub open_delims: bool,
    /// Whether open and close patterns must begin with one of a few literals.
    pub literal_starts: bool,
    /// Whether calls get ids of the reader's own in place of those that the template reads.
    pub makes_ids: bool,
}

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
        content_parsers: None,
        close_captures: true,
        open_delims: true,
        literal_starts: false,
        makes_ids: false,
    };

    /// The limits of two readers at once.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            fields: fewer(self.fields, other.fields),
            defaults: fewer(self.defaults, other.defaults),
            reasoning: self.reasoning.or(other.reasoning),
            joins_text: self.joins_text && other.joins_text,
            shapes_text: self.shapes_text && other.shapes_text,
            repeats_reasoning: self.repeats_reasoning && other.repeats_reasoning,
            looks_around: self.looks_around && other.looks_around,
            literal_reasoning: self.literal_reasoning || other.literal_reasoning,
            calls_need_open: self.calls_need_open || other.calls_need_open,
            calls_need_literal_close: self.calls_need_literal_close || other.calls_need_literal_close,
            calls_are_functions: self.calls_are_functions || other.calls_are_functions,
            content_parsers: fewer(self.content_parsers, other.content_parsers),
            close_captures: self.close_captures && other.close_captures,
            open_delims: self.open_delims && other.open_delims,
            literal_starts: self.literal_starts || other.literal_starts,
            makes_ids: self.makes_ids && other.makes_ids,
        }
    }
}

/// The stricter of two sets, one of which contains the other.
fn fewer(
    one: Option<&'static [&'static str]>,
    other: Option<&'static [&'static str]>,
) -> Option<&'static [&'static str]> {
    match (one, other) {
        (Some(one), Some(other)) if other.len() < one.len() => Some(other),
        (one, other) => one.or(other),
    }
}
