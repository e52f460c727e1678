//! Unicode's properties of characters: the sets that a pattern names, and the characters that differ in case only.
//!
//! `regex-syntax` knows the same sets, in tables of ranges that were a fifth of the parser's module of WebAssembly. Here each is
//! written as its difference from the general categories, in a quarter of the bytes; the tests compare every set.

mod cases;
mod names;
mod numbers;
mod set;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

pub use names::{property, union};
pub use set::CharSet;

/// The characters of `\d`: decimal digits of every script.
pub static DIGITS: LazyLock<CharSet> = LazyLock::new(|| property("Nd").unwrap_or_default());

/// The characters of `\w`.
pub static WORD: LazyLock<CharSet> = LazyLock::new(names::word);

/// The characters of `\s`.
pub static SPACE: LazyLock<CharSet> = LazyLock::new(|| property("White_Space").unwrap_or_default());

/// The set of `\d`, `\w` or `\s`, by its letter; of ASCII alone where a flag says so.
pub fn perl(letter: char, ascii_only: bool) -> CharSet {
    let known = match letter {
        'd' => &DIGITS,
        'w' => &WORD,
        _ => &SPACE,
    };
    let mut set = CharSet::clone(known);
    if ascii_only {
        set.keep_ascii();
    }
    set
}
