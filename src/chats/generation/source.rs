//! A template's source cut into pieces, and put together again with tags between them that change no white space.

use crate::text::slice;

/// The kind of a piece of the source.
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
    /// The number of the expression that it is an operand of: operands of one expression are written as one tag.
    pub operand_of: Option<usize>,
}

impl Piece {
    /// The first word of a block.
    pub fn keyword(&self) -> &str {
        let inner = self.text.trim_start_matches("{%").trim_start_matches(['-', '+']).trim_start();
        let end = inner.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(inner.len());
        if self.kind == PieceKind::Block { slice(inner, ..end) } else { "" }
    }

    fn has_left(&self, mark: char) -> bool {
        self.kind != PieceKind::Data && self.text.get(2..).is_some_and(|rest| rest.starts_with(mark))
    }

    fn has_right(&self, mark: char) -> bool {
        let inner = self.text.len().checked_sub(2).and_then(|end| self.text.get(..end));
        self.kind != PieceKind::Data && inner.is_some_and(|inner| inner.ends_with(mark))
    }
}

/// Cuts a source. Expressions that add texts are cut between the operands, data and literals after markers.
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
                let operands = operands(tag);
                let several = operands.len() > 1;
                for operand in operands {
                    pieces.push(Piece {
                        operand_of: several.then_some(expressions),
                        ..piece(PieceKind::Expression, operand)
                    });
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
    Piece { kind, text: text.into(), body: Vec::new(), operand_of: None }
}

