//! What changes for whom between two chat templates, two response templates, or two models.
//!
//! ```
//! use backchat::diff::{Chat, Options, Verdict, chat_templates};
//!
//! let old = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}";
//! let [old, new] = [old.to_owned(), old.replace("<end>", "<stop>")].map(|template| Chat { template, ..Chat::default() });
//! let diff = chat_templates(&old, &new, &Options::default())?;
//! assert_eq!(diff.verdict(), Verdict::Differs);
//! assert_eq!(diff.to_value()["verdict"].as_str(), Some("differs"));
//! assert!(diff.markdown().contains("<stop>"));
//! # Ok::<(), backchat::diff::Problem>(())
//! ```

pub use backchat_diff::{Chat, Model, Options, Problem, Verdict};

use crate::json::Value;
use crate::template::Template;
use backchat_diff::ModelDiff;

/// Compares two chat templates, each with the response template of its side, if it has one.
///
/// # Errors
///
/// A chat template does not compile, or both refuse everything.
pub fn chat_templates(old: &Chat, new: &Chat, options: &Options) -> Result<Diff, Problem> {
    let side = |chat: &Chat| Model { chat: Some(chat.clone()), response: None };
    models(&side(old), &side(new), options)
}

/// Compares two response templates by what they read, and in turns that `chat` renders, if it is given.
pub fn response_templates(old: &Template, new: &Template, chat: Option<&Chat>, options: &Options) -> Diff {
    Diff(ModelDiff::of_response(backchat_diff::response_templates(old, new, chat, options)))
}

/// Compares what two models have in common.
///
/// # Errors
///
/// A chat template does not compile, or both refuse everything.
pub fn models(old: &Model, new: &Model, options: &Options) -> Result<Diff, Problem> {
    backchat_diff::models(old, new, options).map(Diff)
}

/// A comparison. Every change and every case, with its conversation, is in [`to_value`](Self::to_value).
#[derive(Clone, Debug)]
pub struct Diff(ModelDiff);

impl Diff {
    /// Whether they differ, are the same, or it could not be decided.
    pub fn verdict(&self) -> Verdict {
        self.0.verdict()
    }

    /// The comparison for a terminal of 80 columns.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The comparison as Markdown.
    pub fn markdown(&self) -> String {
        self.0.markdown()
    }

    /// One change as a whole, by the number that it has in the text, or all of them.
    pub fn explained(&self, number: Option<usize>) -> Option<String> {
        self.0.explained(number)
    }

    /// What `backchat diff --format json` prints, whose schema `backchat schema diff` prints.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}
