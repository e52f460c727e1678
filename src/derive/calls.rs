//! How tool calls are written: what surrounds them, and where name, id and arguments stand.

use std::ops::Range;

use super::arguments::{self, Arguments};
use super::conversation::{Answer, Call, Manner};
use super::marks;
use super::probe::{Prober, Setting, call, needle};
use super::reasoning::{Reasoning, without_empty};
use super::scan;
use super::turn::Turn;
use crate::json::{Object, Value};

/// What is known of tool calls.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub layout: Layout,
    /// Whether the template renders several calls in one turn.
    pub parallel: bool,
    /// What stands before the first call and not before the later ones.
    pub section_open: String,
    /// What stands before every call, up to its first own text.
    pub open: String,
    /// What ends every call, as it stands.
    pub close: String,
    /// What stands between the end of one call and the beginning of the next.
    pub separator: String,
    /// What stands after the last call and not after the others, up to the end of the turn.
    pub section_close: String,
    pub content: Beside,
    pub manner: Manner,
    pub setting: Setting,
    /// What ends a turn with calls, where that is another mark than ends a turn without.
    pub stop: Option<String>,
    /// Whether the first call's opening mark stands in the turn itself, not in its header.
    pub opens_in_body: bool,
}

impl Calls {
    /// What stands before the first call.
    pub fn opening(&self) -> String {
        format!("{}{}", self.section_open, self.open).trim().to_owned()
    }
}

/// Where content stands in a turn that has calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Before,
    After,
    Dropped,
}

/// Where a call's parts stand.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Each call is a JSON object.
    Object(Paths),
    /// All calls are one JSON array of objects.
    Array(Paths),
    /// Each call is a JSON object whose one key is the tool's name.
    Keyed,
    /// The name stands among marks, the arguments after it.
    Marked { head: Vec<Piece>, arguments: Arguments },
}

impl Layout {
    /// The word of the report.
    pub fn name(&self) -> &'static str {
        match self {
            Layout::Object(_) => "a JSON object a call",
            Layout::Array(_) => "one JSON array",
            Layout::Keyed => "a JSON object whose key is the name",
            Layout::Marked { .. } => "the name among marks",
        }
    }
}

/// Where in a call's JSON object its parts stand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Paths {
    pub name: Vec<String>,
    pub arguments: Vec<String>,
    pub id: Option<Vec<String>>,
    /// Whether the arguments are the text of a JSON object instead of the object.
    pub arguments_text: bool,
    /// The keys of the object in the order of the wire.
    pub keys: Vec<String>,
}

/// A piece of what stands before a call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// The name, where it is read.
    Name,
    /// The name, where it only stands a second time.
    NameAgain,
    Id,
    /// An id that holds the name.
    NamedId,
    /// A number that counts the calls.
    Index,
}

