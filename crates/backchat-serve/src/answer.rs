//! One choice of an answer: text of the engine in, deltas of the message out, and the data for the record.

use crate::fault::Fault;
use crate::reply::End;
use backchat_core::json::{Object, Value};
use backchat_parser::deltas::{CallDelivery, Delta, Deltas};
use backchat_parser::parser::{Parser, Problem};

/// The most text of one answer, in bytes.
const MOST_TEXT: usize = 16 << 20;

/// One choice as it is written.
#[derive(Debug)]
pub struct Answer {
    parser: Option<Parser>,
    state: Deltas,
    /// The lengths of the pieces in code points, and when each arrived.
    chunks: Vec<(u32, u32)>,
    /// The message as the response template reads it, once the answer is over.
    message: Object,
    problems: Vec<Problem>,
    /// Whether a filter of the engine ended it.
    is_filtered: bool,
}

impl Answer {
    /// Begins an answer. The parser has the prompt. A region that the prompt opened belongs to the answer, unless it
    /// `continues` a message that the client already has.
    pub fn new(parser: Parser, continues: bool, delivery: CallDelivery, sink: &mut impl FnMut(Delta<'_>)) -> Self {
        let mut state = Deltas::new(&parser, delivery);
        for event in parser.initial_events() {
            if continues { state.take(event.borrowed(), &mut |_| {}) } else { state.take(event.borrowed(), sink) }
        }
        if continues {
            state.skip_prompt();
        }
        Self {
            parser: Some(parser),
            state,
            chunks: Vec::new(),
            message: Object::new(),
            problems: Vec::new(),
            is_filtered: false,
        }
    }

    /// Feeds a piece of the engine's text, which arrived after this many milliseconds. Fails if the text is too long,
    /// or exceeds the step limit of a pattern.
    pub fn feed(&mut self, piece: &str, after_ms: u32, sink: &mut impl FnMut(Delta<'_>)) -> Result<(), Fault> {
        let Some(parser) = &mut self.parser else { return Ok(()) };
        if self.state.text().len() + piece.len() > MOST_TEXT {
            return Err(Fault::LongAnswer(MOST_TEXT));
        }
        self.state.add_text(piece);
        self.chunks.push((u32::try_from(piece.chars().count()).unwrap_or(u32::MAX), after_ms));
        let state = &mut self.state;
        parser.feed_into(piece, &mut |event| state.take(event, sink)).map_err(Fault::Unreadable)
    }

    /// Ends the answer. Fails if the text exceeds the step limit of a pattern.
    pub fn finish(&mut self, end: End, sink: &mut impl FnMut(Delta<'_>)) -> Result<(), Fault> {
        let Some(parser) = self.parser.take() else { return Ok(()) };
        if end != End::Stop {
            self.state.cut_off();
        }
        self.is_filtered = end == End::Filter;
        let state = &mut self.state;
        let finished = parser.finish_into(&mut |event| state.take(event, sink)).map_err(Fault::Unreadable)?;
        self.message = finished.message;
        self.problems = finished.problems;
        Ok(())
    }

    /// The finish reason in OpenAI's protocol.
    pub fn finish_reason(&self) -> &'static str {
        if self.is_filtered { "content_filter" } else { self.state.finish_reason() }
    }

    /// Whether the model is thinking.
    pub fn is_reasoning(&self) -> bool {
        self.state.is_reasoning()
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The message with the response template's field names; that of the text so far if the answer was interrupted.
    pub fn message(&self) -> Object {
        self.parser.as_ref().map_or_else(|| self.message.clone(), Parser::message)
    }

    /// All text of the engine.
    pub fn text(&self) -> &str {
        self.state.text()
    }

    /// The lengths of the pieces in code points, and the milliseconds after which they arrived.
    pub fn chunks(&self) -> &[(u32, u32)] {
        &self.chunks
    }
}

/// The problems, for the record and clients.
pub fn problem_values(problems: &[Problem], more: &[Value]) -> Vec<Value> {
    problems.iter().map(Problem::to_value).chain(more.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_parser::parser::Options;
    use backchat_parser::template::Template;

    const TEMPLATE: &str = r#"{
        "version": 1, "defaults": {"role": "assistant"}, "start_anchor": "<bot>",
        "fields": {
            "thinking": {"open": "<t>", "close": "</t>"},
            "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
            "content": {"close": "<end>"}
        }
    }"#;

    /// What a client assembles from a text in pieces of this size: reasoning, content, calls; and the finish reason.
    fn assembled(text: &str, size: usize, end: End) -> (String, String, Vec<(String, String)>, &'static str) {
        assembled_by(CallDelivery::Growing, text, size, end).0
    }

    type Assembled = (String, String, Vec<(String, String)>, &'static str);

    /// The same, and how many deltas of arguments there were.
    fn assembled_by(delivery: CallDelivery, text: &str, size: usize, end: End) -> (Assembled, usize) {
        let template = Template::load(TEMPLATE).unwrap().template;
        let (mut reasoning, mut content, mut calls) = (String::new(), String::new(), Vec::new());
        let mut pieces = 0;
        let mut sink = |delta: Delta<'_>| match delta {
            Delta::Reasoning(text) => reasoning.push_str(text),
            Delta::Content(text) => content.push_str(text),
            Delta::Call { index, name, .. } => {
                assert_eq!(index, calls.len());
                calls.push((name.to_owned(), String::new()));
            }
            Delta::Arguments { index, text } => {
                pieces += 1;
                calls[index].1.push_str(text);
            }
        };
        let parser = Parser::new(&template, "<bot>", Options::default().grow_calls(true)).unwrap();
        let mut answer = Answer::new(parser, false, delivery, &mut sink);
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            answer.feed(&piece.iter().collect::<String>(), 1, &mut sink).unwrap();
        }
        answer.finish(end, &mut sink).unwrap();
        assert_eq!(answer.text(), text);
        assert_eq!(answer.chunks().iter().map(|(length, _)| *length as usize).sum::<usize>(), text.chars().count());
        let reason = answer.finish_reason();
        ((reasoning, content, calls, reason), pieces)
    }

    #[test]
    fn joined_deltas_are_the_message_however_the_text_is_cut() {
        let call = r#"<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        let text = format!("<t>\n Hm. Yes \n</t>\n\nWell,  then. \n{call}{call}<end>\n");
        let pay = ("pay".to_owned(), "{\"sum\": 1000}".to_owned());
        for size in [1, 2, 3, 5, 1000] {
            let (reasoning, content, calls, reason) = assembled(&text, size, End::Stop);
            assert_eq!((reasoning.as_str(), content.as_str()), ("Hm. Yes", "Well,  then."), "in pieces of {size}");
            assert_eq!((calls, reason), (vec![pay.clone(); 2], "tool_calls"), "in pieces of {size}");
        }
    }

    #[test]
    fn a_malformed_call_is_content() {
        let broken = r#"<call>{"name" "pay"}</call>"#;
        for size in [1, 4, 1000] {
            let (_, content, calls, reason) = assembled(&format!("{broken}<end>"), size, End::Stop);
            assert_eq!((content.as_str(), calls.len(), reason), (broken, 0, "stop"), "in pieces of {size}");
        }
    }

    #[test]
    fn calls_may_be_sent_whole() {
        let call = r#"<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        let broken = r#"<call>{"name": "pay", "arguments": {"sum" 1}}</call>"#;
        let unended = r#"<call>{"name": "pay", "arguments": {"sum": 1"#;
        let pay = ("pay".to_owned(), "{\"sum\": 1000}".to_owned());
        let whole = |text: &str, size, end| assembled_by(CallDelivery::Whole, text, size, end);
        for size in [1, 4, 1000] {
            let ((_, content, calls, reason), pieces) = whole(&format!("Hm.{call}{broken}{call}"), size, End::Stop);
            // Text after a call does not belong to the content before it, so only the malformed call is added.
            assert_eq!(content, format!("Hm.{broken}"), "in pieces of {size}");
            assert_eq!((calls, reason, pieces), (vec![pay.clone(); 2], "tool_calls", 2), "in pieces of {size}");
            let ((_, content, calls, reason), _) = whole(&format!("{call}{unended}"), size, End::Length);
            assert_eq!((content.as_str(), calls, reason), ("", vec![pay.clone()], "length"), "in pieces of {size}");
        }
    }

    #[test]
    fn a_call_is_settled_if_it_is_complete_or_cut_off() {
        let broken = r#"<call>{"name": "pay", "arguments": {"sum" 1}}</call>"#;
        let unended = r#"<call>{"name": "pay", "arguments": {"sum": 1"#;
        let settled = |text: &str, size, end| assembled_by(CallDelivery::Settled, text, size, end).0;
        for size in [1, 4, 1000] {
            let (_, content, calls, reason) = settled(&format!("Hm.{broken}"), size, End::Stop);
            assert_eq!((content, calls.len(), reason), (format!("Hm.{broken}"), 0, "stop"), "in pieces of {size}");
            let (_, content, calls, reason) = settled(unended, size, End::Length);
            // A number that may go on is not sent.
            let cut = ("pay".to_owned(), "{\"sum\": ".to_owned());
            assert_eq!((content.as_str(), calls, reason), ("", vec![cut], "length"), "in pieces of {size}");
            // The limit came behind the call.
            let (_, content, calls, reason) = settled(broken, size, End::Length);
            assert_eq!((content.as_str(), calls.len(), reason), (broken, 0, "length"), "in pieces of {size}");
            // Without the engine's word that it reached its limit, the model wrote a broken call.
            let (_, content, calls, reason) = settled(unended, size, End::Stop);
            assert_eq!((content.as_str(), calls.len(), reason), (unended, 0, "stop"), "in pieces of {size}");
        }
    }

    #[test]
    fn an_answer_cut_at_the_limit_is_never_whole() {
        let text = r#"<t>Hm</t>Well.<call>{"name": "pay", "arguments": {"sum": 1000}}</call>"#;
        for end in 0..text.len() {
            let (_, content, calls, reason) = assembled(&text[..end], 3, End::Length);
            // The beginning of a marker is text until the rest of it comes.
            let (said, marker) = content.split_at(content.find('<').unwrap_or(content.len()));
            assert!("Well.".starts_with(said) && text[..end].ends_with(marker), "{}", &text[..end]);
            assert_eq!(reason, "length", "{}", &text[..end]);
            for (_, arguments) in calls {
                let is_whole = backchat_core::json::read(&arguments).is_ok();
                assert!(!is_whole || text[..end].ends_with('}') || text[..end].contains("}<"), "{}", &text[..end]);
                assert!("{\"sum\": 1000}".starts_with(&arguments), "{}", &text[..end]);
            }
        }
    }
}
