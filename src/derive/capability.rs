//! What a chat template can take, for whoever asks.

use super::conversation::{Answer, Manner, Message};
use super::findings::Findings;
use super::probe::{Prober, Setting, call, needle};
use crate::json::{Object, Value};

/// What the template takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Capabilities {
    pub system_role: bool,
    pub content_parts: bool,
    pub tools: bool,
    pub parallel_calls: bool,
    pub arguments_object: bool,
    pub arguments_text: bool,
    pub reasoning: bool,
    /// The switches under which prompts end differently, with the values that make a difference.
    pub switches: Vec<(String, Vec<Value>)>,
}

/// Asks the template for each.
pub(super) fn find(prober: &Prober, findings: &Findings) -> Capabilities {
    let base = Setting::new();
    let user = Message::User(needle::USER.to_owned());
    let said = Message::Assistant(Answer::content(needle::CONTENT));
    let shows = |manner: Manner, messages: &[Message], wanted: &str| {
        prober.render_in(manner, messages, &base, false).is_some_and(|text| text.contains(wanted))
    };
    let system = [Message::System(needle::SYSTEM.to_owned()), user.clone(), said.clone()];
    let parts = Manner { content_parts: true, ..prober.manner };
    let plain = [user.clone(), said];
    let printed_as_list = |text: &str| text.contains("'type'") || text.contains("\"type\"");
    let content_parts = prober
        .render_in(parts, &plain, &base, false)
        .is_some_and(|text| text.contains(needle::CONTENT) && text.contains(needle::USER) && !printed_as_list(&text));
    let called = [user, Message::Assistant(Answer::calls(vec![call(0, 1)]))];
    let takes = |arguments_text: bool| {
        findings.calls.as_ref().is_some_and(|calls| {
            let manner = Manner { arguments_text, ..calls.manner };
            // Text that is written once more as a JSON string is not taken as arguments.
            let twice = format!("\\\"{}", needle::VALUES[0]);
            prober
                .render_in(manner, &called, &calls.setting, false)
                .is_some_and(|text| text.contains(needle::VALUES[0]) && !text.contains(&twice))
        })
    };
    Capabilities {
        system_role: shows(prober.manner, &system, needle::SYSTEM),
        content_parts,
        tools: findings.calls.is_some(),
        parallel_calls: findings.calls.as_ref().is_some_and(|calls| calls.parallel),
        arguments_object: takes(false),
        arguments_text: takes(true),
        reasoning: findings.reasoning.is_some(),
        switches: switches(findings),
    }
}

fn switches(findings: &Findings) -> Vec<(String, Vec<Value>)> {
    let mut switches: Vec<(String, Vec<Value>)> = Vec::new();
    let prompts = &findings.turn.prompts;
    for prompt in prompts {
        let Some((name, value)) = prompt.setting.first() else { continue };
        let base = prompts.iter().find(|other| other.after == prompt.after && other.setting.is_empty());
        if base.is_none_or(|base| base.prefill == prompt.prefill) {
            continue;
        }
        match switches.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(value) => {}
            Some((_, values)) => values.push(value.clone()),
            None => switches.push((name.clone(), vec![value.clone()])),
        }
    }
    switches
}

impl Capabilities {
    pub fn to_value(&self) -> Value {
        let switches: Object =
            self.switches.iter().map(|(name, values)| (name.clone(), Value::List(values.clone()))).collect();
        Value::from([
            ("tools", self.tools.into()),
            ("parallel_calls", self.parallel_calls.into()),
            ("system_role", self.system_role.into()),
            ("reasoning", self.reasoning.into()),
            ("reasoning_switches", Value::Object(switches)),
            ("content_parts", self.content_parts.into()),
            ("arguments_as_object", self.arguments_object.into()),
            ("arguments_as_text", self.arguments_text.into()),
        ])
    }
}
