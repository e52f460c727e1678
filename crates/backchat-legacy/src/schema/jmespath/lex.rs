//! An expression as tokens.

use crate::schema::fault::Fault;
use backchat_core::json::{self, Value};
use backchat_core::text::Cursor;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Dot,
    Star,
    RightBracket,
    Comma,
    Colon,
    Current,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftBracket,
    Flatten,
    Filter,
    Or,
    Pipe,
    And,
    ExprRef,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    NotEqual,
    Not,
    Equal,
    Number(i64),
    Name(String),
    QuotedName(String),
    Literal(Value),
    End,
}

impl Token {
    /// How tightly it binds the expression to its left.
    pub fn power(&self) -> u8 {
        match self {
            Token::Pipe => 1,
            Token::Or => 2,
            Token::And => 3,
            Token::Equal
            | Token::NotEqual
            | Token::Less
            | Token::LessOrEqual
            | Token::Greater
            | Token::GreaterOrEqual => 5,
            Token::Flatten => 9,
            Token::Star => 20,
            Token::Filter => 21,
            Token::Dot => 40,
            Token::Not => 45,
            Token::LeftBrace => 50,
            Token::LeftBracket => 55,
            Token::LeftParen => 60,
            _ => 0,
        }
    }
}

struct Lexer<'e> {
    text: Cursor<'e>,
}

/// The tokens of an expression, with `End` as the last.
pub(super) fn tokens(source: &str) -> Result<Vec<Token>, Fault> {
    if source.is_empty() {
        return Err(Fault::new("the expression is empty"));
    }
    let mut lexer = Lexer { text: Cursor::new(source) };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    tokens.push(Token::End);
    Ok(tokens)
}

impl Lexer<'_> {
    /// One token if a second character follows, another if not.
    fn either(&mut self, second: char, with: Token, without: Token) -> Token {
        if self.text.eat(second) { with } else { without }
    }

    fn token(&mut self) -> Result<Option<Token>, Fault> {
        self.text.take(usize::MAX, |c| matches!(c, ' ' | '\t' | '\n' | '\r'));
        let start = self.text.at();
        let Some(c) = self.text.bump() else { return Ok(None) };
        Ok(Some(match c {
            '.' => Token::Dot,
            '*' => Token::Star,
            ']' => Token::RightBracket,
            ',' => Token::Comma,
            ':' => Token::Colon,
            '@' => Token::Current,
            '(' => Token::LeftParen,
            ')' => Token::RightParen,
            '{' => Token::LeftBrace,
            '}' => Token::RightBrace,
            'a'..='z' | 'A'..='Z' | '_' => {
                self.text.take(usize::MAX, |c| c.is_ascii_alphanumeric() || c == '_');
                Token::Name(self.text.since(start).to_owned())
            }
            '[' => match self.text.peek() {
                Some(']') => self.either(']', Token::Flatten, Token::LeftBracket),
                _ => self.either('?', Token::Filter, Token::LeftBracket),
            },
            '\'' => Token::Literal(self.until('\'')?.replace("\\'", "'").into()),
            '"' => {
                let text = format!("\"{}\"", self.until('"')?);
                match json::read(&text) {
                    Ok(Value::String(name)) => Token::QuotedName(name),
                    _ => return Err(Fault::new(format!("{text} is not a string"))),
                }
            }
            '`' => Token::Literal(literal(&self.until('`')?.replace("\\`", "`"))?),
            '|' => self.either('|', Token::Or, Token::Pipe),
            '&' => self.either('&', Token::And, Token::ExprRef),
            '<' => self.either('=', Token::LessOrEqual, Token::Less),
            '>' => self.either('=', Token::GreaterOrEqual, Token::Greater),
            '!' => self.either('=', Token::NotEqual, Token::Not),
            '=' if self.text.peek() == Some('=') => self.either('=', Token::Equal, Token::Equal),
            '0'..='9' | '-' => {
                self.text.take(usize::MAX, |c| c.is_ascii_digit());
                let number = self.text.since(start);
                if number == "-" {
                    return Err(unknown('-', start));
                }
                // No list is that long: a larger number is clamped.
                let most = if c == '-' { i64::MIN } else { i64::MAX };
                Token::Number(number.parse().unwrap_or(most))
            }
            other => return Err(unknown(other, start)),
        }))
    }

    /// The text up to an unescaped delimiter; escapes are kept.
    fn until(&mut self, delimiter: char) -> Result<String, Fault> {
        let mut text = String::new();
        loop {
            match self.text.bump() {
                Some(c) if c == delimiter => return Ok(text),
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.text.bump());
                }
                Some(c) => text.push(c),
                None => return Err(Fault::new(format!("`{delimiter}` is not closed"))),
            }
        }
    }
}

fn unknown(c: char, at: usize) -> Fault {
    Fault::new(format!("`{c}` at byte {at} of the expression is unknown"))
}

/// A value between backticks: JSON, or text as expressions wrote it before quotes were required.
fn literal(text: &str) -> Result<Value, Fault> {
    let text_alone = || json::read(&format!("\"{}\"", text.trim_start()));
    json::read(text).or_else(|_| text_alone()).map_err(|_| Fault::new(format!("`{text}` is not a JSON value")))
}
