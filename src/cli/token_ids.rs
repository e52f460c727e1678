//! Token ids from a key of a row or from a file.

use super::{Failure, input};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{self, Value};

/// The ids of a list.
pub fn of_value(key: &str, value: &Value) -> Result<Vec<u32>, String> {
    let list = value.as_list().ok_or_else(|| format!("`{key}` must be a list of token ids, not {}", value.kind()))?;
    let id = |(place, value): (usize, &Value)| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| format!("`{key}[{place}]` must be a whole number from 0 to 4294967295, not {value}"))
    };
    list.iter().enumerate().map(id).collect()
}

/// The ids in a file.
pub fn of_file(path: &str) -> Result<Vec<u32>, Failure> {
    of_text(&input::text(path)?).map_err(|message| {
        let place = Place::file(input::name(path));
        let help = "write the ids as a JSON list, or as numbers with spaces between them";
        Failure::from(Diagnostic::error("invalid-ids", message).at(place).help(help))
    })
}

/// The ids of a text: a list of JSON, or numbers with white space between them.
fn of_text(text: &str) -> Result<Vec<u32>, String> {
    if text.trim_start().starts_with('[') {
        let value = json::read(text).map_err(|error| format!("not valid JSON: {}", error.message()))?;
        return of_value("ids", &value);
    }
    let id = |word: &str| word.parse().map_err(|_| format!("{word:?} is not a token id"));
    text.split_whitespace().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_a_file() {
        assert_eq!(of_text("[1, 2]\n"), Ok(vec![1, 2]));
        assert_eq!(of_text(" 1\n4294967295 "), Ok(vec![1, u32::MAX]));
        assert_eq!(of_text(""), Ok(vec![]));
        for wrong in ["[1.5]", "[-1]", "[true]", "1,2", "x", "[1"] {
            assert!(of_text(wrong).is_err(), "{wrong}");
        }
    }
}
