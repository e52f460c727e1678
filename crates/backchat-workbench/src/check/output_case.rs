//! Checks one case in every way.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::fixture::{Actual, Case, Expected};
use super::grammar_case;
use super::reading::Reading;
use super::round_trip::{self, Chat, Returned};
use super::splits::{Cut, WHOLE, characters, cuts};
use super::truncation;
use backchat_chat::{Instant, Stopwatch};
use backchat_core::diagnostic::{Diagnostic, Place, Severity, shell_word, shortened};
use backchat_core::json::{Object, Value};
use backchat_diff::messages::differences;
use backchat_legacy::schema::Schema;
use backchat_parser::content::Mode;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Event, Options, ParseError, Parser, cause};
use backchat_parser::template::Template;

/// How cases are checked.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of random chunkings and samples.
    pub seed: u64,
    /// How much processor time one case may take.
    pub limit: Duration,
    /// The severity if transformers' own answer depends on how the text is cut; not checked if absent.
    pub reference: Option<Severity>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, limit: Duration::from_secs(10), reference: Some(Severity::Warning) }
    }
}

/// The id of the finding that a case was not checked to its end.
pub(super) const OUT_OF_TIME: &str = "check-time";

/// The result of a case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The findings; the case failed if one of them is an error.
    pub diagnostics: Vec<Diagnostic>,
    /// The message of the output, read whole.
    pub meaning: Actual,
    /// How long it took.
    pub time: Duration,
    /// The cuts of the output that change the answer.
    pub(crate) splits: Vec<Split>,
}

/// A cut of an output with an answer different from that of the whole.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub cut: String,
    pub mode: Mode,
    /// Both messages: of the whole output, and of the cut one. `None` if parsing stops.
    pub messages: [Option<Object>; 2],
}

impl Verdict {
    /// Whether no finding is an error.
    pub fn passed(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error)
    }
}

/// Checks a case. `text` is that of its file, for the positions of findings.
pub fn check_case(
    case: &Case,
    text: &str,
    template: &Template,
    chat_template: Option<&Chat>,
    settings: &Settings,
) -> Verdict {
    let mut check = Check::new(case, text, settings);
    let meaning = check.run(template, chat_template).unwrap_or_default();
    check.verdict(meaning)
}

/// Checks a case against a response schema, which reads the whole output and gives no events.
pub fn check_schema_case(case: &Case, text: &str, schema: &Schema, settings: &Settings) -> Verdict {
    let mut check = Check::new(case, text, settings);
    let (message, error) = match schema.parse(&case.output) {
        Ok(Value::Object(message)) => (Some(message), Vec::new()),
        Ok(other) => (None, vec![format!("message: the schema gives {}, not an object", other.kind())]),
        Err(error) => (None, vec![format!("{}: {error}", error.kind.name())]),
    };
    check.expectations(message.as_ref(), &error, &[]);
    check.verdict(Actual { message, error, ..Actual::default() })
}

struct Check<'c> {
    case: &'c Case,
    text: &'c str,
    settings: &'c Settings,
    started: Instant,
    watch: Stopwatch,
    found: Vec<Diagnostic>,
    splits: Vec<Split>,
}

impl<'c> Check<'c> {
    fn new(case: &'c Case, text: &'c str, settings: &'c Settings) -> Self {
        let (started, watch) = (Instant::now(), Stopwatch::start());
        Self { case, text, settings, started, watch, found: Vec::new(), splits: Vec::new() }
    }

    fn verdict(mut self, meaning: Actual) -> Verdict {
        for finding in self.found.iter_mut().filter(|finding| self.case.allow.iter().any(|id| id == finding.id)) {
            finding.severity = Severity::Note;
        }
        Verdict { diagnostics: self.found, meaning, time: self.started.elapsed(), splits: self.splits }
    }

