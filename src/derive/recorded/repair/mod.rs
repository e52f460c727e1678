//! Learning from samples: forms of a model that its chat template does not render, in addition to those it does.
//!
//! The parts of a sample's message are found in its text, in any spelling, and the text around them is the model's own
//! form. Only the parts that a template reads wrongly are learned, and a candidate counts only if it explains
//! more samples, loses no conversation, and leaves prose alone that mentions the new marks.

mod align;
mod edits;
mod layout;
mod merge;

use std::collections::HashSet;

use super::compare;
use super::{Sample, read_as};
use crate::derive::compile::Topic;
use crate::diagnostic::{Diagnostic, Severity, shortened};
use crate::json::{Object, Value};
use crate::parser::{Event, Mode};
use crate::template::Template;
use crate::text::slice;
use crate::wire::marks::Segmentation;
use align::SampleMessage;
use edits::{Edit, Sighting};

/// The lessons of samples, learned and refused.
#[derive(Clone, Debug, Default)]
pub(in crate::derive) struct Lessons {
    pub learned: Vec<Lesson>,
    pub refused: Vec<String>,
}

/// One thing that samples taught.
#[derive(Clone, Debug)]
pub(in crate::derive) struct Lesson {
    pub what: String,
    /// How many samples are explained by it, of how many.
    pub samples: usize,
    pub of: usize,
}

/// The tests of a repair: the results of a candidate on the conversations, and on all samples.
pub(in crate::derive) trait Trial {
    /// Which samples a template explains.
    fn explained(&self, template: &Template) -> Vec<bool>;
    /// How many conversations a template reads wrongly or loses, and of how many.
    fn failed(&self, template: &Template) -> (usize, usize);
    /// The prompt of a sample.
    fn prompt<'s>(&'s self, sample: &'s Sample) -> &'s str;
}

/// How many candidates are proved in one run.
const MOST_PROOFS: usize = 10;

/// How many candidates are read with the samples for one of them.
const MOST_EDITS: usize = 96;

/// Looks for a template that explains more samples; nothing if there is none.
pub(in crate::derive) fn learn(draft: &Value, samples: &[Sample], trial: &dyn Trial) -> (Option<Value>, Lessons) {
    let mut lessons = Lessons::default();
    let Some(first) = load(draft) else { return (None, lessons) };
    let base = trial.failed(&first);
    let mut best = Edit { template: draft.clone(), what: Vec::new(), marks: Vec::new() };
    let mut explained = trial.explained(&first);
    let mut proofs = 0;
    let mut tried: HashSet<String> = HashSet::new();
    let mut improved = true;
    while improved && proofs < MOST_PROOFS {
        improved = false;
        let mut candidates: Vec<(usize, usize, Edit)> = Vec::new();
        for (sample, _) in samples.iter().zip(&explained).filter(|(_, explained)| !**explained) {
            for edit in proposals(&best, sample, trial) {
                if !tried.insert(edit.template.to_string()) {
                    continue;
                }
                let Some(template) = load(&edit.template) else { continue };
                let now = trial.explained(&template);
                let count = now.iter().filter(|explained| **explained).count();
                let gets_worse = explained.iter().zip(&now).any(|(before, now)| *before && !now);
                if gets_worse || count <= explained.iter().filter(|explained| **explained).count() {
                    continue;
                }
                let pairs = samples.iter().zip(&now).filter(|(_, explained)| **explained);
                let by_character = pairs.filter(|(sample, _)| is_same_by_character(&template, sample, trial)).count();
                candidates.push((count, by_character, edit));
            }
        }
        candidates.sort_by_key(|(count, by_character, edit)| {
            (
                std::cmp::Reverse(*count),
                std::cmp::Reverse(*by_character),
                edit.what.len(),
                edit.template.to_string().len(),
            )
        });
        let of = explained.iter().filter(|explained| !**explained).count();
        for (count, _, edit) in candidates {
            if proofs == MOST_PROOFS {
                break;
            }
            let Some(template) = load(&edit.template) else { continue };
            if let Some(prose) = spoiled_prose(&first, &template, &edit.marks, samples, trial) {
                let what = edit.lesson();
                lessons.refuse(format!("{what}: prose that mentions it would be misread, such as {prose:?}"));
                continue;
            }
            proofs += 1;
            let failed = trial.failed(&template);
            let gained = count - (samples.len() - of);
            if failed.0 > base.0 {
                let what = edit.lesson();
                let (lost, all) = (failed.0 - base.0, failed.1);
                lessons.refuse(format!(
                    "{what}: it would explain {gained} samples and lose {lost} of {all} conversations"
                ));
                continue;
            }
            let new = edit.what.iter().filter(|what| !best.what.contains(what));
            lessons.learned.extend(new.map(|what| Lesson { what: what.clone(), samples: gained, of }));
            explained = trial.explained(&template);
            best = edit;
            improved = true;
            break;
        }
    }
    let known: Vec<&String> = lessons.learned.iter().map(|lesson| &lesson.what).collect();
    lessons.refused.retain(|refused| !known.iter().any(|what| refused.starts_with(what.as_str())));
    lessons.refused.truncate(4);
    let is_new = best.template != *draft;
    (is_new.then_some(best.template), lessons)
}

