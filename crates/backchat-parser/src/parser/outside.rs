//! Text outside all regions that no field takes. It is lost, so the answer reports it.

use super::plan::Plan;
use super::span::Span;
use crate::pattern::Pattern;

/// How many bytes of a stretch are kept, to decide whether it is text.
const KEPT: usize = 4096;

/// The most bytes kept for a policy that uses the text as content.
const RECOVERED: usize = 65_536;

/// How many stretches are listed.
const PIECES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// The beginning of the current stretch without the blanks before it, and its place in the text.
    stretch: String,
    span: Span,
    /// The first stretch that is text.
    pub first: Option<String>,
    pub count: usize,
    /// Those that are listed.
    pub pieces: Vec<Piece>,
}

/// A stretch of text that no field took.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub span: Span,
    /// The kept part of its text, without turn markers and start anchors around it.
    pub text: String,
}

impl Outside {
    /// More text of the stretch. Most of a long one is not kept, and costs nothing; `keeps` asks for more.
    #[inline]
    pub fn add(&mut self, text: &str, start: usize, keeps: usize) {
        if self.stretch.len() < KEPT.max(keeps.min(RECOVERED)) {
            self.keep(text, start, KEPT.max(keeps.min(RECOVERED)));
        }
        self.span.end = start + text.len();
    }

    #[inline(never)]
    fn keep(&mut self, text: &str, start: usize, keeps: usize) {
        let text = if self.stretch.is_empty() {
            let kept = text.trim_start();
            self.span.start = start + text.len() - kept.len();
            kept
        } else {
            text
        };
        let room = text.floor_char_boundary(keeps.saturating_sub(self.stretch.len()));
        self.stretch.push_str(text.get(..room).unwrap_or_default());
    }

    /// Ends the stretch; true if it has text besides turn markers and start anchors.
    pub fn end(&mut self, plan: &Plan, start_anchor: &Pattern) -> bool {
        let text = self.stretch.as_str();
        // A turn marker closes every field that has a close.
        let marker = |text: &str| {
            length(start_anchor, text).or_else(|| {
                let mut lengths = plan.delimiters.iter().filter(|d| d.closes).map(|d| length(&d.pattern, text));
                let first = lengths.next()??;
                lengths.all(|other| other.is_some()).then_some(first)
            })
        };
        let mut rest = text;
        while let Some(length) = Some(rest).filter(|rest| !rest.is_empty()).and_then(marker) {
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
        let is_text = !rest.is_empty();
        if is_text {
            self.count += 1;
            self.first.get_or_insert_with(|| rest.to_owned());
            let mut kept = rest.trim_end();
            while let Some(mark) = plan.turn_marks.iter().find(|mark| kept.ends_with(mark.as_str())) {
                kept = kept.get(..kept.len() - mark.len()).unwrap_or_default().trim_end();
            }
            if self.pieces.len() < PIECES {
                let start = self.span.start + text.len() - rest.len();
                let span = Span::new(start, self.span.end);
                self.pieces.push(Piece { span, text: kept.to_owned() });
            }
        }
        self.stretch.clear();
        is_text
    }
}

/// The length of a pattern's match at the beginning of a text; `None` without a match or for an empty one.
fn length(pattern: &Pattern, text: &str) -> Option<usize> {
    let (start, end) = pattern.find_at(text, 0).ok()??.span();
    (start == 0 && end > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use crate::parser::{Options, Parser};
    use crate::template::Template;

    /// The notes about text outside, whole and character by character.
    fn notes(template: &str, text: &str) -> Vec<String> {
        let template = Template::load(template).unwrap().template;
        let read = |feeds: &[&str]| {
            let mut parser = Parser::new(&template, "", Options::default()).unwrap();
            feeds.iter().for_each(|feed| drop(parser.feed(feed).unwrap()));
            parser.finish().unwrap().notes
        };
        let whole = read(&[text]);
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(read(&pieces.iter().map(String::as_str).collect::<Vec<_>>()), whole, "{text}");
        whole
    }

    #[test]
    fn text_that_no_field_takes_is_reported() {
        let without = r#"{"start_anchor": "<bot>", "fields": {
            "a": {"open": "<a>", "close": ["</a>", "<end>"]}, "b": {"open": "<b>", "close": ["</b>", "<end>"], "repeats": true}}}"#;
        let with = r#"{"start_anchor": "<bot>", "fields": {"a": {"open": "<a>", "close": "</a>"}, "content": {}}}"#;
        let said = |more: &str| {
            format!("text-outside: no field takes the text outside all regions, \"Important text.\"{more}")
        };
        for (template, text, expected) in [
            (without, "Important text.<a>x</a>", vec![said("")]),
            (without, "<b>x</b>Important text.<b>y</b> more <b>z</b>", vec![said(" and 1 more")]),
            (without, " \n<a>x</a>\n<end>\n<bot><b>y<end>", vec![]),
            (without, "<a>x</a><end>Important text.", vec![said("")]),
            (with, "Important text.<a>x</a>", vec![]),
        ] {
            assert_eq!(notes(template, text), expected, "{text}");
        }
    }
}
