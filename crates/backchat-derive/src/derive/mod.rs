//! From a chat template to a response template, with the evidence and the proof.
//!
//! There is no per-model code. `wire` renders conversations that differ in one thing and infers how the template writes
//! the model's turn. `compile` turns that structure and a record of choices into a response template. `choose` searches
//! the choices, guided by the failures of `proof`, which renders other conversations and parses them back.

#[cfg(test)]
mod ablation;
#[cfg(test)]
mod by_hand;
mod choose;
mod compile;
mod evidence;
mod explain;
mod findings;
mod inexpressible;
mod learned;
mod model;
mod needed;
mod proof;
mod prove;
mod readers;
mod recorded;
mod remedies;
mod report;
mod shown;
mod summary;

pub use crate::targets::Target;
pub use compile::value_end;
pub use evidence::Evidence;
pub use findings::{Findings, evidence};
pub use model::Model;
pub use needed::{FILLED, with_variable_fields};
pub use proof::{
    Conversation, Cuts, Failure, Fate, Hunt, Hunted, Loss, Part, PolicyRounds, ReadableTurn, ReadableTurns,
    RefusedPart, Scope,
};
pub use proof::{
    Tolerance, Unverified, Verdict, conversations, reasoning_field, tools as proof_tools, with_conversations,
};
pub use prove::{Held, Pair, Proven, hunt, prove, prove_and_list, readable_turns};
pub use readers::{ReaderVerdict, rewrite};
pub use recorded::{Departure, Explained, Sample};
pub use report::{Derivation, Remedy, Status};
pub use shown::{Coverage, Mark, Shown, derive_and_show};

use crate::targets::Refusal;
use backchat_chat::source::Source;
use backchat_chat::{Budget, ChatTemplate, RenderErrorKind, ended, examine};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::distinct;
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;
use backchat_probe::probe::{NOW, Prober};
use choose::Chosen;
use needed::{Gaps, VariableInput};
use proof::Proof;
use readers::{Fitted, ReaderSet};
use recorded::Lessons;

/// Options of a derivation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The variables that every render gets in addition to the conversation.
    pub variables: Object,
    /// The time that the chat template sees, as in [`Options::now`].
    pub(crate) now: Option<String>,
    pub(crate) reasoning_field: Option<String>,
    /// The texts of the tokenizer's special tokens.
    pub special_tokens: Vec<String>,
    /// Recorded outputs, which the draft is tested on.
    pub samples: Vec<Sample>,
    pub(crate) targets: Vec<&'static Target>,
    pub(crate) thorough: bool,
    pub(crate) leaves_policies: bool,
    pub(crate) budget: Budget,
    pub(crate) variable_input: VariableInput,
    /// The files that the special tokens come from, by their names.
    token_files: Vec<(String, String)>,
}

impl Options {
    /// The options for a source, as `backchat derive` sets them: its special tokens, and a fixed clock.
    #[must_use]
    pub fn for_source(source: &Source) -> Self {
        let variables = source.special_tokens.clone();
        let special_tokens = variables.values().filter_map(Value::as_str).map(str::to_owned).collect();
        let files = variables.keys().filter_map(|name| Some((name.to_owned(), source.file_of_token(name)?)));
        let token_files = files.collect();
        Self { variables, special_tokens, token_files, now: Some(NOW.to_owned()), ..Self::default() }
    }

    /// Variables for every render, such as `bos_token` and `eos_token`.
    #[must_use]
    pub fn variables(mut self, variables: Object) -> Self {
        self.token_files.retain(|(name, _)| self.variables.get(name) == variables.get(name));
        self.variables = variables;
        self
    }

    /// The clock that `strftime_now` reads.
    #[must_use]
    pub fn now(mut self, now: impl Into<Option<String>>) -> Self {
        self.now = now.into();
        self
    }

    /// The name of the reasoning field, instead of the one the template reads.
    #[must_use]
    pub fn reasoning_field(mut self, name: impl Into<Option<String>>) -> Self {
        self.reasoning_field = name.into();
        self
    }

