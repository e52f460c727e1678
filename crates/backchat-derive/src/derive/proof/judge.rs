//! Parses every case back with a template, and classifies differences as failures of the template or losses of the wire
//! format.

use std::sync::Arc;

use super::boundary::{self, Parse, Region};
use super::case::Case;
use super::conversations::tools;
use super::reading::{Part, answer_of, changed_argument, difference, is_moved, message_of, reasoning_field};
use super::unreadable::Misread;
use super::verdict::{Failure, Fate, Loss};
use crate::derive::recorded;
use backchat_chat::charge;
use backchat_core::diagnostic::shortened;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Options, ParseError, Parser, Tools};
use backchat_parser::template::Template;
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Answer, Prober};

/// How many bytes are parsed in the time of one step of the evaluator; each by itself, it is one.
pub(super) const BYTES_PER_STEP: usize = 8;

/// Judges cases with one template.
pub(super) struct Judge<'a, 't> {
    pub template: &'a Template,
    pub tools: Arc<Tools>,
    pub reasoning: Option<&'a str>,
    pub plain: &'a Prober<'t>,
    pub offering: &'a Prober<'t>,
}

/// The proof's tools, as the parser takes them.
pub(super) fn parser_tools() -> Option<Arc<Tools>> {
    tools_of(&tools())
}

pub(super) fn tools_of(tools: &Value) -> Option<Arc<Tools>> {
    Tools::new(tools).map(Arc::new).ok()
}

impl<'a, 't> Judge<'a, 't> {
    pub fn new(template: &'a Template, tools: Arc<Tools>, plain: &'a Prober<'t>, offering: &'a Prober<'t>) -> Self {
        Self { template, tools, reasoning: reasoning_field(template), plain, offering }
    }

    /// The result of a case: with and without the stop token, whole and one character at a time.
    pub fn fate(&self, case: &Case) -> Fate {
        let mut lost = None;
        let mut whole: Vec<(&str, Object)> = Vec::new();
        for text in [Some(&case.text), case.unstopped.as_ref()].into_iter().flatten() {
            let (message, events, offset) = match self.read(&case.prefix, text) {
                Ok(read) => read,
                Err(error) => return self.failed(case, text, Part::Content, &error.to_string(), Value::Null),
            };
            // A malformed region is an error in the reference implementation, even if the message is right.
            let broken = events.iter().any(|event| matches!(event, Event::Malformed { .. })).then_some(Part::Calls);
            let part = difference(&case.expected, &message, self.reasoning, &case.prompted);
            let is_same = part.is_none();
            if let Some(part) = part.or(broken) {
                let is_opened = self.is_opened_by_prompt(&events, offset);
                let loss = || self.loss(case, part, &message, is_opened).filter(|_| !is_same);
                let Judge { template, reasoning, .. } = *self;
                let misread = Misread { case, part, message: &message, events: &events, template, reasoning };
                match loss().or_else(|| misread.loss().filter(|_| !is_same)) {
                    Some(loss) => lost = Some(loss),
                    None => {
                        let kept = slice(&case.prefix, case.prefix.len().saturating_sub(offset)..);
                        let read = format!("{kept}{text}");
                        let parse = Parse::new(&case.expected, &events, &read, offset);
                        let boundary = parse.wrong_boundary(part, &message, self.reasoning);
                        let failure = self.failure(case, text, part, part.describe(), Value::Object(message));
                        return Fate::Failed(Box::new(Failure { boundary, is_malformed: is_same, ..failure }));
                    }
                }
            }
            whole.push((text, message));
        }
        let singly = match self.read_singly(case) {
            Ok(singly) => singly,
            Err(error) => return self.failed(case, &case.text, Part::Content, &error.to_string(), Value::Null),
        };
        let failed = |text: &str, what: &str, got: Object| {
            let part = difference(&case.expected, &got, self.reasoning, &case.prompted).unwrap_or(Part::Content);
            self.failed(case, text, part, what, Value::Object(got))
        };
        if let (Some(spaced), Some((text, message))) = (singly.spaced, whole.first())
            && spaced != *message
        {
            let text = format!("{text}{}", case.space_after());
            return failed(&text, "the message, which depends on white space after the stop,", spaced);
        }
        for ((text, message), other) in whole.into_iter().zip(singly.messages) {
            if other != message {
                return failed(text, "the message, which depends on where the text is cut,", other);
            }
        }
        lost.map_or(Fate::Passed, Fate::Lost)
    }

    /// A failure without a boundary to blame.
    fn failed(&self, case: &Case, text: &str, part: Part, what: &str, got: Value) -> Fate {
        Fate::Failed(Box::new(self.failure(case, text, part, what, got)))
    }

