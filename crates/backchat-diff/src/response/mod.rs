//! What changes for whom between two response templates: texts that both parse, and the smallest one for each set of
//! fields that differ.

mod texts;

use std::collections::{BTreeMap, HashSet};

use crate::messages::differing_keys;
use crate::side::Chat;
use crate::templates::{Options, Verdict};
use backchat_chat::{Budget, examine};
use backchat_core::distinct;
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{self, Mode, Parser};
use backchat_parser::template::Template;

pub(crate) use texts::Text;

/// How many texts of one difference are reduced.
const MOST_REDUCED: usize = 4;

/// How many bytes are parsed in the time of one step of the evaluator.
const BYTES_PER_STEP: usize = 8;

/// What a response template makes of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// The message.
    Message(Object),
    /// An error: a region without a value, or a required field that is absent.
    Error(String),
}

/// A difference: the fields, and the smallest text that shows it.
#[derive(Clone, Debug)]
pub struct ParseChange {
    /// The keys of the message that differ; `error` if one of them fails.
    pub fields: Vec<String>,
    /// The text of the model.
    pub text: String,
    /// The prompt before it.
    pub prefix: String,
    /// Whether the chat template writes a text that shows it, or the beginning of one.
    pub is_written: bool,
    /// How many turns of the chat template show it.
    pub turns: usize,
    /// What each makes of it.
    pub parsed: [Parsed; 2],
}

/// What changes between two response templates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResponseDiff {
    /// Whether they behave alike.
    pub verdict: Verdict,
    /// Whether they are one template but for spelling.
    pub is_proved: bool,
    /// How many texts both parsed.
    pub texts: usize,
    /// How many of them are turns of the chat template.
    pub turns: usize,
    /// The fields of either that no text filled, so that nothing is known of them.
    pub unfilled: Vec<String>,
    /// The differences, those that a model may write first.
    pub changes: Vec<ParseChange>,
    /// Advice that the linter gives of one and not of the other, as the caller found it.
    pub lint: [Vec<String>; 2],
}

/// Compares two response templates by what they make of texts: the turns of a chat template if one is given, cut and
/// changed, and the marks of both.
pub fn response_templates(old: &Template, new: &Template, chat: Option<&Chat>, options: &Options) -> ResponseDiff {
    let is_proved = canonical(&old.to_value()) == canonical(&new.to_value());
    let compared = || {
        let turns = texts::turns(chat, options);
        let texts =
            if is_proved { Vec::new() } else { texts::texts([old, new], &turns, &texts::prompts(chat, options)) };
        let mut count = 0;
        let fields = [old, new].into_iter().flat_map(Template::fields);
        let mut unfilled = distinct(fields.map(|field| field.name.clone()));
        let mut found: BTreeMap<Vec<String>, Vec<Text>> = BTreeMap::new();
        for text in texts {
            if !backchat_chat::charge((text.prefix.len() + text.text.len()) / BYTES_PER_STEP + 1) {
                break;
            }
            count += 1;
            let parsed = parsed([old, new], &text);
            for message in parsed.iter().filter_map(Parsed::message) {
                unfilled.retain(|field| !message.contains_key(field));
            }
            let fields = differing(&parsed);
            if !fields.is_empty() {
                found.entry(fields).or_default().push(text);
            }
        }
        let mut changes: Vec<ParseChange> =
            found.into_iter().filter_map(|(fields, texts)| smallest([old, new], fields, texts, &turns)).collect();
        changes.sort_by_key(|change| (!change.is_written, change.text.chars().count(), change.fields.clone()));
        (turns.len(), count, unfilled, changes)
    };
    let (turns, texts, unfilled, changes) = examine(Budget::times(options.seconds), compared);
    let verdict = match (changes.is_empty(), is_proved || unfilled.is_empty()) {
        (true, true) => Verdict::Same,
        (true, false) => Verdict::Undecided,
        (false, _) => Verdict::Differs,
    };
    ResponseDiff { verdict, is_proved, texts, turns, unfilled, changes, lint: Default::default() }
}

