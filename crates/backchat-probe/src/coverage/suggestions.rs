//! Conversations that may reach a goal, made from the operands of its condition: the value itself, a text that contains
//! it, begins or ends with it, a text or a list just below and above a threshold, a setting, a tool of that name.

mod earlier;
mod forms;
mod lookups;
mod offers;
mod sizes;
mod texts;
mod variables;

use super::goals::{Goal, Sought};
use super::places::{Place, places};
use crate::probe::{Answer, Message, Setting};
use backchat_chat::{Relation, charge};
use backchat_core::json::Value;
use backchat_core::push_new;
use earlier::earlier_texts;
pub use forms::{Form, UsualHistories, forms, is_usual_role};
pub use lookups::argument_keys;
pub use offers::{Offers, OtherTools, offers};
use texts::{changed_by, constants, is_edge, is_from, is_name, literals, quoted, selected};

/// The longest text that is made to pass a threshold, in characters, and the most calls.
const LONGEST: usize = 2000;
const MOST_CALLS: usize = 24;

/// How many suggestions of one likeness are made for one goal.
const MOST: usize = 14;

/// What a suggestion costs, in steps of the evaluator: the answer is copied.
const SUGGESTING: usize = 40;

/// A conversation that may reach a goal: an answer after the history of a known one.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggested {
    pub answer: Answer,
    /// How many turns of a user, each with an answer, come before that history.
    pub rounds: usize,
    /// A history in the place of that one.
    pub history: Option<Vec<Message>>,
    /// Variables in addition to those of the known conversation.
    pub setting: Setting,
    /// Other tools on offer than those of the known conversations.
    pub tools: Option<OtherTools>,
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

    /// A known answer after other messages.
    pub fn after(answer: Answer, history: Vec<Message>, words: &str) -> Self {
        Self { history: Some(history), likeness: Likeness::Earlier, ..Self::of(answer, words.to_owned()) }
    }

    /// An answer of other parts than the known one.
    fn of(answer: Answer, words: String) -> Self {
        let (rounds, history, tools, place) = Default::default();
        Self { answer, rounds, history, setting: Setting::new(), tools, place, likeness: Likeness::Part, words }
    }
}

/// Why a suggestion may reach its goal, the best reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// An operand of the condition is a part of the answer.
    Part,
    /// The condition mentions the variable.
    Mentioned,
    /// An operand of the condition is a text before the answer.
    Earlier,
    /// Nothing is known about the operands.
    Guess,
    /// The condition may be about the tools on offer.
    Offered,
}

/// Collects suggestions, each once.
struct Made<'g> {
    goal: &'g Goal,
    /// The text of the condition in the chat template.
    condition: &'g str,
    answer: &'g Answer,
    /// The messages before it; none if they stay.
    history: &'g [Message],
    found: Vec<Suggested>,
}