    fn failure(&self, case: &Case, text: &str, part: Part, what: &str, got: Value) -> Failure {
        let expected = message_of(&case.expected, self.reasoning);
        Failure { text: text.to_owned(), ..Failure::new(case, part, what.to_owned(), expected, got) }
    }

    fn options(&self) -> Options {
        Options::default().tools(Some(self.tools.clone()))
    }

    /// Reads a case one character at a time.
    fn read_singly(&self, case: &Case) -> Result<Singly, ParseError> {
        charge(case.text.len());
        let mut parser = Parser::new(self.template, &case.prefix, self.options())?;
        let mut unstopped = None;
        for (at, c) in case.text.char_indices() {
            if case.unstopped.as_ref().is_some_and(|text| text.len() == at) {
                unstopped = Some(parser.clone());
            }
            parser.feed_into(slice(&case.text, at..at + c.len_utf8()), &mut |_| {})?;
        }
        let space = case.space_after();
        let spaced = (!space.is_empty()).then(|| parser.clone());
        let end = |parser: Parser| Ok(parser.finish_into(&mut |_| {})?.message);
        let feed_space = |mut parser: Parser| {
            parser.feed_into(space, &mut |_| {})?;
            end(parser)
        };
        Ok(Singly {
            spaced: spaced.map(feed_space).transpose()?,
            messages: std::iter::once(parser).chain(unstopped).map(end).collect::<Result<_, _>>()?,
        })
    }

    /// The message, the events, and how much of the prompt's end the parser read.
    pub fn read(&self, prefix: &str, text: &str) -> Result<(Object, Vec<Event>, usize), ParseError> {
        charge((prefix.len() + text.len()) / BYTES_PER_STEP);
        let (finished, offset) = recorded::parse(self.template, prefix, [text], self.options())?;
        Ok((finished.message, finished.events, offset))
    }

    /// Whether a message is the expected one of a case.
    pub fn is_same(&self, case: &Case, expected: &Answer, message: &Object) -> bool {
        difference(expected, message, self.reasoning, &case.prompted).is_none()
    }

    /// The regions that the template reads in a case, in bytes of the turn.
    pub fn regions(&self, case: &Case) -> Option<Vec<Region>> {
        let (_, events, offset) = self.read(&case.prefix, &case.text).ok()?;
        let mut regions = boundary::regions(&events);
        regions.retain(|region| region.malformed.is_none());
        for span in regions.iter_mut().flat_map(|region| [&mut region.open, &mut region.body, &mut region.close]) {
            (span.start, span.end) = (span.start.saturating_sub(offset), span.end.saturating_sub(offset));
        }
        Some(regions)
    }

    /// Whether the prompt opened the reasoning that the text continues.
    fn is_opened_by_prompt(&self, events: &[Event], offset: usize) -> bool {
        events.iter().any(|event| {
            matches!(event, Event::Open { field, span, .. } if Some(&**field) == self.reasoning && span.start < offset)
        })
    }

    /// A loss of the wire format: the message has as much structure as the answer, and renders to the same bytes.
    fn loss(&self, case: &Case, part: Part, message: &Object, is_opened: bool) -> Option<Loss> {
        let mut answer = answer_of(&case.expected, message, self.reasoning)?;
        let mark = mark_in_text(part, &case.expected, &answer);
        let is_moved = is_moved(&case.expected, answer.content.as_deref(), answer.reasoning.as_deref());
        if is_moved && is_opened && self.plain.reasoning_input().is_none() {
            // The prompt opens reasoning, and the template writes reasoning and answer as one text.
            answer.content = answer.reasoning.take();
        }
        // A part that the text does not show belongs to the conversation, not to the message.
        let shown = case.expected.calls.iter().map(|call| !call.id.is_empty());
        for ((call, said), is_shown) in answer.calls.iter_mut().zip(&case.said.calls).zip(shown) {
            if call.id.is_empty() && !is_shown {
                call.id.clone_from(&said.id);
            }
        }
        if case.drops_content {
            answer.content.clone_from(&case.said.content);
        }
        let mut pairs = answer.calls.iter().zip(&case.expected.calls);
        let is_more = pairs.any(|(got, call)| got.arguments.len() > call.arguments.len());
        let prober = case.prober(self.plain, self.offering);
        let renders_alike =
            |answer| prober.render(&case.with(answer), &case.setting, false).is_some_and(|text| text == case.whole);
        if !renders_alike(with_space_of(&case.said, &answer)) && !renders_alike(answer) {
            return None;
        }
        let message = match (part, changed_argument(&case.expected, message)) {
            (Part::Arguments, Some((_, wanted, _))) if is_more => {
                format!("{} is written like several arguments", described(wanted))
            }
            (Part::Arguments, Some((_, wanted, got))) => {
                format!("{} and {} are written alike", described(wanted), described(got))
            }
            (Part::Arguments, None) => "null and an absent value are written alike".to_owned(),
            (Part::Id, _) if case.expected.calls.iter().any(|call| call.id.is_empty()) => {
                "a call without an id comes back with its name as one".to_owned()
            }
            _ if is_moved => "content and reasoning are written alike".to_owned(),
            _ => match &mark {
                Some(mark) => format!("`{mark}` comes back as {}", part.name()),
                None => format!("another {} is written alike", part.name()),
            },
        };
        Some(Loss { has_mark: mark.is_some(), ..Loss::new(part, message, &case.text) })
    }
}

