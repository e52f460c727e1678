//! The facts that a template may decide by, at the place up to which a conversation has been written.

use super::super::script::Kind;
use super::conversation::{Conversation, Item, Owner, Progress, Role, Turn};

/// One number for each fact, those of the place itself first: of two facts that separate the choices equally well, the
/// nearer one is taken.
pub(super) fn facts(conversation: &Conversation, progress: &Progress) -> Vec<i8> {
    let place = Place { conversation, progress };
    let mut facts = place.of_call();
    facts.push(progress.at.and_then(|at| progress.times.get(at)).map_or(0, |times| small(*times, 3)));
    facts.extend(place.of_tool());
    facts.extend(place.of_messages());
    facts.extend(place.of_conversation());
    facts
}

struct Place<'p> {
    conversation: &'p Conversation,
    progress: &'p Progress,
}

impl Place<'_> {
    fn item(&self) -> Option<&Item> {
        self.conversation.items.get(self.progress.at?)
    }

    /// The items that have been written as often as given.
    fn written(&self, times: usize) -> impl Iterator<Item = &Item> {
        let items = self.conversation.items.iter().zip(&self.progress.times);
        items.filter(move |(_, written)| **written == times).map(|(item, _)| item)
    }

    /// A message by its distance from the furthest one that has been begun.
    fn turn(&self, distance: isize) -> Option<&Turn> {
        let front = self.progress.front.map_or(-1, |front| isize::try_from(front).unwrap_or(isize::MAX));
        self.conversation.turns.get(usize::try_from(front.checked_add(distance)?).ok()?)
    }

    /// The messages before the furthest one that has been begun, that one, and those after it.
    fn sides(&self) -> (&[Turn], &[Turn]) {
        let reached = self.progress.front.map_or(0, |front| front + 1);
        self.conversation.turns.split_at(reached.min(self.conversation.turns.len()))
    }

    fn of_call(&self) -> Vec<i8> {
        let call = match self.item().map(|item| item.owner) {
            Some(Owner::Message { message, call }) => {
                self.conversation.turns.get(message).map(|turn| (message, call, &turn.calls))
            }
            _ => None,
        };
        let Some((message, call, calls)) = call.filter(|(.., calls)| !calls.is_empty()) else { return vec![-1; 6] };
        let owner = Owner::Message { message, call };
        let next = self.written(0).find(|item| item.owner == owner && matches!(item.kind, Kind::Value | Kind::Literal));
        let left = self.written(0).filter(|item| item.owner == owner && item.kind == Kind::Key).count();
        vec![
            small(left, 2),
            next.map_or(0, |item| argument(item.kind)),
            small(calls.len().saturating_sub(call + 1), 2),
            first_argument(calls.get(call + 1)),
            small(calls.get(call).map_or(0, Vec::len), 2),
            small(call, 1),
        ]
    }

    fn of_tool(&self) -> Vec<i8> {
        let tools = &self.conversation.tools;
        let parameter = |index: Option<&u8>| index.map_or(-1, |index| i8::try_from(*index).unwrap_or(i8::MAX));
        let current = self.progress.tool.and_then(|tool| tools.get(tool).map(|parameters| (tool, parameters)));
        let after = self.progress.tool.map_or(0, |tool| tool + 1);
        let count = |times: usize, test: fn(Kind) -> bool| {
            let owner = current.map(|(tool, _)| Owner::Tool(tool));
            self.written(times).filter(|item| Some(item.owner) == owner && test(item.kind)).count()
        };
        let next = self.written(0).find_map(|item| match item.kind {
            Kind::Parameter(index) if current.is_some_and(|(tool, _)| item.owner == Owner::Tool(tool)) => Some(index),
            _ => None,
        });
        vec![
            small(tools.len().saturating_sub(after), 2),
            parameter(next.as_ref()),
            small(count(1, |kind| kind == Kind::Parameter(0)), 2),
            small(count(1, |kind| matches!(kind, Kind::Parameter(_))), 2),
            small(current.map_or(0, |(_, parameters)| parameters.len()), 2),
            parameter(tools.get(after).and_then(|parameters| parameters.first())),
            small(tools.len(), 2),
            small(self.written(0).filter(|item| matches!(item.owner, Owner::Tool(_))).count(), 1),
        ]
    }

    fn of_messages(&self) -> Vec<i8> {
        let role = |turn: Option<&Turn>| turn.map_or(0, |turn| turn.role as i8 + 1);
        let (before, after) = self.sides();
        let (now, next) = (self.turn(0), self.turn(1));
        let of = |turn: Option<&Turn>| {
            [
                role(turn),
                flag(turn.is_some_and(|turn| turn.content)),
                flag(turn.is_some_and(|turn| turn.reasoning)),
                turn.map_or(0, |turn| small(turn.calls.len(), 2)),
            ]
        };
        let users = |turns: &[Turn]| turns.iter().filter(|turn| turn.role == Role::User).count();
        let waiting = |kind: Kind, message: Option<usize>| {
            self.written(0).any(|item| item.kind == kind && message.is_some() && item.owner.message() == message)
        };
        let results = |turns: &mut dyn Iterator<Item = &Turn>| turns.take_while(|turn| turn.role == Role::Tool).count();
        let mut facts = vec![next.map_or(0, first_part)];
        facts.extend(of(next));
        facts.extend(of(now));
        facts.extend([
            flag(waiting(Kind::Content, self.progress.front)),
            flag(waiting(Kind::Reasoning, self.progress.front)),
            small(users(after), 2),
            after.split_first().map_or(0, |(_, later)| small(users(later), 1)),
            flag(after.iter().any(|turn| turn.role == Role::Assistant && turn.calls.is_empty())),
            first_argument(next.and_then(|turn| turn.calls.first())),
            role(self.turn(2)),
            role(self.turn(-1)),
            small(results(&mut after.iter()), 2),
            small(results(&mut before.iter().rev()), 2),
            small(before.len(), 2),
            small(before.iter().map(|turn| turn.calls.len()).sum(), 3),
            small(users(before), 1),
            small(before.iter().filter(|turn| turn.role == Role::Assistant).count(), 1),
            flag(self.progress.front.is_some_and(|front| {
                self.written(0).any(|item| {
                    item.kind == Kind::Content && item.owner.message().is_some_and(|message| message < front)
                })
            })),
        ]);
        facts
    }

    fn of_conversation(&self) -> Vec<i8> {
        let turns = &self.conversation.turns;
        let since = turns.iter().rposition(|turn| turn.role == Role::User).map_or(0, |last| last + 1);
        let loops = turns.iter().skip(since).any(|turn| !turn.calls.is_empty());
        let any = |test: fn(&Turn) -> bool| flag(turns.iter().any(test));
        vec![
            flag(self.conversation.prompt),
            any(|turn| turn.role == Role::System),
            turns.last().map_or(0, |turn| turn.role as i8 + 1),
            flag(loops),
            any(|turn| !turn.calls.is_empty()),
            any(|turn| turn.role == Role::Tool),
            any(|turn| turn.reasoning),
            flag(self.written(0).any(|item| item.kind == Kind::System)),
        ]
    }
}

fn flag(is_so: bool) -> i8 {
    i8::from(is_so)
}

fn small(count: usize, most: usize) -> i8 {
    i8::try_from(count.min(most)).unwrap_or(i8::MAX)
}

/// Which part of a message comes first: a thought, content, or a call.
fn first_part(turn: &Turn) -> i8 {
    match (turn.reasoning, turn.content, turn.calls.is_empty()) {
        (true, ..) => 1,
        (false, true, _) => 2,
        (false, false, false) => 3,
        (false, false, true) => 4,
    }
}

fn argument(kind: Kind) -> i8 {
    if kind == Kind::Value { 1 } else { 2 }
}

/// -1 without a call, 0 without an argument.
fn first_argument(call: Option<&Vec<Kind>>) -> i8 {
    call.map_or(-1, |kinds| kinds.first().map_or(0, |kind| argument(*kind)))
}
