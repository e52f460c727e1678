//! Reasoning as renders show it, with its marks separated from those of content.

use super::super::shapes;
use super::super::structure::{Content, FoundBy, History, Prompt, Reasoning};
use super::super::trace::{SlotKind, Trace};
use super::Inference;
use backchat_core::text::slice;
use backchat_probe::probe::{Answer, ReasoningInput, Setting, needle};

/// Reasoning as renders show it, before the text around it is assigned.
pub(super) struct Thought {
    pub reasoning_inputs: Vec<ReasoningInput>,
    pub setting: Setting,
    /// The first distinctive mark after it.
    pub close: Option<String>,
}

impl Inference<'_, '_> {
    /// Finds the keys and blocks that carry reasoning: their text shows, but not under a key that no template reads.
    pub fn thought(&self, end: &str) -> Option<Thought> {
        let mut found: Vec<(ReasoningInput, Setting, Trace)> = Vec::new();
        for reasoning_input in &self.usage.reasoning_inputs {
            let shown = |reasoning_input: &ReasoningInput| {
                let prober = self.offering.with_reasoning(Some(reasoning_input));
                let turns = self.turns(&prober);
                self.usage.settings.iter().find_map(|setting| {
                    let traces = shapes::thoughts()
                        .into_iter()
                        .filter_map(|answer| turns.trace(History::User, &answer, setting));
                    Some((setting.clone(), traces.into_iter().find(|trace| trace.shows(SlotKind::Reasoning))?))
                })
            };
            if shown(&reasoning_input.unread()).is_some() {
                continue;
            }
            if let Some((setting, trace)) = shown(reasoning_input) {
                found.push((reasoning_input.clone(), setting, trace));
            }
        }
        // Text after the answer, or not separated from it, is not reasoning.
        found.retain(|(_, _, trace)| {
            trace.slots.first().is_some_and(|first| first.kind == SlotKind::Reasoning)
                && !between(trace).trim().is_empty()
        });
        found.sort_by_key(|(reasoning_input, ..)| !reasoning_input.is_named_for_reasoning());
        let (_, setting, best) = found.first()?;
        let first = between(best);
        let same = found.iter().filter(|(_, _, trace)| between(trace) == first);
        let marks = self.segmentation.marks(first);
        let close = marks.into_iter().find(|mark| self.segmentation.is_distinctive(mark) && !end.contains(mark));
        Some(Thought {
            reasoning_inputs: same.map(|(reasoning_input, ..)| reasoning_input.clone()).collect(),
            setting: setting.clone(),
            close: close.map(str::to_owned),
        })
    }

    /// A turn with a thought before this answer, if its render shows the thought.
    fn thinking(&self, thought: &Thought, answer: Answer) -> Option<Trace> {
        let prober = self.offering.with_reasoning(thought.reasoning_inputs.first());
        let answer = answer.with_reasoning(needle::REASONING);
        let trace = self.turns(&prober).trace(History::User, &answer, &thought.setting)?;
        trace.shows(SlotKind::Reasoning).then_some(trace)
    }

    /// Separates the text around reasoning from the text around content. Where no trace shows a thought in its place,
    /// reasoning is what was found elsewhere, if anything.
    pub fn parts(
        &self,
        plain: &Trace,
        thought: Option<Thought>,
        mut elsewhere: Option<Reasoning>,
        prompts: &[Prompt],
        end: &str,
    ) -> (Option<Reasoning>, Content) {
        let lead = slice(plain.lead(), self.begin_of(plain, prompts)..);
        let mut content = Content { close: before_end(plain.tail(), end).to_owned(), ..Content::default() };
        let Some(thought) = thought else {
            let open = elsewhere.as_mut().map_or(lead.to_owned(), |guessed| without_guessed(guessed, lead));
            return (elsewhere, Content { open, ..content });
        };
        let calling = Answer { calls: shapes::calls(1), ..Answer::default() };
        let [both, beside] = [shapes::content(), calling].map(|answer| self.thinking(&thought, answer));
        let Some(shown) = both.as_ref().or(beside.as_ref()) else {
            return (None, Content { open: lead.to_owned(), ..content });
        };
        let open = slice(shown.lead(), self.begin_of(shown, prompts)..);
        let gap = between(shown);
        let mark = thought.close.as_deref().unwrap_or(gap.trim());
        let Borders { empty, opened, close, rest } = Borders::find(lead, open, mark, both.as_ref(), beside.as_ref());
        content.open = opened.to_owned();
        let mut answer_marks = Vec::new();
        if both.is_some() && !content.open.trim().is_empty() && !gap.contains(content.open.trim()) {
            // Only an answer without reasoning begins with this mark.
            answer_marks.push(std::mem::take(&mut content.open).trim().to_owned());
        }
        if let Some(both) = &both
            && empty.is_none()
            && content.open.trim().is_empty()
        {
            // What closes the answer then may have been opened by the mark that closes the thought.
            let tail = before_end(both.tail(), end);
            if !rest.is_empty() || tail.trim().len() > content.close.trim().len() {
                content.after_reasoning = Some((rest.to_owned(), tail.to_owned()));
            }
        }
        let prefill = if open.trim().is_empty() { prefilled(prompts, mark.trim()) } else { None };
        let (open, source) = match prefill {
            Some(prefill) => (prefill, FoundBy::OpenedByPrompt),
            None => (open.to_owned(), FoundBy::Rendered),
        };
        // Calls may follow without the closing mark.
        let lacks_close = |gap: &str| mark.is_empty() || !gap.contains(mark);
        let calls_close = !close.trim().is_empty() && beside.as_ref().map(between).is_some_and(lacks_close);
        let reasoning = Reasoning {
            open,
            calls_close,
            close: close.to_owned(),
            empty: empty.map(str::to_owned),
            reasoning_inputs: thought.reasoning_inputs,
            setting: thought.setting,
            source,
            answer_marks,
            ..Reasoning::default()
        };
        (Some(reasoning), content)
    }
}

