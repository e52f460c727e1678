//! What no content parser reads: differences that the template's way of writing values makes, and that no draft could
//! avoid.

use super::case::Case;
use super::conversations::is_partly_escaped;
use super::reading::{Part, answer_of, difference, with_decoded_arguments};
use super::verdict::Loss;
use backchat_core::diagnostic::shortened;
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_parser::parser::Event;
use backchat_parser::template::Template;

/// A turn that was read differently, with the part that differs.
pub(super) struct Misread<'a> {
    pub case: &'a Case,
    pub part: Part,
    pub message: &'a Object,
    pub events: &'a [Event],
    pub template: &'a Template,
    pub reasoning: Option<&'a str>,
}

impl Misread<'_> {
    /// The loss, if no content parser reads what the template writes.
    pub fn loss(&self) -> Option<Loss> {
        self.unreadable()
            .or_else(|| self.emptied())
            .or_else(|| self.escaped())
            .or_else(|| self.spelled())
            .or_else(|| self.encoded_twice())
            .or_else(|| self.partly_escaped())
    }

    /// Nulls in another word than JSON's, which the draft reads as an empty string so that their call is not lost.
    fn emptied(&self) -> Option<Loss> {
        let pairs = self.template.fields().iter().flat_map(|field| field.content.string_delims());
        let mut words = pairs.filter(|(_, close)| close.is_empty()).map(|(word, _)| word);
        let word = words.find(|word| self.case.text.contains(word.as_str()))?;
        let answer =
            answer_of(&self.case.expected, self.message, self.reasoning).filter(|_| self.part == Part::Arguments)?;
        let mut calls = self.case.expected.calls.iter().zip(&answer.calls);
        if !calls.all(|(wanted, got)| is_emptied(&wanted.arguments, &got.arguments)) {
            return None;
        }
        let message = format!("null is written as {word} and comes back as an empty text");
        Some(Loss::new(self.part, message, &self.case.text))
    }

    /// Strings that the template escapes in its own quotes. No content parser removes these escapes: the strings come back
    /// as written.
    fn escaped(&self) -> Option<Loss> {
        self.changed(|wanted, got| {
            let (wanted, got) = (wanted.as_str()?, got.as_str()?);
            let (said, written) = (shortened(wanted, 60), shortened(got, 60));
            is_escaped(&self.case.text, wanted, got).then(|| {
                format!("{said:?} is written with escapes that no content parser reads, and comes back as {written}")
            })
        })
    }

    /// Objects in which the template spells a value as Python does. No content parser reads that beside other values: they
    /// come back as text.
    fn spelled(&self) -> Option<Loss> {
        self.changed(|wanted, got| {
            let written =
                got.as_str().filter(|written| wanted.as_object().is_some() && self.case.text.contains(written))?;
            let said = wanted.to_string();
            let (said, shown) = (shortened(&said, 60), shortened(written, 60));
            is_spelled(wanted, written).then(|| {
                format!("{said} is written as {shown}, which JSON parsers cannot read, and comes back as text")
            })
        })
    }

    /// The loss of the first argument that came back differently, if `explain` has words for each of them.
    fn changed(&self, explain: impl Fn(&Value, &Value) -> Option<String>) -> Option<Loss> {
        let answer =
            answer_of(&self.case.expected, self.message, self.reasoning).filter(|_| self.part == Part::Arguments)?;
        let mut first = None;
        for (wanted, got) in self.case.expected.calls.iter().zip(&answer.calls) {
            for (key, wanted) in &wanted.arguments {
                let got = got.arguments.get(key)?;
                if wanted != got {
                    let explained = explain(wanted, got)?;
                    first.get_or_insert(explained);
                }
            }
        }
        Some(Loss::new(self.part, first?, &self.case.text))
    }

    /// Arguments that the template writes as a JSON string of JSON, or not at all. Content parsers decode once, so the
    /// arguments come back as JSON text, or as an empty text.
    fn encoded_twice(&self) -> Option<Loss> {
        let (decoded, texts) = with_decoded_arguments(self.message).filter(|_| self.part == Part::Arguments)?;
        if difference(&self.case.expected, &decoded, self.reasoning, &self.case.prompted).is_some() {
            return None;
        }
        let values = || self.case.text.match_indices('"').filter_map(|(at, _)| json::value_at(&self.case.text, at));
        let is_string = |text: &String| values().any(|(value, _)| value.as_str() == Some(text));
        let message = match texts.iter().all(String::is_empty) {
            true => "a call without arguments comes back with an empty text in their place",
            false => "arguments come back as JSON text, which the policy `encoded-arguments` decodes",
        };
        let is_known = texts.iter().all(|text| text.is_empty() || is_string(text));
        is_known.then(|| Loss::new(self.part, message.to_owned(), &self.case.text))
    }

    /// A value that the template spells as Python does inside JSON, or a string with Python's escapes. No content parser
    /// reads that, so the call is lost.
    fn unreadable(&self) -> Option<Loss> {
        let is_malformed = self.events.iter().any(|event| matches!(event, Event::Malformed { .. }));
        let values = self.case.expected.calls.iter().flat_map(|call| call.arguments.values());
        let mut spelled = values.filter_map(|value| {
            let spelled = match value {
                Value::String(text) => Some(python::repr(text)).filter(|spelled| spelled.contains('\\'))?,
                value => python::spelling(value),
            };
            let json = value.to_string();
            (spelled != json && self.case.text.contains(&spelled) && !self.case.text.contains(&json))
                .then_some((json, spelled))
        });
        let (json, spelled) = spelled.next().filter(|_| self.part == Part::Calls && is_malformed)?;
        let (json, spelled) = (shortened(&json, 60), shortened(&spelled, 60));
        let message = format!("{json} is written as {spelled}, which JSON parsers cannot read: the call is lost");
        Some(Loss::new(self.part, message, &self.case.text))
    }

    /// A string in quotes of which the template escapes only some signs: it is no JSON, so that it or the whole call is lost.
    fn partly_escaped(&self) -> Option<Loss> {
        let is_lost = matches!(self.part, Part::Calls | Part::Arguments) && is_partly_escaped(&self.case.text);
        let texts = self.case.expected.calls.iter().flat_map(|call| call.arguments.values()).filter_map(Value::as_str);
        let text = texts.max_by_key(|text| text.len()).filter(|_| is_lost)?;
        let message =
            format!("{text:?} is written in quotes with only some of its signs escaped, which no content parser reads");
        Some(Loss::new(self.part, message, &self.case.text))
    }
}

