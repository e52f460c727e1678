//! The sets of Python's `re`, such as `[^a-z\d]`, and the escapes that are the same inside and outside of them.

use super::super::PatternError;
use super::super::class::Class;
use super::super::tree::Node;
use super::{ReReader, SetItem};
use backchat_core::unicode::CharSet;

impl ReReader<'_> {
    /// An escape that may also occur in a set.
    pub(super) fn class_escape(&mut self, c: char, start: usize) -> Result<SetItem, PatternError> {
        Ok(match c {
            'a' => SetItem::Code(7),
            'f' => SetItem::Code(0xc),
            'n' => SetItem::Code(0xa),
            'r' => SetItem::Code(0xd),
            't' => SetItem::Code(9),
            'v' => SetItem::Code(0xb),
            'd' | 'w' | 's' | 'D' | 'W' | 'S' => SetItem::Set(self.perl(c)),
            'x' => self.code(2, start)?,
            'u' => self.code(4, start)?,
            'U' => self.code(8, start)?,
            'N' => {
                let message = "a character by its name (`\\N{…}`) is not supported here; write `\\uXXXX`";
                return Err(PatternError { is_unsupported: true, ..PatternError::new(message, start) });
            }
            c if c.is_ascii_alphanumeric() => {
                return Err(PatternError::new(format!("unknown escape `\\{c}`"), start));
            }
            c => SetItem::Code(c as u32),
        })
    }

    /// A character by its code in this many hexadecimal digits.
    fn code(&mut self, length: usize, start: usize) -> Result<SetItem, PatternError> {
        let hex = self.text.take(length, |c| c.is_ascii_hexdigit());
        if hex.len() < length {
            return Err(PatternError::new(format!("this escape takes {length} hexadecimal digits"), start));
        }
        match u32::from_str_radix(hex, 16) {
            Ok(code) if code <= char::MAX as u32 => Ok(SetItem::Code(code)),
            _ => Err(PatternError::new(format!("U+{hex} is not a character"), start)),
        }
    }

    /// A set, after its `[`.
    pub(super) fn set(&mut self, start: usize) -> Result<Node, PatternError> {
        let open = || PatternError::new("a character set is not closed: `]` is missing", start);
        let negated = self.text.eat('^');
        let mut set = CharSet::default();
        let mut first = true;
        loop {
            let place = self.text.at();
            let c = self.text.bump().ok_or_else(open)?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let low = self.member(c, place)?;
            if !self.text.eat('-') {
                add(&mut set, low);
                continue;
            }
            let to = self.text.at();
            let c = self.text.bump().ok_or_else(open)?;
            if c == ']' {
                add(&mut set, low);
                add(&mut set, SetItem::Code('-' as u32));
                break;
            }
            match (low, self.member(c, to)?) {
                (SetItem::Code(low), SetItem::Code(high)) if low <= high => add_range(&mut set, low, high),
                (SetItem::Code(_), SetItem::Code(_)) => {
                    return Err(PatternError::new("the range runs backwards", place));
                }
                _ => return Err(PatternError::new("a range runs from a character to a character", place)),
            }
        }
        let mut set = self.folded(set);
        if negated {
            set.negate();
        }
        Ok(Node::Class(Class::new(&set)))
    }

    fn member(&mut self, c: char, start: usize) -> Result<SetItem, PatternError> {
        if c != '\\' {
            return Ok(SetItem::Code(c as u32));
        }
        match self.text.bump() {
            None => Err(PatternError::new("a backslash ends the pattern; write `\\\\` for the character", start)),
            Some('b') => Ok(SetItem::Code(8)),
            Some(c) if c.is_digit(8) => {
                let digits = format!("{c}{}", self.text.take(2, |c| c.is_digit(8)));
                self.octal(&digits, start).map(SetItem::Code)
            }
            Some(c) => self.class_escape(c, start),
        }
    }
}

fn add(set: &mut CharSet, member: SetItem) {
    match member {
        SetItem::Code(code) => add_range(set, code, code),
        SetItem::Set(members) => set.union(&members),
    }
}

/// Adds the characters of a range of codes, which may begin or end among the surrogates.
fn add_range(set: &mut CharSet, low: u32, high: u32) {
    for (from, to) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if let (Some(from), Some(to)) = (char::from_u32(from), char::from_u32(to))
            && from <= to
        {
            set.add(from, to);
        }
    }
}
