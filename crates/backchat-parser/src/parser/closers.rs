//! Turn markers, which end every field, and the closers of a field that are not turn markers.

use crate::pattern::PatternPart;
use crate::template::{Delimiter, Field};

/// The markers that end the turn, and so every region: those at which every close ends. A close may include a bracket
/// before the marker, or only look ahead to it. If reasoning has only its own closer, the one marker that ends an answer as
/// well as calls is such a marker.
pub(super) fn turn_marks(fields: &[Field]) -> Vec<String> {
    let closed = || fields.iter().filter_map(|field| Some((field, marks(field.close.as_ref()?))));
    let has = |mark: &String, (_, marks): &(&Field, Vec<String>)| marks.contains(mark);
    let Some((_, mut shared)) = closed().next() else { return Vec::new() };
    shared.retain(|mark| closed().all(|close| has(mark, &close)));
    if shared.is_empty()
        && let Some((_, ends)) = closed().find(|(field, _)| field.open.is_none())
        && let [end] = ends.as_slice()
        && closed().filter(|close| has(end, close)).count() > 1
    {
        return ends;
    }
    shared
}

/// The literals that a match of a delimiter ends with, or looks ahead to.
fn marks(delimiter: &Delimiter) -> Vec<String> {
    let mut marks = Vec::new();
    ends(&delimiter.pattern().outline(), &mut marks);
    marks
}

fn ends(parts: &[PatternPart], marks: &mut Vec<String>) {
    match parts.iter().rfind(is_seen) {
        Some(PatternPart::Text(text)) => {
            let text = text.trim();
            // A line break is not a marker: text has some, too.
            if !text.is_empty() && !marks.iter().any(|mark| mark == text) {
                marks.push(text.to_owned());
            }
        }
        Some(PatternPart::Group { parts, .. } | PatternPart::Many(parts) | PatternPart::Ahead(parts)) => {
            ends(parts, marks)
        }
        Some(PatternPart::Either(branches)) => branches.iter().for_each(|branch| ends(branch, marks)),
        _ => {}
    }
}

/// Whether a field has a closer that is not a turn marker.
pub(super) fn has_own(field: &Field, turn_marks: &[String]) -> bool {
    let is_own = |closer: Option<String>| closer.is_none_or(|literal| !turn_marks.contains(&literal));
    field.close.as_ref().is_some_and(|close| alternatives(close).into_iter().any(is_own))
}

/// The alternatives of a delimiter: the trimmed text of each that is a literal.
fn alternatives(delimiter: &Delimiter) -> Vec<Option<String>> {
    match delimiter.literals() {
        Some(literals) => literals.iter().map(|literal| Some(literal.trim().to_owned())).collect(),
        None => of_parts(&delimiter.pattern().outline()),
    }
}

fn of_parts(parts: &[PatternPart]) -> Vec<Option<String>> {
    match parts.iter().filter(is_seen).collect::<Vec<_>>().as_slice() {
        [PatternPart::Text(text)] => vec![Some(text.trim().to_owned())],
        [PatternPart::Group { parts, .. }] => of_parts(parts),
        [PatternPart::Either(branches)] => branches.iter().flat_map(|branch| of_parts(branch)).collect(),
        _ => vec![None],
    }
}

fn is_seen(part: &&PatternPart) -> bool {
    !matches!(part, PatternPart::Space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[test]
    fn a_marker_that_closes_every_field_belongs_to_none() {
        for (thought, call, content, marks, own) in [
            ("</t>", "</c>", "<end>", &[][..], [true, true, true]),
            (r"(?:</t>|<end>)\\s*", r"(?:</c>\\s*</cs>|<end>)\\s*", r"<end>\\s*", &["<end>"], [true, true, false]),
            (r"</t>|<end>", "<end>", "<end>|<stop>", &["<end>"], [true, false, true]),
            (r"</t>|(?:<end>)", "<end>|$", "<end>", &["<end>"], [true, true, false]),
            (
                r"</t>|<end>",
                r"\\)(?=, |\\]<end_of_calls>|<end>)",
                "<end>|<end_of_calls>",
                &["<end>"],
                [true, true, true],
            ),
            (r"</t>|<end>", r"\\}\\s*(?:<end>|$)", "<end>", &["<end>"], [true, true, false]),
            (r"</t>|\\n", r"</c>|\\n", r"\\n", &[], [true, true, true]),
            ("</t>", "</c>|<end>", "<end>", &["<end>"], [true, true, false]),
            ("</t>", "</c>|<end>", "</c>|<end>", &[], [true, true, true]),
        ] {
            let json = format!(
                r#"{{"start_anchor": "<bot>", "fields": {{
                    "thought": {{"open": "<t>", "close_pattern": "{thought}"}},
                    "call": {{"open": "<c>", "close_pattern": "{call}"}},
                    "content": {{"close_pattern": "{content}"}}}}}}"#
            );
            let template = Template::load(&json).unwrap().template;
            let found = turn_marks(template.fields());
            assert_eq!(found, marks, "{json}");
            let has_own: Vec<bool> = template.fields().iter().map(|field| self::has_own(field, &found)).collect();
            assert_eq!(has_own, own, "{json}");
        }
    }
}
