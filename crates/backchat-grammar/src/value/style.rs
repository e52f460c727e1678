//! How values are written inside a call: as JSON, as Python prints them, or in a dialect with markers for quotes.

use crate::automaton::Automaton;
use crate::automaton::format::is_format;
use crate::custom::ContextFree;
use crate::rules::{Node, Rules, Spelling, Strings, within_json};
use backchat_core::json::Value;
use backchat_core::python;
use backchat_core::text::slice;
use backchat_parser::pattern::Regular;

/// A spelling of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Style {
    /// Its prefix in names of rules.
    pub name: &'static str,
    pub strings: Strings,
    /// Keys of objects have no quotes.
    pub bare_keys: bool,
    /// `True` and `None`, and `true` and `null`.
    pub python_words: bool,
    pub json_words: bool,
    pub space: Space,
    /// Keys are sorted.
    pub sorted: bool,
    /// The value is inside a JSON string.
    pub inside: bool,
}

/// The text between the tokens of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// A few blanks or newlines anywhere.
    Flexible,
    /// Only these texts for colon and comma.
    Exact { colon: String, comma: String },
}

impl Space {
    /// As renders have it.
    fn printed() -> Self {
        Self::Exact { colon: ": ".to_owned(), comma: ", ".to_owned() }
    }

    /// The separators between a key and its value, and between items, in an exact value.
    fn signs(&self) -> [&str; 2] {
        match self {
            Self::Exact { colon, comma } => [colon, comma],
            Self::Flexible => [": ", ", "],
        }
    }
}

impl Style {
    /// JSON with some white space.
    pub fn json() -> Self {
        Self {
            name: "json",
            strings: Strings::Json,
            bare_keys: false,
            python_words: false,
            json_words: true,
            space: Space::Flexible,
            sorted: false,
            inside: false,
        }
    }

    /// The output of Python's `repr`.
    pub fn python() -> Self {
        Self {
            name: "python",
            strings: Strings::Python(&['\'', '"']),
            python_words: true,
            json_words: false,
            space: Space::printed(),
            ..Self::json()
        }
    }

    /// JSON with Python's white space, and strings in single quotes, unescaped, or in JSON's.
    pub fn single() -> Self {
        Self { name: "single", strings: Strings::Single, json_words: true, python_words: false, ..Self::python() }
    }

    /// The same with only these quotes.
    pub fn quoted(open: &str, close: &str) -> Self {
        Self { name: "quoted", strings: Strings::Marked(open.to_owned(), close.to_owned()), ..Self::single() }
    }

    /// The same with only the white space of renders, if `is_strict`.
    pub fn with_space(self, is_strict: bool) -> Self {
        match self.space {
            Space::Flexible if is_strict => Self { space: Space::printed(), ..self },
            _ => self,
        }
    }

    /// The same with one kind of quotes, if there are two.
    pub fn with_one_quote(&self) -> Self {
        let strings = match &self.strings {
            Strings::Single => Strings::Json,
            Strings::Python([quote, ..]) => Strings::Python(if *quote == '"' { &['"'] } else { &['\''] }),
            strings => strings.clone(),
        };
        Self { strings, ..self.clone() }
    }

    /// A literal of the value.
    pub fn literal(&self, text: &str) -> Node {
        if self.inside { Node::Literal(unquoted_json(text)) } else { Node::literal(text) }
    }

    /// Regular text of the value that contains no marker; `None` if it needs too many states.
    pub fn text(&self, rules: &mut Rules, name: &str, automaton: &Automaton, free_texts: &Automaton) -> Option<Node> {
        Some(rules.text(name, self.clear_text(automaton, free_texts)?))
    }

    fn clear_text(&self, automaton: &Automaton, free_texts: &Automaton) -> Option<Automaton> {
        if self.inside { within_json(automaton)?.both(free_texts) } else { automaton.both(free_texts) }
    }

    /// White space between two tokens.
    pub fn blank(&self, rules: &mut Rules) -> Node {
        if let Space::Exact { .. } = self.space {
            return Node::empty();
        }
        let [outside, inside] = &rules.spaces;
        if let Some(known) = if self.inside { inside } else { outside } {
            return known.clone();
        }
        let blanks = if self.inside { vec![(32, 32)] } else { vec![(9, 10), (13, 13), (32, 32)] };
        let Some(blank) = Automaton::from_pattern(&Regular::Class(blanks)) else { return Node::empty() };
        let blank = rules.text("blank", blank);
        let space = rules.add("space", blank.repeat(0, Some(rules.blanks())));
        let [outside, within] = &mut rules.spaces;
        *(if self.inside { within } else { outside }) = Some(space.clone());
        space
    }

