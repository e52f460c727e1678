//! Splits a template into tokens, and removes the white space that tags strip.

use std::ops::Range;

use super::error::SyntaxError;
use backchat_core::python::space::is_space;
use backchat_core::text::slice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Text between tags, after white space around tags was stripped.
    Data,
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name,
    /// A string with its quotes and escapes.
    String,
    Int,
    Float,
    Operator,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'s str,
    pub(crate) at: usize,
}

impl Token<'_> {
    pub(crate) fn span(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.text.len()
    }

    pub(crate) fn is(&self, kind: TokenKind, text: &str) -> bool {
        self.kind == kind && self.text == text
    }
}

/// The length of the operator that a text begins with.
fn operator(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [b'/', b'/', ..] | [b'*', b'*', ..] | [b'=' | b'!' | b'<' | b'>', b'=', ..] => Some(2),
        [b'+' | b'-' | b'/' | b'*' | b'%' | b'~' | b'[' | b']' | b'(' | b')' | b'{' | b'}', ..] => Some(1),
        [b'<' | b'>' | b'=' | b'.' | b':' | b'|' | b',' | b';', ..] => Some(1),
        _ => None,
    }
}

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    /// Whether the last tag ended in a line feed, so that the next text begins a line.
    line_starting: bool,
    tokens: Vec<Token<'s>>,
    /// In the mode that goes on after errors, what it has met.
    recovery: Option<LexerRecovery>,
}

/// What the lexer has met in the mode that goes on after errors.
#[derive(Debug, Default)]
pub(super) struct LexerRecovery {
    pub(super) errors: Vec<SyntaxError>,
    /// Where the tags with errors begin.
    pub(super) broken: Vec<usize>,
    /// Comments and raw texts with their tags.
    pub(super) comments: Vec<Range<usize>>,
    pub(super) raws: Vec<Range<usize>>,
    /// Bytes that were read in vain.
    wasted: usize,
}

/// How many errors are found before the rest of the text is left alone.
pub(super) const MOST_ERRORS: usize = 200;

/// How much may be read in vain: a tag that is never closed is read to the end of the text.
const MOST_WASTED: usize = 4 << 20;

/// How a tag treats the white space around it: `-` strips it, `+` keeps it, otherwise the settings apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Strip,
    Keep,
    Default,
}

impl<'s> Lexer<'s> {
    pub(super) fn tokenize(source: &'s str) -> Result<Vec<Token<'s>>, SyntaxError> {
        let mut lexer = Self::new(source);
        lexer.run()?;
        Ok(lexer.tokens)
    }

    /// The tokens of a text with errors: each ends at its tag, or where the next tag begins.
    pub(super) fn recovered(source: &'s str) -> (Vec<Token<'s>>, LexerRecovery) {
        let mut lexer = Self { recovery: Some(LexerRecovery::default()), ..Self::new(source) };
        // Every error is noted.
        let _ = lexer.run();
        (lexer.tokens, lexer.recovery.unwrap_or_default())
    }

    fn new(source: &'s str) -> Self {
        Self { source, at: 0, line_starting: true, tokens: Vec::with_capacity(source.len() / 6), recovery: None }
    }

    fn rest(&self) -> &'s str {
        slice(self.source, self.at..)
    }

    fn push(&mut self, kind: TokenKind, at: usize, end: usize) {
        self.tokens.push(Token { kind, text: slice(self.source, at..end), at });
    }

