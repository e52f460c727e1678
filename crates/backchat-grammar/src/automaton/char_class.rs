//! Character classes in brackets, which all notations share.

use super::LAST;

/// Writes a class of characters, given in order: negated if it contains the last code point, and `any` if it contains
/// all of them. `write_char` writes one character in the notation.
pub(crate) fn bracketed(
    out: &mut String,
    ranges: impl Iterator<Item = (u32, u32)> + Clone,
    write_char: fn(&mut String, u32),
    any: &str,
) {
    let start = out.len();
    let shown = |out: &mut String, low: u32, high: u32| {
        write_char(out, low);
        if high > low {
            if high > low + 1 {
                out.push('-');
            }
            write_char(out, high);
        }
    };
    if ranges.clone().last().is_none_or(|(_, high)| high != LAST) {
        out.push('[');
        ranges.for_each(|(low, high)| shown(out, low, high));
    } else {
        out.push_str("[^");
        let empty = out.len();
        let mut from = 0;
        for (low, high) in ranges {
            if low > from {
                shown(out, from, low - 1);
            }
            from = high + 1;
        }
        if out.len() == empty {
            out.truncate(start);
            return out.push_str(any);
        }
    }
    out.push(']');
}

/// Writes a number in hexadecimal with at least this many digits.
pub(crate) fn hex(out: &mut String, number: u32, digits: u32) {
    let needed = (u32::BITS - number.leading_zeros()).div_ceil(4).max(digits);
    out.extend(
        (0..needed)
            .rev()
            .filter_map(|digit| char::from_digit(number >> (4 * digit) & 0xF, 16))
            .map(|c| c.to_ascii_uppercase()),
    );
}