impl Parsed {
    fn message(&self) -> Option<&Object> {
        if let Self::Message(message) = self { Some(message) } else { None }
    }
}

/// A delimiter that is one literal is that literal, however it is written.
fn canonical(value: &Value) -> Value {
    let Value::Object(entries) = value else { return value.clone() };
    let mut sorted: Vec<(String, Value)> = entries
        .iter()
        .map(|(key, value)| match (key, value) {
            ("open" | "close" | "start_anchor", Value::List(items)) => match items.as_slice() {
                [only] => (key.to_owned(), only.clone()),
                _ => (key.to_owned(), value.clone()),
            },
            // The order of fields decides between them, so that it stays.
            ("fields", Value::Object(fields)) => {
                let fields = fields.iter().map(|(name, field)| Value::List(vec![name.into(), canonical(field)]));
                (key.to_owned(), Value::List(fields.collect()))
            }
            _ => (key.to_owned(), value.clone()),
        })
        .collect();
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    Value::Object(sorted.into_iter().collect())
}

fn parsed(templates: [&Template; 2], text: &Text) -> [Parsed; 2] {
    templates.map(|template| parse(template, text))
}

/// The answer of the reference: a region without a value is an error.
fn parse(template: &Template, text: &Text) -> Parsed {
    let options = parser::Options::default().mode(Mode::Reference);
    let finished = Parser::new(template, &text.prefix, options).and_then(|mut parser| {
        parser.feed_into(&text.text, &mut |_| ())?;
        parser.finish()
    });
    match finished {
        Ok(finished) if !finished.malformed.is_empty() => Parsed::Error("a region has no value".to_owned()),
        Ok(finished) => match finished.missing.first() {
            Some(field) => Parsed::Error(format!("the required field `{field}` is absent")),
            None => Parsed::Message(finished.message),
        },
        Err(error) => Parsed::Error(error.to_string()),
    }
}

/// The fields that differ, in order; two errors are alike.
fn differing(parsed: &[Parsed; 2]) -> Vec<String> {
    match parsed {
        [Parsed::Error(_), Parsed::Error(_)] => Vec::new(),
        [Parsed::Message(old), Parsed::Message(new)] => differing_keys(old, new),
        _ => vec!["error".to_owned()],
    }
}

/// How many smaller texts are tried for one.
const MOST_TRIES: usize = 3_000;

/// The smallest text that differs in these fields: of the shortest ones, and of those that a model writes, each reduced.
fn smallest(
    templates: [&Template; 2],
    fields: Vec<String>,
    mut texts: Vec<Text>,
    turns: &[Text],
) -> Option<ParseChange> {
    let is_written = turns.is_empty() || texts.iter().any(|text| text.is_turn);
    texts.sort_by_cached_key(|text| (text.text.chars().count(), text.text.clone()));
    let mut chosen: Vec<Text> = texts.iter().take(MOST_REDUCED).cloned().collect();
    chosen.extend(texts.iter().filter(|text| text.is_turn).take(MOST_REDUCED).cloned());
    let differs = |text: &Text| differing(&parsed(templates, text)) == fields;
    let mut known = HashSet::new();
    let reduced = chosen.into_iter().map(|text| {
        let mut holds = |made: &str| differs(&Text { text: made.to_owned(), ..text.clone() });
        let made = backchat_core::text::shrunk(&text.text, &mut { MOST_TRIES }, &mut holds);
        Text { text: made, ..text }
    });
    let mut reduced: Vec<Text> =
        reduced.filter(|text| known.insert((text.prefix.clone(), text.text.clone()))).collect();
    reduced.sort_by_cached_key(|text| (text.text.chars().count(), text.text.clone()));
    let text = reduced.into_iter().next()?;
    let turns = turns.iter().filter(|turn| differs(turn)).count();
    let parsed = parsed(templates, &text);
    Some(ParseChange { fields, text: text.text, prefix: text.prefix, is_written, turns, parsed })
}
