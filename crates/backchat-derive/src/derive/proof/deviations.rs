//! Tests a template on outputs that deviate from renders, as models' outputs do.
//!
//! Each deviation changes a rendered output in one place. The message should stay the same, or lose only the call that is
//! cut off. Deviations do not affect the verdict.

use super::boundary::Region;
use super::case::{self, Case};
use super::deviants::replaced_at;
use super::judge::Judge;
use super::tolerance::Tolerance;
use crate::derive::may_be_reasoning;
use crate::wire::marks::Segmentation;
use backchat_chat::ended;
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_parser::parser::Span;

/// Parses deviations from one rendered output of each kind: the shortest that parses back.
pub(super) fn find(judge: &Judge<'_, '_>, passed: &[&Case]) -> Tolerance {
    let mut tolerance = Tolerance::default();
    for case in case::shortest(passed.iter().copied(), case::parts) {
        let Some(output) = Output::read(judge, case) else { continue };
        let Ok((whole, ..)) = judge.read(&case.prefix, &case.text) else { continue };
        for deviant in output.deviants().into_iter().take_while(|_| ended().is_none()) {
            tolerance.tried += 1;
            let mut expected = case.expected.clone();
            expected.calls.truncate(expected.calls.len().saturating_sub(deviant.loses));
            // What a case loses to the wire format, its deviations lose, too.
            let is_right = |message: &Object| {
                judge.is_same(case, &expected, message) || *message == without_last_calls(&whole, deviant.loses)
            };
            let read = judge.read(&case.prefix, &deviant.text);
            match read.is_ok_and(|(message, ..)| is_right(&message)) {
                true => tolerance.tolerated += 1,
                false => tolerance.miss(deviant.what, deviant.text),
            }
        }
    }
    tolerance
}

fn without_last_calls(message: &Object, count: usize) -> Object {
    let mut message = message.clone();
    if let Some(Value::List(calls)) = message.get_mut("tool_calls") {
        calls.truncate(calls.len().saturating_sub(count));
        if calls.is_empty() {
            message.shift_remove("tool_calls");
        }
    }
    message
}

/// A rendered output, and the regions that the template finds.
struct Output<'c> {
    text: &'c str,
    unstopped: Option<&'c str>,
    regions: Vec<Region>,
}

/// An output that deviates.
struct Deviant {
    what: String,
    text: String,
    /// How many of the last calls are lost.
    loses: usize,
}

impl<'c> Output<'c> {
    fn read(judge: &Judge<'_, '_>, case: &'c Case) -> Option<Self> {
        let regions = judge.regions(case)?;
        Some(Self { text: &case.text, unstopped: case.unstopped.as_deref(), regions })
    }

    fn deviants(&self) -> Vec<Deviant> {
        let mut found: Vec<Deviant> = Vec::new();
        let mut add = |what: String, text: Option<String>, loses: usize| {
            if let Some(text) = text.filter(|text| text != self.text && found.iter().all(|known| known.text != *text)) {
                found.push(Deviant { what, text, loses });
            }
        };
        add("the stop token missing".to_owned(), self.unstopped.map(str::to_owned), 0);
        for region in self.first_regions() {
            let Region { field, open, close, .. } = region;
            for (side, mark) in [("opening", *open), ("closing", self.unstopped_part(*close))] {
                if mark.start == mark.end {
                    continue;
                }
                add(format!("a line break before the {side} of `{field}`"), self.with(mark.start, "\n"), 0);
                add(format!("a line break after the {side} of `{field}`"), self.with(mark.end, "\n"), 0);
                add(format!("no white space around the {side} of `{field}`"), self.without_space(mark), 0);
            }
        }
        let calls: Vec<&Region> = self.regions.iter().filter(|region| &*region.field == "tool_calls").collect();
        if let (Some(first), Some(last)) = (calls.first(), calls.last()) {
            add("the outer markers of calls missing".to_owned(), self.without_outer(first, last), 0);
            add("a second closing marker after the last call".to_owned(), self.closed_twice(last), 0);
            add("arguments in Python's quotes".to_owned(), self.with_body(first, python_spelling), 0);
            add("the keys of a call in another order".to_owned(), self.with_body(first, other_order), 0);
            add("the last call truncated".to_owned(), self.cut_off(last), 1);
        }
        if let Some(thought) = self.regions.iter().find(|region| may_be_reasoning(&region.field)) {
            add("reasoning closed twice".to_owned(), self.closed_twice(thought), 0);
        }
        found
    }

    /// The first region of each field.
    fn first_regions(&self) -> impl Iterator<Item = &Region> {
        let is_first = |(at, region): &(usize, &Region)| {
            self.regions.iter().take(*at).all(|earlier| earlier.field != region.field)
        };
        self.regions.iter().enumerate().filter(is_first).map(|(_, region)| region)
    }

