//! Numbers as Python's `int()`, `float()` and `repr()` read and write them.

use std::borrow::Cow;
use std::fmt::Write;

use super::space;
use crate::unicode::DIGITS;

/// The most digits that `int()` converts from decimal text.
pub const MAX_DIGITS: usize = 4300;

/// The integer that `int(text, base)` reads, at any length: the caller enforces [`MAX_DIGITS`].
#[derive(Debug, PartialEq, Eq)]
pub struct Int {
    pub negative: bool,
    /// Digits of the radix in ASCII, leading zeros included, never empty.
    pub digits: String,
    pub radix: u32,
}

impl Int {
    /// Sign and digits without leading zeros; zero has no sign.
    pub fn canonical(&self) -> String {
        let digits = without_leading_zeros(&self.digits);
        let sign = if self.negative && digits != "0" { "-" } else { "" };
        format!("{sign}{digits}")
    }
}

/// `int(text, base)`; `None` is a ValueError. Base 0 reads the base off the prefix.
pub fn int(text: &str, base: u32) -> Option<Int> {
    let text = ascii(space::trim(text))?;
    let (negative, unsigned) = sign(&text);
    let prefixes = [("0x", "0X", 16), ("0o", "0O", 8), ("0b", "0B", 2)];
    let prefixed =
        prefixes.iter().filter(|(.., radix)| base == 0 || base == *radix).find_map(|(lower, upper, radix)| {
            let digits = unsigned.strip_prefix(lower).or_else(|| unsigned.strip_prefix(upper))?;
            Some((digits.strip_prefix('_').unwrap_or(digits), *radix))
        });
    let (digits, radix) = prefixed.unwrap_or((unsigned, if base == 0 { 10 } else { base }));
    if !(2..=36).contains(&radix) {
        return None;
    }
    let digits = without_underscores(digits, |c| c.is_digit(radix))?;
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    // Without a base, `010` could be octal to some: Python refuses to guess.
    if base == 0 && prefixed.is_none() && digits.starts_with('0') && digits.contains(|c| c != '0') {
        return None;
    }
    Some(Int { negative, digits: digits.into_owned(), radix })
}

/// `float(text)` as the text of a JSON number with the digits it was written with, or `NaN`, `Infinity`, `-Infinity`;
/// `None` is a ValueError.
pub fn float(text: &str) -> Option<String> {
    let text = ascii(space::trim(text))?;
    let text = without_underscores(&text, |c| c.is_ascii_digit())?;
    let (negative, body) = sign(&text);
    let sign = if negative { "-" } else { "" };
    match body.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(format!("{sign}Infinity")),
        "nan" => return Some("NaN".to_owned()),
        _ => {}
    }
    let number = format!("{sign}{}", unsigned_float(body)?);
    let overflows = number.parse::<f64>().is_ok_and(f64::is_infinite);
    Some(if overflows { format!("{sign}Infinity") } else { number })
}

/// The text of a JSON number for a float without sign, in ASCII and without underscores.
fn unsigned_float(text: &str) -> Option<String> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (exponent, rest) = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let (negative, rest) = sign(rest);
            let (digits, rest) = digits(rest);
            if digits.is_empty() {
                return None;
            }
            (format!("e{}{digits}", if negative { "-" } else { "" }), rest)
        }
        None => (String::new(), rest),
    };
    if !rest.is_empty() {
        return None;
    }
    let whole = without_leading_zeros(whole);
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

/// The ASCII digits at the start, and the text after them.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The text with an ASCII digit for the decimal digit of any script. `None` if that leaves other characters.
fn ascii(text: &str) -> Option<Cow<'_, str>> {
    if text.is_ascii() {
        return Some(Cow::Borrowed(text));
    }
    let digits = text.chars().map(|c| if c.is_ascii() { Some(c) } else { decimal_digit(c) });
    digits.collect::<Option<String>>().map(Cow::Owned)
}

