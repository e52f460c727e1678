//! How arguments are written where they are not plain JSON: a JSON dialect, tags around each, or keywords.

use super::conversation::{Answer, Call, json_type};
use super::marks;
use super::probe::{Prober, Setting, call_with, needle};
use super::python;
use super::turn::Turn;
use crate::json::{self, Number, Object, Value};

/// How a call's arguments are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arguments {
    /// One JSON object.
    Json,
    /// One object that would be JSON, were it not for its keys and quotes.
    Dialect { unquoted_keys: bool, quotes: Option<(String, String)> },
    /// Marks around every key and value.
    Spelled(Box<Spelled>),
}

/// Marks around every key and value, or `key=value`.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Spelled {
    /// Before a key.
    pub lead: String,
    /// From a key to its value.
    pub gap: String,
    /// After a value.
    pub close: String,
    /// After a string, its own quote included.
    pub string_close: String,
    /// Whether the key stands again after the value, inside `close`.
    pub key_again: bool,
    /// Between one argument and the next.
    pub separator: String,
    pub strings: Strings,
    /// Marks that stand around some values only, as CDATA does.
    pub frame: Option<(String, String)>,
    /// Each JSON type and how the template writes it.
    pub written: Vec<(&'static str, String)>,
}

/// How string values are told from others.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) enum Strings {
    /// Not at all: every value is bare text.
    #[default]
    Bare,
    /// As JSON strings.
    Json,
    /// In this quote, escaped as Python's `repr` does, or not escaped at all.
    Quoted { quote: char, escaped: bool },
    /// By what the mark before the value says: the gap is `prefix`, then `string` for strings, then `suffix`.
    Marked { prefix: String, string: String, suffix: String },
}

impl Spelled {
    /// Whether arguments are written as `key=value` with no marks around them.
    pub fn is_keywords(&self) -> bool {
        self.lead.trim().is_empty() && self.gap.trim().chars().count() <= 1
    }
}

impl Arguments {
    /// Where the arguments end, given where the last value ends.
    pub fn end_of_last(&self, body: &str, value_end: usize) -> usize {
        let rest = body.get(value_end..).unwrap_or("");
        match self {
            Arguments::Json => value_end,
            Arguments::Dialect { .. } => rest.find('}').map_or(value_end, |at| value_end + at + 1),
            Arguments::Spelled(spelled) => {
                let close = spelled.string_close.split(KEY).next().unwrap_or("");
                if !rest.starts_with(close) {
                    return value_end;
                }
                let tail = spelled.string_close.split(KEY).nth(1);
                match tail {
                    None => value_end + close.len(),
                    Some(tail) => {
                        let after = rest.get(close.len()..).unwrap_or("");
                        after.find(tail).map_or(value_end, |at| value_end + close.len() + at + tail.len())
                    }
                }
            }
        }
    }

    /// Where the arguments of this call start.
    pub fn start_of_first(&self, body: &str, call: &Call) -> Option<usize> {
        let name = body.find(&call.name)?;
        let key = call.arguments.keys().next()?;
        let at = name + body.get(name..)?.find(key.as_str())?;
        match self {
            Arguments::Json => Some(at),
            Arguments::Dialect { .. } => body.get(..at)?.rfind('{'),
            Arguments::Spelled(spelled) => at.checked_sub(spelled.lead.len()),
        }
    }
}

impl Arguments {
    /// What the report says of it.
    pub fn describe(&self) -> Object {
        let mut entries = Object::new();
        let mut put = |key: &str, value: Value| entries.insert(key.to_owned(), value);
        match self {
            Arguments::Json => {
                put("form", "json".into());
            }
            Arguments::Dialect { unquoted_keys, quotes } => {
                put("form", "json dialect".into());
                put("unquoted_keys", (*unquoted_keys).into());
                let quotes =
                    quotes.as_ref().map(|(open, close)| Value::List(vec![open.as_str().into(), close.as_str().into()]));
                put("quotes", quotes.unwrap_or_default());
            }
            Arguments::Spelled(spelled) => {
                put("form", if spelled.is_keywords() { "keywords".into() } else { "marks".into() });
                put("before_key", spelled.lead.as_str().into());
                put("before_value", spelled.gap.as_str().into());
                put("after_value", spelled.close.replace(KEY, "{key}").as_str().into());
                put("strings", spelled.strings.describe().into());
                let written = spelled.written.iter().map(|(kind, text)| ((*kind).to_owned(), text.as_str().into()));
                put("written", Value::Object(written.collect()));
            }
        }
        entries
    }
}