    fn run(&mut self, template: &Template, chat_template: Option<&Chat>) -> Option<Actual> {
        let case = self.case;
        let tools = match case.tools.as_ref().map(Tools::new).transpose() {
            Ok(tools) => tools.map(Arc::new),
            Err(reason) => {
                self.fail("check-tools", format!("the tools cannot be used: {reason}"), case.span.clone());
                return None;
            }
        };
        let parser = |mode| {
            let options = Options::default().mode(mode).tools(tools.clone());
            Parser::new(template, &case.prefix, options.recover(case.recover).validate(case.validate))
        };
        let stable = match parser(Mode::Stable) {
            Ok(parser) => parser,
            Err(error) => {
                self.fail("check-prefix", format!("the prefix cannot be parsed: {error}"), case.span.clone());
                return None;
            }
        };
        let whole = Reading::new(stable.clone(), WHOLE.chunks(&case.output));
        self.expectations(whole.message(), &whole.errors(), &whole.event_values());
        self.problems(&whole.problems);
        for note in &whole.notes {
            let found = self.diagnostic(Severity::Note, "check-doubtful", note.clone(), case.span.clone());
            self.found.push(found.help(self.open(WHOLE, 0, Mode::Stable)));
        }
        let in_time = self.cuts(&stable, &whole, Severity::Error, Mode::Stable)
            // A policy may act at the end of a text only, or read nothing that the text's end cut.
            && (!case.recover.is_empty()
                || self.truncations(&stable, &whole) && self.stops(template, &stable, &whole))
            && self.round_trip(template, chat_template, &tools)
            && self.grammar(template, chat_template)
            && self.reference(parser(Mode::Reference), &whole);
        if !in_time {
            let limit = self.settings.limit.as_secs_f64();
            let message = format!("the check of the case did not finish: it takes longer than {limit} s");
            let found = self.diagnostic(Severity::Error, OUT_OF_TIME, message, case.span.clone());
            self.found.push(found.help("shorten the output, or raise the limit with `--timeout`"));
        }
        Some(whole.into_actual())
    }

    /// The message, the errors and the events that the case expects.
    fn expectations(&mut self, found: Option<&Object>, errors: &[String], found_events: &[Value]) {
        let Expected { message, error, events, .. } = &self.case.expected;
        match (message, found) {
            (Some(expected), Some(found)) => {
                let (wanted, found) = (Value::Object(expected.value.clone()), Value::Object(found.clone()));
                let notes: Vec<_> = differences(&wanted, &found).iter().map(ToString::to_string).collect();
                let span = expected.span.clone();
                if let Some(found) = self.noted(Severity::Error, "check-message", "the message differs", &notes, span) {
                    self.found.push(found.help(self.open(WHOLE, 0, Mode::Stable)));
                }
            }
            (Some(expected), None) => {
                let message = format!("there is no message: {}", errors.join("; "));
                self.fail("check-message", message, expected.span.clone());
            }
            (None, _) if self.case.is_log => {}
            (None, None) if error.is_some() => {}
            (None, _) => {
                let message = "the case has no expected message".to_owned();
                let diagnostic = self.diagnostic(Severity::Error, "check-unsaid", message, self.case.span.clone());
                self.found.push(diagnostic.help("write it with `backchat check --bless=new`, and review it"));
            }
        }
        self.errors(errors);
        if let Some(expected) = events
            && let Some((index, wanted, found)) = first_difference(&expected.value, found_events)
        {
            let shown = |event: Option<&Value>| event.map_or("the end".to_owned(), |event| short(&event.to_string()));
            let message = format!("event {} differs: expected {}, found {}", index + 1, shown(wanted), shown(found));
            self.fail("check-events", message, expected.span.clone());
        }
    }

    /// The problems of the parse, if the case says which it expects.
    fn problems(&mut self, found: &[String]) {
        let Some(expected) = &self.case.expected.problems else { return };
        let Some((index, wanted, found)) = first_difference(&expected.value, found) else { return };
        let shown = |line: Option<&String>| line.map_or_else(|| "none".to_owned(), |line| format!("`{line}`"));
        let message = format!("problem {} differs: expected {}, found {}", index + 1, shown(wanted), shown(found));
        self.fail("check-problems", message, expected.span.clone());
    }

    fn errors(&mut self, errors: &[String]) {
        let expected = self.case.expected.error.as_ref();
        let said = expected.map_or(&[][..], |error| error.value.as_slice());
        let pairs = (0..said.len().max(errors.len())).map(|i| (said.get(i), errors.get(i)));
        let first = pairs.into_iter().find(|(wanted, found)| !wanted.zip(*found).is_some_and(|(w, f)| fits(w, f)));
        let Some((wanted, found)) = first else { return };
        let message = match (wanted, found) {
            (None, Some(found)) => format!("the output has a problem that the case does not expect: {found}"),
            (Some(wanted), None) => format!("`{wanted}` is expected, but the output has no problem"),
            (Some(wanted), Some(found)) => format!("`{wanted}` is expected, but the problem is `{found}`"),
            (None, None) => return,
        };
        let span = expected.map_or(self.case.span.clone(), |error| error.span.clone());
        let diagnostic = self.diagnostic(Severity::Error, "check-problem", message, span);
        let help = "list the problems in `=== error`, one per line, or correct the output or the template";
        self.found.push(diagnostic.help(help));
    }

