//! A prelude: lines at the head of a template that rewrite the messages which it cannot take into messages that say the
//! same, and pass all others on as they are.

use super::edit::literal;
use backchat_probe::doctor::agents::{Base, Problem};

/// One rule of a prelude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A message under a condition becomes another.
    Message { when: String, then: String },
    /// A message under a condition, which may ask for `last`, is joined to the message before it.
    Join { when: String, joint: String },
    /// A call under a condition becomes another.
    Call { when: String, then: String },
    /// A tool under a condition becomes another.
    Tool { when: String, then: String },
}

impl Rule {
    /// The rule with both of its texts changed.
    pub fn map(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Message { when, then } => Self::Message { when: change(when), then: change(then) },
            Self::Join { when, joint } => Self::Join { when: change(when), joint: change(joint) },
            Self::Call { when, then } => Self::Call { when: change(when), then: change(then) },
            Self::Tool { when, then } => Self::Tool { when: change(when), then: change(then) },
        }
    }
}

fn message(when: impl Into<String>, then: impl Into<String>) -> Rule {
    Rule::Message { when: when.into(), then: then.into() }
}

fn call(when: &str, then: &str) -> Rule {
    Rule::Call { when: when.to_owned(), then: then.to_owned() }
}

fn tool(when: &str, then: &str) -> Rule {
    Rule::Tool { when: when.to_owned(), then: then.to_owned() }
}

/// Sets of rules that may cure a problem, the shortest first. `shapes` are those that are a problem.
pub(super) fn rules(problem: Problem, shapes: &[&str], base: &Base<'_, '_>) -> Vec<Vec<Rule>> {
    let empty = if base.in_parts { "[]" } else { "''" };
    let no_content = "not message.content and message.content is not string";
    let emptied =
        |when: &str| vec![vec![message(format!("{when} and {no_content}"), format!("dict(message, content={empty})"))]];
    match problem {
        Problem::Developer => {
            vec![vec![message("message.role == 'developer'", "dict(message, role='system')")]]
        }
        Problem::Parts => vec![vec![of_parts(&other_roles(shapes, base))]],
        Problem::ResultParts => vec![vec![of_parts("message.role == 'tool'")]],
        Problem::Text => {
            let part = "[{'type': 'text', 'text': message.content}] if message.content else []";
            vec![vec![message("message.content is string", format!("dict(message, content={part})"))]]
        }
        Problem::NullContent => emptied("message.tool_calls"),
        Problem::ReasoningOnly => emptied("message.role == 'assistant' and not message.tool_calls"),
        Problem::NullResult => emptied("message.role == 'tool'"),
        Problem::EmptyCalls => without_calls(),
        Problem::ReasoningKey => base.reasoning.first().map(|key| other_keys(key, shapes)).into_iter().collect(),
        Problem::ArgsObject => vec![vec![call(
            "call.function and call.function.arguments is mapping",
            "dict(call, function=dict(call.function, arguments=call.function.arguments | tojson))",
        )]],
        Problem::CallKeys => vec![call_keys(shapes)],
        Problem::Tools => vec![vec![
            tool(
                "tool.function and not tool.function.parameters",
                "dict(tool, function=dict(tool.function, parameters={'type': 'object', 'properties': {}}))",
            ),
            tool(
                "tool.function and not tool.function.description",
                "dict(tool, function=dict(tool.function, description=''))",
            ),
        ]],
        Problem::Results => {
            let calls = "messages | selectattr('tool_calls') | map(attribute='tool_calls') | sum(start=[])";
            let whole = "selectattr('function') | selectattr('id', 'equalto', message.tool_call_id)";
            let called = format!("({calls} | {whole} | list)");
            let when = format!("message.role == 'tool' and not message.name and {called}");
            vec![vec![message(when, format!("dict(message, name=({called} | first).function.name)"))]]
        }
        Problem::LateSystem | Problem::Alternation | Problem::NoUser => joins(problem, shapes, base),
        _ => Vec::new(),
    }
}

/// The text of content that is a list of text parts and nothing else.
fn of_parts(who: &str) -> Rule {
    let is_list = "message.content and message.content is not string and message.content is not mapping";
    let is_text = "not (message.content | rejectattr('type', 'equalto', 'text') | list)";
    message(
        format!("{who} and {is_list} and {is_text}"),
        "dict(message, content=message.content | map(attribute='text') | join)",
    )
}

/// The messages whose content a template takes in no list: all but results, and but roles whose lists it reads itself.
fn other_roles(shapes: &[&str], base: &Base<'_, '_>) -> String {
    let asked = ["system", "user", "assistant"].into_iter().filter(|role| base.system || *role != "system");
    let healthy: Vec<String> = asked.filter(|role| !shapes.contains(role)).map(literal).collect();
    match healthy.as_slice() {
        [] => "message.role != 'tool'".to_owned(),
        healthy => format!("message.role not in ['tool', {}]", healthy.join(", ")),
    }
}

fn without_calls() -> Vec<Vec<Rule>> {
    let when = "message.tool_calls is defined and not message.tool_calls";
    let without = |keys: &str| format!("dict(message.items() | rejectattr(0, 'in', [{keys}]))");
    let all = "'tool_calls', 'function_call', 'refusal', 'annotations', 'audio'";
    [without("'tool_calls'"), without(all)].map(|then| vec![message(when, then)]).to_vec()
}

/// Reasoning under other keys, copied to the key that the template reads.
fn other_keys(key: &str, shapes: &[&str]) -> Vec<Rule> {
    let others: Vec<String> = shapes.iter().map(|other| format!("message.{other}")).collect();
    let any = others.join(" or ");
    let when = match others.len() {
        1 => format!("{any} and not message.{key}"),
        _ => format!("({any}) and not message.{key}"),
    };
    vec![message(when, format!("dict(message, {key}={any})"))]
}

