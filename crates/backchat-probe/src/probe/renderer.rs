//! Renders contexts with one chat template, each once. A render that exceeds its limits ends the examination: no
//! context is tried after it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::context::Context;
use super::key::Known;
use backchat_chat::{
    Assumed, ChatTemplate, Details, Ran, RenderError, RenderErrorKind, RenderOptions, Rendered, Watched, assuming,
    charge, render_explained, render_watched,
};
use backchat_core::json::Object;
use backchat_core::push_new;

/// How many bytes of text the cache keeps. Later renders are not cached.
const MOST_CACHED: usize = 1 << 25;

/// How many bytes of a known render are read again in the time of one step of the evaluator.
const BYTES_PER_STEP: usize = 4;

/// A render, or the error.
pub(crate) type Outcome = Result<Rc<Rendered>, Rc<RenderError>>;

/// Renders with one chat template. Clones share the cache and the refusals.
#[derive(Clone)]
pub struct Renderer<'t> {
    template: &'t ChatTemplate,
    options: Rc<RenderOptions>,
    memory: Rc<Memory>,
}

/// What the clones of a renderer share.
#[derive(Default)]
struct Memory {
    renders: Cell<usize>,
    /// The error that ended the examination.
    exhausted: RefCell<Option<Rc<RenderError>>>,
    /// The errors of the template, each once.
    refused: RefCell<Vec<String>>,
    cache: RefCell<Known<Rc<Context>, Outcome>>,
    /// The bytes of text in the cache.
    cached: Cell<usize>,
}

impl<'t> Renderer<'t> {
    pub fn new(template: &'t ChatTemplate, options: RenderOptions) -> Self {
        Self { template, options: Rc::new(options), memory: Rc::default() }
    }

    /// A renderer whose clock shows this time, with its own cache.
    pub fn at(&self, time: &str) -> Self {
        self.with_options(self.options.as_ref().clone().now(Some(time.to_owned())))
    }

    /// A renderer under which conditions have these outcomes, with its own cache.
    pub fn assuming(&self, assumed: &[Assumed]) -> Self {
        self.with_options(assuming(&self.options, assumed))
    }

    fn with_options(&self, options: RenderOptions) -> Self {
        let exhausted = self.memory.exhausted.clone();
        Self {
            options: Rc::new(options),
            memory: Rc::new(Memory { exhausted, ..Memory::default() }),
            template: self.template,
        }
    }

    /// A renderer with an empty cache.
    pub fn forgetful(&self) -> Self {
        let exhausted = self.memory.exhausted.clone();
        Self { memory: Rc::new(Memory { exhausted, ..Memory::default() }), ..self.clone() }
    }

