//! Everything found out about one chat template.

use super::Options;
use super::calls::{self, Calls};
use super::content::{self, Content};
use super::conversation::{Answer, Manner, Message};
use super::marks;
use super::probe::{Prober, Setting, needle};
use super::reads;
use super::reasoning::{self, Reasoning};
use super::turn::{self, Turn};
use crate::chat::ChatTemplate;

/// What the probes told.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    pub turn: Turn,
    pub reasoning: Option<Reasoning>,
    /// Whether reasoning leaves a trace in renders at all.
    pub shows_reasoning: bool,
    pub reasoning_field: String,
    pub content: Content,
    pub calls: Option<Calls>,
    /// Whether calls leave a trace in renders at all.
    pub shows_calls: bool,
    /// The settings under which a prompt ends differently, or reasoning shows.
    pub settings: Vec<Setting>,
    /// Texts that end the turn.
    pub stops: Vec<String>,
}

impl Findings {
    /// The stops that end more than content. One that looks like a closing tag may be text of a thought or a value.
    pub fn sure_stops(&self) -> impl Iterator<Item = &str> {
        self.stops.iter().map(String::as_str).filter(|stop| !stop.starts_with("</"))
    }
}

/// Runs every phase; nothing where the template shows no content.
pub(super) fn find(template: &ChatTemplate, prober: &mut Prober, options: &Options) -> Option<Findings> {
    settle_content(prober)?;
    let reads = &reads::find(template, prober, &options.variables);
    let mut turn = turn::find(prober, &reads.settings)?;
    let reasoning = reasoning::find(prober, &reads.settings, &reads.carriers, &reads.literals, &mut turn);
    let shows_reasoning =
        reasoning.is_some() || reasoning::leaves_a_trace(prober, &reads.settings, &reads.carriers, &turn);
    let mut calls = calls::find(prober, &reads.settings, &turn, reasoning.as_ref());
    if let Some(calls) = &mut calls {
        give_back_open(calls, &mut turn);
    }
    turn.share_headers();
    let content = content::find(prober, &turn, reasoning.as_ref(), calls.as_ref());
    let stops = stops(prober, &turn, &content, calls.as_ref(), reads.eos_token.as_deref());
    let reasoning_field = options.reasoning_field.clone().unwrap_or_else(|| {
        let keys = reasoning.as_ref().map(|reasoning| reasoning.keys.clone()).unwrap_or_default();
        let usual = "reasoning_content".to_owned();
        if keys.contains(&usual) { usual } else { keys.into_iter().next().unwrap_or(usual) }
    });
    let shows_calls = calls.is_some() || calls::leave_a_trace(prober, &turn);
    Some(Findings {
        turn,
        reasoning,
        shows_reasoning,
        reasoning_field,
        content,
        calls,
        shows_calls,
        settings: reads.settings.clone(),
        stops,
    })
}

/// Finds a manner in which content reaches the wire.
pub(super) fn settle_content(prober: &mut Prober) -> Option<()> {
    let messages = [Message::User(needle::USER.to_owned()), Message::Assistant(Answer::content(needle::CONTENT))];
    for always_tools in [false, true] {
        prober.always_tools = always_tools;
        let shows = |manner: &Manner| {
            prober
                .render_in(*manner, &messages, &Setting::new(), false)
                .is_some_and(|text| text.contains(needle::CONTENT) && text.contains(needle::USER))
        };
        if let Some(manner) = Manner::all().find(shows) {
            prober.manner = manner;
            return Some(());
        }
    }
    None
}

/// A header that swallowed the first call's opening mark gives it back.
fn give_back_open(calls: &mut Calls, turn: &mut Turn) {
    let open = calls.open.trim().to_owned();
    if open.is_empty() || !calls.parallel || calls.opens_in_body {
        return;
    }
    for header in &mut turn.headers {
        if let Some(kept) = header.text.strip_suffix(&open) {
            header.text = kept.to_owned();
            for prompt in turn.prompts.iter_mut().filter(|prompt| prompt.after == header.after) {
                prompt.prefill.insert_str(0, &open);
            }
        }
    }
}

/// The texts that end the turn: after content, after a call, and the token the model is known to stop with.
fn stops(
    prober: &Prober,
    turn: &Turn,
    content: &Content,
    calls: Option<&Calls>,
    eos_token: Option<&str>,
) -> Vec<String> {
    let mut stops: Vec<String> = Vec::new();
    let mut add = |mark: &str| {
        if !mark.is_empty() && !stops.iter().any(|known| known == mark) {
            stops.push(mark.to_owned());
        }
    };
    let end = marks::split(&turn.end);
    if content.opens.is_empty() {
        end.into_iter().for_each(&mut add);
    } else {
        end.last().into_iter().for_each(|mark| add(mark));
    }
    if turn.end.trim().is_empty() {
        // Nothing ends the turn but the header of the next one.
        let next = turn.next.as_str();
        let before_result = calls
            .and_then(|calls| turn::before_result(prober, format!("{}{}", calls.close, calls.section_close).trim()))
            .unwrap_or_default();
        for text in [next, before_result.as_str()] {
            let mark = marks::split(text).into_iter().find(|mark| marks::is_sign(mark));
            mark.into_iter().for_each(&mut add);
        }
    }
    calls.and_then(|calls| calls.stop.as_deref()).into_iter().for_each(&mut add);
    if let Some(eos) = eos_token {
        add(eos.trim());
    }
    stops
}
