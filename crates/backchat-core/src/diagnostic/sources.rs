//! The texts that diagnostics point into. A diagnostic whose text is missing is shown without an excerpt.

use std::collections::BTreeMap;

/// The texts that diagnostics point into, by the name of their file.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    texts: BTreeMap<Option<String>, String>,
}

impl Sources {
    /// No texts: diagnostics are shown without excerpts.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds the text of a file.
    #[must_use]
    pub fn with(mut self, file: impl Into<String>, text: impl Into<String>) -> Self {
        self.texts.insert(Some(file.into()), text.into());
        self
    }

    /// Adds the text that diagnostics without a file point into.
    #[must_use]
    pub fn with_unnamed(mut self, text: impl Into<String>) -> Self {
        self.texts.insert(None, text.into());
        self
    }

    /// Adds the texts of others.
    pub fn extend(&mut self, others: Self) {
        self.texts.extend(others.texts);
    }

    /// The text of a file.
    pub fn text(&self, file: Option<&str>) -> Option<&str> {
        self.texts.get(&file.map(str::to_owned)).map(String::as_str)
    }
}
