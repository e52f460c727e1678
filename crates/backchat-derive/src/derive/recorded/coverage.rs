//! Checks that every character of an output belongs to a field or a delimiter.

use crate::derive::compile::pieces::{Branches, PatternItem, literal};
use backchat_parser::parser::{Event, Finished, Span};
use backchat_parser::template::{Delimiter, Template};

/// The first position that the template does not explain, in bytes of the parsed text, and the reason.
pub(super) fn gap(template: &Template, read: &str, offset: usize, finished: &Finished) -> Option<(usize, String)> {
    let mut covered: Vec<Span> = Vec::new();
    for event in &finished.events {
        match event {
            Event::Malformed { field, body, reason, .. } => {
                return Some((body.start, format!("`{field}` could not be parsed: {reason}")));
            }
            Event::Open { span, .. } => covered.push(*span),
            Event::Close { field, span, body, .. } => {
                covered.extend([*span, *body]);
                if &**field == "content" {
                    let found = left_over(template, read, *body);
                    if let Some((at, mark)) = found.filter(|(at, _)| *at >= offset) {
                        return Some((at, format!("the marker {mark:?} was not recognized: it is left in `{field}`")));
                    }
                }
            }
            Event::Chunk { span, .. } => covered.push(*span),
            // Calls that grow repeat text of their region.
            _ => {}
        }
    }
    covered.sort_by_key(|span| span.start);
    // An implicit field takes all text that no other field has; the text its delimiters consume is not lost.
    if template.implicit_field().is_some() {
        return None;
    }
    let mut at = offset;
    for span in covered {
        if span.start > at && read.get(at..span.start).is_some_and(|text| !text.trim().is_empty()) {
            break;
        }
        at = at.max(span.end);
    }
    let rest = read.get(at..)?;
    let first = at + (rest.len() - rest.trim_start().len());
    (!rest.trim().is_empty()).then(|| (first, "no field takes this text".to_owned()))
}

/// A complete marker of another field in content, unless it is quoted there. White space around a marker may differ.
fn left_over(template: &Template, read: &str, body: Span) -> Option<(usize, String)> {
    let text = read.get(body.start..body.end)?;
    let others = template.fields().iter().filter(|field| field.name != "content");
    let delimiters = others.flat_map(|field| field.open.iter().chain(&field.close));
    let marks = delimiters.flat_map(spelled);
    let is_mark =
        |mark: &str| mark.chars().count() > 3 && mark.chars().any(|c| !c.is_alphanumeric() && !c.is_whitespace());
    marks
        .map(|mark| mark.trim().to_owned())
        .filter(|mark| is_mark(mark))
        .filter_map(|mark| {
            let at =
                text.match_indices(mark.as_str()).map(|(at, _)| at).find(|at| !is_quoted(text, *at, mark.len()))?;
            Some((body.start + at, mark))
        })
        .min()
}

/// Whether a range of the text is in quotes or backticks.
fn is_quoted(text: &str, at: usize, length: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let after = text.get(at + length..).and_then(|text| text.chars().next());
    let is_quote =
        |c: Option<char>| c.is_some_and(|c| matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»'));
    is_quote(before) || is_quote(after)
}

/// The literals of a delimiter, or the runs of literal characters in its pattern.
pub(in crate::derive) fn spelled(delimiter: &Delimiter) -> Vec<String> {
    match delimiter.literals() {
        Some(literals) => literals.to_vec(),
        None => Branches::read(delimiter.pattern().source()).map_or_else(Vec::new, |pattern| literal_parts(&pattern)),
    }
}

/// The runs of literal characters in a pattern.
fn literal_parts(pattern: &Branches) -> Vec<String> {
    let mut parts = Vec::new();
    for branch in &pattern.0 {
        for run in branch.0.chunk_by(|a, b| literal(a).is_some() && literal(b).is_some()) {
            match run {
                [PatternItem::Group { inside, .. } | PatternItem::Look { inside, .. }] => {
                    parts.extend(literal_parts(inside));
                }
                run => parts.extend(run.iter().map(literal).collect::<Option<String>>()),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::template;

    #[test]
    fn literal_parts_are_runs_of_characters() {
        let parts = |pattern: &str| literal_parts(&Branches::read(pattern).unwrap());
        assert_eq!(parts(r"(?:</think>|<\|end\|>)\s*"), ["</think>", "<|end|>"]);
        assert_eq!(parts(r"(?P<name>[^\s<]+)\[ARGS\]\d{2}"), ["[ARGS]"]);
    }

    #[test]
    fn a_marker_is_found_without_the_white_space_of_its_delimiter() {
        let template = template(
            r#"{"start_anchor": "<bot>", "fields": {
                "thinking": {"open": "<weigh>\n", "close_pattern": "(?:\\n</weigh>|<end>)\\s*"}, "content": {}}}"#,
        );
        let found = |text: &str| left_over(&template, text, Span { start: 0, end: text.len() });
        assert_eq!(found("<weigh>Hm."), Some((0, "<weigh>".to_owned())));
        assert_eq!(found("Hm.</weigh>Yes."), Some((3, "</weigh>".to_owned())));
        assert_eq!(found("Yes."), None);
    }
}
