//! Tracks whether the end of a growing JSON body is inside a string; each byte is read once.

use crate::template::ContentSpec;

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
    /// Between double quotes; the flag says that a backslash comes right before.
    Quoted { escaped: bool },
    /// Between the delimiters of this number in the dialect.
    Delimited(usize),
}

impl Strings {
    /// Reads on to the end of `body`, which begins with all that was read before, and says whether a string is open.
    pub fn is_open_after(&mut self, body: &str, spec: &ContentSpec) -> bool {
        let delimiters = match spec {
            ContentSpec::Json(arguments) => arguments.string_delims.as_slice(),
            _ => &[],
        };
        while let Some(rest) = body.as_bytes().get(self.read..).filter(|rest| !rest.is_empty()) {
            self.read += match self.state {
                State::Outside => {
                    let opened = delimiters
                        .iter()
                        .enumerate()
                        .filter(|(_, (open, _))| !open.is_empty() && rest.starts_with(open.as_bytes()))
                        .max_by_key(|(_, (open, _))| open.len());
                    match opened {
                        Some((index, (open, _))) => {
                            self.state = State::Delimited(index);
                            open.len()
                        }
                        None => {
                            if rest.first() == Some(&b'"') {
                                self.state = State::Quoted { escaped: false };
                            }
                            1
                        }
                    }
                }
                State::Quoted { escaped } => {
                    self.state = match rest.first() {
                        _ if escaped => State::Quoted { escaped: false },
                        Some(b'\\') => State::Quoted { escaped: true },
                        Some(b'"') => State::Outside,
                        _ => State::Quoted { escaped: false },
                    };
                    1
                }
                State::Delimited(index) => match delimiters.get(index) {
                    Some((_, close)) if !close.is_empty() && rest.starts_with(close.as_bytes()) => {
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
        let spec = |arguments: &str| {
            let json = format!(
                r#"{{"start_anchor": "A", "fields": {{"x": {{"content": "json", "content_args": {arguments}}}}}}}"#
            );
            Template::load(&json).unwrap().template.fields()[0].content.clone()
        };
        let plain = spec("{}");
        let dialect = spec(r#"{"string_delims": [["<|", "|>"], ["'", "'"]]}"#);
        for (spec, body, open) in [
            (&plain, r#"{"a": "#, false),
            (&plain, r#"{"a": "b"#, true),
            (&plain, r#"{"a": "b\""#, true),
            (&plain, r#"{"a": "b\\""#, false),
            (&plain, "'", false),
            (&dialect, "{a: <|b", true),
            (&dialect, "{a: <|\"|>", false),
            (&dialect, "{a: 'b\"", true),
            (&dialect, "{a: 'b\\'", false),
        ] {
            assert_eq!(Strings::default().is_open_after(body, spec), open, "{body}");
        }
    }
}
