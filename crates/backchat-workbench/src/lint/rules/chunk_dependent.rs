//! RT001: transformers' answer depends on how the text is cut, found by running it.
//!
//! For every delimiter, texts are made from its matches, prefixes and suffixes of them, and plain words. They are
//! parsed with that delimiter alone, whole and one character at a time, as transformers does. Those that differ are
//! parsed with the template (inside a region if the delimiter closes one), whole and cut in two. The finding quotes the
//! smallest text that shows a difference.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Side, Subject};
use crate::lint::trial_parse::{Answer, characters, parser, read};
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::{Object, Path, Value};
use backchat_parser::parser::{Mode, Parser};
use backchat_parser::pattern::Construct;
use backchat_parser::template::{Delimiter, Field, Template};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT001",
        name: "chunk-dependent",
        severity: Severity::Warning,
        page: Page {
            what: "transformers' answer depends on how the text is cut into chunks. The finding quotes a text and the two chunks that show it.",
            why: "A marker leaks into the content, or a call is lost, at one chunk boundary in a hundred: in a stream, never in a test of whole texts. Backchat's own answer does not depend on chunks.",
            example: "\"content\": {\"close_pattern\": \"<\\\\|end\\\\|>|$\"}\n\nThe text \"<|end|>\" in the chunks \"<|\" and \"end|>\" becomes content.",
            fix: "Leave out `|$`: a region that nothing closes ends with the text anyway. Write a literal instead of a pattern. If a marker has an optional tail, let a single next character decide where it ends, such as `\\s*`.",
        },
    },
    finder: Finder::Run(check),
};

/// How many texts are tried for a delimiter, at least and at most.
const TEXTS: usize = 80;
const MOST_TEXTS: usize = 100;
/// How many of the texts that differ with the delimiter alone are parsed with the whole template.
const SUSPECTS: usize = 16;
/// Texts up to this many bytes are cut in two at every place, longer ones at a few.
const SHORT: usize = 48;
/// The longest text that is tried, in bytes.
const LONGEST: usize = 240;

/// A delimiter, and what it is of.
#[derive(Clone, Copy)]
struct Marker<'t> {
    field: &'t Field,
    side: Side,
    delimiter: &'t Delimiter,
}

impl Marker<'_> {
    fn path(self) -> Path {
        Subject::delimiter_path(self.field, self.side)
    }
}

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(reader) = parser(subject.template, Mode::Reference) else { return Vec::new() };
    let mut found: Vec<Diagnostic> = Vec::new();
    for (field, side, delimiter) in subject.delimiters() {
        let marker = Marker { field, side, delimiter };
        let before = match side {
            Side::Close => before_close(subject, field),
            Side::Open => String::new(),
        };
        // transformers holds every beginning of a single literal.
        if delimiter.literals().is_some_and(|literals| literals.len() == 1) {
            continue;
        }
        // A text may show the effect of another delimiter: only what differs with the delimiter alone is its fault.
        let Some(alone) = alone(field, side) else { continue };
        let texts = texts(subject, delimiter);
        let suspects: Vec<&String> = texts.iter().filter(|text| differs(&alone, text)).collect();
        let step = suspects.len() / SUSPECTS + 1;
        let in_place = |text: &&&String| differs(&reader, &format!("{before}{text}"));
        let suspects: Vec<&String> = suspects.iter().step_by(step).filter(in_place).copied().collect();
        let shows = |text: &str, how| shown(&reader, &format!("{before}{text}"), how);
        let is_own = |text: &str| shown(&alone, text, How::Anyhow).is_some();
        let first = |how| suspects.iter().find(|text| shows(text, how).is_some()).map(|text| (*text, how));
        // A changed message matters more than changed regions.
        let Some((text, how)) = first(How::Message).or_else(|| first(How::Anyhow)) else {
            found.extend(by_shape(subject, rule, marker));
            continue;
        };
        let text = shrink(text.clone(), |text| shows(text, how).is_some() && is_own(text));
        if let Some(difference) = shows(&text, how) {
            let kind = if side == Side::Open { "open" } else { "close" };
            let message = format!("transformers' answer depends on how the text is cut at this {kind}: {difference}");
            let finding = rule.finding(message).at(subject.place(&marker.path()));
            found.push(with_advice(subject, marker, &texts, finding));
        }
    }
    found
}

