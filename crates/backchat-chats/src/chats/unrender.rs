//! Parses a rendered chat back into its messages, proved by rendering them again.

use std::borrow::Borrow;
use std::sync::OnceLock;

use super::assemble::{assemble, fill, link_results};
use super::chat::{Ambiguity, Chat, NotRendered, Offset};
use super::definitions;
use super::frames::{Frame, Frames, Step};
use super::script::Kind;
use super::walk::Walk;
use backchat_chat::{ChatTemplate, RenderOptions, switches};
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_core::text::{common_start, slice};
use backchat_probe::probe::{Absent, Renderer, RequestShape, context, role_of};

/// How many readings of a text are rendered again before the best one is returned without proof.
const MOST_PROOFS: usize = 24;
/// How many values of switches are tried on a text that does not render back without them.
const MOST_SETTINGS: usize = 12;
/// How many frames are followed to find the position at which a text stops being a render.
const MOST_STEPS: usize = 200;
/// From this length in bytes, only few readings of a text are rendered again.
const LONG: usize = 1 << 17;

/// Reads rendered chats back with one template.
///
/// ```
/// # mod backchat { pub use {backchat_chat as chat, backchat_chats::*}; }
/// use backchat::chat::{ChatTemplate, RenderOptions};
/// use backchat::chats::Unrenderer;
///
/// let source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}";
/// let template = ChatTemplate::compile(source)?;
/// let unrenderer = Unrenderer::new(&template, Default::default(), RenderOptions::default());
/// let chat = unrenderer.unrender("<|user|>Hi<|end|><|assistant|>Hello<|end|>")?;
/// assert!(chat.exact);
/// assert_eq!(chat.messages[1].to_string(), r#"{"role": "assistant", "content": "Hello"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Unrenderer<T> {
    template: T,
    variables: Object,
    options: RenderOptions,
    frames: Frames,
    /// The frames under each value of the template's switches that changes them; learned lazily.
    switched: OnceLock<Vec<(Object, Frames)>>,
}

/// Reads one rendered chat back, without further variables. See [`Unrenderer`] to read several.
pub fn unrender(template: &ChatTemplate, text: &str) -> Result<Chat, NotRendered> {
    Unrenderer::new(template, Object::new(), RenderOptions::default()).unrender(text)
}

impl<T: Borrow<ChatTemplate>> Unrenderer<T> {
    /// Learns how the template writes chats, from a few hundred renders.
    pub fn new(template: T, variables: Object, options: RenderOptions) -> Self {
        let frames = Frames::learn(&Renderer::new(template.borrow(), options.clone()), &variables);
        Self { template, variables, options, frames, switched: OnceLock::new() }
    }

    /// Reads a rendered chat back.
    ///
    /// The cost is linear in the text, plus a few renders. A text that does not render back with the given variables is
    /// also read with each value of the template's switches.
    pub fn unrender(&self, text: &str) -> Result<Chat, NotRendered> {
        let renderer = self.renderer();
        let none = Object::new();
        let mut best = self.read(&renderer, &self.frames, &none, text);
        if !is_exact(&best) {
            let switched = self.switched().iter().map(|(setting, frames)| self.read(&renderer, frames, setting, text));
            best = switched.into_iter().find(is_exact).unwrap_or(best);
        }
        let frames = if is_exact(&best) { None } else { self.frames.with_tools_unread() };
        let unread = frames.and_then(|frames| self.read(&renderer, &frames, &none, text));
        let unread = unread.filter(|chat| chat.tools_text.is_some() && !chat.open);
        let defined =
            [&unread, &best].into_iter().flatten().find_map(|chat| self.with_definitions(&renderer, chat, text));
        let has_tools = best.as_ref().is_some_and(|chat| chat.tools.is_some());
        let Some(mut chat) = defined.or(unread.filter(|_| !has_tools)).or(best) else {
            return Err(self.departure(text));
        };
        chat.ambiguous = unusual(&chat.messages);
        chat.ambiguous.extend(self.holding_markers(&chat.messages));
        chat.ambiguous.sort_by_key(|ambiguity| ambiguity.message);
        Ok(chat)
    }

