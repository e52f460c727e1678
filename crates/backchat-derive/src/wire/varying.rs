//! Finds varying text in the marks of a template: the number of a turn or a call, a date, the length of reasoning, the
//! value of a variable. Two renders that differ in only one such thing reveal it.

use std::ops::Range;

use super::echoes;
use super::printed::{self, Printed};
use super::repeated::SEPARATORS;
use super::shapes;
use super::structure::History;
use super::template_usage::TemplateUsage;
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_core::text::{common_start, slice};
use backchat_probe::probe::needle::{self, MORE};
use backchat_probe::probe::steady::{Varying, is_number, numbers, tokens};
use backchat_probe::probe::{Answer, Call, Message, Prober, ReasoningInput, Setting, json_type};

/// Appended to a text to give it more lines.
const LINES: &str = ",\nthen Qzother lines,\nall of them q";

/// Two times that differ in every field of any format.
const TIMES: [&str; 2] = ["2027-03-04T05:06:08", "2031-10-28T23:47:59"];

/// Finds the texts that vary with the clock, the number of messages, the values of a conversation, and the variables that
/// the template prints.
pub(crate) fn find(prober: &Prober<'_>, usage: &TemplateUsage) -> Varying {
    let mut found = Varying::default();
    let turns = TimedTurns::new(prober, usage);
    let printed = turns.printed(usage);
    with_time_and_variables(&mut found, &turns, &printed);
    with_time(&mut found, &turns, usage);
    with_history(&mut found, prober);
    for input in &usage.reasoning_inputs {
        with_values(&mut found, prober, Some(input));
        with_lines(&mut found, prober, input);
    }
    with_values(&mut found, prober, None);
    with_ids(&mut found, prober);
    with_variables(&mut found, &turns, &printed);
    with_settings(&mut found, &turns, &printed, usage);
    echoes::of_history(&mut found, prober);
    echoes::of_question(&mut found, prober, usage);
    found
}

/// The same, plus what counts calls and arguments.
pub(crate) fn with_calls(varying: &Varying, prober: &Prober<'_>) -> Varying {
    let mut found = varying.clone();
    let [first, second, third] = [0, 1, 2].map(|index| shapes::call(index, 2));
    // What is known to vary may be a part of the text that tells the place of a counter.
    let render = |calls| called_turn(prober, calls).map(|text| varying.steady(text));
    let cut = |text: &str, call: &Call| {
        let Range { start, end } = span(text, call)?;
        Some((slice(text, ..start).to_owned(), slice(text, end..).to_owned()))
    };
    let [two, three] = [2, 3].map(|count| render(shapes::calls(count)));
    if let (Some(one), Some(two)) = (render(vec![second.clone()]), &two)
        && let (Some(one), Some(two), Some((before, _))) = (cut(&one, &second), cut(two, &second), cut(two, &first))
    {
        found.around(&one, &two);
        // The number of all calls may come before the first one.
        found.compare(&numbers(&one.0), &numbers(&before), &is_number);
    }
    // Marks around several calls, which one call alone does not have, may hold their number, too.
    if let (Some(two), Some(three)) = (&two, &three)
        && let (Some((two, _)), Some((three, _))) = (cut(two, &first), cut(three, &first))
    {
        found.compare(&numbers(&two), &numbers(&three), &is_number);
    }
    if let (Some(two), Some(three)) = (&two, &three)
        && let (Some((_, two)), Some((_, three))) = (cut(two, &second), cut(three, &third))
    {
        found.compare(&numbers(&two), &numbers(&three), &is_number);
    }
    // A counter may be a letter or a word.
    if let Some(text) = &three
        && let [Some(first), Some(second), Some(third)] = [&first, &second, &third].map(|call| span(text, call))
        && first.end <= second.start
        && second.end <= third.start
    {
        // The first call's number, next to the mark of a section, is not always found by its place.
        let between = [slice(text, first.end..second.start), slice(text, second.end..third.start)];
        found.compare(&numbers(between[0]), &numbers(between[1]), &is_number);
        found.beside(&[
            (slice(text, ..first.start), slice(text, first.end..second.start)),
            (slice(text, first.end..second.start), slice(text, second.end..third.start)),
            (slice(text, second.end..third.start), slice(text, third.end..)),
        ]);
    }
    // The number of arguments may come before or after the name. What both calls follow would be taken for a part of the
    // mark, so that one follows another call.
    let fewer = render(vec![first.clone(), shapes::call(1, 1)]).or_else(|| render(vec![shapes::call(1, 1)]));
    if let (Some(one), Some(two)) = (fewer, render(vec![second.clone()])) {
        let around = |text: &str| {
            let (before, after) = text.split_once(&second.name)?;
            Some((before.to_owned(), after.to_owned()))
        };
        if let (Some(one), Some(two)) = (around(&one), around(&two)) {
            found.around(&one, &two);
        }
    }
    // Arguments may be numbered, too.
    if let Some(text) = render(vec![first.clone()]) {
        let mut around = first.arguments.iter().filter_map(|(key, value)| {
            let (before, after) = (text.split_once(key)?.0, text.split_once(value.as_str()?)?.1);
            Some((before.to_owned(), after.to_owned()))
        });
        if let (Some(one), Some(two)) = (around.next(), around.next()) {
            found.around(&one, &two);
        }
    }
    with_types(&mut found, prober);
    found
}

