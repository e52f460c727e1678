//! Grammars of a model's valid outputs: for one request, every output that the wire can carry, and only outputs that
//! the response template parses without a malformed region.
//!
//! [`build`] turns the wire and the schemas of the request's tools into rules; the writers spell them for an engine,
//! and [`Grammar::matcher`] follows a text through them without one.

mod answer;
mod assumed;
mod automaton;
mod body;
mod calls;
mod char_class;
mod custom;
mod excluded;
mod factored;
mod format;
mod frame;
mod gbnf;
mod lark;
mod machine;
mod marks;
mod native;
mod notes;
mod number;
mod plain;
mod preserved;
mod prompt_end;
mod reads;
mod regex;
mod request;
mod rules;
mod schema;
mod special;
mod spelling;
mod structural_tag;
mod style;
mod thinking;
mod tools;
mod turn;
mod turn_marks;
mod varying;

pub use assumed::assume;
pub use body::render_prompt;
pub use notes::{Effect, Note};
pub use plain::SCHEMA;
pub use request::{Choice, Request};
pub use special::SpecialToken;
pub use tools::shown as shown_tools;
pub use turn::{Presence, Reasoning};

use std::sync::Arc;

use answer::AnswerFormat;
use backchat_core::diagnostic::{self, Diagnostic};
use backchat_core::json::{Object, Value, texts};
use backchat_derive::wire::{Wire, steady_prompt, structure, structure_of, written_of};
use backchat_parser::template::Template;
use calls::{SchemaContext, Tool};
use frame::{Frame, Frames};
use machine::Machine;
use marks::FreeTexts;
use prompt_end::PromptEnd;
use reads::Reads;
use request::Wants;
use rules::{Node, Rules};
use schema::{Cause, Order, Problem};
use spelling::SharedTexts;
use turn::{Start, TurnKind};

/// The rules of a model's valid outputs for one request.
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(crate) rules: Rules,
    pub(crate) root: Node,
    start: Start,
    notes: Vec<Note>,
    stop: Vec<(String, &'static str)>,
    /// If no calls are allowed: the texts that an engine without the grammar must ban.
    bans: Option<Vec<String>>,
    /// The banned texts that are single tokens.
    banned_tokens: Vec<String>,
    /// The names of the custom tools.
    custom: Vec<String>,
    preserved: Vec<String>,
    pub(crate) special: Vec<SpecialToken>,
    pub(crate) lazy: Option<LazyStart>,
}

/// Which turns a stop ends: `calls`, `content` (without calls), or `any`.
fn ends(structure: &structure::WireFormat, stop: &str) -> &'static str {
    let Some(end) = structure.calls.as_ref().and_then(|calls| calls.end.as_deref()) else { return "any" };
    match (end.contains(stop), structure.end.contains(stop)) {
        (true, false) => "calls",
        (false, true) => "content",
        _ => "any",
    }
}

/// The names of a request's custom tools.
fn custom_tools(request: &Request<'_>) -> Vec<String> {
    let tools = request.tools.iter().flat_map(|tools| tools.as_list().unwrap_or(&[]));
    tools.filter(|tool| tools::is_custom(tool)).filter_map(tools::name).map(str::to_owned).collect()
}

/// A grammar that starts at a call.
#[derive(Clone, Debug)]
pub(crate) struct LazyStart {
    pub root: Node,
    pub triggers: Vec<Trigger>,
}

/// A text that starts a lazy grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trigger {
    /// `word` or `pattern`.
    pub kind: &'static str,
    /// The word, or a regular expression of ECMAScript.
    pub value: String,
}

/// Builds the grammar of one request. To serve many requests, keep a [`Builder`].
///
/// # Errors
///
/// The request is impossible on this wire (no calls, no such tool, a schema that nothing satisfies), or a schema
/// exceeds a limit of grammars.
pub fn build(template: &Template, wire: &Wire, request: &Request<'_>) -> Result<Grammar, Vec<Diagnostic>> {
    Builder::new(template.clone(), wire.clone()).build(request)
}

/// What all grammars of a model share, computed once: the form of a turn, and the texts to exclude.
#[derive(Clone, Debug)]
pub struct Builder {
    template: Template,
    wire: Wire,
    free_texts: FreeTexts,
    /// Kept because segmenting every text of the wire takes as long as the rest of a request.
    preserved: Vec<String>,
    shared_texts: Arc<SharedTexts>,
    frames: Arc<Frames>,
}

impl Builder {
    /// For a response template and the wire of its chat template.
    pub fn new(template: Template, wire: Wire) -> Self {
        let free_texts = marks::free_texts(&template, structure_of(&wire), written_of(&wire));
        let preserved = preserved::preserved(structure_of(&wire), written_of(&wire));
        Self { template, wire, free_texts, preserved, shared_texts: Arc::default(), frames: Arc::default() }
    }

