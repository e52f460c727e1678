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

    /// The next character, which stays.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character, which is passed.
    pub fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Passes the next character if it is this one.
    pub fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Passes a text if it comes next.
    pub fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Passes up to `most` characters of one kind, and returns them.
    pub fn take(&mut self, most: usize, is_one: impl Fn(char) -> bool) -> &'t str {
        let start = self.at;
        self.at += self.rest().chars().take(most).take_while(|c| is_one(*c)).map(char::len_utf8).sum::<usize>();
        self.since(start)
    }

    /// Passes the text before an end and the end, and returns the text; without that end it stays here.
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
    fn it_passes_whole_characters() {
        let mut cursor = Cursor::new("é=12;x");
        assert_eq!((cursor.peek(), cursor.bump(), cursor.at()), (Some('é'), Some('é'), 2));
        assert_eq!([cursor.eat('x'), cursor.eat('=')], [false, true]);
        assert_eq!((cursor.take(9, |c| c.is_ascii_digit()), cursor.take(9, |c| c.is_ascii_digit())), ("12", ""));
        assert_eq!((cursor.since(2), cursor.rest()), ("=12", ";x"));
        assert_eq!([cursor.skip(";y"), cursor.skip(";")], [false, true]);
        assert_eq!([cursor.bump(), cursor.bump(), cursor.peek()], [Some('x'), None, None]);
    }

    #[test]
    fn it_takes_no_more_than_asked_for() {
        let mut cursor = Cursor::new("1234");
        assert_eq!((cursor.take(2, |c| c.is_ascii_digit()), cursor.rest()), ("12", "34"));
    }

    #[test]
    fn without_an_end_it_stays() {
        let mut cursor = Cursor::new("a»b");
        assert_eq!((cursor.until('«'), cursor.at()), (None, 0));
        assert_eq!((cursor.until('»'), cursor.rest()), (Some("a"), "b"));
    }
}
