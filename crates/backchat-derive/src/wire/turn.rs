//! The turn: the header and prefill that prompts write, and the marks that end it.

use super::align;
use super::marks::Segmentation;
use super::printed::Printed;
use super::shapes;
use super::structure::{History, Prompt};
use super::trace::{SlotKind, Trace};
use backchat_core::text::{common_start, overlap, slice};
use backchat_probe::probe::{Answer, Message, Prober, Setting, needle, steady};

/// Renders turns, and splits them into marks in one way.
#[derive(Clone, Copy)]
pub(crate) struct Turns<'p, 't> {
    pub prober: &'p Prober<'t>,
    pub segmentation: Segmentation,
    /// The text that renders write after every turn: traces leave it out.
    pub trailing: &'p [String],
}

/// How to compare the end of a prompt with the beginning of a turn, the plainest way first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Character by character: a turn begins with the header that the prompt ends with.
    #[default]
    Exact,
    /// By the last marks that both share, with any white space and other text around them.
    Aligned,
}

/// The text before the first value in renders of whole turns.
#[derive(Default)]
pub(crate) struct Leads {
    pub all: Vec<String>,
    /// The same before reasoning.
    pub thought: Option<String>,
}

/// The end of a prompt, after the history.
struct PromptEnd {
    tail: String,
    /// Where the generation prompt begins in it.
    begin: usize,
    /// The text around a user message, and before the generation prompt.
    others: String,
}

impl Turns<'_, '_> {
    /// A render of an answer after a history, from the end of the history on.
    pub(crate) fn trace(&self, after: History, answer: &Answer, setting: &Setting) -> Option<Trace> {
        let text = self.prober.render(&shapes::conversation(after, answer), setting, false)?;
        let prompt = self.prober.render(&shapes::history(after), setting, true);
        let turn = after.turn(&text, prompt.as_deref())?;
        let turn = slice(turn, self.closing(after, setting, turn).unwrap_or(0)..);
        let own = self.trailing.iter().find_map(|trailing| turn.trim_end().strip_suffix(trailing.as_str()));
        let mut trace = Trace::new(own.unwrap_or(turn), answer);
        for kind in [SlotKind::Content, SlotKind::Reasoning] {
            // A sign that the template adds to a text without one is no part of the marks after the text.
            if let Some((sign, ended)) = trace.with_sign_after(kind, answer)
                && self.prober.render(&shapes::conversation(after, &ended), setting, false).as_ref() == Some(&text)
            {
                trace.extend(kind, sign);
            }
        }
        Some(trace)
    }

    /// The length of the marks before a turn that end the last message of the history. A template may close the message
    /// before a prompt differently from an earlier one: those marks are not in the prompt, and any message may follow
    /// them.
    fn closing(&self, after: History, setting: &Setting, turn: &str) -> Option<usize> {
        let history = shapes::history(after);
        let prompt = self.prober.render(&history, setting, true)?;
        let tail = after.rest(&prompt)?;
        if tail.trim().is_empty() || !self.segmentation.shared_start(tail, turn).trim().is_empty() {
            return None;
        }
        let between = self.before_user(history, after.last_needle(), setting)?;
        let closing = self.segmentation.shared_start(turn, &between);
        // Marks that begin every message also begin the first one.
        let first = prompt.split(needle::BEGINNINGS[0]).next()?;
        (self.segmentation.is_distinctive(closing) && !first.contains(closing.trim())).then_some(closing.len())
    }

    /// The text between the end of messages and a user message after them.
    fn before_user(&self, mut messages: Vec<Message>, last: &str, setting: &Setting) -> Option<String> {
        messages.push(Message::User(needle::LATER.to_owned()));
        let text = self.prober.render(&messages, setting, false)?;
        let (between, _) = text.rsplit_once(last)?.1.split_once(needle::LATER)?;
        Some(between.to_owned())
    }

    /// Finds how prompts end. `close` is the mark that closes reasoning, if renders show it.
    pub(crate) fn prompts(
        &self,
        settings: &[Setting],
        leads: impl Fn(&Self, History, &Setting) -> Leads,
        close: Option<&str>,
        comparison: Comparison,
    ) -> Vec<Prompt> {
        let mut prompts: Vec<Prompt> = Vec::new();
        let last_only = close.and_then(|_| self.last_only());
        for after in History::ALL {
            for setting in settings {
                let leads = leads(self, after, setting);
                let found = match comparison {
                    Comparison::Exact => self.prompt(after, setting, &leads, close, last_only.as_deref()),
                    Comparison::Aligned => self.aligned_prompt(after, setting, &leads, close),
                };
                let Some(found) = found else { continue };
                if !prompts.iter().any(|known| Prompt { setting: found.setting.clone(), ..known.clone() } == found) {
                    prompts.push(found);
                }
            }
        }
        if close.is_some() {
            self.begin_where_shorter_prompts_end(&mut prompts, leads);
        }
        prompts
    }

