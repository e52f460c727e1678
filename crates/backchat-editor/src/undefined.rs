//! Names that nothing sets and that are probably mistakes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use backchat_chat::{Mention, Reading, Role};
use backchat_core::diagnostic::Edit;
use backchat_core::text::slice;
use strsim::osa_distance;

use crate::chat_text::ChatText;
use crate::finding::{Finding, Level};
use crate::words::{FUNCTIONS, GIVEN};

/// Shorter names differ by one letter too often.
const SHORTEST: usize = 4;

/// Longer ones are no words that somebody misspells.
const LONGEST: usize = 64;

/// Names that Jinja2 itself binds in some places.
const SPECIAL: [&str; 7] = ["loop", "caller", "self", "super", "varargs", "kwargs", "lipsum"];

/// The findings about undefined names of a template.
pub fn findings(text: &ChatText) -> Vec<Finding> {
    let mut names = Names::of(&text.reading);
    text.reading.mentions.iter().filter_map(|mention| names.finding(text, mention)).collect()
}

/// What is looked up for each name that nothing sets: a template may have as many of them as it likes.
struct Names<'t> {
    reading: &'t Reading,
    /// The names that a test asks for, because they may come from outside.
    guarded: HashSet<&'t str>,
    /// The keys of lookups.
    keys: HashSet<&'t Range<usize>>,
    /// The names that are set in each scope.
    set_in: HashSet<(usize, &'t str)>,
    /// The names that are set in each scope or in one inside it.
    set_within: HashSet<(usize, &'t str)>,
    /// The names that are set, with their scopes, and those that every template sees, by their shortened forms.
    shortened: HashMap<String, Vec<(Option<usize>, &'t str)>>,
    /// Why names are undefined in their scopes.
    causes: HashMap<(usize, &'t str), Cause<'t>>,
}

/// Why a name is undefined.
#[derive(Clone, Copy)]
enum Cause<'t> {
    /// It differs by a single mistake from this name, which is within reach.
    Misspelt(&'t str),
    /// Only an inner scope sets it.
    SetInside,
    Unknown,
}

impl<'t> Names<'t> {
    fn of(reading: &'t Reading) -> Self {
        let guards = reading.mentions.iter().filter(|mention| mention.is_guard && mention.binding.is_none());
        let set_in = reading.scopes.iter().enumerate().flat_map(|(scope, set)| {
            let names = set.bindings.iter().filter_map(|at| reading.bindings.get(*at));
            names.map(move |binding| (scope, binding.name.as_str()))
        });
        let set_in: HashSet<(usize, &str)> = set_in.collect();
        let mut set_within = HashSet::new();
        for (scope, name) in &set_in {
            let mut around = around(reading, *scope);
            while around.next().is_some_and(|scope| set_within.insert((scope, *name))) {}
        }
        let given = GIVEN.iter().map(|(name, _)| *name).chain(FUNCTIONS.iter().map(|(name, ..)| *name));
        let known = set_in.iter().map(|(scope, name)| (Some(*scope), *name)).chain(given.map(|name| (None, name)));
        let mut by_form = HashMap::<String, Vec<(Option<usize>, &str)>>::new();
        for (scope, name) in known {
            for form in shortened(name) {
                by_form.entry(form).or_default().push((scope, name));
            }
        }
        Self {
            reading,
            guarded: guards.map(|mention| mention.name.as_str()).collect(),
            keys: reading.lookups.iter().map(|lookup| &lookup.key_span).collect(),
            set_in,
            set_within,
            shortened: by_form,
            causes: HashMap::new(),
        }
    }

    fn is_free(&self, mention: &Mention) -> bool {
        let name = mention.name.as_str();
        mention.binding.is_none()
            && matches!(mention.role, Role::Read | Role::Holder | Role::Called)
            && !self.keys.contains(&mention.span)
            && !SPECIAL.contains(&name)
            && !GIVEN.iter().any(|(given, _)| *given == name)
            && !FUNCTIONS.iter().any(|(known, ..)| *known == name)
            && !self.guarded.contains(name)
    }

    fn cause(&mut self, scope: usize, name: &'t str) -> Cause<'t> {
        if let Some(cause) = self.causes.get(&(scope, name)) {
            return *cause;
        }
        let mut around = around(self.reading, scope);
        let cause = match self.meant(scope, name) {
            Some(meant) => Cause::Misspelt(meant),
            None if around.any(|scope| self.set_in.contains(&(scope, name))) => Cause::Unknown,
            None if self.set_within.contains(&(scope, name)) => Cause::SetInside,
            None => Cause::Unknown,
        };
        self.causes.insert((scope, name), cause);
        cause
    }

    /// The name within reach that differs from this one by a single mistake: of the innermost scope, if there are several.
    fn meant(&self, scope: usize, name: &str) -> Option<&'t str> {
        let forms = shortened(name);
        let known = forms.iter().filter_map(|form| self.shortened.get(form)).flatten();
        let mut near: Vec<_> = known.filter(|(_, known)| osa_distance(name, known) == 1).collect();
        near.sort_unstable();
        let mut scopes = around(self.reading, scope).map(Some).chain([None]);
        scopes.find_map(|scope| near.iter().find(|(other, _)| *other == scope)).map(|(_, known)| *known)
    }

    fn finding(&mut self, text: &ChatText, mention: &'t Mention) -> Option<Finding> {
        if !self.is_free(mention) {
            return None;
        }
        let name = mention.name.as_str();
        let span = text.span(&mention.span);
        let warn = |message: String| Finding::new(Level::Warning, "undefined-name", span.clone(), message);
        let write = |finding: Finding, meant: &str| {
            let edits = vec![Edit { span: span.clone(), text: meant.to_owned() }];
            finding.remedy(format!("Write `{meant}`"), edits, true)
        };
        match self.cause(mention.scope, name) {
            Cause::Misspelt(meant) => {
                return Some(write(warn(format!("nothing sets `{name}`; did you mean `{meant}`?")), meant));
            }
            Cause::SetInside => {
                return Some(warn(format!(
                    "`{name}` is set only in an inner scope and undefined here; use a namespace: `{{% set ns = namespace({name}=none) %}}`, and set `ns.{name}`"
                )));
            }
            Cause::Unknown if mention.role != Role::Called => return None,
            Cause::Unknown => {}
        }
        let names = FUNCTIONS.iter().map(|(known, ..)| *known);
        Some(match backchat_core::diagnostic::closest(name, names) {
            Some(meant) => write(warn(format!("there is no function `{name}`; did you mean `{meant}`?")), meant),
            None => warn(format!("there is no function `{name}`")),
        })
    }
}

/// A scope and those around it.
fn around(reading: &Reading, scope: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(scope), |scope| reading.scopes.get(*scope)?.around)
}

/// A name, and the name without each of its characters: two names that differ by a single mistake share one of these. Names
/// that are too short or too long to be compared have none.
fn shortened(name: &str) -> Vec<String> {
    if !(SHORTEST..=LONGEST).contains(&name.len()) {
        return Vec::new();
    }
    let without = name.char_indices().map(|(at, c)| [slice(name, ..at), slice(name, at + c.len_utf8()..)].concat());
    std::iter::once(name.to_owned()).chain(without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn undefined_names_are_explained() {
        let inner = "{% for a in tools %}{% set found = a %}{% endfor %}";
        let misspelt = "nothing sets `mesages`; did you mean `messages`?";
        let set_inside = "`found` is set only in an inner scope and undefined here";
        for (template, expected) in [
            ("{% set user = 1 %}{{ usre }}", vec!["nothing sets `usre`; did you mean `user`?"]),
            ("{{ mesages }}{{ mesages }}", vec![misspelt, misspelt]),
            (
                "{% for a in tools %}{% set fond = 1 %}{{ found }}{% endfor %}{{ found }}",
                vec!["nothing sets `found`; did you mean `fond`?"],
            ),
            (&format!("{inner}{{{{ found }}}}"), vec![set_inside]),
            ("{{ frobnicate(3) }}", vec!["there is no function `frobnicate`"]),
            ("{{ x }}{{ loop }}{{ x.mesages }}", vec![]),
            ("{% if mesages is defined %}{{ mesages }}{% endif %}", vec![]),
        ] {
            let document = Document::new("a.jinja".into(), "", 1, template, true);
            let found = findings(&ChatText::all(&document).remove(0));
            let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
            let is_expected = messages.iter().zip(&expected).all(|(found, expected)| found.starts_with(expected));
            assert!(is_expected && messages.len() == expected.len(), "{template}: {messages:?}");
        }
    }
}
