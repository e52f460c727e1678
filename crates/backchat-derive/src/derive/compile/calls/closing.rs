//! The close of a call: its own mark, or the text that must follow it.

use super::super::choices::Guard;
use super::super::pattern::{Delimiter, any_of, escape, spaced};
use super::super::stop_pattern;
use super::{ANY_ARGUMENTS, Plan};
use crate::wire::marks;
use crate::wire::structure::{Arguments, CallPart, Encoding, KEY_AGAIN, Place};
use backchat_core::json::Object;

impl Plan<'_> {
    /// Writes the close of a call: its own text and, if that is not distinctive, a look-ahead for the text that must follow.
    pub(super) fn close(&self, field: &mut Object, tail: &str, own: &str) {
        let lookbehind = self.after_arguments();
        let pattern = format!("{lookbehind}{tail}{}", self.closing_marks(tail, own));
        let guarded = match self.choices.guard {
            Guard::Weak => !self.is_mark(own),
            // If content comes after calls, any text may follow.
            Guard::Behind => !self.is_mark(own) && (lookbehind.is_empty() || !self.text_follows()),
            Guard::Always => true,
        };
        let ends_turn = self.stops().any(|stop| own.contains(stop));
        let ends_json = self.calls.body.arguments == Arguments::Json && own.trim().chars().all(|c| c == '}');
        let is_before_text = self.text_follows() && self.section_end().is_none() && self.choices.guard == Guard::Behind;
        let keeps_space = self.leaves_white_space() || is_before_text && !self.cut.separator.is_empty();
        let space = if keeps_space && !ends_turn { "" } else { "\\s*" };
        let close = if is_before_text && ends_json {
            // Any text may follow but more JSON.
            Some(format!("(?<=\\}}){}{}", pattern.trim_end_matches("\\s*"), self.no_json_follows()))
        } else if is_before_text && let Some(next) = self.next_pair().filter(|_| pattern == lookbehind) {
            // Any text may follow but another argument.
            Some(format!("{pattern}(?!\\s*{next})"))
        } else if pattern.is_empty() {
            self.ends_without_close().map(|ends| self.outside_strings(format!("\\s*{ends}")))
        } else if guarded {
            Some(self.outside_strings(format!("{pattern}{}", self.must_follow(own))))
        } else {
            Some(self.or_end(pattern, own))
        };
        if let Some(close) = close {
            Delimiter::Pattern(format!("{close}{}{space}", self.optional_label())).write(field, "close");
        }
    }

    /// An optional match of the answer's label after a close, so that it does not become content.
    pub(super) fn optional_label(&self) -> String {
        self.answer_label().map_or_else(String::new, |label| format!("(?:\\s*{label})?"))
    }

    /// A pattern for the label before every answer, if it separates the answer from reasoning or calls that have no close:
    /// content leaves out marks by itself. If the label begins a line in renders, it counts only there, since arguments may
    /// contain it.
    pub(super) fn answer_label(&self) -> Option<String> {
        let content = &self.wire.content;
        let has_no_mark = content.open.trim().is_empty() && content.beside_calls.is_none();
        let follows = content.place == Place::After && has_no_mark;
        let reasoning = self.wire.reasoning.as_ref().filter(|reasoning| follows && reasoning.calls_close)?;
        let label = reasoning.close.trim();
        let is_everywhere = reasoning.empty.as_ref().is_some_and(|empty| empty.trim() == label);
        let start = if reasoning.close.starts_with('\n') { "(?<=\\n)" } else { "" };
        (is_everywhere && !label.is_empty() && !self.is_mark(label)).then(|| format!("{start}{}", spaced(label)))
    }

    /// The marks that close a call. Of two marks, the outer one may be missing, as its counterpart in the opening may.
    fn closing_marks(&self, tail: &str, own: &str) -> String {
        let text = if self.keeps_white_space() { own.trim_end() } else { own.trim() };
        let outer = self.outer_marks(&self.cut.open).and_then(|marks| Some((marks, self.outer_close(text)?)));
        match (outer, self.weak_lead(text).filter(|_| tail.is_empty())) {
            (Some(((before, next), (first, outer))), _) => {
                let next = [next, before.trim()].map(|mark| self.text(mark)).join("|");
                format!("{}\\s*(?:{}|(?={next}))", self.text(first), spaced(outer.trim()))
            }
            (None, Some((lead, last))) => format!("(?:{}\\s*)?{}", self.text(lead.trim_end()), self.text(last)),
            (None, None) => self.text(text),
        }
    }

    /// The ends of a call without a close: the next part or the end of the turn.
    fn ends_without_close(&self) -> Option<String> {
        if self.followers().is_empty() && self.wire.stops.is_empty() {
            return None;
        }
        let mut patterns: Vec<String> = Vec::new();
        patterns.extend(self.calls_follow().map(|next| format!("(?={next})")));
        patterns.extend(self.content_follows().map(|open| format!("(?={open})")));
        let is_punctuation = |end: &str| end.trim().chars().all(|c| c.is_ascii_punctuation());
        patterns.extend(self.section_end().map(|end| match !is_punctuation(end) || self.text_follows() {
            true => self.with_space(self.section_ends(end)),
            // Any value may contain it.
            false => format!("{}(?=\\s*(?:{}))", self.section_ends(end), self.ends_of_turn()),
        }));
        patterns.extend(self.stops().map(|stop| self.with_space(stop_pattern(self.wire, stop))));
        Some(any_of(patterns))
    }

    /// Whether a close leaves white space that separates two calls to the opening that needs it.
    fn leaves_white_space(&self) -> bool {
        let separator = self.cut.separator.as_str();
        self.cut.open.trim().is_empty() && separator.trim().is_empty() && !separator.is_empty()
    }

    /// The end of a section or of the turn with the white space after it, which would be content, unless the whole close
    /// takes it.
    fn with_space(&self, end: String) -> String {
        if self.leaves_white_space() { format!("{end}\\s*") } else { end }
    }

    /// A distinctive close, or the end of the section or of the turn, which also close a call.
    fn or_end(&self, close: String, own: &str) -> String {
        let ends = self.marks_of_ends();
        let is_new = |end: &&str| self.is_mark(end) && !own.contains(end) && !end.contains(own.trim());
        let ends = ends.into_iter().filter(is_new).map(spaced);
        let stops = self.wire.sure_stops().filter(|stop| !own.contains(stop));
        let stops = stops.map(|stop| self.with_space(escape(stop)));
        any_of([close].into_iter().chain(ends).chain(stops))
    }

    /// Looks ahead, behind a close that strings may contain, for what must follow a call.
    fn must_follow(&self, own: &str) -> String {
        let mut followers = self.followers();
        // A text that is cut off before the end of the section may be cut off inside a call.
        if self.section_end().is_none() {
            followers.push("\\Z".to_owned());
        }
        // The last call consumes an end of the section that content cannot leave out, unless it ends a list.
        let end = self.section_end().filter(|end| own.trim().is_empty() || !end.contains(own.trim()));
        let has_mark =
            end.is_some_and(|end| self.wire.section_marks(end).iter().any(|mark| self.wire.is_distinct(mark)));
        // Content leaves out the mark but keeps the white space before it: the last call takes both, or the white space would be
        // content of its own.
        let end = end.filter(|_| !has_mark || self.leaves_white_space());
        match end.map(|end| self.section_ends(end)) {
            Some(end) => {
                followers.retain(|other| *other != end);
                let at_end = if has_mark { String::new() } else { format!("(?=\\s*(?:{}))", self.ends_of_turn()) };
                format!("(?:\\s*{}|(?={}))", self.with_space(format!("{end}{at_end}")), self.followed_by(&followers))
            }
            // The white space before the end of the turn would be content of its own, in place of that before the calls.
            None if self.leaves_white_space() && !self.text_follows() => {
                let is_end = |other: &str| other == "\\Z" || self.stops().any(|stop| escape(stop) == other);
                followers.retain(|other| !is_end(other));
                let end = format!("\\s*(?={})", self.ends_of_turn());
                let is_followed = !followers.is_empty() || self.calls_follow().is_some();
                let others = is_followed.then(|| format!("(?={})", self.followed_by(&followers)));
                any_of([end].into_iter().chain(others))
            }
            None => format!("(?={})", self.followed_by(&followers)),
        }
    }

    /// If pairs end with a mark, looks behind for it, or for the head of a call without arguments.
    fn after_arguments(&self) -> String {
        let (Some(pairs), Guard::Behind) = (self.wire.pairs(), self.choices.guard) else { return String::new() };
        let close = pairs.cut.close.trim();
        let head = self.calls.body.head.last().and_then(CallPart::text).unwrap_or_default().trim();
        let is_before_text = self.text_follows() && self.is_mark(&self.cut.open);
        if head.is_empty() && !is_before_text || pairs.braces.is_some() {
            return String::new();
        }
        if let Some((_, end)) = pairs.cut.close.rsplit_once(KEY_AGAIN) {
            return self.after_tags(&format!("{end}{}", pairs.cut.section_close));
        }
        // JSON has no line break as such: after one, a text closes the call.
        let ends_line = close.is_empty() && pairs.cut.close.contains('\n') && pairs.values.strings == Encoding::Json;
        if !ends_line && !self.is_mark(close) {
            return String::new();
        }
        // A value may contain what is no mark: then the whole opening is looked for.
        let head = if is_before_text && !self.is_mark(head) { self.begin() } else { escape(head) };
        if ends_line {
            return format!("(?<=\\n|{head})");
        }
        format!("(?<=(?:{}|{head})\\s*)", escape(close))
    }

    /// The mark that begins each argument, as a pattern.
    fn next_pair(&self) -> Option<String> {
        let open = self.wire.pairs()?.cut.open.trim();
        (!open.is_empty()).then(|| spaced(open))
    }

    /// Looks behind for the end of a tag: `end` after the last argument, or the end of the head. What closes the call
    /// looks like what closes an argument, but a value comes before the latter.
    fn after_tags(&self, end: &str) -> String {
        let head = self.calls.body.head.last().and_then(CallPart::text).unwrap_or_default();
        if end.trim().is_empty() {
            return String::new();
        }
        let ends = [end, head].map(|text| match self.choices.exact_space {
            true => escape(text),
            false => format!("{}\\s*", escape(text.trim())),
        });
        format!("(?<={})", any_of(ends))
    }

    /// Whether white space next to the body is part of it.
    fn keeps_white_space(&self) -> bool {
        self.choices.exact_space || self.wire.pairs().is_some_and(|pairs| !self.is_mark(&pairs.cut.close))
    }

    /// The punctuation before the closing mark of JSON, such as a fence, and the mark. The mark alone suffices.
    fn weak_lead<'t>(&self, close: &'t str) -> Option<(&'t str, &'t str)> {
        let last = self.wire.segmentation.last(close).filter(|mark| self.is_mark(mark))?;
        let is_fence =
            |lead: &&str| !lead.trim().is_empty() && !lead.contains(|c| marks::is_closing(c) || "\"'".contains(c));
        let lead = close.strip_suffix(last).filter(is_fence).filter(|lead| !self.is_mark(lead))?;
        self.wire.pairs().is_none().then_some((lead, last))
    }

    /// The first mark of a close, and the outer ones after it.
    fn outer_close<'t>(&self, close: &'t str) -> Option<(&'t str, &'t str)> {
        let lead = close.len() - close.trim_start().len();
        let first = self.wire.segmentation.first(close).filter(|mark| self.is_mark(mark))?;
        let (first, outer) = close.split_at_checked(lead + first.len())?;
        self.is_mark(outer).then_some((first, outer))
    }

    pub(super) fn stops(&self) -> impl Iterator<Item = &str> {
        self.wire.stops.iter().map(String::as_str)
    }

    /// The stops as literals, which a server does not strip. Before them, the stop with the white space that renders write
    /// after it, which would be content, in place of the answer before the calls; in every length, because the reference
    /// waits for a longer literal by one character only.
    pub(super) fn stops_with_space(&self) -> Vec<String> {
        let end = self.wire.end.as_str();
        let bare = end.trim_end();
        let stop = self.stops().find(|stop| bare.ends_with(stop)).unwrap_or_default();
        let longer = (bare.len() + 1..=end.len()).rev().filter_map(|to| end.get(bare.len() - stop.len()..to));
        let longer = longer.filter(|_| !stop.is_empty()).map(str::to_owned);
        longer.chain(self.stops().map(str::to_owned)).collect()
    }

    /// The texts that can end the turn, as alternatives.
    pub(super) fn ends_of_turn(&self) -> String {
        self.stops().map(escape).chain(["\\Z".to_owned()]).collect::<Vec<_>>().join("|")
    }

    fn section_end(&self) -> Option<&str> {
        Some(self.cut.section_close.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// The end of the section, or what several calls have in its place, as a pattern.
    pub(super) fn section_ends(&self, end: &str) -> String {
        any_of([end.trim()].into_iter().chain(self.calls.section_closes.iter().map(String::as_str)).map(spaced))
    }

    /// The marks of the ends of sections.
    pub(super) fn marks_of_ends(&self) -> Vec<&str> {
        let ends = [&self.cut.section_close].into_iter().chain(&self.calls.section_closes);
        ends.flat_map(|end| self.wire.section_marks(end)).collect()
    }

    fn calls_follow(&self) -> Option<String> {
        let next = self.calls.several.then(|| self.next()).filter(|next| !next.trim().is_empty())?;
        Some(self.guarded(&next))
    }

    /// The beginning of a call up to its arguments: text or an object may look like the rest of it.
    pub(super) fn guarded(&self, next: &str) -> String {
        let is_named_in_object = self.calls.body.object.as_ref().is_some_and(|object| object.name.is_some());
        let first = if self.calls.body.arguments == Arguments::Json { "\\{" } else { ANY_ARGUMENTS };
        let guard = if is_named_in_object { String::new() } else { self.guard(&self.cut.separator, first) };
        let head = next.strip_suffix("\\s*").filter(|_| guard.starts_with("(?=\\s*")).unwrap_or(next);
        format!("{head}{guard}")
    }

    /// The texts that can follow a call after any white space, as patterns.
    pub(super) fn followers(&self) -> Vec<String> {
        let next = self.calls_follow().filter(|_| !self.parts_exactly());
        let next = next.map(|next| next.trim_start_matches("\\n").to_owned());
        let end = self.section_end().map(|end| self.section_ends(end));
        let stops = self.stops().map(escape);
        next.into_iter().chain(end).chain(stops).chain(self.content_follows()).collect()
    }

    /// Whether the text between two calls is matched exactly, white space included.
    fn parts_exactly(&self) -> bool {
        self.choices.exact_space && !self.cut.separator.is_empty()
    }

    /// A pattern for any of the texts that can follow a call.
    pub(super) fn followed_by(&self, followers: &[String]) -> String {
        let others = (!followers.is_empty()).then(|| format!("\\s*(?:{})", followers.join("|")));
        let next = self.calls_follow().filter(|_| self.parts_exactly());
        any_of(next.into_iter().chain(others))
    }

    /// The mark or the label of content after calls.
    pub(super) fn content_follows(&self) -> Option<String> {
        let open = self.wire.content.open.trim();
        let has_mark = self.wire.content.place == Place::After && !open.is_empty();
        if has_mark { Some(escape(open)) } else { self.answer_label() }
    }
}
