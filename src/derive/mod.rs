//! From a chat template to a response template, with the evidence and the proof.
//!
//! Nothing here knows any model. `wire` renders conversations that differ in one thing and infers how the template writes
//! the model's turn; `compile` turns that structure and a record of choices into a response template; `choose` searches
//! the choices, led by what `proof` refutes: it renders other conversations and parses them back.

mod choose;
mod compile;
mod evidence;
mod explain;
mod findings;
mod limits;
mod needed;
mod proof;
mod prove;
mod recorded;
mod report;

pub use findings::Findings;
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
use crate::wire::probe::Prober;
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
    let found = attempt(&template, source, options).or_else(|| {
        let (options, names) = needed::fill(&template, options)?;
        let mut derivation = attempt(&template, source, &options)?;
        derivation.diagnostics.insert(0, needed::note(&names));
        Some(derivation)
    });
    found.unwrap_or_else(|| {
        let prober = Prober::new(&template, &options.variables, options.now.clone());
        Derivation::failed(no_content(&template, source, &prober))
    })
}

/// Derives with these variables; nothing where no answer's content shows.
fn attempt(template: &ChatTemplate, source: &str, options: &Options) -> Option<Derivation> {
    let mut proof = Proof::new(template, &options.variables, options.now.clone())?;
    proof.any_reasoning_name = options.reasoning_field.is_some();
    let mut prober = proof.prober();
    let chosen = choose::choose(&mut prober, &proof, options)?;
    Some(report::report(&prober, chosen, &proof, source, options))
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