    /// Builds the grammar of a request.
    ///
    /// # Errors
    ///
    /// The request is impossible on this wire (no calls, no such tool, a schema that nothing satisfies), or a schema
    /// exceeds a limit of grammars.
    pub fn build(&self, request: &Request<'_>) -> Result<Grammar, Vec<Diagnostic>> {
        let mut notes = self.assumptions(request);
        let (callable, wants) = request::tools(request, &mut notes)?;
        let (prompt, shown) = self.prompt(request);
        let end = PromptEnd::find(written_of(&self.wire), prompt.as_deref());
        let mut frame = self.frame(request, &end, wants, wants != Wants::Nothing);
        let rules_of =
            |frame: &Option<Arc<Frame>>| frame.as_ref().map_or_else(|| self.rules(), |frame| frame.rules.clone());
        let mut rules = rules_of(&frame);
        let calls = match wants {
            Wants::Nothing => Vec::new(),
            _ => self.calls(&mut rules, request, &callable, wants, &mut notes)?,
        };
        if calls.is_empty() && wants != Wants::Nothing {
            frame = self.frame(request, &end, wants, false);
            rules = rules_of(&frame);
        }
        let answer = self.answer(&mut rules, request, wants, &mut notes)?;
        let Some(frame) = frame else {
            let message = "the renders show no turn of this kind after such a prompt";
            return Err(vec![Diagnostic::error("grammar-no-turn", message)]);
        };
        for (rule, node) in [(frame.call, Some(Node::choice(calls))), (frame.content, answer)] {
            if let (Some(rule), Some(node)) = (rule, node) {
                rules.set(rule, node);
            }
        }
        notes.extend(frame.notes.iter().cloned());
        let (mut root, mut lazy) = (frame.root.clone(), frame.lazy.clone());
        let bans = self.bans(wants, &mut notes);
        self.fill_placeholders(&mut rules, &mut root, lazy.as_mut(), shown.as_deref(), &mut notes);
        notes.sort();
        notes.dedup();
        Ok(Grammar {
            rules,
            root,
            start: frame.start.clone(),
            notes,
            stop: self.stops(),
            bans,
            banned_tokens: Vec::new(),
            custom: custom_tools(request),
            preserved: self.preserved.clone(),
            special: Vec::new(),
            lazy,
        })
    }

    /// The notes about the wire and the request that hold whatever is built.
    fn assumptions(&self, request: &Request<'_>) -> Vec<Note> {
        let mut notes = self.free_texts.notes.clone();
        if self.wire.is_assumed() {
            let message = "no chat template is known: the order of parts, and the texts between them, are the plainest that read back";
            notes.push(Note::new(Effect::Assumed, message));
        }
        notes.extend(request.notes.iter().cloned());
        notes
    }

    /// The prompt with placeholders, and the value that it has in their place.
    fn prompt(&self, request: &Request<'_>) -> (Option<String>, Option<String>) {
        let Some(prompt) = &request.prompt else { return (None, None) };
        let (prompt, shown) =
            varying::with_placeholders(steady_prompt(&self.wire, prompt), &written_of(&self.wire).groups);
        (Some(prompt), shown)
    }

    /// The frame of a turn with or without calls; `None` if no render shows such a turn.
    fn frame(&self, request: &Request<'_>, end: &PromptEnd, wants: Wants, calls: bool) -> Option<Arc<Frame>> {
        let is_forced = wants.is_forced();
        let kind = TurnKind {
            end: end.clone(),
            reasoning: request.reasoning,
            content: request.content,
            has_format: request.format.is_some() && !is_forced,
            calls,
            may_be_silent: !is_forced,
            several: request.parallel.unwrap_or(wants != Wants::One),
        };
        self.frames.get(kind, || self.rules(), &self.wire, &self.free_texts)
    }

    /// The texts that an engine without the grammar must ban, if no calls are allowed.
    fn bans(&self, wants: Wants, notes: &mut Vec<Note>) -> Option<Vec<String>> {
        if wants != Wants::Nothing || structure_of(&self.wire).calls.is_none() {
            return None;
        }
        if self.free_texts.bans.is_empty() {
            let message = "calls have no markers of their own: without this grammar nothing can forbid them";
            notes.push(Note::new(Effect::Assumed, message));
        }
        Some(self.free_texts.bans.clone())
    }

