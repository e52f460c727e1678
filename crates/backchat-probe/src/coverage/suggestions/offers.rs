//! Conversations with other tools on offer: more or fewer of them, or another definition of the one that is called.

use super::texts::{constants, literals, quoted, sized};
use super::{LONGEST, Likeness, Suggested};
use crate::coverage::goals::{Goal, Sought};
use crate::probe::{Answer, schema};
use backchat_chat::Relation;
use backchat_core::json::{Object, Value};
use backchat_core::{distinct, push_new};

/// How many tools are offered at most.
const MOST_TOOLS: usize = 64;

/// Other tools on offer than the usual ones.
#[derive(Clone, Debug, PartialEq)]
pub enum OtherTools {
    /// One more, of this name.
    Also(String),
    /// These in their place.
    Instead(Vec<Value>),
}

impl OtherTools {
    /// The name of the one that is new.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Also(name) => Some(name),
            Self::Instead(_) => None,
        }
    }

    /// What is on offer, given the usual tools.
    pub fn among(&self, usual: &[Value]) -> Vec<Value> {
        match self {
            Self::Also(name) => usual.iter().cloned().chain(usual.first().map(|tool| renamed(tool, name))).collect(),
            Self::Instead(tools) => tools.clone(),
        }
    }

    /// Whether a call of this tool may follow.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Also(_) => true,
            Self::Instead(tools) => tools.iter().any(|tool| is_named(tool, name)),
        }
    }
}

/// The usual tools on offer.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    pub tools: Vec<Value>,
    /// What the chat template looks up in a definition, such as `function.strict`.
    pub read: Vec<String>,
}

impl Offers {
    /// The keys that a condition looks up: the innermost of each lookup.
    fn asked_by(&self, condition: &str) -> Vec<&str> {
        let names = looked_up(condition);
        let is_asked = |path: &&str| {
            let last = path.rsplit('.').next().unwrap_or_default();
            last != "name" && names.iter().any(|name| name == last)
        };
        let asked: Vec<&str> = self.read.iter().map(String::as_str).filter(is_asked).collect();
        let is_inner = |path: &&str| !asked.iter().any(|other| other.starts_with(&format!("{path}.")));
        asked.iter().copied().filter(is_inner).collect()
    }
}

/// Conversations that may reach a goal if its condition is about the tools on offer.
pub fn offers(goal: &Goal, condition: &str, answer: &Answer, usual: &Offers) -> Vec<Suggested> {
    let Sought::Outcome(relation) = goal.sought else { return Vec::new() };
    let mut found = Vec::new();
    let mut push = |tools: Vec<Value>, words: String| {
        let tools = Some(OtherTools::Instead(tools));
        push_new(&mut found, Suggested { tools, likeness: Likeness::Offered, ..Suggested::of(answer.clone(), words) });
    };
    let tools = &usual.tools;
    for count in counts(goal, tools.len()) {
        let words = if count == 1 { "1 tool on offer".to_owned() } else { format!("{count} tools on offer") };
        push(counted(tools, count, answer), words);
    }
    let called = answer.calls.first().and_then(|call| tools.iter().position(|tool| is_named(tool, &call.name)));
    for path in usual.asked_by(condition) {
        let Some(known) = tools.get(called.unwrap_or(0)).map(|tool| at(tool, path)) else { continue };
        for value in values(goal, condition, known, answer) {
            let words = match &value {
                None => format!("a tool without `{path}`"),
                Some(Value::String(text)) => format!("a tool whose `{path}` is {}", quoted(text)),
                Some(value) => format!("a tool whose `{path}` is {value}"),
            };
            let mut tools = tools.clone();
            let varied = tools.iter_mut().enumerate().filter(|(index, _)| *index == 0 || Some(*index) == called);
            varied.for_each(|(_, tool)| put(tool, path, value.clone()));
            push(tools, words);
        }
    }
    if relation == Relation::In && !goal.wanted && condition.contains("tools") {
        push(tools.iter().map(bare).collect(), "tools without parameters".to_owned());
    }
    found
}