    /// Tokens a server leaves out when it decodes without special tokens.
    #[must_use]
    pub fn special_tokens(mut self, tokens: Vec<String>) -> Self {
        self.special_tokens = tokens;
        self
    }

    /// Whether a proof also cuts every conversation at every character, which takes long.
    #[must_use]
    pub fn thorough(mut self, thorough: bool) -> Self {
        self.thorough = thorough;
        self
    }

    /// Whether a derivation skips the rounds with recovery policies, for callers that prove the draft anyway.
    #[must_use]
    #[doc(hidden)]
    pub fn leave_policies(mut self, leaves: bool) -> Self {
        self.leaves_policies = leaves;
        self
    }

    /// The work that each derivation and each proof may do: it ends there, with an incomplete result that says so.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Recorded outputs of the model, which the draft should explain.
    #[must_use]
    pub fn samples(mut self, samples: Vec<Sample>) -> Self {
        self.samples = samples;
        self
    }

    /// The readers that must accept the draft. By default, it suits as many readers as possible at no cost.
    #[must_use]
    pub fn targets(mut self, targets: Vec<&'static Target>) -> Self {
        self.targets = targets;
        self
    }

    /// Where a special token comes from, in words: a file of the model, or the variables of the caller.
    fn origin_of(&self, token: &str) -> String {
        match self.token_files.iter().find(|(name, _)| name == token) {
            Some((_, file)) => format!("`{token}` of {file}"),
            None => format!("the variable `{token}`"),
        }
    }

    /// Whether the reasoning may have a name that the chat template does not read.
    pub(crate) fn any_reasoning_name(&self) -> bool {
        self.reasoning_field.is_some() || ReaderSet::new(&self.targets).renames()
    }
}

/// Whether a field may hold reasoning: its key of the message has no other meaning.
fn may_be_reasoning(name: &str) -> bool {
    !["content", "tool_calls", "role"].contains(&name)
}

/// Derives a response template from the source of a chat template. If the draft is not proved, tries remedies and takes
/// the best result.
pub fn derive(source: &str, options: &Options) -> Derivation {
    examine(options.budget, || {
        let (derivation, _) = derive_with(source, options, |_, _| ());
        derivation.noting_the_end(ended())
    })
}

