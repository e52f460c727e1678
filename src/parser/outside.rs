//! Text outside all regions, where no field takes it: it is in no value of the message, so the answer says so.

use super::plan::Plan;
use crate::pattern::Pattern;

/// How many bytes of a stretch are kept, to see whether it is text.
const KEPT: usize = 4096;

/// The stretches so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// The beginning of the stretch that is going on, blanks before it left out.
    stretch: String,
    /// The first stretch that is text.
    pub first: Option<String>,
    /// How many there are.
    pub count: usize,
}

impl Outside {
    /// More text of the stretch. Most of a long one is not kept, and costs nothing.
    #[inline]
    pub fn add(&mut self, text: &str) {
        if self.stretch.len() < KEPT {
            self.keep(text);
        }
    }

    #[inline(never)]
    fn keep(&mut self, text: &str) {
        let text = if self.stretch.is_empty() { text.trim_start() } else { text };
        let room = text.floor_char_boundary(KEPT.saturating_sub(self.stretch.len()));
        self.stretch.push_str(text.get(..room).unwrap_or_default());
    }

    /// The stretch is over. Marks that end the turn are no text, and neither are start anchors.
    pub fn end(&mut self, plan: &Plan, start_anchor: &Pattern) {
        let mut text = self.stretch.as_str();
        let closers = || plan.delimiters.iter().filter(|delimiter| delimiter.closes);
        while !text.is_empty() {
            let length = length(start_anchor, text).or_else(|| {
                // A turn mark closes every field that has a close.
                let mut lengths = closers().map(|closer| length(&closer.pattern, text));
                let first = lengths.next()??;
                lengths.all(|other| other.is_some()).then_some(first)
            });
            let Some(rest) = length.and_then(|length| text.get(length..)) else { break };
            text = rest.trim_start();
        }
        if !text.is_empty() {
            self.count += 1;
            self.first.get_or_insert_with(|| text.to_owned());
        }
        self.stretch.clear();
    }
}

/// The length of what a pattern matches at the beginning of a text, unless it matches nothing.
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
