//! From a chat template to a response template, with the evidence and the proof.
//!
//! Nothing here knows any model. Conversations that differ in one thing are rendered, every value in them a needle that
//! cannot occur by accident, and where the needles land tells what the template writes around them. The phases run in
//! the order of the modules `turn` (with `header`), `reasoning`, `calls` (with `arguments`) and `content`; `draft` turns
//! what they found into a response template, and `proof` renders other conversations and parses them back with it.

mod arguments;
mod calls;
mod capability;
mod choose;
mod compile;
mod content;
mod draft;
mod evidence;
mod explain;
mod findings;
mod header;
mod limits;
mod marks;
mod proof;
mod prove;
mod reasoning;
mod recorded;
mod report;
mod scan;
mod turn;

#[doc(hidden)]
pub use proof::tools as proof_tools;
pub use proof::{Boundary, Failure, Fault, Loss, Part, Scope, Unverified, Verdict};
pub use prove::{Proven, prove};
pub use recorded::{Departure, Explained, Sample};
pub use report::{Derivation, Status};

use crate::chat::ChatTemplate;
use crate::diagnostic::Diagnostic;
use crate::json::{Object, Value};
use crate::template::Template;
use crate::wire::{conversation, probe, python, reads};
use draft::Leeway;
use findings::Findings;
use probe::Prober;
use proof::Proof;

/// What a derivation may be told beside the chat template.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Variables for every render, such as `bos_token` and `eos_token`.
    pub variables: Object,
    /// What `strftime_now` sees.
    pub now: Option<String>,
    /// The name of the reasoning field, instead of the one the template reads.
    pub reasoning_field: Option<String>,
    /// Tokens a server leaves out when it decodes without special tokens.
    pub special_tokens: Vec<String>,
    /// Outputs the model really wrote, which the draft should explain.
    pub samples: Vec<Sample>,
}

/// What every draft has a field or a default for.
const TAKEN: [&str; 3] = ["content", "tool_calls", "role"];

/// Derives a response template from the source of a chat template.
pub fn derive(source: &str, options: &Options) -> Derivation {
    let template = match ChatTemplate::compile(source) {
        Ok(template) => template,
        Err(error) => return Derivation::failed(error.diagnostic(source, "")),
    };
    if let Some(name) = options.reasoning_field.as_deref().filter(|name| TAKEN.contains(name)) {
        let message =
            format!("the reasoning cannot be called `{name}`: the message keeps something else under that name");
        let help = "give it another name, such as `reasoning_content` or `thinking`".to_owned();
        return Derivation::failed(problem("derive-name-taken", &message, Some(help)));
    }
    let mut prober = Prober::new(&template, &options.variables, options.now.clone());
    let Some(mut findings) = findings::find(&template, &mut prober, options) else {
        return Derivation::failed(no_content(&template, source, &prober));
    };
    // Marks that change with what is called are none that a draft could name.
    if holds_needles(&findings) {
        findings.calls = None;
    }
    if holds_needles(&findings) {
        findings.reasoning = None;
    }
    let Some(mut proof) = Proof::new(&template, &options.variables, options.now.clone()) else {
        return Derivation::failed(no_content(&template, source, &prober));
    };
    proof.any_reasoning_name = options.reasoning_field.is_some();
    let found = choose::choose(&template, &proof, options);
    let is_read = found.as_ref().is_some_and(Attempt::is_whole);
    let leeways = if is_read { Vec::new() } else { Leeway::all(&findings).to_vec() };
    let drafts = leeways.iter().filter_map(|leeway| attempt(&proof, &findings, options, *leeway));
    // Of two that both fail conversations the one whose structure came from renders is the better.
    let chosen = match (found, best(drafts)) {
        (Some(found), Some(known)) if !known.is_whole() => Some(found),
        (found, known) => known.or(found),
    };
    let Some(best) = chosen else {
        return Derivation::failed(problem("derive-draft", "the draft does not load as a response template", None));
    };
    // The same tools everywhere: renders to compare should differ in one thing.
    prober.offered = findings.calls.is_some().then(|| probe::tools(prober.manner));
    report::report(&prober, findings, best, proof.tried(), options)
}

/// A draft, its proof, and the samples it does not explain.
struct Attempt {
    draft: Value,
    verdict: Verdict,
    explained: Explained,
}

impl Attempt {
    /// Proves a template and reads the samples with it.
    fn of(template: &Template, proof: &Proof<'_>, options: &Options) -> Self {
        Self {
            draft: template.to_value(),
            verdict: proof.judge(template),
            explained: proof.explain(&options.samples, template),
        }
    }

    /// Whether there is nothing to improve.
    fn is_whole(&self) -> bool {
        self.verdict.holds() && self.explained.departures.is_empty()
    }

    /// The less, the better.
    fn rank(&self) -> (usize, usize) {
        (self.verdict.failed(), self.explained.departures.len())
    }
}

/// Drafts and proves; nothing where the draft does not load.
fn attempt(proof: &Proof<'_>, findings: &Findings, options: &Options, leeway: Leeway) -> Option<Attempt> {
    let template = Template::from_value(&draft::draft(findings, leeway)).ok()?.template;
    Some(Attempt::of(&template, proof, options))
}

/// Whether a draft of these findings would name what a probe said.
fn holds_needles(findings: &Findings) -> bool {
    let [leeway, ..] = Leeway::all(findings);
    let text = draft::draft(findings, leeway).to_string();
    probe::needle::BEGINNINGS.iter().any(|beginning| text.contains(beginning))
}

/// The first draft that proves out and explains every sample, or else the one that comes closest.
fn best(attempts: impl Iterator<Item = Attempt>) -> Option<Attempt> {
    let mut best: Option<Attempt> = None;
    for attempt in attempts {
        if attempt.is_whole() {
            return Some(attempt);
        }
        if best.as_ref().is_none_or(|known| attempt.rank() < known.rank()) {
            best = Some(attempt);
        }
    }
    best
}

/// Why there is nothing to derive from: no answer was rendered, or none left a trace.
fn no_content(template: &ChatTemplate, source: &str, prober: &Prober) -> Diagnostic {
    let Some(error) = prober.refuses_answers() else {
        let help = "render it with `backchat render` and see whether an assistant message leaves a trace".to_owned();
        return problem("derive-no-content", "this chat template shows no content of an assistant message", Some(help));
    };
    let mut diagnostic = error.diagnostic(source, "");
    diagnostic.message = format!("the chat template refused every conversation: {}", diagnostic.message);
    let unset: Vec<String> = prober.unset_tokens(template).iter().map(|name| format!("`--set {name}=…`")).collect();
    if !unset.is_empty() {
        let options = unset.join(" and ");
        diagnostic.help = Some(format!("special tokens are not known here: add {options}, or name the model folder"));
    }
    diagnostic
}

fn problem(id: &'static str, message: &str, help: Option<String>) -> Diagnostic {
    Diagnostic { help, ..Diagnostic::error(id, message) }
}
