//! What renders show about a chat template: its verdict, and what each place printed in how many conversations.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use backchat_chat::PieceKind;
use backchat_chat::source::Source;
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, slice};
use backchat_derive::derive::{Derivation, Mark, Options, Shown, Status, derive_and_show};
use backchat_parser::template::Template;

use crate::chat_text::ChatText;

/// A verdict in the words of `derive` and `prove`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    pub status: &'static str,
    pub passed: usize,
    pub cases: usize,
    /// The first failure or reason, if it is not proved.
    pub first: Option<String>,
}

/// A place that printed something.
#[derive(Clone, Debug)]
pub struct Printed {
    /// Bytes of the source.
    pub span: Range<usize>,
    /// The numbers of the conversations.
    pub by: Vec<usize>,
    /// What it printed is to the draft, and in how many conversations.
    pub marks: Vec<(Mark, usize)>,
}

/// What renders show about a chat template.
#[derive(Clone, Debug)]
pub struct ChatFacts {
    /// The source that was rendered.
    pub source: Arc<str>,
    pub verdict: Headline,
    /// The parts of a message that are proved.
    pub parts: Vec<&'static str>,
    /// The readers that accept the draft.
    pub readers: Vec<String>,
    pub draft: Option<Value>,
    pub conversations: Arc<Vec<Shown>>,
    /// By their places.
    pub printed: Vec<Printed>,
    /// The variables that change the generation prompt, in words.
    pub switches: Vec<(String, String)>,
    /// Keys of messages that are dropped sometimes, in words.
    pub dropped: Vec<(String, String)>,
}

/// Derives, and collects what the renders of the proof show.
pub fn find(source: &Source, text: &Arc<str>, options: &Options) -> ChatFacts {
    let (derivation, conversations) = derive_and_show(&source.template, options);
    let template = derivation.response_template.as_ref().and_then(|draft| Template::from_value(draft).ok());
    let printed = template.map_or_else(Vec::new, |loaded| printed(&conversations, &loaded.template));
    ChatFacts {
        source: text.clone(),
        verdict: verdict(&derivation),
        parts: derivation.verdict.scope.proved.clone(),
        readers: accepting(&derivation),
        draft: derivation.response_template.clone(),
        conversations: Arc::new(conversations),
        printed,
        switches: Vec::new(),
        dropped: Vec::new(),
    }
}

fn verdict(derivation: &Derivation) -> Headline {
    let first = match derivation.status {
        Status::Proved => None,
        Status::Failed => derivation.diagnostics.first().map(|found| found.message.clone()),
        _ => {
            let failed = derivation.verdict.failures.first().map(|failure| failure.case.clone());
            failed.or_else(|| {
                derivation.diagnostics.iter().find(|found| found.id != "derive-took").map(|found| found.message.clone())
            })
        }
    };
    let (passed, cases) = (derivation.verdict.passed, derivation.verdict.cases);
    Headline { status: derivation.status.name(), passed, cases, first }
}

fn accepting(derivation: &Derivation) -> Vec<String> {
    let accepts = derivation.readers.iter().filter(|verdict| verdict.refusals.is_empty());
    accepts.map(|verdict| verdict.reader.name().to_owned()).collect()
}

/// What each place printed, by its place.
pub fn printed(conversations: &[Shown], template: &Template) -> Vec<Printed> {
    let mut found: BTreeMap<(usize, usize), Printed> = BTreeMap::new();
    for (number, shown) in conversations.iter().enumerate() {
        let marks = shown.marks(template);
        for origin in &shown.origins {
            let key = (origin.source.start, origin.source.end);
            let entry = found.entry(key).or_insert_with(|| Printed {
                span: origin.source.clone(),
                by: Vec::new(),
                marks: Vec::new(),
            });
            if entry.by.last() == Some(&number) && entry.marks.is_empty() == marks.is_empty() {
                // It printed before in this conversation; its marks may differ.
            } else if entry.by.last() != Some(&number) {
                entry.by.push(number);
            }
            for (span, mark) in &marks {
                if overlaps(&shown.text, &origin.text, span) {
                    match entry.marks.iter_mut().find(|(known, _)| known == mark) {
                        Some((_, count)) => *count += 1,
                        None => entry.marks.push((mark.clone(), 1)),
                    }
                }
            }
        }
    }
    found.into_values().collect()
}

/// Whether two parts of a text share more than white space, or are the same white space.
fn overlaps(text: &str, one: &Range<usize>, other: &Range<usize>) -> bool {
    let (start, end) = (one.start.max(other.start), one.end.min(other.end));
    start < end && (!slice(text, start..end).trim().is_empty() || slice(text, other.clone()).trim().is_empty())
}

impl ChatFacts {
    /// How many conversations were proved.
    pub fn count(&self) -> usize {
        self.conversations.iter().filter(|shown| !shown.is_prompt()).count()
    }

