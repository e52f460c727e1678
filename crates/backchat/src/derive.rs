//! Response templates, derived from chat templates and proved.
//!
//! ```
//! use backchat::derive::{Options, Status, derive, prove};
//! use backchat::Template;
//!
//! let chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
//!                      {% if add_generation_prompt %}[assistant]{% endif %}";
//! let derivation = derive(chat_template, &Options::default());
//! assert_eq!(derivation.status(), Status::Proved);
//! assert!(derivation.headline().starts_with("proved: "));
//!
//! // A draft is data: edit it, store it, and prove what became of it.
//! let draft = derivation.response_template().unwrap();
//! let edited = Template::load(&draft.to_string().replace("<end>", "<stop>"))?.template;
//! let proven = prove(chat_template, &edited, &Options::default());
//! assert_eq!(proven.status(), Status::Partial);
//! assert!(proven.diagnostics().iter().any(|diagnostic| diagnostic.id == "derive-unproved"));
//! # Ok::<(), backchat::LoadError>(())
//! ```

pub use backchat_derive::derive::{Options, Sample, Status, Target};

use crate::diagnostic::Diagnostic;
use crate::json::Value;
use crate::template::Template;
use crate::wire::Wire;
use backchat_derive::derive as room;

/// Derives a response template from the source of a chat template.
pub fn derive(source: &str, options: &Options) -> Derivation {
    Derivation(room::derive(source, options))
}

/// Proves a response template against the source of a chat template, with conversations that the proof chooses.
pub fn prove(source: &str, template: &Template, options: &Options) -> Proven {
    Proven(room::prove(source, template, options))
}

/// The result of a derivation. What it found, with the evidence, is in [`to_value`](Self::to_value).
#[derive(Clone, Debug)]
pub struct Derivation(room::Derivation);

impl Derivation {
    /// How far it got.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The draft, in the key order a person would write; nothing if there is none.
    pub fn response_template(&self) -> Option<&Value> {
        self.0.response_template.as_ref()
    }

    /// What is not proved, lost, assumed or not verified, each with what to do about it.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// The status and what it covers, in one line.
    pub fn headline(&self) -> String {
        self.0.headline()
    }

    /// The lines that `backchat derive` prints beside the draft.
    pub fn summary(&self) -> Vec<String> {
        self.0.summary()
    }

    /// The findings and the verdict, for people. `name` is the name of the chat template.
    pub fn explain(&self, name: &str) -> String {
        self.0.explain(name)
    }

    /// What `backchat derive --format json` prints.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

/// The result of the proof of a response template.
#[derive(Clone, Debug)]
pub struct Proven(room::Proven);

impl Proven {
    /// `Proved` or `Partial`; `Failed` if no conversation could be rendered.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// What is misread, lost or not verified, each with what to do about it.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// What `backchat prove --format json` prints, without the repairs of the template.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

/// A model as those use it who write grammars, serve and check: found once, shared by any number of requests.
///
/// ```
/// use backchat::derive::{Model, Options};
///
/// let chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
///                      {% if add_generation_prompt %}[assistant]{% endif %}";
/// let model = Model::open(chat_template, None, &Options::default()).unwrap();
/// assert!(model.doubts().is_empty());
/// assert!(model.template.field("content").is_some());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Model {
    /// The stored response template, or else the draft of the derivation.
    pub template: Template,
    /// How the chat template writes turns.
    pub wire: Wire,
    /// The derivation that found the wire. Recovery policies are not part of it.
    pub derivation: Derivation,
    doubts: Vec<String>,
}

impl Model {
    /// Opens a model by the source of its chat template and, if there is one, its stored response template.
    ///
    /// # Errors
    ///
    /// The chat template does not compile, or no render shows how it writes a turn.
    pub fn open(source: &str, stored: Option<Template>, options: &Options) -> Result<Self, Vec<Diagnostic>> {
        let model = room::Model::open(source, stored, options)?;
        let doubts = model.doubts();
        Ok(Self { template: model.template, wire: model.wire, derivation: Derivation(model.derivation), doubts })
    }

    /// What a user of the model must know if its derivation is not proved: the verdict, and what is lost or not read, one
    /// line each; nothing if it is proved.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }
}
