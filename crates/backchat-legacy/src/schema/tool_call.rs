//! `x-parser: "gemma4-tool-call"`, a keyword of the format: objects with bare keys, and strings between `<|"|>`.

use std::sync::LazyLock;

use super::substitute::{Replacement, substitute};
use backchat_core::json::Value;
use backchat_parser::pattern::{Pattern, TooMuchWork};

/// The mark on both sides of a string.
pub(crate) const STRING_MARK: &str = "<|\"|>";

/// A key without quotes, and the text that replaces it.
static KEY: LazyLock<Option<(Pattern, Replacement)>> = LazyLock::new(|| {
    let pattern = Pattern::in_re(r"(?<=[{,])(\w+):").ok()?;
    let replacement = Replacement::read(r#""\1":"#, &pattern).ok()?;
    Some((pattern, replacement))
});

/// The text as JSON, if it is well formed.
pub(super) fn to_json(text: &str, budget: &mut u64) -> Result<String, TooMuchWork> {
    let mut strings = Vec::new();
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(STRING_MARK)
        && let Some((inside, beyond)) = after.split_once(STRING_MARK)
    {
        bare.push_str(before);
        bare.push_str(&format!("\0{}\0", strings.len()));
        strings.push(inside);
        rest = beyond;
    }
    bare.push_str(rest);
    if let Some((pattern, replacement)) = &*KEY {
        bare = substitute(pattern, replacement, &bare, usize::MAX, budget)?;
    }
    Ok(put_back(&bare, &strings))
}

/// Puts each string back, as JSON, in the place of its number.
fn put_back(bare: &str, strings: &[&str]) -> String {
    let mut out = String::with_capacity(bare.len());
    let mut rest = bare;
    while let Some((before, after)) = rest.split_once('\0') {
        out.push_str(before);
        let number = after.split_once('\0').filter(|(digits, _)| *digits == "0" || !digits.starts_with('0'));
        let string = number.and_then(|(digits, beyond)| Some((strings.get(digits.parse::<usize>().ok()?)?, beyond)));
        match string {
            Some((string, beyond)) => {
                out.push_str(&Value::from(*string).to_string());
                rest = beyond;
            }
            None => {
                out.push('\0');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}