/// Finds the type that the schema of a tool gives an argument.
fn with_types(found: &mut Varying, prober: &Prober<'_>) {
    let messages = shapes::conversation(History::User, &Answer::calls(shapes::calls(1)));
    let text = |type_of: fn(&Value) -> &'static str| {
        let tools = prober.request_shape().tools_with(&messages, type_of, false);
        let prober = prober.offering(Some(tools));
        let text = shown(&prober, &messages, History::User, &Setting::new(), false)?;
        // The definition of the tool may come before the call.
        let prompt = shown(&prober, &shapes::history(History::User), History::User, &Setting::new(), true)?;
        Some(slice(&text, common_start(&prompt, &text).len()..).to_owned())
    };
    let (usual, other) = (text(json_type), text(|_| needle::SETTING));
    if other.as_ref().is_some_and(|text| text.contains(needle::SETTING)) {
        compare(found, usual, other);
    }
}

/// Finds the numbers of the regions that a value is split into, such as steps.
fn with_lines(found: &mut Varying, prober: &Prober<'_>, input: &ReasoningInput) {
    let prober = prober.with_reasoning(Some(input));
    for separator in SEPARATORS {
        let thought = format!("{}{separator}{}", needle::REASONING, needle::SECOND);
        let answer = shapes::content().with_reasoning(&thought);
        let Some(text) = turn(&prober, &shapes::history(History::User), History::User, &answer) else { return };
        let around = |value: &str| {
            let (before, after) = text.split_once(value)?;
            Some((before.to_owned(), after.to_owned()))
        };
        if let (Some(first), Some(second)) = (around(needle::REASONING), around(needle::SECOND)) {
            found.around(&first, &second);
        }
    }
}

/// The end of a prompt and turns with each part, which two probers render at different times.
struct TimedTurns<'t> {
    earlier: Prober<'t>,
    later: Prober<'t>,
    conversations: Vec<(Vec<Message>, bool)>,
}

impl<'t> TimedTurns<'t> {
    fn new(prober: &Prober<'t>, usage: &TemplateUsage) -> Self {
        let conversations = printed::conversations();
        let thinking = prober.with_reasoning(usage.reasoning_inputs.first());
        let [earlier, later] = TIMES.map(|time| thinking.at(time));
        Self { earlier, later, conversations }
    }

    fn texts(&self, prober: &Prober<'t>, setting: &Setting) -> Vec<Option<String>> {
        let text = |(messages, prompt): &(Vec<Message>, bool)| shown(prober, messages, History::User, setting, *prompt);
        self.conversations.iter().map(text).collect()
    }

    fn vary_with_time(&self) -> bool {
        self.texts(&self.earlier, &Setting::new()) != self.texts(&self.later, &Setting::new())
    }

