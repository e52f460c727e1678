//! Syntax errors.

use std::ops::Range;

use backchat_core::diagnostic::closest;

/// A message, and the bytes of the source it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) span: Range<usize>,
    /// The name that was probably meant by the one there.
    pub(crate) meant: Option<String>,
    /// Whether Jinja2 meets it only when it runs: an unknown name directly in an `if` or a conditional expression.
    pub(crate) is_soft: bool,
}

impl SyntaxError {
    pub(super) fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, meant: None, is_soft: false }
    }

    /// With the known name that is probably meant.
    pub(super) fn meaning(self, name: Option<&str>) -> Self {
        Self { meant: name.map(str::to_owned), ..self }
    }
}

/// The suffix of a message about an unknown name: the most similar known one.
pub(super) fn meant<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    closest(name, known).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::ChatTemplate;

    #[test]
    fn errors_about_unknown_names_suggest_similar_ones() {
        for (source, message) in [
            ("{% fro m in messages %}{% endfor %}", "unknown tag 'fro'; did you mean 'for'?"),
            ("{% for m in messages %}{% endfro %}", "unknown tag 'endfro'; did you mean 'endfor'?"),
            ("{% if a %}{% esle %}{% endif %}", "unknown tag 'esle'; did you mean 'else'?"),
            ("{% if a %}{% elseif b %}{% endif %}", "unknown tag 'elseif'; did you mean 'elif'?"),
            ("{% if a %}{% elsif b %}{% endif %}", "unknown tag 'elsif'; did you mean 'elif'?"),
            ("{% elseif b %}", "unknown tag 'elseif'"),
            ("{% banana %}", "unknown tag 'banana'"),
            ("{{ a | tojsn }}", "there is no filter named 'tojsn'; did you mean 'tojson'?"),
            ("{{ a is strng }}", "there is no test named 'strng'; did you mean 'string'?"),
        ] {
            assert_eq!(ChatTemplate::compile(source).unwrap_err().message, message, "{source}");
        }
    }
}