/// A problem that runs do not show: transformers' engine loses a match of full case folding that a chunk's end cuts.
fn by_shape(subject: &Subject<'_>, rule: &Rule, marker: Marker<'_>) -> Option<Diagnostic> {
    let folds = marker.delimiter.pattern().shape().constructs.contains(&Construct::FullFolding);
    folds.then(|| {
        let message = "transformers misses a match of full case folding where a chunk ends inside it";
        let finding = rule.finding(message).at(subject.place(&marker.path()));
        finding.help("leave out the flag `f`, or write the spellings that occur as literals")
    })
}

/// The text that must precede a close for it to count.
fn before_close(subject: &Subject<'_>, field: &Field) -> String {
    let markers = subject.fields().find(|(other, _)| other.name == field.name);
    markers.and_then(|(_, markers)| markers.open.first().cloned()).unwrap_or_default()
}

/// A parser that knows this delimiter only.
fn alone(field: &Field, side: Side) -> Option<Parser> {
    let delimiter = side.delimiter(field)?;
    let mut watched = Object::new();
    let value = match delimiter.literals() {
        Some(literals) => Value::List(literals.iter().map(|literal| literal.as_str().into()).collect()),
        None => delimiter.pattern().source().into(),
    };
    // The name keeps the order in which fields are tried if two match the same text.
    watched.insert(side.key(delimiter), value);
    if delimiter.pattern().names().next().is_some() {
        watched.insert("transform", "{content}".into());
    }
    let mut fields = Object::new();
    fields.insert("x", Value::Object(watched));
    if side == Side::Open {
        fields.insert("y", Value::Object(Object::new()));
    }
    let template = Value::from([("start_anchor", "\u{1}".into()), ("fields", Value::Object(fields))]);
    let loaded = Template::from_value(&template).ok()?;
    parser(&loaded.template, Mode::Reference)
}

/// Whether a text parsed one character at a time, or in two halves, differs from the whole.
fn differs(reader: &Parser, text: &str) -> bool {
    let whole = read(reader.clone(), [text]);
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    read(reader.clone(), characters(text)) != whole
        || text.split_at_checked(middle).is_some_and(|(one, other)| read(reader.clone(), [one, other]) != whole)
}

/// In what answers may differ.
#[derive(Clone, Copy)]
enum How {
    /// In the message.
    Message,
    /// In the message, or only in the regions.
    Anyhow,
}

