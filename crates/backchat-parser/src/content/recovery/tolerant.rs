//! Tolerant JSON: parses deviating JSON from left to right without backtracking; each deviation is one production,
//! named by its policy. What it parses without any of them is JSON.

use super::policy::{Policies, RecoveryPolicy};
use backchat_core::json::{self, MAX_DEPTH, Object, Value};
use backchat_core::text::{Cursor, slice};

/// How far after a quote to look for the key that shows that the quote ends its string.
const KEY_WITHIN: usize = 128;

/// A value, and the productions that were needed.
#[derive(Debug, PartialEq)]
pub(crate) struct Tolerated {
    pub value: Value,
    pub used: Policies,
    /// The paths of duplicate keys.
    pub duplicates: Vec<Vec<String>>,
}

/// Reads a body with the productions of these policies. `delimited` says that a delimiter ended the body; then brackets
/// may be missing.
pub(crate) fn read(body: &str, policies: Policies, delimited: bool) -> Option<Tolerated> {
    let (inside, used) = without_fence(body, policies);
    let mut reader = TolerantReader { text: Cursor::new(inside), policies, delimited, used, duplicates: Vec::new() };
    let value = reader.document()?;
    Some(Tolerated { value, used: reader.used, duplicates: reader.duplicates })
}

/// A body without its fence, if the policies recover one, and the policy that this needed.
pub(crate) fn without_fence(body: &str, policies: Policies) -> (&str, Policies) {
    match fenced(body).filter(|_| policies.contains(RecoveryPolicy::JsonFence)) {
        Some(inside) => (inside, Policies::from(RecoveryPolicy::JsonFence)),
        None => (body, Policies::none()),
    }
}

/// The inside of a body in a fence.
fn fenced(body: &str) -> Option<&str> {
    let inside = body.trim().strip_prefix("```")?.strip_suffix("```")?;
    let language = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    Some(slice(inside, language..))
}

struct TolerantReader<'t> {
    text: Cursor<'t>,
    policies: Policies,
    delimited: bool,
    used: Policies,
    duplicates: Vec<Vec<String>>,
}

/// A list or object whose end has not come.
enum Open {
    List(Vec<Value>),
    Object { entries: Object, key: String },
}

impl Open {
    fn closing(&self) -> char {
        match self {
            Open::List(_) => ']',
            Open::Object { .. } => '}',
        }
    }

    fn whole(self) -> Value {
        match self {
            Open::List(items) => Value::List(items),
            Open::Object { entries, .. } => Value::Object(entries),
        }
    }
}