impl Strings {
    fn describe(&self) -> String {
        match self {
            Strings::Bare => "bare text, like every value".to_owned(),
            Strings::Json => "JSON strings".to_owned(),
            Strings::Quoted { quote, escaped: true } => format!("between {quote}, escaped as Python does"),
            Strings::Quoted { quote, escaped: false } => format!("between {quote}, not escaped"),
            Strings::Marked { string, .. } => format!("marked {string}"),
        }
    }
}

/// Stands for the key inside what follows a value.
pub(in crate::derive) const KEY: char = '\u{1}';

/// Finds how the arguments of this call, two strings, are written in a render of it.
pub(super) fn find(prober: &Prober, setting: &Setting, turn: &Turn, body: &str, call: &Call) -> Option<Arguments> {
    let name = body.find(&call.name)? + call.name.len();
    let mut at = name;
    let mut places = Vec::new();
    // Some templates sort the keys.
    let mut entries: Vec<(&String, &Value)> = call.arguments.iter().collect();
    entries.sort_by_key(|(key, _)| body.get(name..).and_then(|rest| rest.find(key.as_str())));
    for (key, value) in entries {
        let key_at = at + body.get(at..)?.find(key.as_str())?;
        let key_end = key_at + key.len();
        let value = value.as_str()?;
        let value_at = key_end + body.get(key_end..)?.find(value)?;
        at = value_at + value.len();
        places.push((key.as_str(), key_at, key_end, value_at, at));
    }
    let [(key, key_at, key_end, value_at, value_end), (later_key, later_at, ..)] = places.as_slice() else {
        return None;
    };
    let lead_in = body.get(name..*key_at)?;
    let gap = body.get(*key_end..*value_at)?;
    let between = body.get(*value_end..*later_at)?;
    let tail = body.get(at..)?;
    if let Some(dialect) = dialect(lead_in, gap, between, tail) {
        return Some(dialect);
    }
    let sign = KEY.to_string();
    let key_again = between.contains(key) && tail.contains(later_key);
    let between = between.replace(key, &sign);
    let tail = tail.replace(later_key, &sign);
    let close = marks::shared_start(&between, &tail).to_owned();
    let lead = marks::shared_end(between.get(close.len()..)?, lead_in).to_owned();
    let separator = between.get(close.len()..between.len() - lead.len())?.to_owned();
    let mut spelled = Spelled { lead, gap: gap.to_owned(), close, key_again, separator, ..Spelled::default() };
    // White space before a mark varies; white space around a value may be the value's own.
    let lead = spelled.lead.trim_start().to_owned();
    spelled.separator.push_str(spelled.lead.strip_suffix(lead.as_str()).unwrap_or(""));
    spelled.lead = lead;
    let space = spelled.close.split_off(spelled.close.trim_end().len());
    spelled.separator.insert_str(0, &space);
    spelled.string_close.clone_from(&spelled.close);
    types(prober, setting, turn, &mut spelled);
    Some(Arguments::Spelled(Box::new(spelled)))
}

/// An object in braces, its keys bare or oddly quoted.
fn dialect(lead_in: &str, gap: &str, between: &str, tail: &str) -> Option<Arguments> {
    let brace = lead_in.rfind('{')?;
    let key_quote = lead_in.get(brace + 1..)?.trim();
    let gap = gap.trim();
    let colon = gap.find(':')?;
    if gap.get(..colon)?.trim() != key_quote || key_quote.chars().count() > 8 {
        return None;
    }
    let open = gap.get(colon + 1..)?.trim();
    let comma = between.find(',')?;
    let close = between.get(..comma)?.trim();
    let rest = tail.trim_start().strip_prefix(close)?.trim_start();
    if !rest.starts_with('}') || between.get(comma + 1..)?.trim() != key_quote {
        return None;
    }
    let quotes = (!open.is_empty()).then(|| (open.to_owned(), close.to_owned()));
    Some(Arguments::Dialect { unquoted_keys: key_quote.is_empty(), quotes })
}

