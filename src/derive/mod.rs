//! From a chat template to a response template, with the evidence and the proof.
//!
//! Nothing here knows any model. Conversations that differ in one thing are rendered, every value in them a needle that
//! cannot occur by accident, and where the needles land tells what the template writes around them. The phases run in
//! the order of the modules `turn` (with `header`), `reasoning`, `calls` (with `arguments`) and `content`; `draft` turns
//! what they found into a response template, and `verify` renders other conversations and parses them back with it.

mod arguments;
mod calls;
mod capability;
mod content;
mod conversation;
mod draft;
mod evidence;
mod explain;
mod findings;
mod header;
mod limits;
mod marks;
mod probe;
mod python;
mod reads;
mod reasoning;
mod report;
mod sample;
mod samples;
mod scan;
mod turn;
mod verify;

pub use report::{Derivation, Status};
pub use sample::tools as proof_tools;

use crate::chat::ChatTemplate;
use crate::diagnostic::Diagnostic;
use crate::json::{Object, Value};
use crate::template::Template;
use draft::Leeway;
use findings::Findings;
use probe::Prober;
use samples::Departure;
use verify::Proof;

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

/// An output a model really wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// How to name it in a report.
    pub name: String,
    /// The prompt, up to where the model wrote.
    pub prefix: Option<String>,
    /// What it wrote.
    pub text: String,
    /// The message it means, where that is known.
    pub message: Option<Value>,
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
    prober.offered = findings.calls.is_some().then(sample::tools);
    let leeways = Leeway::all(&findings);
    let attempts = leeways.iter().filter_map(|leeway| attempt(&prober, &findings, options, *leeway));
    let Some(best) = best(attempts) else {
        return Derivation::failed(problem("derive-draft", "the draft does not load as a response template", None));
    };
    // The same tools everywhere: renders to compare should differ in one thing.
    prober.offered = findings.calls.is_some().then(|| probe::tools(prober.manner));
    report::report(&prober, findings, best, options)
}

/// A draft, its proof, and the samples it does not explain.
struct Attempt {
    draft: Value,
    proof: Proof,
    departures: Vec<Departure>,
}

/// Drafts and proves; nothing where the draft does not load.
fn attempt(prober: &Prober, findings: &Findings, options: &Options, leeway: Leeway) -> Option<Attempt> {
    let template = Template::from_value(&draft::draft(findings, leeway)).ok()?.template;
    let draft = template.to_value();
    let proof = verify::verify(prober, findings, &template);
    let departures = samples::departures(&options.samples, &template, findings);
    Some(Attempt { draft, proof, departures })
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
        if attempt.proof.holds() && attempt.departures.is_empty() {
            return Some(attempt);
        }
        let closer = best.as_ref().is_none_or(|known| {
            (attempt.proof.passed, known.departures.len()) > (known.proof.passed, attempt.departures.len())
        });
        if closer {
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
