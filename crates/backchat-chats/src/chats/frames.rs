//! The literal text that a template writes between the texts of a chat, learned from renders of every shape of
//! conversation.
//!
//! A frame is the literal text between one kind of text and the next. No frame is guessed: each appeared in a render.

use std::collections::{HashMap, HashSet};

use super::script::{Form, Kind, Script};
use backchat_core::json::{self, Object, Value};
use backchat_core::text::slice;
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Absent, REASONING_KEYS, Renderer, RequestShape, context};

/// A kind of text, at its first appearance or repeated by the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct State {
    pub kind: Kind,
    pub echo: bool,
}

/// How a text relates to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    /// In the same call or, outside of calls, in the same message.
    Same,
    /// With another call of the same message.
    Call,
    /// With another message.
    Message,
    /// Back in an earlier message: the texts in between belong to later ones.
    Back,
}

/// The text between two texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Frame {
    pub from: State,
    pub gap: String,
    pub to: State,
    pub step: Step,
}

/// How a template spells a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    Plain,
    /// Inside a JSON string.
    Json,
    /// Inside a JSON string inside another.
    JsonTwice,
    /// With markup entities.
    Markup,
}

impl Spelling {
    /// The decoded text; unchanged if it is not encoded like this.
    pub fn decode(self, text: &str) -> String {
        let unquote = |text: &str| match json::read(&format!("\"{text}\"")) {
            Ok(Value::String(text)) => text,
            _ => text.to_owned(),
        };
        match self {
            Spelling::Plain => text.to_owned(),
            Spelling::Json => unquote(text),
            Spelling::JsonTwice => unquote(&unquote(text)),
            Spelling::Markup => text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#34;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&"),
        }
    }
}

/// The frames and spellings of a template's chats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    pub frames: Vec<Frame>,
    pub form: Form,
    spellings: HashMap<Kind, Spelling>,
    /// The text that a result repeats after its own text instead of before it.
    pub trailing: HashSet<Kind>,
    /// Descriptions that come before the name of the tool or parameter they describe.
    pub leading: HashSet<Kind>,
}

/// The shapes of conversation that are rendered, with tools and without, with a generation prompt and without.
const SHAPES: &[&str] = &[
    "U", "SU", "UA", "SUA", "UAU", "SUAU", "UAUA", "SUAUA", "UAUAU", "UAUAUA", "SUAUAU", "UR", "SUR", "URU", "URUR",
    "URUA", "UAUR", "URUAU", "UC", "UCT", "UCTA", "UCTR", "UCTAU", "UCTAUA", "UCTAUR", "UCTC", "UCTCT", "UCTCTA",
    "UCTCTCTA", "UAUC", "UAUCT", "UAUCTA", "UAUCTAU", "SUC", "SUCT", "SUCTA", "SUCTAUA", "SUAUCTAU", "Uc", "UcT",
    "UcTA", "UcTAU", "UcTAUA", "SUcT", "UAUcT", "UAUcTAU", "Ur", "UrT", "UrTA", "UrTR", "UrTAU", "UrTRU", "Uq", "UqT",
    "UqTA", "UqTR", "UqTAU", "UD", "UDT", "UDTT", "UDTTA", "UDTTAU", "UDTTR", "UDTTAUA", "Ud", "UdTT", "UdTTA",
    "UVTTT", "UVTTTA", "UDTTC", "UDTTCT", "UE", "UET", "UETA", "UF", "UFT", "UFTA", "UFTAU", "UG", "UGT", "UN", "UNT",
    "UX", "UXTT", "UXTTA", "UY", "UYTT", "UYTTA", "UZ", "UZTT", "UZTTA",
];

/// Shapes to render with tools of every kind.
const TOOL_SHAPES: &[&str] = &["U", "SU", "UA", "UC", "UCT"];

/// All conversations to learn from: the shape, the tools, and whether a generation prompt follows.
pub(super) fn lessons(form: &Form) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let thinks = form.reasoning.is_some();
    let offered = ["", "aa"].into_iter().map(|tools| (tools, SHAPES));
    let defined = ["a", "b", "ab", "ba", "ac", "ca", "aaa"].into_iter().map(|tools| (tools, TOOL_SHAPES));
    let all: Vec<(&str, &[&str])> = offered.chain(defined).collect();
    let of = move |prompt: bool| {
        let all = all.clone().into_iter();
        all.flat_map(move |(tools, shapes)| shapes.iter().map(move |shape| (*shape, tools, prompt)))
    };
    of(false).chain(of(true)).filter(move |(shape, ..)| thinks || !shape.contains(['R', 'r', 'q']))
}

