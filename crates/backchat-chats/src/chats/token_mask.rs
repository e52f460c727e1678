//! Masks for token ids: which tokens of a rendered chat the assistant wrote.

use std::fmt;

use super::mask::{Masked, Part};
use super::text::CodePoints;
use backchat_core::diagnostic::escape;
use backchat_core::text::common_start;
use backchat_parser::tokens::{Placed, Tokenizer, Tokens, TokensError};

/// Which text of the assistant a mask takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskPart {
    /// Everything the assistant wrote.
    Assistant,
    /// Everything in its last turn.
    Last,
    /// Its content.
    Content,
    /// Its reasoning.
    Reasoning,
    /// Its calls, with their markers.
    Calls,
    /// The text in the template's own generation blocks.
    Tags,
}

/// Which tokens a span of characters takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaskRule {
    /// Those that overlap with the span, as in transformers since 5.24.
    #[default]
    Overlap,
    /// Those that transformers took before: from the token of the span's first character to the first one of its last.
    Reference,
}

/// A rendered chat as tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenMask {
    /// The ids of the render.
    pub ids: Vec<u32>,
    /// Whether each is in the mask.
    pub mask: Vec<bool>,
}

/// Ids whose text is not the render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTheRender {
    /// The first difference, in code points of the render.
    pub place: usize,
    /// What the render has there.
    pub rendered: String,
    /// What the ids have there.
    pub given: String,
}

impl fmt::Display for NotTheRender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, rendered, given } = self;
        let (given, rendered) = (escape(given), escape(rendered));
        write!(f, "not-the-render: from character {place} on the ids say `{given}` where the render has `{rendered}`")
    }
}

impl std::error::Error for NotTheRender {}

/// How much of two texts is quoted where they differ.
const QUOTED: usize = 24;

impl Masked {
    /// The spans of some parts in code points, in order and without overlaps.
    pub fn spans_of(&self, parts: &[MaskPart]) -> Vec<(usize, usize)> {
        let of = |part: Part| {
            let chosen = self.parts.iter().filter(move |span| span.part == part);
            chosen.map(|span| (span.start, span.end)).collect::<Vec<_>>()
        };
        let mut all: Vec<(usize, usize)> = parts
            .iter()
            .flat_map(|part| match part {
                MaskPart::Assistant => self.spans.clone(),
                MaskPart::Last => self.spans.last().copied().into_iter().collect(),
                MaskPart::Content => of(Part::Content),
                MaskPart::Reasoning => of(Part::Reasoning),
                MaskPart::Calls => of(Part::Call),
                MaskPart::Tags => self.tags.clone(),
            })
            .collect();
        all.sort_unstable();
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (start, end) in all {
            match joined.last_mut() {
                Some((_, before)) if start < *before => *before = end.max(*before),
                _ => joined.push((start, end)),
            }
        }
        joined
    }

    /// The tokens of the render, and whether each belongs to some parts.
    ///
    /// # Errors
    ///
    /// The tokenizer cannot encode the render.
    pub fn token_mask(
        &self,
        tokenizer: &Tokenizer,
        parts: &[MaskPart],
        rule: MaskRule,
    ) -> Result<TokenMask, TokensError> {
        let encoded = tokenizer.encode(&self.text)?;
        Ok(TokenMask { mask: self.mask_of(&encoded.offsets, parts, rule), ids: encoded.ids })
    }

    /// Whether each of these ids belongs to some parts. Their text has to be the render.
    ///
    /// # Errors
    ///
    /// It is not.
    pub fn mask_of_ids(
        &self,
        tokens: &Tokens,
        ids: &[u32],
        parts: &[MaskPart],
        rule: MaskRule,
    ) -> Result<Vec<bool>, NotTheRender> {
        let placed = Placed::new(tokens, ids);
        if placed.text != self.text {
            let shared = common_start(&placed.text, &self.text);
            let rest = |text: &str| text.chars().skip(shared.chars().count()).take(QUOTED).collect();
            return Err(NotTheRender {
                place: shared.chars().count(),
                rendered: rest(&self.text),
                given: rest(&placed.text),
            });
        }
        let points = CodePoints::new(&self.text);
        let offsets: Vec<(usize, usize)> =
            placed.spans.iter().map(|(start, end)| (points.of_byte(*start), points.of_byte(*end))).collect();
        Ok(self.mask_of(&offsets, parts, rule))
    }

    /// Whether each token belongs to some parts, by its offsets in code points.
    pub fn mask_of(&self, offsets: &[(usize, usize)], parts: &[MaskPart], rule: MaskRule) -> Vec<bool> {
        let spans = self.spans_of(parts);
        // White space at the end of a template's own block is in it, as in transformers.
        let is_exact = parts.iter().all(|part| *part == MaskPart::Tags);
        let spans = if is_exact { spans } else { without_trailing_space(&self.text, &spans) };
        match rule {
            MaskRule::Overlap => overlapping(&spans, offsets),
            MaskRule::Reference => reference(&spans, offsets),
        }
    }
}

