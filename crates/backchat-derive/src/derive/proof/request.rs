//! Finds out how a chat template takes a conversation: the form of content and calls, the key of reasoning, the switches.
//!
//! The proof does this by itself, so that it can prove any response template and shares no assumption with a draft.

use super::refused::{self, RefusedPart};
use crate::derive::Options;
use crate::wire::template_usage::{self, TemplateUsage};
use backchat_chat::ChatTemplate;
use backchat_core::text::slice;
use backchat_probe::probe::{
    Answer, Call, Message, Offer, Prober, ReasoningInput, RequestShape, Setting, call, name_in_id, needle,
};

/// How to pass conversations to one chat template.
#[derive(Clone, Debug)]
pub(in crate::derive) struct Request {
    pub request_shape: RequestShape,
    /// Whether the template requires tools.
    pub always_tools: bool,
    /// The switches, and what else the template reads.
    pub usage: TemplateUsage,
    /// The key from which the template reads reasoning, if it renders any.
    pub reasoning_input: Option<ReasoningInput>,
    /// Whether reasoning reaches the text, but not as it was thought.
    pub reasoning_is_changed: bool,
    /// How the template renders calls.
    pub calls: Calls,
    /// The parts of the model's turn that it refuses.
    pub refused: Vec<RefusedPart>,
    /// Whether ids need not come back, because each of the requested readers gives calls ids of its own.
    pub ids_are_made: bool,
}

impl Request {
    /// Whether a conversation of these messages and this answer has tools on offer.
    pub fn offers_tools(&self, history: &[Message], answer: &Answer) -> bool {
        self.always_tools || history.iter().any(Message::is_result) || !answer.calls.is_empty()
    }
}

/// Which parts of calls a chat template renders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::derive) struct Calls {
    pub shown: bool,
    /// Whether a second call of the same turn is rendered.
    pub several: bool,
    /// Whether the id of a call reaches the text.
    pub ids: bool,
    /// Whether the name reaches the text only as a part of the id.
    pub named_ids: bool,
    /// Whether calls reach the text, but not with the names and keys they have.
    pub garbled: bool,
}

/// Finds out how the template takes calls and reasoning. The prober has determined how it takes content.
pub(super) fn find(template: &ChatTemplate, prober: &Prober<'_>, options: &Options) -> Request {
    let usage = template_usage::find(template, prober, &options.variables);
    let unseen = || (prober.request_shape(), Calls::default());
    let (request_shape, calls) = takes_calls(prober, &usage.settings).unwrap_or_else(unseen);
    let shaped = prober.with_shape(request_shape);
    let reasoning_input = takes_reasoning(&shaped, &usage.settings, &usage.reasoning_inputs);
    let reasoning_is_changed = reasoning_input.is_none() && changes_reasoning(&shaped, &usage);
    let is_written = calls.shown || calls.garbled;
    let refused_calls = if is_written { None } else { refused::calls(prober, &usage.settings) };
    let is_thought = reasoning_input.is_some() || reasoning_is_changed;
    let refused_reasoning = if is_thought { None } else { refused::reasoning(&shaped, &usage) };
    Request {
        request_shape,
        always_tools: prober.request_shape().offer == Offer::Always,
        usage,
        reasoning_input,
        reasoning_is_changed,
        calls,
        refused: refused_calls.into_iter().chain(refused_reasoning).collect(),
        ids_are_made: !options.targets.is_empty() && options.targets.iter().all(|target| target.limits().makes_ids),
    }
}

/// The variables of a setting, in words that follow "with".
pub(super) fn setting_words(setting: &Setting) -> String {
    let words: Vec<String> = setting.iter().map(|(name, value)| format!("`{name}` set to {value}")).collect();
    words.join(" and ")
}

fn user() -> Message {
    Message::User(needle::USER.to_owned())
}

/// The request shape in which calls reach the text, and how much of them does.
fn takes_calls(prober: &Prober<'_>, settings: &[Setting]) -> Option<(RequestShape, Calls)> {
    for named_ids in [false, true] {
        for setting in settings {
            if let Some(request_shape) = call_shape(prober, setting, named_ids) {
                let make = |index| probe_call(index, named_ids);
                let turn = |calls: Vec<Call>| turn(prober, request_shape, Answer::calls(calls), setting);
                let shows = |calls: Vec<Call>, parts: &[&str]| {
                    turn(calls).is_some_and(|text| parts.iter().all(|part| text.contains(part)))
                };
                let several = shows(vec![make(0), make(1)], &[needle::NAMES[0], needle::NAMES[1]]);
                let ids = shows(vec![make(0)], &[&make(0).id]);
                return Some((request_shape, Calls { shown: true, several, ids, named_ids, garbled: false }));
            }
        }
    }
    settings.iter().any(|setting| is_garbled(prober, setting)).then(|| {
        let calls = Calls { garbled: true, ..Calls::default() };
        (prober.request_shape(), calls)
    })
}