    /// The part of a mark before the stop.
    fn unstopped_part(&self, Span { start, end }: Span) -> Span {
        let most = self.unstopped.map_or(end, str::len).min(end);
        let trimmed = self.text.get(start..most).map_or(0, |mark| mark.trim_end().len());
        Span { start, end: start + trimmed }
    }

    fn with(&self, at: usize, text: &str) -> Option<String> {
        replaced_at(self.text, Span { start: at, end: at }, text)
    }

    fn without_space(&self, Span { start, end }: Span) -> Option<String> {
        let (before, mark, after) = (self.text.get(..start)?, self.text.get(start..end)?, self.text.get(end..)?);
        Some(format!("{}{}{}", before.trim_end(), mark.trim(), after.trim_start()))
    }

    /// The output without the first of several marks that open the first call and the last of those that close the last one.
    fn without_outer(&self, first: &Region, last: &Region) -> Option<String> {
        let words = Segmentation::Words;
        let distinct = |text: &str| words.marks(text).iter().filter(|mark| words.is_distinctive(mark)).count();
        let open = self.text.get(first.open.start..first.open.end)?;
        let outer = words.first(open).filter(|mark| distinct(open) > 1 && words.is_distinctive(mark))?;
        let Span { start, end } = self.unstopped_part(last.close);
        let close = self.text.get(start..end)?;
        let kept = match words.last(close).filter(|_| distinct(close) > 1) {
            Some(mark) => close.strip_suffix(mark)?.trim_end(),
            None => close,
        };
        let inner = open.trim_start().strip_prefix(outer)?.trim_start();
        let (before, between, after) =
            (self.text.get(..first.open.start)?, self.text.get(first.open.end..start)?, self.text.get(end..)?);
        Some(format!("{before}{inner}{between}{kept}{after}"))
    }

    fn closed_twice(&self, region: &Region) -> Option<String> {
        let Span { start, end } = self.unstopped_part(region.close);
        let mark = self.text.get(start..end)?.trim();
        if mark.is_empty() { None } else { self.with(end, mark) }
    }

    fn with_body(&self, region: &Region, write: fn(&Value) -> Option<String>) -> Option<String> {
        let body = self.text.get(region.body.start..region.body.end)?;
        replaced_at(self.text, region.body, &write(&json::read(body.trim()).ok()?)?)
    }

    fn cut_off(&self, region: &Region) -> Option<String> {
        let Span { start, end } = region.body;
        let body = self.text.get(start..end)?.trim_end();
        let middle = body.char_indices().nth(body.chars().count() / 2)?.0;
        self.text.get(..start + middle).map(str::to_owned)
    }
}

/// A value of JSON as Python prints it.
fn python_spelling(value: &Value) -> Option<String> {
    (value.as_object().is_some() || value.as_list().is_some()).then(|| python::spelling(value))
}

