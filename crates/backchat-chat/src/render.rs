//! Compiles a chat template, and renders conversations with it within the limits of the engine.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use indexmap::IndexMap;
use minijinja::ErrorKind;

use crate::builtins::names;
use crate::engine::clock;
use crate::engine::compile::compile;
use crate::engine::context::{Context, Prepared};
use crate::engine::detail_recorder::Details;
use crate::engine::evaluator::Evaluator;
use crate::engine::limits;
use crate::engine::outcome_recorder::{Assumed, Ran};
use crate::engine::program::Program;
use crate::engine::read_recorder::Watched;
use crate::engine::run::Run;
use crate::jinja;
use crate::jinja::survey::Survey;
use crate::jinja::syntax::{self, SyntaxError};
use crate::origin::Rendered;
use crate::values::is_immutable;
use backchat_core::diagnostic::{Diagnostic, Place, line_column};
use backchat_core::json;

/// The initial capacity of the output, in multiples of the conversation's text.
const ROOM: usize = 8;

/// A compiled chat template, ready to render any number of conversations.
///
/// It renders what transformers renders, byte for byte: Jinja2 with `trim_blocks`, `lstrip_blocks`, loop
/// controls and the `generation` tag, in Python's dialect of values. Rendering reads no file, and stops with an
/// error if a template exceeds generous limits on work, time, depth and output.
///
/// ```
/// # mod backchat { pub use backchat_chat as chat; pub use backchat_core::json; }
/// use backchat::chat::{ChatTemplate, RenderOptions};
/// use backchat::json;
///
/// let template = ChatTemplate::compile("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")?;
/// let context = json::read(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#)?;
/// let rendered = template.render(context.as_object().unwrap(), &RenderOptions::default())?;
/// assert_eq!(rendered.text, "<user>Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChatTemplate {
    program: Program,
    source: String,
    variables: Vec<String>,
    /// The paths below a variable that it reads.
    pub(crate) members: Vec<String>,
    compared: IndexMap<String, Vec<json::Value>>,
    pub(crate) looked_up: HashSet<String>,
    literals: Vec<String>,
    texts: Vec<String>,
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ChatTemplate").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Settings of a render, apart from its context.
#[derive(Clone, Debug, Default)]
pub struct RenderOptions {
    pub(crate) now: Option<String>,
    pub(crate) origins: bool,
    assumed: Vec<Assumed>,
}

/// The same options, under which conditions have these outcomes, whatever their operands are.
pub fn assuming(options: &RenderOptions, assumed: &[Assumed]) -> RenderOptions {
    RenderOptions { assumed: assumed.to_vec(), ..options.clone() }
}

impl RenderOptions {
    /// The time that `strftime_now` sees, such as `2026-11-20T08:00:00`; the real time if absent.
    #[must_use]
    pub fn now(mut self, now: impl Into<Option<String>>) -> Self {
        self.now = now.into();
        self
    }

    /// Whether to record which position of the template prints each piece. This changes no byte of the render.
    #[must_use]
    pub fn origins(mut self, origins: bool) -> Self {
        self.origins = origins;
        self
    }
}

/// Why a template does not compile or a render failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderError {
    /// The message that the template raised, or a description of the problem.
    pub message: String,
    /// 1-based line of the template.
    pub line: Option<usize>,
    /// Bytes of [`ChatTemplate::normalize`]d source: the call, operator or tag that failed.
    pub span: Option<Range<usize>>,
    kind: RenderErrorKind,
}

/// The kind of a [`RenderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RenderErrorKind {
    /// The template does not compile.
    Syntax,
    /// The template itself refused the conversation, with `raise_exception`.
    Raised,
    /// The render exceeded a limit on work, time or output; another render of the same template most likely will, too.
    Exhausted,
    /// The template calls a method that changes a value, which the sandbox refuses; engines without one may render it.
    Sandboxed,
    /// An expression failed.
    Failed,
}

impl fmt::Display for RenderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{} (line {line} of the template)", self.message),
            None => out.write_str(&self.message),
        }
    }
}

impl std::error::Error for RenderError {}

impl RenderError {
    /// The kind of the error.
    pub fn kind(&self) -> RenderErrorKind {
        self.kind
    }

    fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None, span: None, kind: RenderErrorKind::Failed }
    }

    /// The error as a diagnostic, with its position in the template.
    ///
    /// `source` is the template's text, `file` its name for the user.
    pub fn diagnostic(&self, source: &str, file: &str) -> Diagnostic {
        let source = ChatTemplate::normalize(source);
        let (id, message) = match self.kind {
            RenderErrorKind::Raised => {
                ("template-raised", format!("the template refused this conversation: {}", self.message))
            }
            _ => ("template-failed", self.message.clone()),
        };
        let place = match &self.span {
            Some(span) => Place::span(&source, span.clone()).in_file(file),
            None => Place::file(file),
        };
        Diagnostic::error(id, message).at(place)
    }
}

impl ChatTemplate {
    /// Compiles the source of a chat template.
    ///
    /// Fails if Jinja2 would: on invalid syntax, and on filters and tests that do not exist.
    pub fn compile(source: &str) -> Result<Self, RenderError> {
        if source.len() > limits::MAX_SOURCE {
            let size = limits::MAX_SOURCE >> 20;
            let message = format!("the chat template is larger than {size} MiB: check that it is the file you mean");
            return Err(RenderError { kind: RenderErrorKind::Syntax, ..RenderError::failed(message) });
        }
        let source = Self::normalize(source);
        let syntax_error = |problem: SyntaxError| RenderError {
            message: problem.message,
            line: Some(line_column(&source, problem.span.start).0),
            span: Some(problem.span),
            kind: RenderErrorKind::Syntax,
        };
        let tree = syntax::parse(&source).map_err(syntax_error)?;
        let survey = Survey::new(&tree);
        let program = compile(&tree);
        let variables = survey.variables.iter().map(|name| (*name).to_owned()).collect();
        let literals = survey.literals.into_iter().collect();
        let texts = survey.texts.into_iter().map(str::to_owned).collect();
        let (compared, looked_up) = (survey.compared, survey.looked_up);
        let members = survey.members.into_iter().collect();
        Ok(Self { program, source, variables, members, compared, looked_up, literals, texts })
    }

    /// A template's source as Jinja2 reads it: every line break is a line feed, and the last one is dropped. The spans
    /// of errors refer to this text.
    pub fn normalize(source: &str) -> String {
        syntax::normalize(source)
    }

    /// The variables it may look up in the context, in the order of first mention: every name that may be read before a
    /// statement binds it, including in branches that no render takes.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Constants that it compares values with, by the value's expression: `reasoning_effort` with `"high"`,
    /// `message.role` with `"tool"`. Equality, order, `in` a list of constants and tests such as `is eq` count.
    pub fn compared_constants(&self) -> &IndexMap<String, Vec<json::Value>> {
        &self.compared
    }

    /// The string constants in its expressions: what it compares, splits, joins or prints.
    pub fn literals(&self) -> &[String] {
        &self.literals
    }

    /// Whether it has `{% generation %}` blocks, which mark what the assistant wrote.
    pub fn has_generation_blocks(&self) -> bool {
        self.program.has_generation_blocks
    }

    /// Its source, with line breaks as Jinja2 reads them.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Renders one conversation: `messages`, `tools`, `add_generation_prompt`, and any other variable.
    ///
    /// There are no default variables: one that the context lacks is undefined.
    pub fn render(&self, context: &json::Object, options: &RenderOptions) -> Result<Rendered, RenderError> {
        self.run(&begin(options, false)?, context, &[])
    }

    fn run(&self, run: &Run, context: &json::Object, prepared: &[(&str, &Prepared)]) -> Result<Rendered, RenderError> {
        let context = Context::new(&self.program.context_names, context, prepared, run.recorder.clone())
            .map_err(|problem| RenderError::failed(message(&problem)))?;
        // Unused capacity costs only address space. With less, glibc would return freed memory to the system, and the
        // next render would fault it in again, page by page: it does so with more than twice the largest allocation,
        // and templates that split and join a text hold it up to six times.
        let room = (self.source.len() + ROOM * context.text).min(limits::MAX_TEXT);
        limits::begin();
        let mut evaluator = Evaluator::new(&self.program, &context, run, room);
        let done = catch_unwind(AssertUnwindSafe(|| limits::check().and_then(|()| evaluator.template())));
        let (steps, bytes) = evaluator.cost();
        limits::end(steps, bytes);
        match done {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => {
                let mut error = located(&problem, &self.source, evaluator.failed_at.clone());
                if let Some(message) = run.raised.take() {
                    (error.message, error.kind) = (message, RenderErrorKind::Raised);
                } else if error.kind == RenderErrorKind::Failed
                    && let Some(absent) = evaluator.absent_key(&self.source)
                {
                    error.message = format!("{}: {absent}", error.message);
                }
                return Err(error);
            }
            Err(_) => return Err(RenderError::failed("the template engine failed on this template")),
        }
        Ok(evaluator.into_rendered())
    }
}

