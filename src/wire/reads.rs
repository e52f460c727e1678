//! The recorded reads of a chat template: switches, keys that may carry reasoning, and the texts it names.

use super::conversation::{Answer, Carrier, Manner, Message};
use super::probe::{Prober, Setting, after_tool, call, needle};
use crate::chat::ChatTemplate;
use crate::json::{Object, Value};

/// The reads of the template that are known before any probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// The switches one at a time, after a setting that touches none.
    pub settings: Vec<Setting>,
    /// Ways in which a message may carry reasoning.
    pub carriers: Vec<Carrier>,
    /// Texts the template compares, splits or prints.
    pub literals: Vec<String>,
    pub eos_token: Option<String>,
}

/// Variables that are not switches: data, and the extent of the render.
pub(crate) const GIVEN: [&str; 6] =
    ["messages", "tools", "add_generation_prompt", "continue_final_message", "documents", "functions"];

/// Keys of a message that carry no reasoning.
const PLAIN: [&str; 7] = ["role", "content", "tool_calls", "tool_call_id", "name", "type", "id"];

/// How many settings are tried at most: a template with more switches is probed with the first ones.
const MOST_SETTINGS: usize = 24;

/// Watches the template render and looks at what it names.
pub(crate) fn find(template: &ChatTemplate, prober: &mut Prober, variables: &Object) -> Reads {
    let mut settings = settings(template, prober, variables);
    let carriers = carriers(template, prober, &settings);
    let base = outlook(prober, &carriers, &Setting::new());
    settings.retain(|setting| setting.is_empty() || outlook(prober, &carriers, setting) != base);
    let eos_token = variables.get("eos_token").and_then(Value::as_str).map(str::to_owned);
    Reads { settings, carriers, literals: literals(template), eos_token }
}

fn settings(template: &ChatTemplate, prober: &Prober, variables: &Object) -> Vec<Setting> {
    let mut settings = vec![Setting::new()];
    for name in template.variables() {
        if GIVEN.contains(&name.as_str()) || name.ends_with("_token") || variables.contains_key(name) {
            continue;
        }
        if is_printed(prober, name) {
            continue;
        }
        let mut values = vec![Value::Bool(true), Value::Bool(false)];
        for constant in template.compared_constants().get(name.as_str()).into_iter().flatten() {
            if !values.contains(constant) && *constant != Value::Null {
                values.push(constant.clone());
            }
        }
        settings.extend(values.into_iter().map(|value| Setting::from([(name.clone(), value)])));
    }
    settings.truncate(MOST_SETTINGS);
    settings
}

/// Whether a variable is text for the prompt instead of a switch.
fn is_printed(prober: &Prober, name: &str) -> bool {
    const TEXT: &str = "Qzprintedq";
    let setting = Setting::from([(name.to_owned(), TEXT.into())]);
    let user = vec![Message::User(needle::USER.to_owned())];
    let mut called = user.clone();
    called.push(Message::Assistant(Answer::calls(vec![call(0, 1)])));
    called.push(Message::User(needle::LATER.to_owned()));
    [user, called]
        .iter()
        .any(|messages| prober.render(messages, &setting, true).is_some_and(|text| text.contains(TEXT)))
}

/// The possible effects of a setting: the ends of prompts, and the form of a turn with reasoning and a call.
fn outlook(prober: &mut Prober, carriers: &[Carrier], setting: &Setting) -> Vec<Option<String>> {
    let user = vec![Message::User(needle::USER.to_owned())];
    let mut shown = vec![prober.render(&user, setting, true), prober.render(&after_tool(), setting, true)];
    let answer =
        Answer { calls: vec![call(0, 1)], ..Answer::content(needle::CONTENT).with_reasoning(needle::REASONING) };
    let said = Answer { calls: Vec::new(), ..answer.clone() };
    for carrier in carriers.iter().map(Some).chain([None]) {
        prober.carrier = carrier.cloned();
        for answer in [&said, &answer] {
            let messages = [user.as_slice(), &[Message::Assistant(answer.clone())]].concat();
            shown.push(prober.render(&messages, setting, false));
        }
    }
    prober.carrier = None;
    shown
}

/// The keys and content blocks the template asks messages for.
fn carriers(template: &ChatTemplate, prober: &Prober, settings: &[Setting]) -> Vec<Carrier> {
    let user = Message::User(needle::USER.to_owned());
    let said = Message::Assistant(Answer::content(needle::CONTENT));
    let called = Message::Assistant(Answer { calls: vec![call(0, 1)], ..Answer::content(needle::CONTENT) });
    let later = Message::User(needle::LATER.to_owned());
    let parts = Manner { content_parts: true, ..prober.manner };
    let mut keys: Vec<String> = Vec::new();
    let mut blocks: Vec<String> = Vec::new();
    for setting in settings {
        for messages in [vec![user.clone(), said.clone()], vec![user.clone(), called.clone(), later.clone()]] {
            for manner in [prober.manner, parts] {
                for path in prober.paths(manner, &messages, setting) {
                    let Some(key) = path.strip_prefix("messages[].") else { continue };
                    if let Some(key) = key.strip_prefix("content[].") {
                        note(&mut blocks, key);
                    } else {
                        note(&mut keys, key);
                    }
                }
            }
        }
    }
    let mut carriers: Vec<Carrier> = keys.into_iter().map(Carrier::Key).collect();
    // A block says what it is with a word the template compares its type with.
    let kinds = template.compared_constants().iter().filter(|(path, _)| path.ends_with(".type"));
    let kinds: Vec<&str> = kinds.flat_map(|(_, constants)| constants.iter().filter_map(Value::as_str)).collect();
    for kind in kinds {
        let keys = blocks.iter().map(String::as_str).chain([kind]);
        for key in keys.filter(|key| *key == kind || !["text", "image", "type"].contains(key)) {
            let carrier = Carrier::Block { kind: kind.to_owned(), key: key.to_owned() };
            if kind != "text" && !carriers.contains(&carrier) {
                carriers.push(carrier);
            }
        }
    }
    carriers
}

fn note(keys: &mut Vec<String>, key: &str) {
    if !key.contains(['.', '[']) && !PLAIN.contains(&key) && !keys.iter().any(|known| known == key) {
        keys.push(key.to_owned());
    }
}

/// The texts that may be marks: neither words nor sentences.
fn literals(template: &ChatTemplate) -> Vec<String> {
    let mut literals: Vec<String> = Vec::new();
    for text in template.literals() {
        let mark = text.trim();
        let long_enough = (3..=64).contains(&mark.chars().count());
        if long_enough && mark.chars().any(|c| !c.is_alphanumeric() && c != '_') && !literals.contains(text) {
            literals.push(text.clone());
        }
    }
    literals
}