    /// Reads at every cut, up to the first that gives another answer; false if the time is up.
    fn cuts(&mut self, parser: &Parser, whole: &Reading, severity: Severity, mode: Mode) -> bool {
        let output = &self.case.output;
        for cut in cuts(output, self.settings.seed) {
            if self.is_over() {
                return false;
            }
            let reading = Reading::new(parser.clone(), cut.chunks(output));
            let is_same = match mode {
                Mode::Stable => reading == *whole,
                Mode::Reference => same_answer(&reading, whole),
            };
            if !is_same {
                let found = self.differs(cut, whole, &reading, severity, mode);
                self.found.push(found);
                return true;
            }
        }
        true
    }

    fn truncations(&mut self, parser: &Parser, whole: &Reading) -> bool {
        let (output, seed) = (&self.case.output, self.settings.seed);
        if let Some((at, what)) = truncation::check(parser, output, whole, seed, || !self.is_over()) {
            let count = characters(&self.case.output, at);
            let message = format!("the output cut off after character {count} gives {what}");
            let diagnostic = self.diagnostic(Severity::Error, "check-truncated", message, self.case.span.clone());
            self.found.push(diagnostic.help(self.open(WHOLE, count, Mode::Stable)));
        }
        !self.is_over()
    }

    /// With each stop token after the output, and without: the message is the same.
    fn stops(&mut self, template: &Template, parser: &Parser, whole: &Reading) -> bool {
        let case = self.case;
        let trimmed = case.stop.iter().find_map(|stop| case.output.trim_end().strip_suffix(stop.as_str()));
        let bare = trimmed.unwrap_or(&case.output);
        if ends_inside(template, whole, &case.stop) {
            return true;
        }
        let variants =
            case.stop.iter().map(|stop| (format!("{bare}{stop}"), format!("with `{stop}` after the output")));
        let variants = variants.chain([(bare.to_owned(), "without the stop token".to_owned())]);
        for (text, what) in variants {
            if self.is_over() {
                return false;
            }
            let reading = Reading::new(parser.clone(), WHOLE.chunks(&text));
            let notes = message_notes(whole, &reading);
            let message = format!("the message changes {what}");
            if let Some(found) = self.noted(Severity::Error, "check-stop", &message, &notes, case.span.clone()) {
                self.found.push(found.help("make the field that ends the message close with every stop token"));
                return true;
            }
        }
        true
    }

    fn round_trip(&mut self, template: &Template, chat: Option<&Chat>, tools: &Option<Arc<Tools>>) -> bool {
        let (Some(chat), Some(expected)) = (chat, &self.case.expected.message) else { return true };
        match round_trip::run(self.case, &expected.value, template, chat, tools.clone()) {
            Ok(Returned::Same) => {}
            Ok(Returned::Lost(notes)) => {
                let message = "the chat template writes both alike";
                self.found.extend(self.noted(Severity::Note, "check-loss", message, &notes, expected.span.clone()));
            }
            Ok(Returned::Changed(notes)) => {
                let message = "the message changes when it is rendered and parsed again";
                let help = "if the chat template does not write a key, declare it: `round-trip: without KEY`, or `round-trip: no`";
                let span = expected.span.clone();
                let found = self.noted(Severity::Error, "check-round-trip", message, &notes, span);
                self.found.extend(found.map(|found| found.help(help)));
            }
            Err(problem) => {
                let diagnostic = self.diagnostic(Severity::Error, "check-round-trip", problem, expected.span.clone());
                self.found.push(diagnostic.help("correct the message, or write `round-trip: no`"));
            }
        }
        !self.is_over()
    }

