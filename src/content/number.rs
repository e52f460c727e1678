//! The `int` and `float` parsers: Python's `int()` and `float()`.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use super::{Mode, Reason, space};
use crate::json::Number;

/// Python converts no text of more digits than this to an integer.
pub(super) const MAX_DIGITS: usize = 4300;

/// The value of `int(text)`.
pub(crate) fn int(text: &str, mode: Mode) -> Result<Number, Reason> {
    let not_an_integer = || Reason::NotInteger(text.to_owned());
    let (negative, rest) = sign(space::trim(text));
    let (digits, rest) = digits(rest).filter(|(digits, _)| !digits.is_empty()).ok_or_else(not_an_integer)?;
    if !rest.is_empty() {
        return Err(not_an_integer());
    }
    if mode == Mode::Reference && digits.len() > MAX_DIGITS {
        return Err(Reason::TooManyDigits(digits.len()));
    }
    let digits = without_leading_zeros(&digits);
    let sign = if negative && digits != "0" { "-" } else { "" };
    Ok(Number::from_text(format!("{sign}{digits}")))
}

/// The value of `float(text)`, written with the digits it was written with.
pub(crate) fn float(text: &str) -> Result<Number, Reason> {
    let (negative, body) = sign(space::trim(text));
    let sign = if negative { "-" } else { "" };
    match body.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Ok(Number::from_text(format!("{sign}Infinity"))),
        "nan" => return Ok(Number::from_text("NaN")),
        _ => {}
    }
    let unsigned = unsigned_float(body).ok_or_else(|| Reason::NotNumber(text.to_owned()))?;
    let number = Number::from_text(format!("{sign}{unsigned}"));
    Ok(if number.as_f64().is_infinite() { Number::from_text(format!("{sign}Infinity")) } else { number })
}

/// The text of a JSON number for what Python reads as a float without sign.
fn unsigned_float(text: &str) -> Option<String> {
    let (whole, rest) = digits(text)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest)?,
        None => (String::new(), rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (exponent, rest) = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let (negative, rest) = sign(rest);
            let (digits, rest) = digits(rest).filter(|(digits, _)| !digits.is_empty())?;
            (format!("e{}{digits}", if negative { "-" } else { "" }), rest)
        }
        None => (String::new(), rest),
    };
    if !rest.is_empty() {
        return None;
    }
    let whole = without_leading_zeros(&whole);
    Some(match (fraction.is_empty(), exponent.is_empty()) {
        (true, true) => format!("{whole}.0"),
        (true, false) => format!("{whole}{exponent}"),
        (false, _) => format!("{whole}.{fraction}{exponent}"),
    })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The digits at the start, as ASCII, and the text after them. Nothing if an underscore is not between two digits.
fn digits(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut after_underscore = false;
    for (at, c) in text.char_indices() {
        if let Some(digit) = digit_value(c) {
            out.push(digit);
            after_underscore = false;
        } else if c == '_' && !after_underscore && !out.is_empty() {
            after_underscore = true;
        } else {
            return (!after_underscore).then(|| (out, text.get(at..).unwrap_or("")));
        }
    }
    (!after_underscore).then_some((out, ""))
}

