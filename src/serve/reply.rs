//! Reads an engine's stream: bytes in, pieces of text and the end out, however the bytes are cut.
//!
//! Every event of every engine is one line, so a line is read as soon as it is whole: server-sent events with or
//! without a space after `data:`, comments between them, and plain lines of JSON.

use super::engine::Engine;
use backchat_core::json::{self, Value};

/// The longest line: the last event of llama.cpp repeats the prompt.
const LONGEST_LINE: usize = 64 << 20;

/// Why an engine ended an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended it, or a stop text did.
    Stop,
    /// The token limit.
    Length,
}

/// A reply of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// More text of a choice; never empty.
    Text { choice: usize, text: String },
    /// The ids of a choice's tokens.
    Tokens { choice: usize, ids: Vec<u64> },
    /// A choice is complete.
    End {
        choice: usize,
        /// Why.
        end: End,
    },
    /// How many tokens were used: by one choice, or by all.
    Usage {
        choice: Option<usize>,
        /// The tokens of the prompt.
        prompt: u64,
        /// The tokens of the answer.
        completion: u64,
    },
    /// Nothing comes after this.
    Done,
}

/// The reader of one stream.
#[derive(Clone, Debug)]
pub struct Replies {
    engine: Engine,
    /// Whether the events contain pieces rather than all text so far.
    pieces: bool,
    /// The beginning of a line.
    line: Vec<u8>,
    /// How much of each choice is known, in bytes, if events repeat it.
    known: Vec<usize>,
}

impl Replies {
    /// A reader for one stream of an engine. `pieces`: its events contain only new text, as with all engines but one.
    pub fn new(engine: Engine, pieces: bool) -> Self {
        Self { engine, pieces, line: Vec::new(), known: Vec::new() }
    }

