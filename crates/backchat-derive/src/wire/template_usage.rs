//! What a chat template reads and writes: switches, keys that may carry reasoning, and literals.

use std::collections::BTreeSet;

use super::marks::Segmentation;
use super::printed::{self, Printed};
use backchat_chat::{ChatTemplate, LISTS, switches};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_core::{distinct, push_new};
use backchat_probe::probe::{
    Answer, Message, Prober, ReasoningInput, RequestShape, Setting, after_tool, call, mentions_reasoning, needle,
};

/// What is known about a template before probing it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TemplateUsage {
    /// The switches one at a time, after a setting that touches none.
    pub settings: Vec<Setting>,
    /// The variables that the template prints, or of which it prints members.
    pub printed: Vec<Printed>,
    /// The ways in which a message may carry reasoning.
    pub reasoning_inputs: Vec<ReasoningInput>,
    /// Keys of a message whose value is an attribute of its turn or stands in the place of the content, and is no reasoning.
    pub attributes: Vec<ReasoningInput>,
    /// Texts the template compares, splits or prints.
    pub literals: Vec<String>,
    pub eos_token: Option<String>,
}

/// Keys of a message that carry no reasoning.
const PLAIN: [&str; 7] = ["role", "content", "tool_calls", "tool_call_id", "name", "type", "id"];

/// How many settings are tried at most, of a template with many switches the first ones.
const MOST_SETTINGS: usize = 24;

/// How many ways in which a message may carry reasoning are tried at most, in the order in which they are read: each
/// costs renders of the whole template.
const MOST_REASONING_INPUTS: usize = 32;

/// Records what a few renders read, and collects the literals of the source.
pub(crate) fn find(template: &ChatTemplate, prober: &Prober, variables: &Object) -> TemplateUsage {
    let (mut settings, printed) = settings(template, prober, variables);
    let is_reasoning =
        |input: &ReasoningInput| input.is_named_for_reasoning() || !is_attribute(prober, &settings, input);
    let (mut reasoning_inputs, attributes): (Vec<_>, Vec<_>) =
        reasoning_inputs(template, prober, &settings).into_iter().partition(is_reasoning);
    if reasoning_inputs.iter().filter(|input| input.is_named_for_reasoning()).count() > 1 {
        reasoning_inputs.sort_by_cached_key(|input| !is_opened(prober, input));
    }
    settings.extend(printed::settings(&printed, &prober.with_reasoning(reasoning_inputs.first())));
    let mut seen: Vec<Vec<Option<RenderedTurn>>> = Vec::new();
    settings.retain(|setting| push_new(&mut seen, outlook(prober, &reasoning_inputs, setting)));
    let eos_token = variables.get("eos_token").and_then(Value::as_str).map(str::to_owned);
    TemplateUsage { settings, printed, reasoning_inputs, attributes, literals: literals(template), eos_token }
}

/// The settings, and the variables that are printed instead of switching something.
fn settings(template: &ChatTemplate, prober: &Prober, variables: &Object) -> (Vec<Setting>, Vec<Printed>) {
    let (mut settings, mut printed) = (vec![Setting::new()], Vec::new());
    let thought = unread_keys(template.source()).first().map(|key| ReasoningInput::Key((*key).to_owned()));
    let thinking = prober.with_reasoning(thought.as_ref());
    let mut note = |found: Printed| {
        let is_shown = printed.len() < MOST_SETTINGS && found.is_shown(prober, &thinking);
        if is_shown {
            push_new(&mut printed, found);
        }
        is_shown
    };
    for (name, mut values) in switches(template, variables) {
        values.truncate(MOST_SETTINGS);
        // A member that is printed is text for the prompt, too.
        let whole = Printed::members(template, name, &Value::Null);
        values.retain(|value| {
            let members = whole.as_ref().and_then(|_| Printed::members(template, name, value));
            value.as_object().is_none() || !members.is_some_and(&mut note)
        });
        if let Some(whole) = whole {
            note(whole);
        }
        if !note(Printed::whole(name)) {
            if values.iter().any(|value| value.as_str().is_some()) && prints_truth(prober, name) {
                values.retain(|value| value.as_bool().is_none());
            }
            settings.extend(values.into_iter().map(|value| Setting::from([(name.to_owned(), value)])));
        }
    }
    for list in LISTS.into_iter().filter(|list| !variables.contains_key(list)) {
        Printed::members(template, list, &Value::Null).map(&mut note);
    }
    settings.truncate(MOST_SETTINGS);
    settings.retain(|setting| setting.is_empty() || is_accepted(prober, setting));
    (settings, printed)
}

