//! What changes for whom between two chat templates.

mod change;
mod reading;
mod token_ids;
mod words;

use std::fmt;

use crate::compare::{Comparison, minimal};
use crate::kinds::{Dim, Kind, Universe};
use crate::search::{self, Coverage, Idle};
use crate::side::{Chat, Outcome, Side};
use backchat_chat::{Budget, ChatTemplate, RenderError, canonical, examine, switches};
use backchat_core::json::{Object, Value};
use backchat_probe::doctor;
use backchat_probe::probe::NOW;

pub use change::{Case, Change, LineHunk, Touched, What};
pub use reading::Drafts;
pub(crate) use reading::is_proved;

/// How many kinds every comparison renders.
const KINDS: usize = 4_600;

/// How many settings of variables are combined with the dimensions.
const MOST_SETTINGS: usize = 28;

/// The seconds of work that a comparison may take by default.
const SECONDS: f64 = 10.0;

/// The work of one second, in multiples of the budget of an examination.
const PER_SECOND: f64 = 1.0;

/// Why a search ended that did all its work. The budget's own reason asks for a budget; a comparison is given seconds.
const SPENT: &str = "the seconds for the search are used up; with more of them it tries more conversations";

/// How two chat templates are compared.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) now: Option<String>,
    pub(crate) seconds: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { now: None, seconds: SECONDS }
    }
}

impl Options {
    /// The clock that `strftime_now` reads.
    #[must_use]
    pub fn now(mut self, now: impl Into<Option<String>>) -> Self {
        self.now = now.into();
        self
    }

    /// The seconds of work after which the search ends. The work is counted, not timed: the answer is the same on every
    /// machine.
    #[must_use]
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }

    pub(crate) fn clock(&self) -> &str {
        self.now.as_deref().unwrap_or(NOW)
    }
}

/// Whether two templates behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No conversation differs.
    Same,
    /// Some conversation differs.
    Differs,
    /// No conversation differs, but a part that the edit touches did not run, or a filter of it changed nothing.
    Undecided,
}

impl Verdict {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Why two templates cannot be compared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// One does not compile: the old one, or the new one.
    NotCompiled {
        /// Whether it is the new one.
        is_new: bool,
        /// What is wrong, and where.
        error: RenderError,
    },
    /// Both refuse every conversation, each with this message.
    RefusesAll {
        /// The messages of the old one and of the new one.
        messages: [String; 2],
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotCompiled { is_new, error } => {
                write!(out, "the {} chat template does not compile: {error}", if *is_new { "new" } else { "old" })
            }
            Problem::RefusesAll { messages: [old, new] } => {
                write!(
                    out,
                    "both chat templates refuse every conversation: the old one says `{old}`, the new one `{new}`"
                )
            }
        }
    }
}

impl std::error::Error for Problem {}

/// A fact of `doctor` that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct FactChange {
    /// Its name.
    pub fact: String,
    /// What it was.
    pub old: Value,
    /// What it is.
    pub new: Value,
}

/// What a model writes after a prompt, as the renders of an answer show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What asks for it.
    pub prompt: String,
    /// What is after the answer's text.
    pub end: String,
}

/// What changes between two chat templates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChatDiff {
    /// Whether they behave alike.
    pub verdict: Verdict,
    /// Whether they are one program.
    pub is_proved: bool,
    /// How many conversations were rendered with both.
    pub conversations: usize,
    /// How many of them differed.
    pub differing: usize,
    /// The variables whose values were varied.
    pub variables: Vec<String>,
    /// The branches of both, and those that no conversation took.
    pub coverage: [Coverage; 2],
    /// The lines of untaken branches that the edit touches, on either side.
    pub touched: [Vec<usize>; 2],
    /// The filters, methods and slices that the edit touches and that changed nothing, on either side.
    pub idle: [Vec<Idle>; 2],
    /// The differences.
    pub changes: Vec<Change>,
    /// The dimensions of no case.
    pub unchanged: Vec<Dim>,
    /// What the model writes.
    pub turn: [Turn; 2],
    /// The facts that changed.
    pub facts: Vec<FactChange>,
    /// Special tokens that differ.
    pub tokens: Vec<FactChange>,
    /// The ids of special tokens that differ; `null` is a text that is no single token.
    pub token_ids: Vec<FactChange>,
    /// The drafts of both, if a change may affect them.
    pub drafts: Option<Drafts>,
    /// How many bytes a prompt with history shares with the one that a server cached before.
    pub shared_bytes: Option<usize>,
    /// Why the search ended early.
    pub ended: Option<&'static str>,
    /// The sources of both, for the lines that are named.
    pub(crate) sources: [String; 2],
}

/// Compares two chat templates by what they make of conversations.
///
/// # Errors
///
/// One does not compile, or both refuse everything.
pub fn chat_templates(old: &Chat, new: &Chat, options: &Options) -> Result<ChatDiff, Problem> {
    let compiled = |chat: &Chat, is_new| Side::new(chat).map_err(|error| Problem::NotCompiled { is_new, error });
    let sides = [compiled(old, false)?, compiled(new, true)?];
    let work = || {
        let mut diff = compared([&sides[0], &sides[1]], options)?;
        diff.tokens = tokens(old, new);
        diff.token_ids = token_ids::changes([old, new], &diff.changes);
        diff.drafts = reading::drafts([old, new], &diff.changes, options);
        diff.facts = facts([old, new], [&sides[0].template, &sides[1].template], options);
        diff.ended = backchat_chat::ended().map(|why| if backchat_chat::left() == Some(0) { SPENT } else { why });
        Ok(diff)
    };
    examine(Budget::times(options.seconds * PER_SECOND), work)
}