    /// The variables whose value, or a member of it, a text shows.
    fn printed(&self, usage: &TemplateUsage) -> Vec<Printed> {
        let mut found: Vec<Printed> = self.earlier.switches().iter().map(|name| Printed::whole(name)).collect();
        for printed in &usage.printed {
            push_new(&mut found, printed.clone());
        }
        found.retain(|printed| {
            let texts = self.texts(&self.earlier, &printed.setting(needle::SETTING));
            texts.into_iter().flatten().any(|text| text.contains(needle::SETTING))
        });
        found
    }

    /// Compares the texts at the earlier time with those at the later one.
    fn compare(&self, found: &mut Varying, earlier: &Setting, later: &Setting) {
        let (one, two) = (self.texts(&self.earlier, earlier), self.texts(&self.later, later));
        one.into_iter().zip(two).for_each(|(one, two)| compare(found, one, two));
    }
}

fn with_history(found: &mut Varying, prober: &Prober<'_>) {
    let tail = |after: History, answer: Option<&Answer>| match answer {
        Some(answer) => turn(prober, &shapes::history(after), after, answer),
        None => shown(prober, &shapes::history(after), after, &Setting::new(), true),
    };
    for answer in [None, Some(shapes::content())] {
        let [one, two] = [History::User, History::EarlierTurns].map(|after| tail(after, answer.as_ref()));
        if let (Some(one), Some(two)) = (one, two) {
            found.compare(&numbers(&one), &numbers(&two), &is_number);
        }
    }
}

fn with_values(found: &mut Varying, prober: &Prober<'_>, input: Option<&ReasoningInput>) {
    let prober = prober.with_reasoning(input);
    let answers = |texts: &dyn Fn(&str) -> String, arguments: &dyn Fn(&str) -> String| {
        let thought = input.map(|_| texts(needle::REASONING));
        let content = Answer { reasoning: thought, ..Answer::content(&texts(needle::CONTENT)) };
        let mut calls = shapes::calls(1);
        for value in calls.iter_mut().flat_map(|call| call.arguments.values_mut()) {
            *value = value.as_str().map_or(Value::Null, |text| arguments(text).into());
        }
        [content.clone(), Answer { calls, content: None, ..content }]
    };
    let (same, longer, lines) =
        (&str::to_owned, &|value: &str| format!("{value}{MORE}"), &|value: &str| format!("{value}{LINES}"));
    let history = shapes::history(History::User);
    let lengthy = [Message::User(format!("{MORE} {}", needle::USER))];
    for (one, two) in answers(same, same).into_iter().zip(answers(longer, longer)) {
        let one = turn(&prober, &history, History::User, &one);
        let two = turn(&prober, &lengthy, History::User, &two).map(|text| text.replace(MORE, ""));
        compare(found, one, two);
    }
    // A text of several lines may be written in another way, and JSON escapes their ends.
    for (one, two) in answers(same, same).into_iter().zip(answers(lines, same)) {
        let [one, two] = [one, two].map(|answer| turn(&prober, &history, History::User, &answer));
        let two = two.map(|text| text.replace(LINES, ""));
        if let (Some(one), Some(two)) = (one, two) {
            found.compare(&numbers(&one), &numbers(&two), &is_number);
        }
    }
}

/// Finds a part of a call's id.
fn with_ids(found: &mut Varying, prober: &Prober<'_>) {
    let history = shapes::history(History::User);
    let shown = |id: &str| {
        let call = Call { id: id.to_owned(), ..shapes::call(0, 2) };
        let text = turn(prober, &history, History::User, &Answer::calls(vec![call]))?;
        // A whole id is a value.
        Some(text.replace(id, needle::IDS[0]))
    };
    let [first, second, _] = needle::IDS;
    compare(found, shown(first), shown(second));
}

/// Finds times and values of variables at once: each may be a part of the text that tells the place of another.
fn with_time_and_variables(found: &mut Varying, turns: &TimedTurns<'_>, printed: &[Printed]) {
    if printed.len() + usize::from(turns.vary_with_time()) > 1 {
        let all = printed.iter().flat_map(|printed| printed.setting(needle::SETTING)).collect();
        turns.compare(found, &Setting::new(), &all);
    }
}