impl Piece {
    /// The text, where it is that.
    pub fn text(&self) -> Option<&str> {
        match self {
            Piece::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// One call as it was found in a render.
struct Located {
    range: Range<usize>,
    kind: Kind,
}

enum Kind {
    Object(Paths),
    Keyed,
    /// The arguments' own range, where they are JSON.
    Marked(Range<usize>),
    /// Arguments in some other form: from the first key to the last value.
    Spelled,
}

/// How calls with ids that hold the name look, where a template writes nothing but the id.
fn named_id(name: &str, index: usize) -> String {
    format!("qzspace.{name}:{index}")
}

/// The probes' calls in the form this template needs.
fn probe_call(index: usize, arguments: usize, ids_hold_names: bool) -> Call {
    let mut made = call(index, arguments);
    if ids_hold_names {
        made.id = named_id(&made.name, index);
    }
    made
}

/// Finds how calls are written; nothing where the template ignores them.
pub(super) fn find(
    prober: &mut Prober,
    settings: &[Setting],
    turn: &Turn,
    reasoning: Option<&Reasoning>,
) -> Option<Calls> {
    for ids_hold_names in [false, true] {
        for setting in settings {
            for manner in Manner::all() {
                let one = Answer::calls(vec![probe_call(0, 2, ids_hold_names)]);
                let before = prober.manner;
                prober.manner = manner;
                let shown = shows_call(prober, turn, &one, setting);
                if shown && let Some(calls) = study(prober, setting, turn, reasoning, ids_hold_names) {
                    return Some(calls);
                }
                prober.manner = before;
            }
        }
    }
    None
}

/// Whether a call's name or argument appears in a render at all.
pub(super) fn leave_a_trace(prober: &Prober, turn: &Turn) -> bool {
    let answer = Answer::calls(vec![call(0, 1)]);
    let shows = |text: String| text.contains(needle::NAMES[0]) && text.contains(needle::VALUES[0]);
    turn.body(prober, &answer, &Setting::new()).is_some_and(shows)
}

/// Whether a render in just this manner shows the call's name and arguments.
fn shows_call(prober: &Prober, turn: &Turn, answer: &Answer, setting: &Setting) -> bool {
    let history = [super::conversation::Message::User(needle::USER.to_owned())];
    let mut messages = history.to_vec();
    messages.push(super::conversation::Message::Assistant(answer.clone()));
    if prober.render_in(prober.manner, &messages, setting, false).is_none() {
        return false;
    }
    let Some(body) = turn.body(prober, answer, setting) else { return false };
    answer.calls.iter().all(|call| {
        body.contains(&call.name)
            && call.arguments.iter().all(|(key, value)| {
                body.contains(key.as_str()) && value.as_str().is_none_or(|value| body.contains(value))
            })
    })
}

fn study(
    prober: &Prober,
    setting: &Setting,
    turn: &Turn,
    reasoning: Option<&Reasoning>,
    ids_hold_names: bool,
) -> Option<Calls> {
    let make = |index, arguments| probe_call(index, arguments, ids_hold_names);
    let first = make(0, 2);
    let one = turn.body(prober, &Answer::calls(vec![first.clone()]), setting)?;
    let found = locate(&one, 0, &first)?;
    let spelled = match &found.kind {
        Kind::Spelled => Some(arguments::find(prober, setting, turn, &one, &first)?),
        _ => None,
    };
    let unit = |body: &str, from: usize, call: &Call| -> Option<Range<usize>> {
        let located = locate(body, from, call)?;
        let mut range = located.range;
        if let Some(spelled) = &spelled {
            range.end = spelled.end_of_last(body, range.end);
        }
        Some(range)
    };
    let own = unit(&one, 0, &first)?;
    let second = make(1, 1);
    let pair = [make(0, 1), second.clone()];
    let two = turn.body(prober, &Answer::calls(pair.to_vec()), setting).filter(|body| body.contains(&second.name));

    // An array holds both calls in one value.
    let array = |body: &str, calls: &[Call]| -> Option<Range<usize>> {
        scan::values(body, 0).find_map(|(range, value)| {
            let items = value.as_list()?;
            let all = calls
                .iter()
                .all(|call| items.iter().any(|item| item.as_object().is_some_and(|o| object_paths(o, call).is_some())));
            (items.len() == calls.len() && all).then_some(range)
        })
    };
    let whole = two.as_deref().and_then(|two| array(two, &pair));
    let is_array = matches!(found.kind, Kind::Object(_))
        && (whole.is_some() || two.is_none())
        && array(&one, std::slice::from_ref(&first)).is_some();
    let own = if is_array { array(&one, std::slice::from_ref(&first))? } else { own };

    let with = turn.body(prober, &Answer::calls(vec![first.clone()]).with_content(needle::CONTENT), setting);
    let (content, before) = beside(with.as_deref(), &one, &own, turn, reasoning);
    let after = one.get(own.end..)?.to_owned();
    let mut after_two = None;
    let between = match &two {
        Some(two) if !is_array => {
            let head = unit(two, 0, &pair[0])?;
            let tail = unit(two, head.end, &second)?;
            after_two = two.get(tail.end..).map(str::to_owned);
            Some(two.get(head.end..tail.start)?.to_owned())
        }
        _ => None,
    };
    let tail = without_end(&after, turn);
    let (close, open, separator) = match &between {
        Some(between) => {
            let close = marks::shared_start(between, &after);
            let mut open = marks::shared_end(between, &before);
            if close.len() + open.len() > between.len() {
                open = between.get(close.len()..)?;
            }
            let separator = between.get(close.len()..between.len() - open.len())?;
            (close.to_owned(), open.to_owned(), separator.to_owned())
        }
        None => (tail.to_owned(), before.clone(), String::new()),
    };
    let section_open = before.get(..before.len().checked_sub(open.len())?)?.trim().to_owned();
    // One call alone may go without the mark that ends several.
    let tails = [Some(after.as_str()), after_two.as_deref()];
    let section_close = tails
        .into_iter()
        .flatten()
        .filter_map(|after| without_end(after, turn).strip_prefix(close.as_str()))
        .max_by_key(|rest| rest.len())
        .unwrap_or("")
        .to_owned();
    let layout = match found.kind {
        Kind::Object(paths) if is_array => Layout::Array(paths),
        Kind::Object(paths) => Layout::Object(paths),
        Kind::Keyed => Layout::Keyed,
        Kind::Marked(arguments) => {
            Layout::Marked { head: head(&one, own.start..arguments.start, &first), arguments: Arguments::Json }
        }
        Kind::Spelled => {
            let arguments = spelled?;
            let start = arguments.start_of_first(&one, &first)?;
            Layout::Marked { head: head(&one, own.start..start, &first), arguments }
        }
    };
    let layout = count(layout, two.as_deref(), &pair, ids_hold_names);
    let mut open = open;
    // An id the template makes may start before the name.
    if let (Layout::Marked { head, .. }, false) = (&layout, ids_hold_names)
        && head.first() == Some(&Piece::NamedId)
    {
        open.truncate(open.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/')).len());
    }
    let open_mark = open.trim().to_owned();
    Some(Calls {
        layout,
        parallel: two.is_some(),
        section_open,
        open,
        close,
        separator,
        section_close,
        content,
        stop: own_stop(&after, turn).map(str::to_owned),
        manner: prober.manner,
        setting: setting.clone(),
        opens_in_body: one.get(..own.start).is_some_and(|text| text.contains(open_mark.as_str())),
    })
}

/// Where content stands beside a call, and what stands before the call that belongs to it.
fn beside(
    with: Option<&str>,
    one: &str,
    own: &Range<usize>,
    turn: &Turn,
    reasoning: Option<&Reasoning>,
) -> (Beside, String) {
    let alone = format!("{}{}", turn.header(), one.get(..own.start).unwrap_or(""));
    let plain = || without_empty(one.get(..own.start).unwrap_or(""), reasoning).trim_start().to_owned();
    let Some(with) = with else { return (Beside::Dropped, plain()) };
    let Some(content) = with.find(needle::CONTENT) else { return (Beside::Dropped, plain()) };
    let Some(name) = with.find(needle::NAMES[0]) else { return (Beside::Dropped, plain()) };
    if content > name {
        return (Beside::After, plain());
    }
    // The call's own beginning looks the same with content before it.
    let text = one.get(own.start..).unwrap_or("");
    let start = with.get(content..).and_then(|rest| {
        (1..=text.len()).rev().filter(|n| text.is_char_boundary(*n)).find_map(|n| rest.find(text.get(..n)?))
    });
    let gap = start.and_then(|at| with.get(content + needle::CONTENT.len()..content + at)).unwrap_or("");
    let shared = marks::shared_end(gap, &alone);
    // A call may come in a turn of its own.
    let header = turn.header().trim();
    let own = shared.rfind(header).filter(|_| !header.is_empty()).map_or(0, |at| at + header.len());
    (Beside::Before, shared.get(own..).unwrap_or(shared).to_owned())
}

/// What follows a call, without the end every turn has, or the one that takes its place behind calls.
fn without_end<'a>(after: &'a str, turn: &Turn) -> &'a str {
    let end = turn.end.trim();
    let trimmed = after.trim_end();
    let stop = marks::split(end).last().copied().unwrap_or("");
    match trimmed.strip_suffix(end).or_else(|| trimmed.strip_suffix(stop)) {
        Some(rest) if !end.is_empty() => rest,
        _ => own_stop(after, turn).and_then(|stop| trimmed.strip_suffix(stop)).unwrap_or(trimmed),
    }
}

/// A mark that ends a turn with calls where another one ends a turn without: the last of several.
fn own_stop<'a>(after: &'a str, turn: &Turn) -> Option<&'a str> {
    let end = marks::split(&turn.end);
    let found = marks::split(after);
    let last = found.last().filter(|mark| found.len() > 1 && marks::is_sign(mark))?;
    (end.last().is_some_and(|stop| marks::is_sign(stop)) && !end.contains(last)).then_some(*last)
}

