//! Splits a template's source into pieces, and joins them again with tags in between that change no white space.

use backchat_core::text::slice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Data,
    Expression,
    Block,
    Comment,
}

/// One piece of the source. Pieces in their order are the source.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub kind: PieceKind,
    pub text: String,
    /// The bodies around it: the pieces that opened them.
    pub body: Vec<usize>,
    /// Its position in the expression that it is an operand of, if it is not a whole tag.
    pub operand: Option<Operand>,
}

/// One of the texts that an expression concatenates. Its piece is a tag that writes it alone.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// The number of the expression.
    pub expression: usize,
    /// The opening sign of the expression with its white-space mark, for its first operand.
    open: Option<String>,
    /// The operator before it; empty before the second half of a literal.
    operator: &'static str,
    /// Its source, white space included.
    inner: String,
    /// The closing sign of the expression with its white-space mark, for its last operand.
    close: Option<String>,
}

impl Piece {
    /// The number of the expression that it is an operand of.
    pub fn expression(&self) -> Option<usize> {
        self.operand.as_ref().map(|operand| operand.expression)
    }

    /// The first word of a block.
    pub fn keyword(&self) -> &str {
        let inner = self.text.trim_start_matches("{%").trim_start_matches(['-', '+']).trim_start();
        let end = inner.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(inner.len());
        if self.kind == PieceKind::Block { slice(inner, ..end) } else { "" }
    }

    fn is_branch(&self) -> bool {
        matches!(self.keyword(), "elif" | "else")
    }

    fn closes_body(&self) -> bool {
        self.keyword().starts_with("end") || self.is_branch()
    }

    fn opens_body(&self) -> bool {
        matches!(self.keyword(), "if" | "for" | "macro" | "call" | "filter" | "with" | "generation")
            || (self.keyword() == "set" && !self.text.contains('='))
            || self.is_branch()
    }

    /// The inside of a tag: the white-space marks are its first and its last character.
    fn inside(&self) -> &str {
        let end = self.text.len().checked_sub(2).filter(|_| self.kind != PieceKind::Data);
        end.and_then(|end| self.text.get(2..end)).unwrap_or_default()
    }
}

/// The open quotes and brackets at a position in an expression.
#[derive(Default)]
struct Nesting {
    quote: Option<char>,
    is_escaped: bool,
    brackets: usize,
}

impl Nesting {
    fn is_outside(&self) -> bool {
        self.quote.is_none() && self.brackets == 0
    }

    fn pass(&mut self, character: char) {
        match self.quote {
            _ if self.is_escaped => self.is_escaped = false,
            Some(_) if character == '\\' => self.is_escaped = true,
            Some(open) if character == open => self.quote = None,
            Some(_) => {}
            None => match character {
                '"' | '\'' => self.quote = Some(character),
                '{' | '(' | '[' => self.brackets += 1,
                '}' | ')' | ']' => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            },
        }
    }
}

/// Splits a source. Expressions that concatenate texts are split between the operands, data and literals after markers.
pub(super) fn cut(source: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = source;
    let mut expressions = 0;
    while !rest.is_empty() {
        let open = ["{{", "{%", "{#"].iter().filter_map(|open| rest.find(open)).min().unwrap_or(rest.len());
        let (data, tag) = rest.split_at(open);
        for part in after_markers(data) {
            pieces.push(piece(PieceKind::Data, part));
        }
        let length = tag_length(tag);
        let (tag, after) = tag.split_at(length);
        rest = after;
        match tag.get(..2) {
            Some("{{") => {
                expressions += 1;
                let operands = operands(tag, expressions);
                if operands.is_empty() {
                    pieces.push(piece(PieceKind::Expression, tag));
                }
                for operand in operands {
                    let alone = written(&[&operand]);
                    pieces.push(Piece { operand: Some(operand), ..piece(PieceKind::Expression, alone) });
                }
            }
            Some("{%") => pieces.push(piece(PieceKind::Block, tag.to_owned())),
            Some(_) => pieces.push(piece(PieceKind::Comment, tag.to_owned())),
            None => {}
        }
    }
    nest(&mut pieces);
    pieces
}

fn piece(kind: PieceKind, text: impl Into<String>) -> Piece {
    Piece { kind, text: text.into(), body: Vec::new(), operand: None }
}

/// The length of the tag at the start of a text; strings in it may hold its closing sign.
fn tag_length(text: &str) -> usize {
    let close = match text.get(..2) {
        Some("{{") => "}}",
        Some("{%") => "%}",
        Some("{#") => return text.find("#}").map_or(text.len(), |at| at + 2),
        _ => return text.len(),
    };
    let mut nesting = Nesting::default();
    for (at, character) in text.char_indices().skip(2) {
        if nesting.is_outside() && slice(text, at..).starts_with(close) {
            return at + 2;
        }
        nesting.pass(character);
    }
    text.len()
}

