//! Conversations for branches that no conversation took: values are put into those that came near, until every branch of
//! both templates was taken on both sides or the bound is met.

mod applied;
mod by_edit;
mod candidates;
mod edits;
mod rich;
mod shrink;
mod taken;

use std::collections::HashSet;
use std::ops::Range;

use crate::compare::{Comparison, Minimal};
use crate::kinds::{Conversation, Kind, STANDARD, conversation, is_well_formed, kind_of, near_kinds};
use crate::pieces::tokens;
use crate::side::{Outcome, Ready};
use applied::Applied;
use backchat_core::json::Value;
use backchat_probe::diff::{DiffTag, operations};
use candidates::ParsedSource;
use taken::{Goal, Taken};

pub use applied::Idle;
pub use taken::{Coverage, Untaken};

/// How many conversations are tried for the branches that the edit touches, and for all others.
const MOST_TRIES: [usize; 2] = [500, 150];

/// How many are tried for either if the edit rewrites a template.
const REWRITTEN: usize = 120;

/// How many rounds of goals are tried: a branch that was taken shows the conditions within it.
const ROUNDS: usize = 4;

/// How many conversations are tried for one goal of the edit, and for one of the others.
const MOST_PER_GOAL: [usize; 2] = [60, 12];

/// How many are tried for what the edit mentions, and for what its expressions read.
const MOST_OF_EDIT: usize = 240;

/// How many with values that every filter changes are tried.
const MOST_RICH: usize = 800;

/// How many conversations that came near are changed for one goal.
const MOST_WITNESSES: usize = 3;

/// What the conversations for a goal cost that are made and not rendered, in steps of the evaluator.
const STEPS_PER_GOAL: usize = 2_000;

/// A conversation that differs, with pieces that no kind explains.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) conversation: Conversation,
    pub(crate) pieces: Vec<usize>,
}

/// How many conversations may still be tried, and the groups of them that showed a difference.
struct Tries {
    left: usize,
    shown: HashSet<usize>,
}

/// The branches that conversations took, and those that differ beyond all kinds.
pub(crate) struct Search {
    sides: [Taken; 2],
    applied: [Applied; 2],
    /// Which bytes of each source the edit touches.
    edited: [Vec<Range<usize>>; 2],
    conversations: Vec<Conversation>,
    tried: HashSet<String>,
    found: Vec<Found>,
    sources: [ParsedSource; 2],
}

impl Search {
    pub(crate) fn new(comparison: &Comparison<'_>) -> Self {
        let sources = comparison.sides.map(|side| side.template.source());
        Self {
            sides: sources.map(Taken::new),
            applied: Default::default(),
            edited: edited(sources),
            conversations: Vec::new(),
            tried: HashSet::new(),
            found: Vec::new(),
            sources: sources.map(ParsedSource::new),
        }
    }

    /// Records the branches of some kinds, and looks for conversations that take the others. `minimal` are the kinds
    /// that explain pieces.
    pub(crate) fn run(&mut self, comparison: &mut Comparison<'_>, minimal: &[Minimal], is_proved: bool) -> Vec<Found> {
        for kind in near_kinds(&comparison.universe) {
            if backchat_chat::ended().is_some() {
                return Vec::new();
            }
            let written = conversation(kind, &comparison.universe);
            self.record(comparison, written);
        }
        let mut tries = if self.is_rewritten() { [REWRITTEN; 2] } else { MOST_TRIES };
        for _ in 0..if is_proved { 0 } else { ROUNDS } {
            let before = self.conversations.len();
            for is_edited in [true, false] {
                self.round(comparison, minimal, is_edited, &mut tries);
            }
            if self.conversations.len() == before || backchat_chat::ended().is_some() {
                break;
            }
        }
        if !is_proved && !self.is_rewritten() {
            self.try_edit(comparison, minimal);
        }
        if !is_proved {
            self.try_rich(comparison, minimal);
        }
        std::mem::take(&mut self.found)
    }