/// Whether a part of a call reaches the text: two calls of the same tools are written differently.
fn is_garbled(prober: &Prober<'_>, setting: &Setting) -> bool {
    let shape = prober.request_shape();
    let calls = [probe_call(0, false), probe_call(1, false)];
    let both = Answer::calls(calls.to_vec());
    let prober = prober.offering(Some(shape.tools(&[Message::Assistant(both)])));
    let written = calls.map(|call| {
        let messages = [user(), Message::Assistant(Answer::calls(vec![call]))];
        prober.render(&messages, setting, false)
    });
    let [one, other] = &written;
    one.is_some() && other.is_some() && one != other
}

fn probe_call(index: usize, named_id: bool) -> Call {
    let mut made = call(index, 1);
    if named_id {
        name_in_id(&mut made, index);
    }
    made
}

/// The text after the user's message in a render of this answer.
fn turn(prober: &Prober<'_>, request_shape: RequestShape, answer: Answer, setting: &Setting) -> Option<String> {
    let text = prober.render_in(request_shape, &[user(), Message::Assistant(answer)], setting, false)?;
    let at = text.rfind(needle::USER)?;
    text.get(at..).map(str::to_owned)
}

/// The request shape that shows a whole call: arguments as an object unless the template prints it as Python does, and
/// the form of absent content with the shortest turn.
fn call_shape(prober: &Prober<'_>, setting: &Setting, named_id: bool) -> Option<RequestShape> {
    let made = probe_call(0, named_id);
    let shown = |request_shape: &RequestShape| {
        let text = turn(prober, *request_shape, Answer::calls(vec![made.clone()]), setting)?;
        let parts = [needle::NAMES[0], needle::KEYS[0], needle::VALUES[0]];
        parts.iter().all(|part| text.contains(part)).then_some((*request_shape, text))
    };
    let base = prober.request_shape();
    // Keep the form of the content, unless calls are only accepted in another.
    let same = |request_shape: &RequestShape| {
        request_shape.content_parts == base.content_parts && request_shape.bare_tools == base.bare_tools
    };
    let called = [user(), Message::Assistant(Answer::calls(vec![made.clone()]))];
    let (usual, other): (Vec<_>, Vec<_>) = prober.accepted(&called, setting).partition(same);
    let mut all: Vec<(RequestShape, String)> = usual.iter().filter_map(shown).collect();
    if all.is_empty() {
        all = other.iter().filter_map(shown).collect();
    }
    let python = format!("'{}': '{}'", needle::KEYS[0], needle::VALUES[0]);
    let escaped = format!("\\\"{}", needle::KEYS[0]);
    let rank = |(request_shape, text): &&(RequestShape, String)| {
        let printed = !request_shape.arguments_text && text.contains(&python);
        (text.contains(&escaped), printed, request_shape.arguments_text, text.len())
    };
    all.iter().min_by_key(rank).map(|(request_shape, _)| *request_shape)
}

/// The key or block whose reasoning is rendered: one that mentions reasoning, or else one that is separated from content.
fn takes_reasoning(
    prober: &Prober<'_>,
    settings: &[Setting],
    reasoning_inputs: &[ReasoningInput],
) -> Option<ReasoningInput> {
    let mut ranked: Vec<&ReasoningInput> = reasoning_inputs.iter().collect();
    ranked.sort_by_key(|reasoning_input| !reasoning_input.is_named_for_reasoning());
    let found = |more: &str, inputs: &[&ReasoningInput]| {
        let bare = Answer::default().with_reasoning(&format!("{}{more}", needle::REASONING));
        let answers = [
            bare.clone().with_content(needle::CONTENT),
            Answer { calls: vec![call(0, 1)], ..bare.clone() },
            Answer { calls: vec![call(0, 1)], ..bare }.with_content(needle::CONTENT),
        ];
        let shows = |reasoning_input: &ReasoningInput| {
            let prober = prober.with_reasoning(Some(reasoning_input));
            settings.iter().any(|setting| {
                answers.iter().any(|answer| {
                    let text = prober.render(&[user(), Message::Assistant(answer.clone())], setting, false);
                    let text = text.map(|text| text.replace(more, ""));
                    text.is_some_and(|text| is_set_off(&text, reasoning_input.is_named_for_reasoning()))
                })
            })
        };
        // A template that prints whole messages shows every key.
        let is_taken = |input: &&&ReasoningInput| shows(input) && !shows(&input.unread());
        inputs.iter().find(is_taken).map(|input| (*input).clone())
    };
    let named: Vec<&ReasoningInput> = ranked.iter().copied().filter(|input| input.is_named_for_reasoning()).collect();
    // A template may write only reasoning of some length.
    found("", &ranked).or_else(|| found(needle::MORE, &named))
}

/// Whether two thoughts are written differently under a key named for reasoning, although neither shows.
fn changes_reasoning(prober: &Prober<'_>, usage: &TemplateUsage) -> bool {
    let differ = |input: &ReasoningInput| {
        let prober = prober.with_reasoning(Some(input));
        usage.settings.iter().any(|setting| {
            let [one, other] = [needle::REASONING, needle::MORE].map(|thought| {
                let answer = Answer::content(needle::CONTENT).with_reasoning(thought);
                prober.render(&[user(), Message::Assistant(answer)], setting, false)
            });
            one.is_some() && other.is_some() && one != other
        })
    };
    let mut named = usage.reasoning_inputs.iter().filter(|input| input.is_named_for_reasoning());
    named.any(|input| differ(input) && !differ(&input.unread()))
}