    /// Feeds bytes as received.
    ///
    /// # Errors
    ///
    /// The engine reports an error, or sends invalid data; earlier replies are in `replies`.
    pub fn feed(&mut self, bytes: &[u8], replies: &mut Vec<Reply>) -> Result<(), String> {
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
            return Err(format!("the engine wrote a line of more than {} MiB", LONGEST_LINE >> 20));
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Reads a last line that does not end.
    ///
    /// # Errors
    ///
    /// As for [`feed`](Self::feed).
    pub fn finish(&mut self, replies: &mut Vec<Reply>) -> Result<(), String> {
        let line = std::mem::take(&mut self.line);
        self.read(&line, replies)
    }

    fn read(&mut self, line: &[u8], replies: &mut Vec<Reply>) -> Result<(), String> {
        let line = line.trim_ascii();
        let data = match self.engine {
            Engine::Ollama => line,
            _ => match line.strip_prefix(b"data:") {
                Some(data) => data.trim_ascii_start(),
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
        let text = str::from_utf8(data).map_err(|_| "the engine wrote an event that is not UTF-8".to_owned())?;
        let event = json::read(text).map_err(|error| format!("the engine wrote an event that is not JSON: {error}"))?;
        if let Some(message) = event.get("error").filter(|error| !error.is_null()) {
            return Err(error_text(message));
        }
        match self.engine {
            Engine::LlamaCpp => llama_cpp(&event, replies),
            Engine::Vllm | Engine::OpenAi => open_ai(&event, replies),
            Engine::Sglang => self.sglang(&event, replies),
            Engine::Tgi => tgi(&event, replies),
            Engine::Ollama => ollama(&event, replies),
        }
        Ok(())
    }

    fn sglang(&mut self, event: &Value, replies: &mut Vec<Reply>) {
        let choice = number(event, "index").and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
        let text = event.get("text").and_then(Value::as_str).unwrap_or_default();
        if choice >= self.known.len() {
            self.known.resize(choice + 1, 0);
        }
        let Some(known) = self.known.get_mut(choice) else { return };
        let piece = if self.pieces { text } else { text.get(*known..).unwrap_or_default() };
        *known = text.len().max(*known);
        push_text(replies, choice, piece);
        push_tokens(replies, choice, event.get("output_ids"));
        let Some(meta) = event.get("meta_info") else { return };
        let reason = meta.get("finish_reason").filter(|reason| !reason.is_null());
        if let Some(reason) = reason {
            push_usage(replies, Some(choice), number(meta, "prompt_tokens"), number(meta, "completion_tokens"));
            let kind = reason.get("type").and_then(Value::as_str);
            replies.push(Reply::End { choice, end: end(kind == Some("length")) });
        }
    }
}

/// The message of an engine's error: text, or an object with one.
pub fn error_text(error: &Value) -> String {
    let message = error.as_str().or_else(|| error.get("message")?.as_str());
    message.map_or_else(|| error.to_string(), str::to_owned)
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

fn end(is_length: bool) -> End {
    if is_length { End::Length } else { End::Stop }
}

fn push_text(replies: &mut Vec<Reply>, choice: usize, text: &str) {
    if !text.is_empty() {
        replies.push(Reply::Text { choice, text: text.to_owned() });
    }
}

fn push_tokens(replies: &mut Vec<Reply>, choice: usize, ids: Option<&Value>) {
    let ids: Vec<u64> = ids.and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_u64).collect();
    if !ids.is_empty() {
        replies.push(Reply::Tokens { choice, ids });
    }
}

fn push_usage(replies: &mut Vec<Reply>, choice: Option<usize>, prompt: Option<u64>, completion: Option<u64>) {
    if let (Some(prompt), Some(completion)) = (prompt, completion) {
        replies.push(Reply::Usage { choice, prompt, completion });
    }
}

fn llama_cpp(event: &Value, replies: &mut Vec<Reply>) {
    let choice = number(event, "index").and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
    push_text(replies, choice, event.get("content").and_then(Value::as_str).unwrap_or_default());
    push_tokens(replies, choice, event.get("tokens"));
    if event.get("stop").and_then(Value::as_bool) == Some(true) {
        push_usage(replies, Some(choice), number(event, "tokens_evaluated"), number(event, "tokens_predicted"));
        let kind = event.get("stop_type").and_then(Value::as_str);
        replies.push(Reply::End { choice, end: end(kind == Some("limit")) });
    }
}

fn open_ai(event: &Value, replies: &mut Vec<Reply>) {
    for choice in event.get("choices").and_then(Value::as_list).unwrap_or_default() {
        let index = number(choice, "index").and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
        push_text(replies, index, choice.get("text").and_then(Value::as_str).unwrap_or_default());
        push_tokens(replies, index, choice.get("token_ids"));
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            replies.push(Reply::End { choice: index, end: end(reason == "length") });
        }
    }
    if let Some(usage) = event.get("usage") {
        push_usage(replies, None, number(usage, "prompt_tokens"), number(usage, "completion_tokens"));
    }
}

fn tgi(event: &Value, replies: &mut Vec<Reply>) {
    if let Some(token) = event.get("token") {
        push_text(replies, 0, token.get("text").and_then(Value::as_str).unwrap_or_default());
        if let Some(id) = number(token, "id") {
            replies.push(Reply::Tokens { choice: 0, ids: vec![id] });
        }
    }
    if let Some(details) = event.get("details").filter(|details| !details.is_null()) {
        push_usage(replies, Some(0), number(details, "input_length"), number(details, "generated_tokens"));
        let kind = details.get("finish_reason").and_then(Value::as_str);
        replies.push(Reply::End { choice: 0, end: end(kind == Some("length")) });
    }
}

fn ollama(event: &Value, replies: &mut Vec<Reply>) {
    push_text(replies, 0, event.get("response").and_then(Value::as_str).unwrap_or_default());
    if event.get("done").and_then(Value::as_bool) == Some(true) {
        push_usage(replies, Some(0), number(event, "prompt_eval_count"), number(event, "eval_count"));
        let kind = event.get("done_reason").and_then(Value::as_str);
        replies.push(Reply::End { choice: 0, end: end(kind == Some("length")) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, the end and the usage of one choice.
    type Assembled = (String, Option<End>, Option<(u64, u64)>);

    /// The replies of a stream, read in pieces of this size.
    fn read(engine: Engine, stream: &str, size: usize) -> Result<Assembled, String> {
        let mut reader = Replies::new(engine, engine != Engine::Sglang);
        let mut replies = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            reader.feed(piece, &mut replies)?;
        }
        reader.finish(&mut replies)?;
        let (mut text, mut end, mut usage) = (String::new(), None, None);
        for reply in replies {
            match reply {
                Reply::Text { text: more, .. } => text.push_str(&more),
                Reply::End { end: reason, .. } => end = Some(reason),
                Reply::Usage { prompt, completion, .. } => usage = Some((prompt, completion)),
                Reply::Tokens { .. } | Reply::Done => {}
            }
        }
        Ok((text, end, usage))
    }

    #[test]
    fn a_stream_reads_the_same_however_its_bytes_are_cut() {
        let streams = [
            (
                Engine::LlamaCpp,
                "data: {\"content\": \"Ä🌧\", \"stop\": false}\n\ndata: {\"content\": \"!\", \"stop\": true, \
                 \"stop_type\": \"limit\", \"tokens_evaluated\": 3, \"tokens_predicted\": 2}\n\n",
                End::Length,
            ),
            (
                Engine::Vllm,
                ": ping\r\n\r\ndata: {\"choices\": [{\"index\": 0, \"text\": null}]}\r\n\r\ndata: {\"choices\": [{\"index\": 0, \
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
                "data:{\"token\": {\"id\": 7, \"text\": \"Ä🌧!\"}, \"details\": {\"finish_reason\": \"eos_token\", \
                 \"generated_tokens\": 2, \"input_length\": 3}}\n\n",
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
    fn errors_and_nonsense_end_a_stream() {
        for (engine, stream, message) in [
            (Engine::Vllm, "data: {\"error\": {\"message\": \"no memory\"}}\n\n", "no memory"),
            (Engine::Ollama, "{\"error\": \"no memory\"}\n", "no memory"),
            (Engine::Tgi, "data:{\"error\": \"no memory\", \"error_type\": \"generation\"}\n", "no memory"),
            (Engine::Sglang, "data: {not json\n", "not JSON"),
        ] {
            let error = read(engine, stream, 5).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        assert!(Replies::new(Engine::Vllm, true).feed(b"data: \"\xff\"\n", &mut Vec::new()).is_err());
    }
}