/// The marker at an edge of a text that came back as a part of it. A template that writes it beside some texts writes any text
/// with it alike, which is no reason not to read it.
fn mark_in_text(part: Part, expected: &Answer, got: &Answer) -> Option<String> {
    let texts = |answer: &Answer| match part {
        Part::Content => answer.content.clone(),
        Part::Reasoning => answer.reasoning.clone(),
        _ => None,
    };
    let (wanted, got) = (texts(expected)?, texts(got)?);
    let wanted = Some(wanted.trim()).filter(|wanted| !wanted.is_empty())?;
    // A mark may contain the text, if that is short.
    let edges = got.match_indices(wanted).flat_map(|(at, _)| [slice(&got, ..at), slice(&got, at + wanted.len()..)]);
    let mark = edges.map(str::trim).find(|text| Segmentation::Words.is_distinctive(text));
    mark.map(|text| shortened(text, 60).into_owned())
}

/// The messages of a case that is read one character at a time.
struct Singly {
    /// With the stop token and, if it has one, without.
    messages: Vec<Object>,
    /// With the white space that renders write after the stop, if they do: an engine may return it.
    spaced: Option<Object>,
}

/// An answer with the white space around the texts of another one: parsers may trim it.
fn with_space_of(said: &Answer, answer: &Answer) -> Answer {
    let spaced = |text: &Option<String>, said: &Option<String>| {
        let (text, said) = (text.as_deref()?.trim(), said.as_deref().unwrap_or_default());
        let (before, after) = (said.len() - said.trim_start().len(), said.trim_end().len());
        Some(format!("{}{text}{}", slice(said, ..before), slice(said, after.max(before)..)))
    };
    Answer {
        content: spaced(&answer.content, &said.content),
        reasoning: spaced(&answer.reasoning, &said.reasoning),
        calls: answer.calls.clone(),
    }
}

