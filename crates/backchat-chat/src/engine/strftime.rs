//! `datetime.strftime` as CPython has it on Linux, for a time without a zone: CPython fills in three directives, and glibc
//! formats the others in the locale `C`.

use std::iter::repeat_n;

use chrono::{Datelike, Local, NaiveDateTime, TimeZone, Timelike};

const DAYS: &[&str] = &["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
#[rustfmt::skip]
const MONTHS: &[&str] = &[
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
];

/// The words that each of the directives `%A`, `%a`, `%B`, `%b` and `%p` writes.
#[must_use]
pub fn clock_words() -> [Vec<&'static str>; 5] {
    let [days, months] = [DAYS, MONTHS].map(|names| names.iter().filter_map(|name| name.get(..3)).collect());
    [DAYS.to_vec(), days, MONTHS.to_vec(), months, vec!["AM", "PM"]]
}

/// Formats a time. If a width makes the text too long for CPython's buffer, it is empty, as in CPython.
pub(crate) fn strftime(now: NaiveDateTime, format: &str) -> String {
    let limit = (256 * format.len()).next_power_of_two().max(1024);
    format_within(limit, now, &fill_in(now, format)).unwrap_or_default()
}

/// Replaces the directives that CPython formats itself: microseconds, and the offset and name of the zone, which are empty.
fn fill_in(now: NaiveDateTime, format: &str) -> String {
    let mut filled = String::new();
    let mut rest = format;
    while let Some((text, directive)) = rest.split_once('%') {
        filled.push_str(text);
        let mut chars = directive.chars();
        match chars.next() {
            Some('z' | 'Z') => {}
            Some(':') if chars.as_str().starts_with('z') => drop(chars.next()),
            Some('f') => filled.push_str(&format!("{:06}", now.nanosecond() / 1000)),
            other => filled.extend(Some('%').into_iter().chain(other)),
        }
        rest = chars.as_str();
    }
    filled.push_str(rest);
    filled
}

/// Formats as glibc does. `None` if the text has as many bytes as the limit, or more.
fn format_within(limit: usize, now: NaiveDateTime, format: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        let (directive, after) = Directive::read(from);
        let (text, fill) = directive.text(now);
        let missing = directive.width.saturating_sub(text.chars().count());
        if missing >= limit || out.len() >= limit {
            return None;
        }
        out.push_str(before);
        out.extend(repeat_n(fill, missing));
        out.push_str(&text);
        rest = after;
    }
    out.push_str(rest);
    (out.len() < limit).then_some(out)
}

/// `%`, flags, a width, a modifier and a letter. All but the first may be absent.
struct Directive<'f> {
    source: &'f str,
    flags: &'f str,
    width: usize,
    modifier: Option<char>,
    letter: Option<char>,
}