/// Finds one call in a render.
fn locate(body: &str, from: usize, call: &Call) -> Option<Located> {
    for (range, value) in scan::values(body, from) {
        let Some(object) = value.as_object() else { continue };
        if let Some(paths) = object_paths(object, call) {
            return Some(Located { range, kind: Kind::Object(paths) });
        }
        let only = object.first().filter(|_| object.len() == 1);
        if let Some((key, value)) = only
            && *key == call.name
            && value.as_object().is_some_and(|arguments| scan::same_entries(arguments, &call.arguments))
        {
            return Some(Located { range, kind: Kind::Keyed });
        }
    }
    let rest = body.get(from..)?;
    let name = from + rest.find(&call.name)?;
    let mut start = name;
    if let Some(id) = rest.find(&call.id).map(|at| from + at) {
        start = start.min(id);
    }
    for (range, value) in scan::values(body, name) {
        if value.as_object().is_some_and(|object| scan::same_entries(object, &call.arguments)) {
            return Some(Located { range: start..range.end, kind: Kind::Marked(range) });
        }
    }
    let end = call
        .arguments
        .values()
        .filter_map(Value::as_str)
        .filter_map(|value| body.get(name..)?.find(value).map(|at| name + at + value.len()));
    let end = end.max().unwrap_or(name + call.name.len());
    Some(Located { range: start..end, kind: Kind::Spelled })
}