    /// Moves marks from a header to the prefill, such as those of reasoning, if another prompt ends before them and the turns
    /// behind that one begin with them, too, as with the marks of empty reasoning.
    fn begin_where_shorter_prompts_end(
        &self,
        prompts: &mut [Prompt],
        leads: impl Fn(&Self, History, &Setting) -> Leads,
    ) {
        let known = prompts.to_vec();
        for prompt in prompts.iter_mut().filter(|prompt| prompt.prefill.is_empty() && !prompt.header_in_prompt_only) {
            let whole = format!("{}{}", prompt.before, prompt.header);
            let begin_alike = |other: &&Prompt| {
                let Leads { all, thought } = leads(self, other.after, &other.setting);
                all.iter().chain(&thought).all(|lead| lead.starts_with(&whole))
            };
            let alike = known.iter().filter(|other| other.after == prompt.after && other.before == prompt.before);
            let shorter = alike.filter(|other| other.prefill.is_empty() && !other.header.trim().is_empty());
            let more = |other: &Prompt| prompt.header.strip_prefix(&other.header).map(str::to_owned);
            let is_mark = |other: &&Prompt| more(other).is_some_and(|more| self.segmentation.is_distinctive(&more));
            let shortest = shorter.filter(is_mark).filter(begin_alike).min_by_key(|other| other.header.len());
            if let Some(more) = shortest.and_then(more) {
                prompt.header.truncate(prompt.header.len() - more.len());
                prompt.prefill = more;
            }
        }
    }

    /// The same end of a prompt whose header also has the value of a variable inside, which is printed if it is set. A value
    /// in quotes is JSON, so that another one may have no quotes.
    pub(crate) fn with_value(&self, prompt: &Prompt, printed: &Printed) -> Option<Prompt> {
        let mut setting = prompt.setting.clone();
        setting.extend(printed.setting(needle::SETTING));
        let text = self.prober.render(&shapes::history(prompt.after), &setting, true)?;
        let header = prompt.after.rest(&text)?.strip_prefix(&prompt.before)?.strip_suffix(&prompt.prefill)?;
        let value = steady::VALUE.to_string();
        let shown = header.replace(&format!("\"{}\"", needle::SETTING), &value).replace(needle::SETTING, &value);
        let shared = common_start(&prompt.header, &shown).len();
        let rest = slice(&prompt.header, shared..);
        let is_inside = shared > 0 && !rest.is_empty() && shown.ends_with(rest);
        (is_inside && shown != header).then(|| Prompt { setting, header: shown, ..prompt.clone() })
    }

    /// The text of a prompt that no turn in the middle of a conversation begins with.
    fn last_only(&self) -> Option<String> {
        let mut earlier = shapes::conversation(History::User, &shapes::content());
        earlier.push(Message::User(needle::LATER.to_owned()));
        let text = self.prober.render(&earlier, &Setting::new(), false)?;
        let (lead, _) = text.split_once(needle::USER)?.1.split_once(needle::CONTENT)?;
        let prompt = self.prober.render(&shapes::history(History::User), &Setting::new(), true)?;
        let written = History::User.rest(&prompt)?.strip_prefix(lead)?;
        (!lead.trim().is_empty() && !written.trim().is_empty()).then(|| written.to_owned())
    }

    fn prompt_end(&self, after: History, setting: &Setting) -> Option<PromptEnd> {
        let history = shapes::history(after);
        let text = self.prober.render(&history, setting, true)?;
        let tail = after.rest(&text)?;
        let start = text.len() - tail.len();
        let bare = self.prober.render(&history, setting, false);
        let bare = bare.filter(|bare| bare.len() < text.len() && text.starts_with(bare.as_str()));
        let generated = bare.and_then(|bare| bare.len().checked_sub(start));
        let begin = generated.unwrap_or_else(|| self.end_of_turn(after, tail));
        let answered = shapes::conversation(History::User, &shapes::content());
        let between = self.before_user(answered, needle::CONTENT, setting);
        let others = [between.as_deref().unwrap_or_default(), slice(tail, ..begin)].concat();
        Some(PromptEnd { tail: tail.to_owned(), begin, others })
    }

