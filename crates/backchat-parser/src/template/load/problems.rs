//! Collects problems by path; positions are resolved once, at the end.

use std::collections::BTreeMap;
use std::ops::Range;

use backchat_core::diagnostic::{Diagnostic, Edit, Place, Severity};
use backchat_core::json::{Path, Places, Value, offset_as_written};
use backchat_core::text::slice;

/// The text a template was read from, and the positions of its values.
#[derive(Clone, Copy)]
pub(crate) struct TemplateText<'s> {
    pub text: &'s str,
    /// The positions of the template and everything below it.
    pub places: &'s Places,
}

/// Checks a template, and collects its problems.
#[derive(Default)]
pub(super) struct Checker {
    problems: Vec<Problem>,
}

/// One problem, and the path of the value it is about.
pub(super) struct Problem {
    diagnostic: Diagnostic,
    path: Path,
    spot: Spot,
    labels: Vec<(Path, &'static str)>,
    replacement: Option<Value>,
}

/// Which bytes of the value at a path a problem points at.
#[derive(Clone, PartialEq, Eq)]
enum Spot {
    Value,
    Key,
    /// The value is missing: the start of the object that should have it.
    Missing,
    /// A byte of the string, counted in its text.
    InString(usize),
    /// These bytes of the text.
    Span(Range<usize>),
}

impl Problem {
    fn new(diagnostic: Diagnostic, path: &Path) -> Self {
        Self { diagnostic, path: path.clone(), spot: Spot::Value, labels: Vec::new(), replacement: None }
    }

    pub fn on_key(&mut self) -> &mut Self {
        self.spot = Spot::Key;
        self
    }

    pub fn missing(&mut self) {
        self.spot = Spot::Missing;
    }

    pub fn in_string(&mut self, offset: usize) {
        self.spot = Spot::InString(offset);
    }

    pub fn at_span(&mut self, span: Range<usize>) {
        self.spot = Spot::Span(span);
    }

    pub fn label(&mut self, path: Path, message: &'static str) {
        self.labels.push((path, message));
    }

    /// Offers a replacement for the text it points at.
    pub fn replace_with(&mut self, value: impl Into<Value>) {
        self.replacement = Some(value.into());
    }

    /// The bytes of the text it points at.
    fn span(&self, source: TemplateText<'_>) -> Option<Range<usize>> {
        match &self.spot {
            Spot::Span(span) => Some(span.clone()),
            Spot::Value => Some(source.places.at(&self.path)?.value.clone()),
            Spot::Key => key_span(&self.path, source),
            Spot::Missing => {
                let above = std::iter::successors(Some(&self.path), |path| Some(path.split_last()?.0));
                let start = above.filter_map(|path| source.places.at(path)).next()?.value.start;
                Some(start..start + 1)
            }
            Spot::InString(offset) => {
                let span = source.places.at(&self.path)?.value.clone();
                let start = span.start + offset_as_written(source.text.get(span.clone())?, *offset);
                let length = source.text.get(start..span.end)?.chars().next().map_or(0, char::len_utf8);
                Some(start..start + length)
            }
        }
    }
}

impl Checker {
    /// Adds a problem of the value at a path, to say more about it.
    pub fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        path: &Path,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> &mut Problem {
        self.problems.push_mut(Problem::new(Diagnostic::new(severity, id, message).help(help), path))
    }

    /// Turns the problems into diagnostics, in the order of the file. Paths are relative to `base`.
    pub fn into_diagnostics(self, base: &Path, source: Option<TemplateText<'_>>) -> Vec<Diagnostic> {
        let shown = |path: &Path| path.below(base).to_string();
        let Some(source) = source else {
            let placed = |problem: Problem| {
                let place = Place { path: Some(shown(&problem.path)), ..Place::default() };
                problem.labels.iter().fold(problem.diagnostic.at(place), |diagnostic, (path, message)| {
                    diagnostic.label(Place { path: Some(shown(path)), ..Place::default() }, *message)
                })
            };
            return self.problems.into_iter().map(placed).collect();
        };

        let spans: Vec<_> = self.problems.iter().map(|problem| problem.span(source)).collect();
        let label_spans =
            self.problems.iter().flat_map(|problem| &problem.labels).map(|(path, _)| key_span(path, source));
        let lines =
            line_columns(source.text, spans.iter().cloned().chain(label_spans).flatten().map(|span| span.start));
        let place = |path: &Path, span: Option<Range<usize>>| Place {
            file: None,
            line_column: span.as_ref().and_then(|span| lines.get(&span.start).copied()),
            span,
            path: Some(shown(path)),
        };
        let mut diagnostics: Vec<_> = self
            .problems
            .into_iter()
            .zip(spans)
            .map(|(problem, span)| {
                let mut diagnostic = problem.diagnostic;
                if let (Some(value), Some(span)) = (problem.replacement, &span) {
                    let text = value.to_string();
                    diagnostic = diagnostic.fix(format!("write `{text}`"), vec![Edit { span: span.clone(), text }]);
                }
                diagnostic = diagnostic.at(place(&problem.path, span));
                problem.labels.iter().fold(diagnostic, |diagnostic, (path, message)| {
                    diagnostic.label(place(path, key_span(path, source)), *message)
                })
            })
            .collect();
        diagnostics.sort_by_key(|diagnostic| {
            diagnostic.place.as_ref().and_then(|place| place.span.as_ref()).map(|span| span.start)
        });
        diagnostics
    }
}

fn key_span(path: &Path, source: TemplateText<'_>) -> Option<Range<usize>> {
    let here = source.places.at(path)?;
    here.key.clone().or_else(|| Some(here.value.clone()))
}

/// The 1-based line and column of each of some bytes, in one pass over the text.
fn line_columns(text: &str, bytes: impl Iterator<Item = usize>) -> BTreeMap<usize, (usize, usize)> {
    let mut wanted: BTreeMap<usize, (usize, usize)> = bytes.map(|byte| (byte, (1, 1))).collect();
    let (mut line, mut column, mut from) = (1, 1, 0);
    for (byte, place) in &mut wanted {
        for c in slice(text, from..*byte).chars() {
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        from = *byte;
        *place = (line, column);
    }
    wanted
}
