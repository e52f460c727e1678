//! Reads an engine's stream: bytes in, pieces of text and the end out, however the bytes are cut.
//!
//! Every event of every engine is one line, so a line is read as soon as it is whole: server-sent events with or
//! without a space after `data:`, comments between them, and plain lines of JSON.

use crate::engine::Engine;
use crate::fault::Fault;
use crate::request::MOST_CHOICES;
use backchat_core::json::{self, Object, Value};

/// The byte order mark that a stream may begin with.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The longest line: the last event of llama.cpp repeats the prompt.
const LONGEST_LINE: usize = 64 << 20;

/// Why an engine ended an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended it, or a stop text did.
    Stop,
    /// The token limit.
    Length,
    /// A filter of the engine.
    Filter,
}

/// The token counts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The tokens of the prompt.
    pub prompt: u64,
    /// The tokens of all choices.
    pub completion: u64,
    /// Those of reasoning among them; `None` if the engine does not count as it writes.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// In the format of the chat API.
    pub fn to_value(self) -> Value {
        let mut counts = Object::new();
        counts.insert("prompt_tokens", self.prompt.into());
        counts.insert("completion_tokens", self.completion.into());
        counts.insert("total_tokens", self.total().into());
        if let Some(reasoning) = self.reasoning {
            counts.insert("completion_tokens_details", Value::from([("reasoning_tokens", reasoning.into())]));
        }
        Value::Object(counts)
    }

    pub fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// A reply of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// About one choice.
    Choice(usize, Update),
    /// The token counts of all choices.
    Usage(Usage),
    /// The end of the stream.
    Done,
}

/// An update of a choice.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// More text; never empty.
    Text(String),
    /// The log probabilities of more tokens, in the format of the chat API; before their text.
    Logprobs(Vec<Value>),
    /// The ids of more tokens.
    Tokens(Vec<u64>),
    /// The tokens until now.
    Usage(Usage),
    /// The stop text that is about to end it.
    Stop(String),
    End(End),
    /// The engine gave it up, for this reason.
    Failed(String),
}

/// The reader of one stream.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    engine: Engine,
    /// Whether the events contain pieces rather than all text so far.
    pieces: bool,
    /// The beginning of a line.
    line: Vec<u8>,
    /// Whether no line was read.
    is_first: bool,
    /// The bytes already read of each choice, if events repeat them.
    known: Vec<usize>,
    /// The number of the choice that is the stream's first.
    first: usize,
    /// The most alternatives that a token has in the log probabilities.
    alternatives: usize,
}

impl ReplyReader {
    /// A reader for one stream of an engine. `pieces`: its events contain only new text, as with all engines but one.
    pub fn new(engine: Engine, pieces: bool, first: usize) -> Self {
        Self { engine, pieces, line: Vec::new(), is_first: true, known: Vec::new(), first, alternatives: 0 }
    }

    /// Gives each token's log probability up to this many alternatives. Engines list more than they are asked for.
    #[must_use]
    pub fn with_alternatives(self, most: u64) -> Self {
        Self { alternatives: usize::try_from(most).unwrap_or(usize::MAX), ..self }
    }

