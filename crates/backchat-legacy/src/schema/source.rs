//! The sources of schemas: any source of response templates, and `response_schema` in a model's config.
//!
//! A file may hold either; the template wins if it holds both.

use super::{Loaded, Schema, load};
use backchat_core::diagnostic::{Diagnostic, Place, Sources};
use backchat_core::json::{self, Path, Value};
use backchat_parser::template::Template;
use backchat_parser::template::source::{self as templates, Format, SCHEMA_KEY, SourceError, format_of};

/// A schema and the text it was read from.
#[derive(Clone, Debug)]
pub struct OpenedSchema {
    /// The schema, and the warnings about it.
    pub loaded: Loaded,
    /// The file as messages name it.
    pub file: String,
    /// The text of the file, for excerpts.
    pub sources: Sources,
    /// The position of the schema in the file.
    pub path: Path,
    /// The positions of its values in the file.
    pub places: json::Places,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub enum Stored {
    /// A response template.
    Template(templates::Opened),
    /// A response schema.
    Schema(OpenedSchema),
}

/// A reader of outputs.
#[derive(Clone, Debug)]
pub enum TemplateOrSchema {
    /// A response template.
    Template(Template),
    /// A response schema.
    Schema(Schema),
}

impl From<Stored> for TemplateOrSchema {
    fn from(source: Stored) -> Self {
        match source {
            Stored::Template(opened) => Self::Template(opened.loaded.template),
            Stored::Schema(opened) => Self::Schema(opened.loaded.schema),
        }
    }
}

impl TemplateOrSchema {
    /// The template or the schema in a value that was already read, as in a row.
    pub fn from_value(value: &Value) -> Result<Self, Vec<Diagnostic>> {
        if holds_schema(value) {
            return Schema::from_value(value).map(|loaded| Self::Schema(loaded.schema));
        }
        let loaded = Template::from_value(value);
        loaded.map(|loaded| Self::Template(loaded.template)).map_err(|error| error.diagnostics)
    }

    /// The response template, if it is one.
    pub fn into_template(self) -> Option<Template> {
        match self {
            Self::Template(template) => Some(template),
            Self::Schema(_) => None,
        }
    }

    /// A copy for one thread.
    pub fn unshared(&self) -> Self {
        match self {
            Self::Template(template) => Self::Template(template.unshared()),
            Self::Schema(schema) => Self::Schema(schema.clone()),
        }
    }
}

/// Reads a response template or a response schema from its own JSON, from a `tokenizer_config.json` that holds one,
/// from a model folder, or from standard input if `name` is `-`.
pub fn open(name: &str) -> Result<Stored, SourceError> {
    let (file, text) = templates::read(name)?;
    from_text(file, text)
}

/// Reads a template or a schema from the text of a file.
pub fn from_text(file: String, text: String) -> Result<Stored, SourceError> {
    match schema_in(&file, &text) {
        None => templates::from_text(file, text).map(Stored::Template),
        Some(Ok((loaded, path, places))) => {
            let sources = Sources::none().with(file.clone(), text);
            Ok(Stored::Schema(OpenedSchema { loaded, file, sources, path, places }))
        }
        Some(Err(mut diagnostics)) => {
            for diagnostic in &mut diagnostics {
                diagnostic.place.get_or_insert_default().file = Some(file.clone());
            }
            Err(SourceError::new(diagnostics, Sources::none().with(file, text)))
        }
    }
}

type LoadedSchema = (Loaded, Path, json::Places);

/// The schema of a text; `None` if it holds none, or a template as well.
fn schema_in(file: &str, text: &str) -> Option<Result<LoadedSchema, Vec<Diagnostic>>> {
    let (document, entries) = json::read_entries(text).ok()?;
    let entry = |name: &str| templates::given_entry(entries.as_deref()?, name, text);
    if entry(templates::KEY).is_some() {
        return None;
    }
    let (span, path) = match entry(SCHEMA_KEY) {
        Some(entry) => (entry.value.clone(), Path::root().key(SCHEMA_KEY)),
        None => (document, Path::root()),
    };
    let is_own = path == Path::root();
    if span.len() > load::LARGEST {
        let is_likely = !is_own || entries.iter().flatten().any(|entry| entry.name.starts_with("x-"));
        let place = Place::span(text, span.start..span.start + 1).in_file(file).path(path.to_string());
        return is_likely.then(|| Err(vec![load::too_large().at(place)]));
    }
    let (value, places) = json::read_with_places_at(text, span.start).ok()?;
    if is_own && format_of(&value) != Format::Schema {
        return None;
    }
    let loaded = load::load_value(&value, &path, Some((text, &places)));
    Some(loaded.map(|loaded| (loaded, path, places)))
}

/// Whether a value holds a schema: an empty object is one that accepts everything.
fn holds_schema(value: &Value) -> bool {
    format_of(value) == Format::Schema || value.as_object().is_some_and(|entries| entries.is_empty())
}