/// Whether the template prints true and false as they are: a variable of which it knows texts means a number then, or another
/// text.
fn prints_truth(prober: &Prober, name: &str) -> bool {
    let user = Message::User(needle::USER.to_owned());
    let said = Message::Assistant(Answer::content(needle::CONTENT));
    let [yes, no] = [true, false].map(|value| {
        let setting = Setting::from([(name.to_owned(), Value::Bool(value))]);
        let render = |messages: &[Message], prompt: bool| prober.render(messages, &setting, prompt);
        [render(std::slice::from_ref(&user), true), render(&[user.clone(), said.clone()], false)]
    });
    let are_alike = |(one, other): (&str, &str)| {
        let replaced = yes.iter().map(|text| text.as_ref().map(|text| text.replace(one, other)));
        replaced.eq(no.iter().cloned())
    };
    yes != no && [("True", "False"), ("true", "false")].into_iter().any(are_alike)
}

/// Whether the template renders anything under a setting. If it refuses the value in every request, every later probe
/// would be tried in every request shape for nothing.
fn is_accepted(prober: &Prober, setting: &Setting) -> bool {
    let user = Message::User(needle::USER.to_owned());
    let said = Message::Assistant(Answer::content(needle::CONTENT));
    let renders = |messages: &[Message], prompt: bool| prober.render(messages, setting, prompt).is_some();
    renders(std::slice::from_ref(&user), true) || renders(&after_tool(), true) || renders(&[user, said], false)
}

/// The texts that a setting can change: the ends of prompts, and turns with reasoning and a call.
fn outlook(prober: &Prober, reasoning_inputs: &[ReasoningInput], setting: &Setting) -> Vec<Option<RenderedTurn>> {
    let user = vec![Message::User(needle::USER.to_owned())];
    let mut outlook = vec![
        shown(prober, &user, needle::USER, setting, true),
        shown(prober, &after_tool(), needle::RESULT, setting, true),
    ];
    let answer =
        Answer { calls: vec![call(0, 1)], ..Answer::content(needle::CONTENT).with_reasoning(needle::REASONING) };
    let said = Answer { calls: Vec::new(), ..answer.clone() };
    for reasoning_input in reasoning_inputs.iter().map(Some).chain([None]) {
        let prober = prober.with_reasoning(reasoning_input);
        for answer in [&said, &answer] {
            let messages = [user.as_slice(), &[Message::Assistant(answer.clone())]].concat();
            outlook.push(shown(&prober, &messages, needle::USER, setting, false));
        }
    }
    outlook
}

/// The parts of a render that matter for a turn: the marks before the end of the history, and the text from there on.
type RenderedTurn = (BTreeSet<String>, String);

fn shown(prober: &Prober, messages: &[Message], last: &str, setting: &Setting, prompt: bool) -> Option<RenderedTurn> {
    let text = prober.render(messages, setting, prompt)?;
    let (before, turn) = text.split_at_checked(text.rfind(last).unwrap_or(0))?;
    let words = Segmentation::Words;
    let marks = words.marks(before).into_iter().filter(|mark| words.is_distinctive(mark));
    Some((marks.map(str::to_owned).collect(), turn.to_owned()))
}