    /// Feeds bytes as received. If the engine reports an error, or sends invalid data, earlier replies are in
    /// `replies`.
    pub fn feed(&mut self, bytes: &[u8], replies: &mut Vec<Reply>) -> Result<(), Fault> {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.read(line, replies)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.read(&whole, replies)?;
                whole.clear();
                self.line = whole;
            }
        }
        if self.line.len() + rest.len() > LONGEST_LINE {
            return Err(Fault::LongLine(LONGEST_LINE));
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Reads a last line that does not end.
    pub fn finish(&mut self, replies: &mut Vec<Reply>) -> Result<(), Fault> {
        let line = std::mem::take(&mut self.line);
        self.read(&line, replies)
    }

    fn read(&mut self, line: &[u8], replies: &mut Vec<Reply>) -> Result<(), Fault> {
        let line = if std::mem::take(&mut self.is_first) { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        let line = line.trim_ascii();
        let data = match self.engine {
            Engine::Ollama => line,
            _ => match line.strip_prefix(b"data:") {
                Some(data) => data.trim_ascii_start(),
                // Not a stream: an answer as a whole, or an error.
                None if line.starts_with(b"{") => line,
                None => return Ok(()),
            },
        };
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            replies.push(Reply::Done);
            return Ok(());
        }
        let text = str::from_utf8(data).map_err(|_| Fault::NotText)?;
        let event = json::read(text).map_err(Fault::NotJson)?;
        if let Some(message) = event.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Reported(error_text(message)));
        }
        match self.engine {
            Engine::LlamaCpp => self.llama_cpp(&event, replies),
            Engine::Vllm | Engine::OpenAi => self.open_ai(&event, replies),
            Engine::Sglang => self.sglang(&event, replies),
            Engine::Tgi => self.tgi(&event, replies),
            Engine::Ollama => self.ollama(&event, replies),
        }
        Ok(())
    }

    fn llama_cpp(&self, event: &Value, replies: &mut Vec<Reply>) {
        let mut choice = self.choice(event, replies);
        choice.logprobs(list(event, "completion_probabilities").to_vec(), self.alternatives);
        choice.text(text(event, "content"));
        choice.tokens(event.get("tokens"));
        choice.usage(event, ["tokens_evaluated", "tokens_predicted"]);
        if event.get("stop").and_then(Value::as_bool) == Some(true) {
            choice.stop(event.get("stopping_word"));
            choice.end(event.get("stop_type"), "limit");
        }
    }

    fn open_ai(&self, event: &Value, replies: &mut Vec<Reply>) {
        const NAMES: [&str; 2] = ["prompt_tokens", "completion_tokens"];
        let counts = event.get("usage").filter(|counts| !counts.is_null());
        let choices = event.get("choices").and_then(Value::as_list).unwrap_or_default();
        for one in choices {
            let mut choice = self.choice(one, replies);
            choice.logprobs(one.get("logprobs").map(logprobs).unwrap_or_default(), self.alternatives);
            choice.text(text(one, "text"));
            choice.tokens(one.get("token_ids"));
            if let Some(counts) = counts {
                choice.usage(counts, NAMES);
            }
            if let Some(reason) = one.get("finish_reason").filter(|reason| reason.as_str().is_some()) {
                choice.stop(one.get("stop_reason"));
                choice.end(Some(reason), "length");
            }
        }
        // The counts of all choices come by themselves.
        let all = counts.filter(|_| choices.is_empty()).and_then(|counts| usage(counts, NAMES));
        replies.extend(all.map(Reply::Usage));
    }

    fn sglang(&mut self, event: &Value, replies: &mut Vec<Reply>) {
        let index = index(event);
        let text = text(event, "text");
        if index >= self.known.len() {
            self.known.resize(index + 1, 0);
        }
        let Some(known) = self.known.get_mut(index) else { return };
        let piece = if self.pieces { text } else { text.get(*known..).unwrap_or_default() };
        *known = text.len().max(*known);
        let mut choice = self.choice(event, replies);
        choice.text(piece);
        choice.tokens(event.get("output_ids"));
        let Some(meta) = event.get("meta_info") else { return };
        choice.usage(meta, ["prompt_tokens", "completion_tokens"]);
        if let Some(reason) = meta.get("finish_reason").filter(|reason| !reason.is_null()) {
            choice.stop(reason.get("matched"));
            choice.end(reason.get("type"), "length");
        }
    }

    fn tgi(&self, event: &Value, replies: &mut Vec<Reply>) {
        // It answers with one choice; its `index` is the position of the token.
        let mut choice = Choice { number: self.first, replies };
        if let Some(token) = event.get("token") {
            choice.text(text(token, "text"));
            choice.tokens(token.get("id").cloned().map(|id| Value::List(vec![id])).as_ref());
        }
        if let Some(details) = event.get("details").filter(|details| !details.is_null()) {
            choice.usage(details, ["input_length", "generated_tokens"]);
            choice.end(details.get("finish_reason"), "length");
        }
    }

    fn ollama(&self, event: &Value, replies: &mut Vec<Reply>) {
        let mut choice = self.choice(event, replies);
        choice.text(text(event, "response"));
        if event.get("done").and_then(Value::as_bool) == Some(true) {
            choice.usage(event, ["prompt_eval_count", "eval_count"]);
            choice.end(event.get("done_reason"), "length");
        }
    }

    /// The choice that an event is about.
    fn choice<'r>(&self, event: &Value, replies: &'r mut Vec<Reply>) -> Choice<'r> {
        Choice { number: self.first + index(event), replies }
    }
}

/// The choice that an event updates.
struct Choice<'r> {
    number: usize,
    replies: &'r mut Vec<Reply>,
}

