//! A page consists of markup from this crate's source and of escaped text: nothing else can be written.
//!
//! Tags, attribute names and inlined files are `&'static str`. Everything else is text: `<`, `>`, `&` and quotes become
//! references, and control characters become visible escapes, as on a terminal.

use backchat_core::diagnostic::{escape, escape_json, escaped};
use backchat_core::json::Value;

pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

#[derive(Default)]
pub(super) struct Html {
    out: String,
}

impl Html {
    pub fn finish(self) -> String {
        self.out
    }

    /// An element around everything the closure writes.
    pub fn element(&mut self, tag: &'static str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.empty(tag, attributes);
        inside(self);
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    /// An element of one class, or of none if the class is empty.
    pub fn of_class(&mut self, tag: &'static str, class: &str, inside: impl FnOnce(&mut Self)) {
        let attributes = [("class", class)];
        self.element(tag, if class.is_empty() { &[] } else { &attributes }, inside);
    }

    /// An element of one class that holds a text.
    pub fn tag(&mut self, tag: &'static str, class: &str, text: &str) {
        self.of_class(tag, class, |html| html.text(text));
    }

    /// An element of one class that holds a text with code between backticks.
    pub fn words(&mut self, tag: &'static str, class: &str, text: &str) {
        self.of_class(tag, class, |html| html.prose(text));
    }

    /// A table: its caption, if it needs one, the titles of its columns, and its rows.
    pub fn table(&mut self, class: &str, caption: &str, titles: &[&str], rows: impl FnOnce(&mut Self)) {
        self.of_class("table", class, |html| {
            if !caption.is_empty() {
                html.tag("caption", "", caption);
            }
            html.of_class("thead", "", |html| {
                html.of_class("tr", "", |html| {
                    for title in titles {
                        html.element("th", &[("scope", "col")], |html| html.text(title));
                    }
                });
            });
            html.of_class("tbody", "", rows);
        });
    }

    /// A table that scrolls if it is wider than the page.
    pub fn wide(&mut self, titles: &[&str], rows: impl FnOnce(&mut Self)) {
        self.of_class("div", "wide", |html| html.table("", "", titles, rows));
    }

    /// A row of a table: its header, and the cells after it.
    pub fn row(&mut self, header: impl FnOnce(&mut Self), cells: impl FnOnce(&mut Self)) {
        self.of_class("tr", "", |html| {
            html.element("th", &[("scope", "row")], header);
            cells(html);
        });
    }

    /// A cell of a table, with the title that it shows if columns do not fit.
    pub fn cell(&mut self, title: &str, inside: impl FnOnce(&mut Self)) {
        self.element("td", &[("data-title", title)], inside);
    }

    /// A part that unfolds under a line about it.
    pub fn folded(&mut self, is_open: bool, summary: impl FnOnce(&mut Self), inside: impl FnOnce(&mut Self)) {
        self.element("details", if is_open { &[("open", "")] } else { &[] }, |html| {
            html.of_class("summary", "", summary);
            inside(html);
        });
        self.gap();
    }

    pub fn link(&mut self, address: &str, text: &str) {
        self.element("a", &[("href", address)], |html| html.text(text));
    }

    /// A link to an address, or only the text if there is none.
    pub fn link_or_text(&mut self, address: Option<&str>, text: &str) {
        match address {
            Some(address) => self.link(address, text),
            None => self.text(text),
        }
    }

    /// A part that a link leads to.
    pub fn target(&mut self, id: &str, inside: impl FnOnce(&mut Self)) {
        self.element("div", &[("id", id), ("tabindex", "-1")], inside);
    }

    /// A figure under its title.
    pub fn figure(&mut self, title: &str, inside: impl FnOnce(&mut Self)) {
        self.of_class("figure", "", |html| {
            html.words("figcaption", "", title);
            inside(html);
        });
    }

    /// A block that keeps white space.
    pub fn pre(&mut self, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.element("pre", attributes, |html| {
            // HTML parsers drop a line break right after the tag, which would otherwise be the text's own.
            html.out.push('\n');
            inside(html);
        });
    }

    /// Text on one line: line breaks are visible escapes, too.
    pub fn text(&mut self, text: &str) {
        self.write(text, false);
    }

    /// Text that keeps its line breaks.
    pub fn lines(&mut self, text: &str) {
        self.write(text, true);
    }

    /// A text whose quoted parts, between backticks, are code.
    pub fn prose(&mut self, text: &str) {
        let parts: Vec<&str> = text.split('`').collect();
        // An unpaired backtick belongs to the text.
        if parts.len().is_multiple_of(2) {
            return self.text(text);
        }
        for (index, part) in parts.into_iter().enumerate() {
            if index % 2 == 0 { self.text(part) } else { self.tag("code", "", part) }
        }
    }

    /// A stylesheet or a script of this crate.
    pub fn inlined(&mut self, tag: &'static str, content: &'static str) {
        self.element(tag, &[], |html| html.out.push_str(content));
    }

    /// A line break between blocks, for readers of the source.
    pub fn gap(&mut self) {
        self.out.push('\n');
    }

    /// Data for the script. No browser runs it, and nothing in it ends the element or reorders its source.
    pub fn data(&mut self, attributes: Attributes<'_>, value: &Value) {
        let json = value.to_string();
        self.element("script", attributes, |html| {
            for c in escape_json(&json).chars() {
                match c {
                    '<' => html.out.push_str("\\u003c"),
                    '>' => html.out.push_str("\\u003e"),
                    '&' => html.out.push_str("\\u0026"),
                    c => html.out.push(c),
                }
            }
        });
    }

    /// A start tag: all of a void element, such as `meta`.
    pub fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            for c in escape(value).chars() {
                self.character(c);
            }
            self.out.push('"');
        }
        self.out.push('>');
    }

    fn write(&mut self, text: &str, keeps_lines: bool) {
        let mut in_escape = false;
        for c in text.chars() {
            let escape = if c == '\n' && keeps_lines { None } else { escaped(c) };
            match (&escape, in_escape) {
                (Some(_), false) => self.out.push_str("<i>"),
                (None, true) => self.out.push_str("</i>"),
                _ => {}
            }
            in_escape = escape.is_some();
            match escape {
                Some(escape) => self.out.push_str(&escape),
                None => self.character(c),
            }
        }
        if in_escape {
            self.out.push_str("</i>");
        }
    }

    fn character(&mut self, c: char) {
        match c {
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '&' => self.out.push_str("&amp;"),
            '"' => self.out.push_str("&quot;"),
            c => self.out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        for (text, one_line, lines) in [
            ("a < b && \"c\"", "a &lt; b &amp;&amp; &quot;c&quot;", "a &lt; b &amp;&amp; &quot;c&quot;"),
            ("</script><!--", "&lt;/script&gt;&lt;!--", "&lt;/script&gt;&lt;!--"),
            ("a\nb", "a<i>\\n</i>b", "a\nb"),
            ("\0\u{202e}x\r\n", "<i>\\u{0}\\u{202e}</i>x<i>\\r\\n</i>", "<i>\\u{0}\\u{202e}</i>x<i>\\r</i>\n"),
        ] {
            let (mut one, mut several) = (Html::default(), Html::default());
            one.text(text);
            several.lines(text);
            assert_eq!((one.finish().as_str(), several.finish().as_str()), (one_line, lines), "{text:?}");
        }
    }

    #[test]
    fn attributes_and_data_are_escaped() {
        let mut html = Html::default();
        html.element("p", &[("title", "\"><script>\0")], |html| html.prose("the `<b>` mark, and 5` more"));
        html.data(&[("type", "application/json")], &Value::from([("a", "</script>\u{202e}&".into())]));
        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\\u{0}\">the `&lt;b&gt;` mark, and 5` more</p>\
             <script type=\"application/json\">{\"a\": \"\\u003c/script\\u003e\\u202e\\u0026\"}</script>"
        );
    }
}