/// How many tools are on offer in place of the usual number, if a condition compares that.
fn counts(goal: &Goal, usual: usize) -> Vec<usize> {
    let count = |value: &Value| usize::try_from(value.as_i64()?.max(0)).ok();
    let pairs = goal.operands.iter().flat_map(|(left, right)| [(left, right), (right, left)]);
    let limits = pairs.filter(|(seen, _)| count(seen) == Some(usual)).filter_map(|(_, limit)| count(limit));
    let around = limits.flat_map(|limit| [limit.saturating_add(1), limit, limit.saturating_sub(1)]);
    distinct(around.filter(|count| (1..=MOST_TOOLS).contains(count) && *count != usual))
}

/// That many tools, first those that an answer calls.
fn counted(tools: &[Value], count: usize, answer: &Answer) -> Vec<Value> {
    let is_called = |tool: &&Value| answer.calls.iter().any(|call| is_named(tool, &call.name));
    let (called, others): (Vec<&Value>, Vec<&Value>) = tools.iter().partition(is_called);
    let last = tools.last().into_iter();
    let spare = last.flat_map(|last| (1..=count).map(|at| renamed(last, &format!("spare_{at}"))));
    called.into_iter().chain(others).cloned().chain(spare).take(count).collect()
}

/// What a key of a definition may be for the goal; nothing if it is absent then.
fn values(goal: &Goal, condition: &str, known: Option<&Value>, answer: &Answer) -> Vec<Option<Value>> {
    let Sought::Outcome(relation) = goal.sought else { return Vec::new() };
    let mut found: Vec<Option<Value>> = Vec::new();
    let text = known.and_then(Value::as_str).unwrap_or_default();
    for (left, right) in &goal.operands {
        match relation {
            Relation::Equal if goal.wanted => {
                let others = [left, right].into_iter().filter(|value| !value.is_null() && Some(*value) != known);
                found.extend(others.cloned().map(Some));
            }
            Relation::In if goal.wanted => {
                found.extend(constants(right).into_iter().map(|item| Some(item.into())));
                found.extend(constants(left).iter().map(|part| Some(format!("{text} {part}").trim().into())));
            }
            Relation::StartsWith if goal.wanted => {
                found.extend(constants(right).iter().map(|part| Some(format!("{part}{text}").into())));
            }
            Relation::EndsWith if goal.wanted => {
                found.extend(constants(right).iter().map(|part| Some(format!("{text}{part}").into())));
            }
            Relation::Less | Relation::Greater => {
                let limits = [right, left].into_iter().filter_map(Value::as_u64);
                let limits = limits.filter_map(|limit| usize::try_from(limit).ok());
                let sizes = limits.flat_map(|limit| [limit.saturating_add(1), limit, limit.saturating_sub(1)]);
                found.extend(sizes.filter(|size| *size <= LONGEST).map(|size| Some(resized(known, size, answer))));
            }
            Relation::Truth | Relation::Test | Relation::Items | Relation::Key if goal.wanted => {
                // A filter may select by the last text that it takes.
                let selected = literals(condition).pop().filter(|_| condition.contains("select"));
                found.extend([Some(true.into()), selected.map(Value::from)].into_iter().filter(Option::is_some));
            }
            _ => found.push(None),
        }
    }
    found.retain(|value| value.as_ref() != known);
    distinct(found)
}

/// A value of that size in the place of one.
fn resized(known: Option<&Value>, size: usize, answer: &Answer) -> Value {
    match known {
        Some(Value::String(_)) => sized(size).into(),
        Some(Value::List(items)) => {
            let arguments = answer.calls.iter().flat_map(|call| call.arguments.keys()).map(Value::from);
            let more = (1..=size).map(|at| format!("part_{at}").into());
            distinct(items.iter().cloned().chain(arguments).chain(more))
                .into_iter()
                .take(size)
                .collect::<Vec<_>>()
                .into()
        }
        Some(Value::Object(entries)) => {
            let own = entries.iter().map(|(key, value)| (key.to_owned(), value.clone()));
            let more = (1..).map(|at| (format!("part_{at}"), schema::of_type("string")));
            Value::Object(own.chain(more).take(size).collect())
        }
        _ => size.into(),
    }
}