    /// The chat with its tools assembled piece by piece, unless the template writes them as JSON: frames cover only a
    /// few forms of definitions, and may take others for one text.
    fn with_definitions(&self, renderer: &Renderer<'_>, chat: &Chat, text: &str) -> Option<Chat> {
        let names_tools = self.frames.frames.iter().any(|frame| frame.to.kind == Kind::ToolName);
        if !names_tools || text.len() > LONG {
            return None;
        }
        let variables = self.with(&chat.variables);
        let render = |messages: &[Value], tools: &Value| {
            renderer.text(&context(&variables, messages, tools, chat.add_generation_prompt))
        };
        let read = |messages: &[Value], unsure: Option<usize>| {
            let rendered = definitions::Rendered { text, is_open: chat.open, messages, unsure };
            definitions::read(&render, rendered)
        };
        let (first, rest) = chat.messages.split_first()?;
        let is_system = ["system", "developer"].map(Some).contains(&role_of(first));
        let leads = is_system && !rest.is_empty();
        // The tools were unread, or are the first message, or a part of it.
        let ways = [
            (!chat.exact || chat.tools.is_some(), chat.messages.as_slice(), None, 0),
            (leads, rest, None, 1),
            (leads, &chat.messages, Some(0), 0),
        ];
        let mut ways = ways.into_iter().filter(|(is_possible, ..)| *is_possible);
        let (defined, gone) = ways.find_map(|(_, messages, unsure, gone)| Some((read(messages, unsure)?, gone)))?;
        let offsets = chat.offsets.iter().filter_map(|offset| {
            let message = offset.message.checked_sub(gone)?;
            Some(Offset { message, ..offset.clone() })
        });
        Some(Chat {
            offsets: offsets.collect(),
            messages: defined.messages,
            tools: Some(defined.tools),
            tools_text: None,
            exact: true,
            differs_at: None,
            ..chat.clone()
        })
    }

    /// The best reading under these further variables.
    fn read(&self, renderer: &Renderer<'_>, frames: &Frames, setting: &Object, text: &str) -> Option<Chat> {
        let walk = Walk::new(frames, text);
        let most = if text.len() > LONG { 3 } else { MOST_PROOFS };
        let mut best: Option<(usize, Chat)> = None;
        for reading in walk.readings(most) {
            let plain = Chat { variables: setting.clone(), ..assemble(frames, &reading, text) };
            if self.consider(renderer, plain, frames.form.shape, text, &mut best) {
                break;
            }
        }
        best.map(|(_, chat)| chat)
    }

    /// The frames for each value of the template's switches that changes them.
    fn switched(&self) -> &[(Object, Frames)] {
        self.switched.get_or_init(|| {
            let renderer = self.renderer();
            let mut known: Vec<(Object, Frames)> = Vec::new();
            let switches = switches(self.template.borrow(), &self.variables);
            let settings = switches.into_iter().flat_map(|(name, values)| {
                values.into_iter().map(move |value| Object::from_iter([(name.to_owned(), value)]))
            });
            for setting in settings.take(MOST_SETTINGS) {
                let frames = Frames::learn(&renderer, &self.with(&setting));
                let is_new = |other: &Frames| other.frames != frames.frames;
                if is_new(&self.frames) && known.iter().all(|(_, other)| is_new(other)) {
                    known.push((setting, frames));
                }
            }
            known
        })
    }

