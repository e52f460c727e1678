//! What input a chat template accepts, drops and refuses.
//!
//! ```
//! use backchat::ChatTemplate;
//! use backchat::doctor::{Options, Problem, examine};
//!
//! let template = ChatTemplate::compile(
//!     "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('system comes first') }}\
//!      {% endif %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}",
//! )?;
//! let report = examine(&template, &Options::default());
//! assert_eq!(report.capabilities()["system"].as_str(), Some("rendered"));
//! assert!(report.problems().contains(&Problem::LateSystem));
//! # Ok::<(), backchat::chat::RenderError>(())
//! ```

pub use backchat_probe::doctor::{Options, Problem, input_schema};

use crate::chat::ChatTemplate;
use crate::diagnostic::Diagnostic;
use crate::json::Value;
use backchat_probe::doctor as room;

/// Examines a template.
///
/// It renders about a hundred conversations, and stops at the end of its budget of work.
pub fn examine(template: &ChatTemplate, options: &Options) -> Report {
    Report(room::examine(template, options))
}

/// Everything an examination found.
#[derive(Clone, Debug)]
pub struct Report(room::Report);

impl Report {
    /// The facts as one JSON object, as `capabilities` in what `backchat doctor --format json` prints.
    pub fn capabilities(&self) -> Value {
        self.0.capabilities()
    }

    /// What becomes of each form of conversation that agents send, as `agents` in the same document.
    pub fn agents(&self) -> Value {
        self.0.agents.to_json()
    }

    /// The problems that conversations of agents show, each once.
    pub fn problems(&self) -> Vec<Problem> {
        self.0.agents.ailments()
    }

    /// What a template accepts and then treats differently from what its author probably meant.
    pub fn traps(&self) -> Vec<Diagnostic> {
        room::traps(&self.0)
    }

    /// What `backchat doctor` prints about the template that was examined. `file` is its name.
    pub fn summary(&self, template: &ChatTemplate, options: &Options, file: &str) -> String {
        room::summary(&self.0, template, options, file)
    }

    /// A fact by its name, with the renders that decided it.
    pub fn explain(&self, fact: &str, template: &ChatTemplate, options: &Options) -> Option<String> {
        self.0.fact(fact).map(|fact| room::explain(fact, template, options))
    }
}