    fn error<T>(&self, message: impl Into<String>, at: usize, len: usize) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(message, at..(at + len).min(self.source.len())))
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        while let Some((at, opening)) = self.next_tag() {
            let sign = sign_at(self.source, at + 2);
            let inside = at + 2 + usize::from(sign != Sign::Default);
            self.data(at, sign, opening != b'{');
            self.at = inside;
            let first = self.tokens.len();
            if let Err(error) = self.whole_tag(at, opening, inside) {
                self.resume(error, first, inside)?;
            }
        }
        let end = self.source.len();
        if self.at < end {
            self.push(TokenKind::Data, self.at, end);
        }
        self.push(TokenKind::End, end, end);
        Ok(())
    }

    /// The tag that begins at an offset with this second character, up to what follows it.
    fn whole_tag(&mut self, at: usize, opening: u8, inside: usize) -> Result<(), SyntaxError> {
        match opening {
            b'#' => {
                self.comment(at)?;
                let end = self.at;
                self.recovery.iter_mut().for_each(|recovery| recovery.comments.push(at..end));
                Ok(())
            }
            b'%' => match self.raw_begin() {
                Some(end) => {
                    self.at = end;
                    self.raw(at)?;
                    let end = self.at;
                    self.recovery.iter_mut().for_each(|recovery| recovery.raws.push(at..end));
                    Ok(())
                }
                None => {
                    self.push(TokenKind::BlockBegin, at, inside);
                    self.tag(at, TokenKind::BlockEnd, "%}")
                }
            },
            _ => {
                self.push(TokenKind::VariableBegin, at, inside);
                self.tag(at, TokenKind::VariableEnd, "}}")
            }
        }
    }

    /// Goes on after an error in the tag whose first token has a number: at its end, or where the next tag begins.
    fn resume(&mut self, error: SyntaxError, first: usize, inside: usize) -> Result<(), SyntaxError> {
        let Some(mut recovery) = self.recovery.take() else { return Err(error) };
        recovery.wasted += self.at.saturating_sub(inside);
        recovery.errors.push(error);
        let is_over = recovery.errors.len() >= MOST_ERRORS || recovery.wasted > MOST_WASTED;
        let opened = self.tokens.get(first).copied();
        recovery.broken.extend(opened.map(|token| token.at));
        self.recovery = Some(recovery);
        let resumed = if is_over { self.source.len() } else { self.resumption(first, inside) };
        self.tokens.truncate(self.tokens.iter().rposition(|token| token.span().end <= resumed).map_or(0, |at| at + 1));
        self.at = resumed;
        let closes = ["}}", "%}"].iter().any(|mark| self.rest().starts_with(mark));
        let length = if closes { 2 } else { 0 };
        let end = match opened.map(|token| token.kind) {
            Some(TokenKind::VariableBegin) => TokenKind::VariableEnd,
            Some(TokenKind::BlockBegin) => TokenKind::BlockEnd,
            _ => {
                self.at += length;
                return Ok(());
            }
        };
        self.push(end, resumed, resumed + length);
        if closes {
            self.close(resumed + length, Sign::Default, end == TokenKind::BlockEnd);
        }
        Ok(())
    }

    /// Where reading goes on after an error in a tag: the first mark that ends or begins a tag, outside strings of one
    /// line.
    fn resumption(&self, first: usize, inside: usize) -> usize {
        let tokens = self.tokens.iter().skip(first + 1);
        let strings = tokens.filter(|token| token.kind == TokenKind::String && !token.text.contains('\n'));
        let mut strings = strings.map(Token::span).peekable();
        let bytes = self.source.as_bytes();
        let mut at = inside;
        while let Some(pair) = bytes.get(at..at + 2) {
            while strings.next_if(|string| string.end <= at).is_some() {}
            if let Some(string) = strings.peek().filter(|string| string.contains(&at)) {
                at = string.end;
            } else if matches!(pair, b"}}" | b"%}" | b"{{" | b"{%") {
                return at;
            } else {
                at += 1;
            }
        }
        self.source.len()
    }

    /// The offset of the next tag, and its second character: `{`, `%` or `#`.
    fn next_tag(&self) -> Option<(usize, u8)> {
        let bytes = self.rest().as_bytes();
        memchr::memchr_iter(b'{', bytes).find_map(|offset| match bytes.get(offset + 1) {
            Some(opening @ (b'{' | b'%' | b'#')) => Some((self.at + offset, *opening)),
            _ => None,
        })
    }

    /// The text up to a tag. A block or comment that comes first on its line strips the white space before it.
    fn data(&mut self, end: usize, sign: Sign, strips_line: bool) {
        let text = slice(self.source, self.at..end);
        let kept = match sign {
            Sign::Strip => text.trim_end_matches(is_space).len(),
            Sign::Default if strips_line => {
                let line = text.rfind('\n').map_or(0, |newline| newline + 1);
                let blank = text.get(line..).is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_space));
                if blank && (line > 0 || self.line_starting) { line } else { text.len() }
            }
            _ => text.len(),
        };
        if kept > 0 {
            self.push(TokenKind::Data, self.at, self.at + kept);
        }
    }

    /// Moves past a tag's end and the white space that it strips.
    fn close(&mut self, end: usize, sign: Sign, trims_newline: bool) {
        self.at = end;
        match sign {
            Sign::Strip => self.at = self.source.len() - self.rest().trim_start_matches(is_space).len(),
            Sign::Default if trims_newline && self.rest().starts_with('\n') => self.at += 1,
            _ => {}
        }
        self.line_starting = slice(self.source, ..self.at).ends_with('\n');
    }

    fn comment(&mut self, opened: usize) -> Result<(), SyntaxError> {
        let Some(offset) = self.rest().find("#}") else {
            return self.error("this comment is never closed: '#}' is missing", opened, 2);
        };
        let sign = if offset == 0 { Sign::Default } else { sign_at(self.source, self.at + offset - 1) };
        self.close(self.at + offset + 2, sign, true);
        Ok(())
    }

    /// The end of a `{% raw %}` tag whose opening was read.
    fn raw_begin(&self) -> Option<usize> {
        let rest = self.rest().trim_start_matches(is_space).strip_prefix("raw")?.trim_start_matches(is_space);
        let after = match rest.strip_prefix("-%}") {
            Some(after) => after.trim_start_matches(is_space),
            None => rest.strip_prefix("%}")?,
        };
        Some(self.source.len() - after.len())
    }

    fn raw(&mut self, opened: usize) -> Result<(), SyntaxError> {
        self.line_starting = slice(self.source, ..self.at).ends_with('\n');
        let mut from = self.at;
        while let Some(offset) = slice(self.source, from..).find("{%") {
            let at = from + offset;
            let sign = sign_at(self.source, at + 2);
            let inside = at + 2 + usize::from(sign != Sign::Default);
            let rest = slice(self.source, inside..).trim_start_matches(is_space);
            if let Some(rest) = rest.strip_prefix("endraw").map(|rest| rest.trim_start_matches(is_space)) {
                let end_sign = sign_at(rest, 0);
                let bare = slice(rest, usize::from(end_sign != Sign::Default)..);
                if let Some(after) = bare.strip_prefix("%}") {
                    self.data(at, sign, true);
                    self.close(self.source.len() - after.len(), end_sign, true);
                    return Ok(());
                }
            }
            from = at + 2;
        }
        self.error("this raw block is never closed: '{% endraw %}' is missing", opened, 2)
    }

    /// The contents of a tag, and its end.
    fn tag(&mut self, opened: usize, end: TokenKind, mark: &str) -> Result<(), SyntaxError> {
        let mut open: Vec<(u8, usize)> = Vec::new();
        loop {
            self.at = self.source.len() - self.rest().trim_start_matches(is_space).len();
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return self.error(format!("this tag is never closed: '{mark}' is missing"), opened, 2);
            };
            if open.is_empty() {
                let sign = sign_at(rest, 0);
                let signed = sign != Sign::Default && !(sign == Sign::Keep && end == TokenKind::VariableEnd);
                if slice(rest, usize::from(signed)..).starts_with(mark) {
                    let begin = self.at;
                    let stop = begin + usize::from(signed) + 2;
                    self.push(end, begin, stop);
                    self.close(stop, if signed { sign } else { Sign::Default }, end == TokenKind::BlockEnd);
                    return Ok(());
                }
            }
            let (kind, length) = if let Some(number) = number(self.source, self.at) {
                number
            } else if word(first) {
                (TokenKind::Name, rest.find(|c| !word(c)).unwrap_or(rest.len()))
            } else if matches!(first, '"' | '\'') {
                match string(rest, first) {
                    Some(length) => (TokenKind::String, length),
                    None => return self.error("this string is never closed", self.at, 1),
                }
            } else if let Some(length) = operator(rest) {
                self.balance(&mut open, slice(rest, ..length))?;
                (TokenKind::Operator, length)
            } else {
                return self.error(format!("unexpected character {first:?}"), self.at, first.len_utf8());
            };
            let begin = self.at;
            self.push(kind, begin, begin + length);
            self.at += length;
        }
    }

    fn balance(&self, open: &mut Vec<(u8, usize)>, operator: &str) -> Result<(), SyntaxError> {
        let opening_of = match operator {
            "(" | "[" | "{" => {
                open.extend(operator.bytes().map(|bracket| (bracket, self.at)));
                return Ok(());
            }
            ")" => b'(',
            "]" => b'[',
            "}" => b'{',
            _ => return Ok(()),
        };
        match open.pop() {
            Some((opening, _)) if opening == opening_of => Ok(()),
            Some((opening, at)) => {
                self.error(format!("'{}' is closed by '{operator}'", char::from(opening)), at, self.at + 1 - at)
            }
            None => self.error(format!("unexpected '{operator}'"), self.at, 1),
        }
    }
}

