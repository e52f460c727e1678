//! Writes a conversation down without its chat template, from renders of other conversations.
//!
//! It is the test that frames cover every kind of turn: its text has to be the template's render. Nothing but
//! that test needs it, so only tests compile it. A text that it does not know how to go on from is refused, with the
//! place; facts of the conversation that separated the renders decide which of several frames follows.

mod conversation;
mod facts;
mod rule;
mod spelled;
mod tests;

use std::collections::{HashMap, HashSet};

use self::conversation::{Conversation, Order, Owner, Progress};
use self::facts::facts;
use self::rule::Rule;
use self::spelled::Spelled;
use super::frames::{Frame, Frames, Slot, State, context, lessons, slots, steps};
use super::script::{Form, Kind, Script};
use crate::chat::{ChatTemplate, RenderOptions};
use crate::json::{Object, Value};

/// Shapes to learn from besides those of frames: the same frames at other places, where templates decide by what came
/// before or is still to come.
const MORE: &[&str] = &[
    "UCTAUC",
    "UCTAUCT",
    "UCTAUCTAU",
    "UCTCTAU",
    "UcTAUc",
    "UcTAUcT",
    "UDTTAUC",
    "UDTTAUCT",
    "UCTAUDTT",
    "UrTr",
    "UrTrT",
    "UrTAUrT",
];

/// Tools in which a parameter that others begin with comes second.
const MORE_TOOLS: &[&str] = &["d", "ad", "da"];

/// The target of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// To a message, by its distance from the furthest one that has been begun.
    Message(isize),
    /// Back to the last message with such a text that has not been written.
    Back,
    /// To the call that the next result answers, and the one that the current result does.
    Asked,
    Answered,
    /// To a tool, by its distance from the last one.
    Tool(isize),
    End,
}

/// One way to go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Choice {
    frame: Frame,
    target: Target,
}

/// How a template writes conversations down.
struct Composer {
    choices: Vec<Choice>,
    rules: HashMap<State, Rule>,
    spelled: Spelled,
    order: Order,
}

/// A conversation that goes on as no render did.
#[derive(Debug)]
struct Missing {
    from: State,
    written: String,
}

impl Composer {
    /// Learns from the renders that frames are learned from, and those that show how values are spelled.
    fn learn(template: &ChatTemplate, variables: &Object, options: &RenderOptions) -> Self {
        let form = Frames::form(template, variables, options);
        let mut spelled = Spelled::default();
        let mut choices: Vec<Choice> = Vec::new();
        let mut numbers: HashMap<Choice, usize> = HashMap::new();
        let mut cases: HashSet<(State, Vec<i8>, usize)> = HashSet::new();
        let order = spelled.probe(template, variables, options, &form);
        for (shape, tools, prompt) in lessons(&form).chain(more(&form)) {
            let script = Script::new(shape, tools, &form, "");
            let given = context(variables, &script.messages, &script.tools, prompt);
            let Ok(rendered) = template.render(&given, options) else { continue };
            let Some(conversation) = Conversation::new(&script.messages, &script.tools, prompt, order) else {
                continue;
            };
            let slots = slots(&script, &rendered.text);
            let mut progress = Progress::new(&conversation);
            let frames = steps(&script, &slots, &rendered.text, prompt);
            for (at, frame) in frames.into_iter().enumerate() {
                let slot = slots.get(at);
                let item = slot.and_then(|slot| shown(&conversation, &progress, slot, &rendered.text));
                if slot.is_some() && item.is_none() {
                    break;
                }
                let Some(target) = target(&conversation, &progress, &frame, item) else { break };
                let from = frame.from;
                let choice = Choice { frame, target };
                let number = *numbers.entry(choice.clone()).or_insert_with(|| {
                    choices.push(choice);
                    choices.len() - 1
                });
                cases.insert((from, facts(&conversation, &progress), number));
                if let (Some(slot), Some(index)) = (slot, item) {
                    if let Some(item) = conversation.items.get(index) {
                        spelled.note(slot, item, &rendered.text);
                    }
                    progress.take(&conversation, index);
                }
            }
        }
        let mut by_state: HashMap<State, Vec<(&[i8], usize)>> = HashMap::new();
        for (from, facts, number) in &cases {
            by_state.entry(*from).or_default().push((facts, *number));
        }
        let rules = by_state.iter().map(|(from, cases)| (*from, Rule::learn(cases))).collect();
        Self { choices, rules, spelled, order }
    }

    /// The text of a conversation; none if a message is of no role known.
    fn write(&self, messages: &[Value], tools: &Value, prompt: bool) -> Option<Result<String, Missing>> {
        Some(self.compose(&Conversation::new(messages, tools, prompt, self.order)?))
    }

    fn compose(&self, conversation: &Conversation) -> Result<String, Missing> {
        let mut progress = Progress::new(conversation);
        let mut from = State { kind: Kind::Begin, echo: false };
        let mut written = String::new();
        // A conversation is longer than its texts only by those that are repeated.
        for _ in 0..conversation.items.len() * 4 + 4 {
            let seen =
                self.rules.get(&from).map_or_else(Vec::new, |rule| rule.choices(&facts(conversation, &progress)));
            let possible = seen.into_iter().filter_map(|number| self.choices.get(number));
            let mut possible = possible.filter_map(|choice| Some((choice, goal(conversation, &progress, choice)?)));
            let Some((choice, goal)) = possible.next() else { break };
            written.push_str(&choice.frame.gap);
            let Some(index) = goal else { return Ok(written) };
            let Some(item) = conversation.items.get(index) else { break };
            from = choice.frame.to;
            written.push_str(&self.spelled.write(from.kind, item));
            progress.take(conversation, index);
        }
        Err(Missing { from, written })
    }
}

