//! The pages of a derivation, and of a proof.

use super::coverage;
use super::evidence;
use super::html::Html;
use super::notes;
use super::page::{Head, Mood, Section, page};
use super::playground::{Linked, Playground};
use super::proof::{Proof, grid, texts};
use super::repairs;
use super::sides;
use super::turn;
use crate::repair::Plan;
use backchat_core::json::Value;
use backchat_derive::derive::{self, Coverage, Derivation, Options, Proven, ReaderVerdict, Status, Verdict};
use backchat_parser::template::Template;

impl Mood {
    pub(super) fn of(status: Status) -> Self {
        match status {
            Status::Proved => Mood::Good,
            Status::Partial | Status::Inexpressible => Mood::Doubtful,
            _ => Mood::Bad,
        }
    }
}

/// The page of a derivation from the source of a chat template, given with its name.
pub fn derivation(
    (name, source): (&str, &str),
    derivation: &Derivation,
    coverage: Option<&Coverage>,
    options: &Options,
    playground: Option<&Playground>,
) -> String {
    let template = derivation.response_template.as_ref().and_then(|draft| Template::from_value(draft).ok());
    let template = template.map(|loaded| loaded.template);
    let proof = template.as_ref().map(|template| Proof::new(source, template, &derivation.verdict, options));
    let headline = derivation.headline();
    let head = Head {
        title: "Response template for",
        name,
        badge: (derivation.status.name(), Mood::of(derivation.status)),
        line: after_word(&headline),
        // The playground derives the draft again.
        playground: playground
            .map(|known| known.link(Some((source, &options.variables)), None, failed(&derivation.verdict))),
    };
    let mut sections = Vec::new();
    if derivation.response_template.is_some() {
        sections.push(Section::new("found", "Summary", |html| {
            html.of_class("ul", "", |html| {
                for line in derivation.summary().into_iter().chain(derivation.samples_line()) {
                    html.words("li", "", &line);
                }
            });
        }));
    }
    let evidence = derive::evidence(&derivation.findings);
    let evidence = Section::new("evidence", "Evidence", |html| evidence::write(html, evidence));
    sections.extend(body(proof.as_ref(), derivation.response_template.as_ref(), Some(evidence)));
    if let Some(coverage) = coverage {
        sections.push(Section::new("coverage", "The chat template", |html| coverage::write(html, coverage)));
    }
    if !derivation.readers.is_empty() {
        sections.push(Section::new("readers", "Readers", |html| readers(html, &derivation.readers)));
    }
    sections.extend(notes::section(&derivation.diagnostics));
    page(&head, sections)
}

/// A proof of a response template, and what it is about.
#[derive(Clone, Copy, Debug)]
pub struct ProofPage<'p> {
    /// The file of the response template.
    pub file: &'p str,
    /// The source of the chat template.
    pub chat_template: &'p str,
    pub proven: &'p Proven,
    pub template: &'p Template,
}

/// The page of a proof, with the repairs of the template.
pub fn proof(shown: &ProofPage<'_>, plan: Option<&Plan>, options: &Options, playground: Option<&Playground>) -> String {
    let ProofPage { file, chat_template, proven, template } = *shown;
    let proof = Proof::new(chat_template, template, &proven.verdict, options).with_repairs(plan);
    let headline = proven.headline();
    let head = Head {
        title: "Proof of",
        name: file,
        badge: (proven.status.name(), Mood::of(proven.status)),
        line: after_word(&headline),
        playground: playground.map(|known| {
            known.link(Some((chat_template, &options.variables)), Some(template), failed(&proven.verdict))
        }),
    };
    let value = template.to_value();
    let mut sections = Vec::new();
    if let Some(line) = proven.samples_line() {
        sections.push(Section::new("samples", "Samples", move |html| html.words("p", "", &line)));
    }
    if let Some(plan) = plan {
        let title = if plan.steps.len() == 1 { "Repair" } else { "Repairs" };
        sections.push(Section::new("repairs", title, |html| repairs::plan(html, plan)));
    }
    sections.extend(body(Some(&proof), Some(&value), None));
    sections.extend(notes::section(&proven.diagnostics));
    page(&head, sections)
}

/// The conversation that shows the first failure.
fn failed(verdict: &Verdict) -> Option<Linked<'_>> {
    let failure = verdict.failures.first()?;
    Some(Linked { prefix: &failure.prefix, text: &failure.text, tools: None })
}

/// A headline without the word that is already in the badge.
fn after_word(headline: &str) -> &str {
    headline.split_once(": ").map_or(headline, |(_, rest)| rest)
}

/// The turn, the template, its evidence, and the proof.
fn body<'a>(
    proof: Option<&'a Proof>,
    template: Option<&'a Value>,
    evidence: Option<Section<'a>>,
) -> impl Iterator<Item = Section<'a>> {
    let proof = proof.filter(|proof| !proof.conversations.is_empty());
    let shown = proof.and_then(|proof| proof.fullest());
    let turn = shown.map(|shown| Section::new("turn", "One turn", move |html| turn::write(html, shown)));
    let template = template.map(|template| {
        Section::new("template", "The response template", |html| {
            html.of_class("div", "copy", |html| sides::json(html, template));
        })
    });
    let proof = proof.into_iter().flat_map(|proof| {
        [
            Section::new("proof", "Proof", |html| grid(html, proof)),
            Section::new("conversations", "Conversations", |html| texts(html, proof)),
        ]
    });
    turn.into_iter().chain(template).chain(evidence).chain(proof)
}

fn readers(html: &mut Html, readers: &[ReaderVerdict]) {
    html.wide(&["reader", "accepts it", "problems", "alternative draft"], |html| {
        for reading in readers {
            let (class, words) = if reading.refusals.is_empty() { ("good", "✓ yes") } else { ("bad", "✗ no") };
            let header = |html: &mut Html| html.text(&reading.reader.title());
            html.row(header, |html| {
                html.tag("td", class, words);
                html.cell("problems", |html| {
                    for text in reading.refusals.iter().chain(&reading.costs) {
                        html.words("p", "", text);
                    }
                });
                html.cell("alternative draft", |html| {
                    if let Some((target, effect)) = reading.other {
                        html.tag("code", "", &format!("--target {target}"));
                        html.text(" ");
                        html.text(effect);
                    }
                });
            });
        }
    });
}
