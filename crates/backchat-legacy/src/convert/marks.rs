//! The markers around a group of a pattern, which open and close the text it captures.

use backchat_parser::pattern::{PatternPart, escape_literal, source_of};

/// The beginning or end of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Literal(String),
    /// A pattern in the dialect of response templates, and a text it matches.
    Pattern {
        source: String,
        sample: String,
    },
}

impl Mark {
    /// A pattern without a sample: outputs do not write it.
    pub fn unwritten(source: String) -> Self {
        Mark::Pattern { source, sample: String::new() }
    }

    /// A look-ahead to any of the markers.
    pub fn ahead_of(marks: &[Mark]) -> Self {
        let sources: Vec<String> = marks.iter().map(Mark::source).collect();
        Self::unwritten(format!("(?={})", sources.join("|")))
    }

    pub fn source(&self) -> String {
        match self {
            Mark::Literal(text) => escape_literal(text),
            Mark::Pattern { source, .. } => source.clone(),
        }
    }

    pub fn sample(&self) -> &str {
        match self {
            Mark::Literal(text) => text,
            Mark::Pattern { sample, .. } => sample,
        }
    }

    /// Whether it is a look-ahead, which takes no text.
    pub fn is_ahead(&self) -> bool {
        matches!(self, Mark::Pattern { source, .. } if source.starts_with("(?="))
    }

    /// Whether it is that text, ignoring white space around it.
    pub fn is(&self, text: &str) -> bool {
        self.sample().trim() == text.trim()
    }
}

/// The surroundings of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    /// The text right before the group; empty if none is required.
    pub open: Vec<Mark>,
    /// The first of them as written in outputs, with white space.
    pub lead: String,
    /// Whether the group may also begin without it.
    pub open_optional: bool,
    /// The text that ends the group and is consumed with it.
    pub close: Vec<Mark>,
    /// Whether the end of the text ends it, too.
    pub at_end: bool,
    /// The text that ends the group and is not consumed, such as the opening of another field.
    pub ahead: Vec<Mark>,
    /// The characters that the text of the group cannot contain.
    pub excluded: Vec<Mark>,
    /// Whether only white space is before the group.
    pub at_start: bool,
}

type Step<'p> = (&'p [PatternPart], usize);

/// The parts that a part may hold, one list for each way.
fn inside(part: &PatternPart) -> Vec<&[PatternPart]> {
    match part {
        PatternPart::Group { parts, .. } | PatternPart::Maybe(parts) | PatternPart::Many(parts) => vec![parts],
        PatternPart::Either(branches) => branches.iter().map(Vec::as_slice).collect(),
        _ => Vec::new(),
    }
}

/// The way to a group, from the outermost level: at each the parts, and which of them.
fn path_to<'p>(parts: &'p [PatternPart], is: &dyn Fn(usize, Option<&str>) -> bool) -> Option<Vec<Step<'p>>> {
    for (index, part) in parts.iter().enumerate() {
        if matches!(part, PatternPart::Group { number, name, .. } if is(*number, name.as_deref())) {
            return Some(vec![(parts, index)]);
        }
        for inside in inside(part) {
            if let Some(mut path) = path_to(inside, is) {
                path.insert(0, (parts, index));
                return Some(path);
            }
        }
    }
    None
}

/// The parts of a group, and its surroundings.
pub(super) type Surrounded<'p> = (&'p [PatternPart], Context);

/// The first group for which a condition on its number and name holds.
pub(super) fn group<'p>(parts: &'p [PatternPart], is: &dyn Fn(usize, Option<&str>) -> bool) -> Option<Surrounded<'p>> {
    let path = path_to(parts, is)?;
    let (last, index) = path.last()?;
    let PatternPart::Group { parts: group, .. } = last.get(*index)? else { return None };
    let mut context = Context::default();
    before(&path, &mut context);
    after(&path, &mut context);
    excluded(group, &mut context.excluded);
    Some((group, context))
}

pub(super) fn named<'p>(parts: &'p [PatternPart], wanted: &str) -> Option<Surrounded<'p>> {
    group(parts, &|_, name| name == Some(wanted))
}

