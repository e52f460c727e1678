//! The template that is linted, with texts that its delimiters match and the places of its values.

use std::ops::Range;
use std::sync::Arc;

use backchat_core::diagnostic::{Diagnostic, Edit, Place};
use backchat_core::json::{self, Object, Path, Places, Value};
use backchat_derive::targets::{Reader, Reason, Refusal, Target};
use backchat_parser::pattern::Pattern;
use backchat_parser::template::source::{Opened, stop_token};
use backchat_parser::template::{Delimiter, Field, Template};
use backchat_parser::tokens::Tokens;
pub(super) use backchat_probe::probe::REASONING_KEYS as REASONING;

/// A template to lint.
#[derive(Debug)]
pub struct Subject<'t> {
    /// The template.
    pub template: &'t Template,
    /// The readers that should be able to use it.
    pub targets: &'t [&'static Target],
    /// The token that ends the model's turn, if it is known.
    pub stop: Option<String>,
    /// The tokenizer of the model, if its markers are to be looked up.
    pub tokens: Option<Arc<Tokens>>,
    pub(super) warnings: &'t [Diagnostic],
    markers: Vec<Markers>,
    document: Option<Arc<Document<'t>>>,
}

/// More fields than this are run in parts. Real templates have up to six.
const FIELDS: usize = 16;

/// Texts that the delimiters of a field match as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Markers {
    pub open: Vec<String>,
    pub close: Vec<String>,
}

#[derive(Debug)]
struct Document<'t> {
    file: &'t str,
    text: &'t str,
    places: Places,
    base: &'t Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Open,
    Close,
}

impl Side {
    pub fn delimiter(self, field: &Field) -> Option<&Delimiter> {
        match self {
            Side::Open => field.open.as_ref(),
            Side::Close => field.close.as_ref(),
        }
    }

    /// The key it is written under.
    pub fn key(self, delimiter: &Delimiter) -> &'static str {
        match (self, delimiter) {
            (Side::Open, Delimiter::Literals { .. }) => "open",
            (Side::Open, Delimiter::Pattern(_)) => "open_pattern",
            (Side::Close, Delimiter::Literals { .. }) => "close",
            (Side::Close, Delimiter::Pattern(_)) => "close_pattern",
        }
    }
}

impl Markers {
    fn of(field: &Field) -> Self {
        let markers = |delimiter: &Option<Delimiter>| delimiter.as_ref().map(whole_matches).unwrap_or_default();
        Self { open: markers(&field.open), close: markers(&field.close) }
    }
}