    /// A separator between two tokens, with the blanks around it.
    fn sign(&self, rules: &mut Rules, exact: &str, sign: &str) -> Node {
        match self.space {
            Space::Exact { .. } => self.literal(exact),
            Space::Flexible => {
                let blank = self.blank(rules);
                Node::sequence([blank.clone(), Node::literal(sign), blank])
            }
        }
    }

    pub fn colon(&self, rules: &mut Rules) -> Node {
        let [colon, _] = self.space.signs();
        self.sign(rules, colon, ":")
    }

    pub fn comma(&self, rules: &mut Rules) -> Node {
        let [_, comma] = self.space.signs();
        self.sign(rules, comma, ",")
    }

    /// Strings whose text the automaton accepts; `None` if they need too many states.
    pub fn string(&self, rules: &mut Rules, name: &str, text: &Automaton, free_texts: &Automaton) -> Option<Node> {
        let is_free = *text == Automaton::anything();
        let is_same = |(strings, inside, known, _): &&(Strings, bool, Automaton, Node)| {
            *strings == self.strings && *inside == self.inside && known == free_texts
        };
        if let Some((.., node)) = rules.free_strings.iter().filter(|_| is_free).find(is_same) {
            return Some(node.clone());
        }
        let node = self.constrained(rules, name, text, is_free, free_texts)?;
        if is_free {
            rules.free_strings.push((self.strings.clone(), self.inside, free_texts.clone(), node.clone()));
        }
        Some(node)
    }

    fn constrained(
        &self,
        rules: &mut Rules,
        name: &str,
        text: &Automaton,
        is_free: bool,
        free_texts: &Automaton,
    ) -> Option<Node> {
        let mut ways = Vec::new();
        for (open, close, spelling) in self.spellings() {
            let make = || self.clear_text(&spelling.spell(text)?, free_texts);
            let text = match is_free || is_format(text) {
                true => Automaton::clone(&*rules.shared_texts.get(text, &spelling, self.inside, free_texts, make)?),
                false => make()?,
            };
            let body = rules.text(name, text);
            ways.push(self.quoted_text(&open, body, &close));
        }
        Some(Node::choice(ways))
    }

    /// Strings of a recursive grammar, whose terminals are spelled one by one; `None` if one needs too many states.
    pub fn grammar(
        &self,
        rules: &mut Rules,
        name: &str,
        grammar: &ContextFree,
        free_texts: &Automaton,
    ) -> Option<Node> {
        let mut ways = Vec::new();
        for (open, close, spelling) in self.spellings() {
            let mut spell = |rules: &mut Rules, name: &str, terminal: &Automaton| {
                self.text(rules, name, &spelling.spell(terminal)?, free_texts)
            };
            let body = grammar.node(rules, name, &mut spell)?;
            ways.push(self.quoted_text(&open, body, &close));
        }
        Some(Node::choice(ways))
    }

    /// The quotes and the spelling between them, for each way to quote a string.
    fn spellings(&self) -> Vec<(String, String, Spelling)> {
        let quoted = |quote: &str, spelling: Spelling| (quote.to_owned(), quote.to_owned(), spelling);
        let as_it_is = |open: &str, close: &str| (open.to_owned(), close.to_owned(), Spelling::Raw(close.to_owned()));
        match &self.strings {
            Strings::Json => vec![quoted("\"", Spelling::Json)],
            Strings::Single => vec![as_it_is("'", "'"), quoted("\"", Spelling::Json)],
            Strings::Python(quotes) => {
                quotes.iter().map(|quote| quoted(&quote.to_string(), Spelling::Python(*quote))).collect()
            }
            Strings::Marked(open, close) => vec![as_it_is(open, close)],
        }
    }

    fn quoted_text(&self, open: &str, body: Node, close: &str) -> Node {
        Node::sequence([self.literal(open), body, self.literal(close)])
    }

