//! The conversations of a proof in detail, for those who explain a chat template: what each render printed from where, and
//! how a response template reads it.

use std::ops::Range;

use super::proof::{Case, Detailed};
use super::{Derivation, Job, derive_with, recorded};
use backchat_chat::{Budget, ChatTemplate, Details, Origin, RenderOptions, ended, examine};
use backchat_core::json::Object;
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Options, Span};
use backchat_parser::template::Template;
use backchat_probe::coverage::{CoveredLine, lines, listing, summary};

/// A conversation of a proof and its render.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its name in reports.
    pub name: String,
    /// What it was rendered from.
    pub context: Object,
    pub text: String,
    /// The place of the normalized source that printed each piece.
    pub origins: Vec<Origin>,
    pub details: Details,
    /// The bytes of the model's turn; empty at the end of a render that ends with the prompt for one.
    pub turn: Range<usize>,
}

/// What a part of a render is to a response template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The start anchor, or the end of the prompt if that is a pattern.
    Start,
    /// The opening delimiter of a field.
    Open(String),
    /// What a field holds.
    Body(String),
    /// The closing delimiter of a field.
    Close(String),
    /// What ends the turn.
    End,
}

/// A chat template line by line, with the conversations of its proof that run each line.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub conversations: Vec<Shown>,
    pub lines: Vec<CoveredLine>,
}

impl Coverage {
    /// The coverage of the source of a chat template by these conversations; `None` if there are none, or if the
    /// examination ends before all of them are rendered again.
    pub fn of(source: &str, conversations: Vec<Shown>, options: &super::Options) -> Option<Self> {
        let template = ChatTemplate::compile(source).ok().filter(|_| !conversations.is_empty())?;
        let contexts: Vec<&Object> = conversations.iter().map(|shown| &shown.context).collect();
        let lines = lines(&template, &contexts, &RenderOptions::default().now(options.now.clone()));
        ended().is_none().then_some(Self { conversations, lines })
    }

    /// One sentence: how many lines run, and how many conditions go both ways.
    pub fn summary(&self) -> String {
        summary(&self.lines, self.conversations.len())
    }

    /// The section of the evidence in Markdown.
    pub fn explain(&self) -> String {
        // Indented, it is code whatever the template contains.
        let listing: String = listing(&self.lines).lines().map(|line| format!("    {line}\n")).collect();
        format!("\n## Coverage\n\n{}\n\n{listing}", self.summary())
    }
}

/// Derives, and shows the conversations of the proof.
pub fn derive_and_show(source: &str, options: &super::Options) -> (Derivation, Vec<Shown>) {
    examine(Budget::default(), || {
        let (derivation, shown) = derive_with(source, options, |chosen, job| {
            let template = Template::from_value(&chosen.attempt.draft).ok();
            template.map_or_else(Vec::new, |loaded| shown(job, &loaded.template))
        });
        (derivation.noting_the_end(ended()), shown.unwrap_or_default())
    })
}

fn shown(job: &Job<'_>, template: &Template) -> Vec<Shown> {
    let turns = job.proof.turns(template);
    let mut shown: Vec<Shown> = turns.into_iter().filter_map(|(case, explained)| of_case(&case, explained)).collect();
    shown.extend(job.proof.prompts_of_turns().into_iter().map(|(name, (context, rendered, details))| {
        let end = rendered.text.len();
        Shown { name, context, text: rendered.text, origins: rendered.origins, details, turn: end..end }
    }));
    shown
}

fn of_case(case: &Case, (context, rendered, details): Detailed) -> Option<Shown> {
    let text = rendered.text;
    let begins = text.strip_prefix(case.prefix.as_str()).is_some_and(|rest| rest.starts_with(case.text.as_str()));
    let start = if begins { case.prefix.len() } else { text.rfind(case.text.as_str())? };
    let turn = start..start + case.text.len();
    Some(Shown { name: case.name.clone(), context, text, origins: rendered.origins, details, turn })
}

impl Shown {
    /// Whether it ends with the prompt for a turn.
    pub fn is_prompt(&self) -> bool {
        self.turn.is_empty()
    }

    /// What the parts of the render are to a response template, in order.
    pub fn marks(&self, template: &Template) -> Vec<(Range<usize>, Mark)> {
        let (before, turn) = (slice(&self.text, ..self.turn.start), slice(&self.text, self.turn.clone()));
        let Ok((finished, read)) = recorded::parse(template, before, [turn], Options::default()) else {
            return Vec::new();
        };
        let events = finished.events;
        // Places count from where the parser began to read: behind the anchor.
        let base = self.turn.start.saturating_sub(read);
        let mut marks = Vec::new();
        let anchor = template.start_anchor().literals().unwrap_or_default();
        let found = anchor.iter().filter(|literal| slice(before, ..base).ends_with(literal.as_str()));
        match found.map(String::len).max() {
            Some(length) => marks.push((base - length..base, Mark::Start)),
            None if self.is_prompt() => marks.push((base..base, Mark::Start)),
            None => {}
        }
        marks.extend(marks_of(&events, base, self.turn.end));
        marks
    }
}

fn marks_of(events: &[Event], base: usize, end: usize) -> Vec<(Range<usize>, Mark)> {
    let at = |span: &Span| base + span.start..base + span.end;
    let mut marks = Vec::new();
    let mut last = None;
    for event in events {
        match event {
            Event::Open { field, span, .. } => marks.push((at(span), Mark::Open(field.to_string()))),
            Event::Close { field, span, body, .. } | Event::Malformed { field, span, body, .. } => {
                marks.push((at(body), Mark::Body(field.to_string())));
                marks.push((at(span), Mark::Close(field.to_string())));
                last = Some(at(body).end);
            }
            _ => {}
        }
    }
    if let Some(last) = last.filter(|last| *last < end) {
        marks.push((last..end, Mark::End));
    }
    marks.retain(|(span, mark)| !span.is_empty() || *mark == Mark::Start);
    marks
}