    /// Tries conversations that hold what the edit mentions: no branch asks for the argument of a filter.
    fn try_edit(&mut self, comparison: &mut Comparison<'_>, minimal: &[Minimal]) {
        let variables = comparison.sides.iter().flat_map(|side| side.template.variables()).map(String::as_str);
        let variables: Vec<&str> = variables.filter(|name| !STANDARD.contains(name)).collect();
        let edit = by_edit::Edit::new(&self.sources, &self.edited, &variables);
        // One conversation for each text, key and number is enough: others only show it elsewhere.
        let known: Vec<Value> = self.found.iter().map(|found| found.conversation.context.clone().into()).collect();
        let is_known = |text: &&String| known.iter().any(|context| context.to_string().contains(text.as_str()));
        let shown = edit.words().enumerate().filter(|(_, text)| is_known(text)).map(|(place, _)| place).collect();
        let mut held = Tries { left: MOST_OF_EDIT, shown };
        let mut read = Tries { left: MOST_OF_EDIT, shown: HashSet::new() };
        for base in rendered(comparison, &by_edit::bases()) {
            self.try_each(comparison, minimal, edit.holding(&base, held.left), &mut held);
            self.try_each(comparison, minimal, edit.reading(&base), &mut read);
        }
    }

    /// Tries values that every filter changes, if nothing differs so far or an edited filter has changed nothing. What
    /// differs beside known changes counts if such a filter has changed it: else it is a known change of another value.
    fn try_rich(&mut self, comparison: &mut Comparison<'_>, minimal: &[Minimal]) {
        let is_same = minimal.is_empty() && self.found.is_empty();
        let mut idle = self.idle_count();
        if !is_same && (idle == 0 || self.is_rewritten()) {
            return;
        }
        let mut bases = rendered(comparison, &by_edit::bases());
        bases.sort_by_key(|base| kind_of(base, &mut comparison.universe).len());
        let (mut shown, mut seen): (HashSet<String>, HashSet<String>) = Default::default();
        let mut all: Vec<rich::Rich> = bases.iter().flat_map(rich::rich).collect();
        // These are for the verdict alone.
        if is_same {
            all.extend(rendered(comparison, &[rich::in_parts()]).iter().flat_map(rich::rich));
            all.extend(self.rich_operands());
        }
        for made in all.into_iter().take(MOST_RICH) {
            if shown.contains(&made.place) || !is_same && idle == 0 || backchat_chat::ended().is_some() {
                continue;
            }
            if !is_well_formed(&made.conversation)
                || !seen.insert(Value::Object(made.conversation.context.clone()).to_string())
            {
                continue;
            }
            self.record(comparison, made.conversation.clone());
            let before = std::mem::replace(&mut idle, self.idle_count());
            let found = self.found.len();
            if is_same || idle < before {
                self.attempt(comparison, minimal, made.conversation);
            }
            if self.found.len() > found {
                shown.insert(made.place);
            }
        }
    }

    /// Conversations in which what an idle filter took is rich.
    fn rich_operands(&self) -> Vec<rich::Rich> {
        let mut found = Vec::new();
        for ((applied, edited), source) in self.applied.iter().zip(&self.edited).zip(&self.sources) {
            for (witness, values) in applied.witnesses(edited, source) {
                let base = self.conversations.get(witness);
                found.extend(base.into_iter().flat_map(|base| rich::instead(base, &values)));
            }
        }
        found
    }

    fn idle_count(&self) -> usize {
        self.idle().iter().map(Vec::len).sum()
    }

    /// The filters, methods and slices that the edit touches and that changed nothing, on each side.
    pub(crate) fn idle(&self) -> [Vec<Idle>; 2] {
        let ([old, new], [of_old, of_new]) = (&self.applied, &self.edited);
        let [old_source, new_source] = &self.sources;
        [old.idle_within(of_old, old_source), new.idle_within(of_new, new_source)]
    }

