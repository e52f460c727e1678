//! Special tokens: markers that are one token each, which some engines do not match by their characters.

/// A marker that is one special token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecialToken {
    /// The marker's text.
    pub text: String,
    /// Its id in the vocabulary, if it is known.
    pub id: Option<u32>,
}

impl SpecialToken {
    /// A special token of this text.
    pub fn new(text: impl Into<String>, id: Option<u32>) -> Self {
        Self { text: text.into(), id }
    }

    /// Its name in a Lark grammar: its text if that is one word in angle brackets, otherwise its id.
    pub(crate) fn in_lark(&self) -> Option<String> {
        let inner = self.text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let is_word = |inner: &str| {
            !inner.is_empty()
                && !inner.starts_with('[')
                && !inner.contains(['<', '>'])
                && !inner.contains(char::is_whitespace)
        };
        match (inner.is_some_and(is_word), self.id) {
            (true, _) => Some(self.text.clone()),
            (false, id) => id.map(|id| format!("<[{id}]>")),
        }
    }
}

/// The longest of these markers that a text begins with.
pub(crate) fn at_start<'s>(text: &str, marks: &'s [SpecialToken]) -> Option<&'s SpecialToken> {
    marks.iter().filter(|mark| text.starts_with(mark.text.as_str())).max_by_key(|mark| mark.text.len())
}

/// The longest suffix of a text that is a proper prefix of one of these markers; may be empty.
pub(crate) fn begun_mark<'m>(text: &str, marks: &'m [SpecialToken]) -> &'m str {
    let begun = |mark: &'m SpecialToken| -> Option<&'m str> {
        let mut starts = mark.text.char_indices().rev().filter_map(|(at, _)| mark.text.get(..at));
        starts.find(|start| text.ends_with(start))
    };
    marks.iter().filter_map(begun).fold("", |longest, begun| if begun.len() >= longest.len() { begun } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_named_by_its_text_or_its_id() {
        for (text, id, named) in [
            ("<|call|>", None, Some("<|call|>")),
            ("<tool_call>", Some(7), Some("<tool_call>")),
            ("[CALLS]", Some(7), Some("<[7]>")),
            ("[CALLS]", None, None),
            ("<a b>", Some(7), Some("<[7]>")),
            ("<[7]>", None, None),
        ] {
            assert_eq!(SpecialToken::new(text, id).in_lark().as_deref(), named, "{text}");
        }
    }
}
