//! Writes the texts of strings: with their patterns, formats and lengths, and without markers.

use std::borrow::Cow;
use std::fmt;

use super::shape::Constraints;
use super::{Problem, SchemaReader};
use crate::automaton::{Automaton, LAST, MOST_STATES, format};
use crate::custom::Input;
use crate::notes::Effect;
use crate::rules::{Node, Strings};
use crate::value::{Style, native};
use backchat_core::json::Value;
use backchat_parser::pattern::{Regular, of_schema};

/// The length up to which the characters of a text with a form are counted exactly, while markers are excluded.
const MOST_COUNTED: u64 = 256;

/// The same for any text, of which each character needs up to a hundred states.
const MOST_COUNTED_FREE: u64 = 32;

/// The texts of a string.
struct Texts {
    /// Of any length.
    free: Automaton,
    /// Of the required length; `None` if that needs too many states.
    counted: Option<Automaton>,
}

impl SchemaReader<'_> {
    /// The texts allowed for a string, apart from its length; `None` if any is.
    pub(super) fn text_of(&mut self, shape: &Constraints) -> Result<Option<Automaton>, Problem> {
        let mut all: Option<Automaton> = None;
        let mut texts: Vec<(Option<Cow<'static, Automaton>>, &str, &str)> = Vec::new();
        for (pattern, path) in &shape.patterns {
            let own = texts_of(pattern).map_err(|problem| Problem::at(path, &format!("`pattern` {problem}")))?;
            texts.push((own.map(Cow::Owned), path, "pattern"));
        }
        for (format, path) in &shape.formats {
            match format::texts(format) {
                Some(own) => texts.push((Some(Cow::Borrowed(own)), path, "format")),
                None => self.note(Effect::Looser, path, "format", &format!("unknown format `{format}`")),
            }
        }
        for (own, path, keyword) in texts {
            let Some(own) = own else {
                let message = "look-around, back-references and very large patterns are not enforced";
                self.note(Effect::Looser, path, keyword, message);
                continue;
            };
            let both = match &all {
                Some(known) => known.both(&own),
                None => Some(own.into_owned()),
            };
            match both {
                Some(both) => all = Some(both),
                None => self.note(Effect::Looser, path, keyword, "together with the others it is too large"),
            }
        }
        let not: Vec<&str> = shape.not_values.iter().filter_map(Value::as_str).collect();
        if not.is_empty() {
            return Ok(all);
        }
        let own = Automaton::one_of(not).complement();
        let Some(known) = all else { return Ok(Some(own)) };
        let both = known.both(&own);
        if both.is_none() {
            self.note(Effect::Looser, &shape.path, "not", "together with the others it is too large");
        }
        Ok(both.or(Some(known)))
    }

    /// The texts allowed for a string, with and without its length; `counted` is `None` if that needs too many states.
    fn lengthened(&mut self, shape: &Constraints) -> Result<Texts, Problem> {
        let free = self.text_of(shape)?.unwrap_or_else(Automaton::anything);
        let most = if free == Automaton::anything() { MOST_COUNTED_FREE } else { MOST_COUNTED };
        let counted = if shape.length.is_free() {
            Some(free.clone())
        } else if shape.length.min.max(shape.length.max.unwrap_or(0)) > most {
            None
        } else {
            let (least, most) = shape.length.after(0);
            let length = Automaton::from_pattern(&Regular::Class(vec![(0, LAST)]).repeat(least, most));
            length.and_then(|length| length.both(&free))
        };
        Ok(Texts { free, counted })
    }

    /// The texts allowed for a string; if their length cannot be enforced, a note says so.
    pub(super) fn texts_of_length(&mut self, shape: &Constraints) -> Result<Automaton, Problem> {
        let Texts { free, counted } = self.lengthened(shape)?;
        if counted.is_none() {
            self.note_uncounted(shape);
        }
        Ok(counted.unwrap_or(free))
    }

    pub(super) fn string(&mut self, shape: &Constraints, style: &Style, name: &str) -> Result<Node, Problem> {
        if shape.length.is_never() {
            return Ok(Node::never());
        }
        if let Some(input) = self.input {
            return self.input(input, style, self.free_texts, shape);
        }
        let Texts { free, counted } = self.lengthened(shape)?;
        let own = format!("{name}-text");
        let is_free = counted.as_ref() == Some(&Automaton::anything());
        let (free_text, free_string) = style.free_names();
        let text_name = if is_free { free_text } else { &own };
        if let Some(text) = &counted
            && let Some(node) = style.string(self.rules, text_name, text, self.free_texts)
        {
            if !is_free {
                return Ok(node);
            }
            let native = native::free(true, style, self.rules, self.free_texts);
            let node = self.rules.shared(free_string, node);
            return Ok(self.rules.add_native(text_name, node, native));
        }
        if free == Automaton::anything() {
            return Ok(self.characters(shape, style, &own));
        }
        if !shape.length.is_free()
            && let Some(node) = style.string(self.rules, &own, &free, self.free_texts)
        {
            self.note_uncounted(shape);
            return Ok(node);
        }
        let looser = self.without_forms(shape);
        self.string(&looser, style, name)
    }

    /// A string that is too long to count while markers are excluded: excluding their first characters ensures that none
    /// can form.
    fn characters(&mut self, shape: &Constraints, style: &Style, name: &str) -> Node {
        let one = self.without_marks(shape, self.free_texts).unwrap_or_else(Automaton::anything);
        let style = &style.with_one_quote();
        let character = style.string(self.rules, name, &one, self.free_texts);
        let character = character.and_then(|node| unquoted(&node, style)).unwrap_or_else(Node::never);
        let character = self.rules.shared(&format!("{}-character", style.name), character);
        let (least, most) = shape.length.after(0);
        let (open, close) = style.strings.marks();
        let body = character.repeat(least, most);
        Node::sequence([style.literal(open), body, style.literal(close)])
    }

    fn note_uncounted(&mut self, shape: &Constraints) {
        self.note(
            Effect::Looser,
            &shape.path,
            shape.length_keyword(),
            "it is not enforced together with the other keywords",
        );
    }

    /// The shape without the forms of its text, which are too large for a grammar that excludes the markers.
    fn without_forms(&mut self, shape: &Constraints) -> Constraints {
        let message = "together with the markers of the wire format it is too large to be enforced";
        for (keyword, forms) in [("pattern", &shape.patterns), ("format", &shape.formats)] {
            for (_, path) in forms {
                self.note(Effect::Looser, path, keyword, message);
            }
        }
        let mut looser = Constraints { patterns: Vec::new(), formats: Vec::new(), ..shape.clone() };
        looser.not_values.retain(|value| value.as_str().is_none());
        if looser.not_values.len() < shape.not_values.len() {
            self.note(Effect::Looser, &shape.path, "not", message);
        }
        looser
    }

    /// One character that does not begin a marker, for texts that are too long to be counted exactly.
    fn without_marks(&mut self, shape: &Constraints, free_texts: &Automaton) -> Option<Automaton> {
        let message = "a text this long may not contain the characters that begin markers";
        self.note(Effect::Tighter, &shape.path, shape.length_keyword(), message);
        let begins = free_texts.state(0).map_or(&[][..], |state| state.edges).iter().filter(|edge| edge.to == 0);
        Automaton::from_pattern(&Regular::Class(begins.map(|edge| (edge.low, edge.high)).collect()))
    }

    /// The input of a custom tool.
    fn input(
        &mut self,
        input: &Input,
        style: &Style,
        free_texts: &Automaton,
        shape: &Constraints,
    ) -> Result<Node, Problem> {
        let name = format!("{}-input", self.tool);
        let node = match input {
            Input::Regular(text) => style.string(self.rules, &name, text, free_texts),
            Input::ContextFree(grammar) => {
                let forms_mark = grammar
                    .letters()
                    .is_none_or(|letters| letters.both(&free_texts.complement()).is_none_or(|marks| !marks.is_empty()));
                if forms_mark {
                    let message = "no terminal contains a marker, but several together may form one";
                    self.note(Effect::Looser, &shape.path, "format", message);
                }
                style.grammar(self.rules, &name, grammar, free_texts)
            }
        };
        node.ok_or_else(|| Problem::at(&shape.path, &format!("this text needs more than {MOST_STATES} states")))
    }

    /// A string without quotes that contains no marker.
    pub(crate) fn bare_text(
        &mut self,
        shape: &Constraints,
        name: &str,
        free_texts: &Automaton,
    ) -> Result<Node, Problem> {
        if let Some(input) = self.input {
            let style = Style { strings: Strings::Marked(String::new(), String::new()), ..Style::json() };
            return self.input(input, &style, free_texts, shape);
        }
        let Texts { free, counted } = self.lengthened(shape)?;
        if let Some(text) = &counted
            && let Some(both) = text.both(free_texts)
        {
            let name = if *text == Automaton::anything() { "bare-text" } else { name };
            return Ok(self.rules.text(name, both));
        }
        if free == Automaton::anything() {
            let one = self.without_marks(shape, free_texts).unwrap_or_else(Automaton::nothing);
            let (least, most) = shape.length.after(0);
            return Ok(self.rules.text("bare-character", one).repeat(least, most));
        }
        if !shape.length.is_free()
            && let Some(both) = free.both(free_texts)
        {
            self.note_uncounted(shape);
            return Ok(self.rules.text(name, both));
        }
        let looser = self.without_forms(shape);
        self.bare_text(&looser, name, free_texts)
    }
}