/// The end of the spelling probe's needles: characters that some encodings write differently.
pub(super) const SPECIAL: &str = "\"\n<é";

impl Frames {
    /// Learns from a template under these variables.
    pub fn learn(renderer: &Renderer<'_>, variables: &Object) -> Self {
        let learner = Learner { renderer, variables };
        let form = learner.form();
        let mut learned = Self { form, spellings: learner.spellings(&form), ..Self::default() };
        let mut found = HashSet::new();
        for (shape, tools, prompt) in lessons(&form) {
            let script = Script::new(shape, tools, &form, "");
            let Some(text) = learner.text(&script, prompt) else { continue };
            let slots = slots(&script, &text);
            if shape == "UCT" {
                learned.note_echoes(&slots);
            }
            if tools == "b" {
                learned.note_descriptions(&slots);
            }
            found.extend(steps(&script, &slots, &text, prompt));
        }
        learned.frames = found.into_iter().collect();
        learned.frames.sort();
        learned
    }

    /// The form in which a template takes conversations.
    pub fn form(renderer: &Renderer<'_>, variables: &Object) -> Form {
        Learner { renderer, variables }.form()
    }

    /// The frames with all tool definitions as one opaque text between known literals. `None` if renders show no tools,
    /// or nothing that separates them from other text.
    pub fn with_tools_unread(&self) -> Option<Self> {
        let unread = State { kind: Kind::ToolsText, echo: false };
        let is_tool = |state: State| state.kind.defines_tools();
        let mut frames: Vec<Frame> = Vec::new();
        let mut afters: HashMap<State, (Step, &str)> = HashMap::new();
        for frame in &self.frames {
            match (is_tool(frame.from), is_tool(frame.to)) {
                (false, false) => frames.push(frame.clone()),
                (true, true) => {}
                (false, true) => frames.push(Frame { to: unread, ..frame.clone() }),
                // Text that follows every definition alike is not part of one.
                (true, false) => {
                    let alike = |known: &str| Segmentation::Words.shared_end(&frame.gap, known).len();
                    let (_, after) = afters.entry(frame.to).or_insert((frame.step, &frame.gap));
                    *after = slice(after, after.len() - alike(after)..);
                }
            }
        }
        let afters = afters.into_iter().filter(|(_, (_, gap))| !gap.trim().is_empty());
        let afters = afters.map(|(to, (step, gap))| Frame { from: unread, gap: gap.to_owned(), to, step });
        let known = frames.len();
        frames.extend(afters);
        let shows_tools = frames.len() > known && frames.iter().any(|frame| frame.to == unread);
        frames.sort();
        frames.dedup();
        shows_tools.then(|| Self { frames, ..self.clone() })
    }

    /// Records the texts after a result that belong to it.
    fn note_echoes(&mut self, slots: &[Slot]) {
        let after = slots.iter().skip_while(|slot| slot.state.kind != Kind::Result);
        self.trailing.extend(after.filter(|slot| slot.state.echo).map(|slot| slot.state.kind));
    }

    /// Records which descriptions come before the names they describe, from a render with one tool of one parameter.
    fn note_descriptions(&mut self, slots: &[Slot]) {
        let place = |kind: Kind| slots.iter().position(|slot| slot.state.kind == kind);
        for (description, name) in
            [(Kind::ToolDescription, Kind::ToolName), (Kind::ParameterDescription, Kind::Parameter(0))]
        {
            if place(description).zip(place(name)).is_some_and(|(description, name)| description < name) {
                self.leading.insert(description);
            }
        }
    }

    /// The decoded text of a slot, as in the message.
    pub fn decode(&self, kind: Kind, text: &str) -> String {
        self.spellings.get(&kind).copied().unwrap_or(Spelling::Plain).decode(text)
    }
}

/// Renders conversations to learn from.
struct Learner<'l> {
    renderer: &'l Renderer<'l>,
    variables: &'l Object,
}

