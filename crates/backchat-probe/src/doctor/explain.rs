//! Formats the facts for people: one screen, and the renders that decided each, safe to print.

use std::fmt::Write as _;

use super::explain_agents::{section, write_exhibit};
use super::{Exhibit, Fact, Options, Report, examine, traps};
use crate::probe::{context, needle};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;
use backchat_core::text::{common_start, slice};

/// The subject of a fact, in words.
pub fn words(name: &str) -> &'static str {
    match name {
        "content_text" => "content as text",
        "content_parts" => "content as a list of parts",
        "image" => "images",
        "video" => "video",
        "audio" => "audio",
        "system" => "system messages",
        "developer" => "developer messages",
        "other_role" => "messages of any other role",
        "user_twice" => "two user messages in a row",
        "assistant_first" => "an answer before any user message",
        "tools" => "tools",
        "tool_description" => "descriptions of tools",
        "tool_parameters" => "parameters of tools",
        "call_arguments_object" => "arguments of calls as an object",
        "call_arguments_text" => "arguments of calls as JSON text",
        "tool_calls" => "tool calls",
        "parallel_calls" => "several calls in one message",
        "content_beside_call" => "content beside a call",
        "call_id" => "ids of calls",
        "null_content_beside_call" => "null content beside a call",
        "tool_results" => "results of tools",
        "reasoning_keys" => "keys for reasoning",
        "reasoning_kept_after_user" => "earlier reasoning is kept after the next user message",
        "reasoning_kept_in_tool_loop" => "reasoning is kept while tools are called",
        "variables" => "other variables that change a render",
        "generation_prompt" => "the generation prompt",
        "switches" => "variables that change the generation prompt",
        "documents" => "documents",
        "prefix_generation" => "the render of a prompt begins the render with its answer",
        "prefix_chat" => "the render of a chat begins the render of the longer chat",
        "prefix_reasoning" => "the same with reasoning",
        "prefix_tool" => "the render of a call begins the render with its result",
        "generation_blocks" => "generation blocks",
        "stop_masked" => "generation blocks cover the marker that ends the turn",
        "turn_end" => "the end of an answer",
        "eos_ends_turn" => "the end of an answer holds eos_token",
        _ => "",
    }
}

/// One screen: silent drops first, then refusals, then the accepted input and the behavior of the renders.
pub fn summary(report: &Report, template: &ChatTemplate, options: &Options, file: &str) -> String {
    let mut out = format!("{}: {} conversations rendered\n", escape(file), report.renders);
    if let Some(error) = &report.stopped {
        let _ = writeln!(out, "\nThe examination stopped early: {}", escape(&error.to_string()));
    }
    let found = traps(report);
    if !found.is_empty() {
        out += "\nTraps\n";
        for trap in found {
            let _ =
                writeln!(out, "  {} {}: {}", trap.id, escape(&trap.message), escape(&trap.help.unwrap_or_default()));
        }
    }
    for (title, word) in [
        ("Drops silently", "dropped"),
        ("Prints the word None for", "printed"),
        ("Refuses", "refused"),
        ("Writes as a JSON string again", "escaped"),
        ("Takes", "rendered"),
    ] {
        let chosen: Vec<&Fact> = report.facts.iter().filter(|fact| fact.value.as_str() == Some(word)).collect();
        if chosen.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{title}");
        for fact in chosen {
            let _ = write!(out, "  {:<26} {}", fact.name, words(fact.name));
            let refusal = fact.evidence.iter().rev().find_map(|exhibit| exhibit.outcome.as_ref().err());
            match refusal.filter(|_| word == "refused") {
                Some(error) => drop(writeln!(out, ": {}", escape(&error.to_string()))),
                None => out.push('\n'),
            }
        }
    }
    out += &section(&report.agents);
    let rest = report.facts.iter().filter(|fact| {
        !matches!(fact.value.as_str(), Some("dropped" | "printed" | "refused" | "escaped" | "rendered"))
    });
    out += "\nBehaves\n";
    for fact in rest {
        let value = value_words(report, fact);
        let _ = writeln!(out, "  {:<26} {}: {}", fact.name, words(fact.name), escape(&value));
        if let Some(departure) = departure(fact, template, options) {
            let _ = writeln!(out, "  {:<26} {}", "", escape(&departure));
        }
    }
    out += "\n`--explain FACT` shows the renders that decided a fact.\n";
    out
}

/// One fact with the renders that decided it.
pub fn explain(fact: &Fact, template: &ChatTemplate, options: &Options) -> String {
    let mut out = format!("{}: {}\n{}\n", fact.name, escape(&fact.value.to_string()), words(fact.name));
    if let Some(departure) = departure(fact, template, options) {
        let _ = writeln!(out, "{}", escape(&departure));
    }
    for exhibit in &fact.evidence {
        out.push('\n');
        out += &write_exhibit(exhibit);
    }
    out.push('\n');
    out
}

