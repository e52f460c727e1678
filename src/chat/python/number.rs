//! Numbers as Python reads and writes them.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use minijinja::Value;
use minijinja::value::{Object, ObjectRepr};
use regex_syntax::hir::{Class, HirKind};

/// An integer too long for the engine's numbers: it can be printed and serialised, not reckoned with.
#[derive(Debug)]
pub(crate) struct LongInteger(pub(crate) Box<str>);

impl Object for LongInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// An integer as a value, in the smallest of the engine's types.
pub(crate) fn int(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

/// Python converts no text of more digits than this to an integer.
const MAX_DIGITS: usize = 4300;

/// `int(text, base)`, if that is an integer.
pub(crate) fn parse_int(text: &str, base: u32) -> Option<Value> {
    let text = ascii(text)?;
    let (negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(unsigned) => (text.starts_with('-'), unsigned),
        None => (false, &*text),
    };
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
    if radix == 10 && digits.len() > MAX_DIGITS {
        return None;
    }
    match i128::from_str_radix(&digits, radix) {
        Ok(value) => Some(int(if negative { -value } else { value })),
        Err(_) if radix == 10 => {
            let sign = if negative { "-" } else { "" };
            let long = format!("{sign}{}", digits.trim_start_matches('0'));
            Some(Value::from_object(LongInteger(long.into())))
        }
        Err(_) => None,
    }
}

/// `float(text)`, if that is a number.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = ascii(text)?;
    without_underscores(&text, |c| c.is_ascii_digit())?.parse().ok()
}

/// `int(number)`: its whole part, unless it is infinite or no number.
pub(crate) fn truncated(number: f64) -> Option<Value> {
    let whole = number.trunc();
    if !whole.is_finite() {
        return None;
    }
    // From here up, a double holds integers that the engine's numbers cannot.
    Some(if whole.abs() < 2_f64.powi(126) {
        int(whole as i128)
    } else {
        Value::from_object(LongInteger(format!("{whole:.0}").into()))
    })
}

/// What Python's number parsers look at: the text without white space around it, to which the separators U+001C to
/// U+001F do not belong, and with an ASCII digit for the digit of any script. Nothing if that leaves other characters.
fn ascii(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    if text.is_ascii() {
        return Some(Cow::Borrowed(text));
    }
    let digits = text.chars().map(|c| if c.is_ascii() { Some(c) } else { decimal_digit(c) });
    digits.collect::<Option<String>>().map(Cow::Owned)
}

/// Removes underscores, each of which must stand between two digits.
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

/// The ASCII digit of the same value, for a decimal digit of any script.
fn decimal_digit(c: char) -> Option<char> {
    let at = DIGITS.partition_point(|&(_, last)| last < c);
    let &(zero, last) = DIGITS.get(at)?;
    (zero <= c && c <= last).then(|| char::from_digit((c as u32 - zero as u32) % 10, 10)).flatten()
}

/// The ranges of Unicode's decimal digits. Each starts at a zero, and every ten digits make a set.
static DIGITS: LazyLock<Vec<(char, char)>> =
    LazyLock::new(|| match regex_syntax::parse(r"\d").map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class.iter().map(|range| (range.start(), range.end())).collect(),
        _ => vec![('0', '9')],
    });

/// Appends `repr()` of a double: the shortest digits that read back, an exponent from 1e16 up and below 1e-4.
pub(crate) fn write_float(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{digits}e{sign}{:02}", exponent.unsigned_abs()));
    } else {
        out.push_str(&format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::write_float;

    #[test]
    fn floats_read_as_in_python() {
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
