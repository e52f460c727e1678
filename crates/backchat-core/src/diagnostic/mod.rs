//! Diagnostics: one type for every finding and error, rendered in several formats. Hostile text is escaped.

mod edit;
mod escape;
mod invalid_json;
mod other_text;
mod place;
mod render;
mod rule;
mod sources;
mod text;
mod words;

pub use edit::with_edits;
pub use edit::{Edit, Fix};
pub use escape::escape;
pub use escape::{escape_json, escape_lines, escaped};
pub use invalid_json::{invalid_json, json_problem_span};
pub use other_text::{OUTPUTS_ALONE, has_jinja, is_page, is_rows};
pub use place::Place;
pub use place::in_file;
// For the command.
pub use place::line_column;
pub use render::{Case, Suite, render_junit};
pub use render::{Format, render};
pub use rule::{Page, Rule, in_order};
pub use sources::Sources;
pub use text::LARGEST_FILE;
pub use text::{NotText, text};
// For the command.
pub use words::{closest, shell_word, shortened};
pub use words::{counted, one_edit_from};

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It loads or runs, and will hurt.
    Warning,
    /// It cannot be used as it is.
    Error,
}

impl Severity {
    /// The word a reader sees.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One finding or error: the problem, its place, and the fix.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::diagnostic::{Diagnostic, Format, Place, Sources, render};
///
/// let text = "{\n  \"opens\": 1\n}";
/// let diagnostic = Diagnostic::error("unknown-key", "unknown key `opens`")
///     .at(Place::span(text, 4..11).in_file("a.json"))
///     .help("rename it to `open`");
/// let line = render(&[diagnostic.clone()], Format::Concise, &Sources::none(), false);
/// assert_eq!(line, "a.json:2:3: error[unknown-key] unknown key `opens`\n");
/// let excerpt = render(&[diagnostic], Format::Full, &Sources::none().with("a.json", text), false);
/// assert!(excerpt.contains("2 |   \"opens\": 1\n  |   ^^^^^^^\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name of the kind of problem.
    pub id: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// The problem, in one line.
    pub message: String,
    /// Its place.
    pub place: Option<Place>,
    /// Related places, each with a note.
    pub labels: Vec<Label>,
    /// The fix, in words.
    pub help: Option<String>,
    /// A change that removes the problem.
    pub fix: Option<Fix>,
}

/// A second place that a diagnostic points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// A note about that place.
    pub message: String,
}

impl Diagnostic {
    /// A diagnostic with a message and nothing else.
    pub fn new(severity: Severity, id: &'static str, message: impl Into<String>) -> Self {
        Self { id, severity, message: message.into(), place: None, labels: Vec::new(), help: None, fix: None }
    }

    /// Something that cannot be used as it is.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, id, message)
    }

    /// Something that loads or runs, and will hurt.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, id, message)
    }

    /// The diagnostic as the format `json` writes it; absent parts are left out.
    pub fn to_value(&self) -> crate::json::Value {
        render::to_value(self)
    }

    /// Sets its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn label(mut self, place: Place, message: impl Into<String>) -> Self {
        self.labels.push(Label { place, message: message.into() });
        self
    }

    /// Offers a change that removes the problem.
    #[must_use]
    pub fn fix(mut self, message: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { message: message.into(), edits });
        self
    }
}