fn with_time(found: &mut Varying, turns: &TimedTurns<'_>, usage: &TemplateUsage) {
    if turns.vary_with_time() {
        // A setting may change the text before the time, so look under every setting.
        usage.settings.iter().for_each(|setting| turns.compare(found, setting, setting));
    }
}

fn with_variables(found: &mut Varying, turns: &TimedTurns<'_>, printed: &[Printed]) {
    for printed in printed {
        let texts = |value: &str| turns.texts(&turns.earlier, &printed.setting(value));
        let usual = turns.texts(&turns.earlier, &Setting::new());
        for (at, (usual, other)) in usual.into_iter().zip(texts(needle::SETTING)).enumerate() {
            let (Some(usual), Some(other)) = (usual, other) else { continue };
            let usual = without_sign(&usual, &other).unwrap_or(usual);
            // A value of several words or numbers, such as a date, gets as many others.
            let alike = value_in(&usual, &other).map(of_other_words);
            let alike = alike.and_then(|value| texts(&value).get(at).cloned().flatten());
            compare(found, Some(usual), alike.or(Some(other)));
        }
    }
}

/// Finds the values of variables in marks that only a set variable writes.
fn with_settings(found: &mut Varying, turns: &TimedTurns<'_>, printed: &[Printed], usage: &TemplateUsage) {
    for printed in printed.iter().filter(|printed| usage.settings.contains(&printed.setting(needle::SETTING))) {
        let [one, two] =
            [needle::SETTING, printed::OTHER].map(|value| turns.texts(&turns.earlier, &printed.setting(value)));
        one.into_iter().zip(two).for_each(|(one, two)| compare(found, one, two));
    }
}

/// A render in which a variable has a number below zero, as if it were above: a number is one word, whatever its sign.
fn without_sign(usual: &str, other: &str) -> Option<String> {
    let (before, value, after) = around_value(usual, other)?;
    let number = value.strip_prefix('-').filter(|number| is_number(number))?;
    Some(format!("{before}{number}{after}"))
}

/// The text that a render has where another one has the value of a variable, and what is before it and after it.
fn around_value<'t>(usual: &'t str, other: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
    let (before, after) = other.split_once(needle::SETTING)?;
    Some((before, usual.strip_prefix(before)?.strip_suffix(after)?, after))
}

/// The value of a variable in a render, if it is several words, or has numbers among other signs.
fn value_in<'t>(usual: &'t str, other: &'t str) -> Option<&'t str> {
    let (_, value, _) = around_value(usual, other)?;
    let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
    let is_words = value.contains(' ') && !has(|c| !c.is_alphanumeric() && *c != ' ');
    (is_words || has(char::is_ascii_digit) && has(|c| !c.is_alphanumeric())).then_some(value)
}

/// A text with every number changed to another one of the same length, or with other words if it has no numbers.
fn of_other_words(text: &str) -> String {
    let next = |c: char| c.to_digit(10).and_then(|digit| char::from_digit((digit + 1) % 10, 10)).unwrap_or(c);
    match text.contains(|c: char| c.is_ascii_digit()) {
        true => text.chars().map(next).collect(),
        false => vec![needle::SETTING; text.split_whitespace().count()].join(" "),
    }
}

/// Compares two renders, if there are both, but for the texts that are known to vary.
fn compare(found: &mut Varying, one: Option<String>, two: Option<String>) {
    if let (Some(one), Some(two)) = (one, two) {
        let [one, two] = [one, two].map(|text| found.steady(text));
        found.compare(&tokens(&one), &tokens(&two), &|_| true);
    }
}

/// From the first value of a call to its last.
fn span(text: &str, call: &Call) -> Option<Range<usize>> {
    let start = values(call).filter_map(|value| text.find(value)).min()?;
    let end = values(call).filter_map(|value| Some(text.rfind(value)? + value.len())).max()?;
    Some(start..end)
}

/// The values of a call that may begin or end it.
fn values(call: &Call) -> impl Iterator<Item = &str> {
    let arguments = call.arguments.iter().flat_map(|(key, value)| [Some(key), value.as_str()]);
    [Some(call.name.as_str()), Some(call.id.as_str())].into_iter().chain(arguments).flatten()
}

