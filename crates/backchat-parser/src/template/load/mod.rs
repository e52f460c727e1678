//! Loads a template from JSON and reports all problems at once, each at its position.

mod arguments;
mod captures;
mod field;
mod problems;
mod values;

use std::fmt;
use std::sync::OnceLock;

use self::problems::Checker;
use self::values::At;
use super::keys;
use super::model::Parts;
use super::{Field, Template};
use backchat_core::diagnostic::{Diagnostic, Place, Severity, invalid_json};
use backchat_core::json::{self, Path, Value};

pub(crate) use self::problems::TemplateText;

/// A loaded template and its warnings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The template.
    pub template: Template,
    /// Problems of a template that loads.
    pub warnings: Vec<Diagnostic>,
}

/// Why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadError {
    /// Every problem of the file; at least one is an error.
    pub diagnostics: Vec<Diagnostic>,
}

/// The kind of problem of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// The text is not JSON.
    Syntax,
    /// The text is larger than any template.
    TooLarge,
    /// It is JSON, but not a template that can be used.
    Invalid,
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        for (i, diagnostic) in errors.enumerate() {
            let path = diagnostic.place.as_ref().and_then(|place| place.path.as_deref());
            let separator = if i > 0 { "; " } else { "" };
            match path {
                Some(path) => write!(out, "{separator}{path}: {}", diagnostic.message)?,
                None => write!(out, "{separator}{}", diagnostic.message)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// The kind of problem.
    pub fn kind(&self) -> LoadErrorKind {
        match self.diagnostics.first().map(|problem| problem.id) {
            Some("invalid-json") => LoadErrorKind::Syntax,
            Some("template-too-large") => LoadErrorKind::TooLarge,
            _ => LoadErrorKind::Invalid,
        }
    }

    /// Names the file that every place is in.
    #[must_use]
    pub fn in_file(mut self, name: &str) -> Self {
        name_file(&mut self.diagnostics, name);
        self
    }
}

impl Loaded {
    /// Names the file that every place is in.
    #[must_use]
    pub fn in_file(mut self, name: &str) -> Self {
        name_file(&mut self.warnings, name);
        self
    }
}

fn name_file(diagnostics: &mut [Diagnostic], name: &str) {
    for diagnostic in diagnostics {
        diagnostic.place.get_or_insert_default().file = Some(name.to_owned());
        diagnostic.labels.iter_mut().for_each(|label| label.place.file = Some(name.to_owned()));
    }
}

impl Template {
    /// Loads a template from JSON text.
    pub fn load(text: &str) -> Result<Loaded, LoadError> {
        if text.len() > LARGEST {
            return Err(too_large(Place { path: Some(Path::root().to_string()), ..Place::span(text, 0..1) }));
        }
        let (value, places) = json::read_with_places(text)
            .map_err(|error| LoadError { diagnostics: vec![invalid_json(text, &error)] })?;
        load_value(&value, &Path::root(), Some(TemplateText { text, places: &places }))
    }

    /// Loads a template from a value; problems have paths, not lines.
    pub fn from_value(value: &Value) -> Result<Loaded, LoadError> {
        if fits(value, LARGEST).is_none() {
            return Err(too_large(Place::default().path(Path::root().to_string())));
        }
        load_value(value, &Path::root(), None)
    }
}

/// The largest template that is loaded, in bytes of its text: it bounds the time and memory of every later step.
pub(crate) const LARGEST: usize = 1 << 20;

/// The rest of `room` after the text of a value; `None` if it does not fit.
fn fits(value: &Value, room: usize) -> Option<usize> {
    let room = room.checked_sub(1)?;
    match value {
        Value::String(text) => room.checked_sub(text.len()),
        Value::Number(number) => room.checked_sub(number.as_str().len()),
        Value::List(items) => items.iter().try_fold(room, |room, item| fits(item, room)),
        Value::Object(entries) => {
            entries.iter().try_fold(room, |room, (key, item)| fits(item, room.checked_sub(key.len())?))
        }
        Value::Null | Value::Bool(_) => Some(room),
    }
}

/// The error about a template that is too large.
pub(crate) fn too_large(place: Place) -> LoadError {
    let message = format!("the response template is larger than {} MB", LARGEST >> 20);
    let help = "a template is a few kilobytes of JSON; is this the right file?";
    LoadError { diagnostics: vec![Diagnostic::error("template-too-large", message).at(place).help(help)] }
}

/// Loads the template at `base` of a document.
pub(crate) fn load_value(value: &Value, base: &Path, source: Option<TemplateText<'_>>) -> Result<Loaded, LoadError> {
    let mut check = Checker::default();
    let parts = template(&mut check, value);
    if let Some(source) = source {
        check.repeated_keys(&Path::root(), source.places);
    }
    let diagnostics = check.into_diagnostics(base, source);
    match parts {
        Some(parts) if diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error) => {
            Ok(Loaded { template: Template::new(parts), warnings: diagnostics })
        }
        _ => Err(LoadError { diagnostics }),
    }
}

