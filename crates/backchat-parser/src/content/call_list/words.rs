//! The words of a call list: names, constants and numbers.

use backchat_core::json::{self, Value};

/// The largest integer that a double distinguishes from its neighbors.
const MAX_INTEGER: u64 = (1 << 53) - 1;
/// The length of the longest integer that is read, with its sign.
const MAX_INTEGER_LENGTH: usize = 17;

/// Whether a word is a name: parts of letters, digits and `_`, with one `-` or `.` between two.
pub fn is_name(word: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    !word.starts_with(|first: char| first.is_ascii_digit()) && word.split(['-', '.']).all(is_part)
}

/// The JSON of a constant or a number.
pub(super) fn constant_or_number(word: &str) -> Result<&str, &'static str> {
    match word {
        "True" | "true" => return Ok("true"),
        "False" | "false" => return Ok("false"),
        "None" | "null" => return Ok("null"),
        _ => {}
    }
    let Some(Value::Number(number)) =
        json::read(word).ok().filter(|_| !word.starts_with(['N', 'I']) && !word.starts_with("-I"))
    else {
        return Err("expected a string, a number, a list, a dict, `True`, `False` or `None`");
    };
    if number.is_integer() {
        let digits = word.trim_start_matches('-');
        let is_exact = digits.parse::<u64>().is_ok_and(|digits| digits <= MAX_INTEGER);
        if word.len() > MAX_INTEGER_LENGTH || !is_exact {
            return Err("an integer that is not between -(2^53 - 1) and 2^53 - 1");
        }
    } else if number.as_f64().is_infinite() {
        return Err("a number that is too large");
    }
    Ok(word)
}