enum Value {
    Text(&'static str),
    /// A number and its usual digits.
    Number(i64, usize),
    Format(&'static str),
}

impl<'f> Directive<'f> {
    /// Reads the directive that begins a text. Also returns the text after it.
    fn read(text: &'f str) -> (Self, &'f str) {
        let (flags, after) = split(text.strip_prefix('%').unwrap_or(text), |c| "_-0^#".contains(c));
        let (width, after) = split(after, |c| c.is_ascii_digit());
        let modifier = after.chars().next().filter(|c| matches!(c, 'E' | 'O'));
        let mut chars = after.chars();
        let letter = chars.nth(usize::from(modifier.is_some()));
        let after = chars.as_str();
        // The empty offset is not padded.
        let padded = !width.is_empty() && letter != Some('z');
        let width = if padded { width.parse().unwrap_or(usize::MAX) } else { 0 };
        let source = text.get(..text.len() - after.len()).unwrap_or(text);
        (Self { source, flags, width, modifier, letter }, after)
    }

    /// The text, not yet padded to the width, and the character that pads it. A directive that glibc does not know keeps its
    /// source.
    fn text(&self, now: NaiveDateTime) -> (String, char) {
        let swaps = self.flags.contains('#');
        let mut pad = self.flags.chars().rfind(|c| "_-0".contains(*c));
        let mut text = match self.value(now) {
            Some(Value::Text(text)) => text.to_owned(),
            Some(Value::Format(format)) => format_within(usize::MAX, now, format).unwrap_or_default(),
            Some(Value::Number(number, digits)) => {
                let usual = if matches!(self.letter, Some('e' | 'k' | 'l' | 's')) { '_' } else { '0' };
                match *pad.get_or_insert(usual) {
                    '-' => number.to_string(),
                    '_' => format!("{number:digits$}"),
                    _ => format!("{number:0digits$}"),
                }
            }
            None => self.source.to_owned(),
        };
        match self.letter {
            Some('P') => text.make_ascii_lowercase(),
            Some('p') if swaps => text.make_ascii_lowercase(),
            Some('a' | 'A') if swaps && self.modifier.is_none() => text.make_ascii_uppercase(),
            Some('b' | 'B' | 'h') if swaps => text.make_ascii_uppercase(),
            _ if self.flags.contains('^') => text = text.to_uppercase(),
            _ => {}
        }
        (text, if pad == Some('0') { '0' } else { ' ' })
    }

    fn value(&self, now: NaiveDateTime) -> Option<Value> {
        use Value::{Format, Number, Text};
        let letter = self.letter?;
        let refused = match self.modifier {
            Some('E') => "abdeghjklmwABDFGHIMSUVW",
            Some('O') => "acxADFXY",
            _ => "",
        };
        if refused.contains(letter) {
            return None;
        }
        let (sunday, monday) = (now.weekday().num_days_from_sunday(), now.weekday().num_days_from_monday());
        let (day, month) = (name(DAYS, sunday), name(MONTHS, now.month0()));
        let (year, iso) = (i64::from(now.year()), now.iso_week());
        let (afternoon, hour) = now.hour12();
        let number = |number: u32, digits| Number(i64::from(number), digits);
        Some(match letter {
            'a' => Text(day.get(..3)?),
            'A' => Text(day),
            'b' | 'h' => Text(month.get(..3)?),
            'B' => Text(month),
            'c' => Format("%a %b %e %H:%M:%S %Y"),
            'C' => Number(year / 100, 2),
            'd' | 'e' => number(now.day(), 2),
            'D' | 'x' => Format("%m/%d/%y"),
            'F' => Format("%Y-%m-%d"),
            'g' => Number(i64::from(iso.year()) % 100, 2),
            // CPython writes the zeros of years before 1000 since 3.14.
            'G' => Number(i64::from(iso.year()), 4),
            'H' | 'k' => number(now.hour(), 2),
            'I' | 'l' => number(hour, 2),
            'j' => number(now.ordinal(), 3),
            'm' => number(now.month(), 2),
            'M' => number(now.minute(), 2),
            'n' => Text("\n"),
            'p' | 'P' => Text(if afternoon { "PM" } else { "AM" }),
            'r' => Format("%I:%M:%S %p"),
            'R' => Format("%H:%M"),
            's' => Number(timestamp(now), 1),
            'S' => number(now.second(), 2),
            't' => Text("\t"),
            'T' | 'X' => Format("%H:%M:%S"),
            'u' => number(monday + 1, 1),
            'U' => number((now.ordinal0() + 7 - sunday) / 7, 2),
            'V' => number(iso.week(), 2),
            'w' => number(sunday, 1),
            'W' => number((now.ordinal0() + 7 - monday) / 7, 2),
            'y' => Number(year % 100, 2),
            'Y' => Number(year, 4),
            'z' | 'Z' => Text(""),
            '%' => Text("%"),
            _ => return None,
        })
    }
}

/// Splits a text after its longest start of such characters.
fn split(text: &str, has: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !has(c)).unwrap_or(text.len()))
}

fn name(names: &[&'static str], index: u32) -> &'static str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
}

/// The seconds between 1970 and a local time.
fn timestamp(now: NaiveDateTime) -> i64 {
    let near = Local.offset_from_utc_datetime(&now);
    let offset = Local.offset_from_utc_datetime(&(now - near));
    (now - offset).and_utc().timestamp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::clock::{local_now, parse};
    use crate::engine::limits::MAX_TIME_FORMAT;

    #[test]
    fn texts_have_the_limit_of_cpython() {
        let now = parse("2026-01-04T05:06:07.891").unwrap();
        for (format, length) in [("%1022d", 1022), ("%2047d", 2047), ("%2048d", 0), ("%Y%9999d", 0), ("%999d%f", 1005)]
        {
            assert_eq!(strftime(now, format).len(), length, "{format}");
        }
        for part in ["%99999999999999999999999d", "%999999d", "%300d", "%c", "%f", "%", "%^", "%9", "%E", "é"] {
            let text = strftime(now, &part.repeat(MAX_TIME_FORMAT / part.len()));
            assert!(text.len() < 256 * MAX_TIME_FORMAT, "{part}");
        }
    }

    #[test]
    fn seconds_since_1970_take_the_time_as_local() {
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let seconds: u64 = strftime(local_now(), "%s").parse().unwrap();
        assert!((before..before + 60).contains(&seconds), "{seconds} is not after {before}");
    }

    proptest! {
        #[test]
        fn any_format_is_written(format in r"([%_0^#EO:-]|[a-zA-Z]|[0-9]{1,2}|\PC){0,20}", year in 0..9999_i32) {
            let now = parse(&format!("{year:04}-12-31T23:59:59")).unwrap();
            let text = strftime(now, &format);
            prop_assert!(format.contains('%') || text == format);
        }
    }
}