/// Spans without the white space that each ends with.
fn without_trailing_space(text: &str, spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let characters: Vec<char> = text.chars().collect();
    let kept = spans.iter().map(|(start, end)| {
        let inside = characters.get(*start..*end);
        debug_assert!(inside.is_some(), "a span counts characters of the text it was found in");
        let inside = inside.unwrap_or_default();
        let kept = inside.iter().rposition(|character| !character.is_whitespace()).map_or(0, |last| last + 1);
        (*start, start + kept)
    });
    kept.collect()
}

/// Whether each token overlaps with a span. One without characters does if the span has some on either side of it.
fn overlapping(spans: &[(usize, usize)], offsets: &[(usize, usize)]) -> Vec<bool> {
    let is_in = |&(start, end): &(usize, usize)| {
        let next = spans.partition_point(|(_, span_end)| *span_end <= start);
        spans.get(next).is_some_and(|(span_start, _)| *span_start < end)
    };
    offsets.iter().map(is_in).collect()
}

/// Whether transformers before 5.24 marks each token. If a character is on several tokens, it uses the first; it stops at a
/// span whose first character has no token.
fn reference(spans: &[(usize, usize)], offsets: &[(usize, usize)]) -> Vec<bool> {
    // The first token of each character.
    let mut first_of = vec![None; offsets.iter().map(|(_, end)| *end).max().unwrap_or(0)];
    for (token, (start, end)) in offsets.iter().enumerate() {
        let characters = first_of.get_mut(*start..*end).unwrap_or_default();
        characters.iter_mut().for_each(|first| *first = first.or(Some(token)));
    }
    let token_of = |place: usize| first_of.get(place).copied().flatten();
    let mut mask = vec![false; offsets.len()];
    for (start, end) in spans {
        let Some(first) = token_of(*start) else { break };
        let last = end.checked_sub(1).and_then(token_of).map_or(offsets.len(), |last| last + 1);
        mask.get_mut(first..last).unwrap_or_default().fill(true);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_spans_by_either_rule() {
        // "ab😀 c": the third character is on three tokens, the space on none.
        let offsets = [(0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (4, 5)];
        for (spans, overlap, taken) in [
            (vec![(1, 3)], [0, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0]),
            (vec![(0, 1), (4, 5)], [1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]),
            (vec![(3, 5)], [0, 0, 0, 0, 0, 1], [0; 6]),
            (vec![(3, 4), (4, 5)], [0, 0, 0, 0, 0, 1], [0; 6]),
            (vec![(1, 4)], [0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1]),
        ] {
            let bits = |mask: Vec<bool>| mask.into_iter().map(i32::from).collect::<Vec<_>>();
            assert_eq!(bits(overlapping(&spans, &offsets)), overlap, "{spans:?}");
            assert_eq!(bits(reference(&spans, &offsets)), taken, "{spans:?}");
        }
    }

    #[test]
    fn a_token_without_characters_overlaps_with_the_span_around_it() {
        let offsets = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)];
        assert_eq!(overlapping(&[(0, 2)], &offsets), [false, true, true, true, false, false]);
        assert_eq!(overlapping(&[(0, 1), (1, 2)], &offsets), [false, true, false, true, false, false]);
    }

    #[test]
    fn given_ids_are_masked_if_their_text_is_the_render() {
        let json = r#"{"added_tokens": [{"id": 9, "content": "<end>"}], "decoder": {"type": "ByteLevel"},
            "model": {"vocab": {"U": 0, "A": 1, "ðŁ": 3, "ĺ": 4, "Ģ": 5, "Ċ": 6}}}"#;
        let tokens = Tokens::load(json).unwrap();
        let text = "U<end>A😀<end>\n";
        let masked = Masked { text: text.to_owned(), spans: vec![(6, 14)], tags: vec![(6, 14)], ..Masked::default() };
        let ids = [0, 9, 1, 3, 4, 5, 9, 6];
        let bits = |parts: &[MaskPart], rule| {
            let mask = masked.mask_of_ids(&tokens, &ids, parts, rule).unwrap();
            mask.into_iter().map(i32::from).collect::<Vec<_>>()
        };
        assert_eq!(bits(&[MaskPart::Assistant], MaskRule::Overlap), [0, 0, 1, 1, 1, 1, 1, 0]);
        assert_eq!(bits(&[MaskPart::Tags], MaskRule::Overlap), [0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(bits(&[MaskPart::Tags], MaskRule::Reference), [0, 0, 1, 1, 1, 1, 1, 1]);
        let error = masked.mask_of_ids(&tokens, &[0, 9, 1, 9], &[MaskPart::Last], MaskRule::Overlap).unwrap_err();
        assert_eq!(error.place, 7);
        let wanted = "not-the-render: from character 7 on the ids say `<end>` where the render has `😀<end>\\n`";
        assert_eq!(error.to_string(), wanted);
    }
}