/// Splits text after every possible end of a marker and before trailing white space, but never inside white space,
/// which a tag strips as a whole.
fn after_markers(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    let mut shows = false;
    let mut left = text.trim_end().len();
    while let Some(character) = characters.next() {
        shows |= !character.is_whitespace();
        left = left.saturating_sub(character.len_utf8());
        let ends_text = left == 0 && !character.is_whitespace();
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
        let Some(next) = characters.peek() else { break };
        // A brace followed by a tag would read as another tag.
        let ends_text = ends_text && character != '{';
        if ends_text || matches!(character, '>' | ']') || (character == '\n' && shows && !next.is_whitespace()) {
            parts.push(String::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The operands of an expression that concatenates texts; empty for any other expression.
fn operands(tag: &str, expression: usize) -> Vec<Operand> {
    let Some(inner) = tag.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")) else { return Vec::new() };
    let body = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    let open = format!("{{{{{}", slice(inner, ..inner.len() - body.len()));
    let adds = body.strip_suffix(['-', '+']).unwrap_or(body);
    let close = format!("{}}}}}", slice(body, adds.len()..));
    let addends = addends(adds).unwrap_or_default();
    let halves = addends.into_iter().flat_map(|(operator, addend)| {
        let parts = literal_parts(&addend).into_iter().enumerate();
        parts.map(move |(half, inner)| (if half == 0 { operator } else { "" }, inner))
    });
    let mut operands: Vec<Operand> =
        halves.map(|(operator, inner)| Operand { expression, open: None, operator, inner, close: None }).collect();
    if operands.len() < 2 {
        return Vec::new();
    }
    if let Some(first) = operands.first_mut() {
        first.open = Some(open);
    }
    if let Some(last) = operands.last_mut() {
        last.close = Some(close);
    }
    operands
}

/// Adjacent operands as one tag: the bytes of the source, if they are the whole expression.
fn written(operands: &[&Operand]) -> String {
    let (Some(first), Some(last)) = (operands.first(), operands.last()) else { return String::new() };
    let mut inner = first.inner.clone();
    for operand in operands.iter().skip(1) {
        if operand.operator.is_empty() {
            // Two halves of one literal are one literal again.
            inner.pop();
            inner.extend(operand.inner.chars().skip(1));
        } else {
            inner += operand.operator;
            inner += &operand.inner;
        }
    }
    let spaced = |blank: bool| if blank { "" } else { " " };
    let open = first.open.clone().unwrap_or_else(|| format!("{{{{{}", spaced(inner.starts_with(char::is_whitespace))));
    let close = last.close.clone().unwrap_or_else(|| format!("{}}}}}", spaced(inner.ends_with(char::is_whitespace))));
    format!("{open}{inner}{close}")
}

/// The source of an expression that was cut.
pub(super) fn expression(pieces: &[Piece], number: usize) -> String {
    let operands = pieces.iter().filter_map(|piece| piece.operand.as_ref());
    written(&operands.filter(|operand| operand.expression == number).collect::<Vec<_>>())
}

/// The texts that `~` and `+` add at the top of an expression, with the operator before each; `None` if it has other
/// operators there.
fn addends(inner: &str) -> Option<Vec<(&'static str, String)>> {
    let mut terms: Vec<(&'static str, String)> = vec![("", String::new())];
    let mut nesting = Nesting::default();
    let mut word = String::new();
    for character in inner.chars().chain([' ']) {
        if nesting.is_outside() {
            if character.is_alphanumeric() || character == '_' {
                word.push(character);
            } else {
                if matches!(word.as_str(), "if" | "else" | "and" | "or" | "not" | "in" | "is") {
                    return None;
                }
                word.clear();
                if matches!(character, '+' | '~') {
                    terms.push((if character == '+' { "+" } else { "~" }, String::new()));
                    continue;
                }
                if matches!(character, '<' | '>' | '=' | '!' | '*' | '/' | '%' | '-' | ',') {
                    return None;
                }
            }
        }
        nesting.pass(character);
        terms.last_mut()?.1.push(character);
    }
    // The space that ended the last word.
    terms.last_mut()?.1.pop();
    // `+` certainly concatenates if one of its operands is a literal or a `~` expression, which binds tighter.
    let starts_with =
        |accepted: fn(char) -> bool| terms.iter().any(|(_, term)| term.trim_start().starts_with(accepted));
    let is_text =
        terms.iter().any(|(operator, _)| *operator == "~") || starts_with(|first| matches!(first, '"' | '\''));
    let adds_texts = is_text || !starts_with(|first| first.is_ascii_digit());
    (adds_texts && terms.iter().all(|(_, term)| !term.trim().is_empty())).then_some(terms)
}

/// Splits a string literal after its markers and before trailing white space, each part a literal; anything else is
/// unchanged.
fn literal_parts(operand: &str) -> Vec<String> {
    let whole = || vec![operand.to_owned()];
    let trimmed = operand.trim();
    let Some(quote) = trimmed.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { return whole() };
    let Some(inner) = trimmed.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote)) else { return whole() };
    // Each character as it is written, and whether a part ends after it.
    let mut signs: Vec<String> = Vec::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            return whole();
        }
        let mut sign = String::from(character);
        if character == '\\' {
            sign.extend(characters.next());
        }
        signs.push(sign);
    }
    let blank = |sign: &String| matches!(sign.as_str(), " " | "\\n" | "\\t" | "\\r");
    let text = signs.len() - signs.iter().rev().take_while(|sign| blank(sign)).count();
    let mut parts = vec![String::new()];
    for (at, sign) in signs.iter().enumerate() {
        if let Some(part) = parts.last_mut() {
            *part += sign;
        }
        if matches!(sign.as_str(), ">" | "]" | "\\n") || at + 1 == text {
            parts.push(String::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    let last = parts.len().saturating_sub(1);
    let lead = slice(operand, ..operand.len() - operand.trim_start().len());
    let trail = slice(operand, operand.trim_end().len()..);
    let literal = |(at, part): (usize, String)| {
        let (lead, trail) = (if at == 0 { lead } else { "" }, if at == last { trail } else { "" });
        format!("{lead}{quote}{part}{quote}{trail}")
    };
    if parts.is_empty() { whole() } else { parts.into_iter().enumerate().map(literal).collect() }
}

/// Notes the blocks around each piece; each branch of a condition is a body of its own.
fn nest(pieces: &mut [Piece]) {
    let mut open: Vec<usize> = Vec::new();
    for (at, piece) in pieces.iter_mut().enumerate() {
        if piece.closes_body() {
            open.pop();
        }
        piece.body = open.clone();
        if piece.opens_body() {
            open.push(at);
        }
    }
}

/// The body that a tag in front of a piece is in.
pub(super) fn body_at(pieces: &[Piece], at: usize) -> Option<Vec<usize>> {
    match pieces.get(at) {
        // The place before the end of a body or a branch is still inside it.
        Some(piece) if piece.closes_body() => {
            let before = pieces.get(at.checked_sub(1)?)?;
            let mut body = before.body.clone();
            body.extend(before.opens_body().then_some(at - 1));
            Some(body)
        }
        Some(piece) => Some(piece.body.clone()),
        None => Some(Vec::new()),
    }
}

/// The white-space marks of a tag in front of a piece, chosen so that its neighbors keep their effect on each other.
pub(super) fn marks(pieces: &[Piece], at: usize) -> (&'static str, &'static str) {
    let before = at.checked_sub(1).and_then(|before| pieces.get(before));
    let after = pieces.get(at);
    // The mark between data and the other side, whose nearest character is given.
    let mark = |data: Option<&Piece>, other: Option<&Piece>, nearest: Option<char>| {
        let takes_lines = matches!(other.map(|other| other.kind), Some(PieceKind::Block | PieceKind::Comment));
        match nearest {
            _ if data.is_none_or(|data| data.kind != PieceKind::Data) => "",
            Some('-') => "-",
            nearest if takes_lines && nearest != Some('+') => "",
            _ => "+",
        }
    };
    let left = mark(before, after, after.and_then(|piece| piece.inside().chars().next()));
    let right = mark(after, before, before.and_then(|piece| piece.inside().chars().next_back()));
    (left, right)
}

/// Joins pieces, with a tag in front of some. An expression is split only if a tag comes in between.
pub(super) fn join(pieces: &[Piece], from: usize, to: usize, tag: &dyn Fn(usize) -> Option<String>) -> String {
    let mut out = String::new();
    let mut at = from;
    while at < to {
        out.extend(tag(at));
        let Some(piece) = pieces.get(at) else { break };
        let mut next = at + 1;
        let mut operands: Vec<&Operand> = piece.operand.iter().collect();
        while next < to
            && tag(next).is_none()
            && let Some(operand) = pieces.get(next).and_then(|piece| piece.operand.as_ref())
            && Some(operand.expression) == piece.expression()
        {
            operands.push(operand);
            next += 1;
        }
        out += &if operands.is_empty() { piece.text.clone() } else { written(&operands) };
        at = next;
    }
    out
}