impl Choice<'_> {
    fn add(&mut self, update: Update) {
        self.replies.push(Reply::Choice(self.number, update));
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.add(Update::Text(text.to_owned()));
        }
    }

    fn logprobs(&mut self, mut tokens: Vec<Value>, alternatives: usize) {
        tokens.iter_mut().for_each(|token| keep_likeliest(token, alternatives));
        if !tokens.is_empty() {
            self.add(Update::Logprobs(tokens));
        }
    }

    fn tokens(&mut self, ids: Option<&Value>) {
        let ids: Vec<u64> = ids.and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_u64).collect();
        if !ids.is_empty() {
            self.add(Update::Tokens(ids));
        }
    }

    fn usage(&mut self, counts: &Value, names: [&str; 2]) {
        if let Some(usage) = usage(counts, names) {
            self.add(Update::Usage(usage));
        }
    }

    /// The stop text, which some engines name; others name the token that ended the turn.
    fn stop(&mut self, stop: Option<&Value>) {
        if let Some(text) = stop.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.add(Update::Stop(text.to_owned()));
        }
    }

    /// Ends the choice: at the token limit if `reason` is `limit`. Engines have many names for a proper end.
    fn end(&mut self, reason: Option<&Value>, limit: &str) {
        self.add(match reason.and_then(Value::as_str) {
            Some(reason) if reason == limit => Update::End(End::Length),
            Some("content_filter") => Update::End(End::Filter),
            Some(reason @ ("abort" | "error")) => Update::Failed(reason.to_owned()),
            _ => Update::End(End::Stop),
        });
    }
}

/// The message of an engine's error: text, or an object with one.
pub fn error_text(error: &Value) -> String {
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    message.map_or_else(|| error.to_string(), str::to_owned)
}

fn text<'e>(event: &'e Value, name: &str) -> &'e str {
    event.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'e>(value: &'e Value, name: &str) -> &'e [Value] {
    value.get(name).and_then(Value::as_list).unwrap_or_default()
}

/// The log probabilities of a piece in the format of the chat API, from lists of its tokens, of the probability of each, and of
/// its alternatives.
fn logprobs(given: &Value) -> Vec<Value> {
    let tops = list(given, "top_logprobs");
    let tokens = list(given, "tokens").iter().zip(list(given, "token_logprobs")).enumerate();
    let one = |(at, (token, logprob)): (usize, (&Value, &Value))| {
        let Value::Object(mut entries) = token_logprob(token.as_str().unwrap_or_default(), logprob) else {
            return Value::Null;
        };
        let top = tops.get(at).and_then(Value::as_object).into_iter().flatten();
        entries
            .insert("top_logprobs", Value::List(top.map(|(token, logprob)| token_logprob(token, logprob)).collect()));
        Value::Object(entries)
    };
    tokens.map(one).collect()
}

/// Keeps this many of a token's alternatives: the likeliest, as an engine may list the token itself first.
fn keep_likeliest(token: &mut Value, most: usize) {
    let Value::Object(entries) = token else { return };
    let Some(Value::List(alternatives)) = entries.get_mut("top_logprobs") else { return };
    let logprob = |one: &Value| one.get("logprob").and_then(Value::as_f64).unwrap_or(f64::NEG_INFINITY);
    alternatives.sort_by(|one, other| logprob(other).total_cmp(&logprob(one)));
    alternatives.truncate(most);
}

fn token_logprob(token: &str, logprob: &Value) -> Value {
    // A token may be a part of a character, whose bytes are not known here.
    let is_whole = !token.contains(char::REPLACEMENT_CHARACTER);
    let bytes = is_whole.then(|| Value::List(token.bytes().map(|byte| u64::from(byte).into()).collect()));
    Value::from([("token", token.into()), ("logprob", logprob.clone()), ("bytes", bytes.into())])
}

/// The number of the choice that an event is about, as far as a request can have so many.
fn index(event: &Value) -> usize {
    let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(index.min(MOST_CHOICES)).unwrap_or(0)
}