fn without_leading_zeros(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

/// The ASCII digit of the same value, for a decimal digit of any script.
fn digit_value(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let at = DIGIT_RANGES.partition_point(|&(_, last)| last < c);
    let &(zero, last) = DIGIT_RANGES.get(at)?;
    (zero <= c && c <= last).then(|| char::from_digit((c as u32 - zero as u32) % 10, 10)).flatten()
}

/// The ranges of Unicode's decimal digits. Each starts at a zero, and every ten digits make a set.
static DIGIT_RANGES: LazyLock<Vec<(char, char)>> =
    LazyLock::new(|| match regex_syntax::parse(r"\d").map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class.iter().map(|range| (range.start(), range.end())).collect(),
        _ => vec![('0', '9')],
    });

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of Python's `int(text)`; `None` is a ValueError.
    #[test]
    fn int_reads_what_python_reads() {
        let cases: &[(&str, Option<&str>)] = &[
            ("5", Some("5")),
            ("-0", Some("0")),
            ("+5", Some("5")),
            ("007", Some("7")),
            ("5_0", Some("50")),
            ("٣٤", Some("34")),
            ("3٤", Some("34")),
            ("𝟘𝟙", Some("1")),
            ("１_0", Some("10")),
            ("\u{a0}5\u{3000}", Some("5")),
            ("\u{85}5", Some("5")),
            ("\t\n\u{b}\u{c}\r 5", Some("5")),
            ("12345678901234567890123", Some("12345678901234567890123")),
            ("\u{1c}5", None),
            ("5\u{1f}", None),
            ("5\u{180e}", None),
            ("\u{feff}5", None),
            ("--5", None),
            ("- 5", None),
            ("_5", None),
            ("5_", None),
            ("5__0", None),
            ("-_5", None),
            ("0x10", None),
            ("²", None),
            ("1e3", None),
            ("1\0", None),
            ("", None),
        ];
        for &(text, want) in cases {
            for mode in [Mode::Stable, Mode::Reference] {
                let got = int(text, mode).ok();
                assert_eq!(got.as_ref().map(Number::as_str), want, "int({text:?}) in {mode:?} mode");
            }
        }
    }

    #[test]
    fn only_reference_mode_bounds_the_digits_of_an_integer() {
        let long = "1".repeat(MAX_DIGITS + 1);
        assert_eq!(int(&long, Mode::Stable).unwrap().as_str(), long);
        assert_eq!(int(&long, Mode::Reference), Err(Reason::TooManyDigits(4301)));
        assert!(int(&format!("-{}", "1".repeat(MAX_DIGITS)), Mode::Reference).is_ok(), "the sign is no digit");
        assert!(int(&format!("0{}", "1".repeat(MAX_DIGITS)), Mode::Reference).is_err(), "a leading zero is one");
        assert!(int(&("1_".repeat(MAX_DIGITS - 1) + "1"), Mode::Reference).is_ok(), "an underscore is none");
    }

    /// The result of Python's `float(text)`, with its original digits; `None` is a ValueError.
    #[test]
    fn float_reads_what_python_reads() {
        let cases: &[(&str, Option<&str>)] = &[
            ("5", Some("5.0")),
            ("1.50", Some("1.50")),
            (".5", Some("0.5")),
            ("5.", Some("5.0")),
            ("007.5", Some("7.5")),
            ("-0", Some("-0.0")),
            ("1e5", Some("1e5")),
            ("1e+5", Some("1e5")),
            ("1E-5", Some("1e-5")),
            ("1_0.5_0", Some("10.50")),
            ("1e1_0", Some("1e10")),
            ("٣.٥", Some("3.5")),
            ("1e٣", Some("1e3")),
            ("９.５e１", Some("9.5e1")),
            ("\u{a0}1.5\u{3000}", Some("1.5")),
            ("inf", Some("Infinity")),
            ("-INF", Some("-Infinity")),
            ("+Infinity", Some("Infinity")),
            ("-NaN", Some("NaN")),
            ("1e400", Some("Infinity")),
            ("-1e400", Some("-Infinity")),
            ("1e-400", Some("1e-400")),
            ("\u{1c}5", None),
            (".", None),
            ("", None),
            ("1_.5", None),
            ("1._5", None),
            ("._5", None),
            ("1e", None),
            ("1_e5", None),
            ("1e_5", None),
            ("1__0", None),
            ("infinit", None),
            ("infinity_", None),
            ("ＩＮＦ", None),
            ("٣٫٥", None),
            ("1d5", None),
            ("0x1p3", None),
            ("1,5", None),
            ("1e5.0", None),
            ("+-1", None),
            ("½", None),
            ("nan(1)", None),
        ];
        for &(text, want) in cases {
            let got = float(text).ok();
            assert_eq!(got.as_ref().map(Number::as_str), want, "float({text:?})");
        }
    }

    #[test]
    fn the_digits_of_every_script_come_in_tens() {
        assert!(DIGIT_RANGES.len() > 50);
        for &(first, last) in DIGIT_RANGES.iter() {
            assert_eq!((last as u32 - first as u32 + 1) % 10, 0, "{first:?}");
        }
    }
}
