//! A change of a template as an edit of its text: one value is rewritten, every other byte stays.

use super::candidates::{Candidate, value_at};
use backchat_core::diagnostic::Edit;
use backchat_core::json::{self, Path, Value};
use backchat_core::text::slice;

/// The edit that turns the template at `base` in a text into a candidate.
///
/// A value that both have is replaced directly. If a key is added or removed, its object is rewritten.
pub(super) fn edit(text: &str, base: &Path, candidate: &Candidate) -> Option<Edit> {
    let (document, places) = json::read_with_places(text).ok()?;
    let written = value_at(&document, base)?;
    let has = |template: &Value, place: &Path| value_at(template, place).is_some();
    let mut place = candidate.place.clone();
    while !(has(&candidate.template, &place) && has(written, &place)) {
        place = place.split_last()?.0.clone();
    }
    let span = places.at(&place.below(base))?.value.clone();
    let value = value_at(&candidate.template, &place)?;
    Some(Edit { text: laid_out(text, span.start, value), span })
}

/// A value formatted for a position: objects on their own lines, indented like the line they begin on.
fn laid_out(text: &str, at: usize, value: &Value) -> String {
    if !matches!(value, Value::Object(_)) {
        return value.to_string();
    }
    let line = slice(text, ..at).rsplit('\n').next().unwrap_or("");
    let depth = line.len() - line.trim_start().len();
    let indent = slice(line, ..depth);
    // The first indented line shows the width of a level.
    let level = text.lines().find_map(|line| {
        let width = line.len() - line.trim_start().len();
        (width > 0).then(|| slice(line, ..width))
    });
    match level {
        Some(level) => value.to_pretty(level).replace('\n', &format!("\n{indent}")),
        None => value.to_string(),
    }
}