/// The texts between the opening of a turn, reasoning and content.
struct Borders<'t> {
    /// Reasoning that the template writes empty.
    empty: Option<&'t str>,
    /// What opens content.
    opened: &'t str,
    /// What closes reasoning.
    close: &'t str,
    /// What follows its close before content and is neither.
    rest: &'t str,
}

impl<'t> Borders<'t> {
    /// Compares the lead of a turn without reasoning with a turn that has both reasoning and content, and one that has
    /// reasoning and calls. `open` and `mark` open and close reasoning.
    fn find(lead: &'t str, open: &str, mark: &str, both: Option<&'t Trace>, beside: Option<&'t Trace>) -> Self {
        let gap = both.or(beside).map_or("", between);
        let (empty, opened) = match emptied(lead, open.trim(), mark.trim()) {
            Some((empty, opened)) => (Some(empty), opened),
            None => (None, lead),
        };
        let (own, rest) = closed(gap, mark.trim());
        // Text that is only there before content belongs to content.
        let is_contents = both.is_some()
            && beside.is_some_and(|beside| !between(beside).contains(rest.trim()) && opened.trim().is_empty());
        match gap.strip_suffix(opened).filter(|_| both.is_some()) {
            Some(whole) if whole != own && !is_contents && (empty.is_none() || !opened.is_empty()) => {
                Self { empty, opened, close: whole, rest: "" }
            }
            _ => Self { empty, opened, close: own, rest },
        }
    }
}

/// The text before content without guessed reasoning. A template may write it empty, or open it without closing it, with
/// content inside.
fn without_guessed(guessed: &mut Reasoning, lead: &str) -> String {
    if let Some((empty, rest)) = emptied(lead, guessed.open.trim(), guessed.close.trim()) {
        guessed.empty = Some(empty.to_owned());
        return rest.to_owned();
    }
    let opened = lead.trim_start().strip_prefix(guessed.open.as_str());
    opened.map_or(lead, str::trim_start).to_owned()
}

/// The opening of reasoning that prompts write and renders lack: the shortest text before its closing mark.
fn prefilled(prompts: &[Prompt], mark: &str) -> Option<String> {
    let openings = prompts.iter().filter_map(|prompt| prompt.prefill.split(mark).next());
    openings.filter(|opening| !opening.trim().is_empty()).min_by_key(|opening| opening.len()).map(str::to_owned)
}

/// The empty reasoning at the start of a lead, and the text after it.
fn emptied<'l>(lead: &'l str, open: &str, mark: &str) -> Option<(&'l str, &'l str)> {
    let at = lead.find(mark).filter(|_| !mark.is_empty())?;
    let before = lead.get(..at)?.trim();
    // The mark may also begin the opening, as it begins each part.
    if !before.is_empty() && before != open || before.is_empty() && open.starts_with(mark) {
        return None;
    }
    let after = at + mark.len();
    let rest = lead.get(after..)?;
    Some(lead.split_at(after + rest.len() - rest.trim_start().len()))
}

/// The text after reasoning, split after the closing mark and its white space.
fn closed<'g>(gap: &'g str, mark: &str) -> (&'g str, &'g str) {
    let after = gap.find(mark).map_or(gap.len(), |at| at + mark.len());
    let rest = slice(gap, after..).trim_start();
    (slice(gap, ..gap.len() - rest.len()), rest)
}

/// The text between the last value of a turn and the end of the turn; empty if the turn has another end.
fn before_end<'t>(tail: &'t str, end: &str) -> &'t str {
    let before = tail.strip_suffix(end).unwrap_or("");
    // If the end is written twice, the first one ends the turn.
    let first = before.find(end).filter(|_| !end.trim().is_empty());
    slice(before, ..first.unwrap_or(before.len()))
}

/// The text between reasoning and the value after it.
fn between(trace: &Trace) -> &str {
    let mut slots = trace.slots.iter().skip_while(|slot| slot.kind != SlotKind::Reasoning);
    let gap = slots.next().zip(slots.next()).map(|(own, next)| trace.get(own.range.end..next.range.start));
    gap.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_reasoning_is_split_from_the_lead_with_its_white_space() {
        for (lead, expected) in [
            ("<think>\n</think>\n\n<answer>", Some(("<think>\n</think>\n\n", "<answer>"))),
            ("</think>", Some(("</think>", ""))),
            // Another mark comes first: the lead does not open reasoning.
            ("<answer></think>", None),
            ("<think>", None),
        ] {
            assert_eq!(emptied(lead, "<think>", "</think>"), expected, "{lead:?}");
        }
        assert_eq!(emptied("<think>", "<think>", ""), None);
        // Each part begins with the mark that follows reasoning, and reasoning does, too.
        assert_eq!(emptied("<|part|>answer", "<|part|>thought", "<|part|>"), None);
    }

    #[test]
    fn the_text_after_reasoning_is_split_after_the_closing_mark_and_its_white_space() {
        for (gap, expected) in [
            ("</think>\n\n<answer>", ("</think>\n\n", "<answer>")),
            ("\n</think>", ("\n</think>", "")),
            // Without the mark, all of it closes reasoning.
            ("<answer>", ("<answer>", "")),
        ] {
            assert_eq!(closed(gap, "</think>"), expected, "{gap:?}");
        }
    }
}