    /// Replaces placeholders by the text that varies: the value in the prompt, or any possible one.
    fn fill_placeholders(
        &self,
        rules: &mut Rules,
        root: &mut Node,
        lazy: Option<&mut LazyStart>,
        shown: Option<&str>,
        notes: &mut Vec<Note>,
    ) {
        let mut roots: Vec<&mut Node> = std::iter::once(root).chain(lazy.map(|lazy| &mut lazy.root)).collect();
        let known: Vec<&Node> = roots.iter().map(|root| &**root).collect();
        let Some(placeholders) = varying::Placeholders::find(rules, &known, &self.free_texts, shown, notes) else {
            return;
        };
        roots.extend(rules.rules.iter_mut().map(|rule| &mut rule.node));
        for node in roots {
            *node = placeholders.resolved(std::mem::replace(node, Node::empty()));
        }
    }

    /// The markers that end the turn, and which turns they end.
    fn stops(&self) -> Vec<(String, &'static str)> {
        let stops = written_of(&self.wire).stops.iter();
        let stops = stops.map(|stop| (varying::fixed_start(stop).to_owned(), ends(structure_of(&self.wire), stop)));
        stops.filter(|(stop, _)| !stop.is_empty()).collect()
    }

    /// Rules with the model's shared parts, but no rule yet.
    fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        rules.excluded = Arc::clone(&self.free_texts.excluded);
        rules.shared_texts = Arc::clone(&self.shared_texts);
        // Nested values are indented further than the widest indentation in the renders.
        rules.most_blanks = u32::try_from(written_of(&self.wire).widest).unwrap_or(0).saturating_mul(2);
        rules
    }

    /// The calls of all usable tools; empty if none is usable and no call is required.
    fn calls(
        &self,
        rules: &mut Rules,
        request: &Request<'_>,
        callable: &[Tool],
        wants: Wants,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Node>, Vec<Diagnostic>> {
        let Self { template, wire, free_texts, .. } = self;
        let Some(calls) = structure_of(wire).calls.as_ref().filter(|_| template.field(marks::CALLS).is_some()) else {
            let message = "this template reads no calls, but the request has tools";
            return Err(vec![Diagnostic::error("grammar-no-calls", message).help("`--tool-choice none` works")]);
        };
        let order = if request.any_order { Order::Any } else { Order::Schema };
        // Only arguments that are written one by one are parsed one by one.
        let alone = matches!(calls.body.arguments, structure::Arguments::Pairs(_));
        let given = request.tools.as_deref().filter(|_| alone).map_or(Value::Null, tools::shown);
        let reads = Reads::new(template, &given);
        let reading =
            SchemaContext { open: request.open_properties, strict_space: request.wire_space, order, reads: &reads };
        let mut nodes = Vec::new();
        let mut faults = Vec::new();
        for tool in callable {
            match calls::call(rules, tool, calls, written_of(wire), free_texts, reading, notes) {
                Ok(node) => nodes.push(node),
                Err(Problem { path, message, cause }) => {
                    // A tool that cannot be called is dropped. One whose schema is too large can be called.
                    let is_dropped = match cause {
                        Cause::Wire => true,
                        Cause::Schema => wants == Wants::Perhaps,
                        Cause::Limit => false,
                    };
                    // Deep nesting makes a long path.
                    let place = diagnostic::shortened(if path.is_empty() { "/" } else { &path }, 200);
                    let fault = format!("tool `{}` at `{place}`: {message}", tool.name);
                    faults.push((is_dropped, Diagnostic::error("grammar-tool", fault)));
                    if is_dropped {
                        let dropped = Note::new(Effect::Tighter, format!("the tool is dropped: {message}"));
                        notes.push(Note { tool: Some(tool.name.clone()), path: Some(path), ..dropped });
                    }
                }
            }
        }
        let is_forced = wants != Wants::Perhaps;
        if faults.iter().any(|(is_dropped, _)| !is_dropped) || is_forced && nodes.is_empty() {
            return Err(faults.into_iter().map(|(_, diagnostic)| diagnostic).collect());
        }
        Ok(nodes)
    }

    /// The content, if the request asks for a format.
    fn answer(
        &self,
        rules: &mut Rules,
        request: &Request<'_>,
        wants: Wants,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Node>, Vec<Diagnostic>> {
        let Some(format) = &request.format else { return Ok(None) };
        if wants.is_forced() {
            let message = "a call is required: the form of the answer has no effect";
            notes.push(Note::new(Effect::Assumed, message));
            return Ok(None);
        }
        let structure = structure_of(&self.wire);
        if let Some(problem) = AnswerFormat::refused(structure, written_of(&self.wire), &self.free_texts) {
            return Err(vec![problem]);
        }
        let (is_json, open) = (structure.content.is_json, request.open_properties);
        let node = format.node(rules, &self.free_texts, is_json, open, request.wire_space, notes);
        Ok(Some(node.map_err(|problem| vec![problem])?))
    }
}

impl Grammar {
    /// Where the grammar is inexact, sorted.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The markers that end the turn, which are not part of the grammar, each with the turns it ends: `any`, `calls` or
    /// `content`.
    pub fn stop(&self) -> &[(String, &'static str)] {
        &self.stop
    }

    /// The markers that a server must not strip from the output.
    pub fn preserved_tokens(&self) -> &[String] {
        &self.preserved
    }

    /// Refers to these markers as tokens in Lark, the only format with names for them; in other formats a marker's text
    /// also matches its token.
    #[must_use]
    pub fn with_special_tokens(mut self, special: &[SpecialToken]) -> Self {
        for token in special {
            if self.bans.iter().flatten().any(|ban| *ban == token.text) {
                self.banned_tokens.push(token.text.clone());
            }
            if !self.names(&token.text) {
                continue;
            }
            if token.in_lark().is_some() {
                self.special.push(token.clone());
            } else {
                let message = format!("the id of the special token {:?} is unknown: it is written as text", token.text);
                self.notes.push(Note::new(Effect::Assumed, &message));
            }
        }
        self.notes.sort();
        self.notes.dedup();
        self
    }

    /// Whether a marker belongs to this wire, unlike the hundreds that a tokenizer reserves.
    fn names(&self, mark: &str) -> bool {
        self.rules.any_literal(&[&self.root], &|literal| literal.contains(mark))
            || self.preserved.iter().any(|known| known.contains(mark))
            || self.stop.iter().any(|(stop, _)| stop.contains(mark))
    }

    /// The region that the prompt leaves open.
    pub fn starts_inside(&self) -> Option<&'static str> {
        self.start.inside
    }

    /// The delimiters of reasoning, as the command prints them.
    fn reasoning(&self) -> Value {
        let thinking = &self.start.thinking;
        Value::from([
            ("inside", self.start.inside.is_some().into()),
            ("open", thinking.open.as_deref().into()),
            ("end", thinking.end.as_deref().into()),
            ("force", thinking.force.as_deref().into()),
        ])
    }

    /// Follows a text through the rules.
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher { machine: Machine::new(&self.rules, &self.root), at: 0, is_broken: false }
    }
}

