//! Text that the template writes into its marks and that is never the same for long: the number of a turn or a call, a
//! date, the length of a thought, the value of a variable.
//!
//! Two renders that differ only in one such thing show it. Renders that were made [`steady`](Varying::steady) have one
//! sign in its place, so that every later comparison takes it for the same text; a pattern of its class reads it.

use super::conversation::{Answer, Call, Message, ReasoningInput};
use super::probe::{Prober, Setting, needle};
use super::shapes;
use super::structure::History;
use super::template_usage::TemplateUsage;
use crate::json::Value;
use crate::text::slice;

/// Represents a number that varies.
pub(crate) const NUMBER: char = '\u{2}';

/// Represents a word that varies.
pub(crate) const WORD: char = '\u{3}';

/// Whether a character represents text that varies.
pub(crate) fn is_varying(c: char) -> bool {
    matches!(c, NUMBER | WORD)
}

/// A text of the wire for people to read, with a name for each part that varies.
pub(crate) fn readable(text: &str) -> String {
    text.replace(NUMBER, "{number}").replace(WORD, "{word}")
}

/// The varying texts of one chat template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Varying {
    places: Vec<Place>,
}

/// A place in the template's own text whose content varies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The text before it on its line, as far as that names it.
    before: String,
    /// The signs of what varies, and the text between them.
    middle: String,
    /// The sign after it.
    after: String,
}

/// Two times that share no field, whatever the format.
const TIMES: [&str; 2] = ["2027-03-04T05:06:08", "2031-10-28T23:47:59"];

/// How far two varying texts on one line may be apart to be one.
const NEAR: usize = 6;

impl Varying {
    /// Finds the texts that vary with the clock, with the number of messages, with the values of a conversation, and
    /// with variables that the template prints.
    pub(crate) fn find(prober: &Prober<'_>, usage: &TemplateUsage) -> Self {
        let mut found = Self::default();
        found.with_time(prober);
        found.with_history(prober);
        for input in &usage.reasoning_inputs {
            found.with_values(prober, Some(input));
            found.with_lines(prober, input);
        }
        found.with_values(prober, None);
        found.with_variables(prober);
        found
    }

    /// The same and the numbers of calls.
    pub(crate) fn with_calls(&self, prober: &Prober<'_>) -> Self {
        let mut found = self.clone();
        let [first, second] = [shapes::call(0, 2), shapes::call(1, 2)];
        let render = |calls| turn(prober, &shapes::history(History::User), History::User, &Answer::calls(calls));
        if let (Some(one), Some(two)) = (render(vec![second.clone()]), render(vec![first.clone(), second.clone()])) {
            let lead = |text: &str, call: &Call| values(call).filter_map(|value| text.find(&value)).min();
            let tail = |text: &str, call: &Call| {
                values(call).filter_map(|value| Some(text.rfind(&value)? + value.len())).max()
            };
            let cut = |text: &str, call: &Call| {
                let (start, end) = (lead(text, call)?, tail(text, call)?);
                Some((slice(text, ..start).to_owned(), slice(text, end..).to_owned()))
            };
            if let (Some(one), Some(two), Some((before, _))) =
                (cut(&one, &second), cut(&two, &second), cut(&two, &first))
            {
                found.around(&one, &two);
                // The number of all calls may come before the first one.
                found.compare(&tokens(&one.0), &tokens(&before), &is_number);
            }
        }
        found
    }

    /// The numbers of the regions that a value is parted into, such as those of steps.
    fn with_lines(&mut self, prober: &Prober<'_>, input: &ReasoningInput) {
        const SECOND: &str = "Qzsecondq";
        let prober = prober.with_reasoning(Some(input));
        let thought = format!("{}\n{SECOND}", needle::REASONING);
        let answer = shapes::content().with_reasoning(&thought);
        let Some(text) = turn(&prober, &shapes::history(History::User), History::User, &answer) else { return };
        let around = |value: &str| {
            let (before, after) = text.split_once(value)?;
            Some((before.to_owned(), after.to_owned()))
        };
        if let (Some(first), Some(second)) = (around(needle::REASONING), around(SECOND)) {
            self.around(&first, &second);
        }
    }

    /// Compares the numbers on both sides of two values, as far as the rest of the text there is the same.
    fn around(&mut self, one: &(String, String), two: &(String, String)) {
        let same = |(a, b): &(&&str, &&str)| a == b || is_number(a) && is_number(b);
        let (a, b) = (tokens(&one.0), tokens(&two.0));
        let count = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
        let last = |tokens: &[&str]| tokens.len() - count;
        self.compare(a.get(last(&a)..).unwrap_or_default(), b.get(last(&b)..).unwrap_or_default(), &is_number);
        let (a, b) = (tokens(&one.1), tokens(&two.1));
        let count = a.iter().zip(b.iter()).take_while(same).count();
        self.compare(a.get(..count).unwrap_or_default(), b.get(..count).unwrap_or_default(), &is_number);
    }

