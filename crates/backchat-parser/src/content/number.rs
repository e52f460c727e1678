//! The `int` and `float` parsers: Python's numbers as JSON numbers, with reasons for failures.

use super::{Mode, Reason};
use backchat_core::json::Number;
use backchat_core::python::number;

/// The value of `int(text)`; in stable mode integers have any length.
pub fn int(text: &str, mode: Mode) -> Result<Number, Reason> {
    let int = number::int(text, 10).ok_or_else(|| Reason::NotInteger(text.to_owned()))?;
    if mode == Mode::Reference && int.digits.len() > number::MAX_DIGITS {
        return Err(Reason::TooManyDigits(int.digits.len()));
    }
    Ok(Number::from_text(int.canonical()))
}

/// The value of `float(text)`, with the digits it was written with.
pub fn float(text: &str) -> Result<Number, Reason> {
    number::float(text).map(Number::from_text).ok_or_else(|| Reason::NotNumber(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::number::MAX_DIGITS;
    use super::*;

    #[test]
    fn only_reference_mode_bounds_the_digits_of_an_integer() {
        let long = "1".repeat(MAX_DIGITS + 1);
        assert_eq!(int(&long, Mode::Stable).unwrap().as_str(), long);
        assert_eq!(int(&long, Mode::Reference), Err(Reason::TooManyDigits(4301)));
        assert!(int(&format!("-{}", "1".repeat(MAX_DIGITS)), Mode::Reference).is_ok(), "the sign is not a digit");
        assert!(int(&format!("0{}", "1".repeat(MAX_DIGITS)), Mode::Reference).is_err(), "a leading zero is one");
        assert!(int(&("1_".repeat(MAX_DIGITS - 1) + "1"), Mode::Reference).is_ok(), "an underscore is none");
    }

    #[test]
    fn failures_quote_the_text() {
        assert_eq!(int("1e3", Mode::Stable), Err(Reason::NotInteger("1e3".to_owned())));
        assert_eq!(float(" x "), Err(Reason::NotNumber(" x ".to_owned())));
    }
}