/// Writes a value of each type and looks at what became of it.
fn types(prober: &Prober, setting: &Setting, turn: &Turn, spelled: &mut Spelled) {
    let shown = |value: Value| -> Option<String> { argument(prober, setting, turn, value, spelled) };
    let samples = [
        Value::Number(Number::from(73591)),
        json::read("73.25").unwrap_or_default(),
        Value::Bool(true),
        Value::Null,
        Value::List(vec![needle::VALUES[1].into()]),
        Value::from([(needle::KEYS[1], needle::VALUES[1].into())]),
    ];
    let mut written = Vec::new();
    for sample in samples {
        if let Some(text) = shown(sample.clone()) {
            written.push((json_type(&sample), text));
        }
    }
    let integer = written.iter().find(|(kind, _)| *kind == "integer").map(|(_, text)| text.clone());
    if let Some(text) = integer
        && let Some(at) = text.find("73591")
    {
        let (gap, close) = (text.get(..at).unwrap_or(""), text.get(at + 5..).unwrap_or(""));
        let quote = spelled.gap.strip_prefix(gap).zip(spelled.close.strip_suffix(close));
        match quote {
            Some((open, shut)) if open == shut && open.chars().count() == 1 && !open.trim().is_empty() => {
                let quote = open.chars().next().unwrap_or('"');
                let (gap, close) = (gap.to_owned(), close.to_owned());
                spelled.strings = quoted(prober, setting, turn, spelled, quote);
                spelled.gap = gap;
                spelled.close = close;
            }
            _ if gap != spelled.gap => {
                // Words are not parted: `true` and `false` end alike by accident.
                let word = |c: char| c.is_alphanumeric();
                let shared = marks::common_prefix(&spelled.gap, gap);
                let start = spelled.gap.get(..shared).unwrap_or("").trim_end_matches(word).len();
                let shared =
                    marks::common_suffix(spelled.gap.get(start..).unwrap_or(""), gap.get(start..).unwrap_or(""));
                let end = spelled.gap.get(spelled.gap.len() - shared..).unwrap_or("").trim_start_matches(word).len();
                let cut = |from: usize, to: usize| spelled.gap.get(from..to).unwrap_or("").to_owned();
                let length = spelled.gap.len();
                let (prefix, string) = (cut(0, start), cut(start, length - end));
                spelled.strings = Strings::Marked { prefix, string, suffix: cut(length - end, length) };
            }
            _ => {}
        }
    }
    const ODD: &str = "Qzodd<&>\n]q";
    if matches!(spelled.strings, Strings::Bare)
        && let Some(text) = argument(prober, setting, turn, ODD.into(), spelled)
        && let Some(at) = text.find(ODD)
    {
        let open = text.get(..at).unwrap_or("").strip_prefix(spelled.gap.as_str());
        let shut = text.get(at + ODD.len()..).unwrap_or("").strip_suffix(spelled.close.as_str());
        if let Some((open, shut)) = open.zip(shut).filter(|(open, shut)| !open.is_empty() && !shut.is_empty()) {
            spelled.frame = Some((open.to_owned(), shut.to_owned()));
        }
    }
    spelled.written = written;
}

/// What stands from the key to the end of the argument, for an argument of this value.
fn argument(prober: &Prober, setting: &Setting, turn: &Turn, value: Value, spelled: &Spelled) -> Option<String> {
    let key = needle::KEYS[0];
    let body = |value: Value| -> Option<String> {
        let arguments: Object = [(key.to_owned(), value)].into_iter().collect();
        let body = turn.body(prober, &Answer::calls(vec![call_with(0, arguments)]), setting)?;
        let at = body.find(key)? + key.len();
        body.get(at..).map(str::to_owned)
    };
    let plain = body(needle::VALUES[0].into())?;
    let known = format!("{}{}{}", spelled.gap, needle::VALUES[0], spelled.close.replace(KEY, key));
    let rest = plain.strip_prefix(known.as_str())?;
    body(value)?.strip_suffix(rest).map(str::to_owned)
}

/// How a quoted string is escaped.
fn quoted(prober: &Prober, setting: &Setting, turn: &Turn, spelled: &Spelled, quote: char) -> Strings {
    let odd = ["Qz\"q", "Qz'q", "Qz\\q", "Qz\nq"];
    let texts: Vec<(&str, String)> = odd
        .iter()
        .filter_map(|value| {
            let text = argument(prober, setting, turn, (*value).into(), spelled)?;
            let gap = spelled.gap.strip_suffix(quote)?;
            let close = spelled.close.strip_prefix(quote)?;
            Some((*value, text.strip_prefix(gap)?.strip_suffix(close)?.to_owned()))
        })
        .collect();
    if texts.iter().all(|(value, text)| json::read(text).is_ok_and(|read| read.as_str() == Some(value))) {
        return Strings::Json;
    }
    let escaped =
        texts.iter().all(|(value, text)| python::repr(value) == *text || python::quoted(value, quote) == *text);
    Strings::Quoted { quote, escaped }
}
