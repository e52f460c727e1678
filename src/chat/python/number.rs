//! Numbers as Python writes them.

use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr};

/// An integer too long for the engine's numbers: it can be printed and serialised, not reckoned with.
#[derive(Debug)]
pub(crate) struct LongInteger(pub(crate) Box<str>);

impl Object for LongInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

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