    fn with_time(&mut self, prober: &Prober<'_>) {
        let [one, two] = TIMES.map(|time| prober.at(time));
        let user = shapes::history(History::User);
        for prompt in [true, false] {
            let mut messages = user.clone();
            if !prompt {
                messages.push(Message::Assistant(shapes::content()));
            }
            let [one, two] = [&one, &two].map(|prober| {
                let text = prober.render(&messages, &Setting::new(), prompt)?;
                after_history(&text, History::User).map(str::to_owned)
            });
            if let (Some(one), Some(two)) = (one, two) {
                self.compare(&tokens(&one), &tokens(&two), &|_| true);
            }
        }
    }

    fn with_history(&mut self, prober: &Prober<'_>) {
        let tail = |after: History, answer: Option<&Answer>| match answer {
            Some(answer) => turn(prober, &shapes::history(after), after, answer),
            None => {
                let text = prober.render(&shapes::history(after), &Setting::new(), true)?;
                after_history(&text, after).map(str::to_owned)
            }
        };
        for answer in [None, Some(shapes::content())] {
            let [one, two] = [History::User, History::EarlierTurns].map(|after| tail(after, answer.as_ref()));
            if let (Some(one), Some(two)) = (one, two) {
                self.compare(&tokens(&one), &tokens(&two), &is_number);
            }
        }
    }

    fn with_values(&mut self, prober: &Prober<'_>, input: Option<&ReasoningInput>) {
        const LONGER: &str = ", then Qzsome more words, all of them q";
        let prober = prober.with_reasoning(input);
        let longer = |value: &str| format!("{value}{LONGER}");
        let said = |longer: &dyn Fn(&str) -> String| {
            let thought = input.map(|_| longer(needle::REASONING));
            let content = Answer { reasoning: thought, ..Answer::content(&longer(needle::CONTENT)) };
            let mut calls = shapes::calls(1);
            for value in calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
                *value = value.as_str().map_or(Value::Null, |text| longer(text).into());
            }
            [content.clone(), Answer { calls, content: None, ..content }]
        };
        let history = shapes::history(History::User);
        let lengthy = [Message::User(format!("{LONGER} {}", needle::USER))];
        for (one, two) in said(&str::to_owned).into_iter().zip(said(&longer)) {
            let one = turn(&prober, &history, History::User, &one);
            let two = turn(&prober, &lengthy, History::User, &two).map(|text| text.replace(LONGER, ""));
            if let (Some(one), Some(two)) = (one, two) {
                self.compare(&tokens(&one), &tokens(&two), &|_| true);
            }
        }
    }

    fn with_variables(&mut self, prober: &Prober<'_>) {
        const VALUE: &str = "Qzsettingq";
        let user = shapes::history(History::User);
        let shown = |setting: &Setting| {
            let text = prober.render(&user, setting, true)?;
            after_history(&text, History::User).map(str::to_owned)
        };
        let Some(usual) = shown(&Setting::new()) else { return };
        for name in prober.switches() {
            let other = shown(&Setting::from([(name, VALUE.into())])).filter(|other| other.contains(VALUE));
            if let Some(other) = other {
                self.compare(&tokens(&usual), &tokens(&other), &|_| true);
            }
        }
    }

    /// Compares two texts that differ only in what varies, token by token.
    fn compare(&mut self, one: &[&str], two: &[&str], may_vary: &dyn Fn(&str) -> bool) {
        if one.len() != two.len() || one == two {
            return;
        }
        let differs = |at: usize| one.get(at) != two.get(at);
        let is_value = |token: &str| token.get(..2).is_some_and(|lead| lead.eq_ignore_ascii_case("qz"));
        let mut at = 0;
        while at < one.len() {
            if !differs(at) {
                at += 1;
                continue;
            }
            let start = at;
            let mut middle = String::new();
            let mut end = at;
            // What varies on one line with little between is one text, such as a date.
            while let (Some(a), Some(b)) = (one.get(at), two.get(at)) {
                if differs(at) {
                    if !(is_word(a) && is_word(b) && may_vary(a) && may_vary(b)) {
                        return;
                    }
                    middle.push_str(&one.get(end..at).unwrap_or_default().concat());
                    middle.push(if is_number(a) && is_number(b) { NUMBER } else { WORD });
                    end = at + 1;
                } else if *a == "\n" || is_value(a) || one.get(end..at).is_some_and(|gap| gap.concat().len() >= NEAR) {
                    break;
                }
                at += 1;
            }
            let mut before = String::new();
            for token in one.get(..start).unwrap_or_default().iter().rev() {
                if is_value(token) {
                    break;
                }
                before.insert_str(0, token);
                if *token == "\n" || is_word(token) && token.len() > 1 {
                    break;
                }
            }
            let after = one.get(end).filter(|token| !is_value(token)).map_or("", |token| token).to_owned();
            let place = Place { before, middle, after };
            if !place.before.is_empty() && !self.places.contains(&place) {
                self.places.push(place);
            }
        }
    }

    /// A render with one sign in place of each text that varies.
    pub(crate) fn steady(&self, text: String) -> String {
        self.places.iter().fold(text, |text, place| place.steady(text))
    }
}