impl Lessons {
    fn refuse(&mut self, why: String) {
        fn what(text: &str) -> &str {
            text.split_once(": ").map_or(text, |(what, _)| what)
        }
        if !self.refused.iter().any(|known| what(known) == what(&why)) {
            self.refused.push(why);
        }
    }

    /// The parts of a message about which something was learned.
    pub fn parts(&self) -> Vec<&'static str> {
        let is_about = |part: &&str| self.learned.iter().any(|lesson| lesson.what.starts_with(*part));
        ["reasoning", "content", "calls"].into_iter().filter(is_about).collect()
    }

    /// A line for each thing that was learned, or refused.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let note = |id, message: String, help: &str| Diagnostic::new(Severity::Note, id, message).help(help);
        let learned = self.learned.iter().map(|Lesson { what, samples, of }| {
            let what = shortened(what, 240);
            let message =
                format!("learned from samples: {what}: explains {samples} of the {of} samples that were not explained");
            let help = match samples {
                1 => "seen once and tested by this sample only; generalized: white space, numbers",
                _ => "generalized: white space, numbers; not part of the proof, as no render shows it",
            };
            note("derive-learned", message, help)
        });
        let refused = self.refused.iter().map(|why| {
            let help = "pass more samples, or write it by hand and test it with `backchat prove --samples`";
            note("derive-not-learned", format!("not learned: {}", shortened(why, 300)), help)
        });
        learned.chain(refused).collect()
    }
}

fn load(template: &Value) -> Option<Template> {
    Some(Template::from_value(template).ok()?.template)
}

/// The templates that one sample suggests: each fixes the misread parts, one after the other.
fn proposals(known: &Edit, sample: &Sample, trial: &dyn Trial) -> Vec<Edit> {
    let Some(message) = sample.message.as_ref().and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    let mut waiting: Vec<(Edit, Vec<Topic>)> = vec![(known.clone(), Vec::new())];
    while let Some((edit, repaired)) = waiting.pop() {
        if found.len() > MOST_EDITS {
            break;
        }
        let Some(template) = load(&edit.template) else { continue };
        let own = own_reasoning(&template).map(str::to_owned);
        let said = SampleMessage::of(message, own.as_deref());
        let Some(shown) = align::align(&sample.text, &said) else { return found };
        let prefix = trial.prompt(sample);
        let (got, events) = match read_as(sample, &template, prefix, Mode::Stable, false) {
            Ok((finished, _)) => (finished.message, finished.events),
            // A template that gives up on the sample reads nothing of it.
            Err(_) => (Object::new(), Vec::new()),
        };
        let wrong = Wrong::of(&said, &got, own.as_deref());
        let Some(part) = wrong.first() else {
            if !repaired.is_empty() {
                found.push(edit);
            }
            continue;
        };
        // A repair that failed will fail the second time.
        if repaired.contains(&part) {
            continue;
        }
        let offset = prefix_length(&template, prefix);
        let thought_end = if wrong.reasoning { mark_end(&sample.text, &shown) } else { closed_at(&events, offset) };
        let stop = stop_at(&sample.text, &template);
        let seen = Sighting {
            text: &sample.text,
            shown: &shown,
            thought_end: thought_end.min(sample.text.len()),
            stop,
            own_reasoning: own.as_deref(),
        };
        let edits = match part {
            Topic::Reasoning => edits::reasoning(&edit, &seen),
            Topic::Calls => edits::calls(&edit, &seen),
            Topic::Content if shown.calls.is_empty() => edits::content(&edit, &seen),
            // Text that is left over beside calls belongs to their marks.
            Topic::Content => [edits::calls(&edit, &seen), edits::around_calls(&edit, &seen)].concat(),
        };
        let repaired = [repaired, vec![part]].concat();
        waiting.extend(edits.into_iter().rev().map(|edit| (edit, repaired.clone())));
    }
    found
}

