//! The turn around the answer: what introduces it, and what ends it.

use super::conversation::{Answer, Message};
use super::header::{self, Header, Introduced, PromptEnd, TOOL_RESULT, after_history, full};
use super::marks;
use super::probe::{Prober, Setting, after_tool, call, histories, needle, tools};

/// What is known of the turn around the answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub headers: Vec<Header>,
    pub prompts: Vec<PromptEnd>,
    /// What follows content at the end of a render, as it stands.
    pub end: String,
    /// What follows content when a user message comes next, up to that message.
    pub next: String,
    /// Whether an answer can begin with the header itself, where the prompt before it has none.
    pub writes_header: bool,
}

/// Finds the turn's surroundings; nothing where the template shows no content at all.
pub(super) fn find(prober: &mut Prober, settings: &[Setting]) -> Option<Turn> {
    let mut introduced = Introduced::default();
    let mut kinds = histories();
    // Where results are left out, what such a prompt ends in is still the answer that called.
    if settings.iter().any(|setting| shows_results(prober, setting)) {
        kinds.push((TOOL_RESULT, after_tool()));
    }
    for (after, history) in &kinds {
        header::find(prober, settings, after, history, &mut introduced);
    }
    let mut turn = Turn { headers: introduced.headers, prompts: introduced.prompts, ..Turn::default() };
    let user = [Message::User(needle::USER.to_owned())];
    let base = Setting::new();
    let full = full(prober, &user, &Answer::content(needle::CONTENT), &base)?;
    let at = full.rfind(needle::CONTENT)?;
    let end = full.get(at + needle::CONTENT.len()..)?;
    turn.end =
        end.split(turn.header().trim()).next().filter(|_| !turn.header().trim().is_empty()).unwrap_or(end).to_owned();
    turn.writes_header = writes_header(prober, settings, &turn);
    turn.next = next_message(prober, &Answer::content(needle::CONTENT), needle::CONTENT).unwrap_or_default();
    Some(turn)
}

fn shows_results(prober: &Prober, setting: &Setting) -> bool {
    prober.render(&after_tool(), setting, true).is_some_and(|prompt| prompt.contains(needle::RESULT))
}

/// Whether an answer holds the header itself: after a prompt that did not write it, or before a call beside content.
fn writes_header(prober: &mut Prober, settings: &[Setting], turn: &Turn) -> bool {
    let mark = turn.header().trim();
    let content = Answer::content(needle::CONTENT);
    let both = Answer { calls: vec![call(0, 1)], ..content.clone() };
    let user = vec![Message::User(needle::USER.to_owned())];
    // The prompt and the whole turn must be offered the same tools.
    prober.offered = Some(tools(prober.manner));
    let written = |setting: &Setting, history: &[Message], answer: &Answer, until: &str| {
        let prompt = prober.render(history, setting, true)?;
        let full = full(prober, history, answer, setting)?;
        Some(full.strip_prefix(&prompt)?.split(until).next()?.contains(mark))
    };
    let found = !mark.is_empty()
        && settings.iter().any(|setting| {
            written(setting, &after_tool(), &content, needle::CONTENT) == Some(true)
                || written(setting, &after_tool(), &both, needle::CONTENT) == Some(true)
                || written(setting, &user, &both, needle::NAMES[0]) == Some(true)
        });
    prober.offered = None;
    found
}

/// What stands between an answer and the user message after it.
fn next_message(prober: &Prober, answer: &Answer, last: &str) -> Option<String> {
    let messages = [
        Message::User(needle::USER.to_owned()),
        Message::Assistant(answer.clone()),
        Message::User(needle::LATER.to_owned()),
    ];
    let text = prober.render(&messages, &Setting::new(), false)?;
    let start = text.rfind(last)? + last.len();
    let end = text.rfind(needle::LATER)?;
    text.get(start..end).map(str::to_owned)
}

/// What stands between the end of a call, given what closes calls, and the result after it.
pub(super) fn before_result(prober: &Prober, close: &str) -> Option<String> {
    let text = prober.render(&after_tool(), &Setting::new(), false)?;
    let last = call(2, 1).arguments.values().next()?.as_str()?.to_owned();
    let start = text.rfind(&last)? + last.len();
    let end = text.rfind(needle::RESULT)?;
    let between = text.get(start..end)?;
    let at = between.find(close).map_or(0, |at| at + close.len());
    between.get(at..).map(str::to_owned)
}

impl Turn {
    /// Where every header ends in the same marks, those marks are the header.
    pub fn share_headers(&mut self) {
        let Some(first) = self.headers.first() else { return };
        let mut shared = first.text.clone();
        for header in &self.headers {
            shared = marks::shared_end(&shared, &header.text).to_owned();
        }
        let again = self.prompts.iter().any(|prompt| prompt.prefill.contains(shared.trim()));
        if marks::is_distinct(shared.trim()) && !again {
            for header in &mut self.headers {
                header.text.clone_from(&shared);
            }
        }
    }

    /// The header that stands after a user message.
    pub fn header(&self) -> &str {
        self.headers.first().map_or("", |header| header.text.as_str())
    }

    /// What a render of this answer shows after the header, after a user message.
    pub fn body(&self, prober: &Prober, answer: &Answer, setting: &Setting) -> Option<String> {
        self.body_after(prober, &[Message::User(needle::USER.to_owned())], answer, setting)
    }

    /// What a render of this answer shows after the header.
    pub fn body_after(
        &self,
        prober: &Prober,
        history: &[Message],
        answer: &Answer,
        setting: &Setting,
    ) -> Option<String> {
        let text = full(prober, history, answer, setting)?;
        let start = after_history(&text, first_needle(&text, answer).unwrap_or(text.len()));
        let rest = text.get(start..)?;
        let at = rest.find(self.header()).map_or(0, |at| at + self.header().len());
        let body = rest.get(at..)?;
        // Some templates open the next turn unasked.
        let last = last_needle(body, answer).unwrap_or(0);
        let end = body.get(last..)?.find(self.header().trim()).filter(|_| !self.header().trim().is_empty());
        body.get(..end.map_or(body.len(), |end| last + end)).map(str::to_owned)
    }
}

/// Where the last needle of the answer ends.
fn last_needle(body: &str, answer: &Answer) -> Option<usize> {
    let mut needles: Vec<&str> = answer.content.iter().chain(&answer.reasoning).map(String::as_str).collect();
    for call in &answer.calls {
        needles.push(&call.name);
        needles.extend(call.arguments.keys().map(String::as_str));
        needles.extend(call.arguments.values().filter_map(|value| value.as_str()));
    }
    needles.iter().filter(|needle| !needle.is_empty()).filter_map(|n| Some(body.rfind(n)? + n.len())).max()
}

/// Where the first needle of the answer stands, after the last one of the history.
fn first_needle(text: &str, answer: &Answer) -> Option<usize> {
    let user = text.rfind(needle::USER)?;
    let rest = text.get(user..)?;
    let mut needles: Vec<&str> = Vec::new();
    needles.extend(answer.content.as_deref());
    needles.extend(answer.reasoning.as_deref());
    needles.extend(answer.calls.iter().flat_map(|call| [call.name.as_str(), call.id.as_str()]));
    needles.iter().filter(|needle| !needle.is_empty()).filter_map(|needle| rest.find(needle)).min().map(|at| user + at)
}
