//! The choices that a wire's structure leaves open, in one small record.

use std::sync::LazyLock;

use super::opens_with_prose;
use crate::wire::structure::{Calls, Cut, WireFormat};

/// One of the possible readings of a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) struct Choices {
    /// The index of the cut of calls.
    pub cut: usize,
    pub region: CallRegion,
    pub guard: Guard,
    /// Whether white space around marks is exactly that of renders.
    pub exact_space: bool,
    pub thought_start: ThoughtStart,
    /// Whether the mark of a section must come before the first call, even if the call's own mark is distinctive.
    pub needs_section: bool,
    /// Whether content leaves out a stray closing mark of reasoning even if the template never writes one.
    pub drops_stray: bool,
    pub thought_end: ThoughtEnd,
    /// Whether a call without its own mark must be inside an open section, in addition to following another call.
    pub inside_section: bool,
    /// Whether a call may begin and end only outside of the strings among the arguments of its section, in addition to being
    /// inside of it.
    pub outside_strings: bool,
    /// Whether a call without its own mark may begin after any content, not only at the start of the turn or after
    /// reasoning.
    pub after_content: bool,
    pub quotes: Quotes,
}

/// The content of one region of `tool_calls`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum CallRegion {
    /// The content that suits the body best.
    #[default]
    Natural,
    /// The arguments alone: the text before them is captured in the opening.
    Arguments,
    /// The arguments alone. The close of a call takes the beginning of the next one, up to the quote before its name, with
    /// which that one opens: neither needs to look around.
    Handed,
    /// All of a call's object.
    Whole,
    /// All calls: a list that only a parser of the newest releases reads. No failure leads to it; the search tries it last.
    List,
}

/// What text that prose may contain needs around it to open reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum ThoughtStart {
    /// The start of the turn, with any white space.
    #[default]
    Spaced,
    /// The white space of renders. Where nothing opens reasoning, the start of every turn.
    Exact,
    /// That, and the close of reasoning somewhere after it: answers begin with the same sign.
    Closed,
}

/// The text that closes reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum ThoughtEnd {
    /// All of the text between reasoning and the answer.
    #[default]
    Whole,
    /// Its first mark.
    FirstMark,
    /// All of it or, where no answer follows, its first mark: the others belong to the answer.
    WholeOrFirst,
    /// All of it or, at the end of the turn, the stop with which it begins: reasoning is a turn of its own.
    Turn,
}

/// Whether a close depends on the text around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Guard {
    /// On the text after it, if the close could be mistaken for text.
    #[default]
    Weak,
    /// On the text after it, always.
    Always,
    /// As `Weak`, and on the text before it: what ends an argument, or the head of a call without any.
    Behind,
}

/// How values in quotes are read, if they are written key by key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Quotes {
    /// Look-arounds find the quotes that belong to the value.
    #[default]
    Guarded,
    /// Only what follows a value is looked for, which readers without look-arounds accept.
    Plain,
    /// No value keeps its quotes; the schema of the tool tells its type.
    Untyped,
}

/// The subject of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::derive) enum Topic {
    Reasoning,
    Content,
    Calls,
}

impl Choices {
    /// The records that differ from this one in one choice about the failed parts.
    pub fn neighbors(&self, wire: &WireFormat, topics: &[Topic]) -> Vec<Choices> {
        let mut found = Vec::new();
        let cuts = wire.calls.as_ref().map_or(0, |calls| calls.cuts.len());
        if topics.contains(&Topic::Calls) || topics.contains(&Topic::Content) {
            // Prose that is taken for a delimiter may be taken for that of reasoning.
            if opens_with_prose(wire) {
                let starts = [ThoughtStart::Exact, ThoughtStart::Closed];
                found.extend(starts.map(|thought_start| Choices { thought_start, ..*self }));
            }
            let is_unopened = wire.reasoning.as_ref().is_some_and(|reasoning| reasoning.open.trim().is_empty());
            found.extend(is_unopened.then_some(Choices { thought_start: ThoughtStart::Exact, ..*self }));
            // Where a sign opens calls, the start of the line tells them from prose: tried before the guards.
            let at_lines = sign_begins_lines(wire, self);
            found.extend(at_lines.then_some(Choices { after_content: true, ..*self }));
            found.extend([Guard::Always, Guard::Behind, Guard::Weak].map(|guard| Choices { guard, ..*self }));
            found.extend(
                [CallRegion::Handed, CallRegion::Arguments, CallRegion::Whole, CallRegion::Natural]
                    .map(|region| Choices { region, ..*self }),
            );
            found.extend([
                Choices { exact_space: true, ..*self },
                Choices { needs_section: true, ..*self },
                Choices { inside_section: true, ..*self },
                Choices { quotes: Quotes::Plain, ..*self },
            ]);
            found.extend((!at_lines).then_some(Choices { after_content: true, ..*self }));
            let has_strings = wire.pairs().is_some_and(|pairs| pairs.values.has_escaped_quotes());
            found.extend(has_strings.then_some(Choices { outside_strings: true, ..*self }));
            // A text without quotes, in another form of arguments, looks like any JSON.
            let has_forms = wire.pairs().is_some_and(|pairs| pairs.forms.iter().any(|form| form.is_raw));
            found.extend(has_forms.then_some(Choices { quotes: Quotes::Untyped, ..*self }));
            found.extend((0..cuts).map(|cut| Choices { cut, ..*self }));
        }
        if topics.contains(&Topic::Reasoning) || topics.contains(&Topic::Content) {
            found.extend([ThoughtEnd::FirstMark, ThoughtEnd::Turn].map(|thought_end| Choices { thought_end, ..*self }));
            let has_several = wire.reasoning.as_ref().is_some_and(|reasoning| {
                let close = reasoning.close.trim();
                wire.segmentation.first(close).is_some_and(|first| first != close)
            });
            found.extend(has_several.then_some(Choices { thought_end: ThoughtEnd::WholeOrFirst, ..*self }));
            found.push(Choices { drops_stray: true, ..*self });
        }
        found.retain(|choices| choices != self);
        #[cfg(test)]
        found.retain(|choices| !crate::derive::ablation::leaves_out(choices));
        found
    }