/// Removes underscores. `None` if one is not between two digits.
fn without_underscores(text: &str, is_digit: impl Fn(char) -> bool) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let mut pieces = text.split('_').peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(piece) = pieces.next() {
        let follows = !out.is_empty();
        if follows && !piece.starts_with(&is_digit) || pieces.peek().is_some() && !piece.ends_with(&is_digit) {
            return None;
        }
        out.push_str(piece);
    }
    Some(Cow::Owned(out))
}

fn without_leading_zeros(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

/// The ASCII digit of the same value, for a decimal digit of any script.
fn decimal_digit(c: char) -> Option<char> {
    // Each range starts at a zero, and every ten digits make a set.
    let &(zero, _) = DIGITS.range_of(c)?;
    char::from_digit((c as u32 - zero as u32) % 10, 10)
}

/// The digits and the exponent of a finite number in scientific notation: the shortest digits that read back, or
/// `precision` digits after the point.
pub fn scientific(value: f64, precision: Option<usize>) -> (String, i32) {
    let mut text = match precision {
        Some(precision) => format!("{value:.precision$e}"),
        None => format!("{value:e}"),
    };
    let at = text.find('e');
    let exponent = at.and_then(|at| text.get(at + 1..)?.parse().ok());
    debug_assert!(exponent.is_some(), "`{text}` is not in scientific notation");
    text.truncate(at.unwrap_or(text.len()));
    (text, exponent.unwrap_or(0))
}

/// Appends an exponent as Python writes it, with a sign and at least two digits.
pub fn write_exponent(out: &mut String, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a string does not fail.
    let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
}

/// Appends `repr()` of a double: the shortest digits that read back, an exponent from 1e16 up and below 1e-4.
pub fn write_float(out: &mut String, value: f64) {
    match value {
        nan if nan.is_nan() => return out.push_str("nan"),
        f64::INFINITY => return out.push_str("inf"),
        f64::NEG_INFINITY => return out.push_str("-inf"),
        _ => {}
    }
    let (digits, exponent) = scientific(value, None);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        out.push_str(&digits);
        write_exponent(out, exponent);
    } else {
        out.push_str(&format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python's `int(text)` gives; `None` is a ValueError.
    #[test]
    fn int_reads_text_like_python() {
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
            assert_eq!(int(text, 10).map(|int| int.canonical()).as_deref(), want, "int({text:?})");
        }
    }

    /// What `int(text, base)` gives in digits of its radix; `None` is a ValueError.
    #[test]
    fn int_reads_any_base() {
        for (text, base, want) in [
            ("ff", 16, Some(("ff", 16))),
            ("0XfF", 16, Some(("fF", 16))),
            ("0x_f", 0, Some(("f", 16))),
            ("0b1_0", 0, Some(("10", 2))),
            ("00", 0, Some(("00", 10))),
            ("010", 0, None),
            ("0x", 16, None),
            ("0x1", 10, None),
            ("8", 8, None),
            ("z", 36, Some(("z", 36))),
            ("1", 1, None),
            ("1", 37, None),
        ] {
            let got = int(text, base);
            assert_eq!(got.as_ref().map(|int| (int.digits.as_str(), int.radix)), want, "int({text:?}, {base})");
        }
    }

    /// What Python's `float(text)` gives, with the digits it was written with; `None` is a ValueError.
    #[test]
    fn float_reads_text_like_python() {
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
            assert_eq!(float(text).as_deref(), want, "float({text:?})");
        }
    }

    #[test]
    fn the_digits_of_every_script_come_in_tens() {
        assert!(DIGITS.ranges().len() > 50);
        for &(first, last) in DIGITS.ranges() {
            assert_eq!((last as u32 - first as u32 + 1) % 10, 0, "{first:?}");
        }
    }

    #[test]
    fn floats_are_displayed_like_python() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e20, "1.5e+20"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let mut out = String::new();
            write_float(&mut out, value);
            assert_eq!(out, text);
        }
    }
}
