//! Tests recorded outputs of a model against a response template: each is explained, or has a position of the first
//! mismatch.

mod compare;
mod coverage;
mod repair;
mod unknown;

use std::sync::Arc;

use super::may_be_reasoning;
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Finished, Options, ParseError, Parser, Tools};
use backchat_parser::template::Template;

pub(super) use compare::{calls_of, function_of};
pub(super) use coverage::spelled;
pub(super) use repair::{Lessons, Proved, Trial, learn};

/// A recorded output of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its name, for messages.
    pub name: String,
    /// The prompt before it, if it is known.
    pub prefix: Option<String>,
    /// The output.
    pub text: String,
    /// The message that it should parse to, if known.
    pub message: Option<Value>,
    /// The tools of its request.
    pub tools: Option<Value>,
}

impl Sample {
    /// An output, and its name in reports.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), ..Self::default() }
    }

    /// The output.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The prompt, up to the model's text. Without one, every known end of a prompt is tried.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<Option<String>>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The expected message, if it is known.
    #[must_use]
    pub fn message(mut self, message: impl Into<Option<Value>>) -> Self {
        self.message = message.into();
        self
    }

    /// The tools of its request, in OpenAI's form. Their schemas give arguments their types.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<Value>>) -> Self {
        self.tools = tools.into();
        self
    }
}

/// A sample that a response template does not explain.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Departure {
    /// The sample's name.
    pub sample: String,
    /// The byte of its text at which the mismatch begins.
    pub at: usize,
    /// The problem there.
    pub why: String,
    /// The parsed message, if there is one.
    pub got: Option<Value>,
}

/// The results of a response template on some samples.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Explained {
    /// How many samples there are.
    pub samples: usize,
    /// Those that are not explained.
    pub departures: Vec<Departure>,
    /// For samples without a prompt: the end of the assumed prompt, and how many samples were read after it.
    pub assumed: Vec<(String, usize)>,
}

/// A prompt that a sample may follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    /// Its end, after the text of its last message.
    pub end: String,
}

impl Explained {
    /// How many samples are explained, and after which assumed prompts; `None` if there are no samples.
    pub fn describe(&self) -> Option<String> {
        let explained = self.samples.saturating_sub(self.departures.len());
        let mut line = format!("samples: {explained} of {} explained", self.samples);
        for (end, count) in &self.assumed {
            line.push_str(&format!("; {count} without a prompt, read as if after {end:?}"));
        }
        (self.samples > 0).then_some(line)
    }
}

/// Whether a message differs from the expected one in the types of arguments only.
pub(super) fn is_retyped(wanted: &Value, got: &Value) -> bool {
    let messages = wanted.as_object().zip(got.as_object());
    messages.is_some_and(|(wanted, got)| compare::difference(wanted, got).is_none())
}

/// Reads samples. `prompts` are the known prompts, the usual one first.
pub(super) fn explain(samples: &[Sample], template: &Template, prompts: &[Prompt]) -> Explained {
    let mut explained = Explained { samples: samples.len(), ..Explained::default() };
    for sample in samples {
        if let Some(prefix) = &sample.prefix {
            explained.departures.extend(departure(sample, template, prefix));
            continue;
        }
        let none = [Prompt::default()];
        let prompts = if prompts.is_empty() { &none[..] } else { prompts };
        let mut first = None;
        let reads = |prompt: &Prompt| {
            let departure = departure(sample, template, &prompt.text);
            departure.or_else(|| unclosed_reasoning(sample, template, &prompt.text))
        };
        let fits = prompts.iter().find(|prompt| match reads(prompt) {
            None => true,
            Some(departure) => {
                first.get_or_insert(departure);
                false
            }
        });
        match fits {
            Some(prompt) => match explained.assumed.iter_mut().find(|(known, _)| *known == prompt.end) {
                Some((_, count)) => *count += 1,
                None => explained.assumed.push((prompt.end.clone(), 1)),
            },
            None => explained.departures.extend(first),
        }
    }
    explained
}

/// The mismatch of a sample after this prompt; `None` if it is explained.
fn departure(sample: &Sample, template: &Template, prefix: &str) -> Option<Departure> {
    let depart =
        |at: usize, why: String, got: Option<Value>| Some(Departure { sample: sample.name.clone(), at, why, got });
    let (finished, offset) = match read(sample, template, prefix) {
        Ok(read) => read,
        Err(error) => return depart(0, error.to_string(), None),
    };
    let got = Value::Object(finished.message.clone());
    let kept = slice(prefix, prefix.len().saturating_sub(offset)..);
    let read = format!("{kept}{}", sample.text);
    let gap = coverage::gap(template, &read, offset, &finished);
    let gap = gap.map(|(at, why)| (at.saturating_sub(offset), why));
    // A message decides; without one, only text that no field explains is a mismatch.
    match sample.message.as_ref().and_then(Value::as_object) {
        Some(wanted) => {
            let part = compare::difference(wanted, &finished.message)?;
            let (at, why) = gap.map_or((0, String::new()), |(at, why)| (at, format!(": {why}")));
            depart(at, format!("{part} differs from the sample's message{why}"), Some(got))
        }
        None => gap.and_then(|(at, why)| depart(at, why, Some(got))),
    }
}

