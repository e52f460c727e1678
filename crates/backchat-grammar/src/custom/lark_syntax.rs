//! Reads Lark's notation: rules over terminals, and terminals over characters. Errors name the features that are not
//! supported.

use std::collections::HashMap;

use super::{Unsupported, common, regex};
use backchat_parser::pattern::Regular;

/// One part of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Expr {
    /// One of the terminals, by its number.
    Terminal(usize),
    Rule(usize),
    Sequence(Vec<Expr>),
    Choice(Vec<Expr>),
    Repeat(Box<Expr>, u32, Option<u32>),
}

/// A grammar: its rules, which begin with `start`, and what may come between two terminals.
#[derive(Clone, Debug)]
pub(super) struct LarkGrammar {
    pub rules: Vec<(String, Expr)>,
    pub terminals: Vec<Regular>,
    pub start: usize,
    pub ignored: Vec<Regular>,
}

/// How deep groups may nest, and how many tokens, rules and terminals there may be.
const MOST_DEPTH: usize = 30;
const MOST_TOKENS: usize = 20_000;
const MOST_RULES: usize = 2_000;

type Result<T> = std::result::Result<T, Unsupported>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String, bool),
    Regex(String, String),
    Number(u32),
    Sign(char),
    DotDot,
    Arrow,
    Directive(String),
    Newline,
}

/// A line and a column, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At(usize, usize);

impl At {
    fn wrong(self, message: &str) -> Unsupported {
        format!("is not supported at line {}, column {}: {message}", self.0, self.1).into()
    }
}

/// An expression with unresolved names.
#[derive(Clone, Debug)]
enum Raw {
    Terminal(Regular),
    Name(String, At),
    Sequence(Vec<Raw>),
    Choice(Vec<Raw>),
    Repeat(Box<Raw>, u32, Option<u32>),
}

/// Reads a grammar.
pub(super) fn read(text: &str) -> Result<LarkGrammar> {
    let mut reader = LarkReader { tokens: tokens(text)?, at: 0, depth: 0 };
    let mut definitions: Vec<(String, Raw)> = Vec::new();
    let mut ignored = Vec::new();
    while let Some((token, at)) = reader.next() {
        match token {
            Token::Newline => {}
            Token::Directive(name) => match name.as_str() {
                "ignore" => ignored.push(reader.choice()?),
                "import" => reader.import(at, &mut definitions)?,
                other => return Err(at.wrong(&format!("`%{other}`"))),
            },
            Token::Sign('?' | '!') => {}
            Token::Name(name) => {
                reader.head_end(at)?;
                if definitions.iter().any(|(known, ..)| *known == name) {
                    return Err(at.wrong(&format!("`{name}` is defined twice")));
                }
                let body = reader.choice()?;
                definitions.push((name, body));
            }
            _ => return Err(at.wrong("a rule, a terminal or a directive was expected here")),
        }
    }
    resolved(&definitions, &ignored)
}

/// Resolves names to rules and to the texts of terminals.
fn resolved(definitions: &[(String, Raw)], ignored: &[Raw]) -> Result<LarkGrammar> {
    let is_terminal = |name: &str| name.trim_start_matches('_').starts_with(|c: char| c.is_ascii_uppercase());
    let mut resolver = Resolver::default();
    for (name, body) in definitions {
        if is_terminal(name) {
            resolver.definitions.insert(name, body);
        } else {
            resolver.rules.insert(name, resolver.rules.len());
        }
    }
    if definitions.len() > MOST_RULES {
        return Err(format!("has more than {MOST_RULES} rules and terminals").into());
    }
    let Some(start) = resolver.rules.get("start").copied() else { return Err("has no rule `start`".into()) };
    let mut rules = Vec::new();
    for (name, body) in definitions.iter().filter(|(name, ..)| !is_terminal(name)) {
        rules.push((name.clone(), resolver.rule(body)?));
    }
    let ignored = ignored.iter().map(|body| resolver.terminal(body)).collect::<Result<_>>()?;
    Ok(LarkGrammar { rules, terminals: resolver.numbered, start, ignored })
}

#[derive(Default)]
struct Resolver<'d> {
    /// The definitions of the terminals.
    definitions: HashMap<&'d str, &'d Raw>,
    rules: HashMap<&'d str, usize>,
    terminals: HashMap<String, Regular>,
    /// The terminals being resolved.
    open: Vec<String>,
    /// The terminals that rules refer to.
    numbered: Vec<Regular>,
}

