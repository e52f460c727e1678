//! JSON text as Python's `json.dumps` writes it.

use std::fmt::Write;

use super::number;
use crate::json::{Number, escape};

/// Appends a string in quotes; with `ensure_ascii`, everything except printable ASCII is escaped.
pub fn write_string(out: &mut String, text: &str, ensure_ascii: bool) {
    let is_plain = |c: char| c != '"' && c != '\\' && c >= ' ' && (!ensure_ascii || c <= '~');
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c| !is_plain(c)) {
        let (plain, escaped) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = escaped.chars();
        // Writing to a string does not fail.
        let _ = chars.next().map_or(Ok(()), |c| escape(c, out));
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// JSON text with every character outside ASCII escaped; such characters occur in strings alone.
pub fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Writing to a string does not fail.
        let _ = if c.is_ascii() { out.write_char(c) } else { escape(c, &mut out) };
    }
    out
}

/// Appends a double; NaN and the infinities by their names in JavaScript.
pub fn write_float(out: &mut String, value: f64) {
    match value {
        nan if nan.is_nan() => out.push_str("NaN"),
        f64::INFINITY => out.push_str("Infinity"),
        f64::NEG_INFINITY => out.push_str("-Infinity"),
        finite => number::write_float(out, finite),
    }
}

/// `json.dumps(json.loads(number))`: integers keep their digits, other numbers are written as doubles.
pub fn number(number: &Number) -> String {
    if number.is_integer() {
        return if number.as_str() == "-0" { "0".to_owned() } else { number.as_str().to_owned() };
    }
    let mut out = String::new();
    write_float(&mut out, number.as_f64());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_like_python() {
        for (text, ensure_ascii, json) in [
            ("a\"b\\c/", false, r#""a\"b\\c/""#),
            ("\n\r\t\u{8}\u{c}\0\u{1f}", false, r#""\n\r\t\b\f\u0000\u001f""#),
            ("\u{7f}é\u{2028}😀", false, "\"\u{7f}é\u{2028}😀\""),
            ("\u{7f}é\u{2028}😀~", true, r#""\u007f\u00e9\u2028\ud83d\ude00~""#),
        ] {
            let mut out = String::new();
            write_string(&mut out, text, ensure_ascii);
            assert_eq!(out, json, "{text:?}");
        }
    }

    #[test]
    fn ascii_output_is_the_same_json() {
        assert_eq!(ascii(r#"["é", "😀", 1]"#), r#"["\u00e9", "\ud83d\ude00", 1]"#);
    }

    #[test]
    fn floats_are_written_like_python() {
        let cases = [
            ("1.50", "1.5"),
            ("1e5", "100000.0"),
            ("1e16", "1e+16"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("-0.0", "-0.0"),
            ("1.25e300", "1.25e+300"),
            ("NaN", "NaN"),
            ("-1e400", "-Infinity"),
            ("-0", "0"),
            ("12345678901234567890", "12345678901234567890"),
        ];
        for (text, want) in cases {
            assert_eq!(number(&Number::from_text(text)), want, "{text}");
        }
    }
}