/// Which parts of a message a template reads wrongly.
struct Wrong {
    reasoning: bool,
    calls: bool,
    content: bool,
}

impl Wrong {
    fn of(said: &SampleMessage, got: &Object, own: Option<&str>) -> Self {
        let got = SampleMessage::of(got, own);
        let same_calls = said.calls.len() == got.calls.len()
            && said.calls.iter().zip(&got.calls).all(|(said, got)| {
                let same = |a: &Object, b: &Object| compare::same(&Value::Object(a.clone()), &Value::Object(b.clone()));
                said.name == got.name
                    && same(&said.arguments, &got.arguments)
                    && (said.id.is_none() || said.id == got.id)
            });
        Self { reasoning: said.reasoning != got.reasoning, calls: !same_calls, content: said.content != got.content }
    }

    /// The part to fix first: text that calls leave over is read as content.
    fn first(&self) -> Option<Topic> {
        let parts = [(Topic::Reasoning, self.reasoning), (Topic::Calls, self.calls), (Topic::Content, self.content)];
        parts.into_iter().find_map(|(part, is_wrong)| is_wrong.then_some(part))
    }
}

/// The field of a template that holds reasoning.
fn own_reasoning(template: &Template) -> Option<&str> {
    let mut names = template.fields().iter().map(|field| field.name.as_str());
    names.find(|name| !["content", "tool_calls", "role"].contains(name))
}

fn prefix_length(template: &Template, prefix: &str) -> usize {
    crate::parser::Parser::new(template, prefix, Default::default()).map_or(0, |parser| parser.prefix_length())
}

/// The end of the last thought that was read, with its mark, in bytes of the text.
fn closed_at(events: &[Event], offset: usize) -> usize {
    let mut ends = events.iter().filter_map(|event| match event {
        Event::Close { field, span, .. } if !["content", "tool_calls"].contains(&&**field) => Some(span.end),
        _ => None,
    });
    ends.next_back().unwrap_or(0).saturating_sub(offset)
}

/// The end of the mark after the reasoning of a sample.
fn mark_end(text: &str, shown: &align::Shown) -> usize {
    let Some(place) = &shown.reasoning else { return 0 };
    let rest = slice(text, place.end..);
    let space = rest.len() - rest.trim_start().len();
    place.end + space + Segmentation::Words.first(rest).map_or(0, str::len)
}

/// The start of the stop: the last text that ends content, if the output ends with it.
fn stop_at(text: &str, template: &Template) -> usize {
    let close = template.field("content").and_then(|field| field.close.as_ref());
    let ends = close.into_iter().flat_map(|close| close.pattern().matches(text)).filter_map(Result::ok);
    let last = ends.last().filter(|found| found.span().1 == text.len());
    last.map_or(text.trim_end().len(), |found| found.span().0)
}

