//! The blocks that are open while a template is parsed. An error about a tag of another block, or about the end of the
//! template, names the innermost open block and where it began.

use backchat_core::diagnostic::line_column;

use super::error::SyntaxError;
use super::lexer::Token;

/// The blocks that a tag closes.
const BLOCKS: [&str; 11] =
    ["autoescape", "block", "call", "filter", "for", "generation", "if", "macro", "raw", "set", "with"];

#[derive(Default)]
pub(super) struct OpenBlocks<'s> {
    source: &'s str,
    /// The tag that opened each, the innermost last.
    tags: Vec<Token<'s>>,
}

impl<'s> OpenBlocks<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, tags: Vec::new() }
    }

    pub(super) fn push(&mut self, tag: Token<'s>) {
        self.tags.push(tag);
    }

    pub(super) fn pop(&mut self) {
        self.tags.pop();
    }

    /// Whether a block of this kind is open.
    pub(super) fn has(&self, block: &str) -> bool {
        self.tags.iter().any(|tag| tag.text == block)
    }

    /// The error if the template ends here; `None` if no block is open.
    pub(super) fn never_closed(&self) -> Option<SyntaxError> {
        let (inner, outer) = self.tags.split_last()?;
        let mut message = format!("'{0}' is never closed; add '{{% end{0} %}}'", inner.text);
        if let Some(outer) = outer.last() {
            message.push_str(&format!("; {}, around it, is still open, too", self.named(outer)));
        }
        Some(SyntaxError::new(message, inner.span()))
    }

    /// The error about a tag that continues or closes a block, and that the innermost open one does not take; `None` if
    /// no kind of block has such a tag.
    pub(super) fn misplaced(&self, tag: Token<'_>) -> Option<SyntaxError> {
        let owners: Vec<&str> = match tag.text {
            "else" => vec!["if", "for"],
            "elif" => vec!["if"],
            closing => vec![closing.strip_prefix("end").filter(|block| BLOCKS.contains(block))?],
        };
        let closes = tag.text.starts_with("end");
        let verdict = if closes { "closes nothing here" } else { "belongs to nothing here" };
        let missing = format!("no '{}' is open", owners.join("' or '"));
        let reason = match self.tags.split_last() {
            None => missing,
            // Otherwise it would have taken the tag.
            Some((inner, _)) if !closes && owners.contains(&inner.text) => {
                let outer = "if this belongs to a block around it, add";
                format!("{} already has its 'else'; {outer} '{{% end{} %}}' before it", self.named(inner), inner.text)
            }
            Some((inner, outer)) if outer.iter().any(|outer| owners.contains(&outer.text)) => {
                format!("{} is still open; add '{{% end{} %}}' before it", self.named(inner), inner.text)
            }
            Some((inner, _)) => format!("{missing}; {} is, and needs 'end{}'", self.named(inner), inner.text),
        };
        Some(SyntaxError::new(format!("'{}' {verdict}: {reason}", tag.text), tag.span()))
    }

    /// A block, and the position of its tag.
    fn named(&self, tag: &Token<'_>) -> String {
        let (line, column) = line_column(self.source, tag.at);
        format!("'{}' at {line}:{column}", tag.text)
    }
}

#[cfg(test)]
mod tests {
    use crate::ChatTemplate;

    #[test]
    fn errors_about_blocks_name_the_open_one_and_its_position() {
        for (source, line, message) in [
            (
                "{% for m in ms %}\n  {% if m %}\n{% endfor %}",
                3,
                "'endfor' closes nothing here: 'if' at 2:6 is still open; add '{% endif %}' before it",
            ),
            (
                "{% if a %}{% for b in c %}{% elif d %}{% endfor %}{% endif %}",
                1,
                "'elif' belongs to nothing here: 'for' at 1:14 is still open; add '{% endfor %}' before it",
            ),
            (
                "{% if a %}\n{% with b = 1 %}{% else %}{% endwith %}{% endif %}",
                2,
                "'else' belongs to nothing here: 'with' at 2:4 is still open; add '{% endwith %}' before it",
            ),
            (
                "{% if a %}{% endfor %}",
                1,
                "'endfor' closes nothing here: no 'for' is open; 'if' at 1:4 is, and needs 'endif'",
            ),
            (
                "{% macro m() %}{% else %}{% endmacro %}",
                1,
                "'else' belongs to nothing here: no 'if' or 'for' is open; 'macro' at 1:4 is, and needs 'endmacro'",
            ),
            ("a\n{% endif %}", 2, "'endif' closes nothing here: no 'if' is open"),
            ("{% else %}", 1, "'else' belongs to nothing here: no 'if' or 'for' is open"),
            ("{% endraw %}", 1, "'endraw' closes nothing here: no 'raw' is open"),
            (
                "{% if a %}{% else %}{% elif b %}{% endif %}",
                1,
                "'elif' belongs to nothing here: 'if' at 1:4 already has its 'else'; if this belongs to a block around it, add \
                 '{% endif %}' before it",
            ),
            (
                "{% for a in b %}{% else %}{% else %}{% endfor %}",
                1,
                "'else' belongs to nothing here: 'for' at 1:4 already has its 'else'; if this belongs to a block around it, add \
                 '{% endfor %}' before it",
            ),
            ("a\n{% if a %}b\n\n", 2, "'if' is never closed; add '{% endif %}'"),
            (
                "{% for m in ms %}\n{% if a %}{% else %}{{ m }}\n",
                2,
                "'if' is never closed; add '{% endif %}'; 'for' at 1:4, around it, is still open, too",
            ),
            ("{% set x %}{{ x }}", 1, "'set' is never closed; add '{% endset %}'"),
        ] {
            let error = ChatTemplate::compile(source).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (Some(line), message), "{source}");
        }
    }

    #[test]
    fn a_block_that_is_closed_is_not_named() {
        let source = "{% for m in ms %}{% if m %}{% elif n %}{% else %}{% endif %}{% else %}{% endfor %}{% endif %}";
        let message = ChatTemplate::compile(source).unwrap_err().message;
        assert_eq!(message, "'endif' closes nothing here: no 'if' is open");
    }
}
