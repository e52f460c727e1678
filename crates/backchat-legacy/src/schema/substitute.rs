//! `re.sub` of Python: the replacement's own syntax, and every match replaced.

use crate::schema::fault::Fault;
use backchat_core::text::slice;
use backchat_parser::pattern::{Match, Pattern, TooMuchWork};

/// A replacement that was read.
#[derive(Clone, Debug)]
pub struct Replacement(Vec<ReplacementPart>);

#[derive(Clone, Debug)]
enum ReplacementPart {
    Text(String),
    Group(usize),
}

impl Replacement {
    /// Reads a replacement for matches of a pattern: `\1`, `\g<name>`, `\n` and the other escapes.
    pub fn read(source: &str, pattern: &Pattern) -> Result<Self, Fault> {
        let mut parts = Vec::new();
        let mut chars = source.chars().peekable();
        let mut text = String::new();
        while let Some(c) = chars.next() {
            if c != '\\' {
                text.push(c);
                continue;
            }
            let escape = chars.next().ok_or("a backslash ends the replacement")?;
            let group = match escape {
                'a' => push(&mut text, '\u{7}'),
                'b' => push(&mut text, '\u{8}'),
                'f' => push(&mut text, '\u{c}'),
                'n' => push(&mut text, '\n'),
                'r' => push(&mut text, '\r'),
                't' => push(&mut text, '\t'),
                'v' => push(&mut text, '\u{b}'),
                '\\' => push(&mut text, '\\'),
                '0' => {
                    let digits: String = std::iter::from_fn(|| chars.next_if(|c| c.is_digit(8))).take(2).collect();
                    let code = u32::from_str_radix(&digits, 8).unwrap_or(0);
                    push(&mut text, char::from_u32(code).unwrap_or('\0'))
                }
                '1'..='9' => match numbered(escape, &mut chars)? {
                    Numbered::Group(group) => group,
                    Numbered::Character(c) => push(&mut text, c),
                },
                'g' => Some(group_named(&mut chars, pattern)?),
                c if c.is_ascii_alphabetic() => {
                    return Err(Fault::new(format!("unknown escape `\\{c}` in a replacement")));
                }
                c => {
                    text.push('\\');
                    push(&mut text, c)
                }
            };
            if let Some(group) = group {
                if group > pattern.group_count() {
                    return Err(Fault::new(format!("the pattern has no group {group}")));
                }
                parts.push(ReplacementPart::Text(std::mem::take(&mut text)));
                parts.push(ReplacementPart::Group(group));
            }
        }
        parts.push(ReplacementPart::Text(text));
        Ok(Self(parts))
    }

    /// The replacement with texts for its groups.
    pub fn filled(&self, text_of: &dyn Fn(usize) -> String) -> String {
        let part = |part: &ReplacementPart| match part {
            ReplacementPart::Text(text) => text.clone(),
            ReplacementPart::Group(group) => text_of(*group),
        };
        self.0.iter().map(part).collect()
    }

    /// The text it writes before and after a group, if it writes nothing else.
    pub fn around(&self, group: usize) -> Option<(String, String)> {
        let text = self.filled(&|other| if other == group { "\0".to_owned() } else { String::new() });
        let (before, after) = text.split_once('\0')?;
        (!after.contains('\0')).then(|| (before.to_owned(), after.to_owned()))
    }

    fn write(&self, found: &Match<'_>, out: &mut String) {
        for part in &self.0 {
            match part {
                ReplacementPart::Text(text) => out.push_str(text),
                // A group that took no part in the match writes nothing, as in Python.
                ReplacementPart::Group(group) => found.group(*group).into_iter().for_each(|text| out.push_str(text)),
            }
        }
    }
}

fn push(text: &mut String, c: char) -> Option<usize> {
    text.push(c);
    None
}

/// What an escape that begins with a digit stands for.
enum Numbered {
    Group(Option<usize>),
    Character(char),
}

/// Three octal digits are a character, and one or two digits a group.
fn numbered(first: char, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Numbered, Fault> {
    let second = chars.next_if(char::is_ascii_digit);
    let digits: String = std::iter::once(first).chain(second).collect();
    let is_octal = second.is_some() && digits.chars().all(|c| c.is_digit(8));
    let Some(third) = chars.next_if(|c| is_octal && c.is_digit(8)) else {
        return Ok(Numbered::Group(digits.parse().ok()));
    };
    let code = u32::from_str_radix(&format!("{digits}{third}"), 8).unwrap_or(0);
    let character = char::from_u32(code).filter(|_| code <= 0o377);
    character.map(Numbered::Character).ok_or_else(|| Fault::new(format!("`\\{digits}{third}` is outside of 0-0o377")))
}

/// The group of `\g<name>`, after the `g`.
fn group_named(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, pattern: &Pattern) -> Result<usize, Fault> {
    if chars.next() != Some('<') {
        return Err(Fault::new("`\\g` is followed by `<name>`"));
    }
    let name: String = std::iter::from_fn(|| chars.next_if(|c| *c != '>')).collect();
    chars.next().ok_or("`>` is missing after the name of a group")?;
    let named = pattern.named_groups().iter().find(|(known, _)| **known == *name);
    match (named, name.parse()) {
        (Some((_, group)), _) => Ok(*group as usize),
        (None, Ok(group)) => Ok(group),
        _ => Err(Fault::new(format!("the pattern has no group called `{name}`"))),
    }
}

/// The text with every match replaced; the steps are subtracted from the budget. The text may grow to `most` bytes.
pub(super) fn substitute(
    pattern: &Pattern,
    replacement: &Replacement,
    text: &str,
    most: usize,
    budget: &mut u64,
) -> Result<String, TooMuchWork> {
    let mut scan = pattern.scan(text, *budget);
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let result = loop {
        match scan.next() {
            Some(Ok(found)) => {
                let (start, end) = found.span();
                out.push_str(slice(text, copied..start));
                replacement.write(&found, &mut out);
                copied = end;
                if out.len() > most {
                    break Err(TooMuchWork);
                }
            }
            None => break Ok(()),
            Some(Err(error)) => break Err(error),
        }
    };
    *budget = budget.saturating_sub(scan.spent());
    out.push_str(slice(text, copied..));
    result.map(|()| out)
}