fn sign_at(text: &str, at: usize) -> Sign {
    match text.as_bytes().get(at) {
        Some(b'-') => Sign::Strip,
        Some(b'+') => Sign::Keep,
        _ => Sign::Default,
    }
}

fn word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of a string with its quotes; `None` if it is never closed.
fn string(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return Some(at + 1);
        }
    }
    None
}

/// The kind and length of the number at an offset. A number after a dot is an index, without a fraction.
fn number(source: &str, at: usize) -> Option<(TokenKind, usize)> {
    let bytes = source.as_bytes().get(at..)?;
    if !bytes.first()?.is_ascii_digit() {
        return None;
    }
    let after_dot = at > 0 && source.as_bytes().get(at - 1) == Some(&b'.');
    if !after_dot && let Some(length) = float(bytes) {
        return Some((TokenKind::Float, length));
    }
    let radix: Option<fn(&u8) -> bool> = match bytes {
        [b'0', b'b' | b'B', ..] => Some(|b| matches!(b, b'0' | b'1')),
        [b'0', b'o' | b'O', ..] => Some(|b| matches!(b, b'0'..=b'7')),
        [b'0', b'x' | b'X', ..] => Some(u8::is_ascii_hexdigit),
        _ => None,
    };
    let prefixed = radix.map(|is_digit| run(bytes, 2, is_digit)).filter(|end| *end > 2);
    let length = match bytes.first() {
        Some(b'0') => prefixed.unwrap_or_else(|| run(bytes, 0, |b| *b == b'0')),
        _ => decimal(bytes),
    };
    Some((TokenKind::Int, length))
}