impl Place {
    fn steady(&self, text: String) -> String {
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(&self.before) {
            let (kept, from) = rest.split_at(at + self.before.len());
            out.push_str(kept);
            rest = from;
            if let Some(length) = self.length(from) {
                out.push_str(&self.middle);
                rest = slice(from, length..);
            }
        }
        if out.is_empty() { text } else { out + rest }
    }

    /// The length of the varying text that begins here, if it does.
    fn length(&self, text: &str) -> Option<usize> {
        let mut rest = text;
        for c in self.middle.chars() {
            let length = match c {
                NUMBER => rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()),
                WORD => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
                c if rest.starts_with(c) => c.len_utf8(),
                _ => 0,
            };
            rest = rest.get(length..).filter(|_| length > 0)?;
        }
        rest.starts_with(&self.after).then_some(text.len() - rest.len())
    }
}

/// The values of a call that may begin or end it.
fn values(call: &Call) -> impl Iterator<Item = String> {
    let arguments = call.arguments.iter().flat_map(|(key, value)| [Some(key.as_str()), value.as_str()]);
    let all = [Some(call.name.as_str()), Some(call.id.as_str())].into_iter().chain(arguments).flatten();
    all.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A render of an answer, from the history's last words on.
fn turn(prober: &Prober<'_>, history: &[Message], after: History, answer: &Answer) -> Option<String> {
    let messages = [history, &[Message::Assistant(answer.clone())]].concat();
    let text = prober.render(&messages, &Setting::new(), false)?;
    after_history(&text, after).map(str::to_owned)
}

fn after_history(text: &str, after: History) -> Option<&str> {
    text.get(text.rfind(after.last_needle())? + after.last_needle().len()..)
}

/// Runs of letters and digits, and every other sign alone.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()) {
            0 => first.len_utf8(),
            length => length,
        };
        tokens.push(slice(rest, ..length));
        rest = slice(rest, length..);
    }
    tokens
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphanumeric)
}

fn is_number(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::support::with_prober;
    use super::super::template_usage;
    use super::*;
    use crate::chat::ChatTemplate;
    use crate::json::Object;

    /// The text before an answer after a question, made steady.
    fn lead(header: &str) -> String {
        let source = format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}{{% if m.role == 'assistant' %}}{header}{{% endif %}}>\
             {{{{ m.content }}}}<end>{{% endfor %}}"
        );
        let template = ChatTemplate::compile(&source).unwrap();
        with_prober(&source, |prober| {
            let usage = template_usage::find(&template, prober, &Object::new());
            let varying = Varying::find(prober, &usage);
            let text = turn(prober, &shapes::history(History::User), History::User, &shapes::content()).unwrap();
            let text = varying.steady(text);
            text.split(needle::CONTENT).next().unwrap().replace(NUMBER, "N").replace(WORD, "W")
        })
    }

    #[test]
    fn text_that_varies_becomes_a_sign_of_its_class() {
        for (header, steady) in [
            (" turn {{ loop.index }}", "<end><assistant turn N>"),
            (" on {{ strftime_now('%d %B %Y, %H:%M') }}", "<end><assistant on N W N, N:N>"),
            (" size {{ m.content | length }}", "<end><assistant size N>"),
            // Nothing says where it would begin.
            ("", "<end><assistant>"),
            // A number that is always the same is a part of the mark.
            (" v2", "<end><assistant v2>"),
        ] {
            assert_eq!(lead(header), steady, "{header}");
        }
    }

    #[test]
    fn numbers_of_calls_vary_around_each_call() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\
                      <do_{{ loop.index }}>{{ c.function.name }}{{ c.function.arguments | tojson }}\
                      </do_{{ loop.index }}>{% endfor %}<end>{% endfor %}";
        with_prober(source, |prober| {
            let counted = Varying::default().with_calls(prober);
            assert_eq!(counted.steady("<do_7>f</do_12>".to_owned()), "<do_\u{2}>f</do_\u{2}>");
            assert_eq!(Varying::default().steady("<do_7>".to_owned()), "<do_7>");
        });
    }

    #[test]
    fn a_place_is_known_by_the_text_around_it() {
        let place = Place { before: "day ".to_owned(), middle: "\u{2}-\u{2}".to_owned(), after: "|".to_owned() };
        for (text, steady) in [
            ("<day 03-12|>", "<day \u{2}-\u{2}|>"),
            ("day 4 and day 03-12|day 1-2|", "day 4 and day \u{2}-\u{2}|day \u{2}-\u{2}|"),
            ("day 03-12.", "day 03-12."),
            ("03-12|", "03-12|"),
        ] {
            assert_eq!(place.steady(text.to_owned()), steady, "{text}");
        }
    }
}