/// Derives, and also computes something from the choice that the derivation reports.
fn derive_with<T>(source: &str, options: &Options, make: impl Fn(&Chosen, &Job<'_>) -> T) -> (Derivation, Option<T>) {
    let once = |options: &Options| derive_once(source, options, &make);
    remedies::apply(once(options), options, once)
}

fn derive_once<T>(source: &str, options: &Options, make: &impl Fn(&Chosen, &Job<'_>) -> T) -> (Derivation, Option<T>) {
    let derived = compiled(source).and_then(|template| {
        derive_and(&template, options, |chosen, job| {
            let made = make(&chosen, job);
            (report::report(chosen, job), made)
        })
    });
    match derived {
        Ok(((mut derivation, made), gaps)) => {
            derivation.missing = gaps.report(derivation.response_template.as_ref(), &mut derivation.diagnostics);
            if derivation.missing.is_some() {
                derivation.status = Status::Partial;
            }
            (derivation, Some(made))
        }
        Err(diagnostic) => (Derivation::failed(diagnostic), None),
    }
}

fn compiled(source: &str) -> Result<ChatTemplate, Diagnostic> {
    ChatTemplate::compile(source).map_err(|error| error.diagnostic(source, ""))
}

/// Derives, and runs a closure on the result while the proof and its cached renders exist. Also returns the missing
/// variables.
fn derive_and<T>(
    template: &ChatTemplate,
    options: &Options,
    make: impl FnOnce(Chosen, &Job<'_>) -> T,
) -> Result<(T, Gaps), Diagnostic> {
    if let Some(name) = options.reasoning_field.as_deref().filter(|name| !may_be_reasoning(name)) {
        let message = format!("the reasoning cannot be called `{name}`: that key of the message has another meaning");
        let help = "choose another name, such as `reasoning_content` or `thinking`";
        return Err(Diagnostic::error("derive-name-taken", message).help(help));
    }
    with_proof(template, options, |proof, options| {
        let job = Job::new(proof, options);
        Some(make(job.run()?, &job))
    })
}

/// Fills the variables that a chat template requires, and runs a closure on its proof and the filled options. Also
/// returns the missing variables.
fn with_proof<T>(
    template: &ChatTemplate,
    options: &Options,
    work: impl for<'t> FnOnce(Proof<'t>, &'t Options) -> Option<T>,
) -> Result<(T, Gaps), Diagnostic> {
    let gaps = Gaps::find(template, options);
    let options = gaps.options.as_ref().unwrap_or(options);
    let done = Proof::new(template, options).and_then(|proof| work(proof, options));
    let done = done.ok_or_else(|| no_content(template, options))?;
    Ok((done, gaps))
}

/// The proof of a chat template, and the options and readers that drafts are for.
struct Job<'t> {
    proof: Proof<'t>,
    options: &'t Options,
    readers: ReaderSet,
}

impl<'t> Job<'t> {
    fn new(proof: Proof<'t>, options: &'t Options) -> Self {
        Self { proof, options, readers: ReaderSet::new(&options.targets) }
    }

    /// Derives; `None` if no render shows the content of an answer.
    fn run(&self) -> Option<Chosen> {
        let mut chosen = choose::choose(self)?.taught(self);
        if let Ok(loaded) = Template::from_value(&chosen.attempt.draft) {
            chosen.attempt.verdict = self.proof.with_branches(&loaded.template, chosen.attempt.verdict);
        }
        if chosen.attempt.verdict.holds()
            && !self.options.leaves_policies
            && let Ok(loaded) = Template::from_value(&chosen.attempt.draft)
        {
            chosen.attempt.verdict.policies = self.proof.policies(&loaded.template, false);
            chosen.attempt.verdict.ended = ended();
        }
        Some(chosen)
    }
}

/// A draft, its proof, the samples it does not explain, and the objections of its readers.
#[derive(Clone)]
struct Attempt {
    draft: Value,
    verdict: Verdict,
    explained: Explained,
    /// Why its readers refuse it.
    refusals: Vec<Refusal>,
    /// Why they refuse another draft that reads everything.
    avoided: Vec<Refusal>,
    /// The alternatives of delimiters that were dropped for the readers.
    dropped: Vec<(String, String)>,
    /// The draft before it was changed for the readers, if it was.
    whole: Option<Value>,
    /// How many readers were requested.
    requested: usize,
    /// What was learned from samples beyond the renders.
    lessons: Lessons,
}

impl Attempt {
    /// Proves a template and reads the samples with it; `None` if it does not load.
    fn prove(way: Fitted, job: &Job<'_>) -> Option<Self> {
        let Job { proof, options, readers } = job;
        let template = Template::from_value(&way.template).ok()?.template;
        Some(Self {
            draft: template.to_value(),
            verdict: proof.judge(&template),
            explained: proof.explain(&options.samples, &template),
            refusals: readers.refusals(&template),
            avoided: Vec::new(),
            dropped: way.dropped,
            whole: None,
            requested: readers.requested(),
            lessons: Lessons::default(),
        })
    }

    /// Proves a draft and, if readers refuse it, the ways to write it for them. Returns the best, the closest of equals.
    fn for_readers(draft: Value, job: &Job<'_>) -> Option<Self> {
        let as_it_is = Self::prove(Fitted { template: draft.clone(), dropped: Vec::new() }, job)?;
        if as_it_is.refusals.is_empty() {
            return Some(as_it_is);
        }
        // A draft that does not read everything will not read it with fewer constructs.
        let most = if as_it_is.reads_all() { usize::MAX } else { 1 };
        let (whole, mut unread) = (as_it_is.clone(), None);
        let mut best = None;
        keep(&mut best, as_it_is);
        for way in job.readers.ways(&draft).into_iter().take(most) {
            let Some(mut attempt) = Self::prove(way, job) else { continue };
            attempt.whole = (attempt.draft != draft).then(|| draft.clone());
            // An alternative that no conversation of the proof needs may be that of a branch.
            if !attempt.dropped.is_empty() && attempt.reads_all() {
                let known = *unread.get_or_insert_with(|| whole.unread_branches(job));
                if attempt.unread_branches(job) > known {
                    continue;
                }
            }
            let is_best = attempt.reads_all() && attempt.refusals.is_empty();
            keep(&mut best, attempt);
            if is_best {
                break;
            }
        }
        best
    }

    /// The draft that also reads what its readers allow it to join, and what samples and branches teach.
    fn taught(mut self, job: &Job<'_>) -> Self {
        let whole = self.whole.take().filter(|_| self.refusals.is_empty());
        let learn = |attempt: Self| attempt.with_joined_text(job).with_lessons(job).with_branches(job);
        let taught = learn(self);
        let Some(whole) = whole.filter(|_| !taught.refusals.is_empty()) else { return taught };
        // Readers refuse what was learned, so that the draft was changed for them in vain.
        let reads = |attempt: &Self| (attempt.rank(), attempt.unread_branches(job));
        let other = Self::prove(Fitted { template: whole, dropped: Vec::new() }, job).map(learn);
        other.filter(|other| reads(other) < reads(&taught)).unwrap_or(taught)
    }

    /// How many turns that take a branch it misreads.
    fn unread_branches(&self, job: &Job<'_>) -> usize {
        let loaded = Template::from_value(&self.draft);
        loaded.map_or(0, |loaded| job.proof.unread_turns(&loaded.template, true).len())
    }

    /// The draft that also keeps every piece of a text, if its readers allow that and it costs nothing.
    fn with_joined_text(self, job: &Job<'_>) -> Self {
        let joined = job.readers.joined(&self.draft).and_then(|joined| self.rewritten(joined, job));
        match joined {
            Some(joined) if joined.rank() <= self.rank() => Self { avoided: self.avoided, ..joined },
            _ => self,
        }
    }

    /// The draft that also reads the forms that only samples with messages show.
    fn with_lessons(self, job: &Job<'_>) -> Self {
        if self.explained.departures.is_empty() {
            return self;
        }
        let (template, lessons) = recorded::learn(&self.draft, &job.options.samples, job);
        let learned = template.and_then(|template| self.rewritten(template, job)).unwrap_or(self);
        let mut verdict = learned.verdict;
        verdict.scope.learned = lessons.parts();
        if verdict.scope.learned.contains(&"calls") {
            verdict.lose_types();
        }
        Self { verdict, lessons, ..learned }
    }

    /// An attempt with another template and the same dropped alternatives.
    fn rewritten(&self, template: Value, job: &Job<'_>) -> Option<Self> {
        Self::prove(Fitted { template, dropped: self.dropped.clone() }, job)
    }

    /// Whether it reads every conversation and every sample.
    fn reads_all(&self) -> bool {
        self.verdict.holds() && self.explained.departures.is_empty()
    }

    /// Whether it reads everything and no requested reader refuses it.
    fn is_whole(&self) -> bool {
        self.reads_all() && (self.refusals.is_empty() || self.requested == 0)
    }

    /// Whether it reads any call.
    fn reads_calls(&self) -> bool {
        self.verdict.scope.proved.contains(&"calls")
    }

    /// Whether fewer conversations are not read exactly, and no more of them misread, and no more samples. Each draft is also
    /// tried with its own delimiters, so that more conversations read may just be more tried.
    fn reads_more_than(&self, other: &Self) -> bool {
        let faults = |attempt: &Self| {
            let departures = attempt.explained.departures.len();
            [attempt.verdict.failed(), attempt.verdict.misplaced(), departures]
        };
        let is_no_worse = faults(self).iter().zip(faults(other)).all(|(fault, known)| *fault <= known);
        let inexact = |attempt: &Self| attempt.verdict.cases - attempt.verdict.passed;
        is_no_worse && inexact(self) < inexact(other)
    }

    /// Lower is better. A draft that every requested reader refuses is of no use; one that some of them refuse still reads
    /// more than a draft that all of them accept and misread.
    fn rank(&self) -> (bool, [usize; 6]) {
        let refusing = distinct(self.refusals.iter().map(|refusal| refusal.reader)).len();
        let departures = self.explained.departures.len();
        let is_useless = self.requested > 0 && refusing >= self.requested;
        let verdict = &self.verdict;
        let [excused, behind] = [&verdict.excused, &verdict.excused_behind].map(Vec::len);
        (is_useless, [verdict.failed(), verdict.misplaced(), departures, excused, refusing, behind])
    }
}

/// Tests repairs with its conversations and samples.
impl recorded::Trial for Job<'_> {
    fn explained(&self, template: &Template) -> Vec<bool> {
        let is_explained =
            |sample: &Sample| self.proof.explain(std::slice::from_ref(sample), template).departures.is_empty();
        self.options.samples.iter().map(is_explained).collect()
    }

    fn prove(&self, template: &Template) -> recorded::Proved {
        let mut verdict = self.proof.judge(template);
        verdict.lose_types();
        let reads_calls = verdict.scope.proved.contains(&"calls");
        recorded::Proved { cases: verdict.cases, failed: verdict.failed(), reads_calls }
    }

    fn prompt<'s>(&'s self, sample: &'s Sample) -> &'s str {
        sample.prefix.as_deref().unwrap_or_else(|| self.proof.usual_prompt())
    }
}

/// Keeps the better attempt, and why readers refuse one that reads everything.
fn keep(best: &mut Option<Attempt>, mut attempt: Attempt) {
    let mut avoided = best.as_mut().map_or_else(Vec::new, |best| std::mem::take(&mut best.avoided));
    if avoided.is_empty() {
        avoided = std::mem::take(&mut attempt.avoided);
    }
    if avoided.is_empty() && attempt.reads_all() {
        avoided.clone_from(&attempt.refusals);
    }
    if best.as_ref().is_none_or(|known| attempt.rank() < known.rank()) {
        *best = Some(attempt);
    }
    if let Some(best) = best {
        best.avoided = avoided;
    }
}

/// Why nothing can be derived: the template refused every answer, or renders none.
fn no_content(template: &ChatTemplate, options: &Options) -> Diagnostic {
    let prober = Prober::new(template, &options.variables, options.now.clone());
    let Some(error) = prober.refuses_answers() else {
        let message = "this chat template does not render the content of assistant messages";
        let help = "render it with `backchat render` and check that the text of an assistant message appears";
        return Diagnostic::error("derive-no-content", message).help(help);
    };
    let mut diagnostic = error.diagnostic(template.source(), "");
    if error.kind() == RenderErrorKind::Exhausted {
        diagnostic.message = format!("the examination ended early, without a result: {}", diagnostic.message);
        return diagnostic.help(report::AFTER_THE_END);
    }
    diagnostic.message = format!("the chat template refused every conversation: {}", diagnostic.message);
    let unset = prober.unset_tokens();
    if !unset.is_empty() {
        let input = options.variable_input;
        let advice = input.set(&unset.iter().map(|name| (name.as_str(), format!("{name}=TEXT"))).collect::<Vec<_>>());
        diagnostic.help = Some(format!("special tokens are not known here: {advice}, or {}", input.source()));
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{Reader, Reason};
    use backchat_core::json::Path;

    fn refusal() -> Refusal {
        Refusal { reader: Reader::Smg, place: Path::default(), reason: Reason::Other, words: "no".to_owned() }
    }

    /// An attempt that reads `passed` of ten conversations, refused or not.
    fn attempt(passed: usize, refusals: Vec<Refusal>, requested: usize) -> Attempt {
        let mut verdict = Verdict { cases: 10, passed, ..Verdict::default() };
        verdict.failures.extend((passed < 10).then(|| Failure {
            count: 10 - passed,
            case: String::new(),
            setting: Object::new(),
            part: Part::Content,
            what: String::new(),
            boundary: None,
            is_malformed: false,
            prefix: String::new(),
            text: String::new(),
            expected: Value::Null,
            got: Value::Null,
        }));
        Attempt {
            draft: passed.to_string().into(),
            verdict,
            explained: Explained::default(),
            refusals,
            avoided: Vec::new(),
            dropped: Vec::new(),
            whole: None,
            requested,
            lessons: Lessons::default(),
        }
    }

    #[test]
    fn a_draft_that_no_requested_reader_accepts_is_worst_and_then_conversations_matter() {
        let best = |attempts: Vec<Attempt>| {
            let mut best = None;
            attempts.into_iter().for_each(|attempt| keep(&mut best, attempt));
            best.unwrap().draft
        };
        let refused = |requested| vec![attempt(10, vec![refusal()], requested), attempt(7, Vec::new(), requested)];
        assert_eq!(best(refused(1)), "7".into(), "the only requested reader refuses the other");
        assert_eq!(best(refused(2)), "10".into(), "the other requested reader accepts it");
        assert_eq!(best(refused(0)), "10".into());
        assert_eq!(best(vec![attempt(8, vec![], 0), attempt(9, vec![], 0), attempt(3, vec![], 0)]), "9".into());
        // Of equals, the first wins, unless a reader refuses it.
        assert_eq!(best(vec![attempt(8, vec![], 0), attempt(8, vec![refusal()], 0)]), "8".into());
        let accepted = Attempt { draft: "accepted".into(), ..attempt(8, vec![], 2) };
        assert_eq!(best(vec![attempt(8, vec![refusal()], 2), accepted]), "accepted".into());
    }

    #[test]
    fn the_best_attempt_says_why_readers_refuse_one_that_reads_everything() {
        let mut best = None;
        keep(&mut best, attempt(10, vec![refusal()], 1));
        keep(&mut best, attempt(7, Vec::new(), 1));
        let best = best.unwrap();
        assert_eq!((best.draft.clone(), best.refusals.len(), best.avoided.len()), ("7".into(), 0, 1));
        assert!(!best.is_whole());
        let mut other = None;
        keep(&mut other, attempt(5, vec![refusal()], 1));
        keep(&mut other, attempt(7, Vec::new(), 1));
        assert!(other.unwrap().avoided.is_empty(), "the refused one did not read everything");
    }

    #[test]
    fn an_attempt_is_whole_if_it_reads_everything_and_no_requested_reader_refuses_it() {
        let is_whole = |passed, refusals: Vec<Refusal>, requested| attempt(passed, refusals, requested).is_whole();
        assert!(is_whole(10, vec![], 1));
        assert!(is_whole(10, vec![refusal()], 0));
        assert!(!is_whole(10, vec![refusal()], 1));
        assert!(!is_whole(10, vec![refusal()], 2));
        assert!(!is_whole(9, vec![], 0));
    }

    #[test]
    fn a_template_that_shows_no_answers_is_diagnosed() {
        let message = |source: &str| {
            let [diagnostic] = derive(source, &Options::default()).diagnostics.try_into().unwrap();
            (diagnostic.id, diagnostic.message)
        };
        assert_eq!(message("{{ messages | length }}").0, "derive-no-content");
        let (_, refused) = message("{{ raise_exception('no') }}");
        assert!(refused.starts_with("the chat template refused every conversation: "), "{refused}");
        let taken = derive(by_hand::CHAT, &Options::default().reasoning_field("content".to_owned()));
        assert_eq!(taken.diagnostics[0].id, "derive-name-taken");
    }
}
