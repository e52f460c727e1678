//! Parses the texts that rules compare.

use backchat_core::json::Object;
use backchat_parser::parser::{Cause, ClosersInStrings, EventRef, Mode, Options, Parser, cause};
use backchat_parser::template::Template;

/// The visible result of parsing a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// The message, or why there is none.
    pub message: Result<Object, Cause>,
    /// Each region's field and raw text, in order.
    pub regions: Vec<(String, String)>,
}

/// A parser that has read nothing yet.
pub(super) fn parser(template: &Template, mode: Mode) -> Option<Parser> {
    parser_with(template, mode, ClosersInStrings::default())
}

/// A parser with this setting for closes inside JSON strings.
pub(super) fn parser_with(template: &Template, mode: Mode, closers_in_strings: ClosersInStrings) -> Option<Parser> {
    Parser::new(template, "", Options::default().mode(mode).closers_in_strings(closers_in_strings)).ok()
}

#[cfg(test)]
thread_local! {
    /// How many chunks were read.
    pub(super) static FEEDS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(super) fn read<'c>(mut parser: Parser, chunks: impl IntoIterator<Item = &'c str>) -> Answer {
    let mut regions: Vec<(String, String)> = Vec::new();
    let mut note = |event: EventRef<'_>| match event {
        EventRef::Open { field, .. } => regions.push((field.to_string(), String::new())),
        EventRef::Chunk { text, .. } => {
            if let Some((_, body)) = regions.last_mut() {
                body.push_str(text);
            }
        }
        _ => {}
    };
    for chunk in chunks {
        #[cfg(test)]
        FEEDS.set(FEEDS.get() + 1);
        if let Err(error) = parser.feed_into(chunk, &mut note) {
            return Answer { message: Err(cause(&error).clone()), regions: Vec::new() };
        }
    }
    match parser.finish_into(&mut note) {
        Ok(finished) => Answer { message: Ok(finished.message), regions },
        Err(error) => Answer { message: Err(cause(&error).clone()), regions: Vec::new() },
    }
}

/// Reads a whole text in stable mode.
pub(super) fn read_whole(template: &Template, text: &str) -> Option<Answer> {
    Some(read(parser(template, Mode::Stable)?, [text]))
}

/// The characters of a text, each a chunk.
pub(super) fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().filter_map(|(at, c)| text.get(at..at + c.len_utf8()))
}