/// The first group.
pub(super) fn only(parts: &[PatternPart]) -> Option<Surrounded<'_>> {
    group(parts, &|_, _| true)
}

pub(super) fn holds_group(parts: &[PatternPart]) -> bool {
    path_to(parts, &|_, _| true).is_some()
}

fn before(path: &[Step<'_>], context: &mut Context) {
    for (parts, index) in path.iter().rev() {
        for (at, part) in parts.iter().enumerate().take(*index).rev() {
            let marks: Vec<Option<Mark>> = match part {
                PatternPart::Space | PatternPart::Ahead(_) | PatternPart::NotAhead(_) => continue,
                PatternPart::Text(text) if text.trim().is_empty() => continue,
                PatternPart::Text(_) => vec![ending(parts.get(..=at).unwrap_or(parts))],
                PatternPart::Maybe(inside) if !holds_group(inside) => vec![ending(inside), None],
                PatternPart::Either(branches) if !branches.iter().any(|branch| holds_group(branch)) => {
                    branches.iter().map(|branch| ending(branch)).collect()
                }
                part => {
                    context.at_start = matches!(part, PatternPart::Start);
                    return;
                }
            };
            context.open_optional = marks.iter().any(Option::is_none);
            context.lead = marks.iter().flatten().next().map_or(String::new(), |mark| mark.sample().to_owned());
            context.open.extend(marks.into_iter().flatten().map(Mark::trimmed));
            return;
        }
    }
}

fn after(path: &[Step<'_>], context: &mut Context) {
    for (parts, index) in path.iter().rev() {
        let mut at = index + 1;
        while let Some((rest, part)) = parts.get(at..).and_then(|rest| Some((rest, rest.first()?))) {
            match part {
                PatternPart::Space | PatternPart::NotAhead(_) | PatternPart::Start => {}
                PatternPart::Text(text) if text.trim().is_empty() => {}
                PatternPart::Text(_) | PatternPart::Run { any: false, .. } => {
                    context.close.extend(beginning(rest));
                    return;
                }
                PatternPart::Ahead(inside) => ahead(inside, context),
                PatternPart::Maybe(inside) | PatternPart::Many(inside) if holds_group(inside) => {
                    context.ahead.extend(beginning(inside));
                    if matches!(part, PatternPart::Many(_)) {
                        return;
                    }
                }
                PatternPart::Maybe(inside) => {
                    context.ahead.extend(beginning(inside).filter(|_| opens_a_group(parts, at)));
                    if !opens_a_group(parts, at) {
                        context.close.extend(beginning(inside));
                    }
                }
                PatternPart::Either(branches) => {
                    context.at_end = branches.iter().any(|branch| ends(branch));
                    for branch in branches {
                        match beginning(branch) {
                            Some(mark) if holds_group(branch) => context.ahead.push(mark),
                            Some(mark) => context.close.push(mark),
                            None => {}
                        }
                    }
                    return;
                }
                PatternPart::Group { parts: inside, .. } => {
                    context.ahead.extend(beginning(inside));
                    return;
                }
                _ => return,
            }
            at += 1;
        }
    }
}

/// Whether a group follows a part, so the part opens it.
fn opens_a_group(parts: &[PatternPart], at: usize) -> bool {
    let mut rest = parts.iter().skip(at + 1).filter(|part| !matches!(part, PatternPart::Space));
    matches!(rest.next(), Some(PatternPart::Group { .. }))
}

fn ahead(parts: &[PatternPart], context: &mut Context) {
    match parts {
        [PatternPart::Either(branches)] => branches.iter().for_each(|branch| ahead(branch, context)),
        parts => context.ahead.extend(beginning(parts)),
    }
}

fn ends(parts: &[PatternPart]) -> bool {
    parts.iter().all(|part| matches!(part, PatternPart::End | PatternPart::Space))
}

/// The marks of every negative look-ahead.
fn excluded(parts: &[PatternPart], marks: &mut Vec<Mark>) {
    for part in parts {
        match part {
            PatternPart::NotAhead(inside) => marks.extend(beginning(inside)),
            part => inside(part).into_iter().for_each(|parts| excluded(parts, marks)),
        }
    }
}

/// The marker that parts begin with, unless it is only white space.
pub(super) fn beginning(parts: &[PatternPart]) -> Option<Mark> {
    let mut parts = parts;
    while let [PatternPart::Space | PatternPart::Start | PatternPart::NotAhead(_), rest @ ..] = parts {
        parts = rest;
    }
    match parts {
        [PatternPart::Maybe(inside) | PatternPart::Many(inside) | PatternPart::Group { parts: inside, .. }, ..] => {
            beginning(inside)
        }
        parts => {
            let length = parts.iter().take_while(|part| is_exact(part)).count();
            let run = parts.get(..length)?;
            let end = run.iter().rposition(|part| matches!(part, PatternPart::Text(_)))?;
            mark(run.get(..=end)?).map(Mark::trimmed).filter(|mark| *mark != Mark::Literal(String::new()))
        }
    }
}

/// The marker that parts end with.
pub(super) fn ending(parts: &[PatternPart]) -> Option<Mark> {
    let mut parts = parts;
    while let [rest @ .., PatternPart::Space] = parts {
        parts = rest;
    }
    if let [.., PatternPart::Maybe(inside) | PatternPart::Group { parts: inside, .. }] = parts {
        return ending(inside);
    }
    let length = parts.iter().rev().take_while(|part| is_exact(part)).count();
    let run = parts.get(parts.len() - length..)?;
    let start = run.iter().position(|part| matches!(part, PatternPart::Text(_)))?;
    mark(run.get(start..)?)
}

/// Whether a part can be in a marker: text, or characters of a restricted set.
fn is_exact(part: &PatternPart) -> bool {
    matches!(part, PatternPart::Text(_) | PatternPart::Run { any: false, .. })
}

fn mark(parts: &[PatternPart]) -> Option<Mark> {
    match parts {
        [PatternPart::Text(text)] => Some(Mark::Literal(text.clone())),
        parts => Some(Mark::Pattern {
            source: source_of(parts, &|_, _| None)?,
            sample: sample(parts, &|_, _| String::new()),
        }),
    }
}

impl Mark {
    /// The marker without white space around a literal: values are stripped anyway.
    fn trimmed(self) -> Self {
        match self {
            Mark::Literal(text) => Mark::Literal(text.trim().to_owned()),
            pattern => pattern,
        }
    }
}

/// One close after another, with any text between them that is not the second; nor the first, if the region ends with
/// the last match.
pub(super) fn then(first: &Mark, second: &Mark, is_last: bool) -> Mark {
    let not = if is_last { format!("{}|{}", second.source(), first.source()) } else { second.source() };
    Mark::Pattern {
        source: format!("{}(?:(?!{not}).)*?{}", first.source(), second.source()),
        sample: format!("{}{}", first.sample(), second.sample()),
    }
}

/// Whether a group is greedy, so the last of the markers after it ends it.
pub(super) fn is_greedy(group: &[PatternPart]) -> bool {
    let mut runs = group.iter().filter_map(|part| match part {
        PatternPart::Run { source, any: true, .. } => Some(source),
        _ => None,
    });
    runs.next_back().is_some_and(|source| !source.ends_with('?'))
}

/// The shortest text that parts match; groups are filled in.
pub(super) fn sample(parts: &[PatternPart], fill: &dyn Fn(usize, Option<&str>) -> String) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            PatternPart::Text(text) => out.push_str(text),
            PatternPart::Run { sample, .. } => out.push_str(sample),
            PatternPart::Group { number, name, .. } => out.push_str(&fill(*number, name.as_deref())),
            PatternPart::Many(inside) => out.push_str(&sample(inside, fill)),
            PatternPart::Either(branches) => {
                if let Some(branch) = branches.iter().find(|branch| !ends(branch)) {
                    out.push_str(&sample(branch, fill));
                }
            }
            _ => {}
        }
    }
    out
}