    /// Tries conversations in groups, each until one of it shows a new difference.
    fn try_each(
        &mut self,
        comparison: &mut Comparison<'_>,
        minimal: &[Minimal],
        groups: Vec<Vec<Conversation>>,
        tries: &mut Tries,
    ) {
        for (place, made) in groups.into_iter().enumerate() {
            for made in made {
                if tries.left == 0 || tries.shown.contains(&place) {
                    break;
                }
                let before = self.found.len();
                tries.left -= usize::from(self.attempt(comparison, minimal, made));
                if self.found.len() > before {
                    tries.shown.insert(place);
                }
            }
        }
    }

    /// Whether the edit touches most of a template: then kinds show what differs, and goals are everywhere.
    fn is_rewritten(&self) -> bool {
        self.edited.iter().zip(&self.sources).any(|(ranges, source)| {
            let touched: usize = ranges.iter().map(|range| range.len()).sum();
            touched * 2 > source.len()
        })
    }

    /// Tries conversations for each goal once.
    fn round(&mut self, comparison: &mut Comparison<'_>, minimal: &[Minimal], is_edited: bool, tries: &mut [usize; 2]) {
        let place = usize::from(!is_edited);
        let limit = |limits: &[usize; 2]| limits.get(place).copied().unwrap_or(0);
        for side in [1, 0] {
            let Some(taken) = self.sides.get(side) else { continue };
            let edited = self.edited.get(side).cloned().unwrap_or_default();
            let goals: Vec<Goal> =
                taken.goals().into_iter().filter(|goal| taken.concerns(goal, &edited) == is_edited).collect();
            for goal in goals {
                let mut of_goal = 0;
                for witness in goal.witnesses.iter().take(MOST_WITNESSES) {
                    let Some(base) = self.conversations.get(*witness).cloned() else { continue };
                    let Some(source) = self.sources.get(side) else { continue };
                    // What is made for goals without end is work, too.
                    if limit(tries) == 0 || !backchat_chat::charge(STEPS_PER_GOAL) {
                        return;
                    }
                    let most = 2 * limit(&MOST_PER_GOAL);
                    for made in candidates::candidates(&goal, source, &base, &comparison.universe.clock, most) {
                        let is_met = self.sides.get(side).is_some_and(|taken| taken.has(&goal));
                        if is_met || of_goal == limit(&MOST_PER_GOAL) || limit(tries) == 0 {
                            break;
                        }
                        if self.attempt(comparison, minimal, made) {
                            of_goal += 1;
                            if let Some(left) = tries.get_mut(place) {
                                *left -= 1;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Renders a conversation unless it was; keeps it if it took a new branch or shows a new difference. Returns whether it
    /// was rendered.
    fn attempt(&mut self, comparison: &mut Comparison<'_>, minimal: &[Minimal], made: Conversation) -> bool {
        let key = format!("{:?} {}", made.now, Value::Object(made.context.clone()));
        if !is_well_formed(&made) || backchat_chat::ended().is_some() || !self.tried.insert(key) {
            return false;
        }
        let Some(outcomes) = self.record(comparison, made.clone()) else { return true };
        let pieces = self.unexplained(comparison, minimal, &made, &outcomes);
        if !pieces.is_empty() {
            let small = shrink::shrunk(comparison, made, &pieces);
            let kind = kind_of(&small, &mut comparison.universe);
            let small = shrink::shortened(small, |made| {
                let Some(outcomes) = comparison.outcomes(made) else { return false };
                let is_simpler = is_well_formed(made) && kind_of(made, &mut comparison.universe).is_within(kind);
                is_simpler && !self.unexplained(comparison, minimal, made, &outcomes).is_empty()
            });
            let Some(outcomes) = comparison.outcomes(&small) else { return true };
            let pieces = self.unexplained(comparison, minimal, &small, &outcomes);
            if !pieces.is_empty() {
                let kind = kind_of(&small, &mut comparison.universe);
                self.found.push(Found { kind, conversation: small, pieces });
            }
        }
        true
    }

    /// The pieces of a conversation that no kind within its own has, and no conversation that was found.
    fn unexplained(
        &self,
        comparison: &mut Comparison<'_>,
        minimal: &[Minimal],
        conversation: &Conversation,
        outcomes: &[Outcome; 2],
    ) -> Vec<usize> {
        let mut pieces = comparison.pieces_beyond(conversation, outcomes);
        if pieces.is_empty() {
            return pieces;
        }
        let kind = kind_of(conversation, &mut comparison.universe);
        let by_kind = minimal.iter().filter(|known| known.kind.is_within(kind)).flat_map(|known| &known.pieces);
        let by_found = self.found.iter().flat_map(|found| &found.pieces);
        let explained: HashSet<usize> = by_kind.chain(by_found).copied().collect();
        // Texts of the conversation that a template prints as well hide what is known.
        if comparison.pieces_of(outcomes).iter().all(|piece| explained.contains(piece)) {
            return Vec::new();
        }
        pieces.retain(|piece| !explained.contains(piece));
        pieces
    }

    /// Renders with both, and notes the branches that were taken.
    fn record(&mut self, comparison: &Comparison<'_>, conversation: Conversation) -> Option<[Outcome; 2]> {
        let ready = Ready::new(&conversation, &comparison.universe.clock)?;
        let number = self.conversations.len();
        let mut outcomes = Vec::new();
        let known = self.sides.iter_mut().zip(&mut self.applied);
        for ((taken, applied), side) in known.zip(comparison.sides) {
            let (outcome, mut ran) = side.recorded(&ready);
            applied.add(std::mem::take(&mut ran.changes), number);
            taken.add(ran, number);
            outcomes.push(outcome);
        }
        drop(ready);
        self.conversations.push(conversation);
        outcomes.try_into().ok()
    }

    /// How many conversations it made.
    pub(crate) fn tried(&self) -> usize {
        self.tried.len()
    }

    pub(crate) fn coverage(&self, comparison: &Comparison<'_>) -> [Coverage; 2] {
        let [old, new] = &self.sides;
        let [one, other] = comparison.sides.map(|side| side.template.source());
        [old.coverage(one), new.coverage(other)]
    }

    /// The lines that the edit touches and no conversation ran, on each side.
    pub(crate) fn touched_and_untaken(&self, comparison: &Comparison<'_>) -> [Vec<usize>; 2] {
        let [old, new] = &self.sides;
        let [one, other] = comparison.sides.map(|side| side.template.source());
        let [edited_old, edited_new] = &self.edited;
        [old.untaken_within(edited_old, one), new.untaken_within(edited_new, other)]
    }
}

/// The conversations of some kinds that not both templates refuse.
fn rendered(comparison: &Comparison<'_>, kinds: &[Kind]) -> Vec<Conversation> {
    let is_refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
    let written = kinds.iter().map(|kind| conversation(*kind, &comparison.universe));
    let is_rendered =
        |base: &Conversation| comparison.outcomes(base).is_some_and(|outcomes| !outcomes.iter().all(is_refused));
    written.filter(is_rendered).collect()
}

/// The bytes of each source that an edit touches; an insertion touches the place it goes to.
fn edited([old, new]: [&str; 2]) -> [Vec<Range<usize>>; 2] {
    let (x, y) = (tokens(old), tokens(new));
    let places = |tokens: &[&str]| {
        let mut at = 0;
        let starts = tokens.iter().map(|token| {
            at += token.len();
            at - token.len()
        });
        let mut starts: Vec<usize> = starts.collect();
        starts.push(at);
        starts
    };
    let (at_old, at_new) = (places(&x), places(&y));
    let bytes = |places: &[usize], range: Range<usize>| {
        let place = |at: usize| places.get(at).copied().unwrap_or(0);
        place(range.start)..place(range.end)
    };
    let (mut of_old, mut of_new) = (Vec::new(), Vec::new());
    for operation in operations(&x, &y).into_iter().filter(|operation| operation.tag() != DiffTag::Equal) {
        of_old.push(bytes(&at_old, operation.old_range()));
        of_new.push(bytes(&at_new, operation.new_range()));
    }
    of_old.retain(|range| !range.is_empty());
    of_new.retain(|range| !range.is_empty());
    [of_old, of_new]
}