    /// Whether an engine that follows the grammar of the request could have written the output.
    fn grammar(&mut self, template: &Template, chat: Option<&Chat>) -> bool {
        if !self.case.grammar || self.case.expected.message.is_none() {
            return true;
        }
        let model = match chat {
            Some(chat) => chat.model(template, self.case),
            None => Err("`grammar: yes` needs `chat-template: FILE`".to_owned()),
        };
        if let Ok(model) = &model
            && let [verdict, details @ ..] = model.doubts().as_slice()
        {
            let span = self.case.span.clone();
            let found = self.diagnostic(Severity::Warning, "check-grammar-unproved", verdict.clone(), span);
            let details = details.iter().map(|detail| format!("; {detail}")).collect::<String>();
            self.found.push(found.help(format!("`backchat derive CHAT_TEMPLATE` shows the same{details}")));
        }
        let problem = model.and_then(|model| grammar_case::run(self.case, template, &model.wire));
        if let Err(problem) = problem {
            let diagnostic = self.diagnostic(Severity::Error, "check-grammar", problem, self.case.span.clone());
            self.found.push(diagnostic.help(
                "`backchat grammar CHAT_TEMPLATE --check OUTPUT` shows the same; if the model writes text that its chat template never renders, write `allow: check-grammar`",
            ));
        }
        !self.is_over()
    }

    /// transformers' answer at the same chunkings.
    fn reference(&mut self, parser: Result<Parser, ParseError>, stable: &Reading) -> bool {
        let Some(severity) = self.settings.reference else { return true };
        let Ok(parser) = parser else { return true };
        let whole = Reading::new(parser.clone(), WHOLE.chunks(&self.case.output));
        if self.case.recover.is_empty() && stable.errors().is_empty() && whole.message() != stable.message() {
            let said = whole.outcome.as_ref().map_or_else(ToString::to_string, |_| {
                message_notes(stable, &whole).into_iter().next().unwrap_or_default()
            });
            let message = format!("transformers reads the whole text differently: {said}");
            let diagnostic = self.diagnostic(severity, "check-reference", message, self.case.span.clone());
            self.found.push(diagnostic.help("`COMPATIBILITY.md` lists the differences and their reasons"));
        }
        self.cuts(&parser, &whole, severity, Mode::Reference)
    }

    /// The report of a chunking that gives another answer.
    fn differs(&mut self, cut: Cut, whole: &Reading, reading: &Reading, severity: Severity, mode: Mode) -> Diagnostic {
        let (id, what) = match mode {
            Mode::Stable => ("check-split", "the answer changes"),
            Mode::Reference => ("check-reference", "transformers' answer changes"),
        };
        let output = &self.case.output;
        let messages = [whole.message().cloned(), reading.message().cloned()];
        self.splits.push(Split { cut: cut.describe(output), mode, messages });
        let notes = message_notes(whole, reading);
        let first = notes.first().cloned().unwrap_or_else(|| "the message is the same, the events differ".to_owned());
        let message = format!("{what} when the text is {}: {first}", cut.describe(output));
        let mut all: Vec<String> = notes.into_iter().skip(1).collect();
        let mut at = 0;
        if let Cut::At(byte) = cut {
            let (one, other) = output.split_at_checked(byte).unwrap_or((output, ""));
            all.push(format!("the two chunks: {} {}", quote_end(one), quote_start(other)));
            at = characters(output, byte);
        }
        if let Some((index, one, other)) = first_difference(&whole.events, &reading.events) {
            let shown = |event: Option<&Event>| {
                event.map_or("the end".to_owned(), |event| short(&event.to_value().to_string()))
            };
            all.push(format!("event {}: {} when read whole, {} now", index + 1, shown(one), shown(other)));
        }
        if mode == Mode::Reference {
            all.push("`backchat lint` reports the pattern that causes this, and a replacement".to_owned());
        }
        with_notes(self.diagnostic(severity, id, message, self.case.span.clone()), &all).help(self.open(cut, at, mode))
    }

    fn fail(&mut self, id: &'static str, message: String, span: Range<usize>) {
        let diagnostic = self.diagnostic(Severity::Error, id, message, span);
        self.found.push(diagnostic.help(self.open(WHOLE, 0, Mode::Stable)));
    }

    fn diagnostic(&self, severity: Severity, id: &'static str, message: String, span: Range<usize>) -> Diagnostic {
        Diagnostic::new(severity, id, message).at(self.case.place(self.text, span))
    }

    /// A finding about some differences, if there are any: the first in its message, the others as notes.
    fn noted(
        &self,
        severity: Severity,
        id: &'static str,
        what: &str,
        notes: &[String],
        span: Range<usize>,
    ) -> Option<Diagnostic> {
        let (first, rest) = notes.split_first()?;
        Some(with_notes(self.diagnostic(severity, id, format!("{what}: {first}"), span), rest))
    }