impl TolerantReader<'_> {
    fn document(&mut self) -> Option<Value> {
        self.skip_space();
        let value = self.value()?;
        self.skip_space();
        if !self.text.rest().is_empty() {
            let surplus = |c: char| matches!(c, '}' | ']' | '"' | ' ' | '\t' | '\n' | '\r');
            let is_surplus = self.delimited && self.text.rest().chars().all(surplus);
            self.use_if(is_surplus, RecoveryPolicy::JsonBrackets)?;
        }
        Some(value)
    }

    /// Records the use of a production, if it applies and is enabled.
    fn use_if(&mut self, applies: bool, policy: RecoveryPolicy) -> Option<()> {
        (applies && self.policies.contains(policy)).then(|| self.used = self.used.with(policy))
    }

    fn skip_space(&mut self) {
        self.text.take(usize::MAX, |c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    fn value(&mut self) -> Option<Value> {
        let mut open: Vec<Open> = Vec::new();
        'values: loop {
            let mut value = match self.text.peek()? {
                bracket @ ('{' | '[') => {
                    if open.len() >= MAX_DEPTH {
                        return None;
                    }
                    self.text.bump();
                    self.skip_space();
                    let mut nested = match bracket {
                        '{' => Open::Object { entries: Object::new(), key: String::new() },
                        _ => Open::List(Vec::new()),
                    };
                    if !self.text.eat(nested.closing()) {
                        self.key(&mut nested)?;
                        open.push(nested);
                        continue 'values;
                    }
                    nested.whole()
                }
                _ => self.scalar(matches!(open.last(), Some(Open::List(_))))?,
            };
            while let Some(mut around) = open.pop() {
                self.put(&mut around, value, &open);
                if self.goes_on(&mut around, &open)? {
                    open.push(around);
                    continue 'values;
                }
                value = around.whole();
            }
            return Some(value);
        }
    }

    fn put(&mut self, around: &mut Open, value: Value, outer: &[Open]) {
        match around {
            Open::List(items) => items.push(value),
            Open::Object { entries, key } => {
                if entries.insert(key.clone(), value).is_some() {
                    let keys = outer.iter().map(|open| match open {
                        Open::List(items) => items.len().to_string(),
                        Open::Object { key, .. } => key.clone(),
                    });
                    self.duplicates.push(keys.chain([key.clone()]).collect());
                }
            }
        }
    }

    /// Whether another item follows, and not the end of the list or object.
    fn goes_on(&mut self, around: &mut Open, outer: &[Open]) -> Option<bool> {
        self.skip_space();
        if self.text.eat(',') {
            self.skip_space();
            if !matches!(self.text.peek(), Some('}' | ']')) {
                self.key(around)?;
                return Some(true);
            }
            self.use_if(true, RecoveryPolicy::JsonCommas)?;
        }
        if self.text.eat(around.closing()) {
            return Some(false);
        }
        // The expected bracket is missing: at the end, or before one that closes an outer value.
        let is_missing = match self.text.peek() {
            None => true,
            Some(bracket @ ('}' | ']')) => outer.iter().any(|open| open.closing() == bracket),
            Some(_) => false,
        };
        self.use_if(is_missing && self.delimited, RecoveryPolicy::JsonBrackets)?;
        Some(false)
    }

    /// Reads the key and the colon in front of an object's next value.
    fn key(&mut self, around: &mut Open) -> Option<()> {
        let Open::Object { key, .. } = around else { return Some(()) };
        *key = match self.text.peek()? {
            quote @ ('"' | '\'') => self.string(quote, Ends::Key)?,
            _ => {
                let key = bare_key(self.text.rest())?;
                self.use_if(true, RecoveryPolicy::JsonKeys)?;
                self.text.skip(key);
                key.to_owned()
            }
        };
        self.skip_space();
        if !self.text.eat(':') {
            return None;
        }
        self.skip_space();
        Some(())
    }

    fn scalar(&mut self, in_list: bool) -> Option<Value> {
        if let Some(quote @ ('"' | '\'')) = self.text.peek() {
            let ends = if in_list { Ends::Item } else { Ends::Value };
            return self.string(quote, ends).map(Value::String);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let word = self.text.take(usize::MAX, is_part);
        let value = match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            word => json::read(word).ok()?,
        };
        if matches!(word, "True" | "False" | "None") {
            self.use_if(true, RecoveryPolicy::JsonPython)?;
        }
        Some(value)
    }

    fn string(&mut self, quote: char, ends: Ends) -> Option<String> {
        if quote == '\'' {
            self.use_if(true, RecoveryPolicy::JsonPython)?;
        }
        self.text.bump();
        let mut text = String::new();
        loop {
            let before = self.text;
            let c = self.text.bump()?;
            match c {
                '\\' => self.escape(before.rest(), quote, &mut text)?,
                '\0'..' ' => {
                    self.use_if(true, RecoveryPolicy::JsonControl)?;
                    text.push(c);
                }
                _ if c == quote => {
                    let is_text =
                        quote == '"' && self.policies.contains(RecoveryPolicy::JsonQuotes) && !self.ends(ends);
                    if !is_text {
                        return Some(text);
                    }
                    self.use_if(true, RecoveryPolicy::JsonQuotes)?;
                    text.push(c);
                }
                _ => text.push(c),
            }
        }
    }

    /// Reads what comes after a backslash, with which `written` begins.
    fn escape(&mut self, written: &str, quote: char, text: &mut String) -> Option<()> {
        let c = self.text.bump()?;
        let length = match c {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => 2,
            'u' => unicode_length(written),
            _ => 0,
        };
        // An escape of JSON, the pair of a surrogate included, is read as JSON reads it.
        if length > 0
            && let Some(escape) = written.get(..length)
            && let Ok(Value::String(read)) = json::read(&format!("\"{escape}\""))
        {
            text.push_str(&read);
            self.text.skip(slice(escape, 2..));
            return Some(());
        }
        if c == '\'' && quote == '\'' {
            text.push(c);
            return Some(());
        }
        self.use_if(true, RecoveryPolicy::JsonEscapes)?;
        if c != '\'' {
            text.push('\\');
        }
        text.push(c);
        Some(())
    }

    /// Whether a quote that was just read ends its string.
    fn ends(&self, ends: Ends) -> bool {
        let after = self.text.rest().trim_start();
        let Some(next) = after.chars().next() else { return ends != Ends::Key };
        match (ends, next) {
            (Ends::Key, _) => next == ':',
            (_, '}' | ']') => true,
            (Ends::Value, ',') => self.is_entry(slice(after, 1..)),
            (Ends::Item, ',') => self.is_item(slice(after, 1..)),
            _ => false,
        }
    }

    /// Whether a text after a comma is a key and its colon, or the end of the object.
    fn is_entry(&self, text: &str) -> bool {
        let text = text.trim_start();
        let end = text.char_indices().nth(KEY_WITHIN).map_or(text.len(), |(at, _)| at);
        let text = slice(text, ..end);
        let after = match text.chars().next() {
            Some('}' | ']') => return self.policies.contains(RecoveryPolicy::JsonCommas),
            Some('"') => slice(text, 1..).split_once('"').map(|(_, after)| after),
            Some('\'') if self.policies.contains(RecoveryPolicy::JsonPython) => {
                slice(text, 1..).split_once('\'').map(|(_, after)| after)
            }
            _ if self.policies.contains(RecoveryPolicy::JsonKeys) => bare_key(text).map(|key| slice(text, key.len()..)),
            _ => None,
        };
        after.is_some_and(|after| after.trim_start().starts_with(':'))
    }

    /// Whether a value begins after a comma, or the list ends.
    fn is_item(&self, text: &str) -> bool {
        match text.trim_start().chars().next() {
            Some('"' | '{' | '[' | '-' | '0'..='9' | 't' | 'f' | 'n' | 'N' | 'I') => true,
            Some('\'' | 'T' | 'F') => self.policies.contains(RecoveryPolicy::JsonPython),
            Some(']' | '}') => self.policies.contains(RecoveryPolicy::JsonCommas),
            _ => false,
        }
    }
}