impl<'t> Subject<'t> {
    /// A template without a file: findings have paths, not lines.
    pub fn new(template: &'t Template, targets: &'t [&'static Target]) -> Self {
        let markers = template.fields().iter().map(Markers::of);
        Self { template, targets, stop: None, tokens: None, warnings: &[], markers: markers.collect(), document: None }
    }

    /// A template with the file it was read from.
    pub fn of_file(opened: &'t Opened, targets: &'t [&'static Target]) -> Self {
        let mut subject = Self::new(&opened.loaded.template, targets);
        subject.warnings = &opened.loaded.warnings;
        let text = opened.sources.text(Some(&opened.file));
        debug_assert!(text.is_some(), "an opened template holds its text");
        let text = text.unwrap_or("");
        if let Ok((document, places)) = json::read_with_places(text) {
            subject.stop = stop_token(&document);
            subject.document = Some(Arc::new(Document { file: &opened.file, text, places, base: &opened.path }));
        }
        subject
    }

    /// The fields in templates of bounded size, each with the field without `open`; none if one is enough.
    pub(super) fn parts(&self) -> Vec<Template> {
        let opened: Vec<&Field> = self.template.fields().iter().filter(|field| field.open.is_some()).collect();
        if opened.len() <= FIELDS {
            return Vec::new();
        }
        let part = |fields: &[&Field]| {
            let fields = fields.iter().copied().chain(self.template.implicit_field());
            let written: Object = fields.map(|field| (field.name.clone(), field.to_value())).collect();
            let template = Value::from([("start_anchor", "\u{1}".into()), ("fields", Value::Object(written))]);
            Some(Template::from_value(&template).ok()?.template)
        };
        opened.chunks(FIELDS).filter_map(part).collect()
    }

    /// One of these parts to lint, with places in the whole file.
    pub(super) fn part<'p>(&'p self, template: &'p Template) -> Option<Subject<'p>> {
        let known = |field: &Field| {
            let at = self.template.fields().iter().position(|other| other.name == field.name)?;
            self.markers.get(at).cloned()
        };
        Some(Subject {
            template,
            targets: &[],
            stop: self.stop.clone(),
            tokens: None,
            warnings: &[],
            markers: template.fields().iter().map(known).collect::<Option<_>>()?,
            document: self.document.clone(),
        })
    }

    /// The readers of the template, each once.
    pub(super) fn readers(&self) -> Vec<Reader> {
        let mut readers: Vec<Reader> = self.targets.iter().flat_map(|target| target.readers).copied().collect();
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    /// The refusals of the targets' readers for some reasons.
    pub(super) fn refusals(&self, reasons: fn(Reason) -> bool) -> Vec<Refusal> {
        let refusals = self.readers().into_iter().flat_map(|reader| reader.check(self.template));
        refusals.filter(|refusal| reasons(refusal.reason)).collect()
    }

    /// Every pattern that the template writes as one, with its path.
    pub(super) fn patterns(&self) -> Vec<(Path, &'t Pattern)> {
        let mut patterns = Vec::new();
        let anchor = self.template.start_anchor();
        if anchor.literals().is_none() {
            patterns.push((Path::root().key("start_anchor_pattern"), anchor.pattern()));
        }
        for (field, side, delimiter) in self.delimiters() {
            if delimiter.literals().is_none() {
                patterns.push((Self::delimiter_path(field, side), delimiter.pattern()));
            }
            if side == Side::Open
                && let Some(args) = field.content.tags()
            {
                patterns.push((Self::path(field).key("content_args").key("tag_pattern"), &args.tag_pattern));
            }
        }
        patterns
    }

    /// The fields with texts that their delimiters match.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'t Field, &Markers)> {
        self.template.fields().iter().zip(&self.markers)
    }

    /// Each delimiter of each field.
    pub(super) fn delimiters(&self) -> impl Iterator<Item = (&'t Field, Side, &'t Delimiter)> {
        self.template.fields().iter().flat_map(|field| {
            [Side::Open, Side::Close].into_iter().filter_map(move |side| Some((field, side, side.delimiter(field)?)))
        })
    }

    pub(super) fn path(field: &Field) -> Path {
        Path::root().key("fields").key(&field.name)
    }

    pub(super) fn delimiter_path(field: &Field, side: Side) -> Path {
        match side.delimiter(field) {
            Some(delimiter) => Self::path(field).key(side.key(delimiter)),
            None => Self::path(field),
        }
    }

    /// The position of the value at a path, or of its parent if the value is missing.
    pub(super) fn place(&self, path: &Path) -> Place {
        let shown = |base: &Path| path.below(base).to_string();
        let Some(document) = &self.document else {
            return Place::default().path(shown(&Path::root()));
        };
        let Document { file, text, places, base } = document.as_ref();
        let full = path.below(base);
        let above = std::iter::successors(Some(&full), |path| path.split_last().map(|(above, _)| above));
        let found = above.filter_map(|path| places.at(path).map(|found| (path, found))).next();
        let span = found.map_or(0..0, |(path, found)| match &found.key {
            // A missing key is shown at the key that should have it.
            Some(key) if *path != full => key.clone(),
            _ => found.value.clone(),
        });
        Place::span(text, span).in_file(*file).path(full.to_string())
    }

    /// The place of a key.
    pub(super) fn key_place(&self, path: &Path) -> Place {
        let mut place = self.place(path);
        if let (Some(document), Some(key)) = (&self.document, self.key_span(path)) {
            place = Place { path: place.path, ..Place::span(document.text, key).in_file(document.file) };
        }
        place
    }

    fn key_span(&self, path: &Path) -> Option<Range<usize>> {
        let document = self.document.as_ref()?;
        document.places.at(&path.below(document.base))?.key.clone()
    }

    pub(super) fn with_field(&self, field: &Field, change: impl FnOnce(&mut Object)) -> Option<Template> {
        let mut value = self.template.to_value();
        if let Value::Object(entries) = &mut value
            && let Some(Value::Object(fields)) = entries.get_mut("fields")
            && let Some(Value::Object(written)) = fields.get_mut(&field.name)
        {
            change(written);
        }
        Some(Template::from_value(&value).ok()?.template)
    }

    /// The edits that put another key and value in the place of one.
    pub(super) fn replace_entry(&self, path: &Path, key: &str, value: &Value) -> Option<Vec<Edit>> {
        let document = self.document.as_ref()?;
        let here = document.places.at(&path.below(document.base))?;
        let key = Edit { span: here.key.clone()?, text: Value::from(key).to_string() };
        Some(vec![key, Edit { span: here.value.clone(), text: value.to_string() }])
    }

    /// The edit that gives a key another name.
    pub(super) fn rename_key(&self, path: &Path, name: &str) -> Option<Vec<Edit>> {
        Some(vec![Edit { span: self.key_span(path)?, text: Value::from(name).to_string() }])
    }
}

/// How many literals of a list are tried for all of them.
const MOST: usize = 48;

/// Texts that a delimiter matches from their first byte to their last.
fn whole_matches(delimiter: &Delimiter) -> Vec<String> {
    if let Some(literals) = delimiter.literals() {
        return literals.iter().take(MOST).cloned().collect();
    }
    let pattern = delimiter.pattern();
    let is_whole = |text: &&String| {
        !text.is_empty() && pattern.find_at(text, 0).ok().flatten().is_some_and(|found| found.span() == (0, text.len()))
    };
    pattern.examples().iter().filter(is_whole).cloned().collect()
}