impl Learner<'_> {
    fn text(&self, script: &Script, prompt: bool) -> Option<String> {
        self.renderer.text(&context(self.variables, &script.messages, &script.tools, prompt))
    }

    /// The first form in which content, calls and reasoning are shown.
    fn form(&self) -> Form {
        let usual = Form::default();
        let contents = [false, true].map(|content_parts| RequestShape { content_parts, ..usual.shape });
        let form = contents.map(|shape| Form { shape, ..usual }).into_iter().find(|form| self.shows_content(form));
        let form = form.unwrap_or(usual);
        let calls = [(false, Absent::Empty), (false, Absent::Null), (true, Absent::Empty), (true, Absent::Null)];
        let calls = calls.map(|(arguments_text, absent)| RequestShape { arguments_text, absent, ..form.shape });
        let called = calls.map(|shape| Form { shape, ..form }).into_iter().find(|form| self.shows_calls(form));
        let form = called.unwrap_or(form);
        let thinks = |key: &&'static str| self.shows_reasoning(&Form { reasoning: Some(key), ..form });
        Form { reasoning: REASONING_KEYS.into_iter().find(thinks), ..form }
    }

    /// A render of a shape, and the kinds of the texts in it.
    fn shown(&self, shape: &str, tools: &str, form: &Form) -> Option<(String, Vec<Kind>)> {
        let script = Script::new(shape, tools, form, "");
        let text = self.text(&script, false)?;
        let kinds = script.find(&text).into_iter().filter_map(|(at, _)| Some(script.labels.get(at)?.kind)).collect();
        Some((text, kinds))
    }

    fn shows_content(&self, form: &Form) -> bool {
        let is_plain = |text: &str| !text.contains("'type'") && !text.contains("\"type\"");
        self.shown("UA", "", form).is_some_and(|(text, kinds)| kinds.len() >= 2 && is_plain(&text))
    }

    fn shows_calls(&self, form: &Form) -> bool {
        let shapes = [("UC", ""), ("UC", "aa"), ("UCT", ""), ("UCT", "aa")];
        shapes.iter().filter_map(|(shape, tools)| self.shown(shape, tools, form)).any(|(text, kinds)| {
            let prints_none = form.shape.absent == Absent::Null && text.contains("None");
            kinds.contains(&Kind::Key) && kinds.contains(&Kind::Value) && !prints_none
        })
    }

    fn shows_reasoning(&self, form: &Form) -> bool {
        let shapes = [("UR", ""), ("Ur", ""), ("UrT", "aa"), ("UR", "aa")];
        let mut shown = shapes.iter().filter_map(|(shape, tools)| self.shown(shape, tools, form));
        shown.any(|(_, kinds)| kinds.contains(&Kind::Reasoning))
    }

    /// How each kind of text is spelled.
    fn spellings(&self, form: &Form) -> HashMap<Kind, Spelling> {
        let mut known = HashMap::new();
        for (shape, tools) in
            [("SUA", ""), ("SUcTA", ""), ("SUcTA", "aa"), ("URUrTR", ""), ("UrTR", "aa"), ("UCT", "aa")]
        {
            let script = Script::new(shape, tools, form, SPECIAL);
            let Some(text) = self.text(&script, false) else { continue };
            for (index, (_, end)) in script.find(&text) {
                let Some(label) = script.labels.get(index) else { continue };
                let rest = slice(&text, end..);
                let spelling = if rest.starts_with("\"\n<") {
                    Spelling::Plain
                } else if rest.starts_with("\\\"\\n") {
                    Spelling::Json
                } else if rest.starts_with("\\\\\\\"\\\\n") {
                    Spelling::JsonTwice
                } else if rest.starts_with("&quot;\n&lt;") || rest.starts_with("&#34;\n&lt;") {
                    Spelling::Markup
                } else {
                    continue;
                };
                known.entry(label.kind).or_insert(spelling);
            }
        }
        known
    }
}

/// A text in a render of a script.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub state: State,
    pub message: usize,
    pub call: usize,
    pub start: usize,
    pub end: usize,
}