/// The keys and content blocks that the template looks up in messages.
fn reasoning_inputs(template: &ChatTemplate, prober: &Prober, settings: &[Setting]) -> Vec<ReasoningInput> {
    let user = Message::User(needle::USER.to_owned());
    let said = Message::Assistant(Answer::content(needle::CONTENT));
    let called = Message::Assistant(Answer { calls: vec![call(0, 1)], ..Answer::content(needle::CONTENT) });
    let later = Message::User(needle::LATER.to_owned());
    let bare = Message::Assistant(Answer::calls(vec![call(0, 1)]));
    let said = vec![user.clone(), said];
    let conversations = [said, vec![user.clone(), called, later.clone()], vec![user, bare, later]];
    let mut keys: Vec<String> = Vec::new();
    let mut blocks: Vec<String> = Vec::new();
    for setting in settings {
        for messages in &conversations {
            // If a conversation is refused, use the usual request shape.
            let own = prober.accepted(messages, setting).next().unwrap_or_else(|| prober.request_shape());
            for request_shape in [own, RequestShape { content_parts: true, ..own }] {
                for path in prober.paths(request_shape, messages, setting) {
                    let Some(key) = path.strip_prefix("messages[].") else { continue };
                    if let Some(key) = key.strip_prefix("content[].") {
                        push_unique(&mut blocks, key);
                    } else {
                        push_unique(&mut keys, key);
                    }
                }
            }
        }
    }
    if !keys.iter().any(|key| mentions_reasoning(key)) {
        // A condition that no render meets, such as what a system message says, may come before the key.
        unread_keys(template.source()).into_iter().for_each(|key| push_unique(&mut keys, key));
    }
    let mut reasoning_inputs: Vec<ReasoningInput> = keys.into_iter().map(ReasoningInput::Key).collect();
    // The type of a block is a word that the template compares it with.
    let kinds = template.compared_constants().iter().filter(|(path, _)| path.ends_with(".type"));
    let kinds: Vec<&str> = kinds.flat_map(|(_, constants)| constants.iter().filter_map(Value::as_str)).collect();
    for kind in kinds {
        let keys = blocks.iter().map(String::as_str).chain([kind]);
        for key in keys.filter(|key| *key == kind || !["text", "image", "type"].contains(key)) {
            let reasoning_input = ReasoningInput::Block { kind: kind.to_owned(), key: key.to_owned() };
            if kind != "text" {
                push_new(&mut reasoning_inputs, reasoning_input);
            }
        }
    }
    reasoning_inputs.truncate(MOST_REASONING_INPUTS);
    reasoning_inputs
}

/// The names of reasoning that a source looks up in something, as `of.name`, `of['name']` or `of.get('name')`.
fn unread_keys(source: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let looked_up = source.split(['.', '[', '(']).skip(1).map(|rest| {
        let rest = rest.trim_start_matches(['\'', '"']);
        slice(rest, ..rest.find(|c| !is_word(c)).unwrap_or(rest.len()))
    });
    distinct(looked_up.filter(|word| mentions_reasoning(word)))
}

/// Whether the prompt ends with the mark that the template writes before this reasoning: it asks for no other.
fn is_opened(prober: &Prober, input: &ReasoningInput) -> bool {
    let user = Message::User(needle::USER.to_owned());
    let thought = Message::Assistant(Answer::content(needle::CONTENT).with_reasoning(needle::REASONING));
    let prompt = prober.render(std::slice::from_ref(&user), &Setting::new(), true);
    let turn = prober.with_reasoning(Some(input)).render(&[user, thought], &Setting::new(), false);
    let (Some(prompt), Some(turn)) = (prompt, turn) else { return false };
    let open = turn.split_once(needle::REASONING).and_then(|(before, _)| Segmentation::Words.last(before));
    open.is_some_and(|open| prompt.trim_end().ends_with(open.trim()))
}

/// Whether the template writes what a key holds inside of marks alone, as in `<answer score=KEY>`, or in the place of the
/// content, as a refusal: that is no reasoning.
fn is_attribute(prober: &Prober, settings: &[Setting], input: &ReasoningInput) -> bool {
    let prober = prober.with_reasoning(Some(input));
    let said = Answer::content(needle::CONTENT).with_reasoning(needle::REASONING);
    let called = Answer { calls: vec![call(0, 1)], ..said.clone() };
    let [said, called] = [said, called].map(|answer| {
        let turn = [Message::User(needle::USER.to_owned()), Message::Assistant(answer)];
        let renders = settings.iter().filter_map(|setting| prober.render(&turn, setting, false));
        renders.filter(|text| text.contains(needle::REASONING)).collect::<Vec<_>>()
    });
    // A plan may be written in the place of the content of calls alone.
    let is_instead = !said.is_empty() && said.iter().all(|text| !text.contains(needle::CONTENT));
    let mut shown = said.iter().chain(&called).peekable();
    is_instead || shown.peek().is_some() && shown.all(|text| is_inside_marks(text, needle::REASONING))
}

