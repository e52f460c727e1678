//! A template for the ids of one tokenizer: each marker that the template spells is one letter of the alphabet, so that
//! only its token matches, and never its characters.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use crate::pattern::{Letters, Pattern, TooManyWays};
use crate::template::{Respell, Template};
use crate::tokens::Tokens;
use backchat_core::json::Value;

/// How a marker is recognized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// By its token, if the tokenizer has one: the same characters in other tokens are text.
    #[default]
    Exact,
    /// By its characters, in whatever tokens.
    Either,
}

/// A template prepared for the ids of a tokenizer. Make it once and share it: it is cheap to clone.
#[derive(Clone, Debug)]
pub struct TokenTemplate {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    template: Template,
    tokens: Arc<Tokens>,
    letters: Arc<Letters>,
    /// The letter of each added token that is a marker, by its place among the added tokens.
    letter_of: Vec<Option<char>>,
    /// Whether each added token is one that the template spells.
    is_marker: Vec<bool>,
    /// Each marker as the inside of a JSON string.
    in_json: Vec<(String, String)>,
}

/// A template cannot be used with ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTemplateError {
    /// The keys that lead to the pattern.
    pub path: String,
}

impl fmt::Display for TokenTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "marker-in-pattern: `{}` spells a marker in more than 64 ways; write the marker as one literal, outside the \
             alternatives",
            self.path
        )
    }
}

impl std::error::Error for TokenTemplateError {}

impl TokenTemplate {
    /// Prepares a template for the ids of a tokenizer.
    ///
    /// # Errors
    ///
    /// A pattern spells a marker of the tokenizer in too many ways.
    pub fn new(template: &Template, tokens: &Arc<Tokens>, policy: Policy) -> Result<Self, TokenTemplateError> {
        let markers = markers(template, tokens)?;
        let place = |content: &str| markers.iter().position(|marker| marker == content);
        let places: Vec<Option<usize>> = tokens.added().map(|(_, content)| place(content)).collect();
        let is_marker = places.iter().map(Option::is_some).collect();
        let letter_of = match policy {
            Policy::Exact => places.iter().map(|place| place.map(Letters::letter)).collect(),
            Policy::Either => vec![None; places.len()],
        };
        let letters = Arc::new(Letters::new(if policy == Policy::Exact { markers.clone() } else { Vec::new() }));
        let template = match policy {
            Policy::Exact => template
                .respelled(&mut InLetters(&letters))
                .map_err(|(path, TooManyWays)| TokenTemplateError { path })?,
            Policy::Either => template.clone(),
        };
        let in_json = markers.iter().map(|marker| (marker.clone(), inside_of_json(marker))).collect();
        let tokens = tokens.clone();
        Ok(Self { parts: Arc::new(Parts { template, tokens, letters, letter_of, is_marker, in_json }) })
    }

    /// The tokenizer.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.parts.tokens
    }

    /// The template in letters.
    pub(super) fn template(&self) -> &Template {
        &self.parts.template
    }

    pub(super) fn letters(&self) -> &Letters {
        &self.parts.letters
    }

    /// The letter of an added token, by its place among them.
    #[inline]
    pub(super) fn letter(&self, token: usize) -> Option<char> {
        self.parts.letter_of.get(token).copied().flatten()
    }

    /// Whether an id is an added token that the template spells.
    pub(super) fn is_marker(&self, id: u32) -> bool {
        let place = self.parts.tokens.added_place(id);
        place.and_then(|place| self.parts.is_marker.get(place).copied()).unwrap_or(false)
    }

    /// A text with letters as text.
    #[inline]
    pub(super) fn read<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.parts.letters.read(text, |marker, out| out.push_str(marker))
    }

    /// A sentence that quotes text with letters.
    pub(super) fn read_quoting(&self, sentence: &str) -> String {
        self.parts.letters.read_quoting(sentence)
    }

    /// JSON text whose strings have letters.
    pub(super) fn read_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.parts.letters.read(text, |marker, out| {
            let known = self.parts.in_json.iter().find(|(other, _)| other == marker);
            out.push_str(known.map_or(marker, |(_, inside)| inside));
        })
    }
}

fn inside_of_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

impl Tokens {
    /// The markers of a template's delimiters for which the tokenizer has no token: they are matched as text, so
    /// mentioning one looks the same as using it.
    pub fn unmatched(&self, template: &Template) -> Vec<String> {
        let letters = Letters::new(candidates(self));
        let mut marks = Marks { letters: &letters, found: Vec::new() };
        // `Marks` collects; it never fails.
        let _ = template.respelled(&mut marks);
        marks.found
    }
}

/// The contents of the added tokens that can be markers.
fn candidates(tokens: &Tokens) -> Vec<String> {
    let is_blank = |content: &str| content.chars().all(|c| c.is_whitespace() || c == '▁');
    tokens.added().map(|(_, content)| content).filter(|content| !is_blank(content)).map(str::to_owned).collect()
}

/// The candidates that the template spells.
fn markers(template: &Template, tokens: &Tokens) -> Result<Vec<String>, TokenTemplateError> {
    let candidates = candidates(tokens);
    let letters = Letters::new(candidates.clone());
    let mut search = Spelled { letters: &letters, found: BTreeSet::new() };
    template.respelled(&mut search).map_err(|(path, TooManyWays)| TokenTemplateError { path })?;
    Ok(search.found.iter().filter_map(|index| candidates.get(*index).cloned()).collect())
}

/// Finds the markers that a template spells.
struct Spelled<'l> {
    letters: &'l Letters,
    found: BTreeSet<usize>,
}

impl Respell for Spelled<'_> {
    type Error = TooManyWays;

    fn text(&mut self, text: &str) -> String {
        self.found.extend(self.letters.spelled(text));
        text.to_owned()
    }

    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, TooManyWays> {
        self.found.extend(pattern.markers(self.letters)?);
        Ok(pattern.clone())
    }
}

/// Writes a template in letters.
struct InLetters<'l>(&'l Arc<Letters>);

impl Respell for InLetters<'_> {
    type Error = TooManyWays;

    fn text(&mut self, text: &str) -> String {
        self.0.spell(text)
    }

    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, TooManyWays> {
        pattern.in_letters(self.0)
    }
}

/// Collects the markers of a template that are not tokens.
struct Marks<'l> {
    letters: &'l Letters,
    found: Vec<String>,
}

impl Marks<'_> {
    fn add(&mut self, text: &str) {
        let mark = text.trim();
        // A bracket or a quote is text in every tokenizer.
        let is_mark = mark.chars().count() >= 3 && !mark.chars().all(|c| c.is_alphanumeric() || c.is_whitespace());
        if is_mark && self.letters.spelled(mark).is_empty() && !self.found.iter().any(|known| known == mark) {
            self.found.push(mark.to_owned());
        }
    }
}

impl Respell for Marks<'_> {
    type Error = Infallible;

    fn text(&mut self, text: &str) -> String {
        self.add(text);
        text.to_owned()
    }

    fn pattern(&mut self, pattern: &Pattern) -> Result<Pattern, Infallible> {
        pattern.texts().iter().for_each(|text| self.add(text));
        Ok(pattern.clone())
    }
}