impl Resolver<'_> {
    fn rule(&mut self, raw: &Raw) -> Result<Expr> {
        Ok(match raw {
            Raw::Terminal(regular) => self.number(regular.clone()),
            Raw::Name(name, at) => match self.rules.get(name.as_str()) {
                Some(number) => Expr::Rule(*number),
                None => {
                    let regular = self.named(name, *at)?;
                    self.number(regular)
                }
            },
            Raw::Sequence(items) => Expr::Sequence(items.iter().map(|item| self.rule(item)).collect::<Result<_>>()?),
            Raw::Choice(items) => Expr::Choice(items.iter().map(|item| self.rule(item)).collect::<Result<_>>()?),
            Raw::Repeat(item, min, max) => Expr::Repeat(Box::new(self.rule(item)?), *min, *max),
        })
    }

    fn number(&mut self, regular: Regular) -> Expr {
        let known = self.numbered.iter().position(|known| *known == regular);
        Expr::Terminal(known.unwrap_or_else(|| {
            self.numbered.push(regular);
            self.numbered.len() - 1
        }))
    }

    fn terminal(&mut self, raw: &Raw) -> Result<Regular> {
        Ok(match raw {
            Raw::Terminal(regular) => regular.clone(),
            Raw::Name(name, at) if self.rules.contains_key(name.as_str()) => {
                return Err(at.wrong(&format!("a terminal cannot hold the rule `{name}`")));
            }
            Raw::Name(name, at) => self.named(name, *at)?,
            Raw::Sequence(items) => {
                Regular::Concat(items.iter().map(|item| self.terminal(item)).collect::<Result<_>>()?)
            }
            Raw::Choice(items) => {
                Regular::Alternate(items.iter().map(|item| self.terminal(item)).collect::<Result<_>>()?)
            }
            Raw::Repeat(item, min, max) => self.terminal(item)?.repeat(*min, *max),
        })
    }

    fn named(&mut self, name: &str, at: At) -> Result<Regular> {
        if let Some(known) = self.terminals.get(name) {
            return Ok(known.clone());
        }
        let Some(raw) = self.definitions.get(name).copied() else {
            return Err(at.wrong(&format!("`{name}` is not defined")));
        };
        if self.open.iter().any(|open| open == name) || self.open.len() >= MOST_DEPTH {
            return Err(at.wrong(&format!("the terminal `{name}` refers to itself, or too many others to each other")));
        }
        self.open.push(name.to_owned());
        let regular = self.terminal(raw)?;
        self.open.pop();
        self.terminals.insert(name.to_owned(), regular.clone());
        Ok(regular)
    }
}

struct LarkReader {
    tokens: Vec<(Token, At)>,
    at: usize,
    depth: usize,
}