/// The settings of variables that either template may switch by.
fn settings(sides: [&Side; 2]) -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = Vec::new();
    for side in sides {
        for (name, values) in switches(&side.template, &Object::new()) {
            let values = [true.into(), "zqv".into()].into_iter().chain(values);
            for value in values {
                backchat_core::push_new(&mut found, (name.to_owned(), value));
            }
        }
    }
    found.truncate(MOST_SETTINGS);
    found
}

fn compared(sides: [&Side; 2], options: &Options) -> Result<ChatDiff, Problem> {
    let settings = settings(sides);
    let mut variables: Vec<String> = settings.iter().map(|(name, _)| name.clone()).collect();
    variables.dedup();
    let universe = Universe::new(settings, options.clock());
    let mut comparison = Comparison::new(sides, universe);
    let is_proved = {
        let programs = sides.map(|side| canonical(&side.template));
        !programs[0].is_empty() && programs[0] == programs[1]
    };
    comparison.add_all(if is_proved { 1 } else { KINDS });
    refuse_if_nothing_renders(&comparison)?;
    let found = minimal(&mut comparison);
    let mut search = search::Search::new(&comparison);
    let cases = search.run(&mut comparison, &found, is_proved);
    let mut changes = change::changes(&comparison, &found, cases);
    for change in &mut changes {
        change.summary = words::summary(change.what, &change.cases, &change.hunks);
    }
    let touched = if is_proved { Default::default() } else { search.touched_and_untaken(&comparison) };
    let idle = if is_proved { Default::default() } else { search.idle() };
    let verdict = match changes.is_empty() {
        false => Verdict::Differs,
        true if touched.iter().all(Vec::is_empty) && idle.iter().all(Vec::is_empty) => Verdict::Same,
        true => Verdict::Undecided,
    };
    let used = changes.iter().flat_map(|change| &change.cases).fold(Kind::NONE, |all, case| all.union(case.kind));
    Ok(ChatDiff {
        verdict,
        is_proved,
        conversations: comparison.order.len() + search.tried(),
        differing: comparison.known.values().filter(|known| !known.pieces.is_empty()).count(),
        variables,
        coverage: search.coverage(&comparison),
        touched,
        idle,
        unchanged: Dim::ALL.iter().copied().filter(|dim| !used.has(*dim)).collect(),
        turn: turns(&comparison),
        changes,
        facts: Vec::new(),
        tokens: Vec::new(),
        token_ids: Vec::new(),
        drafts: None,
        shared_bytes: reading::shared_bytes(&comparison),
        ended: None,
        sources: sides.map(|side| side.template.source().to_owned()),
    })
}

/// Refuses two templates that render no conversation.
fn refuse_if_nothing_renders(comparison: &Comparison<'_>) -> Result<(), Problem> {
    if comparison.known.values().any(|known| known.is_refused != [true, true]) {
        return Ok(());
    }
    let smallest = crate::kinds::conversation(Kind::NONE, &comparison.universe);
    let message = |outcome: &Outcome| match outcome {
        Outcome::Refused(message) => message.clone(),
        Outcome::Text { .. } => String::new(),
    };
    let messages = comparison.outcomes(&smallest).map(|outcomes| [message(&outcomes[0]), message(&outcomes[1])]);
    Err(Problem::RefusesAll { messages: messages.unwrap_or_default() })
}

/// The prompt, and what follows an answer.
fn turns(comparison: &Comparison<'_>) -> [Turn; 2] {
    let texts = |dims: &[Dim]| {
        let written = crate::kinds::conversation(Kind::of(dims).closed(), &comparison.universe);
        comparison.outcomes(&written).map(|outcomes| outcomes.map(|outcome| outcome.text().map(str::to_owned)))
    };
    let [asked, plain, answered] = [texts(&[Dim::Prompt]), texts(&[]), texts(&[Dim::Answer])];
    [0, 1].map(|side: usize| {
        let of = |texts: &Option<[Option<String>; 2]>| texts.as_ref().and_then(|texts| texts.get(side)?.clone());
        let (Some(asked), Some(plain)) = (of(&asked), of(&plain)) else { return Turn::default() };
        let prompt = asked.strip_prefix(plain.as_str()).unwrap_or_default().to_owned();
        let end = of(&answered).and_then(|text| Some(text.split_once("zqa1")?.1.to_owned()));
        Turn { prompt, end: end.unwrap_or_default() }
    })
}

/// The special tokens and variables that the sides do not share.
fn tokens(old: &Chat, new: &Chat) -> Vec<FactChange> {
    let names = backchat_core::distinct(old.variables.keys().chain(new.variables.keys()));
    let change = |name: &str| {
        let [one, other] = [old, new].map(|chat| chat.variables.get(name).cloned().unwrap_or_default());
        (one != other).then(|| FactChange { fact: name.to_owned(), old: one, new: other })
    };
    names.into_iter().filter_map(change).collect()
}

fn facts(chats: [&Chat; 2], templates: [&ChatTemplate; 2], options: &Options) -> Vec<FactChange> {
    let examined = |chat: &Chat, template: &ChatTemplate| {
        let given = doctor::Options::default().variables(chat.variables.clone());
        doctor::facts(template, &given.now(Some(options.clock().to_owned())))
    };
    let [old, new] = [examined(chats[0], templates[0]), examined(chats[1], templates[1])];
    let change = |fact: &doctor::Fact| {
        let other = new.iter().find(|other| other.name == fact.name)?;
        let is_changed = other.value != fact.value;
        is_changed.then(|| FactChange { fact: fact.name.to_owned(), old: fact.value.clone(), new: other.value.clone() })
    };
    old.iter().filter_map(change).collect()
}
