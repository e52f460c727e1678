//! Whether a case shows what was said: the proof finds parts by words that they have, which texts of a hunt may share with
//! other parts, with headers and with marks.

use super::excuses::texts;
use crate::derive::proof::case::Case;
use backchat_core::json::Value;
use backchat_probe::probe::Answer;

/// How many characters the plain words of a part have at least, by which it is found.
const SHORTEST: usize = 5;

/// Whether a case has the whole turn, with every part that it expects.
pub(super) fn is_whole(case: &Case) -> bool {
    is_found(&case.expected) && is_cut_well(case)
}

/// Whether no part can be taken for another one, or for a mark.
fn is_found(expected: &Answer) -> bool {
    let Answer { content, reasoning, calls } = expected;
    let is_own = |text: &Option<String>, others: &str| {
        text.as_deref().is_none_or(|text| {
            let words = plain_words(text);
            words.chars().count() >= SHORTEST && !others.contains(words)
        })
    };
    let called: String =
        calls.iter().map(|call| format!("{} {}", call.name, Value::Object(call.arguments.clone()))).collect();
    let [said, thought] = [content, reasoning].map(|text| text.as_deref().unwrap_or_default());
    is_own(content, &format!("{thought} {called}"))
        && is_own(reasoning, &format!("{said} {called}"))
        && !calls.iter().any(|call| said.contains(&call.name) || thought.contains(&call.name))
}

/// The longest run of plain words.
fn plain_words(text: &str) -> &str {
    let runs = text.split(|c: char| !c.is_alphanumeric() && c != ' ').map(str::trim);
    runs.max_by_key(|run| run.len()).unwrap_or_default()
}

/// Whether every text that the render has is in the turn. A text that begins like the end of the prompt, or contains a
/// header, may be cut.
fn is_cut_well(case: &Case) -> bool {
    texts(&case.said).iter().all(|text| {
        let text = text.trim();
        let in_json = Value::from(text).to_string();
        let forms = [text, in_json.trim_matches('"')];
        forms.iter().all(|form| case.text.contains(form) || !case.whole.contains(form))
    })
}
