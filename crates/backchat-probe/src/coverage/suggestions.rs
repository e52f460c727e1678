//! Conversations that may reach a goal, made from the operands of its condition: the value itself, a text that contains
//! it, begins or ends with it, a text or a list just below and above a threshold, a setting, a tool of that name.

mod sizes;

use super::goals::{Goal, Sought};
use super::places::{Place, places};
use crate::probe::{Answer, Setting};
use backchat_chat::Relation;
use backchat_core::json::Value;
use backchat_core::push_new;

/// The longest text that is made to pass a threshold, in characters, and the most calls.
const LONGEST: usize = 2000;
const MOST_CALLS: usize = 24;

/// How many suggestions of one likeness are made for one goal.
const MOST: usize = 14;

/// A conversation that may reach a goal: an answer after the history of a known one.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggested {
    pub answer: Answer,
    /// How many turns of a user, each with an answer, come before that history.
    pub rounds: usize,
    /// Variables in addition to those of the known conversation.
    pub setting: Setting,
    /// A tool that no known conversation offers.
    pub tool: Option<String>,
    /// The text that differs from the known answer, if it is one text.
    pub place: Option<Place>,
    /// How far it is a guess.
    pub likeness: Likeness,
    /// What distinguishes it, in words that follow "with".
    pub words: String,
}

impl Suggested {
    /// The text of a known answer, among other parts.
    pub fn again(answer: Answer, place: Place, text: &str) -> Self {
        let words = format!("{} {}", place.words(), quoted(text));
        Self { place: Some(place), ..Self::of(answer, words) }
    }

    /// An answer of other parts than the known one.
    fn of(answer: Answer, words: String) -> Self {
        let (rounds, tool, place) = Default::default();
        Self { answer, rounds, setting: Setting::new(), tool, place, likeness: Likeness::Part, words }
    }
}

/// Why a suggestion may reach its goal, the best reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// An operand of the condition is a part of the answer.
    Part,
    /// The condition mentions the variable.
    Mentioned,
    /// Nothing is known about the operands.
    Guess,
}

/// Whether a value in a condition is this text of the answer: equal to it except for white space and case, or the end
/// or the beginning of it.
fn is_from(text: &str, value: &str) -> bool {
    let (text, value) = (text.trim(), value.trim());
    if value.is_empty() || text.is_empty() {
        return false;
    }
    let (lower, wanted) = (text.to_lowercase(), value.to_lowercase());
    lower == wanted || (value.chars().count() > 3 && (lower.starts_with(&wanted) || lower.ends_with(&wanted)))
}

/// Collects suggestions, each once.
struct Made<'g> {
    goal: &'g Goal,
    /// The text of the condition in the chat template.
    condition: &'g str,
    answer: &'g Answer,
    /// How many messages the known conversation has.
    messages: usize,
    found: Vec<Suggested>,
}

/// The conversations that may reach a goal, from one that missed it: its answer, and the number of its messages, 0 if its
/// history stays. `condition` is the text of the condition in the chat template, `variables` are the switches of the
/// template.
pub fn suggestions(
    goal: &Goal,
    condition: &str,
    (answer, messages): (&Answer, usize),
    variables: &[&str],
) -> Vec<Suggested> {
    let mut made = Made { goal, condition, answer, messages, found: Vec::new() };
    match &goal.sought {
        Sought::Outcome(relation) => {
            for (left, right) in &goal.operands {
                made.by_operands(*relation, left, right);
            }
            made.by_numbers(*relation);
            made.by_settings(variables);
        }
        Sought::Member(member) => {
            made.by_member(member);
            made.by_settings(variables);
        }
        Sought::Change(name, arguments) => made.by_change(name, arguments),
    }
    made.found
}