/// The conversations that may reach a goal, from one that missed it: its answer, and the messages before it, none if they
/// stay. `condition` is the text of the condition in the chat template, `variables` are the switches of the template.
pub fn suggestions(
    goal: &Goal,
    condition: &str,
    (answer, history): (&Answer, &[Message]),
    variables: &[&str],
) -> Vec<Suggested> {
    let mut made = Made { goal, condition, answer, history, found: Vec::new() };
    match &goal.sought {
        Sought::Outcome(relation) => {
            for (left, right) in &goal.operands {
                made.by_operands(*relation, left, right);
            }
            made.by_selection();
            made.by_numbers(*relation);
            made.by_settings(variables);
        }
        Sought::Member(member) => {
            made.by_member(member);
            made.by_settings(variables);
        }
        Sought::Change(name, arguments) => made.by_change(name, arguments),
    }
    charge(SUGGESTING * (1 + made.found.len()));
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
        let tools = match place {
            Place::Name(_) if !is_name(text) => return,
            Place::Name(_) => Some(OtherTools::Also(text.to_owned())),
            _ => None,
        };
        self.push(Suggested { tools, ..Suggested::again(answer, place, text) });
    }

    /// The answer, and those of the history.
    fn answers(&self) -> impl Iterator<Item = &Answer> {
        let earlier = self.history.iter().filter_map(|message| match message {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        });
        std::iter::once(self.answer).chain(earlier)
    }

    /// Whether the condition reads a number from a text.
    fn reads_number(&self) -> bool {
        ["int", "float"].iter().any(|kind| self.condition.contains(kind))
    }

    /// Where a value of a condition comes from in the answer.
    fn sources(&self, value: &Value) -> Vec<(Place, String)> {
        let Some(value) = value.as_str() else { return Vec::new() };
        let is_first = |text: &str| self.goal.is_change() && value.chars().count() == 1 && text.starts_with(value);
        let is_compared = self.goal.sought == Sought::Outcome(Relation::Equal);
        let is_at_edge = |place: Place, text: &str| is_compared && place.is_free() && is_edge(text, value);
        let found = places(self.answer).into_iter();
        let found = found.filter(|(place, text)| is_from(text, value) || is_first(text) || is_at_edge(*place, text));
        found.map(|(place, text)| (place, text.to_owned())).collect()
    }

    fn by_operands(&mut self, relation: Relation, left: &Value, right: &Value) {
        let is_kind = relation == Relation::Test;
        for (place, text) in places(self.answer) {
            for made in self.instead(relation, (left, right), text).iter().filter(|_| place.is_free() || !is_kind) {
                self.text(place, made);
            }
        }
        for (place, text) in earlier_texts(self.history) {
            self.instead(relation, (left, right), text).iter().for_each(|made| self.before(place, made));
            if relation == Relation::Truth && left.as_str().is_some_and(|left| is_from(text, left)) {
                self.before(place, "");
            }
        }
        match relation {
            Relation::Equal if !self.goal.wanted => {
                self.others(left);
                if self.reads_number() && matches!(left, Value::Number(_)) {
                    self.text(Place::Content, "12");
                }
            }
            Relation::Equal => {
                self.by_keys(left, right);
                self.by_offer(left, right);
                self.by_role(left, right);
                self.by_argument(right);
            }
            Relation::In | Relation::Key => {
                self.by_key(left, right);
                self.by_offer(right, left);
            }
            Relation::Truth | Relation::Items | Relation::Test => {
                self.presence(left);
                self.by_lookup(left);
                self.by_items();
                for (test, value) in [(" is true", true), (" is false", false)] {
                    if self.condition.contains(test) {
                        self.by_argument(&value.into());
                    }
                }
            }
            // Numbers are compared all together.
            Relation::Less | Relation::Greater => {}
            Relation::StartsWith | Relation::EndsWith => {}
        }
    }

    /// A tool with this name, which is sought among the names of those on offer or of the calls.
    fn by_offer(&mut self, among: &Value, name: &Value) {
        let calls: Vec<&str> = self.answers().flat_map(|answer| &answer.calls).map(|call| call.name.as_str()).collect();
        let is_called = |name: &String| calls.contains(&name.as_str());
        let says = |word: &str| self.condition.contains(word);
        let known = constants(among);
        // The result of a filter is not known.
        let is_filtered = among.is_null() && says("tool") && says("name");
        let is_of_tools = says("name") || among.as_list().is_some() && says("tool");
        let is_offer = is_of_tools && known.iter().any(|known| is_name(known) && !is_called(known));
        for name in constants(name).into_iter().filter(|_| is_filtered || is_offer) {
            if is_filtered && !self.answer.calls.is_empty() {
                self.text(Place::Name(0), &name);
            }
            self.offer(name);
        }
    }

    fn offer(&mut self, name: String) {
        if is_name(&name) {
            let words = format!("a tool named {} on offer", quoted(&name));
            self.push(Suggested { tools: Some(OtherTools::Also(name)), ..Suggested::of(self.answer.clone(), words) });
        }
    }

    /// What a condition selects from a list: texts that content contains, or names of tools that are called or offered.
    fn by_selection(&mut self) {
        if !self.goal.wanted || !self.condition.contains("select") {
            return;
        }
        for literal in selected(self.condition) {
            for (place, text) in places(self.answer) {
                match place {
                    Place::Content => self.text(place, &format!("{text} {literal} {text}")),
                    Place::Name(0) => self.text(place, &literal),
                    _ => {}
                }
            }
            self.offer(literal);
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

    /// Another text than the one that every conversation had here. If it is compared without the white space around it, the
    /// text has some.
    fn others(&mut self, value: &Value) {
        let is_trimmed = ["trim", "strip"].iter().any(|name| self.condition.contains(name));
        for (place, text) in self.sources(value) {
            let other = if is_trimmed { format!("  {text}") } else { "Amber".to_owned() };
            self.text(place, &other);
        }
    }

    fn part(&mut self, answer: Answer, words: String) {
        self.push(Suggested::of(answer, words));
    }

    /// A part that is there, or is not.
    fn presence(&mut self, value: &Value) {
        let is_given = |part: &Option<String>| part.is_some();
        let calls = self.answer.calls.len();
        let is_count = self.goal.sought == Sought::Outcome(Relation::Items);
        if value.as_u64().is_some() && (self.goal.wanted || !is_count) {
            // A remainder or a length.
            if let Some(text) = self.answer.content.as_ref().filter(|_| !is_count) {
                let text = format!("{text}!");
                self.text(Place::Content, &text);
                if self.goal.sought == Sought::Outcome(Relation::Test) {
                    // The number of something, which is odd.
                    literals(self.condition)
                        .iter()
                        .for_each(|sign| self.text(Place::Content, &format!("{text}{sign}")));
                }
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
                // Whatever it says, it is a text.
                Place::Value(..) if self.goal.sought == Sought::Outcome(Relation::Test) => {}
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

    fn without(&mut self, answer: Answer, what: &str) {
        let words = format!("an answer without {what}");
        self.part(answer, words);
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
            if let (Some(pieces), Some(limit)) = (value.as_list(), limit.filter(|_| name == "[]")) {
                self.pieces(pieces, limit);
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

/// Whether a test asks what kind of value there is, or whether there is one.
pub fn is_about_kind(condition: &str) -> bool {
    const KINDS: [&str; 12] = [
        "defined",
        "undefined",
        "none",
        "string",
        "mapping",
        "iterable",
        "sequence",
        "number",
        "integer",
        "float",
        "boolean",
        "callable",
    ];
    let test = condition.rsplit_once(" is ").map(|(_, test)| test.trim_start_matches("not ").trim());
    test.is_some_and(|test| KINDS.contains(&test))
}

/// Whether an expression mentions a variable.
pub fn mentions(expression: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    expression.match_indices(name).any(|(at, _)| {
        let before = expression.get(..at).and_then(|text| text.chars().next_back());
        let after = expression.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
    })
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
            ("via".to_owned(), Value::List(vec!["Lier".into()])),
        ]);
        let call = Call { id: "a1B2c3D4e".to_owned(), name: "get_route".to_owned(), arguments };
        Answer::calls(vec![call]).with_content("Yes, 43 km.").with_reasoning("That is easy.")
    }

    /// What comes before it: words of a system message and of a user, and a result.
    fn history() -> Vec<Message> {
        let arguments = Object::from_iter([("city".to_owned(), "Rome".into()), ("km".to_owned(), 1.5.into())]);
        let call = Call { id: "x1".to_owned(), name: "get_time".to_owned(), arguments };
        vec![
            Message::System("Be brief.".to_owned()),
            Message::User("When?".to_owned()),
            Message::Assistant(Answer::calls(vec![call]).with_content("I look.").with_reasoning("I do not know.")),
            Message::Tool { id: "x1".to_owned(), name: "get_time".to_owned(), content: "Noon.".to_owned() },
        ]
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
        let history = history();
        let watch = |suggested: &Suggested, coverage: &mut Coverage| {
            let round = [Message::User("Hi.".to_owned()), Message::Assistant(suggested.answer.clone())];
            let before = suggested.history.as_ref().unwrap_or(&history);
            let messages = [&vec![round.clone(); suggested.rounds].concat(), before, &round[1..]].concat();
            coverage.add(prober.ran(&messages, &suggested.setting, false).unwrap_or_default(), &suggested.answer);
        };
        let mut coverage = Coverage::default();
        watch(&Suggested::of(answer(), String::new()), &mut coverage);
        let at = source.find(condition).unwrap();
        let is_here = |goal: &Goal| goal.span.start >= at && goal.span.end <= at + condition.len();
        let made = coverage.goals().into_iter().filter(is_here).flat_map(|goal| {
            let made = suggestions(&goal, &source[goal.span.clone()], (&answer(), &history), &["effort", "style"]);
            made.into_iter().map(move |suggested| (goal.clone(), suggested))
        });
        let mut made: Vec<(Goal, Suggested)> = made.collect();
        made.sort_by_key(|(_, suggested)| suggested.likeness);
        for (goal, suggested) in made {
            watch(&suggested, &mut coverage);
            if coverage.has(&goal) {
                return Some(suggested.words);
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
            (
                "{% if m.content.count('(') > 2 %}{% endif %}",
                "the answer \"Yes, 43 km.(Yes, 43 km.(Yes, 43 km.(Yes,…\"",
            ),
            (
                "{% if m.content.split(' ')[0] | length > 6 %}{% endif %}",
                "the answer \"look_it_ Word by word it goes on, Word b…\"",
            ),
            ("{% if m.content[0] == 'P' %}{% endif %}", "the answer \"Pes, 43 km.\""),
            ("{% if c.id | length > 12 %}{% endif %}", "the id \"look_it_up_fo\""),
            ("{% if m.content.count('~') == 2 %}{% endif %}", "the answer \"Yes, 43 km.~Yes, 43 km.~Yes, 43 km.\""),
            ("{% if m.content | int > 0 %}{% endif %}", "the answer \"1\""),
            ("{% if m.content.find('http') >= 0 %}{% endif %}", "the answer \"Yes, 43 km.httpYes, 43 km.\""),
            ("{% if m.content is upper %}{% endif %}", "the answer \"YES, 43 KM.\""),
            (
                "{% if ['loud'] | select('in', m.content) | list %}{% endif %}",
                "the answer \"Yes, 43 km. loud Yes, 43 km.\"",
            ),
            ("{% if 'python' in m.tool_calls | map(attribute='function.name') %}{% endif %}", "a call of \"python\""),
            ("{% if c.function.arguments.exact is true %}{% endif %}", "the argument \"exact\" set to true"),
            ("{% if c.function.arguments.floor == 3 %}{% endif %}", "the argument \"floor\" set to 3"),
            ("{% if m.content[0] in '0123456789' %}{% endif %}", "the answer \"0es, 43 km.\""),
            ("{% if m.content[-1] in ['?', '!'] %}{% endif %}", "the answer \"Yes, 43 km?\""),
            ("{% if c.function.name | length < 6 %}{% endif %}", "a call of \"look_\""),
            ("{% if c.function.name == 'python' %}{% endif %}", "a call of \"python\""),
            ("{% if c.function.name in ['run_sql', 'python'] %}{% endif %}", "a call of \"run_sql\""),
            ("{% if c.function.arguments.code is defined %}{% endif %}", "the argument named \"code\""),
            ("{% if 'code' in c.function.arguments %}{% endif %}", "the argument named \"code\""),
            ("{% if c.function.arguments.keys() | list == ['code'] %}{% endif %}", "just the arguments code"),
            ("{% if 'loud' in messages[0].content %}{% endif %}", "the system message \"Be brief. loud Be brief.\""),
            ("{% if messages[1].content == 'Now' %}{% endif %}", "the user's message \"Now\""),
            ("{% if messages[3].content.startswith('Error') %}{% endif %}", "the result \"ErrorNoon.\""),
            ("{% if messages[3].name in ['python'] %}{% endif %}", "a result of the tool \"python\""),
            ("{% if m.tool_calls | length > 3 %}{% endif %}", "4 calls"),
            ("{% if c.function.arguments | length > 4 %}{% endif %}", "5 arguments"),
            ("{% if m.content[0].isdigit() %}{% endif %}", "the answer \"12\""),
            ("{% if messages | length > 8 %}{% endif %}", "4 earlier messages"),
            ("{{ c.function.arguments.km | round(1) }}", "the argument 12.34567"),
            ("{% if c.function.arguments.via | first is mapping %}{% endif %}", "a list of objects"),
            ("{% if c.function.arguments.city == 'Brno' %}{% endif %}", "the argument \"Brno\""),
            ("{% if effort == 'high' %}{% endif %}", "`effort` set to \"high\""),
            ("{% if effort in ['low', 'high'] %}{% endif %}", "`effort` set to \"low\""),
            ("{% set e = effort | default(1) %}{% if e > 5 %}{% endif %}", "`effort` set to 6"),
            ("{% if (style | default('1.0')).split('.')[0] | int >= 2 %}{% endif %}", "`style` set to \"2\""),
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
