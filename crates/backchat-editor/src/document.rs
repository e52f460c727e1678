//! A document of the editor: its text, its version, and what kind of file it is.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backchat_core::json::{self, Value};
use backchat_core::text::Lines;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A chat template in a file of its own.
    Chat,
    /// JSON that holds a response template, a chat template, or both.
    Json,
    Fixture,
    /// Nothing of ours.
    Other,
}

/// An open document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The path of its file; for one without a file, a name.
    pub path: PathBuf,
    pub language: String,
    pub version: i32,
    pub text: Arc<str>,
    pub lines: Arc<Lines>,
    /// Whether it is a file, so that it has a folder.
    pub is_file: bool,
}

impl Document {
    /// A document with its first text.
    pub fn new(path: PathBuf, language: &str, version: i32, text: &str, is_file: bool) -> Self {
        let lines = Arc::new(Lines::of(text));
        Self { path, language: language.to_owned(), version, text: text.into(), lines, is_file }
    }

    /// Replaces a part of the text, or all of it.
    pub fn replace(&mut self, span: Option<Range<usize>>, new: &str) {
        self.text = match span {
            None => new.into(),
            Some(span) => {
                let before = self.text.get(..span.start).unwrap_or_default();
                let after = self.text.get(span.end.max(span.start)..).unwrap_or_default();
                [before, new, after].concat().into()
            }
        };
        self.lines = Arc::new(Lines::of(&self.text));
    }

    /// What kind of file it is, by its name, its language and its text.
    pub fn kind(&self) -> Kind {
        let ends = |end: &str| self.path.extension().is_some_and(|found| found == end);
        match self.language.as_str() {
            _ if ends("jinja") || ends("j2") => Kind::Chat,
            _ if ends("fixture") => Kind::Fixture,
            _ if ends("json") => json_kind(&self.path, &self.text),
            "jinja" | "jinja-chat-template" if !self.is_file => Kind::Chat,
            "json" | "jsonc" if !self.is_file => json_kind(&self.path, &self.text),
            "jinja-chat-template" => Kind::Chat,
            "backchat-fixture" => Kind::Fixture,
            _ => Kind::Other,
        }
    }

    /// The file's name.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Whether a JSON file is one of ours.
fn json_kind(path: &Path, text: &str) -> Kind {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name == "response_template.json" {
        return Kind::Json;
    }
    let is_ours = match json::read(text) {
        Ok(value) => {
            is_response_template(&value)
                || ["chat_template", "response_template"].iter().any(|key| value.get(key).is_some())
        }
        // While it is typed, its name or its words tell.
        Err(_) => {
            matches!(name.as_str(), "tokenizer_config.json" | "chat_template.json")
                || (text.contains("\"fields\"") && (text.contains("\"start_anchor") || text.contains("\"version\"")))
        }
    };
    if is_ours { Kind::Json } else { Kind::Other }
}

/// Whether a value is a response template: an object with `fields`, and a version or an anchor.
pub fn is_response_template(value: &Value) -> bool {
    let has_fields = value.get("fields").is_some_and(|fields| fields.as_object().is_some());
    has_fields && ["version", "start_anchor", "start_anchor_pattern"].iter().any(|key| value.get(key).is_some())
}
