//! What is known about a document: at once from its text, later from renders and proofs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backchat_chat::source::Source;
use backchat_core::text::slice;
use backchat_derive::derive::prove;

use crate::chat_facts::{self, ChatFacts, Headline};
use crate::chat_text::ChatText;
use crate::doctor_findings;
use crate::document::{Document, Kind};
use crate::finding::{Finding, Level};
use crate::fixtures::{self, CaseResult};
use crate::folder;
use crate::response::{self, ResponseFacts};
use crate::settings::{ProofMode, Settings};
use crate::undefined;

/// Larger files get only their syntax.
pub const LARGEST: usize = 4 << 20;

/// How many findings of a file are shown.
const MOST: usize = 100;

/// What renders and proofs say about one version of a document.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// All findings, those of the text included.
    pub findings: Vec<Finding>,
    pub chat: Option<Arc<ChatFacts>>,
    pub response: Option<Arc<ResponseFacts>>,
    pub cases: Vec<CaseResult>,
    pub verdict: Option<Headline>,
}

/// What the text of a document alone says.
pub fn at_once(document: &Document, texts: &[ChatText], settings: &Settings) -> Vec<Finding> {
    let mut found: Vec<Finding> = texts.iter().flat_map(syntax).collect();
    if document.text.len() <= LARGEST {
        found.extend(texts.iter().flat_map(undefined::findings));
        match document.kind() {
            Kind::Json => found.extend(response::problems(document)),
            Kind::Fixture => found.extend(fixtures::problems(document)),
            _ => {}
        }
    }
    presented(found, settings)
}

/// Filters that other engines of templates have. Authors guard them for those, as in `{% if arguments is string %}`, and
/// transformers compiles the guarded use.
const ELSEWHERE: [&str; 2] = ["from_json", "fromjson"];

/// The errors of a template's text.
fn syntax(text: &ChatText) -> Vec<Finding> {
    let finding = |problem: &backchat_chat::SyntaxProblem| {
        let span = text.span(&problem.span);
        let name = slice(&text.source, problem.span.clone());
        let (level, message) = match problem.compiles && ELSEWHERE.contains(&name) {
            true => (Level::Warning, format!("{}; transformers refuses what takes this branch", problem.message)),
            false => (Level::Error, problem.message.clone()),
        };
        let finding = Finding::new(level, "template-failed", span.clone(), message);
        match &problem.meant {
            Some(meant) => {
                let edits = vec![backchat_core::diagnostic::Edit { span, text: meant.clone() }];
                finding.remedy(format!("Write `{meant}`"), edits, true)
            }
            None => finding,
        }
    };
    text.reading.problems.iter().map(finding).collect()
}

/// Findings at the user's levels, in the order of the text, each once, and no more than are useful.
fn presented(found: Vec<Finding>, settings: &Settings) -> Vec<Finding> {
    let mut found: Vec<Finding> = found.into_iter().filter_map(|finding| settings.level(finding)).collect();
    found.sort_by(|one, other| (one.span.start, &one.code).cmp(&(other.span.start, &other.code)));
    found.dedup_by(|one, other| (&one.span, &one.code, &one.message) == (&other.span, &other.code, &other.message));
    let more = found.len().saturating_sub(MOST);
    if more > 0 {
        found.truncate(MOST);
        let place = found.last().map_or(0..0, |last| last.span.clone());
        found.push(Finding::new(Level::Information, "more", place, format!("and {more} more findings in this file")));
    }
    found
}

/// How many chat templates are remembered, and not derived again if they did not change.
const REMEMBERED: usize = 8;

/// What the prover remembers, the last one last.
#[derive(Default)]
pub struct Memory {
    chats: Vec<Remembered>,
}

/// A chat template as it was derived.
struct Remembered {
    path: PathBuf,
    text: ChatText,
    source: Source,
    /// The settings.
    given: String,
    facts: Arc<ChatFacts>,
    findings: Vec<Finding>,
}

impl Remembered {
    fn is_of(&self, path: &Path, text: &ChatText) -> bool {
        self.path == path && self.text.name == text.name
    }

    /// What it shows about a text of the same file: all of it, if only the words of comments differ.
    fn answer(&self, text: &ChatText, source: &Source, settings: &Settings) -> Option<(Arc<ChatFacts>, Vec<Finding>)> {
        let mut same = source.clone();
        same.template.clone_from(&self.source.template);
        if self.source != same {
            return None;
        }
        let is_same = self.source.template == source.template;
        if is_same && self.text.is_placed_like(text) {
            return Some((self.facts.clone(), self.findings.clone()));
        }
        (is_same || self.facts.hold_for(text)).then(|| {
            let mut facts = ChatFacts::clone(&self.facts);
            let findings = doctor_findings::findings(text, source, settings, &mut facts);
            (Arc::new(facts), findings)
        })
    }
}