impl Made<'_> {
    fn push(&mut self, suggested: Suggested) {
        let alike = self.found.iter().filter(|known| known.likeness == suggested.likeness);
        if alike.count() < MOST {
            push_new(&mut self.found, suggested);
        }
    }

    fn text(&mut self, place: Place, text: &str) {
        let answer = place.replaced(self.answer, text);
        let tool = match place {
            Place::Name(_) if !is_name(text) => return,
            Place::Name(_) => Some(text.to_owned()),
            _ => None,
        };
        self.push(Suggested { tool, ..Suggested::again(answer, place, text) });
    }

    /// Where a value of a condition comes from in the answer.
    fn sources(&self, value: &Value) -> Vec<(Place, String)> {
        let Some(value) = value.as_str() else { return Vec::new() };
        let is_first = |text: &str| self.goal.is_change() && value.chars().count() == 1 && text.starts_with(value);
        let found = places(self.answer).into_iter().filter(|(_, text)| is_from(text, value) || is_first(text));
        found.map(|(place, text)| (place, text.to_owned())).collect()
    }

    fn by_operands(&mut self, relation: Relation, left: &Value, right: &Value) {
        let constants = |value: &Value| -> Vec<String> {
            let items = value.as_list().map_or(std::slice::from_ref(value), |items| items);
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        match relation {
            Relation::Equal if self.goal.wanted => {
                for (from, to) in [(left, right), (right, left)] {
                    for (place, _) in self.sources(from) {
                        constants(to).iter().for_each(|text| self.text(place, text));
                    }
                }
            }
            Relation::Equal => self.others(left),
            Relation::In | Relation::Key => {
                for (place, _) in self.sources(left) {
                    constants(right).iter().for_each(|text| self.text(place, text));
                }
                // A constant that is sought in a text of the answer.
                for (place, text) in self.sources(right) {
                    constants(left).iter().for_each(|constant| self.containing(place, &text, constant));
                }
            }
            Relation::StartsWith | Relation::EndsWith => {
                for (place, text) in self.sources(left) {
                    for constant in constants(right) {
                        let made = match relation {
                            Relation::StartsWith => format!("{constant}{text}"),
                            _ => format!("{text}{constant}"),
                        };
                        self.text(place, &made);
                        self.text(place, &constant);
                    }
                }
            }
            // Numbers are compared all together.
            Relation::Less | Relation::Greater => {}
            Relation::Truth | Relation::Items => self.presence(left),
            Relation::Test => {
                self.presence(left);
                self.kinds(left);
            }
        }
    }

    /// The value that is looked up is this one.
    fn by_member(&mut self, member: &Value) {
        let Some(text) = member.as_str() else { return };
        for (left, _) in self.goal.operands.clone() {
            for (place, _) in self.sources(&left) {
                self.text(place, text);
            }
        }
    }

    /// Another text than the one that every conversation had here.
    fn others(&mut self, value: &Value) {
        for (place, _) in self.sources(value) {
            self.text(place, "Amber");
        }
    }

    fn containing(&mut self, place: Place, text: &str, constant: &str) {
        for made in [format!("{text} {constant} {text}"), format!("{text}{constant}"), format!("{constant}{text}")] {
            self.text(place, &made);
        }
    }

    fn part(&mut self, answer: Answer, words: String) {
        self.push(Suggested::of(answer, words));
    }

    /// A part that is there, or is not.
    fn presence(&mut self, value: &Value) {
        let is_given = |part: &Option<String>| part.is_some();
        let calls = self.answer.calls.len();
        if value.as_u64().is_some() {
            // A remainder or a length.
            if let Some(text) = &self.answer.content {
                let text = format!("{text}!");
                self.text(Place::Content, &text);
            }
            if (1..MOST_CALLS).contains(&calls) {
                self.calls(calls + 1);
            }
        }
        for (place, text) in self.sources(value) {
            match place {
                Place::Content if self.answer.reasoning.is_some() || calls > 0 => {
                    let answer = Answer { content: None, ..self.answer.clone() };
                    self.without(answer, "content");
                }
                Place::Reasoning => {
                    let answer = Answer { reasoning: None, ..self.answer.clone() };
                    self.without(answer, "reasoning");
                }
                Place::Value(..) => self.text(place, ""),
                Place::Content | Place::Name(_) | Place::Id(_) | Place::Key(..) => drop(text),
            }
        }
        if is_given(&self.answer.content) && value.is_null() && calls == 0 {
            let content = self.answer.content.clone().unwrap_or_default();
            for text in [content.to_uppercase(), "12".to_owned()] {
                self.text(Place::Content, &text);
            }
        }
    }

    /// Texts of other characters in place of one that a method such as `isdigit` does not take, or of one that begins or
    /// ends with it.
    fn kinds(&mut self, value: &Value) {
        let is_about = |tested: &&str| !tested.is_empty() && self.condition.contains(".is");
        let Some(tested) = value.as_str().filter(is_about) else { return };
        let is_part = |text: &str| is_from(text, tested) || text.starts_with(tested) || text.ends_with(tested);
        let found: Vec<(Place, String)> =
            places(self.answer).into_iter().map(|(place, text)| (place, text.to_owned())).collect();
        for (place, text) in found {
            if matches!(place, Place::Content | Place::Reasoning | Place::Value(..)) && is_part(&text) {
                for made in ["12".to_owned(), text.to_uppercase(), text.to_lowercase(), "Word".to_owned()] {
                    self.text(place, &made);
                }
            }
        }
    }

    fn without(&mut self, answer: Answer, what: &str) {
        let words = format!("an answer without {what}");
        self.part(answer, words);
    }

    /// Settings of the variables that the condition mentions or, if its operands are not from the answer, of all.
    fn by_settings(&mut self, variables: &[&str]) {
        let mentioned: Vec<&str> = variables.iter().copied().filter(|name| mentions(self.condition, name)).collect();
        // A number of the answer may be like that of a variable by chance.
        let is_number = matches!(self.goal.sought, Sought::Outcome(Relation::Less | Relation::Greater));
        let is_free = mentioned.is_empty() && (self.found.is_empty() || is_number);
        let likeness = if is_free { Likeness::Guess } else { Likeness::Mentioned };
        let names = if is_free { variables } else { mentioned.as_slice() };
        let mut values: Vec<Value> = Vec::new();
        if let Sought::Member(member) = &self.goal.sought {
            values.push(member.clone());
            return self.settings(names, &values, likeness);
        }
        let mut add = |more: Vec<Value>| {
            for value in more {
                push_new(&mut values, value);
            }
        };
        for (left, right) in &self.goal.operands {
            for operand in [left, right] {
                match operand {
                    Value::List(items) => add(items.clone()),
                    Value::Number(number) => {
                        if let Ok(limit) = number.as_str().parse::<i64>() {
                            let around = [limit, limit.saturating_add(1), limit.saturating_sub(1)];
                            add(around.map(Value::from).into());
                        }
                    }
                    Value::String(text) if !text.is_empty() => add(vec![text.as_str().into()]),
                    _ => {}
                }
            }
        }
        if !is_free {
            let called = self.answer.calls.iter().map(|call| Value::from(call.name.as_str())).collect::<Vec<_>>();
            let named = (!called.is_empty()).then(|| Value::List(called));
            let usual = [Value::Bool(true), Value::Bool(false)].into_iter().chain(named).chain(["on".into()]);
            add(usual.collect());
        }
        values.retain(|value| !matches!(value, Value::Null | Value::Object(_)));
        self.settings(names, &values, likeness);
    }

    fn settings(&mut self, names: &[&str], values: &[Value], likeness: Likeness) {
        for name in names {
            for value in values {
                let setting = Setting::from([((*name).to_owned(), value.clone())]);
                let words = format!("`{name}` set to {value}");
                self.push(Suggested { setting, likeness, ..Suggested::of(self.answer.clone(), words) });
            }
        }
    }

    /// Texts that a filter, method or slice changes.
    fn by_change(&mut self, name: &str, arguments: &[Value]) {
        let argument = arguments.first().and_then(Value::as_str).map(str::to_owned);
        let limit = arguments.iter().filter_map(Value::as_u64).filter_map(|number| usize::try_from(number).ok()).max();
        let operands = self.goal.operands.clone();
        for (value, _) in &operands {
            if matches!(value, Value::Number(_)) {
                self.numbers(value);
            }
            for (place, text) in self.sources(value) {
                for made in changed_by(name, argument.as_deref(), limit, &text) {
                    let is_edge_space =
                        matches!(place, Place::Content | Place::Reasoning) && made.trim() == text.trim();
                    // No format carries the white space around an answer.
                    if !is_edge_space {
                        self.text(place, &made);
                    }
                }
            }
        }
    }
}