/// The length of the tag at the start of a text; strings in it may hold its closing sign.
fn tag_length(text: &str) -> usize {
    let close = match text.get(..2) {
        Some("{{") => "}}",
        Some("{%") => "%}",
        Some("{#") => return text.find("#}").map_or(text.len(), |at| at + 2),
        _ => return text.len(),
    };
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut depth = 0usize;
    for (at, character) in text.char_indices().skip(2) {
        match quote {
            _ if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) => {
                if character == open {
                    quote = None;
                }
            }
            None if depth == 0 && text.get(at..).is_some_and(|rest| rest.starts_with(close)) => return at + 2,
            None => match character {
                '"' | '\'' => quote = Some(character),
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
    }
    text.len()
}

/// Text cut after everything that may end a marker, but never inside white space: a tag strips it as a whole.
fn after_markers(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    let mut shows = false;
    while let Some(character) = characters.next() {
        shows |= !character.is_whitespace();
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
        let Some(next) = characters.peek() else { break };
        if matches!(character, '>' | ']') || (character == '\n' && shows && !next.is_whitespace()) {
            parts.push(String::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The operands of an expression that adds texts, each as a tag; the whole tag if it does anything else.
fn operands(tag: &str) -> Vec<String> {
    let whole = || vec![tag.to_owned()];
    let Some(inner) = tag.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")) else { return whole() };
    let (left, inner) = match inner.strip_prefix(['-', '+']) {
        Some(rest) => (slice(inner, ..1), rest),
        None => ("", inner),
    };
    let (right, inner) = match inner.strip_suffix(['-', '+']) {
        Some(rest) => (slice(inner, inner.len() - 1..), rest),
        None => ("", inner),
    };
    let Some(parts) = addends(inner) else { return whole() };
    let parts: Vec<String> = parts.iter().flat_map(|part| literal_parts(part)).collect();
    if parts.len() < 2 {
        return whole();
    }
    let last = parts.len() - 1;
    let tag = |(at, part): (usize, &String)| {
        let (left, right) = (if at == 0 { left } else { "" }, if at == last { right } else { "" });
        format!("{{{{{left} {} {right}}}}}", part.trim())
    };
    parts.iter().enumerate().map(tag).collect()
}

/// The operands of `+` and `~` at the top of an expression; none if it has other operators there.
fn addends(inner: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut quote: Option<char> = None;
    let (mut escaped, mut depth) = (false, 0usize);
    let mut word = String::new();
    for character in inner.chars().chain([' ']) {
        if quote.is_none() && depth == 0 {
            if character.is_alphanumeric() || character == '_' {
                word.push(character);
            } else {
                if matches!(word.as_str(), "if" | "else" | "and" | "or" | "not" | "in" | "is") {
                    return None;
                }
                word.clear();
                if matches!(character, '+' | '~') {
                    parts.push(String::new());
                    continue;
                }
                if matches!(character, '<' | '>' | '=' | '!' | '*' | '/' | '%' | '-' | ',') {
                    return None;
                }
            }
        }
        match quote {
            _ if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None => match character {
                '"' | '\'' => quote = Some(character),
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        parts.last_mut()?.push(character);
    }
    parts.iter().all(|part| !part.trim().is_empty()).then_some(parts)
}

/// A string literal cut after its markers, each part a literal; anything else as it is.
fn literal_parts(operand: &str) -> Vec<String> {
    let trimmed = operand.trim();
    let whole = || vec![trimmed.to_owned()];
    let Some(quote) = trimmed.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { return whole() };
    let Some(inner) = trimmed.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote)) else { return whole() };
    let mut parts = vec![String::new()];
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            return whole();
        }
        let Some(part) = parts.last_mut() else { return whole() };
        part.push(character);
        let ends = match character {
            '\\' => {
                let escaped = characters.next();
                part.extend(escaped);
                escaped == Some('n')
            }
            '>' | ']' => true,
            _ => false,
        };
        if ends {
            parts.push(String::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.into_iter().map(|part| format!("{quote}{part}{quote}")).collect()
}

/// Notes the blocks around each piece; each branch of a condition is a body of its own.
fn nest(pieces: &mut [Piece]) {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..pieces.len() {
        let Some(piece) = pieces.get(at) else { continue };
        let keyword = piece.keyword().to_owned();
        let opens = matches!(keyword.as_str(), "if" | "for" | "macro" | "call" | "filter" | "with" | "generation")
            || (keyword == "set" && !piece.text.contains('='));
        let branches = matches!(keyword.as_str(), "elif" | "else");
        if keyword.starts_with("end") || branches {
            open.pop();
        }
        if let Some(piece) = pieces.get_mut(at) {
            piece.body = open.clone();
        }
        if opens || branches {
            open.push(at);
        }
    }
}

/// The body that a tag in front of a piece is in.
pub(super) fn body_at(pieces: &[Piece], at: usize) -> Option<Vec<usize>> {
    let piece = pieces.get(at);
    match piece {
        // The place before the end of a body or a branch is still inside it.
        Some(piece) if piece.keyword().starts_with("end") || matches!(piece.keyword(), "elif" | "else") => {
            pieces.get(at.checked_sub(1)?).map(|before| {
                let mut body = before.body.clone();
                let opens =
                    matches!(before.keyword(), "if" | "for" | "macro" | "call" | "filter" | "with" | "elif" | "else")
                        || (before.keyword() == "set" && !before.text.contains('='));
                if opens {
                    body.push(at - 1);
                }
                body
            })
        }
        Some(piece) => Some(piece.body.clone()),
        None => Some(Vec::new()),
    }
}

/// The white-space marks of a tag in front of a piece: its neighbors keep the effect they had on each other.
pub(super) fn marks(pieces: &[Piece], at: usize) -> (&'static str, &'static str) {
    let before = at.checked_sub(1).and_then(|before| pieces.get(before));
    let after = pieces.get(at);
    let left = match (before.map(|piece| piece.kind), after) {
        (Some(PieceKind::Data), Some(after)) if after.has_left('-') => "-",
        (Some(PieceKind::Data), Some(after))
            if matches!(after.kind, PieceKind::Block | PieceKind::Comment) && !after.has_left('+') =>
        {
            ""
        }
        (Some(PieceKind::Data), _) => "+",
        _ => "",
    };
    let right = match (before, after.map(|piece| piece.kind)) {
        (Some(before), Some(PieceKind::Data)) if before.has_right('-') => "-",
        (Some(before), Some(PieceKind::Data))
            if matches!(before.kind, PieceKind::Block | PieceKind::Comment) && !before.has_right('+') =>
        {
            ""
        }
        (_, Some(PieceKind::Data)) => "+",
        _ => "",
    };
    (left, right)
}

/// Puts pieces together, with a tag in front of some; an expression is cut only if a tag comes in between.
pub(super) fn join(pieces: &[Piece], from: usize, to: usize, tag: &dyn Fn(usize) -> Option<String>) -> String {
    let mut out = String::new();
    let mut at = from;
    while at < to {
        out.extend(tag(at));
        let Some(piece) = pieces.get(at) else { break };
        let mut next = at + 1;
        let mut text = piece.text.clone();
        if let Some(expression) = piece.operand_of {
            while next < to
                && tag(next).is_none()
                && let Some(operand) = pieces.get(next).filter(|operand| operand.operand_of == Some(expression))
            {
                text = added(&text, &operand.text);
                next += 1;
            }
        }
        out += &text;
        at = next;
    }
    out
}

/// Two operands as one tag.
fn added(one: &str, other: &str) -> String {
    let one = one.strip_suffix("}}").unwrap_or(one).trim_end();
    let other = other.strip_prefix("{{").unwrap_or(other).trim_start();
    // Two halves of one literal are one literal again.
    if let Some(quote) = one.chars().last()
        && matches!(quote, '"' | '\'')
        && !one.ends_with("\\'")
        && !one.ends_with("\\\"")
        && let (Some(one), Some(other)) = (one.strip_suffix(quote), other.strip_prefix(quote))
    {
        return format!("{one}{other}");
    }
    format!("{one} + {other}")
}
