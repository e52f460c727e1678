//! Writes the first file of cases for a model: typical turns as its chat template writes them, with their messages.

use super::fixture::{Broken, Case, FixtureFile, Shared, json_section, prefix_section, read_text, write_section};
use super::output_case::{Settings, check_case};
use super::round_trip::Chat;
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::{Object, Value};
use backchat_derive::derive::{ReadableTurn, ReadableTurns};
use backchat_parser::template::Template;

/// The paths that the file refers to.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The file itself.
    pub file: &'n str,
    /// The response template.
    pub template: &'n str,
    /// The chat template.
    pub chat_template: &'n str,
    /// The variables of every render, besides those of the chat template's own files.
    pub variables: &'n Object,
}

/// A file of cases, and how many of them the template misreads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaffold {
    /// Its text.
    pub text: String,
    /// How many cases it has.
    pub cases: usize,
    /// How many of them fail.
    pub failing: usize,
}

/// The text of a file with a case for each of these turns.
///
/// A case that the chat template changes is excluded from the round trip. If a truncated output reads as another call
/// because of the format itself, the file allows that.
pub fn scaffold(turns: &ReadableTurns, template: &Template, chat: &Chat, names: Names<'_>) -> Scaffold {
    let mut plan = Plan { turns, names, is_truncation_known: false, one_way: Vec::new() };
    let found = plan.check(template, chat);
    let failed_by = |id: &str| found.iter().map(|found| found.contains(&id)).collect::<Vec<_>>();
    plan.is_truncation_known = failed_by("check-truncated").contains(&true);
    plan.one_way = failed_by("check-round-trip");
    let failing = failing(&plan.check(template, chat));
    Scaffold { text: plan.text(), cases: turns.turns.len(), failing }
}

/// The header of cases whose outputs, where they are cut off, read as another call.
pub const TRUNCATION_IS_KNOWN: &str =
    "# An output truncated in the name of a tool reads as a call of another tool.\nallow: check-truncated\n";

/// The ids of what makes each case of a file fail.
pub fn errors_of_cases(file: &str, text: String, template: &Template, chat: Option<&Chat>) -> Vec<Vec<&'static str>> {
    let settings = Settings { reference: None, ..Settings::default() };
    let FixtureFile { text, cases, .. } = read_text(file, text, &Shared::default());
    let errors = |found: &[Diagnostic]| {
        found.iter().filter(|found| found.severity == Severity::Error).map(|found| found.id).collect()
    };
    let check = |case: &Result<Case, Broken>| match case {
        Ok(case) => errors(&check_case(case, &text, template, chat, &settings).diagnostics),
        Err(broken) => errors(&broken.diagnostics),
    };
    cases.iter().map(check).collect()
}

/// How many cases of a file fail, by the ids of what makes each fail.
pub fn failing(errors: &[Vec<&str>]) -> usize {
    errors.iter().filter(|errors| !errors.is_empty()).count()
}

struct Plan<'p> {
    turns: &'p ReadableTurns,
    names: Names<'p>,
    is_truncation_known: bool,
    /// For each turn, whether it has no round trip.
    one_way: Vec<bool>,
}

impl Plan<'_> {
    /// The ids of the findings that make each case fail.
    fn check(&self, template: &Template, chat: &Chat) -> Vec<Vec<&'static str>> {
        errors_of_cases(self.names.file, self.text(), template, Some(chat))
    }

    fn text(&self) -> String {
        let Names { template, chat_template, variables, .. } = self.names;
        let ReadableTurns { messages, tools, turns } = self.turns;
        let mut text = format!(
            "# Made from renders of the chat template. Add recorded outputs of the model.\n\
             template: {template}\nchat-template: {chat_template}\n"
        );
        for (name, value) in variables {
            text += &format!("set: {name}={value}\n");
        }
        let stop = shared(turns.iter().map(|turn| turn.stop.as_deref()));
        if let Some(Some(stop)) = stop {
            text += &format!("stop: {}\n", written(stop));
        }
        if self.is_truncation_known {
            text += TRUNCATION_IS_KNOWN;
        }
        let prefix = most_frequent(turns.iter().map(|turn| turn.prefix.as_str()));
        text += "\n";
        text += &prefix.map(prefix_section).unwrap_or_default();
        if let Some(tools) = tools {
            text += &(json_section("tools", tools) + "\n");
        }
        text += &(json_section("messages", &Value::List(messages.clone())) + "\n");
        let cases = turns.iter().enumerate().map(|(at, turn)| {
            let own_stop = turn.stop.as_deref().filter(|_| stop.is_none());
            let own_prefix = Some(turn.prefix.as_str()).filter(|own| Some(*own) != prefix);
            self.case(turn, own_stop, own_prefix, self.one_way.get(at) == Some(&true))
        });
        text + &cases.collect::<Vec<_>>().join("\n")
    }

    fn case(&self, turn: &ReadableTurn, stop: Option<&str>, prefix: Option<&str>, is_one_way: bool) -> String {
        let mut text = format!("=== case {}\n", turn.name);
        if let Some(loss) = &turn.loss {
            text += &format!("# No template can distinguish: {}\n", loss.replace(['\n', '\r'], " "));
        }
        if let Some(stop) = stop {
            text += &format!("stop: {}\n", written(stop));
        }
        for (name, value) in &turn.variables {
            text += &format!("set: {name}={value}\n");
        }
        if is_one_way {
            text += "# The chat template does not render this message as the model writes it.\nround-trip: no\n";
        }
        text += &prefix.map(prefix_section).unwrap_or_default();
        text += &write_section("output", &turn.output);
        text + &json_section("message", &Value::Object(turn.message.clone()))
    }
}

/// A token as a header writes it: plain, or as a JSON string if that would be read as something else.
fn written(token: &str) -> String {
    let is_plain = token.trim() == token && !token.starts_with('"') && !token.chars().any(char::is_control);
    if is_plain { token.to_owned() } else { Value::from(token).to_string() }
}

/// The common value, if all have the same.
pub(super) fn shared<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The most frequent value; the first of several.
pub(super) fn most_frequent<'t>(all: impl Iterator<Item = &'t str> + Clone) -> Option<&'t str> {
    let count = |wanted: &str| all.clone().filter(|other| *other == wanted).count();
    all.clone().reduce(|best, other| if count(other) > count(best) { other } else { best })
}