/// A value with the name of its type.
fn described(value: &Value) -> String {
    let kind = match value {
        Value::String(_) => "the text",
        Value::Null => "",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::List(_) => "the list",
        Value::Object(_) => "the object",
    };
    format!("{kind} {}", shortened(&value.to_string(), 60)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Proof;
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, value, with_proof};
    use backchat_probe::probe::Answer;

    /// The outcome of the conversation with this name.
    fn outcome(proof: &Proof<'_>, json: &str, name: &str) -> Fate {
        let template = template(json);
        let judge = Judge::new(&template, proof.tools.clone(), &proof.plain, &proof.offering);
        let case = proof.cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("{name}"));
        judge.fate(case)
    }

    fn failed(outcome: Fate) -> Failure {
        match outcome {
            Fate::Failed(failure) => *failure,
            Fate::Passed => panic!("it passed"),
            Fate::Lost(loss) => panic!("it was lost: {}", loss.message),
        }
    }

    #[test]
    fn a_template_that_reads_the_turn_passes() {
        with_proof(CHAT, |proof| {
            assert!(matches!(outcome(&proof, ANSWER, "signs after a question"), Fate::Passed));
        });
    }

    #[test]
    fn a_wrong_delimiter_fails_at_its_boundary() {
        with_proof(CHAT, |proof| {
            let wrong = ANSWER.replace("\"<end>\"", "\"Buy\"");
            let failure = failed(outcome(&proof, &wrong, "paragraphs after a question"));
            assert_eq!((failure.part, failure.count), (Part::Content, 1));
            let boundary = failure.boundary.unwrap();
            assert_eq!(slice(&failure.text, boundary.at..), "<end>", "it should have ended there");
            assert!(boundary.describe().contains("\"Buy\" closed it"), "{}", boundary.describe());
        });
    }

    #[test]
    fn a_turn_must_also_be_read_without_its_stop() {
        with_proof(CHAT, |proof| {
            // The close is needed: without the stop the region stays open, and is still content.
            let needs = ANSWER.replace(
                r#""content": {"close": "<end>""#,
                r#""content": {"open_pattern": "(?=.*<end>)", "close": "<end>""#,
            );
            let failure = failed(outcome(&proof, &needs, "signs after a question"));
            assert!(!failure.text.ends_with("<end>"), "{}", failure.text);
        });
    }

    #[test]
    fn a_difference_that_renders_to_the_same_bytes_is_a_loss() {
        let starred = CHAT.replace("{{ m.content }}", "{{ m.content | replace('- ', '* ') }}");
        with_proof(&starred, |proof| {
            let Fate::Lost(loss) = outcome(&proof, ANSWER, "paragraphs after a question") else {
                panic!("the template itself writes another sign")
            };
            assert_eq!((loss.part, loss.message.as_str()), (Part::Content, "another content is written alike"));
        });
    }

    #[test]
    fn a_marker_that_comes_back_as_text_is_named() {
        let texts = |content: &str| Answer::content(content).with_reasoning("Hm.");
        for (part, got, mark) in [
            (Part::Content, texts("Yes!<glad>"), Some("<glad>")),
            (Part::Content, texts("<object>Yes!</object>"), Some("<object>")),
            (Part::Content, texts("<Yes!>Yes!"), Some("<Yes!>")),
            (Part::Content, texts("Yes!?"), None),
            (Part::Content, texts("No!<glad>"), None),
            (Part::Reasoning, texts("Yes!").with_reasoning("Hm.\n<sure>"), Some("<sure>")),
            (Part::Calls, texts("Yes!<glad>"), None),
        ] {
            assert_eq!(mark_in_text(part, &texts("Yes!"), &got).as_deref(), mark, "{got:?}");
        }
    }

    #[test]
    fn a_text_gets_back_the_white_space_that_was_trimmed() {
        for (text, said, wanted) in [
            ("a b", "a\tb \n", "a b \n"),
            ("a b", " \ta\tb", " \ta b"),
            (" a b", "\na\tb", "\na b"),
            ("a", " \n", " \na"),
            ("a ", "b", "a"),
        ] {
            let spaced = with_space_of(&Answer::content(said), &Answer::content(text).with_reasoning(text));
            let texts = (spaced.content.as_deref(), spaced.reasoning.as_deref());
            assert_eq!(texts, (Some(wanted), Some(text.trim())), "{text:?} for {said:?}");
        }
    }

    #[test]
    fn content_that_is_written_like_reasoning_is_a_loss() {
        let planned = "{% for m in messages %}<{{ m.role }}>{% if m.tool_calls %}<weigh>{{ m.thinking or m.content }}</weigh>\
                       {% for c in m.tool_calls %}<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": \
                       {{ c.function.arguments | tojson }}}</call>{% endfor %}{% else %}{{ m.content }}{% endif %}<end>\
                       {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        with_proof(planned, |proof| {
            let answer = ANSWER.replace("\"reasoning_content\"", "\"thinking\"");
            let Fate::Lost(loss) = outcome(&proof, &answer, "an answer and a call after a question") else {
                panic!("the template writes content beside a call where it writes reasoning")
            };
            assert_eq!((loss.part, loss.message.as_str()), (Part::Content, "content and reasoning are written alike"));
        });
    }

    #[test]
    fn content_after_a_prompt_that_opens_reasoning_is_a_loss_if_no_render_has_reasoning() {
        let opens = "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}<weigh>{% endif %}{{ m.content }}<end>\
                     {% endfor %}{% if add_generation_prompt %}<assistant><weigh>{% endif %}";
        let answer = ANSWER.replace("\"close\": \"</weigh>\"", "\"close\": [\"</weigh>\", \"<end>\"]");
        with_proof(opens, |proof| {
            assert!(matches!(outcome(&proof, &answer, "signs after a question"), Fate::Lost(_)));
        });
        // Renders with reasoning tell the two apart.
        let closes = "{% if m.thinking %}{{ m.thinking }}</weigh>{% endif %}{{ m.content }}";
        with_proof(&opens.replace("{{ m.content }}", closes), |proof| {
            failed(outcome(&proof, &answer, "signs after a question"));
        });
    }

    #[test]
    fn arguments_encoded_twice_come_back_as_json_text() {
        let twice = CHAT.replace("c.function.arguments | tojson", "c.function.arguments | tojson | tojson");
        let answers = ["a call with quotes after a question", "reasoning, an answer and two calls after a question"];
        for (chat, is_lost) in [(twice.as_str(), true), (CHAT, false)] {
            with_proof(chat, |proof| {
                for name in answers {
                    match outcome(&proof, ANSWER, name) {
                        Fate::Lost(loss) => {
                            assert!(is_lost && loss.part == Part::Arguments, "{name}: {}", loss.message);
                            assert!(loss.message.contains("come back as JSON text"), "{name}: {}", loss.message);
                        }
                        Fate::Passed => assert!(!is_lost, "{name}"),
                        Fate::Failed(failure) => panic!("{name}: {}", failure.describe()),
                    }
                }
            });
        }
        // The text of an object that the chat template writes once is the response template's fault.
        let as_text =
            ANSWER.replace("\"<call>\"", "\"<call>{\\\"name\\\": \\\"(?P<name>[^\\\"]+)\\\", \\\"arguments\\\": \"");
        let as_text = as_text.replace("\"open\": \"<call>{", "\"open_pattern\": \"<call>\\\\{");
        let as_text = as_text.replace("\"</call>\"", "\"}</call>\"").replace("\"json\"", "\"text\"");
        let as_text = as_text.replace("{content.name}", "{name}").replace("{content.arguments}", "{content}");
        with_proof(CHAT, |proof| {
            assert_eq!(failed(outcome(&proof, &as_text, "a call with signs after a question")).part, Part::Arguments);
        });
    }

    #[test]
    fn a_string_that_is_written_like_several_arguments_is_a_loss() {
        let pairs = "<call>{{ c.function.name }}?{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}\
                     {{ '&' if not loop.last }}{% endfor %}</call>";
        let (before, rest) = CHAT.split_once("<call>").unwrap();
        let queried = format!("{before}{pairs}{}", rest.split_once("</call>").unwrap().1);
        let answer = r#"{"start_anchor": "<assistant>", "fields": {
            "reasoning_content": {"open": "<weigh>", "close": "</weigh>"},
            "tool_calls": {"open_pattern": "<call>(?P<name>[^?]+)\\?", "close": "</call>", "repeats": true,
                "content": "xml-inline", "content_args": {"tag_pattern": "(?P<key>\\w+)=(?P<value>.*?)(?=&\\w+=|\\Z)"},
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}},
            "content": {"close": "<end>"}}}"#;
        with_proof(&queried, |proof| {
            let Fate::Lost(loss) = outcome(&proof, answer, "a call with the text between arguments after a question")
            else {
                panic!("the render does not say where the value ends")
            };
            assert_eq!(loss.message, "the text \"Ghent&zip=Brno\" is written like several arguments");
        });
    }

    #[test]
    fn a_string_of_which_only_some_signs_are_escaped_is_a_loss() {
        let replaced = |escapes: &str| {
            let string = format!("{{{{ '\"' + v | string {escapes} + '\"' }}}}");
            let members = format!("{{% for k, v in c.function.arguments.items() %}}\"{{{{ k }}}}\": {string}");
            let members = format!("{members}{{{{ ', ' if not loop.last }}}}{{% endfor %}}");
            CHAT.replace("{{ c.function.arguments | tojson }}", &format!("{{{{ '{{' }}}}{members}{{{{ '}}' }}}}"))
        };
        let (slash, quote) = (r"| replace('\\', '\\\\')", r#"| replace('"', '\\"')"#);
        let line = r"| replace('\n', '\\n')";
        let space = r"| replace('\t', '\\t') | replace('\r', '\\r')";
        for (escapes, lost) in [
            (format!("{slash}{quote}{line}"), [true, false]),
            (format!("{quote}{line}{space}"), [false, true]),
            (format!("{slash}{quote}{line}{space}"), [false, false]),
        ] {
            with_proof(&replaced(&escapes), |proof| {
                let names = ["white space", "a backslash"]
                    .map(|what| format!("a call with quotes and {what} after a question"));
                let shown = names.each_ref().map(|name| proof.cases.iter().any(|case| case.name == *name));
                assert_eq!(shown, lost, "{escapes}");
                for (name, _) in names.iter().zip(shown).filter(|(_, is_shown)| *is_shown) {
                    let Fate::Lost(loss) = outcome(&proof, ANSWER, name) else { panic!("{escapes}: {name} is read") };
                    assert!(loss.message.contains("only some of its signs"), "{}", loss.message);
                }
            });
        }
    }

    #[test]
    fn a_value_is_described_with_its_type() {
        for (json, words) in [
            ("\"5\"", "the text \"5\""),
            ("5", "the number 5"),
            ("true", "the boolean true"),
            ("null", "null"),
            ("[]", "the list []"),
            ("{}", "the object {}"),
        ] {
            assert_eq!(described(&value(json)), words);
        }
    }
}