/// The role of a string, which determines what may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Key,
    Value,
    Item,
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The length of the escape of a character at the start of a text; of two escapes if they are a surrogate pair.
fn unicode_length(written: &str) -> usize {
    let is_half = |at: usize| written.get(at..at + 2) == Some("\\u") && written.get(at + 2..at + 6).is_some_and(is_hex);
    let is_high =
        written.get(2..6).is_some_and(|hex| matches!(hex.to_ascii_lowercase().as_bytes(), [b'd', b'8'..=b'b', ..]));
    match (is_half(0), is_half(6)) {
        (false, _) => 0,
        (true, true) if is_high => 12,
        (true, _) => 6,
    }
}

/// A key without quotes that a colon follows.
fn bare_key(text: &str) -> Option<&str> {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let length = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-'))).unwrap_or(text.len());
    (begins && slice(text, length..).trim_start().starts_with(':')).then_some(slice(text, ..length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The value of a body with every policy, and the policies that were used.
    fn tolerated(body: &str) -> String {
        match read(body, Policies::all(), true) {
            Some(Tolerated { value, used, .. }) => {
                let used: Vec<_> = used.iter().map(RecoveryPolicy::as_str).collect();
                format!("{value} {}", used.join(","))
            }
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn each_deviation_is_one_production() {
        for (body, wanted) in [
            (r#"{"a": [1, "b", null]}"#, r#"{"a": [1, "b", null]} "#),
            ("```json\n{\"a\": 1}\n```", r#"{"a": 1} json-fence"#),
            (r#"{"a": [1, ], }"#, r#"{"a": [1]} json-commas"#),
            ("{\"a\": \"x\n\ty\"}", r#"{"a": "x\n\ty"} json-control"#),
            (r#"{"a": "\d \u12 \'x\' \ud83d\ude00"}"#, r#"{"a": "\\d \\u12 'x' 😀"} json-escapes"#),
            (r#"{'a': 'it\'s', 'b': [True, None]}"#, r#"{"a": "it's", "b": [true, null]} json-python"#),
            (r#"{a: 1, $b-c: 2}"#, r#"{"a": 1, "$b-c": 2} json-keys"#),
            (r#"{"a": "f("x")", "b": 1}"#, r#"{"a": "f(\"x\")", "b": 1} json-quotes"#),
            (
                r#"{"a": "f("x", "y")", "b": ["p "q" r", "s"]}"#,
                r#"{"a": "f(\"x\", \"y\")", "b": ["p \"q\" r", "s"]} json-quotes"#,
            ),
            (r#"{"a": [{"b": 1}, {"b": 2}}"#, r#"{"a": [{"b": 1}, {"b": 2}]} json-brackets"#),
            (r#"{"a": {"b": "}"#, "nothing"),
            (r#"{"a": {"b": "c""#, r#"{"a": {"b": "c"}} json-brackets"#),
            (r#"{}}"""#, "{} json-brackets"),
            (r#"{'a': 1, b: "x",}"#, r#"{"a": 1, "b": "x"} json-commas,json-python,json-keys"#),
            // Ambiguous, or unreadable.
            (r#"{"a": x}"#, "nothing"),
            (r#"{"a": {"b": 1]"#, "nothing"),
            (r#"{"a": 1,"#, "nothing"),
            (r#"{"a": "#, "nothing"),
            (r#"{"a": 1}{"a": 2}"#, "nothing"),
            (r#"{{"a": 1}}"#, "nothing"),
            (r#"{'a': 'it's'}"#, "nothing"),
            (r#"{"a": 1 "b": 2}"#, "nothing"),
        ] {
            assert_eq!(tolerated(body), wanted, "{body}");
        }
    }

    #[test]
    fn a_body_needs_all_of_its_policies() {
        let body = "{'a': 1,}";
        let both = Policies::parse("json-commas,json-python").unwrap();
        assert_eq!(read(body, both, true).map(|read| read.used), Some(both));
        assert_eq!(read(body, RecoveryPolicy::JsonCommas.into(), true), None);
        assert_eq!(read("[1", Policies::all(), false), None, "the text may go on");
    }

    #[test]
    fn duplicate_keys_are_reported_with_their_paths() {
        let read = read(r#"{"a": 1, "b": [0, {"c": 1, "c": 2}], "a": 2}"#, Policies::none(), true).unwrap();
        assert_eq!(read.value.to_string(), r#"{"a": 2, "b": [0, {"c": 2}]}"#);
        assert_eq!(read.duplicates, [vec!["b", "1", "c"], vec!["a"]]);
    }

    proptest! {
        #[test]
        fn without_policies_it_reads_only_json(
            text in r#"["\[\]{}:, a1e.\-\\u'\n]{0,14}"#, every: bool
        ) {
            let strict = json::read(&text).ok();
            let tolerant = read(&text, Policies::none(), true).map(|read| read.value);
            prop_assert_eq!(&tolerant, &strict, "{}", text);
            if let (Some(value), true) = (strict, every && !text.contains('"')) {
                let read = read(&text, Policies::all(), true).unwrap();
                prop_assert_eq!((read.value, read.used), (value, Policies::none()));
            }
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        assert_eq!(tolerated("[1.50, -0, NaN, -Infinity]"), "[1.50, -0, null, null] ");
        assert_eq!(tolerated("[01]"), "nothing");
    }
}