impl LarkReader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<(Token, At)> {
        let next = self.tokens.get(self.at).cloned();
        self.at += 1;
        next
    }

    /// Consumes this token, if it is the next one.
    fn eat(&mut self, token: &Token) -> bool {
        let is = self.peek() == Some(token);
        self.at += usize::from(is);
        is
    }

    fn is(&mut self, sign: char) -> bool {
        self.eat(&Token::Sign(sign))
    }

    /// The position of the next token or, at the end, of the last one.
    fn place(&self) -> At {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(At(1, 1), |(_, at)| *at)
    }

    /// Consumes the colon after a name, and a priority before it, which has no effect here.
    fn head_end(&mut self, at: At) -> Result<()> {
        if self.is('.') && !matches!(self.next(), Some((Token::Number(_), _))) {
            return Err(at.wrong("a priority must be a number"));
        }
        match self.next() {
            Some((Token::Sign(':'), _)) => Ok(()),
            Some((Token::Sign('['), at)) => Err(at.wrong("attributes such as `[lazy]`")),
            Some((Token::Sign('{'), at)) => Err(at.wrong("templates")),
            _ => Err(at.wrong("a colon was expected after this name")),
        }
    }

    fn import(&mut self, at: At, definitions: &mut Vec<(String, Raw)>) -> Result<()> {
        let library = match self.next() {
            Some((Token::Name(name), _)) => name,
            _ => return Err(at.wrong("only `%import common.X` is known")),
        };
        if library != "common" {
            return Err(at.wrong(&format!("`%import {library}`: only `common` is known")));
        }
        let mut names = Vec::new();
        if self.is('(') {
            while let Some((token, at)) = self.next() {
                match token {
                    Token::Name(name) => names.push((name, at)),
                    Token::Sign(',') | Token::Newline => {}
                    Token::Sign(')') => break,
                    _ => return Err(at.wrong("names were expected in this `%import`")),
                }
            }
        } else if self.is('.')
            && let Some((Token::Name(name), at)) = self.next()
        {
            names.push((name, at));
        } else {
            return Err(at.wrong("only `%import common.X` is known"));
        }
        let alias = match self.eat(&Token::Arrow).then(|| self.next()) {
            None => None,
            Some(Some((Token::Name(name), _))) => Some(name),
            Some(_) => return Err(at.wrong("a name was expected after `->`")),
        };
        for (name, at) in names {
            let Some(pattern) = common::pattern(&name) else {
                return Err(at.wrong(&format!(
                    "`%import common.{name}`: letters, digits, numbers, blanks and newlines are known"
                )));
            };
            let regular = regex::read(pattern, "", false)?;
            definitions.push((alias.clone().unwrap_or(name), Raw::Terminal(regular)));
        }
        Ok(())
    }

    /// Alternatives up to the end of the definition or the group.
    fn choice(&mut self) -> Result<Raw> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.place().wrong("groups nest more than 30 deep"));
        }
        let mut ways = vec![self.sequence()?];
        loop {
            // A line that begins with a bar continues the definition; inside a group every line does.
            let before = self.at;
            while self.eat(&Token::Newline) {}
            if self.is('|') {
                ways.push(self.sequence()?);
            } else {
                self.at = before;
                break;
            }
        }
        self.depth -= 1;
        Ok(if ways.len() == 1 { ways.remove(0) } else { Raw::Choice(ways) })
    }

    fn sequence(&mut self) -> Result<Raw> {
        let mut items = Vec::new();
        while let Some(atom) = self.atom()? {
            items.push(self.repeated(atom)?);
        }
        if self.eat(&Token::Arrow) {
            let place = self.place();
            if !matches!(self.next(), Some((Token::Name(_), _))) {
                return Err(place.wrong("a name was expected after `->`"));
            }
        }
        Ok(if items.len() == 1 { items.remove(0) } else { Raw::Sequence(items) })
    }

    fn repeated(&mut self, atom: Raw) -> Result<Raw> {
        let Some(Token::Sign(sign @ ('?' | '*' | '+' | '~'))) = self.peek().cloned() else { return Ok(atom) };
        self.at += 1;
        let (min, max) = match sign {
            '?' => (0, Some(1)),
            '*' => (0, None),
            '+' => (1, None),
            _ => self.counts()?,
        };
        Ok(Raw::Repeat(Box::new(atom), min, max))
    }

    /// The numbers after `~`.
    fn counts(&mut self) -> Result<(u32, Option<u32>)> {
        let place = self.place();
        let Some((Token::Number(min), _)) = self.next() else {
            return Err(place.wrong("a number was expected after `~`"));
        };
        match self.eat(&Token::DotDot).then(|| self.next()) {
            None => Ok((min, Some(min))),
            Some(Some((Token::Number(max), _))) if max >= min => Ok((min, Some(max))),
            Some(_) => Err(place.wrong("a number that is at least as large was expected after `..`")),
        }
    }

    fn atom(&mut self) -> Result<Option<Raw>> {
        if self.depth > 1 {
            while self.peek() == Some(&Token::Newline)
                && !matches!(self.tokens.get(self.at + 1), Some((Token::Sign('|'), _)))
            {
                self.at += 1;
            }
        }
        if let None | Some(Token::Newline | Token::Arrow | Token::Sign('|' | ')' | ']')) = self.peek() {
            return Ok(None);
        }
        let Some((token, place)) = self.next() else { return Ok(None) };
        Ok(Some(match token {
            Token::Name(_) if self.peek() == Some(&Token::Sign('{')) => return Err(place.wrong("templates")),
            Token::Name(name) => Raw::Name(name, place),
            Token::Text(text, folded) => {
                if !self.eat(&Token::DotDot) {
                    return Ok(Some(Raw::Terminal(literal(&text, folded)?)));
                }
                let single = |text: &str| {
                    let mut chars = text.chars();
                    chars.next().filter(|_| chars.next().is_none())
                };
                match (single(&text), self.next()) {
                    (Some(low), Some((Token::Text(text, _), _))) if single(&text).is_some_and(|high| low <= high) => {
                        let high = single(&text).unwrap_or(low);
                        Raw::Terminal(Regular::Class(vec![(low.into(), high.into())]))
                    }
                    _ => return Err(place.wrong("a range goes from one character to a later one")),
                }
            }
            Token::Regex(source, flags) => Raw::Terminal(
                regex::read(&source, &flags, false)
                    .map_err(|problem| place.wrong(&format!("the regular expression {problem}")))?,
            ),
            Token::Sign(open @ ('(' | '[')) => {
                let inner = self.choice()?;
                while self.eat(&Token::Newline) {}
                if !self.is(if open == '(' { ')' } else { ']' }) {
                    return Err(place.wrong("this group is not closed"));
                }
                if open == '[' { Raw::Repeat(Box::new(inner), 0, Some(1)) } else { inner }
            }
            Token::Directive(name) => return Err(place.wrong(&format!("`%{name}`"))),
            Token::Sign('<' | '@') => {
                return Err(place.wrong("special tokens and grammars by reference (`<…>`, `@…`)"));
            }
            _ => return Err(place.wrong("a name, a text or a group was expected here")),
        }))
    }
}