fn call_keys(shapes: &[&str]) -> Vec<Rule> {
    let mut rules = Vec::new();
    if shapes.contains(&"no_type") {
        rules.push(call("not call.type", "dict(call, type='function')"));
    }
    if shapes.contains(&"long_id") {
        rules.push(call("call.id and call.id | length > 9", "dict(call, id=call.id[-9:])"));
        rules.push(message(
            "message.tool_call_id and message.tool_call_id | length > 9",
            "dict(message, tool_call_id=message.tool_call_id[-9:])",
        ));
    }
    rules
}

/// Messages of two roles that become one message of the second role, under a further condition. `last` is the message before
/// as the prelude rewrote it: what is joined is what would else be passed on. It may hold nothing but its text, which is all
/// that is kept of it.
fn join([first, second]: [&str; 2], further: &str, joint: &str) -> Rule {
    let texts = "last | length == 2 and last.content is string and message.content is string";
    let roles = format!("last.role == '{first}' and message.role == '{second}'");
    Rule::Join { when: format!("last and {roles} and {texts}{further}"), joint: joint.to_owned() }
}

/// Messages joined to the ones before them.
fn joins(problem: Problem, shapes: &[&str], base: &Base<'_, '_>) -> Vec<Vec<Rule>> {
    let joint = base.frames.joint().map(literal);
    let blank = literal("\n\n");
    match problem {
        Problem::LateSystem => {
            let heads = (shapes == ["head"]).then(|| vec![join(["system", "system"], " and loop.index0 == 1", &blank)]);
            // After a user's message the two roles would not alternate any more.
            let late = " and loop.index0 > 1 and messages[loop.index0 - 2].role != 'user'";
            let late = joint.iter().map(|joint| vec![join(["system", "user"], late, joint)]);
            heads.into_iter().chain(late).collect()
        }
        Problem::Alternation => {
            let [users, answers] = ["user", "assistant"].map(|role| join([role, role], "", &blank));
            vec![vec![users.clone()], vec![answers.clone()], vec![users, answers]]
        }
        Problem::NoUser if shapes.contains(&"system_only") && joint.is_some() => {
            vec![vec![message("message.role == 'system' and messages | length == 1", "dict(message, role='user')")]]
        }
        _ => Vec::new(),
    }
}

/// A prelude of these rules, which ends in a line break; empty without rules.
pub(super) fn text(rules: &[Rule], source: &str) -> String {
    let mut name = "repaired".to_owned();
    while source.contains(&name) {
        name.push('_');
    }
    of_tools(rules, &name) + &of_messages(rules, &name)
}

fn of_tools(rules: &[Rule], name: &str) -> String {
    let mut lines = Vec::new();
    for rule in rules {
        if let Rule::Tool { when, then } = rule {
            lines.push(format!("{{%-   if {when} %}}{{% set tool = {then} %}}{{% endif %}}"));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.insert(0, format!("{{%- set {name} = namespace(tools=[]) %}}\n{{%- for tool in tools or [] %}}"));
    lines.push(format!("{{%-   set {name}.tools = {name}.tools + [tool] %}}\n{{%- endfor %}}"));
    lines.push(format!("{{%- set tools = {name}.tools or tools %}}\n"));
    lines.join("\n")
}

fn of_messages(rules: &[Rule], name: &str) -> String {
    let (mut lines, mut joins, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for rule in rules {
        match rule {
            Rule::Message { when, then } => lines.push((when, then)),
            Rule::Join { when, joint } => joins.push((when, joint)),
            Rule::Call { when, then } => calls.push((when, then)),
            Rule::Tool { .. } => {}
        }
    }
    if lines.is_empty() && joins.is_empty() && calls.is_empty() {
        return String::new();
    }
    let mut out = format!("{{%- set {name} = namespace(messages=[]) %}}\n{{%- for message in messages %}}\n");
    if !calls.is_empty() {
        out += &of_calls(&calls, name);
    }
    let mut added = "[message]".to_owned();
    match (lines.as_slice(), joins.is_empty(), calls.is_empty()) {
        ([(when, then)], true, true) => added = format!("[{then} if {when} else message]"),
        (lines, ..) => {
            for (when, then) in lines {
                out += &format!("{{%-   if {when} %}}{{% set message = {then} %}}{{% endif %}}\n");
            }
        }
    }
    for (when, joint) in joins {
        out += &format!("{{%-   set last = {name}.messages | last %}}\n");
        out += &format!("{{%-   if {when} %}}{{% set {name}.messages = {name}.messages[:-1] %}}");
        out += &format!(
            "{{% set message = dict(message, content=last.content + {joint} + message.content) %}}{{% endif %}}\n"
        );
    }
    out += &format!("{{%-   set {name}.messages = {name}.messages + {added} %}}\n");
    out + &format!("{{%- endfor %}}\n{{%- set messages = {name}.messages %}}\n")
}

/// The lines that rewrite the calls of a message.
fn of_calls(calls: &[(&String, &String)], name: &str) -> String {
    let mut out = format!("{{%-   set {name}.calls = [] %}}\n{{%-   for call in message.tool_calls or [] %}}\n");
    for (when, then) in calls {
        out += &format!("{{%-     if {when} %}}{{% set call = {then} %}}{{% endif %}}\n");
    }
    out += &format!("{{%-     set {name}.calls = {name}.calls + [call] %}}\n{{%-   endfor %}}\n");
    out + &format!(
        "{{%-   if {name}.calls %}}{{% set message = dict(message, tool_calls={name}.calls) %}}{{% endif %}}\n"
    )
}
