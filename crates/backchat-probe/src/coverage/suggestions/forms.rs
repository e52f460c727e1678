//! Messages before an answer in another form than the usual ones: in a role that a condition asks for, with content in parts,
//! with a key that no other message has, or more of one role.

use super::lookups::looked_up_keys;
use super::quoted;
use super::texts::{constants, selected};
use crate::coverage::goals::{Goal, Sought};
use crate::probe::{Answer, Changes, Message, text_part};
use backchat_chat::Relation;
use backchat_core::json::Value;
use backchat_core::push_new;

/// The roles of the usual messages.
const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// Whether it is the role of a usual message.
pub fn is_usual_role(role: &str) -> bool {
    ROLES.contains(&role)
}

/// A role besides these that clients send.
const OTHER_ROLE: &str = "developer";

/// How many messages of one role are made at most.
const MOST_MESSAGES: usize = 8;

/// Messages before an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    pub history: Vec<Message>,
    /// What distinguishes them, in words that follow "with".
    pub words: String,
    /// Whether the content of its messages is in parts.
    pub is_in_parts: bool,
}

/// The usual messages before an answer.
pub struct UsualHistories<'m> {
    /// A user's question.
    pub question: &'m [Message],
    /// A question, a call and its result.
    pub result: &'m [Message],
    /// The keys that the chat template looks up in messages.
    pub read: &'m [String],
}

/// Messages that may reach a goal if its condition is about the messages before an answer.
pub fn forms(goal: &Goal, condition: &str, usual: &UsualHistories<'_>) -> Vec<Form> {
    let mut made = Made { goal, condition, usual, found: Vec::new() };
    made.by_roles();
    made.by_keys();
    made.by_parts();
    made.found
}

/// Collects forms, each once.
struct Made<'g> {
    goal: &'g Goal,
    condition: &'g str,
    usual: &'g UsualHistories<'g>,
    found: Vec<Form>,
}

impl Made<'_> {
    fn push(&mut self, history: Vec<Message>, words: String) {
        if !history.is_empty() {
            let is_in_parts = history.iter().any(is_in_parts);
            push_new(&mut self.found, Form { history, words, is_in_parts });
        }
    }

    /// The usual messages, those of the user and the results changed.
    fn changed(&mut self, change: impl Fn(Message) -> Message, words: &str) {
        let is_changed = |message: &Message| message.is_result() || matches!(message, Message::User(_));
        for history in [self.usual.question, self.usual.result] {
            let messages = history.iter().cloned();
            let messages = messages.map(|message| if is_changed(&message) { change(message) } else { message });
            self.push(messages.collect(), words.to_owned());
        }
    }

    /// What a condition compares with known texts.
    fn compared(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        for (left, right) in &self.goal.operands {
            for (value, other) in [(left, right), (right, left)] {
                if constants(value).iter().any(|value| is_known(value)) {
                    found.extend(constants(other));
                }
            }
        }
        found
    }

    fn by_roles(&mut self) {
        let is_role = is_usual_role;
        let mut roles = match &self.goal.sought {
            Sought::Outcome(Relation::Equal | Relation::In) => self.compared(is_role),
            Sought::Member(member) if !self.compared(is_role).is_empty() => constants(member),
            _ => Vec::new(),
        };
        if !roles.is_empty() && !self.goal.wanted {
            roles.push(OTHER_ROLE.to_owned());
        }
        if self.condition.contains("select") && self.condition.contains("role") {
            roles.extend(selected(self.condition));
        }
        for role in roles {
            self.in_role(&role);
        }
    }

    fn in_role(&mut self, role: &str) {
        let UsualHistories { question, result, .. } = *self.usual;
        let said = |text: &str| Message::Assistant(Answer::content(text));
        match role {
            "system" => {
                let system = |text: &str| Message::System(text.to_owned());
                let first = [system("Answer in one line."), system("Be kind.")];
                self.push([&first, question].concat(), "two system messages".to_owned());
                let turn = [Message::User("Hello?".to_owned()), said("Good day."), system("Answer in one line.")];
                self.push([&turn, question].concat(), "a system message after an answer".to_owned());
            }
            "assistant" => {
                self.push([&[said("Good day.")], question].concat(), "an answer as the first message".to_owned());
            }
            "tool" => {
                let limits = self.goal.operands.iter().filter_map(|(_, limit)| usize::try_from(limit.as_u64()?).ok());
                for count in limits.map(|limit| limit + 1).filter(|count| *count <= MOST_MESSAGES).collect::<Vec<_>>() {
                    let rounds = result.get(1..).unwrap_or_default();
                    let history = [result, &vec![rounds; count - 1].concat()].concat();
                    self.push(history, format!("{count} results"));
                }
            }
            "user" => {}
            role => {
                let first = Message::System("Answer in one line.".to_owned()).with("role", role.into());
                self.push([&[first], question].concat(), format!("a message of the role {}", quoted(role)));
                if role == OTHER_ROLE {
                    return;
                }
                let results = result.iter().cloned();
                let results = results.map(|message| match message.is_result() {
                    true => message.with("role", role.into()),
                    false => message,
                });
                self.push(results.collect(), format!("a result of the role {}", quoted(role)));
            }
        }
    }

    /// A key of a message that a condition looks up in vain.
    fn by_keys(&mut self) {
        let mut vain = self.goal.operands.iter().filter(|(left, _)| self.goal.wanted && left.is_null());
        let Some((_, wanted)) = vain.next() else { return };
        let usual = if self.condition.contains(" is true") { true.into() } else { "Ada".into() };
        let value = if wanted.is_null() { usual } else { wanted.clone() };
        for key in looked_up_keys(self.condition).into_iter().filter(|key| self.usual.read.contains(key)) {
            let words = format!("the key {} of a message", quoted(&key));
            self.changed(|message| message.with(&key, value.clone()), &words);
        }
    }

    /// Content in parts, one of a type that a condition asks for, or as an object.
    fn by_parts(&mut self) {
        let histories = [self.usual.question, self.usual.result];
        let is_said =
            |text: &str| histories.iter().filter_map(|history| history.last()?.said()).any(|said| said == text);
        let is_test = matches!(self.goal.sought, Sought::Outcome(Relation::Test));
        if is_test && self.goal.operands.iter().any(|(left, _)| left.as_str().is_some_and(is_said)) {
            let parts = |text: &str| Value::List(vec![text_part(text)]);
            self.changed(|message| with_content(message, parts), "content in parts");
            if self.condition.contains("mapping") {
                let object = |text: &str| Value::from([("result", text.into())]);
                self.changed(|message| with_content(message, object), "content that is an object");
            }
        }
        for kind in self.compared(|value| value == "text").into_iter().filter(|_| self.goal.wanted) {
            let part = Value::from([("type", kind.as_str().into()), (kind.as_str(), "photo.png".into())]);
            let parts = |text: &str| Value::List(vec![part.clone(), text_part(text)]);
            let words = format!("a part of the type {} in a message", quoted(&kind));
            self.changed(|message| with_content(message, parts), &words);
        }
    }
}