/// The result as the command prints it.
pub fn answer(built: &Grammar, format: &str, grammar: Value, triggers: Option<&[Trigger]>) -> Value {
    let mut out = Object::new();
    out.insert("format", format.into());
    out.insert("grammar", grammar);
    out.insert("lazy", triggers.is_some().into());
    let triggers = triggers
        .unwrap_or(&[])
        .iter()
        .map(|trigger| Value::from([("type", trigger.kind.into()), ("value", trigger.value.as_str().into())]));
    out.insert("triggers", Value::List(triggers.collect()));
    out.insert("preserved_tokens", texts(&built.preserved));
    let special = built.special.iter().filter(|_| format == "lark").map(|token| token.text.as_str().into());
    out.insert("special_tokens", Value::List(special.collect()));
    let stop = built
        .stop
        .iter()
        .map(|(text, after)| Value::from([("text", text.as_str().into()), ("after", (*after).into())]));
    out.insert("stop", Value::List(stop.collect()));
    let start = [("inside", built.start.inside.into()), ("held", "".into())];
    out.insert("start", Value::from(start));
    out.insert("reasoning", built.reasoning());
    if let Some(bans) = &built.bans {
        let bans = Value::from([("texts", texts(bans)), ("tokens", texts(&built.banned_tokens))]);
        out.insert("bans", bans);
    }
    if !built.custom.is_empty() {
        let custom = built.custom.iter().map(|name| (name.clone(), tools::INPUT.into())).collect();
        out.insert("custom_tools", Value::Object(custom));
    }
    out.insert("notes", Value::List(built.notes.iter().map(Note::to_value).collect()));
    Value::Object(out)
}

/// The state of a text in a grammar.
#[derive(Clone, Debug)]
pub struct Matcher<'g> {
    machine: Machine<'g>,
    at: usize,
    is_broken: bool,
}

/// The result of feeding a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The text is allowed so far.
    Ok {
        /// Whether the text may end here.
        may_end: bool,
    },
    /// The text is not allowed.
    Broken {
        /// The byte at which it breaks.
        at: usize,
        /// The texts that are allowed there.
        expected: Vec<String>,
    },
}

impl Matcher<'_> {
    /// Takes the next piece of the text.
    pub fn feed(&mut self, text: &str) -> Fed {
        for c in text.chars() {
            if self.is_broken || !self.machine.feed(c) {
                self.is_broken = true;
                return Fed::Broken { at: self.at, expected: self.machine.expected() };
            }
            self.at += c.len_utf8();
        }
        Fed::Ok { may_end: self.machine.may_end() }
    }
}