/// Whether reasoning shows and, if its key does not mention reasoning, something separates it from the text after it.
fn is_set_off(text: &str, is_named: bool) -> bool {
    let Some(at) = text.rfind(needle::REASONING) else { return false };
    let rest = slice(text, at + needle::REASONING.len()..);
    let next = [needle::CONTENT, needle::NAMES[0], needle::IDS[0]].iter().filter_map(|part| rest.find(part)).min();
    is_named || next.and_then(|next| rest.get(..next)).is_some_and(|gap| !gap.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a chat template whose turns are written like this takes conversations.
    fn request(turn: &str) -> Option<Request> {
        let source = format!("{{% for m in messages %}}<{{{{ m.role }}}}>{turn}<end>{{% endfor %}}");
        let template = ChatTemplate::compile(&source).unwrap();
        let options = Options::default();
        let prober = Prober::new(&template, &options.variables, None).settled()?;
        Some(find(&template, &prober, &options))
    }

    const CALL: &str =
        "{{ m.content }}{% for c in m.tool_calls or [] %}NAME{{ c.function.arguments | tojson }}{% endfor %}";

    #[test]
    fn calls_are_classified_by_the_parts_that_reach_the_text() {
        let name = CALL.replace("NAME", "{{ c.function.name }}");
        let seen = |several, ids, named_ids| Calls { shown: true, several, ids, named_ids, garbled: false };
        let garbled = Calls { garbled: true, ..Calls::default() };
        for (turn, calls) in [
            ("{{ m.content }}".to_owned(), Calls::default()),
            (name.clone(), seen(true, false, false)),
            (name.replace("m.tool_calls or []", "(m.tool_calls or [])[:1]"), seen(false, false, false)),
            (CALL.replace("NAME", "{{ c.function.name }}#{{ c.id }}"), seen(true, true, false)),
            (CALL.replace("NAME", "{{ c.id }}"), seen(true, true, true)),
            (CALL.replace("NAME", "{{ c.function.name | upper }}"), garbled),
            (CALL.replace("NAME{{ c.function.arguments | tojson }}", "{{ c.function.name }}"), garbled),
            (CALL.replace("NAME{{ c.function.arguments | tojson }}", "(a call)"), Calls::default()),
        ] {
            assert_eq!(request(&turn).unwrap().calls, calls, "{turn}");
        }
    }

    #[test]
    fn arguments_are_an_object_unless_the_template_prints_it_as_python_does() {
        let shape = |turn: &str| request(turn).unwrap().request_shape.arguments_text;
        assert!(!shape(&CALL.replace("NAME", "{{ c.function.name }}")));
        assert!(shape(&CALL.replace("NAME", "{{ c.function.name }}").replace(" | tojson", "")));
    }

    #[test]
    fn reasoning_is_the_key_that_is_rendered_separately() {
        let input = |turn: &str| request(turn).unwrap().reasoning_input;
        let key = |name: &str| Some(ReasoningInput::Key(name.to_owned()));
        assert_eq!(input("{{ m.content }}"), None);
        assert_eq!(input("{% if m.thinking %}<t>{{ m.thinking }}</t>{% endif %}{{ m.content }}"), key("thinking"));
        assert_eq!(input("{% if m.plan %}<p>{{ m.plan }}</p>{% endif %}{{ m.content }}"), key("plan"));
        let long = "{% if m.thinking | length > 15 %}<t>{{ m.thinking }}</t>{% endif %}{{ m.content }}";
        assert_eq!(input(long), key("thinking"));
        // A template that prints whole messages shows every key.
        assert_eq!(input("{{ m | tojson }}{{ m.content }}{% if m.thinking %}{% endif %}"), None);
    }

    #[test]
    fn reasoning_is_changed_if_two_thoughts_are_written_differently_and_neither_shows() {
        let is_changed = |turn: &str| request(turn).unwrap().reasoning_is_changed;
        let turn = |thought: &str| format!("{{% if m.thinking %}}<t>{thought}</t>{{% endif %}}{{{{ m.content }}}}");
        for thought in ["{{ m.thinking | lower }}", "{{ m.thinking[:5] }}", "{{ m.thinking | length }}"] {
            assert!(is_changed(&turn(thought)), "{thought}");
        }
        for thought in ["{{ m.thinking }}", "(a thought)"] {
            assert!(!is_changed(&turn(thought)), "{thought}");
        }
        assert!(!is_changed("{{ m | tojson }}{{ m.content }}{% if m.thinking %}{% endif %}"));
    }

    #[test]
    fn a_key_that_does_not_mention_reasoning_needs_a_separator() {
        let text = |gap: &str| format!("<bot>{}{gap}{}", needle::REASONING, needle::CONTENT);
        assert!(is_set_off(&text("</t>"), false));
        assert!(!is_set_off(&text(" "), false));
        assert!(is_set_off(&text(""), true), "its key mentions reasoning");
        assert!(!is_set_off("<bot>", true));
    }
}