/// Texts, made from one that a filter leaves as it is, that it may change.
fn changed_by(name: &str, argument: Option<&str>, limit: Option<usize>, text: &str) -> Vec<String> {
    let around = |sign: &str| vec![format!("{text}{sign}{text}"), format!("{sign}{text}"), format!("{text}{sign}")];
    match (name, argument) {
        ("trim" | "strip", None) => vec![format!("  {text}\n")],
        ("lstrip", None) => vec![format!("  {text}")],
        ("rstrip", None) => vec![format!("{text}\n")],
        ("lower" | "upper" | "capitalize" | "title" | "swapcase" | "casefold", _) => {
            let mut words = text.chars();
            let first: String = words.next().into_iter().flat_map(char::to_uppercase).collect();
            let lower: String = text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect();
            vec![format!("{first}{}", words.as_str()), lower, text.to_uppercase(), text.to_lowercase()]
        }
        ("[]" | "truncate" | "wordwrap", _) => {
            limit.filter(|limit| *limit <= LONGEST).map(|limit| sized(limit + 30)).into_iter().collect()
        }
        (_, Some(sign)) if !sign.is_empty() => around(sign),
        ("escape" | "e" | "forceescape" | "urlencode" | "striptags", _) => around(" <b> & 'c' "),
        ("split" | "splitlines", None) => around("\n"),
        ("title()" | "indent", _) => around("\n"),
        _ => Vec::new(),
    }
}