    /// How many of these are conversations and not prompts.
    pub fn without_prompts(&self, numbers: &[usize]) -> usize {
        numbers.iter().filter(|at| self.conversations.get(**at).is_some_and(|shown| !shown.is_prompt())).count()
    }

    /// How much of the beginning and of the end a newer source shares.
    fn shared(&self, source: &str) -> (usize, usize) {
        let start = common_start(&self.source, source).len();
        let shorter = self.source.len().min(source.len()) - start;
        (start, common_end(&self.source, source).len().min(shorter))
    }

    /// Whether a newer source has other words in a comment, on as many lines, and is otherwise the same: these facts are
    /// its own.
    pub fn hold_for(&self, text: &ChatText) -> bool {
        let (old, new) = (&*self.source, &*text.source);
        let (start, end) = self.shared(new);
        let (gone, come) = (slice(old, start..old.len() - end), slice(new, start..new.len() - end));
        let comments = text.reading.pieces.iter().filter(|piece| piece.kind == PieceKind::Comment);
        let is_edited = |comment: &Range<usize>| {
            // The marks stay, with a sign that they may have for white space.
            let closes_after = |source: &str| {
                let close = slice(source, comment.start..).find("#}").map(|at| comment.start + at);
                close.is_some_and(|close| source.len() - end < close)
            };
            comment.start + 3 <= start && closes_after(old) && closes_after(new)
        };
        gone.matches('\n').count() == come.matches('\n').count() && comments.map(|piece| &piece.span).any(is_edited)
    }

    /// The place in these facts of a place in a newer source; `None` if it was edited.
    pub fn earlier(&self, source: &str, byte: usize) -> Option<usize> {
        if *self.source == *source {
            return Some(byte);
        }
        let (start, end) = self.shared(source);
        if byte < start {
            Some(byte)
        } else if byte >= source.len() - end {
            Some(byte + self.source.len() - source.len())
        } else {
            None
        }
    }

    /// The same for a span.
    pub fn earlier_span(&self, source: &str, span: &Range<usize>) -> Option<Range<usize>> {
        let start = self.earlier(source, span.start)?;
        let end = self.earlier(source, span.end.saturating_sub(1).max(span.start))?;
        (end >= start && end - start <= span.len()).then(|| start..start + span.len())
    }

    /// What the places in a span printed.
    pub fn printed_in(&self, span: &Range<usize>) -> Vec<&Printed> {
        let from = self.printed.partition_point(|printed| printed.span.start < span.start);
        let found = self.printed.get(from..).unwrap_or_default().iter();
        found
            .take_while(|printed| printed.span.start < span.end)
            .filter(|printed| printed.span.end <= span.end)
            .collect()
    }

    /// The numbers of the conversations in which a branch of a condition was taken.
    pub fn takers(&self, condition: &Range<usize>, branch: usize) -> Vec<usize> {
        let takes =
            |shown: &Shown| shown.details.taken.iter().any(|taken| taken.span == *condition && taken.branch == branch);
        let all = self.conversations.iter().enumerate();
        all.filter(|(_, shown)| takes(shown)).map(|(at, _)| at).collect()
    }

    /// The numbers of the conversations in which a loop over this had items.
    pub fn runners(&self, over: &Range<usize>) -> Vec<usize> {
        let runs = |shown: &Shown| shown.details.values.iter().any(|valued| valued.span == *over);
        let all = self.conversations.iter().enumerate();
        all.filter(|(_, shown)| runs(shown)).map(|(at, _)| at).collect()
    }

    /// Some values that a place gave.
    pub fn values(&self, span: &Range<usize>) -> Vec<String> {
        let mut found = Vec::new();
        let all = self.conversations.iter().flat_map(|shown| &shown.details.values);
        for value in all.filter(|valued| valued.span == *span).flat_map(|valued| &valued.values) {
            if found.len() < 3 {
                backchat_core::push_new(&mut found, value.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn facts_hold_for_a_source_with_other_words_in_a_comment() {
        let text = |source: &str| ChatText::all(&Document::new("a.jinja".into(), "", 1, source, true)).remove(0);
        for (old, new, expected) in [
            ("{# note #}{{ a }}", "{# notes #}{{ a }}", true),
            ("{{ a }}{#- one -#}\n", "{{ a }}{#- two -#}\n", true),
            ("{# note #}{{ a }}", "{#- note #}{{ a }}", false),
            ("{# note #}{{ a }}", "{# no\nte #}{{ a }}", false),
            ("{# note #}{{ a }}", "{# note #}{{ b }}", false),
            ("{# one #}{{ a }}{# two #}", "{# one  two #}", false),
            ("{# note #}{{ a }}", "{# n #}te #}{{ a }}", false),
        ] {
            let old = text(old);
            let mut source = Source::default();
            source.template = old.source.to_string();
            let facts = find(&source, &old.source, &Options::default());
            assert_eq!(facts.hold_for(&text(new)), expected, "{new}");
        }
    }
}