    /// The prompt whose header is the last range that its end shares with the beginning of a turn. One kind of turn that
    /// begins differently does not matter.
    fn aligned_prompt(&self, after: History, setting: &Setting, leads: &Leads, close: Option<&str>) -> Option<Prompt> {
        let PromptEnd { tail, begin, others } = self.prompt_end(after, setting)?;
        let shared = leads.all.iter().chain(&leads.thought).filter_map(|lead| {
            let (own, _) = align::last_shared(self.segmentation, &tail, lead)?;
            (own.end > begin).then_some(own)
        });
        let shared = shared.min_by_key(|own| own.end);
        // White space around the header in the prompt is part of the header.
        let header = shared.clone().map_or(begin..tail.len(), |own| {
            let space = |text: &str| text.len() - text.trim_start().len();
            let before = slice(&tail, begin..own.start.max(begin));
            let start = own.start.max(begin) - (before.len() - before.trim_end().len());
            start..own.end + space(slice(&tail, own.end..))
        });
        // The opening of reasoning that every turn shows is not part of the header.
        let own = slice(&tail, header.clone());
        let thought = close.and_then(|close| mark_about(self.segmentation, own, close, &others));
        let header = header.start..thought.map_or(header.end, |at| header.start + at);
        Some(Prompt {
            after,
            setting: setting.clone(),
            before: slice(&tail, ..header.start).to_owned(),
            header: slice(&tail, header.clone()).to_owned(),
            prefill: slice(&tail, header.end..).to_owned(),
            header_in_prompt_only: shared.is_none(),
        })
    }

    fn prompt(
        &self,
        after: History,
        setting: &Setting,
        leads: &Leads,
        close: Option<&str>,
        last_only: Option<&str>,
    ) -> Option<Prompt> {
        let PromptEnd { tail, begin, others } = self.prompt_end(after, setting)?;
        let tail = tail.as_str();
        let shared = leads.all.iter().chain(&leads.thought).fold(tail, |shared, lead| match lead.starts_with(shared) {
            true => shared,
            false => self.segmentation.shared_start(shared, lead),
        });
        let (before, own) = (slice(tail, ..begin), slice(tail, begin..));
        let mut cut = tail.len();
        let surplus = slice(tail, shared.len()..);
        // Renders may show the marker that opens reasoning. If not, it is in the text that they share with the prompt.
        let open = leads.thought.as_ref().and_then(|lead| lead.get(shared.len()..)).map_or("", str::trim);
        let thought = match self.segmentation.first(open) {
            Some(first) if surplus.trim_start().starts_with(first) => Some(shared.len()),
            Some(_) => close
                .and_then(|close| mark_about(self.segmentation, surplus, close, &others))
                .map(|at| shared.len() + at),
            None => close
                .and_then(|close| mark_about(self.segmentation, own, close, &others))
                .map(|at| begin + at)
                // Or it is in the text that only the last turn begins with.
                .or_else(|| Some(tail.strip_suffix(last_only.filter(|_| surplus.is_empty())?)?.len())),
        };
        let mut header_in_prompt_only = false;
        // A prompt may begin the call that it asks for.
        let call = self.segmentation.first(surplus).filter(|mark| self.segmentation.is_distinctive(mark));
        let begins = |lead: &String| {
            let own = slice(lead, shared.len()..).trim_start();
            call.is_some_and(|mark| own.starts_with(mark)) || names_after(surplus.trim_start(), own)
        };
        if let Some(at) = thought {
            cut = at;
        } else if shared.len() > begin && leads.all.iter().any(begins) {
            cut = shared.len();
        } else if !surplus.trim().is_empty() {
            // Text that renders lack is the header if they have none, or else part of the turn.
            header_in_prompt_only = close.is_some() || shared.len() <= begin;
            if !header_in_prompt_only {
                cut = shared.len();
            }
        }
        if !header_in_prompt_only && shared.len() < cut.min(tail.len()) {
            header_in_prompt_only = shared.len() <= begin && cut > begin;
        }
        Some(Prompt {
            after,
            setting: setting.clone(),
            header: tail.get(begin.min(cut)..cut)?.to_owned(),
            prefill: tail.get(cut..)?.to_owned(),
            before: slice(before, ..begin.min(cut)).to_owned(),
            header_in_prompt_only,
        })
    }

    /// How much of the text after a history ends its last message, if renders do not show where the generation prompt
    /// begins: as much as also comes before a user message.
    fn end_of_turn(&self, after: History, tail: &str) -> usize {
        let between = self.before_user(shapes::history(after), after.last_needle(), &Setting::new());
        between.map_or(0, |between| self.segmentation.shared_start(tail, &between).len())
    }

    /// The text before the first value of a turn that the prompt has not written; `None` if there is none or they begin
    /// differently. A prompt may continue after the header.
    pub(crate) fn own_lead(
        &self,
        after: History,
        answer: &Answer,
        setting: &Setting,
        prompts: &[Prompt],
    ) -> Option<String> {
        let PromptEnd { tail, .. } = self.prompt_end(after, setting)?;
        let trace = self.trace(after, answer, setting)?;
        let after_header = |prompt: &Prompt| {
            tail.contains(&[prompt.before.as_str(), &prompt.header].concat()).then_some(())?;
            match prompt.header.trim_end() {
                header if header.is_empty() || prompt.header_in_prompt_only => {
                    let own = trace.lead().strip_prefix(prompt.before.trim_end())?.trim_start();
                    Some(slice(own, overlap(&tail, own)..))
                }
                header => Some(trace.lead().rsplit_once(header)?.1),
            }
        };
        let own = trace.lead().strip_prefix(tail.as_str()).or_else(|| prompts.iter().find_map(after_header))?;
        let own = own.trim_start();
        (!own.is_empty() && !tail.contains(own)).then(|| own.to_owned())
    }