    fn renderer(&self) -> Renderer<'_> {
        Renderer::new(self.template.borrow(), self.options.clone())
    }

    /// The variables given, and further ones.
    fn with(&self, setting: &Object) -> Object {
        let all = self.variables.iter().chain(setting);
        all.map(|(name, value)| (name, value.clone())).collect()
    }

    /// Renders a reading again and keeps it if it explains more of the text than any before; true if it explains all.
    fn consider(
        &self,
        renderer: &Renderer<'_>,
        plain: Chat,
        shape: RequestShape,
        text: &str,
        best: &mut Option<(usize, Chat)>,
    ) -> bool {
        let variables = self.with(&plain.variables);
        let calls = plain.messages.iter().any(|message| message.get("tool_calls").is_some());
        // Two properties that a render does not show may change how the template writes a call: whether its content is
        // null, and which result answers it.
        let other = if shape.absent == Absent::Null { Absent::Empty } else { Absent::Null };
        let all = [(shape.absent, false), (shape.absent, true), (other, false), (other, true)];
        for (absent, ids) in all.into_iter().take(if calls { 4 } else { 1 }) {
            let mut chat = plain.clone();
            fill(&mut chat.messages, RequestShape { absent, ..shape });
            if ids {
                link_results(&mut chat.messages);
            }
            let tools = chat.tools.clone().unwrap_or(Value::Null);
            let context = context(&variables, &chat.messages, &tools, chat.add_generation_prompt);
            let rendered = renderer.text(&context);
            let agreed = rendered.as_deref().map_or(0, |rendered| common_start(text, rendered).len());
            chat.exact = match &rendered {
                Some(rendered) if chat.open => rendered.starts_with(text),
                Some(rendered) => rendered == text,
                None => false,
            };
            chat.differs_at = (!chat.exact).then(|| text.get(..agreed).map_or(0, |agreed| agreed.chars().count()));
            let exact = chat.exact;
            // Of two readings that render back, the one with the more usual order of roles wins.
            let odd = unusual(&chat.messages).len();
            let score = if exact { usize::MAX - odd } else { agreed };
            if best.as_ref().is_none_or(|(before, _)| score > *before) {
                *best = Some((score, chat));
            }
            if exact {
                return odd == 0;
            }
        }
        false
    }

    /// Messages, except the assistant's, whose text contains the template's own text between messages.
    fn holding_markers(&self, messages: &[Value]) -> Vec<Ambiguity> {
        let is_marker = |gap: &&str| gap.len() >= 4 && gap.starts_with(|first: char| first.is_ascii_punctuation());
        let mut markers: Vec<&str> = Vec::new();
        for frame in &self.frames.frames {
            let prose = matches!(frame.from.kind, Kind::User | Kind::Content | Kind::Result | Kind::System);
            let marker = frame.gap.trim();
            if prose && frame.step == Step::Message && is_marker(&marker) {
                push_new(&mut markers, marker);
            }
        }
        let holds = |message: &Value| {
            let role = role_of(message);
            let text = message.get("content").and_then(Value::as_str);
            role != Some("assistant") && text.is_some_and(|text| markers.iter().any(|marker| text.contains(marker)))
        };
        let reason = "its text contains markers of the template";
        let held = messages.iter().enumerate().filter(|(_, message)| holds(message));
        held.map(|(message, _)| Ambiguity { message, reason }).collect()
    }

    /// How far a text matches a render of the template, and the text that would have to follow.
    fn departure(&self, text: &str) -> NotRendered {
        let begins = self.frames.frames.iter().filter(|frame| frame.from.kind == Kind::Begin);
        let Some(mut frame) = begins.max_by_key(|frame| {
            let agreed = common_start(text, &frame.gap).len();
            // Of those with the same agreement, a complete one wins.
            (agreed, agreed == frame.gap.len())
        }) else {
            let message = super::no_answer(self.template.borrow(), &self.variables, &self.options);
            return NotRendered { at: 0, message };
        };
        let agreed = common_start(text, &frame.gap);
        let mut at = agreed.len();
        if at < frame.gap.len() {
            let expected: String = slice(&frame.gap, at..).chars().take(40).collect();
            let message = format!("the text is not a render of this template: expected {expected:?}");
            return NotRendered { at: agreed.chars().count(), message };
        }
        let following = |frame: &Frame| {
            let to = frame.to;
            self.frames.frames.iter().filter(move |next| next.from == to && !next.gap.trim().is_empty())
        };
        for _ in 0..MOST_STEPS {
            let rest = slice(text, at..);
            let found = following(frame).filter_map(|next| Some((rest.find(&next.gap)?, next)));
            let Some((place, next)) = found.min_by_key(|(place, next)| (*place, usize::MAX - next.gap.len())) else {
                break;
            };
            at += place + next.gap.len();
            frame = next;
        }
        let mut expected = Vec::new();
        for next in following(frame) {
            push_new(&mut expected, format!("{:?}", next.gap.chars().take(24).collect::<String>()));
        }
        expected.truncate(3);
        let message = match expected.is_empty() {
            true => "the text continues after the end of a chat of this template".to_owned(),
            false => format!("the text stops being a render of this template: expected {}", expected.join(" or ")),
        };
        NotRendered { at: text.get(..at).map_or(0, |read| read.chars().count()), message }
    }
}

fn is_exact(read: &Option<Chat>) -> bool {
    read.as_ref().is_some_and(|chat| chat.exact)
}

/// Messages in an unusual order: the text of the message before may have injected them.
fn unusual(messages: &[Value]) -> Vec<Ambiguity> {
    let role = |at: usize| messages.get(at).and_then(role_of);
    let reason = |at: usize| {
        let before = role(at.checked_sub(1)?)?;
        match role(at)? {
            "system" if before != "system" => Some("a system message inside the conversation"),
            "assistant" if before == "assistant" => Some("an answer right after an answer"),
            "user" if before == "user" => Some("a user message right after a user message"),
            "tool" if before != "assistant" && before != "tool" => Some("a tool result without a call"),
            _ => None,
        }
    };
    (0..messages.len()).filter_map(|message| Some(Ambiguity { message, reason: reason(message)? })).collect()
}
