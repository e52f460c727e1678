//! The opening of a call: its own mark, the text that may come before it, and the name and id that it captures.

use super::super::channels::Channels;
use super::super::pairs::{first_gap, key_word, start, string_or_other};
use super::super::pattern::{any_of, escape, spaced, word_before};
use super::super::{exact_start_of_answer, start_of_answer};
use super::{Groups, Plan, json_text};
use crate::wire::marks;
use crate::wire::structure::{Arguments, CallPart, Pairs};
use backchat_core::text::{self, slice};
use backchat_core::{distinct, push_new};
use std::borrow::Cow;

impl Plan<'_> {
    /// Looks ahead for the first key or for the end of a call without keys. A key with a mark of its own needs no look-ahead.
    pub(super) fn first_of_pairs(&self, pairs: &Pairs) -> String {
        let close = self.calls.body.tail.iter().find_map(CallPart::text);
        let close = close.unwrap_or(&self.cut.close).trim();
        if close.is_empty() || self.is_mark(&pairs.cut.open) {
            return String::new();
        }
        let key = match pairs.cut.open.trim() {
            "" if pairs.gap.trim().is_empty() => return String::new(),
            "" => {
                let gaps = pairs.forms.iter().map(|form| escape(form.gap.trim())).chain([first_gap(pairs)]);
                format!("{}+\\s*{}", key_word(pairs, &pairs.gap), any_of(gaps))
            }
            _ if self.is_mark(&self.whole_opening()) => return String::new(),
            // A word between key and value tells an argument from any other tag.
            _ if pairs.has_word_in_gap() => start(pairs),
            open => escape(open),
        };
        match escape(close) {
            close if close.starts_with(&key) => format!("(?=\\s*{key})"),
            close => format!("(?=\\s*(?:{key}|{close}))"),
        }
    }

    /// The text of the opening of a call on both sides of its name.
    fn whole_opening(&self) -> String {
        let head = self.calls.body.head.iter().filter_map(CallPart::text);
        std::iter::once(self.cut.open.as_str()).chain(head).collect()
    }

    /// The opening of a call: its own mark, and the text that may come before the first call and between two.
    pub(super) fn before_call(&self, open: &str) -> String {
        let own = match self.outer_marks(open) {
            Some((outer, inner)) => format!("(?:{}\\s*)?{}", spaced(outer.trim()), self.text(inner)),
            // The close of the call before has taken the line break.
            None if self.opens_line() => format!("(?:^\\s*|(?<=\\n)){}", escape(open.trim_start())),
            None => self.text(open.trim_start()),
        };
        let has_section = !self.cut.section.trim().is_empty();
        let before: Vec<String> = self.before_first().into_iter().chain(self.between_calls(&own)).collect();
        if before.is_empty() {
            return if own.is_empty() { self.start_of_turn() } else { own };
        }
        match (own.is_empty(), before.join("|")) {
            (true, before) if !has_section => format!("(?:{}|{before})", self.start_of_turn()),
            (true, _) => any_of(before),
            (false, before) if self.is_mark(open) && !self.choices.needs_section => format!("(?:{before})?{own}"),
            (false, before) => format!("(?:{before}{}){own}", self.after_unparted_call()),
        }
    }

    /// The mark of the section, before the first call.
    fn before_first(&self) -> Option<String> {
        let section = self.cut.section.trim();
        let space = if self.choices.exact_space {
            let text = &self.cut.section;
            escape(slice(text, text.trim_end().len()..))
        } else {
            "\\s*".to_owned()
        };
        (!section.is_empty()).then(|| format!("{}{space}", self.section_starts()))
    }

    /// The mark of the section, or what several calls have in its place, as a pattern.
    pub(super) fn section_starts(&self) -> String {
        let section = self.cut.section.trim();
        any_of([section].into_iter().chain(self.calls.sections.iter().map(String::as_str)).map(spaced))
    }

    /// The text between two calls whose own mark is this one, which may be empty.
    fn between_calls(&self, own: &str) -> Option<String> {
        let has_section = !self.cut.section.trim().is_empty();
        let separator = self.cut.separator.trim();
        let close = self.end_of_call();
        if separator.is_empty() && !(self.calls.several && own.is_empty()) {
            // Only the next call closes a call, after white space that belongs to the call before.
            let only_space = self.calls.several && has_section && close.is_empty() && !self.cut.separator.is_empty();
            return only_space.then(|| format!("(?<={}){}", escape(&self.cut.separator), self.inside_section()));
        }
        // White space after a call belongs to its close or to the next separator.
        let parted = self.cut.separator.starts_with(char::is_whitespace) && !separator.is_empty();
        let trailing = if self.cut.close.ends_with(char::is_whitespace) || parted { "\\s*" } else { "" };
        // A mark that begins every call but the first also begins the first one after content.
        let is_begin = own.is_empty() && !has_section && self.is_mark(separator);
        let after_close = match close.is_empty() || is_begin {
            true => String::new(),
            false => format!("(?<={close}{trailing})"),
        };
        let separator = match self.cut.separator.as_str() {
            "" => String::new(),
            text if own.is_empty() && parted && !self.is_mark(separator) => {
                format!("\\s*{}", escape(text.trim_start()))
            }
            text if own.is_empty() => escape(text),
            text if parted => format!("\\s*{}", spaced(text.trim_start())),
            text => spaced(text),
        };
        let parts = !(after_close.is_empty() && separator.is_empty());
        parts.then(|| format!("{after_close}{separator}{}", self.inside_section()))
    }

    /// The end of the call before, as an alternative to the section's mark, where nothing parts two calls.
    fn after_unparted_call(&self) -> String {
        if !self.calls.several || !self.cut.separator.trim().is_empty() {
            return String::new();
        }
        match self.end_of_call().as_str() {
            "" => String::new(),
            close if self.is_bare_tag() => format!("|(?<={close}\\s*){}", self.after_section()),
            close => format!("|(?<={close}\\s*){}", self.inside_section()),
        }
    }

    /// Looks behind for the section's mark if the choice is to require it.
    fn inside_section(&self) -> String {
        let is_inside = self.choices.inside_section || self.choices.outside_strings;
        if is_inside { self.after_section() } else { String::new() }
    }

    /// The pattern of a close where no string is open since the section's mark, if the choice is to require that. The close
    /// comes first: to look behind at each character takes the square of the length.
    pub(super) fn outside_strings(&self, close: String) -> String {
        if !self.choices.outside_strings {
            return close;
        }
        format!("(?={close}){}{close}", self.after_section())
    }

    /// Looks behind for the section's mark without its end in between.
    fn after_section(&self) -> String {
        let section = self.cut.section.trim();
        if section.is_empty() {
            return String::new();
        }
        // Punctuation opens a section only if a call follows.
        let open = match self.wire.is_distinct(section) {
            true => self.section_starts(),
            false => format!("{}\\s*{}", self.section_starts(), self.begin()),
        };
        let any = self.any_of_section();
        match self.wire.section_marks(&self.cut.section_close).first() {
            Some(end) if !self.wire.is_distinct(end) => {
                // Punctuation ends a section only where the turn can end.
                format!("(?<={open}(?:(?!{}\\s*(?:{})){any})*)", self.section_ends(end), self.ends_of_turn())
            }
            Some(end) => format!("(?<={open}(?:(?!{}){any})*)", self.section_ends(end)),
            None => format!("(?<={open}{any}*)"),
        }
    }

    /// A character of a section, or a whole string, if the choice is to require that strings have ended.
    fn any_of_section(&self) -> String {
        let pairs = self.wire.pairs().filter(|_| self.choices.outside_strings);
        pairs.map(string_or_other).unwrap_or_else(|| ".".to_owned())
    }

    /// The outer marks of an opening, which may be missing, and the innermost one.
    pub(super) fn outer_marks<'t>(&self, open: &'t str) -> Option<(&'t str, &'t str)> {
        let last = self.wire.segmentation.marks(open.trim_end()).last()?.len();
        let (outer, inner) = open.split_at_checked(open.trim_end().len() - last)?;
        // The inner mark must be next to the name, or it could be mistaken for prose.
        let is_call = open.trim_end().len() == open.len() && self.is_mark(outer) && self.is_mark(inner);
        let interrupted = !inner.trim_end().ends_with(marks::is_closing);
        (is_call && interrupted).then_some((outer, inner))
    }

    /// Where a call without an opening can begin: at the start of the turn or after reasoning.
    pub(super) fn start_of_turn(&self) -> String {
        if self.choices.after_content {
            return if self.begins_line() { "(?:^\\s*|\\s*\\n\\s*)" } else { "\\s*" }.to_owned();
        }
        // Prose begins with a word as well.
        let is_word = self.cut.open.is_empty() && self.calls.body.head.first() == Some(&CallPart::Name);
        match is_word && self.choices.exact_space {
            true => exact_start_of_answer(self.wire),
            false => start_of_answer(self.wire),
        }
    }

    /// The text that ends every call, as a pattern to look behind for; empty if a call may end with its name.
    fn end_of_call(&self) -> String {
        if self.may_end_with_name() {
            return String::new();
        }
        let tail = self.calls.body.tail.as_slice();
        let close = self.cut.close.trim();
        match (close, tail.iter().rposition(|piece| piece.text().is_some())) {
            ("", Some(at)) => {
                let (text, values) = (tail.get(at).and_then(CallPart::text), tail.get(at + 1..));
                let mut unread = Groups::unread();
                let values = self.pieces(values.unwrap_or_default(), self.after_tail(), &mut unread);
                let space = if values.is_empty() { "" } else { "\\s*" };
                format!("{}{space}{values}", escape(text.unwrap_or_default().trim()))
            }
            ("", None) => match self.calls.body.arguments {
                Arguments::Json => "\\}".to_owned(),
                _ => String::new(),
            },
            (close, _) => escape(close),
        }
    }

    /// The text after the last part of a call, without the white space before a mark.
    pub(super) fn after_tail(&self) -> &str {
        match self.cut.close.trim_start() {
            "" => &self.cut.close,
            close => close,
        }
    }

    /// Whether a call without arguments ends with its head: what closes any other call is left out.
    fn may_end_with_name(&self) -> bool {
        let body = &self.calls.body;
        let texts: Option<String> =
            body.tail.iter().map(CallPart::text).chain([Some(self.cut.close.as_str())]).collect();
        let left_out = body.left_out.as_ref().filter(|left_out| left_out.instead.is_empty());
        let rest =
            left_out.zip(texts.as_deref()).and_then(|(left_out, texts)| texts.strip_prefix(left_out.after.as_str()));
        rest.is_some_and(|rest| rest.trim().is_empty())
    }

    /// The name, the id and the texts between them.
    pub(super) fn pieces(&self, pieces: &[CallPart], follows: &str, groups: &mut Groups) -> String {
        let mut out = String::new();
        let channels = Channels::find(self.wire);
        for (at, piece) in pieces.iter().enumerate() {
            let rest = pieces.get(at + 1..).unwrap_or_default();
            let next = text_after(rest, follows);
            let next = next.as_ref();
            let is_last = rest.iter().all(|piece| piece.text().is_some_and(|text| text.trim().is_empty()));
            // A name with no mark before it is a word, unless a sign at the start of a line comes before it and text after it. An id
            // has any signs.
            let is_between = self.opens_line() && !(is_last && self.wire.pairs().is_some());
            let is_weak = *piece != CallPart::Id
                && !is_between
                && !self.is_mark(&self.cut.open)
                && (!self.is_mark(&self.cut.section) || self.begins_as_arguments());
            let word = if is_weak && self.calls.body.object.is_none() && !next.starts_with('"') {
                word_before("")
            } else {
                self.word(next, at == 0, is_last)
            };
            let ends_at_space =
                *piece == CallPart::Id && word == word_before("") && next.starts_with(char::is_whitespace);
            let word = if ends_at_space { "\\S".to_owned() } else { word };
            match piece {
                CallPart::Text(text) if self.calls.body.object.is_some() => out.push_str(&json_text(text)),
                CallPart::Text(text)
                    if at > 0 && channels.as_ref().is_some_and(|channels| channels.is_header(text)) =>
                {
                    out.extend(channels.iter().map(Channels::after_name));
                }
                CallPart::Text(text) => {
                    // Models may put white space between a mark and a name.
                    let is_closed = |mark: &str| self.wire.is_closed_mark(mark);
                    let is_free = |mark: Option<&str>| !self.choices.exact_space && mark.is_some_and(is_closed);
                    let before =
                        at > 0 && is_free(self.wire.segmentation.first(text)) && !text.starts_with(char::is_whitespace);
                    let after =
                        at + 1 < pieces.len() && is_free(self.wire.segmentation.last(text)) && text.trim_end() == text;
                    let space = |free: bool| if free { "\\s*" } else { "" };
                    out.push_str(&format!("{}{}{}", space(before), self.text(text), space(after)));
                }
                CallPart::Name => {
                    let before = pieces.get(..at).unwrap_or_default();
                    let others = format!("{}{}", self.no_other_part(), self.no_marker(before, next));
                    let name = if groups.bare { format!("{word}+") } else { format!("(?P<name>{word}+)") };
                    groups.has_name |= !groups.bare;
                    out.push_str(&format!("{others}{name}"));
                }
                CallPart::NameAgain => out.push_str(&format!("{word}+")),
                CallPart::Counter(_) => out.push_str("\\d+"),
                CallPart::Id if groups.bare || groups.has_id => out.push_str(&format!("{word}+")),
                CallPart::Id => {
                    groups.has_id = true;
                    out.push_str(&format!("(?P<id>{word}+)"));
                }
                CallPart::NamedId if groups.bare => out.push_str(&format!("{word}+")),
                CallPart::NamedId => {
                    groups.has_id = true;
                    groups.has_name = true;
                    out.push_str(&format!("(?P<id>(?:\\w+\\.)?(?P<name>{word}+?)(?::\\d+)?)"));
                }
            }
        }
        out
    }

    /// The character class of a name or an id. Before arguments without delimiters, it must also end where a call without
    /// arguments ends; after the end of another call, it must not begin with that.
    fn word(&self, next: &str, is_first: bool, is_last: bool) -> String {
        let word = word_before(next);
        let class = if word == "\\S" { Some("[^\\s") } else { word.strip_suffix(']') };
        let Some(class) = class.filter(|class| class.starts_with("[^")) else { return word };
        let is_bare =
            self.wire.pairs().is_some_and(|pairs| pairs.cut.section.trim().is_empty() && pairs.braces.is_none());
        // A quote ends a name in JSON, and nothing else does.
        let is_quoted = !class.starts_with("[^\\s");
        let is_parted = !self.cut.open.trim().is_empty() || !self.cut.separator.trim().is_empty() || is_quoted;
        let tail = self.calls.body.tail.iter().find_map(CallPart::text);
        let ends = match tail.unwrap_or(&self.cut.close) {
            // If nothing closes a call, the next one does, or the end of the section or of the turn.
            "" if is_bare && is_last && self.cut.section_close.is_empty() => {
                self.stops().chain([self.cut.separator.as_str()]).collect()
            }
            "" if is_bare && is_last => vec![self.cut.separator.as_str(), &self.cut.section_close],
            close if is_bare && is_last || is_first && self.calls.several && !is_parted => vec![close],
            _ => return word,
        };
        let ends = distinct(ends.into_iter().map(word_before));
        let signs = ends.iter().filter_map(|end| end.strip_prefix("[^\\s")?.strip_suffix(']'));
        let new = signs.filter(|sign| !class.ends_with(sign)).collect::<String>();
        format!("{class}{new}]")
    }

    /// Whether each argument begins as a call after another one does, with the same bracket, whatever closes it.
    fn begins_as_arguments(&self) -> bool {
        let open = if self.cut.open.trim().is_empty() { &self.cut.separator } else { &self.cut.open };
        let pairs = self.wire.pairs();
        pairs.is_some_and(|pairs| !open.trim().is_empty() && pairs.cut.open.trim().starts_with(open.trim()))
    }

    /// Whether only the bracket of a tag comes before the name of a later call, and arguments are such tags, too: then a
    /// closing tag must not look like an opening, and only the section tells a call from markup in prose.
    fn is_bare_tag(&self) -> bool {
        let open = self.cut.open.trim();
        let has_tags = self.wire.pairs().is_some_and(|pairs| pairs.key_again);
        has_tags && self.calls.several && !open.is_empty() && open.chars().all(marks::is_opening)
    }

    /// Looks ahead that the word after the mark of a call, if it has one, does not open another part instead.
    fn no_other_part(&self) -> String {
        let own = format!("{}{}", self.cut.section, self.cut.open);
        let is_word = |word: &&str| !word.is_empty() && word.chars().all(text::is_word);
        let words = distinct(
            self.other_parts().flat_map(|mark| after_each(mark, own.trim())).map(str::trim_start).filter(is_word),
        );
        words.into_iter().map(|word| format!("(?!{}(?![\\w.-]))", escape(word))).collect()
    }

    /// The marks that open reasoning and content.
    pub(super) fn other_parts(&self) -> impl Iterator<Item = &str> {
        let reasoning = self.wire.reasoning.iter().flat_map(|reasoning| {
            [&reasoning.open, &reasoning.close].into_iter().chain(&reasoning.answer_marks).map(String::as_str)
        });
        let content = &self.wire.content;
        let beside = [&content.after_reasoning, &content.beside_calls].into_iter().flatten().map(|(open, _)| open);
        reasoning.chain([&content.open].into_iter().chain(beside).chain(&content.labels).map(String::as_str))
    }

    /// Looks ahead that the text from the name on does not complete a marker that opens something else: if only a bracket
    /// comes before the name, `<think>` looks like a call.
    fn no_marker(&self, before: &[CallPart], next: &str) -> String {
        let Some(texts) = before.iter().map(CallPart::text).collect::<Option<String>>() else { return String::new() };
        let lead = format!("{}{texts}", self.cut.open);
        let (lead, next) = (lead.trim(), next.trim());
        if lead.is_empty() || next.is_empty() {
            return String::new();
        }
        let markers = self.other_parts().chain([self.cut.section.as_str()]);
        let mut others: Vec<String> = Vec::new();
        for rest in markers.flat_map(|marker| after_each(marker, lead)).map(str::trim_start) {
            let end = rest.trim_start_matches(|c: char| text::is_word(c) || ".-".contains(c));
            let is_name = !end.is_empty() && end.len() < rest.len();
            if is_name && (end.starts_with(next) || next.starts_with(end)) {
                push_new(&mut others, escape(rest));
            }
        }
        if others.is_empty() { String::new() } else { format!("(?!{})", others.join("|")) }
    }

    /// The beginning of the next call, after the end of the one before.
    pub(super) fn next(&self) -> String {
        format!("{}{}", escape(&self.cut.separator), self.begin())
    }

    pub(super) fn begin(&self) -> String {
        let mut unread = Groups::unread();
        let follows = self.around_arguments().follows;
        let head = self.pieces(&self.without_left_out(&self.calls.body.head), &follows, &mut unread);
        format!("{}{head}", self.text(&self.cut.open))
    }
}

/// What follows each occurrence of a mark in a text without the white space around it; all of it if there is no mark.
fn after_each<'t>(text: &'t str, mark: &str) -> impl Iterator<Item = &'t str> {
    let text = text.trim();
    let ends = text.match_indices(mark).map(|(at, mark)| at + mark.len());
    ends.take(if mark.is_empty() { 1 } else { usize::MAX }).filter_map(|end| text.get(end..))
}

/// The text after a part of a head. If only white space is left, that and the text after the head.
fn text_after<'t>(rest: &'t [CallPart], follows: &'t str) -> Cow<'t, str> {
    match rest {
        [] => follows.into(),
        [CallPart::Text(text)] if text.trim().is_empty() => format!("{text}{follows}").into(),
        [part, ..] => part.text().unwrap_or_default().into(),
    }
}