/// Whether each occurrence of a text is between the brackets of one mark.
fn is_inside_marks(text: &str, value: &str) -> bool {
    text.match_indices(value).all(|(at, _)| {
        let before = slice(text, ..at).rsplit('\n').next().unwrap_or_default();
        let after = slice(text, at + value.len()..).split('\n').next().unwrap_or_default();
        let is_between = |(open, close): (char, char)| {
            let is_open = before.rfind(open).is_some_and(|at| before.rfind(close).is_none_or(|closed| closed < at));
            is_open && after.find(close).is_some_and(|at| after.find(open).is_none_or(|opened| at < opened))
        };
        [('<', '>'), ('[', ']')].into_iter().any(is_between)
    })
}

fn push_unique(keys: &mut Vec<String>, key: &str) {
    if !key.contains(['.', '[']) && !PLAIN.contains(&key) {
        push_new(keys, key.to_owned());
    }
}

/// The literals that may be marks: neither words nor sentences.
fn literals(template: &ChatTemplate) -> Vec<String> {
    let may_be_mark = |text: &&String| {
        let has_sign = text.trim().chars().any(|c| !c.is_alphanumeric() && c != '_');
        has_sign && (3..=64).contains(&text.trim().chars().count())
    };
    distinct(template.literals().iter().filter(may_be_mark).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_read_only_for_calls_without_content_are_found() {
        let source = "{% for m in messages %}<{{ m.role }}>\
            {% if m.tool_calls and m.content %}{{ raise_exception('calls stand alone') }}{% endif %}\
            {% if m.tool_calls %}{{ m.plan }}{% endif %}{{ m.content }}{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled().unwrap();
        let inputs = find(&template, &prober, &variables).reasoning_inputs;
        assert!(inputs.contains(&ReasoningInput::Key("plan".to_owned())), "{inputs:?}");
    }

    #[test]
    fn reasoning_that_the_prompt_asks_for_comes_first() {
        let keys = |prompt: &str| {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.thinking_brief %}}<brief>{{{{ m.thinking_brief }}}}</brief>\
                 {{% elif m.thinking %}}<think>{{{{ m.thinking }}}}</think>{{% endif %}}{{{{ m.content }}}}{{% endfor %}}\
                 {{% if add_generation_prompt %}}<assistant>{prompt}{{% endif %}}"
            );
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None).settled().unwrap();
            let inputs = find(&template, &prober, &variables).reasoning_inputs.into_iter();
            inputs
                .map(|input| if let ReasoningInput::Key(key) = input { key } else { String::new() })
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(""), ["thinking_brief", "thinking"]);
        assert_eq!(keys("<brief>\n"), ["thinking_brief", "thinking"]);
        assert_eq!(keys("<think>"), ["thinking", "thinking_brief"]);
    }

    #[test]
    fn a_truth_that_is_printed_beside_known_texts_is_no_setting() {
        for (effort, count) in [
            ("{{ {'low': 20, 'high': 90}[effort] if effort is string else effort }}", 3),
            // A switch has texts of its own; what is not set is as false.
            ("{{ {'low': 20, 'high': 90}[effort] if effort is string else 7 if effort else 8 }}", 4),
        ] {
            let source =
                format!("{{% for m in messages %}}<{{{{ m.role }}}} {effort}>{{{{ m.content }}}}{{% endfor %}}");
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None).settled().unwrap();
            assert_eq!(find(&template, &prober, &variables).settings.len(), count, "{effort}");
        }
    }

    #[test]
    fn a_key_that_is_written_inside_of_a_mark_or_in_the_place_of_content_holds_no_reasoning() {
        for (said, is_input) in [
            ("<said sure=\"{{ m.note }}\">{{ m.content }}", false),
            ("[{{ m.note }}] {{ m.content }}", false),
            ("{% if m.note %}<note>{{ m.note }}</note>{% else %}{{ m.content }}{% endif %}", false),
            ("<note>{{ m.note }}</note>{{ m.content }}", true),
            ("{{ m.note }}\n{{ m.content }}", true),
            // Not only in a mark.
            ("<{{ m.note }}>{{ m.note }}</note>{{ m.content }}", true),
        ] {
            let source = format!("{{% for m in messages %}}<{{{{ m.role }}}}>{said}<end>{{% endfor %}}");
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None).settled().unwrap();
            let inputs = find(&template, &prober, &variables).reasoning_inputs;
            assert_eq!(inputs == [ReasoningInput::Key("note".to_owned())], is_input, "{said}");
        }
    }

    #[test]
    fn a_value_that_every_conversation_refuses_is_not_a_setting() {
        let source = "{% if mode is defined and mode != 'brief' %}{{ raise_exception('no such mode') }}{% endif %}\
                      {% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if mode == 'brief' %}!{% endif %}";
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled().unwrap();
        let brief = Setting::from([("mode".to_owned(), "brief".into())]);
        assert_eq!(find(&template, &prober, &variables).settings, [Setting::new(), brief]);
    }

    #[test]
    fn a_member_that_the_template_prints_is_not_a_setting() {
        for (written, count) in [("{{ tool.name }}", 4), ("{% if tool.name %}!{% endif %}", 5)] {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% endfor %}}<bot{{% if tool is mapping %}} \
                 {written}{{% elif tool %}}?{{% elif tool is defined %}}-{{% endif %}}>"
            );
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None).settled().unwrap();
            let settings = find(&template, &prober, &variables).settings;
            assert_eq!(settings.len(), count, "{written}: {settings:?}");
        }
    }

    #[test]
    fn a_member_that_only_the_mark_of_reasoning_has_is_a_text() {
        let source = "{% for m in messages %}<{{ m.role }}>{% if m.thinking %}<think budget={{ budget.size if budget else 0 }}>\
                      {{ m.thinking }}</think>{% endif %}{{ m.content }}{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled().unwrap();
        let usage = find(&template, &prober, &variables);
        let size = Printed::members(&template, "budget", &Value::Null).unwrap();
        assert!(usage.printed.contains(&size), "{:?}", usage.printed);
        assert!(
            usage.settings.iter().all(|setting| setting.get("budget").is_none_or(|value| value.as_object().is_none()))
        );
    }

    #[test]
    fn members_of_what_is_sent_beside_the_messages_are_texts() {
        let turn =
            |mark: &str| format!("{{% for m in messages %}}<{{{{ m.role }}}}>{mark}{{{{ m.content }}}}{{% endfor %}}");
        for (mark, printed) in [
            ("<cites {{ documents | map(attribute='id') | join(',') }}>", Some("documents")),
            ("{% for f in functions or [] %}<can {{ f.name }}>{% endfor %}", Some("functions")),
            ("{% if documents %}<cites {{ documents | length }}>{% endif %}", None),
        ] {
            let template = ChatTemplate::compile(&turn(mark)).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None).settled().unwrap();
            let expected = printed.and_then(|name| Printed::members(&template, name, &Value::Null));
            assert_eq!(expected.is_some(), printed.is_some(), "{mark}");
            assert_eq!(find(&template, &prober, &variables).printed, Vec::from_iter(expected), "{mark}");
        }
    }

    #[test]
    fn keys_that_are_read_only_with_calls_are_found_despite_refusals() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\
                      {% if c.id | length < 12 %}{{ raise_exception('short') }}{% endif %}{{ m.plan }}{{ c.id }}{% endfor %}{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        let variables = Object::new();
        let prober = Prober::new(&template, &variables, None).settled().unwrap();
        let inputs = find(&template, &prober, &variables).reasoning_inputs;
        assert_eq!(inputs, [ReasoningInput::Key("plan".to_owned())]);
    }
}