impl Memory {
    /// What renders of a chat template show, and the findings of doctor, which are places in its document.
    fn chat(
        &mut self,
        path: &Path,
        text: &ChatText,
        source: &Source,
        settings: &Settings,
    ) -> (Arc<ChatFacts>, Vec<Finding>) {
        let targets: Vec<_> = settings.targets.iter().map(|target| target.name).collect();
        let given = format!("{:?} {} {targets:?}", settings.set, settings.now);
        let mut known = self.chats.iter().filter(|known| known.is_of(path, text) && known.given == given);
        if let Some(answer) = known.find_map(|known| known.answer(text, source, settings)) {
            return answer;
        }
        let mut facts = chat_facts::find(source, &text.source, &folder::options(source, settings));
        let findings = doctor_findings::findings(text, source, settings, &mut facts);
        let facts = Arc::new(facts);
        if !is_interrupted() {
            self.chats.retain(|known| !known.is_of(path, text));
            let oldest = (self.chats.len() + 1).saturating_sub(REMEMBERED);
            self.chats.drain(..oldest);
            let (path, text, source) = (path.to_owned(), text.clone(), source.clone());
            self.chats.push(Remembered { path, text, source, given, facts: facts.clone(), findings: findings.clone() });
        }
        (facts, findings)
    }
}

/// Whether the thread's work is no longer wanted, so that its results are incomplete.
fn is_interrupted() -> bool {
    backchat_chat::examine(backchat_chat::Budget::default(), || backchat_chat::ended().is_some())
}

/// Renders and proves a document.
pub fn proved(document: &Document, settings: &Settings, memory: &mut Memory) -> Analysis {
    let texts = ChatText::all(document);
    let mut analysis = Analysis::default();
    let mut found = texts.iter().flat_map(syntax).collect::<Vec<_>>();
    if document.text.len() <= LARGEST {
        found.extend(texts.iter().flat_map(undefined::findings));
        let proves = settings.proof != ProofMode::Off;
        let chosen = ChatText::for_tools(&texts);
        let is_chosen = |text: &ChatText| chosen.is_some_and(|chosen| std::ptr::eq(chosen, text));
        let others = texts.iter().filter(|text| !is_chosen(text));
        for text in chosen.into_iter().chain(others).take(4).filter(|_| proves) {
            let (facts, findings) = memory.chat(&document.path, text, &folder::source_of(document, text), settings);
            found.extend(findings);
            if is_chosen(text) {
                analysis.verdict = Some(facts.verdict.clone());
                analysis.chat = Some(facts);
            }
        }
        match document.kind() {
            Kind::Json => found.extend(of_response(document, &texts, settings, memory, &mut analysis)),
            Kind::Fixture => {
                let (findings, cases) =
                    if proves { fixtures::check(document) } else { (fixtures::problems(document), Vec::new()) };
                analysis.cases = cases;
                found.extend(findings);
            }
            _ => {}
        }
    }
    analysis.findings = presented(found, settings);
    analysis
}

fn of_response(
    document: &Document,
    texts: &[ChatText],
    settings: &Settings,
    memory: &mut Memory,
    analysis: &mut Analysis,
) -> Vec<Finding> {
    let mut found = response::lint(document, settings);
    if settings.proof == ProofMode::Off {
        return found;
    }
    let Some(Ok(opened)) = response::open(document) else { return found };
    let Some(source) = folder::chat_template_beside(&document.path) else { return found };
    let template = &opened.loaded.template;
    let proven = prove(&source.template, template, &folder::options(&source, settings));
    let chat = match ChatText::for_tools(texts) {
        Some(own) => Some((document.clone(), own.clone())),
        None => chat_document(Path::new(&source.file)),
    };
    let verdict = response::verdict(&proven);
    let mut printed = Vec::new();
    if let Some((document, text)) = &chat {
        let (facts, _) = memory.chat(&document.path, text, &folder::source_of(document, text), settings);
        printed = chat_facts::printed(&facts.conversations, template);
        if analysis.chat.is_none() {
            analysis.chat = Some(facts);
        }
    }
    let chat = chat.as_ref().map(|(document, text)| (&document.path, text));
    found.extend(response::refuted(document, &proven, chat));
    analysis.response = Some(Arc::new(ResponseFacts { verdict: verdict.clone(), printed }));
    // A config with both templates is known by its response template.
    analysis.verdict = Some(verdict);
    found
}

/// The chat template of a file or its document.
pub fn chat_text_of(path: &Path) -> Option<ChatText> {
    chat_document(path).map(|(_, text)| text)
}

fn chat_document(path: &Path) -> Option<(Document, ChatText)> {
    let text = folder::read(path)?;
    let document = Document::new(path.to_owned(), "", 0, &text, true);
    let text = ChatText::for_tools(&ChatText::all(&document))?.clone();
    Some((document, text))
}