fn literal(text: &str, folded: bool) -> Result<Regular> {
    if folded { regex::read(&regex_syntax::escape(text), "i", false) } else { Ok(Regular::text(text)) }
}

/// Splits a grammar into tokens.
fn tokens(text: &str) -> Result<Vec<(Token, At)>> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let chars: Vec<char> = line.chars().collect();
        let mut at = 0;
        while let Some(c) = chars.get(at).copied() {
            let place = At(number + 1, at + 1);
            if c.is_whitespace() {
                at += 1;
                continue;
            }
            if c == '#' || c == '/' && chars.get(at + 1) == Some(&'/') {
                break;
            }
            let (token, length) = token(&chars, at, c).map_err(|message| place.wrong(message))?;
            found.push((token, place));
            at += length;
            if found.len() > MOST_TOKENS {
                return Err(place.wrong("a grammar of more than 20,000 tokens"));
            }
        }
        found.push((Token::Newline, At(number + 1, chars.len() + 1)));
    }
    Ok(found)
}

/// The token that begins with a character of a line, and the number of its characters.
fn token(chars: &[char], at: usize, first: char) -> std::result::Result<(Token, usize), &'static str> {
    let word =
        |from: usize| -> String { chars.iter().skip(from).take_while(|c| c.is_alphanumeric() || **c == '_').collect() };
    let next = chars.get(at + 1).copied();
    Ok(match first {
        '%' => {
            let name = word(at + 1);
            let length = 1 + name.chars().count();
            (Token::Directive(name), length)
        }
        '"' => {
            let (text, length) = quoted(chars, at).ok_or("this text is not closed, or has an unknown escape")?;
            let folded = chars.get(at + length) == Some(&'i');
            (Token::Text(text, folded), length + usize::from(folded))
        }
        '/' => {
            let (source, length) = up_to(chars, at, '/').ok_or("this regular expression is not closed")?;
            let flags: String = chars.iter().skip(at + length).take_while(|c| c.is_ascii_lowercase()).collect();
            let all = length + flags.len();
            (Token::Regex(source, flags), all)
        }
        '.' if next == Some('.') => (Token::DotDot, 2),
        '-' if next == Some('>') => (Token::Arrow, 2),
        c if c.is_ascii_digit() => {
            let digits: String = chars.iter().skip(at).take_while(|c| c.is_ascii_digit()).collect();
            let value = digits.parse().map_err(|_| "this number is too large")?;
            (Token::Number(value), digits.len())
        }
        c if c.is_alphabetic() || c == '_' => {
            let name = word(at);
            let length = name.chars().count();
            (Token::Name(name), length)
        }
        c => (Token::Sign(c), 1),
    })
}

/// A quoted text, unescaped, and the number of its characters in the source.
fn quoted(chars: &[char], start: usize) -> Option<(String, usize)> {
    let (source, length) = up_to(chars, start, '"')?;
    let mut text = String::new();
    let mut rest = source.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let sign = rest.next()?;
        let mut code = |digits: usize| {
            let code: String = rest.by_ref().take(digits).collect();
            char::from_u32(u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits)?)
        };
        text.push(match sign {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            '\\' | '"' | '\'' | '/' => sign,
            'x' => code(2)?,
            'u' => code(4)?,
            'U' => code(8)?,
            _ => return None,
        });
    }
    Some((text, length))
}

/// The text between two delimiters, with its escapes, and the number of its characters with the delimiters.
fn up_to(chars: &[char], start: usize, close: char) -> Option<(String, usize)> {
    let mut source = String::new();
    let mut at = start + 1;
    loop {
        match *chars.get(at)? {
            c if c == close => return Some((source, at + 1 - start)),
            '\\' => {
                source.extend(['\\', *chars.get(at + 1)?]);
                at += 2;
            }
            c => {
                source.push(c);
                at += 1;
            }
        }
    }
}