fn template(check: &mut Checker, value: &Value) -> Option<Parts> {
    let root = Path::root();
    let Some(entries) = value.as_object() else {
        let message = format!("a response template must be an object, not {}", value.kind());
        let help = "begin with `{\"version\": 1, \"start_anchor\": …, \"fields\": {…}}`";
        check.error("wrong-type", &root, message, help);
        return None;
    };
    let at = At::new(entries, root);
    let misspelled = check.keys(&at, keys::TEMPLATE, "a response template", Severity::Error);

    if let Some(version) = at.get("version") {
        check_version(check, version, &at.path("version"));
    }
    let defaults = match at.get("defaults") {
        None => Some(json::Object::new()),
        Some(Value::Object(defaults)) => Some(defaults.clone()),
        Some(other) => check.wrong_type(&at.path("defaults"), other, "an object", "write `{}`, or remove the key"),
    };
    let start_anchor = match check.delimiter(&at, ["start_anchor", "start_anchor_pattern"]) {
        None if !at.has("start_anchor") && !at.has("start_anchor_pattern") && !misspelled.contains(&"start_anchor") => {
            let help = "add `\"start_anchor\"`, the text that begins the assistant's turn in a prompt, or \
                        `\"start_anchor_pattern\"`";
            check.error("missing-key", &at.path("start_anchor"), "`start_anchor` is missing", help).missing();
            None
        }
        anchor => anchor,
    };
    let fields = fields(check, &at, &misspelled);
    if let (Some(defaults), Some(fields)) = (&defaults, &fields) {
        default_values(check, defaults, fields, &at.path("defaults"));
    }
    Some(Parts { defaults: defaults?, start_anchor: start_anchor?, fields: fields?, prepared: OnceLock::new() })
}

/// Reports a version for which Python's `version == 1` does not hold; `1.0` and `true` pass.
fn check_version(check: &mut Checker, version: &Value, path: &Path) {
    let help = "write `\"version\": 1`, the only version";
    let problem = match version {
        Value::Number(number) if number.as_f64() == 1.0 => return,
        Value::Bool(true) => check.warning("odd-version", path, "the version is `true`, which is read as 1", help),
        other => {
            let message = format!("unknown version {} of the format", values::shorten(&other.to_string()));
            check.error("unsupported-version", path, message, help)
        }
    };
    problem.replace_with(1_i64);
}

fn fields(check: &mut Checker, at: &At<'_>, misspelled: &[&str]) -> Option<Vec<Field>> {
    let path = at.path("fields");
    let entries = match at.get("fields") {
        Some(Value::Object(entries)) if !entries.is_empty() => entries,
        Some(Value::Object(_)) => {
            let help = "add an entry for each key of the message, such as `\"content\": {}`";
            check.error("no-fields", &path, "`fields` is empty", help);
            return None;
        }
        Some(other) => {
            return check.wrong_type(&path, other, "an object", "write one entry for each key of the message");
        }
        None => {
            if !misspelled.contains(&"fields") {
                let help = "add `\"fields\"` with an entry for each key of the message, such as `\"content\": {}`";
                check.error("missing-key", &path, "`fields` is missing", help).missing();
            }
            return None;
        }
    };
    let fields: Vec<_> = entries.iter().map(|(name, value)| field::field(check, name, value, path.key(name))).collect();

    let implicit: Vec<_> =
        entries.iter().filter(|(_, value)| field::is_implicit(value)).map(|(name, _)| name).collect();
    if let [first, rest @ ..] = implicit.as_slice() {
        for name in rest {
            let message = format!(
                "neither `{first}` nor `{name}` has an `open`: only one field can take the text outside the others"
            );
            let help = "give this field an `open` or `open_pattern`";
            let problem = check.error("several-implicit-fields", &path.key(name), message, help);
            problem.on_key().label(path.key(first), "the first field without `open`");
        }
    }
    fields.into_iter().collect()
}

/// Defaults that a field cannot add to.
fn default_values(check: &mut Checker, defaults: &json::Object, fields: &[Field], path: &Path) {
    for field in fields.iter().filter(|field| field.repeats) {
        let (wanted, fits) = match (defaults.get(&field.name), &field.join) {
            (None, _) | (Some(Value::Null), Some(_)) => continue,
            (Some(default), Some(_)) => ("a string or null", default.as_str().is_some()),
            (Some(default), None) => ("a list", default.as_list().is_some()),
        };
        if !fits {
            let name = &field.name;
            let message = format!("`{name}` repeats, so its default must be {wanted}: every region of it will fail");
            let help = format!("make the default {wanted}, or remove it");
            check.warning("unusable-default", &path.key(name), message, help);
        }
    }
}
