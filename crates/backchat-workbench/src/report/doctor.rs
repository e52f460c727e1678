//! The page of an examination: the input that a chat template takes, drops and refuses, with the deciding renders.

mod agents;

use std::rc::Rc;

use super::conversation;
use super::html::Html;
use super::notes;
use super::page::{Head, Mood, Section, page};
use super::playground::Playground;
use super::sides::{Piece, columns};
use backchat_chat::ChatTemplate;
use backchat_chats::chats::WrongBlocks;
use backchat_chats::mending::Repair;
use backchat_core::diagnostic::{Diagnostic, counted};
use backchat_core::json::Value;
use backchat_core::text::{common_start, slice};
use backchat_probe::doctor::{self, Exhibit, Fact, Options, Report};

/// The groups of facts: their value, and its title on a page.
const GROUPS: [(&str, &str, &str); 5] = [
    ("dropped", "drops silently", "bad"),
    ("printed", "prints as the word None", "bad"),
    ("refused", "refuses", "doubtful"),
    ("escaped", "writes as a JSON string again", "doubtful"),
    ("rendered", "takes", "good"),
];

/// The result of an examination, and its input.
pub struct Examined<'a> {
    /// The facts.
    pub report: &'a Report,
    pub template: &'a ChatTemplate,
    /// The options of the renders.
    pub options: &'a Options,
    /// In how many conversations its generation blocks agree with its mask, or why they do not; `None` without blocks.
    pub blocks: Option<Result<usize, WrongBlocks>>,
    /// The template repaired, if it has problems with the conversations of agents.
    pub repair: Option<&'a Repair>,
}

/// The page of an examination of a chat template.
pub fn doctor(name: &str, examined: &Examined<'_>, playground: Option<&Playground>) -> String {
    let report = examined.report;
    let traps = doctor::traps(report);
    let count = traps.len();
    let badge = match count {
        0 => "no traps".to_owned(),
        count => counted(count, "trap"),
    };
    let mut line = format!("{} conversations rendered", report.renders);
    if let Some(error) = &report.stopped {
        line.push_str(&format!("; the examination stopped early: {error}"));
    }
    let mood = if count == 0 && report.stopped.is_none() { Mood::Good } else { Mood::Doubtful };
    let playground = playground.map(|known| known.of_chat(examined.template.source(), &examined.options.variables));
    let head = Head { title: "Chat template", name, badge: (&badge, mood), line: &line, playground };
    let exhibits = exhibits(report);
    let mut sections = Vec::new();
    if !traps.is_empty() || examined.blocks.is_some() {
        let write = |html: &mut Html| warnings(html, &traps, examined.blocks.as_ref());
        sections.push(Section::new("traps", "Traps", write));
    }
    if report.agents.problems().next().is_some() {
        let write = |html: &mut Html| agents::write(html, examined);
        sections.push(Section::new("agents", "Conversations of agents", write));
    }
    sections.push(Section::new("facts", "Facts", |html| facts(html, report, &exhibits)));
    let departures: Vec<(&Fact, String)> = report
        .facts
        .iter()
        .filter_map(|fact| Some((fact, doctor::departure(fact, examined.template, examined.options)?)))
        .collect();
    if !departures.is_empty() {
        sections.push(Section::new("prefixes", "Where renders differ", move |html| {
            departures.iter().for_each(|(fact, words)| departure(html, fact, words));
        }));
    }
    sections.push(Section::new("renders", "Renders", |html| {
        exhibits.iter().enumerate().for_each(|(index, exhibit)| render(html, index, exhibit));
    }));
    page(&head, sections)
}

/// Every render that decided something, each once.
fn exhibits(report: &Report) -> Vec<&Rc<Exhibit>> {
    let mut exhibits: Vec<&Rc<Exhibit>> = Vec::new();
    for exhibit in report.facts.iter().flat_map(|fact| &fact.evidence) {
        if !exhibits.iter().any(|known| Rc::ptr_eq(known, exhibit)) {
            exhibits.push(exhibit);
        }
    }
    exhibits
}