/// A quoted text without its quotes.
fn unquoted(node: &Node, style: &Style) -> Option<Node> {
    let Node::Sequence(items) = node else { return None };
    let (open, close) = style.strings.marks();
    let (open, close) = (style.literal(open), style.literal(close));
    let inner = items.get(1..items.len().checked_sub(1)?)?;
    (items.first() == Some(&open) && items.last() == Some(&close)).then(|| Node::sequence(inner.iter().cloned()))
}

/// Why a text is not a pattern.
pub(super) struct NotAPattern {
    why: String,
}

impl fmt::Display for NotAPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "is not a regular expression: {}", self.why)
    }
}

/// The texts of a pattern; `None` if it is not regular, or too large.
pub(super) fn texts_of(pattern: &str) -> Result<Option<Automaton>, NotAPattern> {
    match of_schema(pattern) {
        Ok(regular) => Ok(regular.and_then(|regular| Automaton::from_pattern(&regular))),
        Err(error) if error.is_unsupported => Ok(None),
        Err(error) => Err(NotAPattern { why: error.message.to_string() }),
    }
}

impl Style {
    /// The names of the rules for any text, and for a string of any text.
    fn free_names(&self) -> (&'static str, &'static str) {
        match self.strings {
            Strings::Json => ("json-text", "string"),
            Strings::Python(_) => ("python-text", "python-string"),
            Strings::Single => ("single-text", "single-string"),
            Strings::Marked(..) => ("marked-text", "marked-string"),
        }
    }
}