/// Where a JSON object holds the parts of a call, if it does.
fn object_paths(object: &Object, call: &Call) -> Option<Paths> {
    let name = scan::path_to(object, &|value| value.as_str() == Some(&call.name))?;
    let same = |value: &Value| value.as_object().is_some_and(|object| scan::same_entries(object, &call.arguments));
    let text =
        |value: &Value| value.as_str().and_then(|text| crate::json::read(text).ok()).is_some_and(|value| same(&value));
    let plain = scan::path_to(object, &same);
    let arguments_text = plain.is_none();
    let arguments = plain.or_else(|| scan::path_to(object, &text))?;
    let given = scan::path_to(object, &|value| value.as_str() == Some(&call.id));
    // A template may number the calls itself.
    let made = || {
        object.iter().find_map(|(key, value)| {
            let named = key == "id" || key.ends_with("_id") || key.ends_with("Id");
            (named && value.as_str().is_some()).then(|| vec![key.clone()])
        })
    };
    let id = given.or_else(made).filter(|path| *path != name);
    Some(Paths { name, arguments, id, arguments_text, keys: object.keys().cloned().collect() })
}

/// What stands before a call's arguments, with the name and the id taken out.
fn head(body: &str, range: Range<usize>, call: &Call) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = body.get(range).unwrap_or("");
    loop {
        let id = rest.find(&call.id);
        let name = rest.find(&call.name);
        let (at, length, piece) = match (id, name) {
            (Some(id), Some(name)) if id <= name => {
                let piece = if call.id.contains(&call.name) { Piece::NamedId } else { Piece::Id };
                (id, call.id.len(), piece)
            }
            (Some(id), None) => (id, call.id.len(), Piece::Id),
            (_, Some(name)) => (name, call.name.len(), Piece::Name),
            (None, None) => break,
        };
        if at > 0 {
            pieces.push(Piece::Text(rest.get(..at).unwrap_or("").to_owned()));
        }
        pieces.push(piece);
        rest = rest.get(at + length..).unwrap_or("");
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    // Only the last of several is read: the arguments follow it.
    if let Some(last) = pieces.iter().rposition(|piece| *piece == Piece::Name) {
        for piece in pieces.iter_mut().take(last).filter(|piece| **piece == Piece::Name) {
            *piece = Piece::NameAgain;
        }
    }
    pieces
}

/// Numbers that change from one call to the next count the calls; beside the name, in one word with it, they make it
/// an id.
fn count(layout: Layout, two: Option<&str>, pair: &[Call; 2], ids_hold_names: bool) -> Layout {
    let Layout::Marked { head: pieces, arguments } = layout else { return layout };
    let second = two.and_then(|two| {
        let from = locate(two, 0, &pair[0])?.range.end;
        let located = locate(two, from, &pair[1])?;
        let end = match located.kind {
            Kind::Marked(arguments) => arguments.start,
            _ => arguments.start_of_first(two.get(..)?, &pair[1])?,
        };
        (located.range.start < end).then(|| head(two, located.range.start..end, &pair[1]))
    });
    let Some(second) = second.filter(|second| second.len() == pieces.len()) else {
        return Layout::Marked { head: pieces, arguments };
    };
    let mut counted = Vec::new();
    for (piece, other) in pieces.into_iter().zip(second) {
        match (piece, other) {
            (Piece::Text(a), Piece::Text(b)) if a != b => {
                let start = marks::common_prefix(&a, &b);
                let end = marks::common_suffix(a.get(start..).unwrap_or(""), b.get(start..).unwrap_or(""));
                counted.push(Piece::Text(a.get(..start).unwrap_or("").to_owned()));
                counted.push(Piece::Index);
                counted.push(Piece::Text(a.get(a.len() - end..).unwrap_or("").to_owned()));
            }
            (piece, _) => counted.push(piece),
        }
    }
    counted.retain(|piece| *piece != Piece::Text(String::new()));
    if !ids_hold_names {
        join_counted_name(&mut counted);
    }
    Layout::Marked { head: counted, arguments }
}

/// `NAME`, a sign and a number in one word: an id the template makes from the name.
fn join_counted_name(pieces: &mut Vec<Piece>) {
    let Some(name) = pieces.iter().position(|piece| *piece == Piece::Name) else { return };
    let joined = matches!(pieces.get(name + 1..name + 3), Some([Piece::Text(sign), Piece::Index])
        if sign.chars().count() == 1 && !sign.trim().is_empty() && !sign.contains(['"', '\'', '<', '>']));
    if !joined || pieces.contains(&Piece::Id) {
        return;
    }
    pieces.splice(name..name + 3, [Piece::NamedId]);
    // A name space before the name belongs to the id.
    if let Some(Piece::Text(text)) = name.checked_sub(1).and_then(|at| pieces.get_mut(at)) {
        let word = text.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/')).len();
        text.truncate(word);
    }
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
}
