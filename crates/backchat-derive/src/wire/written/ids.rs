//! The ids of calls that a chat template takes when it renders the turn again, found by rendering calls with others.

use super::super::shapes;
use super::super::structure::Calls;
use backchat_probe::probe::{Answer, Call, Message, Prober, needle};

/// The ids that a template shows as they are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Ranges of the characters.
    pub alphabet: Vec<(char, char)>,
    pub least: u32,
    /// `None` for no limit.
    pub most: Option<u32>,
}

/// The characters that servers make ids of.
const CLASSES: [(char, char); 5] = [('-', '-'), ('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// The length of the longest id that is tried.
const LONGEST: u32 = 64;

impl Default for Ids {
    /// Ids of any length.
    fn default() -> Self {
        Self { alphabet: CLASSES.to_vec(), least: 1, most: None }
    }
}

/// Finds the alphabet and the lengths; the default if the template refuses the ids of the probes.
pub(super) fn find(prober: &Prober<'_>, calls: &Calls) -> Ids {
    let mut call = shapes::call(0, 1);
    let usual = u32::try_from(call.id.len()).unwrap_or(LONGEST);
    let mut takes = |id: &str, answered: bool| {
        id.clone_into(&mut call.id);
        is_shown(prober, calls, &call, answered)
    };
    // The result names the id again, if the template writes results at all.
    let Some(answered) = [true, false].into_iter().find(|answered| takes(needle::IDS[0], *answered)) else {
        return Ids::default();
    };
    let mut of = |sign: char, length: u32| takes(&(0..length).map(|_| sign).collect::<String>(), answered);
    let alphabet: Vec<(char, char)> = CLASSES.into_iter().filter(|(sign, _)| of(*sign, usual)).collect();
    let Some((sign, _)) = alphabet.last().copied() else { return Ids::default() };
    if of(sign, 1) && of(sign, LONGEST) {
        return Ids { alphabet, ..Ids::default() };
    }
    let least = (1..usual).rev().take_while(|length| of(sign, *length)).last().unwrap_or(usual);
    let most = (usual + 1..=LONGEST).take_while(|length| of(sign, *length)).last().unwrap_or(usual);
    Ids { alphabet, least, most: (most < LONGEST).then_some(most) }
}

/// Whether a turn with this call renders and shows the whole id.
fn is_shown(prober: &Prober<'_>, calls: &Calls, call: &Call, answered: bool) -> bool {
    let mut messages =
        vec![Message::User(needle::USER.to_owned()), Message::Assistant(Answer::calls(vec![call.clone()]))];
    if answered {
        let content = needle::RESULT.to_owned();
        messages.push(Message::Tool { id: call.id.clone(), name: call.name.clone(), content });
    }
    let text = prober.render_in(calls.request_shape, &messages, &calls.setting, false);
    text.is_some_and(|text| text.contains(&call.id))
}