/// A render of an answer, from the end of the history on.
fn turn(prober: &Prober<'_>, history: &[Message], after: History, answer: &Answer) -> Option<String> {
    let messages = [history, &[Message::Assistant(answer.clone())]].concat();
    shown(prober, &messages, after, &Setting::new(), false)
}

/// A render of calls, from the end of the history on; if the called tools are listed there, from the end of that.
fn called_turn(prober: &Prober<'_>, calls: Vec<Call>) -> Option<String> {
    let messages = shapes::conversation(History::User, &Answer::calls(calls.clone()));
    let text = shown(prober, &messages, History::User, &Setting::new(), false)?;
    if calls.iter().all(|call| text.matches(&call.name).count() < 2) {
        return Some(text);
    }
    let offering = prober.offering(Some(prober.request_shape().tools(&messages)));
    let before = shown(&offering, &shapes::history(History::User), History::User, &Setting::new(), false)?;
    let is_list = calls.iter().any(|call| before.contains(&call.name));
    Some(text.strip_prefix(before.as_str()).filter(|_| is_list).unwrap_or(&text).to_owned())
}

/// A render, from the end of the history on.
fn shown(prober: &Prober<'_>, messages: &[Message], after: History, setting: &Setting, prompt: bool) -> Option<String> {
    let text = prober.render(messages, setting, prompt)?;
    after.rest(&text).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::support::with_prober;
    use super::super::template_usage;
    use super::*;
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;
    use backchat_probe::probe::steady::{NUMBER, VALUE, is_varying_word};

    /// The text before an answer after a question, with placeholders for varying text.
    fn lead(header: &str) -> String {
        let source = format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}{{% if m.role == 'assistant' %}}{header}{{% endif %}}>\
             {{{{ m.content }}}}<end>{{% endfor %}}"
        );
        let template = ChatTemplate::compile(&source).unwrap();
        with_prober(&source, |prober| {
            let usage = template_usage::find(&template, prober, &Object::new());
            let varying = find(prober, &usage);
            let text = turn(prober, &shapes::history(History::User), History::User, &shapes::content()).unwrap();
            let text = varying.steady(text);
            text.split(needle::CONTENT).next().unwrap().replace(NUMBER, "N").replace(is_varying_word, "W")
        })
    }

    #[test]
    fn varying_text_becomes_a_placeholder_of_its_class() {
        for (header, steady) in [
            (" turn {{ loop.index }}", "<end><assistant turn N>"),
            (" on {{ strftime_now('%d %B %Y, %H:%M') }}", "<end><assistant on N W N, N:N>"),
            (" size {{ m.content | length }}", "<end><assistant size N>"),
            (" lines {{ m.content.split('\\n') | length }}", "<end><assistant lines N>"),
            // Without text before it, a number is not found.
            ("", "<end><assistant>"),
            // A number that is always the same is a part of the mark.
            (" v2", "<end><assistant v2>"),
        ] {
            assert_eq!(lead(header), steady, "{header}");
        }
    }

    #[test]
    fn a_number_before_every_call_but_the_first_counts_them() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}<do>{% for c in m.tool_calls %}\
                      {{ loop.index ~ '. ' ~ c.function.name ~ ' ' ~ c.function.arguments | tojson ~ '\\n' }}{% endfor %}</do>\
                      {% endif %}<end>{% endfor %}";
        with_prober(source, |prober| {
            let steady = with_calls(&Varying::default(), prober).steady("<do>1. f {}\n2. g {}\n".to_owned());
            assert_eq!(steady, format!("<do>1. f {{}}\n{NUMBER}. g {{}}\n"));
        });
    }

    #[test]
    fn a_list_of_the_called_tools_after_the_question_is_no_call() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'user' %}{{ tools | tojson }}{% endif %}\
                      {% for c in m.tool_calls %}r{{ loop.index ~ ' = ' ~ c.function.name ~ ' ' ~ c.function.arguments | tojson ~ '\n' }}\
                      {% endfor %}<end>{% endfor %}";
        with_prober(source, |prober| {
            let steady = with_calls(&Varying::default(), prober).steady("r1 = f {}\nr2 = g {}\n<end>".to_owned());
            assert_eq!(steady, format!("r{NUMBER} = f {{}}\nr{NUMBER} = g {{}}\n<end>"));
        });
    }

    #[test]
    fn a_part_of_an_id_and_a_printed_date_vary() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ '<think at=\"' ~ (day | default('2026-11-20')) ~ '\">' ~ m.thinking \
                      if m.thinking }}{{ m.content }}{% for c in m.tool_calls %}<call {{ c.id[-4:] }}>{{ c.function.name }}\
                      {{ c.function.arguments | tojson }}</call>{% endfor %}<end>{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        with_prober(source, |prober| {
            let usage = template_usage::find(&template, prober, &Object::new());
            let varying = find(prober, &usage);
            assert_eq!(varying.steady("<call 1a2B>f".to_owned()), "<call \u{fdd1}>f");
            let dated = varying.steady("<think at=\"2027-01-02\">".to_owned());
            assert_eq!(dated, "<think at=\"\u{fdd0}-\u{fdd0}-\u{fdd0}\">");
        });
    }

    #[test]
    fn a_date_a_day_and_a_counter_vary_in_one_mark() {
        let steady = |mark: &str, text: &str| {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% for c in m.tool_calls %}}{mark}\
                 {{{{ c.function.arguments | tojson }}}}</call>{{% endfor %}}<end>{{% endfor %}}"
            );
            let template = ChatTemplate::compile(&source).unwrap();
            with_prober(&source, |prober| {
                let usage = template_usage::find(&template, prober, &Object::new());
                let found = with_calls(&find(prober, &usage), prober).steady(text.to_owned());
                found.replace(NUMBER, "N").replace(is_varying_word, "W")
            })
        };
        let (name, count) = ("{{ c.function.name }}", "{{ loop.index }}");
        let [date, day] = ["%Y-%m-%d", "%A"].map(|format| format!("{{{{ strftime_now('{format}') }}}}"));
        for (mark, text, expected) in [
            (format!("<{day} {name}>"), "<Monday f>", "<W f>"),
            (format!("<call {date} #{count} {name}>"), "<call 2026-01-02 #3 f>", "<call N-N-N #N f>"),
            (format!("<call #{count} {date} {name}>"), "<call #3 2026-01-02 f>", "<call #N N-N-N f>"),
            (format!("<call {count} {day} {name}>"), "<call 3 Monday f>", "<call N W f>"),
        ] {
            assert_eq!(steady(&mark, text), expected, "{mark}");
        }
    }

    #[test]
    fn the_value_of_a_variable_may_be_several_words_or_a_number_with_a_sign() {
        for (usual, value) in [("you", "\u{fdd2}"), ("dear you", "\u{fdd2} \u{fdd2}"), ("-1", "\u{fdd2}")] {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}} for=\"{{{{ address | default('{usual}') }}}}\">{{{{ m.content }}}}\
                 <end>{{% endfor %}}"
            );
            let template = ChatTemplate::compile(&source).unwrap();
            with_prober(&source, |prober| {
                let usage = template_usage::find(&template, prober, &Object::new());
                let steady = find(prober, &usage).steady(format!("<assistant for=\"{usual}\">"));
                assert_eq!(steady, format!("<assistant for=\"{value}\">"));
            });
        }
    }

    #[test]
    fn the_value_of_a_member_varies() {
        for name in [
            "who.name if who",
            "(who or {}).name or 'you'",
            "(who | default([{'name': 'you'}]))[0].name",
            "'for ' + who.name if who",
        ] {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}} for=\"{{{{ {name} }}}}\">{{{{ m.content }}}}<end>{{% endfor %}}"
            );
            let template = ChatTemplate::compile(&source).unwrap();
            with_prober(&source, |prober| {
                let usage = template_usage::find(&template, prober, &Object::new());
                let steady =
                    find(prober, &usage).steady("<assistant for=\"for Ada\"><assistant for=\"Ada\">".to_owned());
                assert!(steady.contains(VALUE), "{name}: {steady}");
            });
        }
    }

    #[test]
    fn what_counts_calls_may_be_a_word_of_its_own_for_each() {
        let counted = |mark: &str| {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% for c in m.tool_calls %}}{mark}\
                 {{{{ c.function.name }}}}{{{{ c.function.arguments | tojson }}}}</call>{{% endfor %}}<end>{{% endfor %}}"
            );
            with_prober(&source, |prober| with_calls(&Varying::default(), prober).steady("<call next>f".to_owned()))
        };
        for (mark, steady) in [
            ("<call {{ ['one', 'two', 'three'][loop.index0] }}>", "<call \u{fdd1}>f"),
            ("<call {{ 'abc'[loop.index0] }}>", "<call \u{fdd1}>f"),
            // All calls but the first have one mark.
            ("<call {{ 'first' if loop.first else 'next' }}>", "<call next>f"),
        ] {
            assert_eq!(counted(mark), steady, "{mark}");
        }
    }

    #[test]
    fn the_number_of_arguments_varies_on_both_sides_of_the_name() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\
                      {% set count = c.function.arguments | length %}<call of={{ count }}>{{ c.function.name }}\
                      <with {{ count }}>{{ c.function.arguments | tojson }}</call>{% endfor %}<end>{% endfor %}";
        with_prober(source, |prober| {
            let counted = with_calls(&Varying::default(), prober);
            assert_eq!(counted.steady("<call of=3>f<with 3>".to_owned()), "<call of=\u{fdd0}>f<with \u{fdd0}>");
        });
        let letter = source.replace("<call of=", "<c ");
        with_prober(&letter, |prober| {
            let counted = with_calls(&Varying::default(), prober);
            assert_eq!(counted.steady("Hi.<c 3>f".to_owned()), "Hi.<c \u{fdd0}>f");
        });
    }

    #[test]
    fn the_number_of_calls_varies_in_marks_that_one_call_alone_does_not_have() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% set count = m.tool_calls | length %}\
                      {{ '<all of=' ~ count ~ '>' if count > 1 }}{% for c in m.tool_calls %}<call>{{ c.function.name }}\
                      {{ c.function.arguments | tojson }}</call>{% endfor %}{{ '</all ' ~ count ~ '>' if count > 1 }}<end>\
                      {% endfor %}";
        with_prober(source, |prober| {
            let counted = with_calls(&Varying::default(), prober);
            assert_eq!(
                counted.steady("<all of=7><call>f</call></all 7>".to_owned()),
                "<all of=\u{fdd0}><call>f</call></all \u{fdd0}>"
            );
        });
    }

    #[test]
    fn a_type_that_a_tool_names_varies_in_the_mark_of_an_argument() {
        let steady = |kind: &str| {
            let source = format!(
                "{{% for m in messages %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% for c in m.tool_calls %}}<call {{{{ c.function.name }}}}>\
                 {{% for k, v in c.function.arguments.items() %}}{{% set of = namespace(type='any') %}}{{% for t in tools or [] if \
                 t.function.name == c.function.name %}}{{% set of.type = t.function.parameters.properties[k].type %}}{{% endfor %}}\
                 <arg={{{{ k }}}} type={{{{ {kind} }}}}>{{{{ v | tojson }}}}</arg>{{% endfor %}}</call>{{% endfor %}}<end>{{% endfor %}}"
            );
            let text = "<arg=k type=integer>".to_owned();
            with_prober(&source, |prober| with_calls(&Varying::default(), prober).steady(text))
        };
        assert_eq!(steady("of.type"), "<arg=k type=\u{fdd2}>");
        // A word of the template's own.
        assert_eq!(steady("'text' if of.type == 'string' else 'data'"), "<arg=k type=integer>");
    }

    #[test]
    fn numbers_of_calls_vary_around_each_call() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}\
                      <do_{{ loop.index }}>{{ c.function.name }}{{ c.function.arguments | tojson }}\
                      </do_{{ loop.index }}>{% endfor %}<end>{% endfor %}";
        with_prober(source, |prober| {
            let counted = with_calls(&Varying::default(), prober);
            assert_eq!(counted.steady("<do_7>f</do_12>".to_owned()), "<do_\u{fdd0}>f</do_\u{fdd0}>");
            assert_eq!(Varying::default().steady("<do_7>".to_owned()), "<do_7>");
        });
    }
}