/// Whether values are the wanted ones but for nulls that came back as empty strings.
fn is_emptied(wanted: &Object, got: &Object) -> bool {
    fn is_same(wanted: &Value, got: &Value) -> bool {
        match (wanted, got) {
            (Value::Null, Value::String(text)) => text.is_empty(),
            (Value::List(wanted), Value::List(got)) => {
                wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| is_same(wanted, got))
            }
            (Value::Object(wanted), Value::Object(got)) => is_emptied(wanted, got),
            _ => wanted == got,
        }
    }
    let mut entries = wanted.iter();
    wanted.len() == got.len() && entries.all(|(key, wanted)| got.get(key).is_some_and(|got| is_same(wanted, got)))
}

/// Whether a parsed text is the wanted one as written in the output, with escapes and in other quotes than JSON's. White
/// space around it is ignored.
fn is_escaped(text: &str, wanted: &str, got: &str) -> bool {
    let mut read = String::new();
    let mut chars = got.chars();
    while let Some(c) = chars.next() {
        read.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(sign) => sign,
                None => return false,
            },
            c => c,
        });
    }
    let in_json = text.contains(&format!("\"{got}\""));
    got.contains('\\') && read.trim() == wanted.trim() && text.contains(got) && !in_json
}

/// Whether a text is an object as Python spells it, in Python's quotes or JSON's.
fn is_spelled(object: &Value, text: &str) -> bool {
    // What strings have of these words is replaced on both sides.
    let read =
        |text: &str| json::read(&text.replace("True", "true").replace("False", "false").replace("None", "null")).ok();
    text == python::spelling(object) || read(text).is_some_and(|value| Some(value) == read(&object.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, calls_answer, template, value};
    use backchat_parser::parser::{Options, Parser};
    use backchat_probe::probe::Answer;

    #[test]
    fn an_object_in_pythons_spelling_is_told_from_another_text() {
        let object = value(r#"{"a": "None is \"True\"", "b": [null, false], "c": true}"#);
        for (text, is_spelled_so) in [
            (r#"{"a": "None is \"True\"", "b": [None, False], "c": True}"#, true),
            (r#"{"c": True, "a": "None is \"True\"", "b": [None,False]}"#, true),
            (r#"{'a': 'None is "True"', 'b': [None, False], 'c': True}"#, true),
            (r#"{"a": "None is \"True\"", "b": [None, False], "c": False}"#, false),
            (r#"{"a": "None", "b": [None, False], "c": True}"#, false),
            (r#"{"a": "None is \"True\"", "b": [nil, False], "c": True}"#, false),
        ] {
            assert_eq!(is_spelled(&object, text), is_spelled_so, "{text}");
        }
    }

    #[test]
    fn a_value_in_pythons_spelling_loses_the_call() {
        let mut case = Case::by_hand("<call>{\"a\": None}</call>", calls_answer(&[("f", r#"{"a": null}"#)]));
        let events = |json: &str, text: &str| {
            let template = template(json);
            let mut parser = Parser::new(&template, "", Options::default()).unwrap();
            let mut events = Vec::from(parser.feed(text).unwrap());
            events.extend(parser.finish().unwrap().events);
            events
        };
        let (answer, message) = (template(ANSWER), Object::new());
        let unreadable = |case: &Case, part, events: &[Event]| {
            Misread { case, part, message: &message, events, template: &answer, reasoning: None }.unreadable()
        };
        let broken = events(ANSWER, &case.text);
        let loss = unreadable(&case, Part::Calls, &broken).unwrap();
        assert_eq!(loss.message, "null is written as None, which JSON parsers cannot read: the call is lost");
        // The call must be missing, a region malformed, and the value spelled differently.
        assert!(unreadable(&case, Part::Content, &broken).is_none());
        assert!(unreadable(&case, Part::Calls, &[]).is_none());
        case.text = "<call>{\"a\": null}</call>".to_owned();
        assert!(unreadable(&case, Part::Calls, &broken).is_none());
        // A string with Python's escapes loses the call as well, and one without does not.
        let escaped = r#"{'a': 'it\'s "so"'}"#;
        for (text, wanted, is_lost) in [(escaped, r#"it's "so""#, true), ("{'a': 'so'}", "so", false)] {
            let arguments = Value::from([("a", wanted.into())]).to_string();
            let case = Case::by_hand(&format!("<call>{text}</call>"), calls_answer(&[("f", &arguments)]));
            assert_eq!(unreadable(&case, Part::Calls, &broken).is_some(), is_lost, "{text}");
        }
        let texts = Case::by_hand("None", Answer { calls: vec![], ..Answer::content("None") });
        assert!(unreadable(&texts, Part::Calls, &broken).is_none());
    }

    #[test]
    fn another_word_for_null_may_come_back_as_an_empty_text() {
        let object = |json: &str| value(json).as_object().unwrap().clone();
        for (wanted, got, is_read) in [
            (r#"{"a": null, "b": 5}"#, r#"{"b": 5, "a": ""}"#, true),
            (r#"{"a": [1, {"b": null}]}"#, r#"{"a": [1, {"b": ""}]}"#, true),
            // Only nulls are emptied, and to nothing else.
            (r#"{"a": null}"#, r#"{"a": "x"}"#, false),
            (r#"{"a": "x"}"#, r#"{"a": ""}"#, false),
            (r#"{"a": [null, null]}"#, r#"{"a": [""]}"#, false),
            (r#"{"a": null}"#, "{}", false),
        ] {
            assert_eq!(is_emptied(&object(wanted), &object(got)), is_read, "{wanted} as {got}");
        }
    }

    #[test]
    fn a_string_with_escapes_in_other_quotes_comes_back_as_written() {
        for (text, wanted, got, is_written) in [
            (r"f(a='it\'s')", "it's", r"it\'s", true),
            (r"f(a='x\ny')", "x\ny", r"x\ny", true),
            (r"f(a='  x\n')", "  x\n", r"x\n", true),
            // JSON's quotes: content parsers read those.
            (r#"f(a="x\ny")"#, "x\ny", r"x\ny", false),
            // Another string, one without an escape, and one that is not in the output.
            (r"f(a='it\'s')", "its", r"it\'s", false),
            ("f(a='x')", " x", "x", false),
            ("f(a='x')", "x\n", r"x\n", false),
        ] {
            assert_eq!(is_escaped(text, wanted, got), is_written, "{text}");
        }
    }
}
