//! Learns from samples: forms that a model writes and its chat template does not render, in addition to those it does.
//!
//! The parts of a sample's message are located in its text, in any spelling; the text around them is the model's own
//! form. Only parts that the template misreads are learned. A candidate must explain more samples, lose no conversation,
//! and leave prose that mentions the new marks unchanged.

mod align;
mod edits;
mod keywords;
mod layout;
mod lessons;
mod merge;
mod proposals;
mod words;

use std::collections::HashMap;

use super::compare;
use super::{Sample, options, parse, read};
use crate::wire::marks::Segmentation;
use backchat_core::distinct;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::Mode;
use backchat_parser::template::Template;
use edits::Edit;
use lessons::Lesson;
pub(in crate::derive) use lessons::Lessons;
use proposals::proposals;

/// Tests of a candidate: on the conversations of the proof, and on all samples.
pub(in crate::derive) trait Trial {
    /// Which samples a template explains.
    fn explained(&self, template: &Template) -> Vec<bool>;
    /// How a template reads the conversations.
    fn prove(&self, template: &Template) -> Proved;
    fn prompt<'s>(&'s self, sample: &'s Sample) -> &'s str;
}

/// How a template reads the conversations of the proof.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::derive) struct Proved {
    pub cases: usize,
    /// How many it reads wrongly.
    pub failed: usize,
    /// Whether it reads a turn with calls.
    pub reads_calls: bool,
}

/// How many candidates are proved in one run.
const MOST_PROOFS: usize = 24;

/// A candidate, and how it reads the samples.
struct Candidate {
    edit: Edit,
    explained: Vec<bool>,
    /// How many samples come back with the exact types of their messages.
    exact: usize,
    /// How many samples come back the same one character at a time.
    by_character: usize,
}