/// The names that an expression looks up in something, as `of.name`, `of['name']` or `of.get('name')`.
fn looked_up(expression: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = |rest: &str| {
        let rest = rest.strip_prefix("get(").unwrap_or(rest);
        let quoted = rest.strip_prefix('\'').or_else(|| rest.strip_prefix('"'));
        let end = |text: &str, is_part: &dyn Fn(char) -> bool| text.find(|c| !is_part(c)).unwrap_or(text.len());
        let name = match quoted {
            Some(text) => text.get(..end(text, &|c| !['\'', '"'].contains(&c))),
            None => rest.get(..end(rest, &is_word)),
        };
        name.filter(|name| !name.is_empty()).map(str::to_owned)
    };
    let dots = expression.match_indices(['.', '[']).filter_map(|(at, _)| name(expression.get(at + 1..)?));
    // A filter takes the path of what it selects by.
    let selected = expression
        .split("attr(")
        .skip(1)
        .filter_map(name)
        .flat_map(|path| path.split('.').map(str::to_owned).collect::<Vec<_>>());
    distinct(dots.chain(selected))
}

/// What is at a path in a definition.
fn at<'v>(tool: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(tool, |value, key| value.get(key))
}

/// Sets or removes a key of a definition.
fn put(tool: &mut Value, path: &str, value: Option<Value>) {
    let (outer, key) = path.rsplit_once('.').map_or((None, path), |(outer, key)| (Some(outer), key));
    let mut inner = Some(tool);
    for key in outer.into_iter().flat_map(|outer| outer.split('.')) {
        inner = inner.and_then(|inner| match inner {
            Value::Object(entries) => entries.get_mut(key),
            _ => None,
        });
    }
    match (inner, value) {
        (Some(Value::Object(entries)), Some(value)) => drop(entries.insert(key, value)),
        (Some(Value::Object(entries)), None) => drop(entries.shift_remove(key)),
        _ => {}
    }
}

/// The part of a definition that has the name.
fn function(tool: &mut Value) -> Option<&mut Object> {
    let Value::Object(outer) = tool else { return None };
    if !outer.contains_key("function") {
        return Some(outer);
    }
    match outer.get_mut("function") {
        Some(Value::Object(inner)) => Some(inner),
        _ => None,
    }
}

fn is_named(tool: &Value, name: &str) -> bool {
    tool.get("function").unwrap_or(tool).get("name").and_then(Value::as_str) == Some(name)
}

fn renamed(tool: &Value, name: &str) -> Value {
    let mut tool = tool.clone();
    function(&mut tool).into_iter().for_each(|function| drop(function.insert("name", name.into())));
    tool
}

fn bare(tool: &Value) -> Value {
    let mut tool = tool.clone();
    let none = || schema::object(Object::new(), &[]);
    function(&mut tool).into_iter().for_each(|function| drop(function.insert("parameters", none())));
    tool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Call;
    use backchat_core::json;

    fn tool(name: &str) -> Value {
        schema::tool(name, "A tool.", schema::object(Object::new(), &[]))
    }

    #[test]
    fn the_names_that_a_condition_looks_up_are_found() {
        for (condition, names) in [
            ("tool.function.strict", &["function", "strict"][..]),
            ("tool['x-async'] and tool.get('kind', 'old') == \"new\"", &["x-async", "kind"]),
            ("tools | selectattr('function.strict') | list", &["strict", "function"]),
            ("tools | length > 3", &[]),
        ] {
            assert_eq!(looked_up(condition), names, "{condition}");
        }
    }

    #[test]
    fn called_tools_stay_on_offer_as_long_as_there_is_room() {
        let called = Call { id: "c1".to_owned(), name: "b".to_owned(), arguments: Object::new() };
        let answer = Answer::calls(vec![called]);
        for (count, names) in [(1, &["b"][..]), (2, &["b", "a"]), (4, &["b", "a", "spare_1", "spare_2"])] {
            let tools = counted(&["a", "b"].map(tool), count, &answer);
            assert_eq!(tools, names.iter().map(|name| tool(name)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_key_of_a_definition_is_set_or_removed_where_it_stands() {
        for (path, value, expected) in [
            ("strict", Some(true.into()), r#"{"function": {"name": "a"}, "strict": true}"#),
            ("function.strict", Some(true.into()), r#"{"function": {"name": "a", "strict": true}}"#),
            ("function.name", None, r#"{"function": {}}"#),
            ("function.parameters.required", Some(true.into()), r#"{"function": {"name": "a"}}"#),
        ] {
            let mut tool = json::read(r#"{"function": {"name": "a"}}"#).unwrap();
            put(&mut tool, path, value);
            assert_eq!(tool, json::read(expected).unwrap(), "{path}");
        }
    }
}
