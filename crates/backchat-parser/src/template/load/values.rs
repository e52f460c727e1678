//! Checks values of the common types: each wrong one is a problem at its path, and checking continues.

use super::problems::{Checker, Problem};
use crate::pattern::{Pattern, PatternError};
use crate::template::Delimiter;
use crate::template::content::parsers_with_argument;
use crate::template::keys::{self, Key};
use backchat_core::diagnostic::{Severity, closest, shortened};
use backchat_core::json::{Object, Path, Places, Value};

pub(super) struct At<'v> {
    entries: &'v Object,
    path: Path,
}

impl<'v> At<'v> {
    pub fn new(entries: &'v Object, path: Path) -> Self {
        Self { entries, path }
    }

    pub fn get(&self, key: &str) -> Option<&'v Value> {
        self.entries.get(key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    pub fn path(&self, key: &str) -> Path {
        self.path.key(key)
    }
}

impl Checker {
    pub fn error(
        &mut self,
        id: &'static str,
        path: &Path,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Problem {
        self.add(Severity::Error, id, path, message, help)
    }

    pub fn warning(
        &mut self,
        id: &'static str,
        path: &Path,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Problem {
        self.add(Severity::Warning, id, path, message, help)
    }

    /// Reports each key that is not in the table. Returns the keys that were probably meant.
    pub fn keys(&mut self, at: &At<'_>, table: &[Key], what: &str, severity: Severity) -> Vec<&'static str> {
        let mut meant = Vec::new();
        for name in at.entries.keys().filter(|name| table.iter().all(|key| key.name != *name)) {
            let free = table.iter().map(|key| key.name).filter(|key| !at.has(key));
            let closest = closest(name, free);
            meant.extend(closest);
            let path = at.path(name);
            let name = Value::from(shorten(name)).to_string();
            let name = name.trim_matches('"');
            let suggestion = closest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default();
            let (id, message) = match severity {
                Severity::Error => ("unknown-key", format!("unknown key `{name}` in {what}{suggestion}")),
                _ => ("unknown-argument", format!("{what} has no argument `{name}`: it is ignored{suggestion}")),
            };
            let help = match (closest, elsewhere(name)) {
                (Some(key), _) => format!("rename it to `{key}`"),
                (None, Some(advice)) if severity == Severity::Error => advice,
                _ => format!("remove it; the keys here are {}", listed(table.iter().map(|key| key.name))),
            };
            let problem = self.add(severity, id, &path, message, help).on_key();
            if let Some(key) = closest {
                problem.replace_with(key);
            }
        }
        meant
    }

    /// Reports a value of the wrong type, as the reference does at load.
    pub fn wrong_type<T>(&mut self, path: &Path, value: &Value, wanted: &str, help: &str) -> Option<T> {
        let message = format!("`{}` must be {wanted}, not {}", last_name(path), value.kind());
        self.error("wrong-type", path, message, help);
        None
    }

    /// Reads `open` or `open_pattern`, and the like.
    pub fn delimiter(&mut self, at: &At<'_>, [literal, pattern]: [&'static str; 2]) -> Option<Delimiter> {
        let literals = at.get(literal).and_then(|value| self.literals(&at.path(literal), value));
        let source = at.get(pattern).and_then(|value| self.pattern(&at.path(pattern), value));
        if at.has(literal) && at.has(pattern) {
            let message = format!("`{literal}` and `{pattern}` exclude each other");
            let problem = self.error("conflicting-keys", &at.path(pattern), message, "remove one of them");
            problem.on_key().label(at.path(literal), "the other one");
        }
        let literals = literals.map(|literals| Delimiter::Literals { pattern: Pattern::literals(&literals), literals });
        literals.or(source.map(Delimiter::Pattern))
    }

    fn literals(&mut self, path: &Path, value: &Value) -> Option<Vec<String>> {
        let help = "write a string or a list of strings, none of them empty";
        let name = last_name(path);
        let items = match value {
            Value::String(_) => std::slice::from_ref(value),
            Value::List(items) if items.is_empty() => {
                let message = format!("`{name}` is an empty list, so nothing could ever match");
                self.error("empty-list", path, message, help);
                return None;
            }
            Value::List(items) => items,
            other => return self.wrong_type(path, other, "a string or a list of strings", help),
        };
        let item_path = |index| if value.as_list().is_some() { path.index(index) } else { path.clone() };
        let mut literals = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.as_str() {
                None => {
                    let message = format!("`{name}` must contain only strings, not {}", item.kind());
                    self.error("wrong-type", &item_path(index), message, help);
                }
                Some("") => {
                    let message = format!("`{name}` contains an empty string, which would match everywhere");
                    self.error("empty-literal", &item_path(index), message, help);
                }
                Some(literal) => literals.push(literal.to_owned()),
            }
        }
        (literals.len() == items.len()).then_some(literals)
    }

    fn pattern(&mut self, path: &Path, value: &Value) -> Option<Pattern> {
        let Some(source) = value.as_str() else {
            let help = "write the pattern as a string, or remove the key";
            return self.wrong_type(path, value, "a string with a pattern", help);
        };
        Pattern::new(source).inspect_err(|error| self.refused_pattern(path, error)).ok()
    }

    /// Reports a refused pattern.
    pub fn refused_pattern(&mut self, path: &Path, error: &PatternError) {
        let name = last_name(path);
        let problem = match error.is_unsupported {
            true => {
                let message = format!("`{name}` cannot be used: {error}");
                self.error("unsupported-pattern", path, message, "rewrite the pattern without it")
            }
            false => {
                let message = format!("`{name}` is not a valid pattern: {error}");
                self.error("invalid-pattern", path, message, PATTERN_HELP)
            }
        };
        problem.in_string(error.offset);
    }

    /// Reports each key that occurs twice in one object: only the last of them counts.
    pub fn repeated_keys(&mut self, path: &Path, here: &Places) {
        for (key, span) in &here.overridden {
            let message = format!("`{}` occurs twice in this object; only the last one counts", shorten(key));
            self.warning("repeated-key", &path.key(key), message, "remove this one").at_span(span.clone());
        }
        for (step, places) in here.below() {
            self.repeated_keys(&path.step(step), places);
        }
    }
}

pub(super) const PATTERN_HELP: &str = "patterns are those of Python's `regex` module; \
    a character such as `[`, `(` or `|` needs a `\\` before it to match itself";

/// Advice for a key that belongs to another object of the format.
fn elsewhere(name: &str) -> Option<String> {
    let is_in = |table: &[Key]| table.iter().any(|key| key.name == name);
    if is_in(keys::TEMPLATE) {
        return Some("move it to the top of the template, next to `fields`".to_owned());
    }
    if is_in(keys::FIELD) {
        return Some("move it into a field, an entry of `fields`".to_owned());
    }
    let parsers = listed(parsers_with_argument(name));
    (!parsers.is_empty()).then(|| format!("move it into `content_args`, as an argument of {parsers}"))
}

/// `a`, `b` and `c`, each in backticks.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// A flag that the reference reads by Python's truth of any value.
pub(super) fn flag(check: &mut Checker, at: &At<'_>, key: &str, default: bool) -> bool {
    let Some(value) = at.get(key) else { return default };
    if value.as_bool().is_none() {
        let taken = value.is_truthy();
        let message = format!("`{key}` is {}, and is read as {taken}", value.kind());
        check.warning("not-a-bool", &at.path(key), message, format!("write `{taken}`")).replace_with(taken);
    }
    value.is_truthy()
}

/// The name of the value at a path, as a message gives it.
pub(super) fn last_name(path: &Path) -> String {
    use backchat_core::json::Step;
    let name = path.steps().into_iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(shorten(key)),
        Step::Index(_) => None,
    });
    name.unwrap_or_else(|| "the template".to_owned())
}

/// A text from a template, shortened for a message.
pub(super) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    shortened(text, LONGEST).into_owned()
}
