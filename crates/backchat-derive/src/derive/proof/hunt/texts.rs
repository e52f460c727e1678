//! Nasty texts and values: pieces of the chat template's literals and of the draft's delimiters, among words, Markdown,
//! code, JSON, quotes, scripts and white space.

use super::random::Random;
use backchat_core::distinct;
use backchat_core::json::{Object, Value};
use backchat_probe::probe::marks::Segmentation;

/// Pieces of ordinary text, and what parsers stumble over.
const PIECES: [&str; 76] = [
    "ok",
    "Sure.",
    "43 km",
    "Ghent",
    "end.",
    "\n",
    "\n\n",
    " ",
    "\t",
    "\r\n",
    "  \n",
    "- item",
    "1. one",
    "# Title",
    "**bold**",
    "`code`",
    "```python\nprint(x)\n```",
    "```json\n{\"a\": 1}\n```",
    "```\nls\n```",
    "```",
    "$ ls | grep x",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "{{ x }}",
    "{% if %}",
    "{}",
    "[]",
    "\"\"",
    "{\"name\": \"get_route\"}",
    "{\"name\": \"get_route\", \"arguments\": {\"city\": \"Ghent\"}}",
    "{\"a\": {\"b\": [1, 2]}}",
    "[{\"x\": null}]",
    "\"quoted\"",
    "'single'",
    "it's",
    "\\",
    "\\n",
    "\\\"",
    "\\u00e9",
    "a: b",
    "key=value",
    "x, y",
    "f(x, y=1)",
    "get_route(city=\"Ghent\")",
    "<b>x</b>",
    "<br/>",
    "&amp;",
    "<",
    ">",
    "</",
    "<|",
    "|>",
    "|",
    "[/",
    "<x",
    "</x>",
    "i < j and j > k",
    "null",
    "None",
    "true",
    "100%",
    "1e5",
    "-0.50",
    "---",
    "###",
    "Thought: no",
    "Final Answer: 3",
    "user:",
    "日本 語",
    "é 😀 مرحبا",
    "a\u{200d}b\u{a0}c\u{2028}d",
    "e\u{301}",
];

/// Plain words: each text has some, by which it is found in a render.
pub(super) const ANSWERS: [&str; 3] = ["Zwolle by train", "a few lines", "forty three"];
pub(super) const THOUGHTS: [&str; 3] = ["that is easy", "they ask again", "one moment"];
pub(super) const VALUES: [&str; 3] = ["Ghent", "Brno 7", "done"];

const JOINTS: [&str; 5] = ["", "", " ", " ", "\n"];

const KEYS: [&str; 6] = ["a", "city", "x y", "k-1", "name", "arguments"];

/// The longest literal or delimiter that pieces are made of, in bytes, and how many of them.
const LONGEST: usize = 120;
const MOST: usize = 200;

/// What texts are made of.
pub(super) struct Texts {
    /// Literals of the chat template, and the draft's delimiters.
    own: Vec<String>,
}

impl Texts {
    pub fn new(delimiters: &[String], literals: &[String]) -> Self {
        let all = delimiters.iter().chain(literals).filter(|text| !text.trim().is_empty() && text.len() <= LONGEST);
        let mut own = distinct(all.cloned());
        own.truncate(MOST);
        Self { own }
    }

    /// A part of a literal or delimiter, sometimes spelled slightly differently, rarely all of it.
    fn of_own(&self, random: &mut Random) -> Option<String> {
        let own = random.pick(&self.own)?;
        let chars: Vec<char> = own.chars().collect();
        let cut = 1 + random.below(chars.len());
        let part = |chars: &[char]| chars.iter().collect::<String>();
        Some(match random.below(10) {
            0..4 => part(chars.get(..cut).unwrap_or(&chars)),
            4..6 => part(chars.get(cut..).unwrap_or(&chars)),
            6 => own.to_uppercase(),
            7 => chars.iter().enumerate().filter(|(at, _)| *at != cut - 1).map(|(_, c)| c).collect(),
            8 if Segmentation::Words.is_distinctive(own) => {
                let (head, rest) = chars.split_at_checked(cut).unwrap_or((&chars, &[]));
                format!("{} {}", part(head), part(rest))
            }
            _ => own.clone(),
        })
    }

