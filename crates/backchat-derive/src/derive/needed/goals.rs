//! The conversations that a chat template must render for a derivation, in every form that it may accept.

use backchat_chat::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions, Watched, render_watched};
use backchat_core::json::Object;
use backchat_probe::probe::{Answer, Message, Prober, RequestShape, call, needle};

/// A conversation that should render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// An answer whose content shows.
    Answer,
    /// A prompt for the next answer.
    Prompt,
    /// An answer that calls a tool.
    Call,
    /// A question after an answer, which only special tokens are looked for in.
    Next,
}

/// The render that got furthest: it read the most before it failed.
pub(super) struct Stuck {
    pub context: Object,
    pub seen: Watched,
    /// Whether it exceeded a limit, as other renders then probably will.
    pub is_exhausted: bool,
}

impl Goal {
    /// Those without which a derivation lacks a part.
    pub const NEEDED: [Goal; 3] = [Goal::Answer, Goal::Prompt, Goal::Call];

    fn messages(self) -> Vec<Message> {
        let mut messages = vec![Message::User(needle::USER.to_owned())];
        match self {
            Goal::Answer => messages.push(Message::Assistant(Answer::content(needle::CONTENT))),
            Goal::Prompt => {}
            Goal::Call => messages.push(Message::Assistant(Answer::calls(vec![call(0, 1)]))),
            Goal::Next => {
                messages.push(Message::Assistant(Answer::content(needle::CONTENT)));
                messages.push(Message::User(needle::LATER.to_owned()));
            }
        }
        messages
    }

    /// The requests for the conversation, the usual one first. Many templates refuse calls in any request.
    fn shapes(self) -> Box<dyn Iterator<Item = RequestShape>> {
        match self {
            Goal::Answer | Goal::Prompt | Goal::Next => Box::new(RequestShape::USUAL.ladder()),
            Goal::Call => Box::new(RequestShape::USUAL.forms()),
        }
    }

    /// Whether a render reaches the goal.
    pub(super) fn is_shown(self, text: &str) -> bool {
        self != Goal::Answer || text.contains(needle::CONTENT) && text.contains(needle::USER)
    }

    /// Renders in one form after the other until one reaches the goal. Returns its text and what the template read.
    pub(super) fn reach(
        self,
        template: &ChatTemplate,
        variables: &Object,
        options: &RenderOptions,
    ) -> Result<(String, Watched), Stuck> {
        let mut furthest: Option<Stuck> = None;
        let mut known: Vec<Object> = Vec::new();
        let (messages, none) = (self.messages(), Object::new());
        let prober = Prober::new(template, &none, None);
        for shape in self.shapes() {
            let context = prober.context(shape, &messages, &none, self == Goal::Prompt);
            if known.contains(&context) {
                continue;
            }
            known.push(context.clone());
            let (rendered, seen) = render(template, &context, variables, options);
            let is_exhausted = match rendered {
                Ok(text) if self.is_shown(&text) => return Ok((text, seen)),
                Ok(_) => false,
                Err(error) => error.kind() == RenderErrorKind::Exhausted,
            };
            let is_further = furthest.as_ref().is_none_or(|known| reads(&seen) > reads(&known.seen));
            if is_exhausted || is_further {
                furthest = Some(Stuck { context, seen, is_exhausted });
            }
            if is_exhausted {
                break;
            }
        }
        Err(furthest.unwrap_or_else(|| Stuck { context: Object::new(), seen: Watched::default(), is_exhausted: true }))
    }
}

/// Renders a conversation with these variables. Also returns what the template read, even if it refused.
pub(super) fn render(
    template: &ChatTemplate,
    context: &Object,
    variables: &Object,
    options: &RenderOptions,
) -> (Result<String, RenderError>, Watched) {
    let mut all = variables.clone();
    all.extend(context.iter().map(|(name, value)| (name, value.clone())));
    let (rendered, seen) = render_watched(template, &all, options);
    (rendered.map(|rendered| rendered.text), seen)
}

/// How many variables and paths a render read: the more, the further it got.
pub(super) fn reads(seen: &Watched) -> usize {
    seen.variables.len() + seen.paths.len()
}
