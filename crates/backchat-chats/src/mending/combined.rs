//! Conversations with several problems at once. A repair of one of them must not lose a text that another one refused.

use super::features;
use backchat_core::json::Value;
use backchat_probe::doctor::agents::said::{THIRD, answer, in_part, system, user};
use backchat_probe::doctor::agents::{Base, Problem};
use backchat_probe::doctor::messages::with;
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::{needle, role_of};

/// The roles of the conversations.
const ROLES: [&[&str]; 7] = [
    &["user", "assistant", "system", "user"],
    &["system", "assistant", "user"],
    &["system", "user", "user"],
    &["system", "system", "user"],
    &["user", "system", "user"],
    &["user", "assistant", "system", "user", "user"],
    &["user", "assistant", "system", "assistant", "user"],
];

/// Each with its system messages as they are, as a developer's, and in parts. What the template itself drops without an
/// error is no loss: those with a problem of which it drops conversations are left out.
pub(super) fn conversations(base: &Base<'_, '_>, dropped: &[Problem]) -> Vec<Chat> {
    if !base.system || !base.chat {
        return Vec::new();
    }
    let developer = |message| with(message, [("role", "developer".into())]);
    let changes: [fn(Value) -> Value; 3] = [|message| message, developer, in_part];
    let mut found = Vec::new();
    for change in changes {
        for roles in ROLES {
            let changed = said(roles).into_iter().map(|message| match role_of(&message) {
                Some("system") => change(message),
                _ => message,
            });
            let chat = base.conversation(changed.collect(), None, true);
            let is_dropped = |problem: &Problem| dropped.contains(problem) && !problem.is_by_name_only();
            if !features::shown(&chat, base, &[]).iter().any(is_dropped) {
                found.push(chat);
            }
        }
    }
    found
}

/// A message of each role, each with a text of its own.
fn said(roles: &[&str]) -> Vec<Value> {
    let mut systems = [needle::SYSTEM, needle::OTHER].into_iter();
    let mut users = [needle::USER, needle::LATER, THIRD].into_iter();
    let mut answers = [needle::CONTENT, needle::ANSWER].into_iter();
    let message = |role: &&str| match *role {
        "system" => systems.next().map(system),
        "user" => users.next().map(user),
        _ => answers.next().map(answer),
    };
    roles.iter().filter_map(message).collect()
}