/// An object with its keys from the last to the first.
fn other_order(value: &Value) -> Option<String> {
    let entries = value.as_object().filter(|entries| entries.len() > 1)?;
    let turned = entries.iter().rev().map(|(key, value)| (key, value.clone()));
    Some(Value::Object(turned.collect()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, value, with_proof};

    /// A turn with one region between these texts, which occur once.
    fn output<'t>(text: &'t str, field: &str, open: &str, close: &str) -> Output<'t> {
        let at = |mark: &str| text.find(mark).unwrap();
        let (body, end) = (at(open) + open.len(), text.rfind(close).unwrap());
        let region = Region {
            field: field.into(),
            open: Span { start: at(open), end: body },
            body: Span { start: body, end },
            close: Span { start: end, end: end + close.len() },
            malformed: None,
        };
        Output { text, unstopped: text.strip_suffix("<end>"), regions: vec![region] }
    }

    fn deviants(output: &Output<'_>) -> Vec<(String, String)> {
        output.deviants().into_iter().map(|deviant| (deviant.what, deviant.text)).collect()
    }

    #[test]
    fn each_deviation_changes_an_output_in_one_place() {
        let text = "Hi. <a><call>{\"k\": 1, \"b\": true}</call></a><end>";
        let found = deviants(&output(text, "tool_calls", "<a><call>", "</call></a>"));
        let wanted = [
            ("the stop token missing", "Hi. <a><call>{\"k\": 1, \"b\": true}</call></a>"),
            (
                "a line break before the opening of `tool_calls`",
                "Hi. \n<a><call>{\"k\": 1, \"b\": true}</call></a><end>",
            ),
            (
                "a line break after the opening of `tool_calls`",
                "Hi. <a><call>\n{\"k\": 1, \"b\": true}</call></a><end>",
            ),
            (
                "no white space around the opening of `tool_calls`",
                "Hi.<a><call>{\"k\": 1, \"b\": true}</call></a><end>",
            ),
            (
                "a line break before the closing of `tool_calls`",
                "Hi. <a><call>{\"k\": 1, \"b\": true}\n</call></a><end>",
            ),
            (
                "a line break after the closing of `tool_calls`",
                "Hi. <a><call>{\"k\": 1, \"b\": true}</call></a>\n<end>",
            ),
            ("the outer markers of calls missing", "Hi. <call>{\"k\": 1, \"b\": true}</call><end>"),
            (
                "a second closing marker after the last call",
                "Hi. <a><call>{\"k\": 1, \"b\": true}</call></a></call></a><end>",
            ),
            ("arguments in Python's quotes", "Hi. <a><call>{'k': 1, 'b': True}</call></a><end>"),
            ("the keys of a call in another order", "Hi. <a><call>{\"b\": true, \"k\": 1}</call></a><end>"),
            ("the last call truncated", "Hi. <a><call>{\"k\": 1, "),
        ];
        for (known, wanted) in found.iter().zip(wanted) {
            assert_eq!((known.0.as_str(), known.1.as_str()), wanted);
        }
        assert_eq!(found.len(), wanted.len(), "there is no white space around the closing");
    }

    #[test]
    fn only_a_truncated_call_may_be_lost() {
        let output = output("<call>{\"k\": 1}</call>", "tool_calls", "<call>", "</call>");
        let loses: Vec<String> =
            output.deviants().into_iter().filter(|deviant| deviant.loses > 0).map(|deviant| deviant.what).collect();
        assert_eq!(loses, ["the last call truncated"]);
    }

    #[test]
    fn no_call_is_lost_from_a_list_without_calls() {
        let (before, rest) = CHAT.split_once("{% for c").unwrap();
        let (each, after) = rest.split_once("{% endfor %}<end>").unwrap();
        let each = each.replace("<call>", "").replace("</call>", "{{ ', ' if not loop.last }}");
        let source = format!("{before}<calls>[{{% for c{each}{{% endfor %}}]</calls><end>{after}");
        with_proof(&source, |proof| {
            let listed = ANSWER.replace("<call>", "<calls>").replace("</call>", "</calls>");
            let listed = template(&listed.replace("\"repeats\": true", "\"transform_each\": true"));
            let judge = Judge::new(&listed, proof.tools.clone(), &proof.plain, &proof.offering);
            let spoken: Vec<&Case> = proof.cases.iter().filter(|case| case.expected.calls.is_empty()).collect();
            let tolerance = find(&judge, &spoken);
            assert!(tolerance.tried > 0);
        });
    }

    #[test]
    fn reasoning_may_be_closed_twice() {
        let found = deviants(&output("<think>Hm.</think>Yes.", "thinking", "<think>", "</think>"));
        let twice = ("reasoning closed twice".to_owned(), "<think>Hm.</think></think>Yes.".to_owned());
        assert!(found.contains(&twice), "{found:?}");
    }

    #[test]
    fn a_mark_ends_before_the_stop_that_it_includes() {
        let output = output("<call>{}</call>\n<end>", "tool_calls", "<call>", "</call>\n<end>");
        let (own, whole) = (Span { start: 8, end: 15 }, Span { start: 8, end: 21 });
        assert_eq!(output.unstopped_part(whole), own);
        assert_eq!(Output { unstopped: None, ..output }.unstopped_part(own), own);
    }

    #[test]
    fn only_lists_and_objects_have_another_spelling() {
        assert_eq!(python_spelling(&value(r#"{"a": [null, true]}"#)).as_deref(), Some("{'a': [None, True]}"));
        assert_eq!(python_spelling(&value("true")), None);
        assert_eq!(other_order(&value(r#"{"a": 1, "b": 2}"#)).as_deref(), Some(r#"{"b": 2, "a": 1}"#));
        assert_eq!(other_order(&value(r#"{"a": 1}"#)), None);
    }

    #[test]
    fn a_template_is_tested_on_the_shortest_turn_of_each_kind() {
        with_proof(CHAT, |proof| {
            let template = template(ANSWER);
            let judge = Judge::new(&template, proof.tools.clone(), &proof.plain, &proof.offering);
            let cases: Vec<&Case> = proof.cases.iter().collect();
            let tolerance = find(&judge, &cases);
            assert!(tolerance.tolerated > 0 && tolerance.tolerated < tolerance.tried);
            // JSON's own parser is strict about quotes.
            assert!(tolerance.describe().unwrap().contains("arguments in Python's quotes"));
            assert_eq!(find(&judge, &[]), Tolerance::default());
        });
    }
}