    fn piece(&self, random: &mut Random) -> String {
        let own = if random.percent(35) { self.of_own(random) } else { None };
        own.unwrap_or_else(|| random.pick(&PIECES).map_or_else(String::new, |piece| (*piece).to_owned()))
    }

    /// A text with some of these plain words in it.
    pub fn text(&self, words: &[&str], random: &mut Random) -> String {
        let count = 1 + random.below(6);
        let place = random.below(count + 1);
        let mut text = String::new();
        for at in 0..=count {
            if at > 0 {
                text.push_str(random.pick(&JOINTS).unwrap_or(&""));
            }
            if at == place {
                text.push_str(random.pick(words).unwrap_or(&"done"));
            } else {
                text.push_str(&self.piece(random));
            }
        }
        text
    }

    /// A string for an argument: any text, or one that is written like another value.
    pub fn string(&self, random: &mut Random) -> String {
        match random.below(8) {
            0 => self.piece(random),
            1 => format!("{}{}", self.piece(random), self.piece(random)),
            2 => String::new(),
            _ => self.text(&VALUES, random),
        }
    }

    /// A value of a type, as JSON Schema names it.
    pub fn value(&self, kind: &str, random: &mut Random) -> Value {
        const NUMBERS: [&str; 6] = ["0.5", "-3.25", "1.0", "100.0", "0.0001", "7"];
        match kind {
            "integer" => random.pick(&[0, 1, -8, 42, 4217, 9_007_199_254_740_993]).copied().unwrap_or(0_i64).into(),
            "number" => {
                let number = random.pick(&NUMBERS).copied().unwrap_or("7");
                backchat_core::json::read(number).unwrap_or_default()
            }
            "boolean" => random.percent(50).into(),
            "nullable" if random.percent(30) => Value::Null,
            // A text such as "None" is null by the schema.
            "nullable" => self.text(&VALUES, random).into(),
            "array" => self.list(2, random),
            "object" => self.object(2, random),
            _ => self.string(random).into(),
        }
    }

    fn any(&self, depth: usize, random: &mut Random) -> Value {
        match random.below(if depth == 0 { 5 } else { 7 }) {
            0 => self.value("integer", random),
            1 => self.value("boolean", random),
            2 => self.value("nullable", random),
            3 | 4 => self.string(random).into(),
            5 => self.list(depth - 1, random),
            _ => self.object(depth - 1, random),
        }
    }

    fn list(&self, depth: usize, random: &mut Random) -> Value {
        let count = random.below(4);
        Value::List((0..count).map(|_| self.any(depth, random)).collect())
    }

    fn object(&self, depth: usize, random: &mut Random) -> Value {
        let mut entries = Object::new();
        for _ in 0..random.below(4) {
            let key = random.pick(&KEYS).copied().unwrap_or("a");
            entries.insert(key, self.any(depth, random));
        }
        Value::Object(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_plain_word_and_many_have_parts_of_delimiters() {
        let texts = Texts::new(&["<tool_call>".to_owned()], &["assistant".to_owned(), " ".to_owned()]);
        let mut random = Random::new(1);
        let made: Vec<String> = (0..200).map(|_| texts.text(&ANSWERS, &mut random)).collect();
        assert!(made.iter().all(|text| ANSWERS.iter().any(|word| text.contains(word))));
        assert!(made.iter().filter(|text| text.contains("<to") || text.contains("call>")).count() > 10);
    }

    #[test]
    fn values_have_the_type_that_is_asked_for() {
        let texts = Texts::new(&[], &[]);
        let mut random = Random::new(2);
        for _ in 0..50 {
            assert!(texts.value("integer", &mut random).as_i64().is_some());
            assert!(texts.value("string", &mut random).as_str().is_some());
            assert!(matches!(texts.value("array", &mut random), Value::List(_)));
            assert!(matches!(texts.value("object", &mut random), Value::Object(_)));
        }
    }
}