/// The conversations to learn from besides those of frames.
fn more(form: &Form) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let thinks = form.reasoning.is_some();
    let shapes = MORE.iter().filter(move |shape| thinks || !shape.contains('r'));
    let turns = shapes.flat_map(|shape| ["", "aa"].map(|tools| (*shape, tools)));
    let defined = MORE_TOOLS.iter().flat_map(|tools| ["U", "SU", "UA"].map(|shape| (shape, *tools)));
    turns.chain(defined).flat_map(|(shape, tools)| [false, true].map(|prompt| (shape, tools, prompt)))
}

/// The item whose text a slot shows.
fn shown(conversation: &Conversation, progress: &Progress, slot: &Slot, render: &str) -> Option<usize> {
    let kind = whole(slot.state.kind);
    let text = render.get(slot.start..slot.end)?;
    conversation.items.iter().enumerate().position(|(index, item)| {
        item.kind == kind
            && match kind {
                Kind::Arguments => item.owner == Owner::Message { message: slot.message, call: slot.call },
                Kind::ToolObject => progress.is_new(index),
                Kind::ToolList => true,
                _ => match &item.value {
                    Value::String(own) => own == text,
                    other => other.to_string() == text,
                },
            }
    })
}

/// Arguments are the same item, however they are quoted.
fn whole(kind: Kind) -> Kind {
    if kind == Kind::ArgumentsText { Kind::Arguments } else { kind }
}

fn distance(from: Option<usize>, to: usize) -> Option<isize> {
    let from = from.map_or(Some(-1), |from| isize::try_from(from).ok())?;
    Some(isize::try_from(to).ok()? - from)
}

fn place(from: Option<usize>, distance: isize) -> Option<usize> {
    usize::try_from(from.map_or(Some(-1), |from| isize::try_from(from).ok())? + distance).ok()
}

/// The target of a frame in a render, as other conversations can follow it.
fn target(conversation: &Conversation, progress: &Progress, frame: &Frame, item: Option<usize>) -> Option<Target> {
    let Some(index) = item else { return Some(Target::End) };
    let (message, call) = match conversation.items.get(index)?.owner {
        Owner::Tool(tool) => return Some(Target::Tool(distance(progress.tool, tool)?)),
        Owner::Message { message, call } => (message, call),
    };
    let distance = distance(progress.front, message)?;
    if (frame.to.echo || distance < 0) && matches!(frame.to.kind, Kind::Name | Kind::Id) {
        let named =
            [(Target::Asked, asked(conversation, progress)), (Target::Answered, answered(conversation, progress))];
        if let Some((target, _)) = named.into_iter().find(|(_, named)| *named == Some((message, call))) {
            return Some(target);
        }
    }
    Some(if distance < 0 && !frame.to.echo { Target::Back } else { Target::Message(distance) })
}

/// The call that the next result answers.
fn asked(conversation: &Conversation, progress: &Progress) -> Option<(usize, usize)> {
    conversation.turns.get(place(progress.front, 1)?)?.answers
}

/// The call that the current result answers.
fn answered(conversation: &Conversation, progress: &Progress) -> Option<(usize, usize)> {
    conversation.turns.get(progress.front?)?.answers
}

/// The item that a choice leads to here, or the end; none if there is nothing of the kind.
fn goal(conversation: &Conversation, progress: &Progress, choice: &Choice) -> Option<Option<usize>> {
    let State { kind, echo } = choice.frame.to;
    let is_wanted = |index: usize| conversation.items.get(index).is_some_and(|item| item.kind == whole(kind));
    // Of those that are repeated, the one that has been the least often.
    let of = |owner: &dyn Fn(Owner) -> bool| {
        let items =
            conversation.items.iter().enumerate().filter(|(index, item)| is_wanted(*index) && owner(item.owner));
        let items = items.filter(|(index, _)| progress.is_new(*index) != echo);
        items.min_by_key(|(index, _)| progress.times.get(*index)).map(|(index, _)| Some(index))
    };
    match choice.target {
        Target::End => {
            let is_last = progress.front.map(|front| front + 1) == Some(conversation.turns.len());
            (is_last && (kind == Kind::Prompt) == conversation.prompt).then_some(None)
        }
        Target::Tool(distance) => {
            let tool = place(progress.tool, distance)?;
            of(&|owner| owner == Owner::Tool(tool))
        }
        Target::Message(distance) => {
            let message = place(progress.front, distance)?;
            of(&|owner| owner.message() == Some(message))
        }
        Target::Back => {
            let waits = |index: &usize| is_wanted(*index) && progress.is_new(*index);
            let before =
                |index: &usize| conversation.items.get(*index).and_then(|item| item.owner.message()) < progress.front;
            (0..conversation.items.len()).rev().find(|index| waits(index) && before(index)).map(Some)
        }
        Target::Asked | Target::Answered => {
            let (message, call) = match choice.target {
                Target::Asked => asked(conversation, progress)?,
                _ => answered(conversation, progress)?,
            };
            of(&|owner| owner == Owner::Message { message, call })
        }
    }
}