/// The counts of tokens under these names: of the prompt, and of the answer.
fn usage(counts: &Value, [prompt, completion]: [&str; 2]) -> Option<Usage> {
    let count = |name| counts.get(name)?.as_u64();
    Some(Usage { prompt: count(prompt)?, completion: count(completion)?, reasoning: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, the end and the usage of one choice.
    type Assembled = (String, Option<End>, Option<(u64, u64)>);

    /// The replies of a stream read in pieces of this size; all are about the first choice.
    fn read(engine: Engine, stream: &str, size: usize) -> Result<Assembled, Fault> {
        let mut reader = ReplyReader::new(engine, engine != Engine::Sglang, 2);
        let mut replies = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            reader.feed(piece, &mut replies)?;
        }
        reader.finish(&mut replies)?;
        let (mut text, mut end, mut usage) = (String::new(), None, None);
        for reply in replies {
            assert!(!matches!(reply, Reply::Choice(number, _) if number != 2), "{engine:?}: {reply:?}");
            match reply {
                Reply::Choice(_, Update::Text(more)) => text.push_str(&more),
                Reply::Choice(_, Update::End(reason)) => end = Some(reason),
                Reply::Choice(_, Update::Usage(counts)) | Reply::Usage(counts) => {
                    usage = Some((counts.prompt, counts.completion));
                }
                Reply::Choice(_, Update::Failed(reason)) => return Err(Fault::GivenUp(reason)),
                Reply::Choice(_, Update::Tokens(_) | Update::Stop(_) | Update::Logprobs(_)) | Reply::Done => {}
            }
        }
        Ok((text, end, usage))
    }

    /// An engine that numbers a choice absurdly takes no memory and names no choice.
    #[test]
    fn an_absurd_choice_number_is_clamped() {
        for (engine, event) in [
            (Engine::Sglang, r#"data: {"text": "A", "index": 18446744073709551615}"#),
            (Engine::LlamaCpp, r#"data: {"content": "A", "index": 18446744073709551615}"#),
            (Engine::OpenAi, r#"data: {"choices": [{"text": "A", "index": 18446744073709551615}]}"#),
        ] {
            let mut replies = Vec::new();
            ReplyReader::new(engine, false, 3).feed(format!("{event}\n\n").as_bytes(), &mut replies).unwrap();
            assert_eq!(replies, [Reply::Choice(67, Update::Text("A".to_owned()))], "{engine:?}");
        }
    }

    #[test]
    fn a_stream_reads_the_same_however_its_bytes_are_cut() {
        let streams = [
            (
                Engine::LlamaCpp,
                "data: {\"index\": 0, \"content\": \"Ä🌧\", \"stop\": false}\n\ndata: {\"index\": 0, \"content\": \"!\", \"stop\": true, \
                 \"stop_type\": \"limit\", \"tokens_evaluated\": 3, \"tokens_predicted\": 2}\n\n",
                End::Length,
            ),
            (
                Engine::Vllm,
                "\u{feff}: ping\r\n\r\ndata: {\"choices\": [{\"index\": 0, \"text\": null}]}\r\n\r\ndata: {\"choices\": [{\"index\": 0, \
                 \"text\": \"Ä\\ud83c\\udf27!\", \"finish_reason\": \"stop\"}]}\r\n\r\ndata: {\"choices\": [], \"usage\": \
                 {\"prompt_tokens\": 3, \"completion_tokens\": 2}}\r\n\r\ndata: [DONE]\r\n\r\n",
                End::Stop,
            ),
            (
                Engine::Sglang,
                "data: {\"text\": \"Ä\", \"meta_info\": {\"finish_reason\": null}}\n\ndata: {\"text\": \"Ä🌧!\", \"meta_info\": \
                 {\"finish_reason\": {\"type\": \"length\"}, \"prompt_tokens\": 3, \"completion_tokens\": 2}}\n\n",
                End::Length,
            ),
            (
                Engine::Tgi,
                "data:{\"index\": 1, \"token\": {\"id\": 7, \"text\": \"Ä🌧\", \"special\": false}, \"generated_text\": null, \
                 \"details\": null}\n\ndata:{\"index\": 2, \"token\": {\"id\": 8, \"text\": \"!\", \"special\": false}, \
                 \"generated_text\": \"Ä🌧!\", \"details\": {\"finish_reason\": \"eos_token\", \"generated_tokens\": 2, \
                 \"input_length\": 3}}\n\n",
                End::Stop,
            ),
            // A byte order mark begins the stream, and an answer that is sent whole is no stream.
            (
                Engine::OpenAi,
                "\u{feff}data: {\"choices\": [{\"text\": \"Ä🌧!\", \"finish_reason\": \"content_filter\"}]}\n\ndata: \
                 {\"choices\": [], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 2}}\n\n",
                End::Filter,
            ),
            (
                Engine::OpenAi,
                "{\"choices\": [{\"text\": \"Ä🌧!\", \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": 3, \
                 \"completion_tokens\": 2}}",
                End::Stop,
            ),
            (
                Engine::Ollama,
                "{\"response\": \"Ä🌧\", \"done\": false}\n{\"response\": \"!\", \"done\": true, \"done_reason\": \"stop\", \
                 \"prompt_eval_count\": 3, \"eval_count\": 2}",
                End::Stop,
            ),
        ];
        for (engine, stream, end) in streams {
            for size in [1, 2, 3, 7, 1000] {
                let read = read(engine, stream, size);
                assert_eq!(read, Ok(("Ä🌧!".to_owned(), Some(end), Some((3, 2)))), "{engine:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn log_probabilities_have_the_form_of_the_chat_api() {
        let own = r#"{"token": "<a>", "logprob": -0.5, "bytes": [60, 97, 62], "top_logprobs": [{"token": "<a>", "logprob": -0.5, "bytes": [60, 97, 62]}]}"#;
        let lists =
            r#"{"tokens": ["<a>"], "token_logprobs": [-0.5], "top_logprobs": [{"<a>": -0.5}], "text_offset": [0]}"#;
        for (engine, event) in [
            (Engine::LlamaCpp, format!(r#"{{"content": "x", "completion_probabilities": [{own}]}}"#)),
            (Engine::Vllm, format!(r#"{{"choices": [{{"index": 0, "text": "x", "logprobs": {lists}}}]}}"#)),
        ] {
            let mut replies = Vec::new();
            let mut reader = ReplyReader::new(engine, true, 0).with_alternatives(1);
            reader.feed(format!("data: {event}\n").as_bytes(), &mut replies).unwrap();
            let expected = Reply::Choice(0, Update::Logprobs(vec![json::read(own).unwrap()]));
            assert_eq!(replies, [expected, Reply::Choice(0, Update::Text("x".to_owned()))], "{engine:?}");
        }
    }

    #[test]
    fn a_token_has_as_many_alternatives_as_were_asked_for() {
        let own = r#"{"token": "b", "logprob": -1.5, "top_logprobs": [{"token": "a", "logprob": -0.5},
            {"token": "b", "logprob": -1.5}, {"token": "c", "logprob": -2}]}"#;
        // vLLM lists the token itself first, however likely it is.
        let lists = r#"{"tokens": ["b"], "token_logprobs": [-1.5], "top_logprobs": [{"b": -1.5, "a": -0.5, "c": -2}]}"#;
        for (engine, event) in [
            (Engine::LlamaCpp, format!(r#"{{"content": "x", "completion_probabilities": [{own}]}}"#)),
            (Engine::Vllm, format!(r#"{{"choices": [{{"text": "x", "logprobs": {lists}}}]}}"#)),
        ] {
            for (most, expected) in [(0, ""), (1, "a"), (2, "ab"), (20, "abc")] {
                let mut replies = Vec::new();
                let mut reader = ReplyReader::new(engine, true, 0).with_alternatives(most);
                reader.feed(format!("data: {}\n", event.replace('\n', "")).as_bytes(), &mut replies).unwrap();
                let Reply::Choice(0, Update::Logprobs(tokens)) = &replies[0] else { panic!("{replies:?}") };
                let found: String = list(&tokens[0], "top_logprobs").iter().map(|one| text(one, "token")).collect();
                assert_eq!(found, expected, "{engine:?} asked for {most}");
                assert_eq!(text(&tokens[0], "token"), "b");
            }
        }
    }

    #[test]
    fn errors_and_invalid_data_end_a_stream() {
        for (engine, stream, message) in [
            (Engine::Vllm, "data: {\"error\": {\"message\": \"no memory\"}}\n\n", "no memory"),
            (Engine::Ollama, "{\"error\": \"no memory\"}\n", "no memory"),
            (Engine::Tgi, "data:{\"error\": \"no memory\", \"error_type\": \"generation\"}\n", "no memory"),
            (Engine::Sglang, "data: {not json\n", "not JSON"),
            // Not a stream.
            (Engine::LlamaCpp, "{\"error\": {\"message\": \"no memory\"}}", "no memory"),
            (Engine::Vllm, "data: {\"choices\": [{\"text\": \"\", \"finish_reason\": \"error\"}]}\n", "with `error`"),
            (Engine::Sglang, "data: {\"meta_info\": {\"finish_reason\": {\"type\": \"abort\"}}}\n", "with `abort`"),
        ] {
            let error = read(engine, stream, 5).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
        assert!(ReplyReader::new(Engine::Vllm, true, 0).feed(b"data: \"\xff\"\n", &mut Vec::new()).is_err());
    }
}
