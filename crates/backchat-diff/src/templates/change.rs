//! Changes: cases that share a piece, each with the smallest conversation, the hunks and the lines that print them.

use std::collections::HashMap;
use std::ops::Range;

use crate::compare::{Comparison, MASK, Minimal, NEW_REFUSES, OLD_REFUSES};
use crate::kinds::{Conversation, Dim, Kind, conversation};
use crate::pieces::{hunks, tokens};
use crate::search::Found;
use crate::side::{Outcome, Ready, Side};

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The text.
    Text,
    /// One of them refuses.
    Refusal,
    /// The generation blocks.
    Mask,
}

impl What {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            What::Text => "text",
            What::Refusal => "refusal",
            What::Mask => "mask",
        }
    }
}

/// The part of a prompt that a change is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// What every conversation prints.
    Prompt,
    /// The model's own turn.
    Turn,
    /// Earlier turns.
    History,
    /// System and developer messages.
    System,
    /// Tools that are offered.
    Tools,
    /// Tool results.
    Results,
}

impl Touched {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Touched::Prompt => "prompt",
            Touched::Turn => "turn",
            Touched::History => "history",
            Touched::System => "system",
            Touched::Tools => "tools",
            Touched::Results => "results",
        }
    }
}

/// A piece that differs, and the lines of each template that print it.
#[derive(Clone, Debug, PartialEq)]
pub struct LineHunk {
    /// Bytes of the old text.
    pub old: Range<usize>,
    /// Bytes of the new text.
    pub new: Range<usize>,
    /// 1-based lines of the old template.
    pub old_lines: Vec<usize>,
    /// 1-based lines of the new template.
    pub new_lines: Vec<usize>,
}

/// A conversation from which nothing can be taken.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) kind: Kind,
    /// Whether its values matter: the usual conversation of its kind does not differ like this.
    pub(crate) is_special: bool,
    /// The names of its dimensions.
    pub dims: Vec<String>,
    /// The conversation.
    pub conversation: Conversation,
    /// What each template makes of it.
    pub outcomes: [Outcome; 2],
}

/// A difference: cases that share a piece.
#[derive(Clone, Debug)]
pub struct Change {
    /// What differs.
    pub what: What,
    /// Whom it concerns, in words.
    pub summary: String,
    /// The parts of a prompt that it is in.
    pub touches: Vec<Touched>,
    /// The pieces of the first case.
    pub hunks: Vec<LineHunk>,
    /// The cases, the smallest first.
    pub cases: Vec<Case>,
}

/// A case, and the pieces that make it one.
struct Candidate {
    case: Case,
    pieces: Vec<usize>,
}

impl Candidate {
    fn is_refusal(&self) -> bool {
        self.case.outcomes.iter().any(|outcome| outcome.text().is_none())
    }
}

/// The changes of a comparison: cases of kinds, and those that a search found.
pub(super) fn changes(comparison: &Comparison<'_>, minimal: &[Minimal], found: Vec<Found>) -> Vec<Change> {
    let of_kind = |minimal: &Minimal| {
        let written = conversation(minimal.kind, &comparison.universe);
        let outcomes = comparison.outcomes(&written)?;
        let case = case(comparison, minimal.kind, written, outcomes);
        Some(Candidate { case, pieces: minimal.pieces.clone() })
    };
    let mut candidates: Vec<Candidate> = minimal.iter().filter_map(of_kind).collect();
    candidates.extend(found.into_iter().filter_map(|found| {
        let outcomes = comparison.outcomes(&found.conversation)?;
        let case = case(comparison, found.kind, found.conversation, outcomes);
        Some(Candidate { case: Case { is_special: true, ..case }, pieces: found.pieces })
    }));
    let mut changes: Vec<Change> =
        joined_by_date(grouped(candidates)).into_iter().filter_map(|group| change(comparison, group)).collect();
    changes.sort_by_cached_key(|change| change.cases.first().map(rank));
    changes
}

fn case(comparison: &Comparison<'_>, kind: Kind, conversation: Conversation, outcomes: [Outcome; 2]) -> Case {
    Case { kind, is_special: false, dims: comparison.universe.names(kind), conversation, outcomes }
}