/// A text of words with this many characters.
fn sized(length: usize) -> String {
    let text: String = "Word by word it goes on, ".chars().cycle().take(length).collect();
    // White space at the end would not be part of the text.
    if text.ends_with(' ') { format!("{}.", text.trim_end()) } else { text }
}

/// Whether an expression mentions a variable.
fn mentions(expression: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    expression.match_indices(name).any(|(at, _)| {
        let before = expression.get(..at).and_then(|text| text.chars().next_back());
        let after = expression.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
    })
}

/// Whether a tool may have this name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
}

fn quoted(text: &str) -> String {
    format!("{:?}", backchat_core::diagnostic::shortened(text, 40))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Coverage;
    use crate::probe::{Call, Message, Prober};
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;

    /// An answer with every part, as the conversation that misses the goals.
    fn answer() -> Answer {
        let arguments = Object::from_iter([
            ("city".to_owned(), "Ghent".into()),
            ("days".to_owned(), 2.into()),
            ("km".to_owned(), 0.5.into()),
        ]);
        let call = Call { id: "a1B2c3D4e".to_owned(), name: "get_route".to_owned(), arguments };
        Answer::calls(vec![call]).with_content("Yes, 43 km.").with_reasoning("That is easy.")
    }

    /// The words of the first suggestion that reaches the only goal of a condition.
    fn reached(condition: &str) -> Option<String> {
        let source = format!(
            "{{% for m in messages %}}{{{{ m.role }}}}{{% if m.role == 'assistant' %}}{{% for c in m.tool_calls %}}{condition}\
             {{% endfor %}}{{% endif %}}{{% endfor %}}"
        );
        let template = ChatTemplate::compile(&source).unwrap();
        let none = Object::new();
        let prober = Prober::new(&template, &none, None)
            .with_reasoning(Some(&crate::probe::ReasoningInput::Key("thinking".to_owned())));
        let watch = |suggested: &Suggested, coverage: &mut Coverage| {
            let round = [Message::User("Hi.".to_owned()), Message::Assistant(suggested.answer.clone())];
            coverage.add(
                prober.ran(&vec![round; 1 + suggested.rounds].concat(), &suggested.setting, false).unwrap(),
                &suggested.answer,
            );
        };
        let mut coverage = Coverage::default();
        watch(&Suggested::of(answer(), String::new()), &mut coverage);
        let at = source.find(condition).unwrap();
        let goals =
            coverage.goals().into_iter().filter(|goal| goal.span.start >= at && goal.span.end <= at + condition.len());
        for goal in goals {
            let variables = ["effort", "style"];
            for suggested in suggestions(&goal, &source[goal.span.clone()], (&answer(), 2), &variables) {
                watch(&suggested, &mut coverage);
                if coverage.has(&goal) {
                    return Some(suggested.words);
                }
            }
        }
        None
    }

    #[test]
    fn operands_of_a_condition_suggest_conversations_that_reach_it() {
        for (condition, words) in [
            ("{% if m.content.endswith('?') %}{% endif %}", "the answer \"Yes, 43 km.?\""),
            ("{% if m.content.startswith('Sorry') %}{% endif %}", "the answer \"SorryYes, 43 km.\""),
            ("{% if '```' in m.content %}{% endif %}", "the answer \"Yes, 43 km. ``` Yes, 43 km.\""),
            ("{% if m.content | trim | length > 20 %}{% endif %}", "the answer \"Word by word it goes.\""),
            ("{% if m.thinking | length < 5 %}{% endif %}", "the reasoning \"Word\""),
            ("{% if c.function.name == 'python' %}{% endif %}", "a call of \"python\""),
            ("{% if c.function.name in ['run_sql', 'python'] %}{% endif %}", "a call of \"run_sql\""),
            ("{% if m.tool_calls | length > 3 %}{% endif %}", "4 calls"),
            ("{% if c.function.arguments | length > 4 %}{% endif %}", "5 arguments"),
            ("{% if m.content[0].isdigit() %}{% endif %}", "the answer \"12\""),
            ("{% if messages | length > 6 %}{% endif %}", "6 earlier messages"),
            ("{{ c.function.arguments.km | round(1) }}", "the argument 12.34567"),
            ("{% if c.function.arguments.city == 'Brno' %}{% endif %}", "the argument \"Brno\""),
            ("{% if effort == 'high' %}{% endif %}", "`effort` set to \"high\""),
            ("{% if effort in ['low', 'high'] %}{% endif %}", "`effort` set to \"low\""),
            ("{% set e = effort | default(1) %}{% if e > 5 %}{% endif %}", "`effort` set to 6"),
            ("{{ {'a': 1, 'b': 2}[style | default('a')] }}", "`style` set to \"b\""),
            ("{{ c.id | replace('call_', '') }}", "the id \"a1B2c3D4ecall_a1B2c3D4e\""),
            ("{{ m.thinking.split('\\n')[-1] }}", "the reasoning \"That is easy.\\nThat is easy.\""),
            ("{{ m.content[:30] }}", "the answer \"Word by word it goes on, Word by word it…\""),
        ] {
            assert_eq!(reached(condition).as_deref(), Some(words), "{condition}");
        }
    }

    #[test]
    fn white_space_around_an_answer_is_not_suggested_and_around_an_argument_is() {
        assert_eq!(reached("{{ m.content | trim }}"), None);
        assert!(reached("{{ c.function.arguments.city | trim }}").unwrap().starts_with("the argument"));
    }

    #[test]
    fn a_variable_is_mentioned_only_by_its_whole_name() {
        for (expression, is_mentioned) in
            [("effort == 1", true), ("x.effort", false), ("effort_max", false), ("not effort", true)]
        {
            assert_eq!(mentions(expression, "effort"), is_mentioned, "{expression}");
        }
    }
}