/// The frames of a render, from the first text to the last one, and to the end if the last message is shown.
pub(super) fn steps(script: &Script, slots: &[Slot], text: &str, prompt: bool) -> Vec<Frame> {
    let mut found = Vec::new();
    let mut before: Option<&Slot> = None;
    let (mut from, mut start) = (State { kind: Kind::Begin, echo: false }, 0);
    for slot in slots {
        let Some(gap) = text.get(start..slot.start) else { continue };
        // Some templates write the results of a call before its content.
        let is_back = |before: &Slot| {
            let tools = before.state.kind.defines_tools() || slot.state.kind.defines_tools();
            !tools && !slot.state.echo && slot.message < before.message
        };
        let step = match before {
            Some(before) if is_back(before) => Step::Back,
            Some(before) if before.message != slot.message => Step::Message,
            Some(before) if before.call != slot.call => Step::Call,
            Some(_) => Step::Same,
            None => Step::Message,
        };
        found.push(Frame { from, gap: gap.to_owned(), to: slot.state, step });
        (before, from, start) = (Some(slot), slot.state, slot.end);
    }
    let kind = if prompt { Kind::Prompt } else { Kind::End };
    let last_is_shown =
        slots.iter().any(|slot| Some(slot.message) == script.messages.len().checked_sub(1) && !slot.state.echo);
    if let Some(gap) = text.get(start..)
        && last_is_shown
    {
        let to = State { kind, echo: false };
        found.push(Frame { from, gap: gap.to_owned(), to, step: Step::Message });
    }
    found
}

/// The texts of a render; a JSON value that contains several counts as one.
pub(super) fn slots(script: &Script, text: &str) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut seen: HashSet<usize> = HashSet::new();
    for (index, (start, end)) in script.find(text) {
        let Some(label) = script.labels.get(index) else { continue };
        let covered = slots.last().map_or(0, |slot| slot.end);
        if start < covered {
            seen.insert(index);
            continue;
        }
        let echo = !seen.insert(index);
        let whole = match label.kind {
            Kind::Key if !echo => arguments(script, label, text, covered, start),
            Kind::ToolName if !echo => tools(script, text, covered, start),
            _ => None,
        };
        let (kind, (start, end)) = whole.unwrap_or((label.kind, (start, end)));
        // Tools do not belong to a message, wherever they are written.
        let message = if label.kind.defines_tools() { usize::MAX } else { label.message };
        slots.push(Slot { state: State { kind, echo }, message, call: label.call, start, end });
    }
    slots
}

/// The JSON object of all arguments around its first key, if the template writes them so.
fn arguments(
    script: &Script,
    label: &super::script::Label,
    text: &str,
    from: usize,
    key: usize,
) -> Option<(Kind, (usize, usize))> {
    let given = script.messages.get(label.message)?.get("tool_calls")?.as_list()?.get(label.call)?;
    let given = given.get("function")?.get("arguments")?;
    let wanted = match given {
        Value::String(text) => json::read(text).ok()?,
        other => other.clone(),
    };
    let objects = opens(text, from, key, '{').into_iter().map(|open| (Kind::Arguments, open));
    let texts = opens(text, from, key, '"').into_iter().map(|open| (Kind::ArgumentsText, open));
    objects.chain(texts).find_map(|(kind, open)| {
        let (value, end) = json::value_at(text, open)?;
        let value = match value {
            Value::String(inner) => json::read(&inner).ok()?,
            value => value,
        };
        (value == wanted).then_some((kind, (open, end)))
    })
}

/// The JSON list of all tools, or the object of one, around a tool's name.
fn tools(script: &Script, text: &str, from: usize, name: usize) -> Option<(Kind, (usize, usize))> {
    let all = script.tools.as_list()?;
    let is_tool = |value: &Value| all.iter().any(|tool| same_tool(value, tool));
    for open in opens(text, from, name, '[') {
        if let Some((Value::List(items), end)) = json::value_at(text, open)
            && items.len() == all.len()
            && items.iter().zip(all).all(|(item, tool)| same_tool(item, tool))
        {
            return Some((Kind::ToolList, (open, end)));
        }
    }
    // The wrapped definition holds the bare one, which opens earlier in the list.
    opens(text, from, name, '{').into_iter().rev().find_map(|open| {
        let (object, end) = json::value_at(text, open)?;
        is_tool(&object).then_some((Kind::ToolObject, (open, end)))
    })
}

/// Whether a value defines a tool, wrapped or not.
fn same_tool(value: &Value, tool: &Value) -> bool {
    value == tool || Some(value) == tool.get("function")
}

/// The places of an opening character before a text, the nearest first.
fn opens(text: &str, from: usize, to: usize, open: char) -> Vec<usize> {
    slice(text, from..to).rmatch_indices(open).take(12).map(|(at, _)| from + at).collect()
}