/// Whether the answer to a text depends on how it is cut, as a message.
fn shown(reader: &Parser, text: &str, how: How) -> Option<String> {
    let differs = |one: &Answer, other: &Answer| match how {
        How::Message => one.message != other.message,
        How::Anyhow => one != other,
    };
    let whole = read(reader.clone(), [text]);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let step = if text.len() <= SHORT { 1 } else { places.len() / 8 + 1 };
    let two_way = places.iter().step_by(step).find_map(|&at| {
        let (one, other) = text.split_at_checked(at)?;
        let cut = read(reader.clone(), [one, other]);
        differs(&cut, &whole).then_some((one, other, cut))
    });
    if let Some((one, other, cut)) = two_way {
        let (now, before) = (visible(&cut, &whole), visible(&whole, &cut));
        return Some(format!("{} and {} give {now}, the same in one piece {before}", quote(one), quote(other)));
    }
    let cut = read(reader.clone(), characters(text));
    differs(&cut, &whole).then(|| {
        let (now, before) = (visible(&cut, &whole), visible(&whole, &cut));
        format!("{} one character at a time gives {now}, in one piece {before}", quote(text))
    })
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// The part of an answer that a user sees: the message, or the regions if another answer has the same message.
fn visible(answer: &Answer, other: &Answer) -> String {
    match &answer.message {
        Err(_) => "an error".to_owned(),
        Ok(message) if answer.message != other.message => Value::Object(message.clone()).to_string(),
        Ok(_) => {
            let regions = answer.regions.iter().map(|(field, text)| format!("{field} {}", quote(text)));
            format!("the regions [{}]", regions.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The shortest text that still shows it, leaving out a character at a time.
fn shrink(mut text: String, shows: impl Fn(&String) -> bool) -> String {
    let mut at = 0;
    while let Some((start, c)) = text.char_indices().nth(at) {
        let mut shorter = text.clone();
        shorter.replace_range(start..start + c.len_utf8(), "");
        if shows(&shorter) {
            text = shorter;
        } else {
            at += 1;
        }
    }
    text
}

/// Texts that contain a delimiter: whole, in part, and twice.
fn texts(subject: &Subject<'_>, delimiter: &Delimiter) -> Vec<String> {
    let mut matches: Vec<String> = match delimiter.literals() {
        Some(literals) => literals.iter().take(48).cloned().collect(),
        None => delimiter.pattern().examples().to_vec(),
    };
    matches.retain(|text| text.len() <= LONGEST / 2);
    let mut pieces: Vec<String> = ["a", " ", "\n", "ab c", "b"].map(str::to_owned).to_vec();
    let spread = |items: &[String], most: usize| -> Vec<String> {
        let step = items.len() / most + 1;
        items.iter().step_by(step).cloned().collect()
    };
    for text in spread(&matches, 10) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        for &at in places.iter().step_by(places.len() / 8 + 1) {
            let halves = text.split_at_checked(at);
            debug_assert!(halves.is_some(), "texts are cut between characters");
            pieces.extend(halves.into_iter().flat_map(|(beginning, end)| [beginning.to_owned(), end.to_owned()]));
        }
    }
    let others =
        subject.fields().flat_map(|(_, markers)| markers.open.iter().take(1).chain(markers.close.iter().take(1)));
    let others: Vec<String> = others.cloned().collect();

    let mut texts = matches.clone();
    for text in spread(&matches, 8) {
        for piece in ["a", " ", "\n", "\n\n", "ab c"] {
            texts.push(format!("{text}{piece}"));
            texts.push(format!("{piece}{text}"));
            texts.push(format!("{piece}{text}{piece}"));
        }
        for other in spread(&matches, 6) {
            texts.push(format!("{text}{other}"));
        }
    }
    let all: Vec<&String> = matches.iter().chain(&pieces).chain(&others).filter(|text| !text.is_empty()).collect();
    let mut state = 0x5EED_u64;
    let mut draw = |bound: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as usize % bound.max(1)
    };
    while texts.len() < TEXTS {
        let count = draw(5) + 1;
        texts.push((0..count).filter_map(|_| all.get(draw(all.len()))).map(|text| text.as_str()).collect());
    }
    texts.retain(|text| !text.is_empty() && text.len() <= LONGEST);
    texts.sort_by(|one, other| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
    texts.dedup();
    // Short ones show as much, and are cheaper to parse one character at a time.
    texts.truncate(MOST_TEXTS);
    texts
}

/// The advice to write something else; a fix if another spelling gives the same whole answers.
fn with_advice(subject: &Subject<'_>, marker: Marker<'_>, texts: &[String], finding: Diagnostic) -> Diagnostic {
    let Marker { side, delimiter, .. } = marker;
    let source = delimiter.pattern().source();
    if delimiter.literals().is_some() {
        return finding
            .help("one of these literals occurs in another: keep those that no other one begins with or contains");
    }
    let without_end = ["|$", r"|\Z"].iter().find_map(|end| source.strip_suffix(end));
    let Some(shorter) = without_end.filter(|_| side == Side::Close) else {
        return finding.help("write a literal, or a pattern that one more character decides, such as `</mark>\\s*`");
    };
    let help = "leave out the alternative for the end of the text: a region that nothing closes ends there anyway";
    let same = same_whole(subject, marker, shorter, texts).unwrap_or(false);
    let edits = subject.replace_entry(&marker.path(), side.key(delimiter), &shorter.into()).filter(|_| same);
    match edits {
        Some(edits) => finding.help(help).fix(format!("write {}", quote(shorter)), edits),
        None => finding.help(help),
    }
}

/// Whether whole texts parse the same with another spelling of a delimiter.
fn same_whole(subject: &Subject<'_>, marker: Marker<'_>, pattern: &str, texts: &[String]) -> Option<bool> {
    let Marker { field, side, delimiter } = marker;
    let key = side.key(delimiter);
    let other = subject.with_field(field, |written| drop(written.insert(key, pattern.into())))?;
    let (one, other) = (parser(subject.template, Mode::Reference)?, parser(&other, Mode::Reference)?);
    let before = if side == Side::Close { before_close(subject, field) } else { String::new() };
    let message = |parser: &Parser, text: &str| read(parser.clone(), [text]).message;
    // A newline at the end of the text is where `$` does harm; the fix is to be judged by all others.
    let mut judged = texts.iter().filter(|text| !text.ends_with('\n'));
    Some(judged.all(|text| {
        let text = format!("{before}{text}");
        message(&one, &text) == message(&other, &text)
    }))
}
