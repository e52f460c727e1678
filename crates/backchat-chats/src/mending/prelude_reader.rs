//! Reads the rules of a prelude that an earlier repair wrote, so that another repair adds to its loop.

use super::prelude::{self, Rule};

/// The rules of the prelude at the head of a source, and the rest of the source. Without a prelude that would be written
/// again byte for byte there are no rules, and the rest is all of it.
pub(super) fn split(source: &str) -> (Vec<Rule>, &str) {
    let none = || (Vec::new(), source);
    let Some((rules, body)) = read(source) else { return none() };
    let written = prelude::text(&rules, body);
    if source.strip_prefix(written.as_str()) == Some(body) { (rules, body) } else { none() }
}

fn read(source: &str) -> Option<(Vec<Rule>, &str)> {
    let name = source.strip_prefix("{%- set ")?.split_once(" = namespace(")?.0;
    let (mut rules, mut end, mut at) = (Vec::new(), 0, 0);
    for line in source.split_inclusive('\n') {
        at += line.len();
        let Some(tag) = line.trim_end().strip_prefix("{%-").and_then(|tag| tag.strip_suffix("%}")) else { break };
        let tag = tag.trim();
        if let Some(rule) = tag.strip_suffix("%}{% endif").and_then(|tag| changes(tag.trim_end(), name)) {
            rules.extend(rule);
        } else if let Some(list) = tag.strip_prefix(&format!("set {name}.messages = {name}.messages + ")) {
            rules.extend(addition(list)?);
        } else if tag == format!("set messages = {name}.messages") {
            end = at;
            break;
        } else if tag == format!("set tools = {name}.tools or tools") {
            end = at;
        } else if !is_frame(tag, name) {
            break;
        }
    }
    Some((rules, source.get(end..)?)).filter(|(rules, _)| !rules.is_empty())
}

/// The rule of a line; none for the line that puts the calls back into their message. `None` if it is another line.
fn changes(tag: &str, name: &str) -> Option<Option<Rule>> {
    let (when, set) = tag.strip_prefix("if ")?.split_once(" %}{% set ")?;
    let (target, then) = set.split_once(" = ")?;
    let (when, then) = (when.to_owned(), then.to_owned());
    match target {
        "message" if when == format!("{name}.calls") => Some(None),
        "message" => Some(Some(Rule::Message { when, then })),
        "call" => Some(Some(Rule::Call { when, then })),
        "tool" => Some(Some(Rule::Tool { when, then })),
        _ => joint(&then).map(|joint| Some(Rule::Join { when, joint: joint.to_owned() })),
    }
}

/// What a line puts between the texts of two messages that it joins.
fn joint(then: &str) -> Option<&str> {
    let (_, message) = then.split_once("[:-1] %}{% set message = ")?;
    message.strip_prefix("dict(message, content=last.content + ")?.strip_suffix(" + message.content)")
}

/// A line that every prelude has.
fn is_frame(tag: &str, name: &str) -> bool {
    let lines = [
        format!("set {name} = namespace(tools=[])"),
        format!("set {name} = namespace(messages=[])"),
        "for tool in tools or []".to_owned(),
        "for message in messages".to_owned(),
        format!("set last = {name}.messages | last"),
        format!("set {name}.calls = []"),
        "for call in message.tool_calls or []".to_owned(),
        format!("set {name}.calls = {name}.calls + [call]"),
        format!("set {name}.tools = {name}.tools + [tool]"),
        "endfor".to_owned(),
    ];
    lines.iter().any(|line| line == tag)
}

/// The rule in the list that a message adds, if there is one.
fn addition(list: &str) -> Option<Option<Rule>> {
    match list.strip_prefix('[')?.strip_suffix(']')? {
        "message" => Some(None),
        one => {
            let (then, when, _) = choice(one).filter(|(.., rest)| *rest == "message")?;
            Some(Some(Rule::Message { when: when.to_owned(), then: then.to_owned() }))
        }
    }
}

/// The parts of `then if when else other`.
fn choice(text: &str) -> Option<(&str, &str, &str)> {
    let (then, rest) = split_outside(text, " if ")?;
    let (when, other) = split_outside(rest, " else ")?;
    Some((then, when, other))
}

/// Splits at the first place of a word that is in no bracket and in no literal.
fn split_outside<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0usize, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => {
                if let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix(word)) {
                    return Some((text.get(..at)?, rest));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: &str, when: &str, then: &str) -> Rule {
        let (when, then) = (when.to_owned(), then.to_owned());
        match kind {
            "message" => Rule::Message { when, then },
            "join" => Rule::Join { when, joint: then },
            "call" => Rule::Call { when, then },
            _ => Rule::Tool { when, then },
        }
    }

    #[test]
    fn a_prelude_is_read_as_the_rules_that_wrote_it() {
        let plain = rule("message", "message.role == 'developer'", "dict(message, role='system')");
        let inline = rule("message", "message.content is string", "dict(message, content=[1] if message.a else [])");
        let joins = rule("join", "last and message.role == 'a) if b'", "'x \\' %}{% set '");
        let others = rule("join", "last and (a or b)", "eos_token");
        let calls = rule("call", "not call.type", "dict(call, type='function')");
        let tools = rule("tool", "not tool.function.description", "dict(tool, function={})");
        for rules in [
            vec![plain.clone()],
            vec![inline.clone()],
            vec![plain.clone(), inline.clone()],
            vec![others.clone(), joins.clone()],
            vec![tools.clone()],
            vec![tools.clone(), calls.clone(), plain.clone(), others, joins],
            vec![calls],
        ] {
            let body = "{%- for m in messages %}\n{{ m }}{% endfor %}";
            let source = prelude::text(&rules, body) + body;
            let (mut read, rest) = split(&source);
            assert_eq!(rest, body, "{source}");
            // Rules of one kind keep their order.
            let mut rules = rules.clone();
            let kind = |rule: &Rule| std::mem::discriminant(rule);
            for known in [&mut read, &mut rules] {
                known.sort_by_key(|rule| format!("{:?}", kind(rule)));
            }
            assert_eq!(read, rules);
        }
    }

    #[test]
    fn what_somebody_changed_by_hand_is_no_prelude() {
        let rules = [rule("message", "message.role == 'developer'", "dict(message, role='system')")];
        let source = prelude::text(&rules, "{{ x }}") + "{{ x }}";
        for changed in [source.replace("endfor", "endfor -"), source.replacen("\n", "\n\n", 1), "{{ x }}".to_owned()] {
            assert_eq!(split(&changed), (Vec::new(), changed.as_str()));
        }
    }
}
