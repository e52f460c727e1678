//! Frames: what a template writes before and after a message of a role, from renders that differ by one message.

use super::said::{answer, system, user};
use crate::probe::needle;
use backchat_core::json::Value;
use backchat_core::text::slice;

/// How many characters the opening of a system message may have.
const MOST_OPENING: usize = 80;

/// Where the system message stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SystemFrame {
    /// Unknown, or without a turn of its own.
    #[default]
    Unknown,
    /// In a turn of its own.
    Turn { open: String, close: String },
    /// Inside the user's turn, joined to the user's text.
    Joined(String),
}

/// The frames of a template; all texts are empty if they could not be found.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Whether the frames of user and assistant are known.
    pub are_known: bool,
    pub user_open: String,
    pub user_close: String,
    pub answer_open: String,
    pub answer_close: String,
    /// The generation prompt, if it is appended.
    pub prompt: Option<String>,
    pub system: SystemFrame,
}

/// A text cut at needles, each of which it holds once, in this order.
fn cut<'x>(text: &'x str, needles: &[&str]) -> Option<Vec<&'x str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    for needle in needles {
        if text.matches(needle).count() != 1 {
            return None;
        }
        let (before, after) = rest.split_once(needle)?;
        parts.push(before);
        rest = after;
    }
    parts.push(rest);
    Some(parts)
}

/// Renders messages, with a prompt or without one.
type Render<'r> = &'r dyn Fn(Vec<Value>, bool) -> Option<String>;

impl Frames {
    /// The frames that renders show; `bos` is the BOS token.
    pub fn find(render: Render<'_>, bos: &str) -> Self {
        Self::of_turns(render)
            .map(|(mut frames, head)| {
                frames.system = frames.system_frame(render, bos, head.as_deref()).unwrap_or_default();
                frames
            })
            .unwrap_or_default()
    }

    /// The frames of user and assistant, and what stands before the first turn.
    fn of_turns(render: Render<'_>) -> Option<(Self, Option<String>)> {
        let messages = [user(needle::USER), answer(needle::CONTENT), user(needle::LATER)];
        let first = |count: usize| render(messages.iter().take(count).cloned().collect(), false);
        let (one, two, three) = (first(1)?, first(2)?, first(3)?);
        let (first, second) = (cut(&one, &[needle::USER])?, cut(&two, &[needle::USER, needle::CONTENT])?);
        let third = cut(&three, &[needle::USER, needle::CONTENT, needle::LATER])?;
        let ([head, user_close], [_, between, answer_close], [_, _, later, _]) =
            (first.as_slice(), second.as_slice(), third.as_slice())
        else {
            return None;
        };
        let answer_open = between.strip_prefix(user_close)?;
        let user_open = later.strip_prefix(answer_close)?;
        let asked = render(vec![user(needle::USER)], true);
        let frames = Self {
            are_known: !user_open.is_empty(),
            user_open: user_open.to_owned(),
            user_close: (*user_close).to_owned(),
            answer_open: answer_open.to_owned(),
            answer_close: (*answer_close).to_owned(),
            prompt: asked.and_then(|asked| asked.strip_prefix(one.as_str()).map(str::to_owned)),
            system: SystemFrame::Unknown,
        };
        Some((frames, head.strip_suffix(user_open).map(str::to_owned)))
    }

    fn system_frame(&self, render: Render<'_>, bos: &str, head: Option<&str>) -> Option<SystemFrame> {
        let text = render(vec![system(needle::SYSTEM), user(needle::USER)], false)?;
        let parts = cut(&text, &[needle::SYSTEM, needle::USER])?;
        let [before, between, after] = parts.as_slice() else { return None };
        if *after != self.user_close {
            return None;
        }
        let close = between.strip_suffix(self.user_open.as_str()).filter(|close| self.are_known && !close.is_empty());
        let Some(close) = close else {
            let is_joined = before.ends_with(&self.user_open);
            return is_joined.then(|| SystemFrame::Joined((*between).to_owned()));
        };
        let open = self.system_opening(before, head, bos);
        let is_turn = !open.trim().is_empty() && !close.trim().is_empty() && open.chars().count() < MOST_OPENING;
        is_turn.then(|| SystemFrame::Turn { open, close: close.to_owned() })
    }

    /// The opening of a system message, without what begins every render and without a preamble of the template's.
    fn system_opening(&self, before: &str, head: Option<&str>, bos: &str) -> String {
        let mut open = before;
        if !self.user_open.starts_with(bos) {
            open = open.strip_prefix(bos).unwrap_or(open);
        }
        let head = head.map(|head| head.strip_prefix(bos).unwrap_or(head));
        if let Some(head) = head {
            open = open.strip_prefix(head).unwrap_or(open);
        }
        let alike = self.user_open.replace("user", "system");
        // The same text may begin a render whose system message is the template's own.
        let begins_all = |opening: &str| head.is_some_and(|head| head.starts_with(opening));
        let is_its_own = open.starts_with(&alike) || open.strip_suffix(&alike).is_some_and(begins_all);
        if alike != self.user_open && is_its_own { alike } else { open.to_owned() }
    }

    pub fn system_turn(&self, text: &str) -> Option<String> {
        match &self.system {
            SystemFrame::Turn { open, close } => Some(format!("{open}{text}{close}")),
            _ => None,
        }
    }

    pub fn user_turn(&self, text: &str) -> String {
        format!("{}{text}{}", self.user_open, self.user_close)
    }

    pub fn answer_turn(&self, text: &str) -> String {
        format!("{}{text}{}", self.answer_open, self.answer_close)
    }

    /// The text that joins a system message to the user's.
    pub fn joint(&self) -> Option<&str> {
        match &self.system {
            SystemFrame::Joined(joint) => Some(joint),
            _ => None,
        }
    }

    /// A render without a user's turn, which it must hold once.
    pub fn without_user(&self, text: Option<String>, needle: &str) -> Option<String> {
        let (text, turn) = (text.filter(|_| self.are_known)?, self.user_turn(needle));
        (text.matches(&turn).count() == 1).then(|| text.replacen(&turn, "", 1))
    }

    /// A render with a text before the user's turn that has a needle.
    pub fn before_user(&self, text: Option<String>, needle: &str, inserted: &str) -> Option<String> {
        let text = text.filter(|text| self.are_known && text.matches(needle).count() == 1)?;
        let at = text.find(&format!("{}{needle}", self.user_open))?;
        Some(format!("{}{inserted}{}", slice(&text, ..at), slice(&text, at..)))
    }
}
