//! Custom tools, which take one text. The model calls each as a function with the argument `input`. The text of that argument
//! is decoded from its JSON as it arrives, the same however the JSON is cut.

use crate::request::ChatRequest;
use backchat_core::json::{self, Value};
use backchat_grammar::{CUSTOM_INPUT, is_custom_tool, tool_name};
use backchat_parser::deltas::Delta;

/// The beginning of an escape sequence that has a code, and the length of the whole.
const CODE: &str = "\\u";
const ESCAPE: usize = 6;

/// The names of the custom tools of a request.
#[derive(Clone, Debug, Default)]
pub struct CustomTools(Vec<String>);

impl CustomTools {
    pub fn of(request: &ChatRequest) -> Self {
        let tools = request.tools.as_ref().and_then(Value::as_list).unwrap_or_default();
        Self(tools.iter().filter(|tool| is_custom_tool(tool)).filter_map(tool_name).map(str::to_owned).collect())
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }
}

/// Turns the arguments of custom calls into their input, delta by delta.
#[derive(Clone, Debug)]
pub struct Inputs {
    tools: CustomTools,
    /// The custom call that is being written, and its place among the calls.
    open: Option<(usize, Input)>,
}

impl Inputs {
    pub fn new(tools: CustomTools) -> Self {
        Self { tools, open: None }
    }

    /// Takes a delta with arguments, gives one with input.
    pub fn delta(&mut self, delta: Delta<'_>, sink: &mut dyn FnMut(Delta<'_>)) {
        match (delta, &mut self.open) {
            (Delta::Arguments { index, text }, Some((open, input))) if index == *open => {
                let text = input.feed(text);
                if !text.is_empty() {
                    sink(Delta::Arguments { index, text: &text });
                }
            }
            (Delta::Arguments { .. }, _) => sink(delta),
            (Delta::Call { index, name, .. }, _) => {
                self.finish(sink);
                self.open = self.tools.contains(name).then(|| (index, Input::default()));
                sink(delta);
            }
            _ => {
                self.finish(sink);
                sink(delta);
            }
        }
    }

    /// Ends the call that is open.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Delta<'_>)) {
        if let Some((index, input)) = self.open.take()
            && let Some(text) = input.unread()
        {
            sink(Delta::Arguments { index, text: &text });
        }
    }
}

/// The input of one call: the text of the member `input` of its arguments.
#[derive(Clone, Debug, Default)]
struct Input {
    stage: Stage,
    /// The JSON that is not read yet: before the text, or an escape sequence inside of it.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Inside,
    After,
}

impl Input {
    /// Takes more of the arguments, returns more of the input.
    fn feed(&mut self, json: &str) -> String {
        let mut text = String::new();
        for next in json.chars() {
            match self.stage {
                Stage::Before => {
                    self.held.push(next);
                    if next == '"' && is_lead(&self.held) {
                        self.held.clear();
                        self.stage = Stage::Inside;
                    }
                }
                Stage::Inside => self.take(next, &mut text),
                Stage::After => break,
            }
        }
        text
    }

    /// Takes a character of the JSON of the text.
    fn take(&mut self, next: char, text: &mut String) {
        let second = self.held.get(ESCAPE..).unwrap_or_default();
        if is_half(&self.held) && second.len() < CODE.len() && !CODE.starts_with(&format!("{second}{next}")) {
            let rest = self.held.split_off(ESCAPE);
            text.push_str(&unescaped(&std::mem::replace(&mut self.held, rest)));
        }
        match next {
            '"' if self.held.is_empty() => self.stage = Stage::After,
            _ if next != '\\' && self.held.is_empty() => text.push(next),
            _ => self.held.push(next),
        }
        let length = self.held.chars().count();
        let is_complete = match self.held.starts_with(CODE) {
            true => length == 2 * ESCAPE || length == ESCAPE && !is_half(&self.held),
            false => length == 2,
        };
        if is_complete {
            text.push_str(&unescaped(&self.held));
            self.held.clear();
        }
    }

    /// The arguments unchanged, if they have no text `input`: nothing that the model wrote is lost.
    fn unread(self) -> Option<String> {
        (self.stage == Stage::Before && !self.held.is_empty()).then_some(self.held)
    }
}

/// Whether the text of `input` begins after this JSON.
fn is_lead(json: &str) -> bool {
    let mut parts = json.split('"');
    let [before, name, between, ""] = std::array::from_fn(|_| parts.next().unwrap_or("?")) else { return false };
    parts.next().is_none() && before.trim() == "{" && name == CUSTOM_INPUT && between.trim() == ":"
}

/// Whether these escape sequences begin with the first half of a character, which needs the second.
fn is_half(escape: &str) -> bool {
    let code = escape.get(CODE.len()..ESCAPE).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xD800..0xDC00).contains(&code))
}

/// What escape sequences stand for; they themselves if they stand for nothing.
fn unescaped(escape: &str) -> String {
    let read = json::read(&format!("\"{escape}\"")).ok();
    read.as_ref().and_then(Value::as_str).unwrap_or(escape).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input of arguments that come in pieces of this size.
    fn read(arguments: &str, size: usize) -> String {
        let characters: Vec<char> = arguments.chars().collect();
        let mut input = Input::default();
        let text: String = characters.chunks(size).map(|piece| input.feed(&piece.iter().collect::<String>())).collect();
        text + &input.unread().unwrap_or_default()
    }

    #[test]
    fn the_input_is_the_text_of_its_member() {
        for (arguments, expected) in [
            (r#"{"input": "ls -l"}"#, "ls -l"),
            (r#" { "input" :"a\"b\\\nc\u00e9é" } "#, "a\"b\\\ncéé"),
            (r#"{"input": "\ud83d\ude00 \u0041"}"#, "😀 A"),
            // Half of a character stands for none, and takes nothing with it.
            (r#"{"input": "\ud83d\n\ud83dx\ud83d"}"#, "\u{fffd}\n\u{fffd}x\u{fffd}"),
            (r#"{"input": ""}"#, ""),
            (r#"{"input": "a", "input": "b"}"#, "a"),
            // Cut off.
            (r#"{"input": "a\u00"#, "a"),
            (r#"{"inp"#, r#"{"inp"#),
            // No such member, or one of another type.
            (r#"{"code": "a"}"#, r#"{"code": "a"}"#),
            (r#"{"input": 5}"#, r#"{"input": 5}"#),
            ("", ""),
        ] {
            for size in 1..4 {
                assert_eq!(read(arguments, size), expected, "{arguments} in pieces of {size}");
            }
        }
    }
}
