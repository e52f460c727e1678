//! Whether every character of an output belongs to a field or a delimiter.

use backchat_parser::parser::{Event, Finished, Span};
use backchat_parser::template::Template;

/// The first position of a parsed output that the template does not explain, in bytes of the text that was parsed, and
/// why.
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

/// A complete marker of another field in content, unless it is quoted there.
fn left_over(template: &Template, read: &str, body: Span) -> Option<(usize, String)> {
    let text = read.get(body.start..body.end)?;
    let others = template.fields().iter().filter(|field| field.name != "content");
    let delimiters = others.flat_map(|field| field.open.iter().chain(&field.close));
    let marks = delimiters.flat_map(|delimiter| match delimiter.literals() {
        Some(literals) => literals.to_vec(),
        None => literal_parts(delimiter.pattern().source()),
    });
    let is_mark =
        |mark: &str| mark.chars().count() > 3 && mark.chars().any(|c| !c.is_alphanumeric() && !c.is_whitespace());
    marks
        .filter(|mark| is_mark(mark))
        .filter_map(|mark| {
            let at =
                text.match_indices(mark.as_str()).map(|(at, _)| at).find(|at| !is_quoted(text, *at, mark.len()))?;
            Some((body.start + at, mark))
        })
        .min()
}

/// Whether a range of the text is in quotes, or begins with a character that makes it code.
fn is_quoted(text: &str, at: usize, length: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let after = text.get(at + length..).and_then(|text| text.chars().next());
    let is_quote =
        |c: Option<char>| c.is_some_and(|c| matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»'));
    is_quote(before) || is_quote(after)
}

/// The mandatory literals of a pattern.
fn literal_parts(pattern: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let literal = match c {
            '\\' => chars.next().filter(|c| !c.is_alphanumeric()),
            '[' => {
                while chars.next().is_some_and(|c| c != ']') {}
                None
            }
            '{' => {
                while chars.next().is_some_and(|c| c != '}') {}
                None
            }
            // The syntax of a group is not text.
            '(' if chars.peek() == Some(&'?') => {
                while chars.next().is_some_and(|c| !matches!(c, ':' | '=' | '!' | '>')) {}
                None
            }
            '(' | ')' | '|' | '*' | '+' | '?' | '.' | '^' | '$' => None,
            c => Some(c),
        };
        match (literal.filter(|_| !matches!(chars.peek(), Some('?' | '*'))), parts.last_mut()) {
            (Some(c), Some(last)) => last.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::literal_parts;

    #[test]
    fn stretches_of_patterns() {
        assert_eq!(literal_parts(r"(?:</think>|<\|end\|>)\s*"), ["</think>", "<|end|>"]);
        assert_eq!(literal_parts(r"(?P<name>[^\s<]+)\[ARGS\]\d{2}"), ["[ARGS]"]);
    }
}