    /// The distance from the simplest reading.
    pub fn cost(&self) -> usize {
        let odd = [
            self.region != CallRegion::Natural,
            self.guard != Guard::Weak,
            self.exact_space,
            self.thought_start != ThoughtStart::Spaced,
            self.needs_section,
            self.drops_stray,
            self.thought_end != ThoughtEnd::Whole,
            self.inside_section,
            self.outside_strings,
            self.after_content,
            self.quotes != Quotes::Guarded,
        ];
        // Of several ends of reasoning, the shortest one is the simplest.
        let is_long = matches!(self.thought_end, ThoughtEnd::WholeOrFirst | ThoughtEnd::Turn);
        self.cut + odd.into_iter().filter(|odd| *odd).count() * 2 + usize::from(is_long)
    }

    /// The chosen cut; the plainest if the index is out of range.
    pub fn cut<'w>(&self, calls: &'w Calls) -> &'w Cut {
        static NONE: LazyLock<Cut> = LazyLock::new(Cut::default);
        debug_assert!(!calls.cuts.is_empty(), "calls have at least one cut");
        calls.cuts.get(self.cut).or(calls.cuts.first()).unwrap_or(&NONE)
    }
}

/// Whether text that prose may contain opens calls, each at the start of a line.
fn sign_begins_lines(wire: &WireFormat, choices: &Choices) -> bool {
    let is_sign = |cut: &Cut| cut.begins_lines() && !wire.is_distinct(cut.open.trim());
    wire.calls.as_ref().is_some_and(|calls| is_sign(choices.cut(calls)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{cut, object_body, wire_with};

    #[test]
    fn only_the_plainest_choices_cost_nothing() {
        let mut wire = wire_with(["", "<call>", "</call>", "", ""], object_body());
        wire.calls.as_mut().unwrap().cuts.push(cut(["<call>", "", "", "", "</call>"]));
        let plain = Choices::default();
        assert_eq!(plain.cost(), 0);
        let neighbors = plain.neighbors(&wire, &[Topic::Content]);
        assert!(neighbors.iter().all(|choices| choices.cost() > 0 && *choices != plain), "{neighbors:?}");
        // A second cut is closer than any other choice.
        let cheapest = neighbors.iter().min_by_key(|choices| choices.cost()).unwrap();
        assert_eq!((cheapest.cut, cheapest.cost()), (1, 1));
    }

    #[test]
    fn only_choices_about_the_failure_are_varied() {
        let wire = wire_with(["", "<call>", "</call>", "", ""], object_body());
        let plain = Choices::default();
        let about = |topics: &[Topic]| plain.neighbors(&wire, topics);
        let is_about_thoughts = |choices: &Choices| choices.thought_end != ThoughtEnd::Whole || choices.drops_stray;
        assert_eq!(about(&[Topic::Reasoning]).len(), 3);
        assert!(about(&[Topic::Reasoning]).iter().all(is_about_thoughts));
        assert!(!about(&[Topic::Calls]).iter().any(is_about_thoughts));
        // Wrong content may be due to either.
        assert_eq!(about(&[Topic::Content]).len(), about(&[Topic::Reasoning]).len() + about(&[Topic::Calls]).len());
        assert_eq!(about(&[]), []);
    }

    #[test]
    fn a_choice_selects_the_cut() {
        let mut calls = wire_with(["", "<a>", "", "", ""], object_body()).calls.unwrap();
        calls.cuts.push(cut(["", "<b>", "", "", ""]));
        let open = |at| Choices { cut: at, ..Choices::default() }.cut(&calls).open.clone();
        assert_eq!([open(0), open(1), open(7)], ["<a>", "<b>", "<a>"]);
    }
}
