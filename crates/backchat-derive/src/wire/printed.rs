//! The variables that a template prints, or of which it prints members: their values are texts of the prompt, not switches.

use super::shapes;
use super::structure::History;
use backchat_chat::{ChatTemplate, with_members};
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_probe::probe::steady::{Varying, tokens};
use backchat_probe::probe::{Answer, Message, Prober, Setting, call, needle};

/// Another value than a needle.
pub(super) const OTHER: &str = "other";

const A_NUMBER: u64 = 7;

/// A variable that the template prints, with a value that has a needle for each text of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Printed {
    name: String,
    value: Value,
}

impl Printed {
    /// A variable that is printed itself.
    pub fn whole(name: &str) -> Self {
        Self { name: name.to_owned(), value: needle::PRINTED.into() }
    }

    /// A variable of which members are printed, if the template reads any: what else is in the value remains.
    pub fn members(template: &ChatTemplate, name: &str, value: &Value) -> Option<Self> {
        let value = with_members(template, name, value, &needle::PRINTED.into())?;
        Some(Self { name: name.to_owned(), value })
    }

    /// The variable with this value for each text that is printed.
    pub fn setting(&self, text: impl Into<Value>) -> Setting {
        Setting::from([(self.name.clone(), with_text(&self.value, &text.into()))])
    }

    /// Whether the template prints it: it is text for the prompt, not a switch.
    pub fn is_shown(&self, prober: &Prober<'_>, thinking: &Prober<'_>) -> bool {
        let setting = self.setting(needle::PRINTED);
        let user = vec![Message::User(needle::USER.to_owned())];
        let mut called = user.clone();
        called.push(Message::Assistant(Answer::calls(vec![call(0, 1)])));
        called.push(Message::User(needle::LATER.to_owned()));
        let thought = shapes::conversation(History::User, &shapes::content().with_reasoning(needle::REASONING));
        let shows = |prober: &Prober<'_>, messages: &[Message], prompt: bool| {
            prober.render(messages, &setting, prompt).is_some_and(|text| text.contains(needle::PRINTED))
        };
        shows(prober, &user, true) || shows(prober, &called, true) || shows(thinking, &thought, false)
    }
}

/// The same value with another one in place of the needles.
fn with_text(value: &Value, text: &Value) -> Value {
    match value {
        Value::String(own) if own == needle::PRINTED => text.clone(),
        Value::List(items) => Value::List(items.iter().map(|item| with_text(item, text)).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, member)| (key.to_owned(), with_text(member, text))).collect())
        }
        other => other.clone(),
    }
}

/// A prompt and turns with each part, and whether each is a prompt.
pub(super) fn conversations() -> Vec<(Vec<Message>, bool)> {
    let thought = shapes::content().with_reasoning(needle::REASONING);
    let turns = [shapes::content(), thought, Answer::calls(shapes::calls(1))];
    let turns = turns.iter().map(|answer| (shapes::conversation(History::User, answer), false));
    [(shapes::history(History::User), true)].into_iter().chain(turns).collect()
}

/// The settings under which turns have a mark with a text that has nothing in its place while the variable is not set. A whole
/// variable in the prompt is known by that.
pub(super) fn settings(printed: &[Printed], prober: &Prober<'_>) -> Vec<Setting> {
    let conversations = conversations();
    let texts = |setting: &Setting| -> Vec<String> {
        let shown = |(messages, prompt): &(Vec<Message>, bool)| {
            let text = prober.render(messages, setting, *prompt)?;
            History::User.rest(&text).map(str::to_owned)
        };
        conversations.iter().map(|messages| shown(messages).unwrap_or_default()).collect()
    };
    let adds_marks = |printed: &&Printed| {
        let with = texts(&printed.setting(needle::SETTING));
        let shows = |text: &String| text.contains(needle::SETTING);
        let is_known = printed.value.as_str().is_some() && with.first().is_some_and(shows);
        if is_known || !with.iter().any(shows) {
            return false;
        }
        let (usual, other) = (texts(&Setting::new()), texts(&printed.setting(OTHER)));
        // JSON writes a text in quotes, and other values without.
        let number = texts(&printed.setting(A_NUMBER));
        let is_plain = |(with, number): (&String, &String)| {
            number.is_empty() || with.replace(needle::SETTING, &A_NUMBER.to_string()) == *number
        };
        let are_added = !usual.iter().zip(&with).all(|(usual, with)| has_another_text(usual, with));
        are_added && vary(&with, &other) && with.iter().zip(&number).all(is_plain)
    };
    printed.iter().filter(adds_marks).map(|printed| printed.setting(needle::SETTING)).collect()
}

/// Whether the words in which texts differ are words of their own in a mark, which the text around them tells.
fn vary(texts: &[String], others: &[String]) -> bool {
    let is_part = |token: &str| token.contains(needle::SETTING) && token != needle::SETTING;
    let begins_line = |text: &String| {
        let mut places = text.match_indices(needle::SETTING);
        places.any(|(at, _)| slice(text, ..at).rsplit('\n').next().is_none_or(|line| line.trim().is_empty()))
    };
    if texts.iter().any(|text| begins_line(text) || tokens(text).into_iter().any(is_part)) {
        return false;
    }
    let mut found = Varying::default();
    texts.iter().zip(others).for_each(|(one, two)| found.compare(&tokens(one), &tokens(two), &|_| true));
    texts.iter().zip(others).all(|(one, two)| found.steady(one.clone()) == found.steady(two.clone()))
}

/// Whether a text is the same as the other one but for what it has in place of needles.
fn has_another_text(usual: &str, with: &str) -> bool {
    let parts: Vec<&str> = with.split(needle::SETTING).collect();
    let ([first, inner @ .., last], [_, _, ..]) = (parts.as_slice(), parts.as_slice()) else { return usual == with };
    let Some(mut rest) = usual.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    for part in inner {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    !rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::support::with_prober;
    use super::*;

    #[test]
    fn a_mark_that_only_a_set_variable_writes_has_a_setting() {
        for (mark, printed, is_added) in [
            ("<say to={{ who }}>", Printed::whole("who"), true),
            ("{% if who %}<say to={{ who }}>{% endif %}", Printed::whole("who"), true),
            // A text of its own has the place of the variable's, or nothing tells where that begins.
            ("<say to={{ who or 'all' }}>", Printed::whole("who"), false),
            ("{{ who }}", Printed::whole("who"), false),
            // A line of its own is no mark.
            ("{% if who %}\n\n{{ who }} it is:\n{% endif %}", Printed::whole("who"), false),
            // JSON writes other values without quotes.
            ("{% if who %}<say to={{ who | tojson }}>{% endif %}", Printed::whole("who"), false),
        ] {
            let source = format!("{{% for m in messages %}}<{{{{ m.role }}}}>{mark}{{{{ m.content }}}}{{% endfor %}}");
            with_prober(&source, |prober| {
                let expected: Vec<Setting> =
                    [printed.setting(needle::SETTING)].into_iter().filter(|_| is_added).collect();
                assert_eq!(settings(&[printed], prober), expected, "{mark}");
            });
        }
    }

    #[test]
    fn a_text_without_a_value_has_nothing_in_its_place() {
        for (usual, with, has) in [
            ("<bot Ada>", "<bot Qzsettingq>", true),
            ("<bot>", "<bot>", true),
            ("<bot>", "<bot Qzsettingq>", false),
            ("<a>x</a>", "<Qzsettingq>x</Qzsettingq>", true),
            ("<a>", "<a srv=\"Qzsettingq\">", false),
        ] {
            assert_eq!(has_another_text(usual, with), has, "{usual} {with}");
        }
    }
}