/// Whether a message has content in parts.
fn is_in_parts(message: &Message) -> bool {
    match message {
        Message::Changed(_, Changes(changes)) => changes.get("content").and_then(Value::as_list).is_some(),
        _ => false,
    }
}

/// A message whose content says the same in another form.
fn with_content(message: Message, form: impl Fn(&str) -> Value) -> Message {
    let content = message.said().map(form);
    match content {
        Some(content) => message.with("content", content),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::Coverage;
    use crate::probe::{Call, Prober, Setting};
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;

    /// The words of the first form that reaches a goal of a condition about `m`, one of the messages.
    fn reached(condition: &str) -> Option<String> {
        let source = format!(
            "{{% for m in messages %}}{{{{ m.name }}}}{{{{ m.images }}}}{{% if {condition} %}}x{{% endif %}}{{% endfor %}}"
        );
        let template = ChatTemplate::compile(&source).unwrap();
        let none = Object::new();
        let prober = Prober::new(&template, &none, None);
        let question = [Message::User("When?".to_owned())];
        let call = Call { id: "x1".to_owned(), name: "get_time".to_owned(), arguments: Object::new() };
        let told = Message::Tool { id: "x1".to_owned(), name: "get_time".to_owned(), content: "Noon.".to_owned() };
        let result = [question[0].clone(), Message::Assistant(Answer::calls(vec![call])), told];
        let read = ["name".to_owned(), "images".to_owned()];
        let usual = UsualHistories { question: &question, result: &result, read: &read };
        let system = [Message::System("Be brief.".to_owned()), question[0].clone()];
        let answer = Answer::content("Yes.");
        let watch = |history: &[Message], coverage: &mut Coverage| {
            let messages = [history, &[Message::Assistant(answer.clone())]].concat();
            coverage.add(prober.ran(&messages, &Setting::new(), false).unwrap_or_default(), &answer);
        };
        let mut coverage = Coverage::default();
        [&question[..], &result, &system].iter().for_each(|history| watch(history, &mut coverage));
        for goal in coverage.goals() {
            for form in forms(&goal, &source[goal.span.clone()], &usual) {
                watch(&form.history, &mut coverage);
                if coverage.has(&goal) {
                    return Some(form.words);
                }
            }
        }
        None
    }

    #[test]
    fn a_condition_suggests_the_form_of_the_messages_that_it_asks_about() {
        for (condition, words) in [
            ("m.role == 'observation'", "a message of the role \"observation\""),
            ("m.role in ['function', 'critic']", "a message of the role \"function\""),
            ("loop.previtem is defined and loop.previtem.role == 'ipython'", "a message of the role \"ipython\""),
            ("messages | selectattr('role', 'equalto', 'critic') | list", "a message of the role \"critic\""),
            ("messages[0].role not in ['system', 'user']", "a message of the role \"developer\""),
            ("messages[0].role == 'assistant'", "an answer as the first message"),
            ("messages | selectattr('role', 'equalto', 'system') | list | length > 1", "two system messages"),
            ("messages[1:] | selectattr('role', 'equalto', 'system') | list", "two system messages"),
            ("messages | selectattr('role', 'equalto', 'tool') | list | length > 3", "4 results"),
            ("m.role == 'user' and m.name", "the key \"name\" of a message"),
            ("m.role == 'tool' and m.images is true", "the key \"images\" of a message"),
            ("m.role == 'user' and m.content is not string", "content in parts"),
            ("m.role == 'tool' and m.content is mapping", "content that is an object"),
        ] {
            assert_eq!(reached(condition).as_deref(), Some(words), "{condition}");
        }
        assert_eq!(reached("m.role == 'user' and m.unread"), None);
    }
}