/// Whether transformers reads a sample one character at a time as it is read whole.
fn is_same_by_character(template: &Template, sample: &Sample, trial: &dyn Trial) -> bool {
    let prefix = trial.prompt(sample);
    let message = |mode, single| read_as(sample, template, prefix, mode, single).map(|(finished, _)| finished.message);
    match (message(Mode::Stable, false), message(Mode::Reference, true)) {
        (Ok(whole), Ok(single)) => whole == single,
        _ => false,
    }
}

/// Prose that mentions learned marks and is read differently than before; nothing if all of it is read as before.
fn spoiled_prose(
    before: &Template,
    now: &Template,
    marks: &[String],
    samples: &[Sample],
    trial: &dyn Trial,
) -> Option<String> {
    let mut prompts: Vec<&str> = Vec::new();
    for sample in samples {
        let prompt = trial.prompt(sample);
        if !prompts.contains(&prompt) && prompts.len() < 3 {
            prompts.push(prompt);
        }
    }
    let texts = marks.iter().filter(|mark| !mark.is_empty()).flat_map(|mark| {
        [
            format!("Write {mark} first, and then the rest."),
            format!("The mark {mark} begins it; f(x) and {{\"a\": 1}} do not. `{mark}`"),
            format!("It ends with {mark}, and \"{mark}\" is all.\n\nSo it is."),
        ]
    });
    for text in texts {
        for prompt in &prompts {
            let sample = Sample { text: text.clone(), ..Sample::default() };
            let read = |template| read_as(&sample, template, prompt, Mode::Stable, false).map(|(read, _)| read.message);
            let Ok(known) = read(before) else { continue };
            // Text that the draft already misreads cannot get worse.
            let is_prose = known.values().any(|part| part.as_str().is_some_and(|part| part.trim() == text));
            if is_prose && read(now).ok().as_ref() != Some(&known) {
                return Some(text);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, object, template, value};
    use crate::derive::recorded::explain;

    /// Reads the samples; `loses` conversations fail once the draft is changed.
    struct Fake<'s> {
        samples: &'s [Sample],
        loses: usize,
    }

    impl Trial for Fake<'_> {
        fn explained(&self, template: &Template) -> Vec<bool> {
            let reads = |sample: &Sample| explain(std::slice::from_ref(sample), template, &[]).departures.is_empty();
            self.samples.iter().map(reads).collect()
        }

        fn failed(&self, template: &Template) -> (usize, usize) {
            let is_draft = template.to_value() == load(&value(ANSWER)).unwrap().to_value();
            (if is_draft { 0 } else { self.loses }, 40)
        }

        fn prompt<'s>(&'s self, _: &'s Sample) -> &'s str {
            "<assistant>"
        }
    }

    fn sample(text: &str, message: &str) -> Sample {
        Sample::new("a sample", text).prefix("<assistant>".to_owned()).message(value(message))
    }

    fn learned(samples: &[Sample], loses: usize) -> (Option<Value>, Lessons) {
        learn(&value(ANSWER), samples, &Fake { samples, loses })
    }

    const CALLED: &str = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;

    #[test]
    fn what_a_draft_reads_already_teaches_nothing() {
        let (template, lessons) = learned(&[sample("Yes.<end>", r#"{"content": "Yes."}"#)], 0);
        assert!(template.is_none() && lessons.learned.is_empty() && lessons.refused.is_empty());
    }

    #[test]
    fn each_part_that_is_written_otherwise_is_learned() {
        for (text, message, part) in [
            ("<plan>\nHm.\n</plan>\nYes.<end>", r#"{"thinking": "Hm.", "content": "Yes."}"#, "reasoning"),
            ("<say>Yes.</say><end>", r#"{"content": "Yes."}"#, "content"),
            ("<tool>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</tool><end>", CALLED, "calls"),
            ("<tool>f({\"a\": \"x\"})</tool><end>", CALLED, "calls"),
            ("<tool=f><arg=a>x</arg></tool><end>", CALLED, "calls"),
        ] {
            let samples = [sample(text, message)];
            let (made, lessons) = learned(&samples, 0);
            let made = made.unwrap_or_else(|| panic!("{text}: {lessons:?}"));
            assert_eq!(lessons.parts(), [part], "{text}");
            // It reads the sample, and the outputs that the draft read.
            let both = [
                samples[0].clone(),
                sample("<call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</call><end>", CALLED),
            ];
            assert_eq!(explain(&both, &load(&made).unwrap(), &[]).departures, [], "{text}");
        }
    }

    #[test]
    fn a_second_way_is_learned_beside_a_first() {
        let own = sample("<call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</call><end>", CALLED);
        let whole = sample("<tool>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</tool><end>", CALLED);
        let named = sample("<fn>f({\"a\": \"x\"})</fn><end>", CALLED);
        let samples = [own, whole, named];
        let (made, lessons) = learned(&samples, 0);
        assert_eq!(lessons.learned.len(), 2, "{lessons:?}");
        assert_eq!(explain(&samples, &load(&made.unwrap()).unwrap(), &[]).departures, []);
    }

    #[test]
    fn a_lesson_that_costs_conversations_is_refused() {
        let samples = [sample("<say>Yes.</say><end>", r#"{"content": "Yes."}"#)];
        let (template, lessons) = learned(&samples, 3);
        assert!(template.is_none() && lessons.learned.is_empty());
        let why = "content is also written between `<say>` and `</say>`: it would explain 1 samples and lose 3 of 40 conversations";
        assert_eq!(lessons.refused, [why]);
        assert_eq!(lessons.diagnostics()[0].id, "derive-not-learned");
    }

    #[test]
    fn a_sample_whose_message_is_not_in_its_text_teaches_nothing() {
        let (template, lessons) = learned(&[sample("<say>Yes.</say><end>", r#"{"content": "No."}"#)], 0);
        assert!(template.is_none() && lessons.refused.is_empty());
    }

    #[test]
    fn a_call_inside_a_thought_or_after_the_stop_teaches_nothing() {
        // The same thought twice: its last end is after the call.
        let thought = CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "tool"#);
        let text = r#"<weigh>Hm.</weigh><tool>f({"a": "x"})</tool><weigh>Hm.</weigh><end>"#;
        assert!(learned(&[sample(text, &thought)], 0).0.is_none());
        // The value ends with the white space that ends the text.
        let message = CALLED.replace("\"x\"", "\"x\\n\"");
        assert!(learned(&[sample("<tool=f><a>x\n", &message)], 0).0.is_none());
    }

    #[test]
    fn reasoning_is_repaired_before_calls_and_calls_before_content() {
        let said = SampleMessage::of(
            &object(&CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "content": "Yes.", "tool"#)),
            None,
        );
        for (got, first) in [
            ("{}".to_owned(), Some(Topic::Reasoning)),
            (r#"{"thinking": "Hm."}"#.to_owned(), Some(Topic::Calls)),
            (CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "tool"#), Some(Topic::Content)),
            (CALLED.replace("{\"tool", r#"{"reasoning": "Hm.", "content": "Yes.", "tool"#), None),
        ] {
            assert_eq!(Wrong::of(&said, &object(&got), None).first(), first, "{got}");
        }
    }

    #[test]
    fn a_refusal_is_kept_once_for_each_lesson() {
        let mut lessons = Lessons::default();
        for why in ["calls: a", "calls: b", "content: a"] {
            lessons.refuse(why.to_owned());
        }
        assert_eq!(lessons.refused, ["calls: a", "content: a"]);
    }

    #[test]
    fn the_places_around_a_sample_are_found_in_its_text() {
        let answer = template(ANSWER);
        assert_eq!(stop_at("Yes.<end>", &answer), 4);
        assert_eq!(stop_at("<end> of it \n", &answer), 11, "it does not end the text");
        let shown = align::Shown { reasoning: Some(3..6), ..align::Shown::default() };
        assert_eq!(mark_end("<t>Hm.\n</t> Yes.", &shown), 11);
        assert_eq!(mark_end("Yes.", &align::Shown::default()), 0);
    }
}