    /// The text after content that ends a turn under a setting: as much as also comes before another turn.
    pub(crate) fn end(&self, tail: &str, setting: &Setting) -> String {
        let turn = shapes::conversation(History::User, &shapes::content());
        match self.before_user(turn, needle::CONTENT, setting) {
            Some(between) if !between.starts_with(tail) => {
                let shared = self.segmentation.shared_start(tail, &between);
                // A turn in the middle may end differently from the last one.
                if shared.trim().is_empty() { tail.to_owned() } else { shared.to_owned() }
            }
            _ => tail.to_owned(),
        }
    }

    /// The first mark after a turn without an end of its own.
    pub(crate) fn next_mark(&self, answer: &Answer, setting: &Setting) -> Option<String> {
        let own = self.trace(History::User, answer, setting)?;
        let tail = self.followed(answer, &own, setting)?;
        self.first_other(&tail, own.tail()).map(str::to_owned)
    }

    /// The mark with which a turn ends if another message follows and the end of the last turn does not come. `is_over` tells
    /// of the text before the mark whether the turn has ended there.
    pub(crate) fn other_end(
        &self,
        answer: &Answer,
        setting: &Setting,
        is_over: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let own = self.trace(History::User, answer, setting)?;
        let tail = self.followed(answer, &own, setting)?;
        self.first_other(own.tail(), &tail)?;
        let whole = self.first_other(&tail, own.tail())?.trim();
        // What follows may name the call that it answers.
        let named = needle::BEGINNINGS.iter().filter_map(|beginning| whole.find(beginning)).min();
        let mark = slice(whole, ..named.unwrap_or(whole.len()));
        let before = tail.split(whole).next()?;
        let values = own.slots.first().map_or("", |slot| own.rest(slot.range.start));
        let is_new = self.segmentation.is_distinctive(mark) && !values.contains(mark);
        (is_new && !is_over(before)).then(|| mark.to_owned())
    }

    /// The text between the last value of a turn and that of the next message: a result after calls, otherwise a question.
    /// `own` is the turn as the last one.
    fn followed(&self, answer: &Answer, own: &Trace, setting: &Setting) -> Option<String> {
        let mut messages = shapes::conversation(History::User, answer);
        let last = match answer.calls.first() {
            Some(call) => {
                let (id, name) = (call.id.clone(), call.name.clone());
                messages.push(Message::Tool { id, name, content: needle::RESULT.to_owned() });
                needle::RESULT
            }
            None => {
                messages.push(Message::User(needle::LATER.to_owned()));
                needle::LATER
            }
        };
        let text = self.prober.render(&messages, setting, false)?;
        let turn = History::User.rest(&text)?;
        let values = slice(&own.text, ..own.text.len() - own.tail().len());
        // A result may repeat what it answers.
        let tail = match turn.find(values) {
            Some(at) => slice(turn, at + values.len()..).to_owned(),
            None => Trace::new(turn, answer).tail().to_owned(),
        };
        tail.split(last).next().map(str::to_owned)
    }

    /// The first distinctive mark of a text after what it shares with another, such as the marks that close a call.
    fn first_other<'a>(&self, text: &'a str, other: &str) -> Option<&'a str> {
        let rest = text.get(self.segmentation.shared_start(text, other).len()..)?;
        self.segmentation.marks(rest).into_iter().find(|mark| self.segmentation.is_distinctive(mark))
    }
}

/// Whether a text begins with the opening of a call and continues with the value of a variable, which is the name in its mark.
fn names_after(text: &str, opening: &str) -> bool {
    let is_value = |rest: &str| rest.starts_with(needle::SETTING) || rest.starts_with(steady::is_varying_word);
    !opening.is_empty() && text.strip_prefix(opening).is_some_and(is_value)
}

/// The position of the first mark of a text that shares a word with `other` but is not among the marks of `others`.
fn mark_about(segmentation: Segmentation, text: &str, other: &str, others: &str) -> Option<usize> {
    let known = segmentation.marks(others);
    let is_own = |mark: &str| segmentation.is_distinctive(mark) && !known.contains(&mark);
    let is_about = |mark: &str| is_own(mark) && segmentation.share_a_word(mark, other, others);
    segmentation.placed(text).find(|(_, mark)| is_about(mark)).map(|(place, _)| place.start)
}

#[cfg(test)]
mod tests;
