//! Outputs a model really wrote, against a draft.

use super::Sample;
use super::calls::Layout;
use super::findings::Findings;
use super::marks;
use crate::json::Value;
use crate::parser::{self, Event};
use crate::template::Template;

/// A sample the draft does not explain, and where it departs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Departure {
    pub sample: String,
    /// The byte of the sample at which it departs.
    pub at: usize,
    pub why: String,
}

/// The samples a draft does not explain.
pub(super) fn departures(samples: &[Sample], template: &Template, findings: &Findings) -> Vec<Departure> {
    let marks = known_marks(findings);
    samples.iter().filter_map(|sample| departure(sample, template, findings, &marks)).collect()
}

fn departure(sample: &Sample, template: &Template, findings: &Findings, marks: &[String]) -> Option<Departure> {
    let depart = |at: usize, why: String| Some(Departure { sample: sample.name.clone(), at, why });
    let header = findings.turn.header();
    let prefix = sample.prefix.as_deref().unwrap_or(header);
    let finished = match parser::parse(template, prefix, &sample.text, None) {
        Ok(finished) => finished,
        Err(error) => return depart(0, error.to_string()),
    };
    for event in &finished.events {
        if let Event::Malformed { field, text, reason, .. } = event {
            return depart(sample.text.find(text.as_str()).unwrap_or(0), format!("`{field}` gives no value: {reason}"));
        }
    }
    if let Some(wanted) = &sample.message {
        let got = Value::Object(finished.message.clone());
        return match first_difference(wanted, &got) {
            Some(key) => depart(0, format!("`{key}` is not what the sample's message says")),
            None => None,
        };
    }
    // A mark that stayed in a text was not read as one.
    for (key, value) in &finished.message {
        let Some(text) = value.as_str() else { continue };
        if let Some(mark) = marks.iter().find(|mark| text.contains(mark.as_str())) {
            let at = sample.text.find(mark.as_str()).unwrap_or(0);
            return depart(at, format!("the mark {mark:?} stays in `{key}`"));
        }
    }
    None
}

/// The first key of a message that differs, types of calls and outer white space aside.
fn first_difference(wanted: &Value, got: &Value) -> Option<String> {
    let wanted = wanted.as_object()?;
    wanted.iter().find_map(|(key, value)| {
        let same = match (value, got.get(key)) {
            (Value::String(a), Some(Value::String(b))) => a.trim() == b.trim(),
            (Value::Null, None) => true,
            (Value::String(text), None) => text.trim().is_empty(),
            (Value::List(items), None) => items.is_empty(),
            (a, b) => Some(a) == b,
        };
        (!same && key != "role").then(|| key.clone())
    })
}

/// Every mark the findings name.
fn known_marks(findings: &Findings) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    if let Some(reasoning) = &findings.reasoning {
        known.extend([reasoning.open.clone(), reasoning.close.clone()]);
    }
    known.extend(findings.content.opens.iter().chain(&findings.content.closes).cloned());
    known.extend(findings.stops.iter().cloned());
    if let Some(calls) = &findings.calls {
        let mut add = |text: &str| known.extend(marks::split(text).into_iter().map(str::to_owned));
        [&calls.section_open, &calls.open, &calls.close, &calls.section_close].into_iter().for_each(|text| add(text));
        if let Layout::Marked { head, .. } = &calls.layout {
            head.iter().filter_map(|piece| piece.text()).for_each(add);
        }
    }
    known.retain(|mark| marks::is_distinct(mark));
    known
}
