//! Tracks whether the end of a growing body is inside a string; each byte is read once.

use crate::template::Field;

/// How far a body was read, and whether that position is inside a string.
#[derive(Clone, Debug, Default)]
pub(super) struct Strings {
    /// How many bytes of the body have been read.
    read: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    /// Between two of this quote; the flag says that a backslash comes right before.
    Quoted { quote: u8, escaped: bool },
    /// Between the delimiters of this number in the dialect.
    Delimited(usize),
}

impl Strings {
    /// Reads on to the end of `body`, which begins with all that was read before, and says whether a string is open.
    pub fn is_open_after(&mut self, body: &str, field: &Field) -> bool {
        let (quotes, delimiters) = (field.content.quotes().as_bytes(), field.content.string_delims());
        while let Some(rest) = body.as_bytes().get(self.read..).filter(|rest| !rest.is_empty()) {
            self.read += match self.state {
                State::Outside => {
                    let opened = delimiters
                        .iter()
                        .enumerate()
                        .filter(|(_, (open, _))| !open.is_empty() && rest.starts_with(open.as_bytes()))
                        .max_by_key(|(_, (open, _))| open.len());
                    match opened {
                        // A string that nothing closes is empty.
                        Some((_, (open, close))) if close.is_empty() => open.len(),
                        Some((index, (open, _))) => {
                            self.state = State::Delimited(index);
                            open.len()
                        }
                        None => {
                            if let Some(&quote) = rest.first().filter(|first| quotes.contains(first)) {
                                self.state = State::Quoted { quote, escaped: false };
                            }
                            1
                        }
                    }
                }
                State::Quoted { quote, escaped } => {
                    self.state = match rest.first() {
                        _ if escaped => State::Quoted { quote, escaped: false },
                        Some(b'\\') => State::Quoted { quote, escaped: true },
                        Some(first) if *first == quote => State::Outside,
                        _ => State::Quoted { quote, escaped: false },
                    };
                    1
                }
                State::Delimited(index) => match delimiters.get(index) {
                    Some((_, close)) if rest.starts_with(close.as_bytes()) => {
                        self.state = State::Outside;
                        close.len()
                    }
                    // The rest of the delimiter may still come.
                    Some((_, close)) if close.as_bytes().starts_with(rest) => break,
                    _ => 1,
                },
            };
        }
        self.state != State::Outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[test]
    fn strings_of_json_and_of_the_dialect() {
        let field = |arguments: &str| {
            let json = format!(
                r#"{{"start_anchor": "A", "fields": {{"x": {{"content": "json", "content_args": {arguments}}}}}}}"#
            );
            Template::load(&json).unwrap().template.fields()[0].clone()
        };
        let plain = field("{}");
        let dialect = field(r#"{"string_delims": [["<|", "|>"], ["'", "'"], ["None", ""]]}"#);
        for (field, body, open) in [
            (&plain, r#"{"a": "#, false),
            (&plain, r#"{"a": "b"#, true),
            (&plain, r#"{"a": "b\""#, true),
            (&plain, r#"{"a": "b\\""#, false),
            (&plain, "'", false),
            (&dialect, "{a: <|b", true),
            (&dialect, "{a: <|\"|>", false),
            (&dialect, "{a: 'b\"", true),
            (&dialect, "{a: 'b\\'", false),
            (&dialect, "{a: None", false),
            (&dialect, "{a: None, b: 'c", true),
        ] {
            assert_eq!(Strings::default().is_open_after(body, field), open, "{body}");
        }
    }
}