/// The end of the digits that begin at an offset, with single underscores between them or after a prefix.
fn run(bytes: &[u8], start: usize, is_digit: impl Fn(&u8) -> bool) -> usize {
    let mut end = start;
    loop {
        let skip = usize::from(end > 0 && bytes.get(end) == Some(&b'_'));
        if !bytes.get(end + skip).is_some_and(&is_digit) {
            return end;
        }
        end += skip + 1;
    }
}

fn decimal(bytes: &[u8]) -> usize {
    run(bytes, 0, u8::is_ascii_digit)
}

/// The length of a number with a fraction or an exponent.
fn float(bytes: &[u8]) -> Option<usize> {
    let whole = decimal(bytes);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = decimal(bytes.get(end + 1..)?);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if let Some([b'e' | b'E', after @ ..]) = bytes.get(end..) {
        let (sign, digits) = match after {
            [b'+' | b'-', digits @ ..] => (1, digits),
            digits => (0, digits),
        };
        let exponent = decimal(digits);
        if exponent > 0 {
            return Some(end + 1 + sign + exponent);
        }
    }
    (end > whole).then_some(end)
}

/// The value of a string constant, of which `quoted` includes the quotes.
pub(super) fn unescape(quoted: &str) -> Result<String, &'static str> {
    let inner = slice(quoted, 1..quoted.len().saturating_sub(1));
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut text = String::with_capacity(inner.len());
    // Adjacent codes, since two may be a pair of surrogates.
    let mut codes = Vec::new();
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        if at > 0 {
            push(&mut text, &mut codes, slice(rest, ..at));
        }
        let (escape, length) = escape(slice(rest, at + 1..))?;
        match escape {
            Escape::Text(plain) => push(&mut text, &mut codes, plain),
            Escape::Code(code) => match char::from_u32(code) {
                Some(c) => codes.extend_from_slice(c.encode_utf16(&mut [0; 2])),
                None => codes.push(u16::try_from(code).map_err(|_| "a \\U escape beyond Unicode")?),
            },
        }
        rest = slice(rest, at + 1 + length..);
    }
    push(&mut text, &mut codes, rest);
    Ok(text)
}

/// Appends decoded codes, then a text. A lone surrogate, which UTF-8 cannot encode, becomes U+FFFD.
fn push(text: &mut String, codes: &mut Vec<u16>, plain: &str) {
    text.extend(char::decode_utf16(codes.drain(..)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    text.push_str(plain);
}

/// What follows a backslash.
enum Escape<'s> {
    /// Empty for an escaped line break, which still separates two surrogates.
    Text(&'s str),
    Code(u32),
}

/// The escape at the start of a text after a backslash, and its length.
fn escape(text: &str) -> Result<(Escape<'_>, usize), &'static str> {
    let letter = text.chars().next().ok_or("a string ends in a lone backslash")?;
    let hex = |digits: usize| {
        let code = text.get(1..1 + digits).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = code.and_then(|text| u32::from_str_radix(text, 16).ok());
        code.map(|code| (Escape::Code(code), digits + 1)).ok_or("a truncated \\x, \\u or \\U escape")
    };
    let plain = match letter {
        'x' => return hex(2),
        'u' => return hex(4),
        'U' => return hex(8),
        '0'..='7' => {
            let digits = text.bytes().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
            let code = text.bytes().take(digits).fold(0, |code, digit| 8 * code + u32::from(digit - b'0'));
            return Ok((Escape::Code(code), digits));
        }
        'N' => return Err("a character by its name (\\N{…}) is not supported"),
        '\n' => "",
        'n' => "\n",
        't' => "\t",
        'r' => "\r",
        'a' => "\u{7}",
        'b' => "\u{8}",
        'f' => "\u{c}",
        'v' => "\u{b}",
        '\\' => "\\",
        '\'' => "'",
        '"' => "\"",
        // Not an escape: the backslash and what follows it stay.
        _ => return Ok((Escape::Text("\\"), 0)),
    };
    Ok((Escape::Text(plain), 1))
}