/// Finds a template that explains more samples; `None` if there is none.
pub(in crate::derive) fn learn(draft: &Value, samples: &[Sample], trial: &dyn Trial) -> (Option<Value>, Lessons) {
    let mut lessons = Lessons::default();
    let Some(first) = load(draft) else { return (None, lessons) };
    let base = trial.prove(&first);
    let search = Search { samples, trial, replaces: !base.reads_calls };
    let mut best = Edit { template: draft.clone(), ..Edit::default() };
    let mut explained = trial.explained(&first);
    let mut proofs = 0;
    let mut improved = true;
    while improved && proofs < MOST_PROOFS {
        improved = false;
        lessons.unexplained.clear();
        let mut candidates = search.candidates(&best, &explained, &mut lessons);
        candidates.sort_by_key(|Candidate { edit, explained, exact, by_character }| {
            let most = std::cmp::Reverse((count(explained), *exact, *by_character));
            (most, edit.what.len(), edit.is_untyped, edit.template.to_string().len())
        });
        let of = samples.len() - count(&explained);
        for Candidate { edit, explained: now, .. } in candidates {
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
            let proved = trial.prove(&template);
            let gained = count(&now) - count(&explained);
            let samples = if gained == 1 { "sample" } else { "samples" };
            if proved.failed > base.failed {
                let what = edit.lesson();
                let (lost, all) = (proved.failed - base.failed, proved.cases);
                lessons.refuse(format!(
                    "{what}: it would explain {gained} {samples} and lose {lost} of {all} conversations"
                ));
                continue;
            }
            let new = edit.what.iter().filter(|what| !best.what.contains(what));
            lessons.learned.extend(new.map(|what| Lesson { what: what.clone(), samples: gained, of }));
            explained = now;
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

/// What candidates are searched with.
struct Search<'s> {
    samples: &'s [Sample],
    trial: &'s dyn Trial,
    /// Whether the known form of calls may be dropped.
    replaces: bool,
}

impl Search<'_> {
    /// The candidates that the misread samples suggest and that explain more samples than `best` and lose none.
    fn candidates(&self, best: &Edit, explained: &[bool], lessons: &mut Lessons) -> Vec<Candidate> {
        let Self { samples, trial, .. } = *self;
        let mut found: Vec<Candidate> = Vec::new();
        let mut tried: HashMap<String, Vec<bool>> = HashMap::new();
        for (index, (sample, _)) in samples.iter().zip(explained).enumerate().filter(|(_, (_, explained))| !**explained)
        {
            let edits = match proposals(self, best, sample) {
                Ok(edits) => edits,
                Err(why) => {
                    lessons.leave(&sample.name, why);
                    continue;
                }
            };
            let mut is_read = false;
            for edit in edits {
                let key = edit.template.to_string();
                if let Some(now) = tried.get(&key) {
                    is_read |= now.get(index) == Some(&true);
                    continue;
                }
                let Some(template) = load(&edit.template) else { continue };
                let now = trial.explained(&template);
                let is_worse = explained.iter().zip(&now).any(|(before, now)| *before && !now);
                is_read |= now.get(index) == Some(&true) && !is_worse;
                tried.insert(key, now.clone());
                if is_worse || count(&now) <= count(explained) {
                    continue;
                }
                let read = |test: fn(&Template, &Sample, &dyn Trial) -> bool| {
                    let pairs = samples.iter().zip(&now).filter(|(_, explained)| **explained);
                    pairs.filter(|(sample, _)| test(&template, sample, trial)).count()
                };
                let (exact, by_character) = (read(is_exact), read(is_same_by_character));
                found.push(Candidate { edit, explained: now, exact, by_character });
            }
            if !is_read {
                lessons
                    .leave(&sample.name, "every rule that its text suggests misreads it or another sample".to_owned());
            }
        }
        found
    }
}

fn count(explained: &[bool]) -> usize {
    explained.iter().filter(|explained| **explained).count()
}

fn load(template: &Value) -> Option<Template> {
    Some(Template::from_value(template).ok()?.template)
}

/// Whether a sample comes back with the types of its message, not only the same text.
fn is_exact(template: &Template, sample: &Sample, trial: &dyn Trial) -> bool {
    let read = read(sample, template, trial.prompt(sample));
    let wanted = sample.message.as_ref().and_then(Value::as_object);
    let (Some(wanted), Ok((read, _))) = (wanted, read) else { return false };
    let arguments = |message: &Object| -> Vec<Value> {
        let calls = align::read(message, None).calls;
        calls.into_iter().map(|call| Value::Object(call.arguments)).collect()
    };
    let (wanted, got) = (arguments(wanted), arguments(&read.message));
    wanted.len() == got.len() && wanted.iter().zip(&got).all(|(wanted, got)| compare::is_equal(wanted, got))
}

/// Whether transformers reads a sample the same one character at a time as we read it whole.
fn is_same_by_character(template: &Template, sample: &Sample, trial: &dyn Trial) -> bool {
    let prefix = trial.prompt(sample);
    let pieces = sample.text.char_indices().map(|(at, c)| slice(&sample.text, at..at + c.len_utf8()));
    let by_character = parse(template, prefix, pieces, options(sample).mode(Mode::Reference));
    let whole = read(sample, template, prefix);
    whole.is_ok_and(|(whole, _)| by_character.is_ok_and(|(other, _)| other.message == whole.message))
}

/// Prose that mentions learned marks and that the new template reads differently, if any.
fn spoiled_prose(
    before: &Template,
    now: &Template,
    marks: &[String],
    samples: &[Sample],
    trial: &dyn Trial,
) -> Option<String> {
    let mut prompts = distinct(samples.iter().map(|sample| trial.prompt(sample)));
    // After a prompt that writes the mark, the text is not prose, unless prose may contain the mark as well, such as a quote.
    let is_mark = |mark: &str| Segmentation::Words.is_distinctive(mark.trim());
    let is_written =
        |prompt: &str| marks.iter().any(|mark| is_mark(mark) && prompt.trim_end().ends_with(mark.as_str()));
    prompts.retain(|prompt| !is_written(prompt));
    prompts.truncate(3);
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
            let message = |template| read(&sample, template, prompt).map(|(read, _)| read.message);
            let Ok(known) = message(before) else { continue };
            // Text that the draft already misreads cannot get worse.
            let is_prose = known.values().any(|part| part.as_str().is_some_and(|part| part.trim() == text));
            if is_prose && message(now).ok().as_ref() != Some(&known) {
                return Some(text);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, value};
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

        fn prove(&self, template: &Template) -> Proved {
            let is_draft = template.to_value() == load(&value(ANSWER)).unwrap().to_value();
            Proved { cases: 40, failed: if is_draft { 0 } else { self.loses }, reads_calls: true }
        }

        fn prompt<'s>(&'s self, sample: &'s Sample) -> &'s str {
            sample.prefix.as_deref().unwrap_or("<assistant>")
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
    fn a_sample_that_the_draft_reads_teaches_nothing() {
        let (template, lessons) = learned(&[sample("Yes.<end>", r#"{"content": "Yes."}"#)], 0);
        assert!(template.is_none() && lessons.learned.is_empty() && lessons.refused.is_empty());
    }

    #[test]
    fn each_part_that_is_written_differently_is_learned() {
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
    fn a_second_form_is_learned_in_addition_to_a_first() {
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
        let why = "content is also written between `<say>` and `</say>`: it would explain 1 sample and lose 3 of 40 conversations";
        assert_eq!(lessons.refused, [why]);
        assert_eq!(lessons.diagnostics()[0].id, "derive-not-learned");
    }

    #[test]
    fn a_sample_that_teaches_nothing_is_listed_with_the_reason() {
        let wordless = Sample::new("b", "<say>Yes.</say></weigh>").prefix("<assistant>".to_owned());
        for (sample, why) in [
            (
                sample("<say>Yes.</say><end>", r#"{"content": "No."}"#),
                "its message is impossible: its text does not contain `content`",
            ),
            (wordless, "it has no expected message"),
            (sample("f({\"a\": \"x\"})<end>", CALLED), "no rule for the text around the calls could be made from it"),
        ] {
            let (template, lessons) = learned(std::slice::from_ref(&sample), 0);
            assert!(template.is_none() && lessons.refused.is_empty(), "{sample:?}");
            assert_eq!(lessons.unexplained, [(why.to_owned(), vec![sample.name])]);
        }
    }

    #[test]
    fn calls_that_the_draft_cannot_read_are_learned_from_samples_alone() {
        let draft =
            value(r#"{"start_anchor": "<assistant>", "fields": {"content": {"open": "<say>", "close": "<end>"}}}"#);
        let text = r#"Yes. <calls><call>f({"a": "x"})</call></calls><end>"#;
        let samples = [sample(text, &CALLED.replace("{\"tool", r#"{"content": "Yes.", "tool"#))];
        let (made, lessons) = learn(&draft, &samples, &Fake { samples: &samples, loses: 0 });
        let made = made.unwrap_or_else(|| panic!("{lessons:?}"));
        assert_eq!(lessons.parts(), ["content", "calls"]);
        let both = [samples[0].clone(), sample("<say>Yes.<end>", r#"{"content": "Yes."}"#)];
        assert_eq!(explain(&both, &load(&made).unwrap(), &[]).departures, []);
    }

    #[test]
    fn an_opening_is_learned_after_the_end_of_the_prompt() {
        let sample = sample("<plan>Hm.</plan>Yes.<end>", r#"{"thinking": "Hm.", "content": "Yes."}"#);
        let samples = [sample.prefix("<assistant><think></think>".to_owned())];
        let made = learned(&samples, 0).0.unwrap();
        assert_eq!(explain(&samples, &load(&made).unwrap(), &[]).departures, []);
    }

    #[test]
    fn a_prefix_of_a_known_opening_opens_if_the_known_one_does_not_match() {
        let draft = value(
            r#"{"start_anchor": "<assistant>", "fields": {
            "thinking": {"open": "<|part|>weigh", "close": ["</weigh>", "<end>"]}, "content": {"close": "<end>"}}}"#,
        );
        let message = r#"{"thinking": "Hm.", "content": "Yes."}"#;
        let own = sample("\n<|part|>weigh\nHm.</weigh>Yes.<end>", message);
        let short = sample("<|part|>Hm.</weigh>Yes.<end>", message);
        // Nothing closes a thought at the end of a text.
        let endless = sample("<|part|>Hm.", r#"{"thinking": "Hm."}"#);
        for samples in [[own.clone(), short.clone()], [own.clone(), endless.clone()]] {
            let made = learn(&draft, &samples, &Fake { samples: &samples, loses: 0 }).0.unwrap();
            let all = [own.clone(), short.clone(), endless.clone()];
            assert_eq!(explain(&all, &load(&made).unwrap(), &[]).departures, [], "{made}");
        }
    }

    #[test]
    fn lists_of_calls_are_learned_in_addition_to_single_calls() {
        let calls = r#"[{"name": "f", "arguments": {"a": [{}]}}, {"name": "g", "arguments": {"b": {}}}]"#;
        let message =
            r#"{"tool_calls": [{"name": "f", "arguments": {"a": [{}]}}, {"name": "g", "arguments": {"b": {}}}]}"#;
        for text in [format!("<calls>{calls}</calls><end>"), format!("calls{calls}<end>")] {
            let samples = [sample(&text, message)];
            let (made, lessons) = learned(&samples, 0);
            let made = made.unwrap_or_else(|| panic!("{text}: {lessons:?}"));
            let own = sample("<call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}</call><end>", CALLED);
            assert_eq!(explain(&[samples[0].clone(), own], &load(&made).unwrap(), &[]).departures, [], "{text}");
        }
    }

    #[test]
    fn a_call_inside_reasoning_or_after_the_stop_teaches_nothing() {
        // The same thought twice: its last end is after the call.
        let thought = CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "tool"#);
        let text = r#"<weigh>Hm.</weigh><tool>f({"a": "x"})</tool><weigh>Hm.</weigh><end>"#;
        assert!(learned(&[sample(text, &thought)], 0).0.is_none());
        // The value ends with the white space that ends the text.
        let message = CALLED.replace("\"x\"", "\"x\\n\"");
        assert!(learned(&[sample("<tool=f><a>x\n", &message)], 0).0.is_none());
    }
}
