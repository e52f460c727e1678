//! The typed template. Every value has passed all checks, and its patterns are compiled.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::{ContentSpec, Respell, Transform};
use crate::pattern::Pattern;
use backchat_core::json::{Object, Value};

/// A response template: how a model's output is parsed, field by field.
///
/// It is cheap to clone and can be shared by any number of parsers.
///
/// ```
/// # use backchat_parser as backchat;
/// use backchat::Template;
///
/// let text = r#"{"start_anchor": "<|a|>", "fields": {"content": {"close": ["<|end|>"]}}}"#;
/// let template = Template::load(text)?.template;
/// let content = template.implicit_field().unwrap();
/// assert_eq!(content.close.as_ref().unwrap().pattern().find_at("Hi<|end|>", 0)?.unwrap().span(), (2, 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    parts: Arc<Parts>,
}

#[derive(Debug)]
pub(super) struct Parts {
    pub defaults: Object,
    pub start_anchor: Delimiter,
    pub fields: Vec<Field>,
    /// Data that the parser computes once for all parsers of the template.
    pub prepared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// One key of the message, and how to find its text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// The key of the message.
    pub name: String,
    /// The opening delimiter; absent in the implicit field, which takes the text outside every other region.
    #[doc(hidden)]
    pub open: Option<Delimiter>,
    /// The closing delimiter; without it, a region runs to the end of the output.
    #[doc(hidden)]
    pub close: Option<Delimiter>,
    /// Whether the field is a list, to which each region appends.
    pub repeats: bool,
    /// With `repeats`: text regions are joined into one string, with this between them.
    pub join: Option<String>,
    /// Whether the message may lack the field.
    pub optional: bool,
    /// How the body becomes a value.
    #[doc(hidden)]
    pub content: ContentSpec,
    /// The shape of the value.
    #[doc(hidden)]
    pub transform: Option<Transform>,
    /// The arguments of `content` as they were written.
    pub(super) content_args: Value,
    /// How a parser treats its regions.
    pub(crate) regions: Regions,
    /// Whether the text is trimmed once its regions are joined, rather than each region.
    pub(crate) strips_joined: bool,
}

/// How a parser treats the regions of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Regions {
    /// It reads their values.
    #[default]
    Read,
    /// It keeps their text as written, with their delimiters.
    AsWritten,
    /// It drops them.
    Dropped,
}

/// A compiled delimiter.
#[derive(Clone, Debug)]
pub enum Delimiter {
    /// Any of some strings.
    Literals {
        /// The strings as written: at least one, none of them empty.
        literals: Vec<String>,
        /// The pattern that matches any of them, the longest first.
        pattern: Pattern,
    },
    /// A pattern in the Python dialect.
    Pattern(Pattern),
}

impl Delimiter {
    /// The pattern that finds it, whichever way it was written.
    pub fn pattern(&self) -> &Pattern {
        match self {
            Self::Literals { pattern, .. } | Self::Pattern(pattern) => pattern,
        }
    }

    /// The strings, if it was written as such.
    pub fn literals(&self) -> Option<&[String]> {
        match self {
            Self::Literals { literals, .. } => Some(literals),
            Self::Pattern(_) => None,
        }
    }

    fn respelled<R: Respell>(&self, respell: &mut R) -> Result<Self, R::Error> {
        Ok(match self {
            Self::Literals { literals, .. } => {
                let literals: Vec<String> = literals.iter().map(|literal| respell.text(literal)).collect();
                Self::Literals { pattern: Pattern::literals(&literals), literals }
            }
            Self::Pattern(pattern) => Self::Pattern(respell.pattern(pattern)?),
        })
    }
}

impl Template {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Data computed once for all clones of the template. It must not hold the template, which would hold itself.
    pub(crate) fn prepared<P: Any + Send + Sync>(&self, make: impl Fn(&Self) -> P) -> Arc<P> {
        let prepared = self.parts.prepared.get_or_init(|| Arc::new(make(self)));
        prepared.clone().downcast().unwrap_or_else(|_| Arc::new(make(self)))
    }

    /// A copy for one thread: threads that share a template contend for its reference count.
    #[must_use]
    pub fn unshared(&self) -> Self {
        self.with(self.parts.start_anchor.clone(), self.parts.fields.clone())
    }

    fn with(&self, start_anchor: Delimiter, fields: Vec<Field>) -> Self {
        let defaults = self.parts.defaults.clone();
        Self::new(Parts { defaults, start_anchor, fields, prepared: OnceLock::new() })
    }

    /// The same template for a parser that treats some regions differently. Regions that are kept as written join the
    /// text of `content`, as its own regions do.
    pub(crate) fn treating(&self, regions: impl Fn(&Field) -> Regions) -> Self {
        let mut fields = self.parts.fields.clone();
        let mut takes_more = false;
        let content = fields.iter().find(|field| field.name == "content");
        let strips = content.is_some_and(|content| content.content.strips_text() == Some(true));
        let join = content.and_then(|content| content.join.clone()).unwrap_or_default();
        for field in &mut fields {
            field.regions = regions(field);
            takes_more |= field.regions == Regions::AsWritten;
            field.optional |= field.regions != Regions::Read;
        }
        for field in fields.iter_mut().filter(|_| takes_more) {
            let is_more = field.regions == Regions::AsWritten;
            if is_more || field.name == "content" {
                field.repeats = true;
                field.join.get_or_insert_default();
                // The white space between two pieces is theirs.
                field.strips_joined = strips;
                if let ContentSpec::Text { strip } = &mut field.content {
                    *strip = false;
                }
            }
            if is_more {
                field.name = "content".to_owned();
                field.join = Some(join.clone());
                field.content = ContentSpec::Text { strip: false };
                field.transform = None;
            }
        }
        // The parser releases only the text of the first fields.
        fields.sort_by_key(|field| field.regions == Regions::Dropped);
        self.with(self.parts.start_anchor.clone(), fields)
    }

    /// The same template with other delimiters, and other texts in the arguments of content parsers. Fails with the
    /// keys that lead to the first one that has no other form.
    pub(crate) fn respelled<E>(&self, respell: &mut impl Respell<Error = E>) -> Result<Self, (String, E)> {
        let start_anchor = self.parts.start_anchor.respelled(respell);
        let start_anchor = start_anchor.map_err(|error| ("start_anchor".to_owned(), error))?;
        let mut fields = self.parts.fields.clone();
        for field in &mut fields {
            let at = |key: &str| format!("fields.{}.{key}", field.name);
            for (key, delimiter) in [("open", &mut field.open), ("close", &mut field.close)] {
                if let Some(delimiter) = delimiter {
                    let key = if delimiter.literals().is_none() { format!("{key}_pattern") } else { key.to_owned() };
                    *delimiter = delimiter.respelled(respell).map_err(|error| (at(&key), error))?;
                }
            }
            field.content = field.content.respelled(respell).map_err(|error| (at("content_args"), error))?;
        }
        Ok(self.with(start_anchor, fields))
    }

    /// Values present in every message.
    pub fn defaults(&self) -> &Object {
        &self.parts.defaults
    }

    /// The prompt is cut after the last of these.
    #[doc(hidden)]
    pub fn start_anchor(&self) -> &Delimiter {
        &self.parts.start_anchor
    }

    /// The fields, in the order of the template.
    pub fn fields(&self) -> &[Field] {
        &self.parts.fields
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The field that takes the text outside every other region, if there is one.
    pub fn implicit_field(&self) -> Option<&Field> {
        self.fields().iter().find(|field| field.open.is_none())
    }
}

/// Two templates are equal if they are written equally.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}
