//! Numbers that keep their text: equal only if they are written the same, converted only on request.

use smol_str::{SmolStr, ToSmolStr, format_smolstr};

/// A number that keeps its text, so that long integers and `1.50` survive.
///
/// The text is a JSON number, or one of `NaN`, `Infinity`, `-Infinity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(SmolStr);

impl Number {
    /// Keeps the text of a JSON number unchanged.
    pub fn from_text(text: impl AsRef<str>) -> Self {
        Self(SmolStr::new(text))
    }

    /// The number as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is an integer, as Python's `json.loads` would read it.
    pub fn is_integer(&self) -> bool {
        self.0.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    }

    /// Whether JSON can express it: it is neither NaN nor an infinity. A number that is too large for a double can be written.
    pub fn is_json(&self) -> bool {
        !matches!(self.as_str(), "NaN" | "Infinity" | "-Infinity")
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        match self.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// The value as a 64-bit integer, if it is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The value as a 64-bit integer from 0, if it is one and fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl From<f64> for Number {
    /// The shortest text that reads back as the same double, always with a point or an exponent.
    fn from(value: f64) -> Self {
        Self(match value {
            nan if nan.is_nan() => SmolStr::new_static("NaN"),
            f64::INFINITY => SmolStr::new_static("Infinity"),
            f64::NEG_INFINITY => SmolStr::new_static("-Infinity"),
            finite => format_smolstr!("{finite:?}"),
        })
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Self(value.to_smolstr())
            }
        }
    )*};
}

from_integer!(i32, i64, u32, u64, usize);