/// Candidates that share a piece, together, in the order of their first ones.
fn grouped(candidates: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut group_of_piece: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for candidate in candidates {
        let mut own: Vec<usize> =
            candidate.pieces.iter().filter_map(|piece| group_of_piece.get(piece).copied()).collect();
        own.sort_unstable();
        own.dedup();
        let target = own.first().copied().unwrap_or(groups.len());
        if target == groups.len() {
            groups.push(Vec::new());
        }
        // Groups that it joins become one.
        let mut joined = Vec::new();
        for other in own.iter().skip(1) {
            joined.extend(groups.get_mut(*other).map(std::mem::take).unwrap_or_default());
            group_of_piece.values_mut().filter(|group| *group == other).for_each(|group| *group = target);
        }
        group_of_piece.extend(candidate.pieces.iter().map(|piece| (*piece, target)));
        if let Some(group) = groups.get_mut(target) {
            group.extend(joined);
            group.push(candidate);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Groups without those that only show an earlier one on another date.
fn joined_by_date(groups: Vec<Vec<Candidate>>) -> Vec<Vec<Candidate>> {
    let date_of = |group: &Vec<Candidate>| {
        let first = group.first()?.case.kind;
        let is_dated = group.iter().all(|candidate| {
            candidate.case.kind == first && candidate.case.conversation.now.is_some() && !candidate.is_refusal()
        });
        is_dated.then_some(first)
    };
    let mut joined: Vec<Vec<Candidate>> = Vec::new();
    for group in groups {
        let kind = date_of(&group);
        match joined.iter_mut().find(|other| kind.is_some() && date_of(other) == kind) {
            Some(other) => other.extend(group),
            None => joined.push(group),
        }
    }
    joined
}

/// Conversations that few clients send come after all others.
fn is_odd(kind: Kind) -> bool {
    kind.has_any(&[Dim::NoUser, Dim::FlatCall, Dim::FlatTools, Dim::OtherRole, Dim::AssistantFirst])
}

fn rank(case: &Case) -> (bool, usize, usize, Kind) {
    (is_odd(case.kind), case.kind.len(), case.conversation.messages().len(), case.kind)
}

fn change(comparison: &Comparison<'_>, group: Vec<Candidate>) -> Option<Change> {
    let piece = group.first()?.pieces.first().and_then(|piece| comparison.pieces.get(*piece))?;
    let what = match (piece.0.as_str(), piece.1.as_str()) {
        OLD_REFUSES | NEW_REFUSES => What::Refusal,
        MASK => What::Mask,
        _ => What::Text,
    };
    let mut cases: Vec<Case> = group.into_iter().map(|candidate| candidate.case).collect();
    cases.sort_by_cached_key(rank);
    let first = cases.first()?;
    let hunks = if what == What::Text { line_hunks(comparison, first) } else { Vec::new() };
    let mut touches: Vec<Touched> = cases.iter().map(|case| touched(case.kind)).collect();
    touches.sort_unstable();
    touches.dedup();
    Some(Change { what, summary: String::new(), touches, hunks, cases })
}

/// The part that a kind is about: its dimensions are needed, all of them.
fn touched(kind: Kind) -> Touched {
    let history = [Dim::LaterUser, Dim::SecondAnswer, Dim::ThirdTurn, Dim::AfterResult, Dim::AssistantFirst];
    match () {
        () if kind.has_any(&history) => Touched::History,
        () if kind.has(Dim::Result) => Touched::Results,
        () if kind.has(Dim::Answer) => Touched::Turn,
        () if kind.has_any(&[Dim::System, Dim::Developer, Dim::LateSystem]) => Touched::System,
        () if kind.has_any(&[Dim::Tools, Dim::EmptyTools]) => Touched::Tools,
        () => Touched::Prompt,
    }
}

/// The pieces of a case, and the lines that print them.
fn line_hunks(comparison: &Comparison<'_>, case: &Case) -> Vec<LineHunk> {
    let [Some(old), Some(new)] = [case.outcomes[0].text(), case.outcomes[1].text()] else { return Vec::new() };
    let Some(ready) = Ready::new(&case.conversation, &comparison.universe.clock) else { return Vec::new() };
    let places = [old, new].map(|text| {
        let mut at = 0;
        let mut places: Vec<usize> = Vec::new();
        for token in tokens(text) {
            places.push(at);
            at += token.len();
        }
        places.push(at);
        places
    });
    // Tokens may begin or end alike.
    let start = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - start;
    let end = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(one, other)| one == other).count();
    let origins = comparison.sides.map(|side| Lines::new(side, &ready));
    let mut found = Vec::new();
    for hunk in hunks(&tokens(old), &tokens(new)) {
        let range = |side: usize, (from, to): (usize, usize), text: &str| {
            let place = |at: usize| places.get(side).and_then(|places| places.get(at)).copied().unwrap_or(text.len());
            let (from, to) = (place(from).max(start), place(to).min(text.len() - end));
            boundary(text, from)..boundary(text, to.max(from))
        };
        let (old_range, new_range) = (range(0, hunk.old, old), range(1, hunk.new, new));
        let [old_lines, new_lines] = [origins[0].of(&old_range), origins[1].of(&new_range)];
        found.push(LineHunk { old: old_range, new: new_range, old_lines, new_lines });
    }
    found
}

/// The last boundary of a character up to here.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Which line of a template printed which bytes.
struct Lines(Vec<(Range<usize>, usize)>);

impl Lines {
    fn new(side: &Side, ready: &Ready<'_>) -> Self {
        let breaks: Vec<usize> = side.template.source().match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| breaks.partition_point(|end| *end < at) + 1;
        let origins = side.traced(ready).map(|rendered| rendered.origins).unwrap_or_default();
        Self(origins.into_iter().map(|origin| (origin.text, line(origin.source.start))).collect())
    }

    fn of(&self, range: &Range<usize>) -> Vec<usize> {
        let mut lines: Vec<usize> = self
            .0
            .iter()
            .filter(|(text, _)| text.start < range.end && range.start < text.end)
            .map(|(_, line)| *line)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}
