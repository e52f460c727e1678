//! Escapes and character sets of the Python dialect.

use super::PatternError;
use super::class::Class;
use super::read_regex::PatternReader;
use super::tree::{Assertion, Node};
use backchat_core::unicode::{self, CharSet, perl};

/// One member of a character set.
enum Member {
    Char(char),
    Set(CharSet),
}

impl PatternReader<'_> {
    /// The text after a backslash outside of a set.
    pub(super) fn escape(&mut self) -> Result<Node, PatternError> {
        let place = self.text.at();
        let start = place - 1;
        let Some(c) = self.text.bump() else {
            return Err(PatternError::new("a backslash ends the pattern; write `\\\\` for the character", start));
        };
        Ok(match c {
            'A' => Node::Assert(Assertion::Start),
            'Z' | 'z' => Node::Assert(Assertion::End),
            'b' => Node::Assert(Assertion::WordBoundary),
            'B' => Node::Assert(Assertion::NotWordBoundary),
            'm' => Node::Assert(Assertion::WordStart),
            'M' => Node::Assert(Assertion::WordEnd),
            'G' => Node::Assert(Assertion::SearchStart),
            'K' => Node::Keep,
            'X' => return Err(self.refused("a grapheme (`\\X`)", start)),
            'L' => return Err(PatternError::new("a named list (`\\L<…>`), which this pattern does not get", start)),
            'R' => {
                let mut newline = CharSet::of('\n', '\r');
                newline.add('\u{85}', '\u{85}');
                newline.add('\u{2028}', '\u{2029}');
                let pair = Node::Concat(vec![Node::Char('\r'), Node::Char('\n')]);
                Node::Atomic(Box::new(Node::Alternate(vec![pair, Node::Class(Class::new(&newline))])))
            }
            'g' => self.group_reference(place)?,
            '0'..='9' => self.digits(c, place)?,
            _ => match self.class_escape(c, start)? {
                Member::Char(c) => self.char(c),
                Member::Set(set) => self.class(set),
            },
        })
    }

    /// `\g<name>`; elsewhere `\g` is the letter.
    fn group_reference(&mut self, place: usize) -> Result<Node, PatternError> {
        let here = self.text;
        if self.text.eat('<')
            && let Some(name) = self.text.until('>').filter(|name| !name.starts_with('-'))
        {
            return self.reference(name, place);
        }
        self.text = here;
        Ok(self.char('g'))
    }

    /// `\1` to `\99` are groups; `\0…` and three octal digits are a character.
    fn digits(&mut self, first: char, place: usize) -> Result<Node, PatternError> {
        let octal = |c: char| ('0'..='7').contains(&c);
        let rest: Vec<char> = self.text.rest().chars().take(2).collect();
        let three = octal(first) && rest.len() == 2 && rest.iter().all(|&c| octal(c));
        if first == '0' || three {
            let c = self.octal(first);
            return Ok(self.char(c));
        }
        let mut group = first.to_digit(10).unwrap_or(0);
        if let Some(digit) = rest.first().and_then(|c| c.to_digit(10)) {
            self.text.bump();
            group = group * 10 + digit;
        }
        self.numbered_reference(group, place)
    }

    /// A character by its code in up to three octal digits, of which one is read.
    fn octal(&mut self, first: char) -> char {
        let more = self.text.take(2, |c| c.is_digit(8));
        u32::from_str_radix(&format!("{first}{more}"), 8).ok().and_then(char::from_u32).unwrap_or('\0')
    }

    /// An escape that is also allowed in a set.
    fn class_escape(&mut self, c: char, start: usize) -> Result<Member, PatternError> {
        let ascii = self.flags.ascii;
        Ok(match c {
            'a' => Member::Char('\u{7}'),
            'f' => Member::Char('\u{c}'),
            'n' => Member::Char('\n'),
            'r' => Member::Char('\r'),
            't' => Member::Char('\t'),
            'v' => Member::Char('\u{b}'),
            'd' | 'w' | 's' => Member::Set(perl(c, ascii)),
            'D' | 'W' | 'S' => {
                let mut set = perl(c.to_ascii_lowercase(), ascii);
                set.negate();
                Member::Set(set)
            }
            'h' => Member::Set(unicode::property("blank").unwrap_or_default()),
            'p' | 'P' => self.property(c == 'P')?,
            'x' => Member::Char(self.code(2, start)?),
            'u' if self.is_of_schema && self.text.rest().starts_with('{') => Member::Char(self.braced_code(start)?),
            'c' if self.is_of_schema => Member::Char(self.control(start)?),
            'u' => Member::Char(self.code(4, start)?),
            'U' => Member::Char(self.code(8, start)?),
            'N' if self.text.rest().starts_with('{') => {
                return Err(self.refused("a character by its name (`\\N{…}`)", start));
            }
            'N' => Member::Char('N'),
            c if c.is_ascii_alphabetic() => {
                return Err(PatternError::new(format!("unknown escape `\\{c}`"), start));
            }
            c => Member::Char(c),
        })
    }

    /// A character by its code in this many hexadecimal digits.
    fn code(&mut self, digits: usize, start: usize) -> Result<char, PatternError> {
        let hex = self.text.take(digits, |c| c.is_ascii_hexdigit());
        if hex.len() < digits {
            return Err(PatternError::new(format!("this escape takes {digits} hexadecimal digits"), start));
        }
        coded(hex, start)
    }

    /// The character of `\u{43}`, after its `u`.
    fn braced_code(&mut self, start: usize) -> Result<char, PatternError> {
        self.text.bump();
        let hex = self.text.until('}').unwrap_or_default();
        coded(hex, start)
    }

    /// The character of `\cA`, after its `c`.
    fn control(&mut self, start: usize) -> Result<char, PatternError> {
        let letter = self.text.bump().filter(char::is_ascii_alphabetic);
        let letter = letter.ok_or_else(|| PatternError::new("`\\c` takes a letter", start))?;
        Ok(char::from(letter as u8 % 32))
    }

    /// `\p{Lu}`, `\pL`, `\p{^Lu}`; if nothing of the kind follows, the letter `p`.
    fn property(&mut self, negated: bool) -> Result<Member, PatternError> {
        let letter = Member::Char(if negated { 'P' } else { 'p' });
        let here = self.text;
        let name = match self.text.eat('{') {
            true => {
                self.text.until('}').filter(|name| name.chars().all(|c| c.is_alphanumeric() || " _-^&=:./".contains(c)))
            }
            false => Some(self.text.take(1, |c| "LMNPSZC".contains(c))).filter(|name| !name.is_empty()),
        };
        let Some(name) = name else {
            self.text = here;
            return Ok(letter);
        };
        let (name, caret) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(mut set) = unicode::property(name) else {
            return Err(PatternError::new(format!("unknown property `{name}`"), here.at()));
        };
        if negated != caret {
            set.negate();
        }
        Ok(Member::Set(set))
    }

    /// A set, from the character after its `[` on.
    pub(super) fn set(&mut self) -> Result<Node, PatternError> {
        let negated = self.text.eat('^');
        let mut set = CharSet::default();
        // In ECMAScript `[]` is empty, and `[^]` any character.
        let mut first = !self.is_of_schema;
        loop {
            let start = self.text.at();
            match self.member(first)? {
                None => break,
                Some(Member::Set(members)) => set.union(&members),
                Some(Member::Char(low)) => {
                    let high = self.range_end()?;
                    if high.is_some_and(|high| high < low) {
                        return Err(PatternError::new("the range runs backwards", start));
                    }
                    set.add(low, high.unwrap_or(low));
                }
            }
            first = false;
        }
        if self.flags.ignore_case {
            if self.flags.full_case && set.has_expanding() {
                return Err(self
                    .refused("a set with a character that full case folding (`(?f)`) makes several", self.text.at()));
            }
            set.fold();
        }
        if negated {
            set.negate();
        }
        Ok(Node::Class(Class::new(&set)))
    }

    /// The upper end of a range, if `-` and a single character follow.
    fn range_end(&mut self) -> Result<Option<char>, PatternError> {
        let here = self.text;
        if self.text.eat('-')
            && self.text.peek() != Some(']')
            && let Some(Member::Char(high)) = self.member(true)?
        {
            return Ok(Some(high));
        }
        self.text = here;
        Ok(None)
    }

    /// The next member; `None` after the `]` that ends the set; as the first character, `]` is a literal.
    fn member(&mut self, first: bool) -> Result<Option<Member>, PatternError> {
        let start = self.text.at();
        let Some(c) = self.text.bump() else {
            return Err(PatternError::new("a character set is not closed: `]` is missing", start));
        };
        Ok(Some(match c {
            ']' if !first => return Ok(None),
            '[' => match self.posix()? {
                Some(set) => Member::Set(set),
                None => Member::Char('['),
            },
            '\\' => {
                let Some(c) = self.text.bump() else {
                    return Err(PatternError::new(
                        "a backslash ends the pattern; write `\\\\` for the character",
                        start,
                    ));
                };
                match c {
                    'b' => Member::Char('\u{8}'),
                    '0'..='7' => Member::Char(self.octal(c)),
                    '8' | '9' | 'g' | 'm' | 'M' | 'z' | 'A' | 'Z' | 'B' | 'G' | 'K' | 'X' | 'R' | 'L' => {
                        return Err(PatternError::new(format!("unknown escape `\\{c}` in a set"), start));
                    }
                    c => self.class_escape(c, start)?,
                }
            }
            c => Member::Char(c),
        }))
    }

    /// `[:alpha:]`, from the character after its `[` on.
    fn posix(&mut self) -> Result<Option<CharSet>, PatternError> {
        let here = self.text;
        if self.text.eat(':') {
            let negated = self.text.eat('^');
            let name = self.text.take(usize::MAX, |c| c.is_ascii_alphanumeric() || c == '_').to_owned();
            if self.text.skip(":]") {
                let set = unicode::property(&name);
                let mut set = set.ok_or_else(|| PatternError::new(format!("unknown class `{name}`"), here.at()))?;
                if negated {
                    set.negate();
                }
                return Ok(Some(set));
            }
        }
        self.text = here;
        Ok(None)
    }
}

/// The character of a code in hexadecimal digits.
fn coded(hex: &str, start: usize) -> Result<char, PatternError> {
    let code = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
    code.ok_or_else(|| PatternError::new(format!("U+{hex} is not a character"), start))
}