fn warnings(html: &mut Html, traps: &[Diagnostic], blocks: Option<&Result<usize, WrongBlocks>>) {
    notes::list(html, traps);
    match blocks {
        Some(Ok(count)) => {
            let words =
                format!("The generation blocks agree with `render --mask` in {count} of {count} conversations.");
            html.words("p", "good", &words);
        }
        Some(Err(why)) => {
            html.words("p", "bad", &format!("The generation blocks and `render --mask` disagree: {why}"));
        }
        None => {}
    }
}

/// The facts: losses first, accepted input last, then how renders behave.
fn facts(html: &mut Html, report: &Report, exhibits: &[&Rc<Exhibit>]) {
    html.wide(&["what", "the template", "fact", "renders"], |html| {
        let group = |fact: &Fact| GROUPS.iter().position(|(word, ..)| fact.value.as_str() == Some(word));
        let mut order: Vec<&Fact> = report.facts.iter().collect();
        order.sort_by_key(|fact| group(fact).unwrap_or(GROUPS.len()));
        for fact in order {
            let (words, class) = match group(fact).and_then(|group| GROUPS.get(group)) {
                Some((_, words, class)) => ((*words).to_owned(), *class),
                None => (doctor::value_words(report, fact), ""),
            };
            let header = |html: &mut Html| html.text(doctor::words(fact.name));
            html.row(header, |html| {
                html.tag("td", class, &words);
                html.cell("fact", |html| html.tag("code", "", fact.name));
                html.cell("renders", |html| links(html, fact, exhibits));
            });
        }
    });
}

fn links(html: &mut Html, fact: &Fact, exhibits: &[&Rc<Exhibit>]) {
    for exhibit in &fact.evidence {
        let Some(index) = exhibits.iter().position(|known| Rc::ptr_eq(known, exhibit)) else { continue };
        html.link(&format!("#c{index}"), &format!("{}", index + 1));
        html.text(" ");
    }
}

/// A render that is not the start of the longer one.
fn departure(html: &mut Html, fact: &Fact, words: &str) {
    html.tag("h3", "", doctor::words(fact.name));
    html.words("p", "", words);
    let mut renders = fact.evidence.iter().filter_map(|exhibit| exhibit.outcome.as_ref().ok());
    let (Some(longer), Some(shorter)) = (renders.next(), renders.next()) else { return };
    let agreed = common_start(shorter, longer);
    let [first, second] = [shorter, longer].map(|text| slice(text, agreed.len()..));
    let pieces = [Piece::Same(agreed), Piece::First(first), Piece::Second(second)];
    columns(html, ["the shorter chat", "the longer chat"], &pieces);
}

/// A conversation as it was passed, and its render or the refusal.
fn render(html: &mut Html, index: usize, exhibit: &Exhibit) {
    let summary = |html: &mut Html| {
        html.text(&format!("{}: {}", index + 1, roles(exhibit)));
        if exhibit.outcome.is_err() {
            html.tag("strong", "bad", " refused");
        }
    };
    html.folded(false, summary, |html| {
        html.target(&format!("c{index}"), |html| {
            conversation::messages(html, &exhibit.messages);
            if !exhibit.variables.is_empty() {
                html.tag("p", "", "with");
                conversation::value(html, &Value::Object(exhibit.variables.clone()));
            }
            match &exhibit.outcome {
                Ok(text) => {
                    html.tag("p", "", "renders");
                    html.pre(&[("class", "text")], |html| html.lines(text));
                }
                Err(error) => html.words("p", "bad", &error.to_string()),
            }
        });
    });
}

/// Who speaks in a conversation, in order.
fn roles(exhibit: &Exhibit) -> String {
    let messages = exhibit.messages.as_list().into_iter().flatten();
    let roles = messages.filter_map(|message| {
        let role = message.get("role")?.as_str()?;
        Some(if message.get("tool_calls").is_some() { format!("{role} with calls") } else { role.to_owned() })
    });
    roles.collect::<Vec<_>>().join(", ")
}