    /// The command that opens the case at a character.
    fn open(&self, cut: Cut, character: usize, mode: Mode) -> String {
        let mut command = format!("backchat replay {}", shell_word(&self.case.id));
        if character > 0 {
            command.push_str(&format!(" --at {character}"));
        }
        if cut != WHOLE {
            command.push_str(&format!(" --chunks {}", cut.argument(&self.case.output)));
        }
        if mode == Mode::Reference {
            command.push_str(" --mode reference");
        }
        format!("open it with `{command}`")
    }

    fn is_over(&self) -> bool {
        self.watch.elapsed() > self.settings.limit
    }
}

/// The first index at which two lists differ, with the items there.
fn first_difference<'l, T: PartialEq>(one: &'l [T], other: &'l [T]) -> Option<(usize, Option<&'l T>, Option<&'l T>)> {
    let pairs = (0..one.len().max(other.len())).map(|index| (index, one.get(index), other.get(index)));
    pairs.into_iter().find(|(_, one, other)| one != other)
}

/// Whether an output ends in a region whose own closing mark is still missing: no stop token belongs there.
fn ends_inside(template: &Template, whole: &Reading, stops: &[String]) -> bool {
    let (field, span) = match whole.events.last() {
        Some(Event::Close { field, span, .. } | Event::Malformed { field, span, .. }) => (field, span),
        _ => return whole.outcome.is_err(),
    };
    let field = template.field(field).filter(|field| field.open.is_some() && span.start == span.end);
    let Some(close) = field.and_then(|field| field.close.as_ref()) else { return false };
    !stops.iter().any(|stop| matches!(close.pattern().find_at(stop, 0), Ok(Some(_))))
}

/// Whether a problem is the one that `=== error` names: the whole line, its kind, or its kind and a part of the reason.
pub(super) fn fits(said: &str, found: &str) -> bool {
    match said.split_once(": ") {
        Some((what, part)) => {
            found.split_once(": ").is_some_and(|(kind, reason)| kind == what && reason.contains(part))
        }
        None => found == said || found.split_once(": ").is_some_and(|(kind, _)| kind == said),
    }
}

/// How the message of a reading differs from another's, or why it has none.
fn message_notes(expected: &Reading, found: &Reading) -> Vec<String> {
    match (&expected.outcome, &found.outcome) {
        (Ok((one, _)), Ok((other, _))) => {
            let (one, other) = (Value::Object(one.clone()), Value::Object(other.clone()));
            differences(&one, &other).iter().map(ToString::to_string).collect()
        }
        (Err(one), Err(other)) if one == other => Vec::new(),
        (_, Err(error)) => vec![format!("parsing stops: {error}")],
        (Err(error), Ok(_)) => vec![format!("parsing continues, but stops with another cut: {error}")],
    }
}

/// Whether two readings of transformers are the same to its user. After an error only the error counts.
fn same_answer(one: &Reading, other: &Reading) -> bool {
    match (&one.outcome, &other.outcome) {
        (Err(one), Err(other)) => cause(one) == cause(other),
        (one_outcome, other_outcome) => one_outcome == other_outcome && one.events == other.events,
    }
}

fn with_notes(diagnostic: Diagnostic, notes: &[String]) -> Diagnostic {
    const MOST: usize = 6;
    let more = notes.len().saturating_sub(MOST);
    let noted = notes.iter().take(MOST).fold(diagnostic, |diagnostic, note| diagnostic.label(Place::default(), note));
    if more == 0 { noted } else { noted.label(Place::default(), format!("and {more} more")) }
}

fn short(text: &str) -> String {
    const LENGTH: usize = 100;
    shortened(text, LENGTH).into_owned()
}

/// How much of a chunk is quoted, in characters.
const QUOTED: usize = 40;

fn quote_end(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(QUOTED);
    let tail: String = text.chars().skip(skip).collect();
    format!("{}{}", if skip > 0 { "…" } else { "" }, Value::from(tail))
}

fn quote_start(text: &str) -> String {
    let head: String = text.chars().take(QUOTED).collect();
    let more = head.len() < text.len();
    format!("{}{}", Value::from(head), if more { "…" } else { "" })
}