/// The mismatch of a sample without a message whose reasoning never ends: after a prompt that opens reasoning, any text
/// would be reasoning.
fn unclosed_reasoning(sample: &Sample, template: &Template, prefix: &str) -> Option<Departure> {
    let (finished, _) = read(sample, template, prefix).ok().filter(|_| sample.message.is_none())?;
    let Event::Close { field, span, .. } = finished.events.last()? else { return None };
    let is_thought = may_be_reasoning(field) && template.field(field)?.open.is_some();
    (is_thought && span.start == span.end).then(|| Departure {
        sample: sample.name.clone(),
        at: sample.text.len(),
        why: format!("`{field}` never ends"),
        got: Some(Value::Object(finished.message)),
    })
}

/// Reads a sample whole.
fn read(sample: &Sample, template: &Template, prefix: &str) -> Result<(Finished, usize), ParseError> {
    parse(template, prefix, [sample.text()], options(sample))
}

fn options(sample: &Sample) -> Options {
    Options::default().tools(sample.tools.as_ref().and_then(|tools| Tools::new(tools).ok()).map(Arc::new))
}

/// Parses the pieces of a text after a prompt. Returns the result with every event, and how much of the prompt's end the
/// parser read.
pub(super) fn parse<'t>(
    template: &Template,
    prefix: &str,
    pieces: impl IntoIterator<Item = &'t str>,
    options: Options,
) -> Result<(Finished, usize), ParseError> {
    let mut parser = Parser::new(template, prefix, options)?;
    let offset = parser.prefix_length();
    let mut events = parser.initial_events().to_vec();
    for piece in pieces {
        parser.feed_into(piece, &mut |event| events.push(event.to_owned()))?;
    }
    let mut finished = parser.finish()?;
    events.append(&mut finished.events);
    finished.events = events;
    Ok((finished, offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, template, value};

    fn prompt(end: &str) -> Prompt {
        Prompt { text: format!("<user>Hi.<end>{end}"), end: end.to_owned() }
    }

    fn explained(samples: &[Sample], ends: &[&str]) -> Explained {
        let prompts: Vec<Prompt> = ends.iter().map(|end| prompt(end)).collect();
        explain(samples, &template(ANSWER), &prompts)
    }

    fn sample(text: &str) -> Sample {
        Sample::new("a sample", text)
    }

    #[test]
    fn a_sample_is_explained_if_no_text_is_left_over() {
        let after = |text: &str| sample(text).prefix("<assistant>".to_owned());
        for (text, why) in [
            ("<weigh>Hm.</weigh>Yes.<end>", None),
            ("Yes.", None),
            ("Yes.</weigh><end>", Some((4, "the marker \"</weigh>\" was not recognized: it is left in `content`"))),
            // A marker in quotes is only mentioned.
            ("Write `</weigh>` there.<end>", None),
        ] {
            let found = explained(&[after(text)], &[]);
            let departure = found.departures.first().map(|departure| (departure.at, departure.why.as_str()));
            assert_eq!(departure, why, "{text}");
        }
    }

    #[test]
    fn a_message_decides_how_the_text_must_be_read() {
        let means = |content: &str| value(&format!(r#"{{"role": "assistant", "content": "{content}"}}"#));
        let right = sample("Yes.<end>").prefix("<assistant>".to_owned()).message(means("Yes."));
        let wrong = right.clone().message(means("No."));
        let found = explained(&[right, wrong], &[]);
        assert_eq!((found.samples, found.departures.len()), (2, 1));
        assert_eq!(found.departures[0].why, "`content` differs from the sample's message");
        assert_eq!(found.describe().as_deref(), Some("samples: 1 of 2 explained"));
    }

    #[test]
    fn a_sample_without_a_prompt_is_tried_after_each_until_one_fits() {
        let found = explained(&[sample("Hm.</weigh>Yes.<end>")], &["<assistant>", "<assistant><weigh>"]);
        assert_eq!(found.assumed, [("<assistant><weigh>".to_owned(), 1)]);
        let line = "samples: 1 of 1 explained; 1 without a prompt, read as if after \"<assistant><weigh>\"";
        assert_eq!(found.describe().as_deref(), Some(line));
        // After a prompt that opens reasoning, text without an end of reasoning is not explained.
        let found = explained(&[sample("Yes.")], &["<assistant><weigh>"]);
        assert_eq!(found.departures[0].why, "`reasoning_content` never ends");
        assert_eq!(explained(&[], &[]).describe(), None);
    }
}
