//! The open questions of a wire's structure: one small record, each choice with its alternatives, the cheapest first.

use crate::wire::marks;
use crate::wire::structure::{Calls, Cut, Wire};

/// One reading of a wire among those the format allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) struct Choices {
    /// Which cut of the calls.
    pub cut: usize,
    pub region: CallRegion,
    pub guard: Guard,
    pub space: Space,
    pub section: Section,
    pub stray: Stray,
    pub thought_end: ThoughtEnd,
    pub inside: Inside,
}

/// How a call without a mark of its own is known to follow another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Inside {
    /// By the end of the one before.
    #[default]
    Neighbor,
    /// By the mark of their section, too, with no end of it since.
    Section,
}

/// The content of one region of `tool_calls`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum CallRegion {
    /// The form that suits the body best.
    #[default]
    Natural,
    /// The arguments alone: the text before them is captured in the opening.
    Arguments,
    /// All of a call's object.
    Whole,
}

/// Whether a close needs what follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Guard {
    /// Only if the close could be mistaken for text.
    #[default]
    Weak,
    Always,
}

/// How exact white space around marks is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Space {
    #[default]
    Any,
    Exact,
}

/// Whether the mark of a section must come before the first call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Section {
    /// If the call's own mark would not be distinctive.
    #[default]
    Weak,
    Required,
}

/// Whether the closing mark of reasoning that nothing opened is left out of content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum Stray {
    /// If the template writes it.
    #[default]
    Seen,
    Swallowed,
}

/// How much of the text after reasoning closes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::derive) enum ThoughtEnd {
    #[default]
    Whole,
    FirstMark,
}

/// The subject of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::derive) enum Topic {
    Reasoning,
    Content,
    Calls,
}

impl Choices {
    /// The records that differ from this one in one choice about what failed.
    pub fn neighbors(&self, wire: &Wire, topics: &[Topic]) -> Vec<Choices> {
        let mut found = Vec::new();
        let cuts = wire.calls.as_ref().map_or(0, |calls| calls.cuts.len());
        if topics.contains(&Topic::Calls) || topics.contains(&Topic::Content) {
            found.extend([Guard::Always, Guard::Weak].map(|guard| Choices { guard, ..*self }));
            found.extend(
                [CallRegion::Arguments, CallRegion::Whole, CallRegion::Natural]
                    .map(|region| Choices { region, ..*self }),
            );
            found.push(Choices { space: Space::Exact, ..*self });
            found.push(Choices { section: Section::Required, ..*self });
            found.push(Choices { inside: Inside::Section, ..*self });
            found.extend((0..cuts).map(|cut| Choices { cut, ..*self }));
        }
        if topics.contains(&Topic::Reasoning) || topics.contains(&Topic::Content) {
            found.push(Choices { thought_end: ThoughtEnd::FirstMark, ..*self });
            found.push(Choices { stray: Stray::Swallowed, ..*self });
        }
        found.retain(|choices| choices != self);
        #[cfg(test)]
        found.retain(|choices| !crate::derive::ablation::leaves_out(choices));
        found
    }

    /// How far from the plainest reading this is.
    pub fn cost(&self) -> usize {
        let odd = [
            self.region != CallRegion::Natural,
            self.guard != Guard::Weak,
            self.space != Space::Any,
            self.section != Section::Weak,
            self.stray != Stray::Seen,
            self.thought_end != ThoughtEnd::Whole,
            self.inside != Inside::Neighbor,
        ];
        self.cut + odd.into_iter().filter(|odd| *odd).count() * 2
    }

    /// The chosen cut.
    pub fn cut<'w>(&self, calls: &'w Calls) -> &'w Cut {
        static NONE: Cut = Cut {
            section: String::new(),
            open: String::new(),
            close: String::new(),
            separator: String::new(),
            section_close: String::new(),
        };
        calls.cuts.get(self.cut).or(calls.cuts.first()).unwrap_or(&NONE)
    }

    /// The closing of reasoning.
    pub fn reasoning_close<'t>(&self, close: &'t str) -> &'t str {
        match self.thought_end {
            ThoughtEnd::Whole => close,
            ThoughtEnd::FirstMark => marks::first(close).unwrap_or(close),
        }
    }

    /// Whether content leaves out a stray closing mark.
    pub fn stray_close(&self, seen: bool) -> bool {
        seen || self.stray == Stray::Swallowed
    }
}
