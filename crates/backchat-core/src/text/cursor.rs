//! A place that moves through a text, character by character: it is always between two characters of it.

use super::slice;

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The start of a text.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The place, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The text from here on.
    pub fn rest(&self) -> &'t str {
        slice(self.text, self.at..)
    }

    /// The text from an earlier place up to here.
    pub fn since(&self, start: usize) -> &'t str {
        slice(self.text, start..self.at)
    }

    /// The next character, without advancing.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character; advances past it.
    pub fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Advances past the next character if it is this one.
    pub fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Advances past a text if it comes next.
    pub fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Advances past up to `most` characters of one kind, and returns them.
    pub fn take(&mut self, most: usize, is_one: impl Fn(char) -> bool) -> &'t str {
        let start = self.at;
        self.at += self.rest().chars().take(most).take_while(|c| is_one(*c)).map(char::len_utf8).sum::<usize>();
        self.since(start)
    }

    /// Advances past the text up to an end and the end itself, and returns the text; without the end it does not
    /// advance.
    pub fn until(&mut self, end: char) -> Option<&'t str> {
        let (text, _) = self.rest().split_once(end)?;
        self.at += text.len() + end.len_utf8();
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_advances_by_whole_characters() {
        let mut cursor = Cursor::new("é=12;x");
        assert_eq!((cursor.peek(), cursor.bump(), cursor.at()), (Some('é'), Some('é'), 2));
        assert_eq!([cursor.eat('x'), cursor.eat('=')], [false, true]);
        assert_eq!((cursor.take(9, |c| c.is_ascii_digit()), cursor.take(9, |c| c.is_ascii_digit())), ("12", ""));
        assert_eq!((cursor.since(2), cursor.rest()), ("=12", ";x"));
        assert_eq!([cursor.skip(";y"), cursor.skip(";")], [false, true]);
        assert_eq!([cursor.bump(), cursor.bump(), cursor.peek()], [Some('x'), None, None]);
    }

    #[test]
    fn it_takes_at_most_the_requested_count() {
        let mut cursor = Cursor::new("1234");
        assert_eq!((cursor.take(2, |c| c.is_ascii_digit()), cursor.rest()), ("12", "34"));
    }

    #[test]
    fn without_the_end_it_does_not_advance() {
        let mut cursor = Cursor::new("a»b");
        assert_eq!((cursor.until('«'), cursor.at()), (None, 0));
        assert_eq!((cursor.until('»'), cursor.rest()), (Some("a"), "b"));
    }
}