/// Where a render stops being a prefix of the longer one, which turn that is in, and how to avoid it.
pub fn departure(fact: &Fact, template: &ChatTemplate, options: &Options) -> Option<String> {
    if !fact.name.starts_with("prefix_") || fact.value != Value::Bool(false) {
        return None;
    }
    let (longer, shorter) = pair(fact)?;
    let (one, other) = (longer.outcome.as_ref().ok()?, shorter.outcome.as_ref().ok()?);
    let agreed = common_start(other, one);
    let at = agreed.len();
    let excerpt = |text: &str| {
        let rest: String = slice(text, at..).chars().take(30).collect();
        if rest.is_empty() { "its end".to_owned() } else { Value::from(rest).to_string() }
    };
    let mut out =
        format!("they differ from byte {at} on, {}: {} becomes {}", owner(agreed), excerpt(other), excerpt(one));
    if let Some(line) = line(template.source(), other, at).or_else(|| line(template.source(), one, at)) {
        let _ = write!(out, " (line {line} of the template)");
    }
    if let Some(remedy) = remedy(fact, template, options) {
        let _ = write!(out, "; `{remedy}` avoids it");
    }
    Some(out)
}

/// The two renders of a fact about prefixes: the longer chat, then the shorter one.
fn pair(fact: &Fact) -> Option<(&Exhibit, &Exhibit)> {
    let mut rendered = fact.evidence.iter().filter(|exhibit| exhibit.outcome.is_ok());
    let longer = rendered.next()?;
    rendered.next().map(|shorter| (longer.as_ref(), shorter.as_ref()))
}

/// The turn that contains a position, by the last needle before it.
fn owner(before: &str) -> &'static str {
    let known = [
        (needle::USER, "after the user's message"),
        (needle::REASONING, "after the reasoning"),
        (needle::CONTENT, "after the answer"),
        (needle::VALUES[0], "after the call"),
        (needle::RESULT, "after the result"),
        (needle::LATER, "after the second user message"),
    ];
    let last = known.iter().filter_map(|(needle, words)| Some((before.rfind(needle)?, *words))).max();
    last.map_or("before the first message", |(_, words)| words)
}

/// The only line of the template that holds the marker at a place of a render.
fn line(source: &str, render: &str, at: usize) -> Option<usize> {
    let from = render.get(..at)?.rfind(['<', '[', '\n']).map_or(at, |open| open);
    let marker: String = render.get(from..)?.trim_start().chars().take_while(|c| !c.is_whitespace()).take(16).collect();
    let mut lines = source.lines().enumerate().filter(|(_, line)| marker.len() >= 3 && line.contains(&marker));
    let (line, _) = lines.next()?;
    lines.next().is_none().then_some(line + 1)
}

/// The variable under which the fact holds.
fn remedy(fact: &Fact, template: &ChatTemplate, options: &Options) -> Option<String> {
    let (longer, shorter) = pair(fact)?;
    let render = |exhibit: &Exhibit, name: &str, value: bool| {
        let mut variables = options.variables.clone();
        variables.extend(exhibit.variables.clone());
        variables.insert(name, value.into());
        let messages = exhibit.messages.as_list().unwrap_or_default();
        let prompt = exhibit.variables.contains_key("add_generation_prompt");
        let context = context(&variables, messages, &Value::Null, prompt);
        let now = RenderOptions::default().now(options.now.clone());
        template.render(&context, &now).ok().map(|rendered| rendered.text)
    };
    let report = examine(template, options);
    let variables = report.fact("variables")?.value.as_list()?.to_vec();
    variables.iter().filter_map(Value::as_str).find_map(|name| {
        [true, false].into_iter().find_map(|value| {
            let (one, other) = (render(longer, name, value)?, render(shorter, name, value)?);
            one.starts_with(&other).then(|| format!("{name}={value}"))
        })
    })
}

/// The value of a fact about behavior, in words.
pub fn value_words(report: &Report, fact: &Fact) -> String {
    let has_end = || report.fact("turn_end").is_some_and(|end| !end.value.is_null());
    match &fact.value {
        Value::Null if fact.name == "eos_ends_turn" && has_end() => "not asked: no eos_token is given".to_owned(),
        Value::Null => "does not apply".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => in_words(other),
    }
}

/// A value for people: lists and objects without JSON's punctuation, and a text in quotes unless it is one word.
fn in_words(value: &Value) -> String {
    let joined = |parts: Vec<String>| if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
    match value {
        Value::List(items) => joined(items.iter().map(in_words).collect()),
        Value::Object(entries) => joined(
            entries
                .iter()
                .map(|(key, value)| match value {
                    Value::Object(_) => format!("{key} ({})", in_words(value)),
                    _ => format!("{key}: {}", in_words(value)),
                })
                .collect(),
        ),
        Value::String(text) if is_word(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::{Options, examine};
    use super::*;

    #[test]
    fn every_fact_has_a_description() {
        let template =
            ChatTemplate::compile("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}").unwrap();
        let facts = examine(&template, &Options::default()).facts;
        assert!(facts.len() > 30, "{}", facts.len());
        let silent: Vec<&str> = facts.iter().map(|fact| fact.name).filter(|name| words(name).is_empty()).collect();
        assert!(silent.is_empty(), "{silent:?}");
    }

    #[test]
    fn values_are_shown_without_the_punctuation_of_json() {
        let read = |json: &str| in_words(&backchat_core::json::read(json).unwrap());
        let switches = r#"{"think": {"true": "<bot>", "false": "", "default": "true"}}"#;
        assert_eq!(read(switches), r#"think (true: "<bot>", false: "", default: true)"#);
        assert_eq!(read(r#"["reasoning_content", "thinking"]"#), "reasoning_content, thinking");
        assert_eq!(read(r#""<end>\n""#), r#""<end>\n""#);
        assert_eq!([read("[]"), read("{}")], ["none", "none"]);
    }
}