/// Whether a string constant of a template, or a text between its tags, contains this text.
pub fn spells(template: &ChatTemplate, text: &str) -> bool {
    template.literals.iter().chain(&template.texts).any(|own| own.contains(text))
}

/// A text of the program that is equal for two templates only if both render every context alike: own names are numbers,
/// and comments, quotes, other spellings of white space and relations, and branches that are constantly dead are gone.
pub fn canonical(template: &ChatTemplate) -> String {
    jinja::canonical::canonical(&template.source, names::is_method).unwrap_or_default()
}

/// Renders with variables that were prepared for many renders, besides those of the context.
pub fn render_prepared(
    template: &ChatTemplate,
    context: &json::Object,
    prepared: &[(&str, &Prepared)],
    options: &RenderOptions,
) -> Result<Rendered, RenderError> {
    template.run(&begin(options, false)?, context, prepared)
}

/// Renders, and returns what the template read until the render ended or failed. Recording changes no byte of the
/// render.
pub fn render_watched(
    template: &ChatTemplate,
    context: &json::Object,
    options: &RenderOptions,
) -> (Result<Rendered, RenderError>, Watched) {
    match begin(options, true) {
        Ok(run) => {
            let rendered = template.run(&run, context, &[]);
            (rendered, run.recorder.as_ref().map(|recorder| recorder.watched()).unwrap_or_default())
        }
        Err(error) => (Err(error), Watched::default()),
    }
}

/// Renders, and returns which way each condition went and what filters changed, until the render ended or failed.
/// Recording changes no byte of the render.
pub fn render_recorded(
    template: &ChatTemplate,
    context: &json::Object,
    prepared: &[(&str, &Prepared)],
    options: &RenderOptions,
) -> (Result<Rendered, RenderError>, Ran) {
    match begin(options, false).map(|run| run.recording_outcomes(&options.assumed)) {
        Ok(run) => {
            let rendered = template.run(&run, context, prepared);
            (rendered, run.outcomes.as_ref().map(|outcomes| outcomes.ran()).unwrap_or_default())
        }
        Err(error) => (Err(error), Ran::default()),
    }
}

/// Renders with origins, and returns also which branches the render took and which values names had, until it ended or
/// failed. Recording changes no byte of the render.
pub fn render_explained(
    template: &ChatTemplate,
    context: &json::Object,
    options: &RenderOptions,
) -> (Result<Rendered, RenderError>, Details) {
    let options = options.clone().origins(true);
    match begin(&options, false).map(Run::recording_details) {
        Ok(run) => {
            let rendered = template.run(&run, context, &[]);
            (rendered, run.details.as_ref().map(|details| details.details()).unwrap_or_default())
        }
        Err(error) => (Err(error), Details::default()),
    }
}

fn begin(options: &RenderOptions, watch: bool) -> Result<Run, RenderError> {
    let now = options.now.as_deref().map(clock::parse).transpose();
    let now = now.map_err(|problem| RenderError::failed(problem.to_string()))?;
    let run = Run::new(now, watch, options.origins);
    Ok(if options.assumed.is_empty() { run } else { run.recording_outcomes(&options.assumed) })
}

/// The message of an error, without the kind that goes before it.
fn message(problem: &minijinja::Error) -> String {
    problem.detail().map_or_else(|| problem.kind().to_string(), str::to_owned)
}

fn located(problem: &minijinja::Error, source: &str, span: Option<Range<usize>>) -> RenderError {
    // A comparison of templates may refuse thousands of times.
    let breaks =
        |end: usize| source.as_bytes().get(..end).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    let line = span.as_ref().map(|span| breaks(span.start) + 1);
    let expression = span.clone().and_then(|span| source.get(span));
    let message = match (problem.kind(), expression) {
        (ErrorKind::UndefinedError, Some(expression)) => format!("`{expression}` looks into an undefined value"),
        _ => message(problem),
    };
    let kind = match limits::is_exceeded() {
        true => RenderErrorKind::Exhausted,
        false if is_immutable(problem) => RenderErrorKind::Sandboxed,
        false => RenderErrorKind::Failed,
    };
    RenderError { message, line, span, kind }
}
