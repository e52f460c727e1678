//! Two texts side by side, with their differences marked.

use super::html::Html;
use backchat_core::diagnostic::{escape_json, shortened};
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_probe::diff::{self, DiffTag};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Same(&'t str),
    /// The part that only the first text has.
    First(&'t str),
    /// The part that only the second text has.
    Second(&'t str),
}

/// How much shared text is shown around a difference, in characters.
const AROUND: usize = 160;

/// The shortest segment that is omitted, in characters.
const LEAST: usize = 240;

/// The longest JSON that is compared, in bytes: longer values are shortened first.
const MOST: usize = 64 << 10;

/// Two columns, each under its title; long shared segments are shortened to the ends next to a difference.
pub(super) fn columns(html: &mut Html, titles: [&str; 2], pieces: &[Piece<'_>]) {
    html.of_class("div", "sides", |html| {
        for (is_first, title) in [(true, titles[0]), (false, titles[1])] {
            html.figure(title, |html| html.pre(&[("class", "text")], |html| column(html, pieces, is_first)));
        }
    });
}

fn column(html: &mut Html, pieces: &[Piece<'_>], is_first: bool) {
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Same(text) => same(html, text, index > 0, index + 1 < pieces.len()),
            Piece::First(text) if is_first => html.of_class("del", "", |html| html.lines(text)),
            Piece::Second(text) if !is_first => html.of_class("ins", "", |html| html.lines(text)),
            Piece::First(_) | Piece::Second(_) => {}
        }
    }
}

/// A shared segment: its ends next to a difference, and the length of the omitted middle.
fn same(html: &mut Html, text: &str, follows: bool, precedes: bool) {
    let count = text.chars().count();
    let (head, tail) = (if follows { AROUND } else { 0 }, if precedes { AROUND } else { 0 });
    if count <= head + tail + LEAST {
        return html.lines(text);
    }
    let place = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(at, _)| at);
    html.lines(slice(text, ..place(head)));
    html.tag("span", "fold", &format!("… {} identical characters …", count - head - tail));
    html.lines(slice(text, place(count - tail)..));
}

/// Two values as pretty JSON, compared line by line.
pub(super) fn values(html: &mut Html, titles: [&str; 2], first: &Value, second: &Value) {
    let [first, second] = [first, second].map(pretty);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let (lines, others) = (diff::lines(&first), diff::lines(&second));
    // Operations cover both texts from left to right.
    let (mut rest, mut other_rest) = (first.as_str(), second.as_str());
    for op in diff::operations(&lines, &others) {
        let one = take_lines(&mut rest, lines.get(op.old_range()));
        let other = take_lines(&mut other_rest, others.get(op.new_range()));
        match op.tag() {
            DiffTag::Equal => pieces.push(Piece::Same(one)),
            _ => pieces.extend([Piece::First(one), Piece::Second(other)]),
        }
    }
    pieces.retain(|piece| !matches!(piece, Piece::First("") | Piece::Second("")));
    columns(html, titles, &pieces);
}

/// The next lines of a text, which moves on past them.
fn take_lines<'t>(rest: &mut &'t str, lines: Option<&[&str]>) -> &'t str {
    let length = lines.into_iter().flatten().map(|line| line.len()).sum();
    let (taken, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
    *rest = after;
    taken
}

/// A value as JSON of several lines.
pub(super) fn json(html: &mut Html, value: &Value) {
    html.pre(&[("class", "text json")], |html| html.lines(&pretty(value)));
}

/// A value as JSON whose long lines, and whose whole, are short enough for a page.
fn pretty(value: &Value) -> String {
    let mut out = String::new();
    for line in escape_json(&value.to_pretty("  ")).lines() {
        if out.len() > MOST {
            out.push_str("…\n");
            break;
        }
        out.push_str(&shortened(line, MOST / 4));
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}