    /// One exact value in all its spellings, without those that a parser would read as a marker.
    pub fn value(&self, value: &Value, free_texts: &Automaton) -> Node {
        let keep = |text: String| {
            let node = self.literal(&text);
            match &node {
                Node::Literal(raw) if !free_texts.accepts(raw) => Node::never(),
                _ => node,
            }
        };
        match value {
            Value::Null | Value::Bool(_) => {
                let mut words = Vec::new();
                if self.json_words {
                    words.push(keep(value.to_string()));
                }
                if self.python_words {
                    words.push(keep(python::spelling(value)));
                }
                Node::choice(words)
            }
            Value::Number(number) => keep(number.as_str().to_owned()),
            Value::String(text) => {
                let as_json = || {
                    let ways = json_spellings(text).map(keep);
                    let [plain, ..] = &ways;
                    let other = plain.is_never().then(|| keep(numbered(text, |c| c.is_ascii_alphanumeric())));
                    Node::choice(ways.into_iter().chain(other))
                };
                let as_it_is = |open: &str, close: &str| match text.contains(close) || !free_texts.accepts(text) {
                    true => Node::never(),
                    false => self.literal(&format!("{open}{text}{close}")),
                };
                match &self.strings {
                    Strings::Json => as_json(),
                    Strings::Single => Node::choice([as_it_is("'", "'"), as_json()]),
                    Strings::Python(quotes) => {
                        Node::choice(quotes.iter().map(|quote| keep(python::quoted(text, *quote))))
                    }
                    Strings::Marked(open, close) => as_it_is(open, close),
                }
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.value(item, free_texts));
                self.listed("[", items, "]")
            }
            Value::Object(entries) => {
                let mut entries: Vec<(&str, &Value)> = entries.iter().collect();
                if self.sorted {
                    entries.sort_by_key(|(key, _)| *key);
                }
                let [colon, _] = self.space.signs();
                let member = |(key, value): (&str, &Value)| {
                    Node::sequence([self.key(key), self.literal(colon), self.value(value, free_texts)])
                };
                self.listed("{", entries.into_iter().map(member), "}")
            }
        }
    }

    /// Items in brackets, with a comma between two.
    fn listed(&self, open: &str, items: impl Iterator<Item = Node>, close: &str) -> Node {
        let [_, comma] = self.space.signs();
        let items = items.enumerate().flat_map(|(at, item)| [self.literal(if at > 0 { comma } else { "" }), item]);
        Node::sequence([self.literal(open)].into_iter().chain(items).chain([self.literal(close)]))
    }

    /// The key of an object, which matches nothing if it cannot be written.
    pub fn key(&self, key: &str) -> Node {
        if self.bare_keys {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            return match !key.is_empty() && key.chars().all(is_word) {
                true => self.literal(key),
                false => Node::never(),
            };
        }
        self.value(&Value::from(key), &Automaton::anything())
    }
}

impl Rules {
    /// A rule that is added once, and shared under its name.
    pub fn shared(&mut self, name: &str, node: Node) -> Node {
        if let Some(number) = self.rules.iter().position(|rule| rule.name == name && rule.node == node) {
            return Node::Rule(number);
        }
        self.add(name, node)
    }
}

/// A text as JSON, without the quotes, and with the escapes alone that JSON requires.
pub(crate) fn unquoted_json(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' | '\0'..='\x1F' => {
                let quoted = Value::from(c.to_string()).to_string();
                out.push_str(slice(&quoted, 1..quoted.len() - 1));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// A JSON string as writers spell it: with the escapes alone that JSON requires, in ASCII, and both without the characters
/// that HTML reserves.
fn json_spellings(text: &str) -> [String; 4] {
    let is_ascii = |c: char| c.is_ascii() && c != '\x7F';
    let is_html = |c: char| matches!(c, '<' | '>' | '&' | '\'');
    [
        numbered(text, |_| true),
        numbered(text, is_ascii),
        numbered(text, |c| !is_html(c)),
        numbered(text, |c| is_ascii(c) && !is_html(c)),
    ]
}

/// A JSON string in which only these characters are written as usual, all others as `\u` and their number.
fn numbered(text: &str, plain: impl Fn(char) -> bool) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if plain(c) {
            out.push_str(&unquoted_json(c.encode_utf8(&mut [0; 4])));
            continue;
        }
        let mut halves = [0; 2];
        for half in c.encode_utf16(&mut halves) {
            out.push_str(&format!("\\u{half:04x}"));
        }
    }
    out.push('"');
    out
}
