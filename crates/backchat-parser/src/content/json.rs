//! The `json` parser: Python's `json.loads` on the text after rewriting its dialect.

use super::{Mode, Reason, json_dialect};
use crate::template::JsonArgs;
use backchat_core::json::{self, Value};
use backchat_core::python::{number, space};

pub(super) fn json(body: &str, args: &JsonArgs, mode: Mode) -> Result<Value, Reason> {
    let value = read(body, args, mode);
    // With `allow_non_json`, text is a valid answer of the reference, so nothing is repaired.
    let is_text = |value: &Result<Value, Reason>| matches!(value, Err(Reason::NotJson { .. }));
    let repaired = mode == Mode::Stable && args.is_dialect();
    if args.allow_non_json && (is_text(&value) || repaired && is_text(&read(body, args, Mode::Reference))) {
        return Ok(if args.strip { space::strip(body) } else { body }.into());
    }
    value
}

/// The value of plain JSON in stable mode, and whether it has a duplicate key.
pub(super) fn load_noting_duplicates(text: &str) -> Result<(Value, bool), Reason> {
    json::read_noting_duplicates(text).map_err(|error| not_json(error, text))
}

fn not_json(error: json::Error, text: &str) -> Reason {
    match error.kind() {
        json::ErrorKind::TooDeep => Reason::TooDeep,
        _ => Reason::NotJson { message: error.message().to_owned(), offset: error.offset(), text: text.to_owned() },
    }
}

fn read(text: &str, args: &JsonArgs, mode: Mode) -> Result<Value, Reason> {
    load(&json_dialect::to_json(text, args, mode)?, mode)
}

/// The value of `json.loads(text)`; in stable mode integers have any length.
pub fn load(text: &str, mode: Mode) -> Result<Value, Reason> {
    let value = json::read(text).map_err(|error| not_json(error, text))?;
    match mode {
        Mode::Reference if text.len() > number::MAX_DIGITS => check_digits(&value).map(|()| value),
        _ => Ok(value),
    }
}

/// Refuses integers that Python refuses for their length.
fn check_digits(value: &Value) -> Result<(), Reason> {
    match value {
        Value::Number(number) if number.is_integer() => {
            let digits = number.as_str().trim_start_matches('-').len();
            if digits > number::MAX_DIGITS { Err(Reason::TooManyDigits(digits)) } else { Ok(()) }
        }
        Value::List(items) => items.iter().try_for_each(check_digits),
        Value::Object(entries) => entries.values().try_for_each(check_digits),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Mode; 2] = [Mode::Stable, Mode::Reference];

    fn args(allow_non_json: bool, strip: bool) -> JsonArgs {
        JsonArgs { strip, unquoted_keys: false, string_delims: Vec::new(), allow_non_json }
    }

    fn line(text: &str, args: &JsonArgs, mode: Mode) -> Result<String, Reason> {
        json(text, args, mode).map(|value| value.to_string())
    }

    #[test]
    fn text_that_json_loads_accepts_is_read() {
        let cases = [
            (" 5 ", "5"),
            ("1.50", "1.50"),
            ("1.5E+3", "1.5E+3"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("-0", "-0"),
            ("NaN", "null"),
            ("-Infinity", "null"),
            ("1e400", "1e400"),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a": 3, "b": 2}"#),
            (r#""\ud83d\ude00\/""#, "\"😀/\""),
            (r#""\ud800""#, "\"\u{fffd}\""),
            ("\"\u{7f}\u{2028}\"", "\"\\u007f\\u2028\""),
        ];
        for (text, want) in cases {
            for mode in BOTH {
                assert_eq!(line(text, &args(false, true), mode).as_deref(), Ok(want), "{text:?} in {mode:?} mode");
            }
        }
    }

    #[test]
    fn text_that_json_loads_rejects_is_rejected() {
        let cases = [
            "",
            "+1",
            "\u{feff}1",
            "\"\u{1f}\"",
            "[1\u{b}]",
            "[1\u{a0}]",
            "01",
            "1.",
            ".5",
            "1_0",
            "٣",
            "-",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{1:2}",
            "'a'",
            "1 2",
            "tru",
            "-NaN",
            "-Inf",
            "\"a",
            r#""\x""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\u00_1""#,
        ];
        for text in cases {
            for mode in BOTH {
                assert!(matches!(json(text, &args(false, true), mode), Err(Reason::NotJson { .. })), "{text:?}");
                assert_eq!(json(text, &args(true, true), mode), Ok(text.into()), "allow_non_json gives the text");
            }
        }
    }

    #[test]
    fn only_json_white_space_is_skipped_and_strip_applies_to_text() {
        for (text, as_text) in [("\u{a0}5 ", "5"), ("\u{1c}[", "[")] {
            assert!(json(text, &args(false, true), Mode::Stable).is_err(), "{text:?}");
            assert_eq!(json(text, &args(true, true), Mode::Stable), Ok(as_text.into()), "{text:?}");
        }
        let unstripped = args(true, false);
        for (text, want) in
            [(" \t\r\n5 ", "5"), ("\u{a0}5", "\"\u{a0}5\""), ("5\u{1c}", "\"5\\u001c\""), (" a ", "\" a \"")]
        {
            assert_eq!(line(text, &unstripped, Mode::Stable).as_deref(), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn depth_is_bounded_even_with_allow_non_json() {
        for depth in [1_000, 100_000] {
            for text in ["[".repeat(depth), "{\"a\":".repeat(depth)] {
                for mode in BOTH {
                    assert_eq!(json(&text, &args(true, true), mode), Err(Reason::TooDeep));
                }
            }
        }
        let deep = "[".repeat(900) + &"]".repeat(900);
        assert!(json(&deep, &args(false, true), Mode::Reference).is_ok());
    }

    #[test]
    fn only_reference_mode_bounds_the_digits_of_an_integer() {
        let long = "9".repeat(4301);
        for text in [long.clone(), format!("[-{long}]"), format!("{{\"a\": {long}}}")] {
            assert_eq!(json(&text, &args(true, true), Mode::Reference), Err(Reason::TooManyDigits(4301)));
            assert_eq!(line(&text, &args(false, true), Mode::Stable).as_deref(), Ok(&*text));
        }
        for text in
            ["-".to_owned() + &"9".repeat(4300), format!("{long}e5"), format!("{long}.5"), format!("\"{long}\"")]
        {
            assert!(json(&text, &args(false, true), Mode::Reference).is_ok());
        }
    }
}