    pub fn template(&self) -> &'t ChatTemplate {
        self.template
    }

    /// How many renders were tried.
    pub fn renders(&self) -> usize {
        self.memory.renders.get()
    }

    /// The error that ended the examination, if one did.
    pub fn exhausted(&self) -> Option<Rc<RenderError>> {
        self.memory.exhausted.borrow().clone()
    }

    /// The errors of the template, each once.
    pub fn refused(&self) -> Vec<String> {
        self.memory.refused.borrow().clone()
    }

    pub fn render(&self, context: &Object) -> Outcome {
        self.render_context(&Rc::new(Context::new(context.clone())))
    }

    /// The cached result of a context.
    pub(crate) fn known(&self, context: &Rc<Context>) -> Option<Outcome> {
        let is_same = |known: &Rc<Context>| Rc::ptr_eq(known, context) || known.is(context);
        self.memory.cache.borrow().get(context.hash(), is_same).cloned()
    }

    pub(crate) fn render_context(&self, context: &Rc<Context>) -> Outcome {
        let memory = &self.memory;
        if let Some(known) = self.known(context) {
            // Whoever asks again reads it again.
            charge(known.as_ref().map_or(0, |rendered| rendered.text.len() / BYTES_PER_STEP));
            return known;
        }
        if let Some(error) = self.exhausted() {
            return Err(error);
        }
        memory.renders.set(self.renders() + 1);
        let outcome = context.render(self.template, &self.options).map(Rc::new).map_err(Rc::new);
        if let Err(error) = &outcome {
            self.note(error);
        }
        let cached = memory.cached.get() + outcome.as_ref().map_or(0, |rendered| rendered.text.len());
        if cached <= MOST_CACHED {
            memory.cached.set(cached);
            memory.cache.borrow_mut().insert(context.hash(), context.clone(), outcome.clone());
        }
        outcome
    }

    /// The text of a context, if the template accepts it.
    pub fn text(&self, context: &Object) -> Option<String> {
        self.render(context).ok().map(|rendered| rendered.text.clone())
    }

    /// Renders a context and records which part of the template printed each piece.
    pub fn render_with_origins(&self, context: &Object) -> Option<Rendered> {
        let options = || self.options.as_ref().clone().origins(true);
        self.may_render().then(|| self.template.render(context, &options()).ok()).flatten()
    }

    /// What the template reads from a context that it accepts.
    pub fn watched(&self, context: &Object) -> Option<Watched> {
        let (rendered, seen) = self.may_render().then(|| render_watched(self.template, context, &self.options))?;
        rendered.is_ok().then_some(seen)
    }

    /// Which way conditions go in a context that the template accepts.
    pub(crate) fn recorded(&self, context: &Context) -> Option<Ran> {
        self.may_render().then(|| context.recorded(self.template, &self.options)).flatten()
    }

    /// Renders a context that the template accepts, with origins and details.
    pub fn explained(&self, context: &Object) -> Option<(Rendered, Details)> {
        let (rendered, details) = self.may_render().then(|| render_explained(self.template, context, &self.options))?;
        Some((rendered.ok()?, details))
    }

    fn may_render(&self) -> bool {
        self.memory.exhausted.borrow().is_none()
    }

    fn note(&self, error: &Rc<RenderError>) {
        let mut refused = self.memory.refused.borrow_mut();
        push_new(&mut refused, error.message.clone());
        if error.kind() == RenderErrorKind::Exhausted {
            self.memory.exhausted.replace(Some(error.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json::Value;

    const ENDLESS: &str = "{% if endless %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}\
                           {% endif %}{{ raise_exception(refusal) if refusal }}{{ text }}";

    fn with(entries: &[(&str, Value)]) -> Object {
        entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn each_context_is_rendered_once_and_none_after_one_that_exceeds_a_limit() {
        let template = ChatTemplate::compile(ENDLESS).unwrap();
        let renderer = Renderer::new(&template, RenderOptions::default());
        let [one, two] = ["one", "two"].map(|text| with(&[("text", text.into())]));
        let refused = |why: &str| with(&[("refusal", why.into())]);
        // A context, its result, and how many renders were tried by then.
        for (context, wanted, renders) in [
            (one.clone(), Ok("one"), 1),
            (one.clone(), Ok("one"), 1),
            (refused("no"), Err(RenderErrorKind::Raised), 2),
            (refused("no"), Err(RenderErrorKind::Raised), 2),
            (refused("never"), Err(RenderErrorKind::Raised), 3),
            (with(&[("endless", true.into())]), Err(RenderErrorKind::Exhausted), 4),
            (two, Err(RenderErrorKind::Exhausted), 4),
            (one, Ok("one"), 4),
        ] {
            let outcome = renderer.clone().render(&context);
            let found = outcome.as_ref().map(|rendered| rendered.text.as_str()).map_err(|error| error.kind());
            assert_eq!((found, renderer.renders()), (wanted, renders), "{context:?}");
        }
        assert_eq!(renderer.refused()[..2], ["no", "never"]);
        assert_eq!(renderer.exhausted().map(|error| error.kind()), Some(RenderErrorKind::Exhausted));
        assert_eq!(renderer.at("2026-01-01T00:00:00").text(&with(&[])), None, "another clock does not help");
    }

    #[test]
    fn each_clock_has_its_own_cache() {
        let template = ChatTemplate::compile("{{ strftime_now('%Y') }}").unwrap();
        let renderer = Renderer::new(&template, RenderOptions::default().now("2025-01-01T00:00:00".to_owned()));
        let years = [&renderer, &renderer.at("2026-01-01T00:00:00")].map(|renderer| renderer.text(&Object::new()));
        assert_eq!(years.map(Option::unwrap), ["2025", "2026"]);
    }
}
