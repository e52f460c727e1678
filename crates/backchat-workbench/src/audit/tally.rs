//! Counts of outputs by cause. Two tallies are merged into one, so that several threads can count; the memory of a
//! tally has a bound, whatever is counted.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::cause::{Cause, OutputCause, in_words, root};
use crate::replay::UnreadMarker;
use backchat_core::json::{self, Value};
use backchat_parser::parser::{Problem, ProblemKind};

/// How many causes are counted separately.
const CAUSES: usize = 1_000;

/// How many models or servers are counted separately.
const GROUPS: usize = 256;

/// The name of those that are not.
const OTHERS: &str = "others";

/// The name of a model or a server; empty if a row has none.
type Group = String;

/// The smallest output with a cause, as a row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The number of its line, from 1.
    pub line: u64,
    /// The length of its output, in bytes.
    pub length: usize,
    /// The line.
    pub row: Box<[u8]>,
}

impl Example {
    /// The row. One that was parsed is JSON.
    pub fn value(&self) -> Value {
        std::str::from_utf8(&self.row).ok().and_then(|row| json::read(row).ok()).unwrap_or_default()
    }

    /// Whether a row is a smaller example than this one. Of two outputs of one length it is the first in the log.
    pub fn is_larger_than(&self, line: u64, length: usize) -> bool {
        (length, line) < (self.length, self.line)
    }
}

/// The counts of one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// The number of outputs with it.
    pub outputs: u64,
    /// Those that ended at a token limit.
    pub cut: u64,
    /// The outputs of each group that have it.
    pub groups: BTreeMap<Group, u64>,
    /// The outputs that also have each other problem: its kind, and its field.
    pub also: BTreeMap<String, u64>,
    /// The smallest output.
    pub example: Example,
}

impl Counted {
    /// The counts of no output yet.
    fn new(example: Example) -> Self {
        Self { outputs: 0, cut: 0, groups: BTreeMap::new(), also: BTreeMap::new(), example }
    }
}

/// The counts of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The outputs that were read.
    pub outputs: u64,
    /// The rows that were not.
    pub failed: u64,
    /// The first line that was not read, and why.
    pub first_failure: Option<(u64, String)>,
    /// The outputs with any problem.
    pub with_problems: u64,
    /// The outputs of each group.
    pub groups: BTreeMap<Group, u64>,
    kinds: BTreeMap<ProblemKind, u64>,
    /// The outputs with a near marker.
    pub near_markers: u64,
    /// Those with one that the template does not know.
    pub unknown_markers: u64,
    causes: IndexMap<Cause, Counted>,
    /// How many outputs have causes that were not counted separately.
    pub unlisted: u64,
}

/// An output that was read.
#[derive(Clone, Copy, Debug)]
pub struct Output<'o> {
    /// Its line in the log, and the number of the line.
    pub row: (&'o [u8], u64),
    /// The length of its text in bytes.
    pub length: usize,
    /// Its model or its server.
    pub group: &'o str,
    /// Whether it ended at a token limit.
    pub is_cut: bool,
    /// Whether it ends with a marker, so that nothing cut it off.
    pub is_complete: bool,
    /// What went wrong in it.
    pub problems: &'o [Problem],
    /// Whether the repair of the template reads it without these problems.
    pub is_repaired: bool,
    /// The marker in it that is read as text. One that looks like an opener explains closers that are left over.
    pub unread: Option<&'o UnreadMarker>,
}

impl Tally {
    /// Counts an output; returns the cause of its problems, if it has some.
    pub fn add(&mut self, output: Output<'_>) -> Option<Cause> {
        self.outputs += 1;
        let group = add_to(&mut self.groups, output.group, 1);
        let kinds: BTreeSet<ProblemKind> = output.problems.iter().map(|problem| problem.kind).collect();
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
        let Some(root) = root(output.problems).filter(|root| !is_left_over(root, output.unread)) else {
            return self.add_unread(&group, output);
        };
        let cause_of = |problem: &Problem| {
            let cause = OutputCause::of(problem);
            OutputCause { is_cut: cause.is_cut && !output.is_complete, ..cause }
        };
        let own = cause_of(root);
        self.with_problems += 1;
        let others = output.problems.iter().filter(|other| output.is_repaired || cause_of(other) != own);
        let others: BTreeSet<String> = others.map(in_words).collect();
        let cause = if output.is_repaired { Cause::Template } else { Cause::Output(own) };
        self.count(&cause, &group, &others, output);
        Some(cause)
    }

    /// Counts an output without a problem, or with problems that a near marker explains.
    fn add_unread(&mut self, group: &str, output: Output<'_>) -> Option<Cause> {
        let UnreadMarker { written, meant, .. } = output.unread?.clone();
        self.with_problems += 1;
        match meant {
            Some(_) => self.near_markers += 1,
            None => self.unknown_markers += 1,
        }
        let cause = if output.is_repaired { Cause::Template } else { Cause::UnreadMarker { written, meant } };
        let others: BTreeSet<String> = output.problems.iter().map(in_words).collect();
        self.count(&cause, group, &others, output);
        Some(cause)
    }

    fn count(&mut self, cause: &Cause, group: &str, others: &BTreeSet<String>, output: Output<'_>) {
        let (row, line) = output.row;
        let example = || Example { line, length: output.length, row: row.into() };
        if !self.causes.contains_key(cause) {
            if self.causes.len() >= CAUSES {
                self.unlisted += 1;
                return;
            }
            self.causes.insert(cause.clone(), Counted::new(example()));
        }
        let Some(counted) = self.causes.get_mut(cause) else { return };
        counted.outputs += 1;
        counted.cut += u64::from(output.is_cut);
        add_to(&mut counted.groups, group, 1);
        for other in others {
            add_to(&mut counted.also, other, 1);
        }
        if counted.example.is_larger_than(line, output.length) {
            counted.example = example();
        }
    }

    /// Counts a row that was not read.
    pub fn fail(&mut self, line: u64, why: &str) {
        self.failed += 1;
        self.note_failure(line, why.to_owned());
    }

    fn note_failure(&mut self, line: u64, why: String) {
        if self.first_failure.as_ref().is_none_or(|(first, _)| line < *first) {
            self.first_failure = Some((line, why));
        }
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: Self) {
        self.outputs += other.outputs;
        self.failed += other.failed;
        self.with_problems += other.with_problems;
        self.near_markers += other.near_markers;
        self.unknown_markers += other.unknown_markers;
        self.unlisted += other.unlisted;
        for (group, count) in &other.groups {
            add_to(&mut self.groups, group, *count);
        }
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        if let Some((line, why)) = other.first_failure {
            self.note_failure(line, why);
        }
        for (cause, counted) in other.causes {
            let has_room = self.causes.len() < CAUSES;
            match self.causes.get_mut(&cause) {
                Some(known) => {
                    known.outputs += counted.outputs;
                    known.cut += counted.cut;
                    for (group, count) in &counted.groups {
                        add_to(&mut known.groups, group, *count);
                    }
                    for (other, count) in &counted.also {
                        add_to(&mut known.also, other, *count);
                    }
                    if known.example.is_larger_than(counted.example.line, counted.example.length) {
                        known.example = counted.example;
                    }
                }
                None if has_room => drop(self.causes.insert(cause, counted)),
                None => self.unlisted += counted.outputs,
            }
        }
    }

    /// Writes the rows of the examples in another form, as that of a server's log in our own.
    pub fn rewrite_examples(&mut self, rewrite: impl Fn(Value) -> Value) {
        for counted in self.causes.values_mut() {
            counted.example.row = rewrite(counted.example.value()).to_string().into_bytes().into();
        }
    }

    /// The causes, those of the most outputs first.
    pub fn ranked(&self) -> Vec<(&Cause, &Counted)> {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_cached_key(|(cause, counted)| (std::cmp::Reverse(counted.outputs), cause.name()));
        causes
    }

    /// The groups, those of the most outputs first.
    pub fn ranked_groups(&self) -> Vec<(&str, u64)> {
        let mut groups: Vec<_> = self.groups.iter().map(|(name, outputs)| (name.as_str(), *outputs)).collect();
        groups.sort_by_key(|(name, outputs)| (std::cmp::Reverse(*outputs), *name));
        groups
    }

    /// How many outputs have a problem of a kind.
    pub fn of_kind(&self, kind: ProblemKind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or_default()
    }

    /// A part of the outputs, from 0 to 1.
    pub fn share(&self, outputs: u64) -> f64 {
        outputs as f64 / (self.outputs as f64).max(1.0)
    }
}

/// Whether a problem is the closer of a region whose misspelt opener opened nothing.
fn is_left_over(problem: &Problem, unread: Option<&UnreadMarker>) -> bool {
    let meant = unread.and_then(|unread| unread.meant.as_ref());
    problem.kind == ProblemKind::StrayMarker
        && meant.is_some_and(|meant| !meant.closes && problem.field.as_ref() == Some(&meant.field))
}

/// Increments the count of a group; returns the name it is counted under.
fn add_to(groups: &mut BTreeMap<Group, u64>, name: &str, more: u64) -> Group {
    if let Some(count) = groups.get_mut(name) {
        *count += more;
        return name.to_owned();
    }
    let name = if groups.len() < GROUPS { name } else { OTHERS };
    *groups.entry(name.to_owned()).or_default() += more;
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Known;
    use backchat_parser::parser::{Options, Parser};
    use backchat_parser::template::Template;
    use proptest::prelude::*;

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "call": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json"}, "content": {}}}"#;

    fn problems(text: &str) -> Vec<Problem> {
        let template = Template::load(TEMPLATE).unwrap().template;
        let mut parser = Parser::new(&template, "<bot>", Options::default()).unwrap();
        parser.feed_into(text, &mut |_| {}).unwrap();
        parser.finish().unwrap().problems
    }

    fn tally(rows: &[(usize, &str)]) -> Tally {
        let mut tally = Tally::default();
        for (line, text) in rows {
            let row = (text.as_bytes(), *line as u64);
            let group = if text.len() % 2 == 0 { "even" } else { "odd" };
            let problems = &problems(text);
            tally.add(Output {
                row,
                length: text.len(),
                group,
                is_cut: false,
                is_complete: false,
                problems,
                is_repaired: false,
                unread: None,
            });
        }
        tally
    }

    #[test]
    fn every_output_counts_once() {
        let tally = tally(&[(1, "Hi"), (2, "<c>{,}</c><c>{,}</c>"), (3, "<c>[,]</c>"), (4, "<c>x</c>")]);
        assert_eq!((tally.outputs, tally.with_problems, tally.of_kind(ProblemKind::Malformed)), (4, 3, 3));
        let ranked: Vec<_> = tally.ranked().iter().map(|(cause, counted)| (cause.name(), counted.outputs)).collect();
        assert_eq!(ranked.iter().map(|(_, outputs)| outputs).sum::<u64>(), 3, "{ranked:?}");
        let smallest = tally.ranked().iter().map(|(_, counted)| counted.example.length).min();
        assert_eq!(smallest, Some("<c>x</c>".len()));
        assert_eq!(tally.share(3), 0.75);
    }

    #[test]
    fn a_misspelt_opener_explains_the_closer_after_it() {
        for (text, is_complete, wanted) in [
            ("<call>{}</c>", false, "near-marker-call"),
            ("<c>{}</call>", true, "malformed-call-at-close-call"),
            ("<c>{", false, "malformed-call-cut"),
        ] {
            let problems = &problems(text);
            let meant = Known { text: "<c>".to_owned(), field: "call".to_owned(), closes: false };
            let (within, written) = ("content".to_owned(), "<call>".to_owned());
            let near = UnreadMarker { within, written, meant: Some(meant) };
            let unread = text.starts_with("<call>").then_some(&near);
            let row = (text.as_bytes(), 1);
            let (group, length, is_cut, is_repaired) = ("", text.len(), false, false);
            let mut tally = Tally::default();
            tally.add(Output { row, length, group, is_cut, is_complete, problems, is_repaired, unread });
            let (cause, counted) = tally.ranked()[0];
            let also: String =
                counted.also.iter().map(|(problem, count)| format!(", also {count} {problem}")).collect();
            assert_eq!(cause.name() + &also, wanted, "{text}");
        }
    }

    #[test]
    fn the_memory_has_a_bound() {
        let mut tally = Tally::default();
        for line in 0..1_000 {
            let group = line.to_string();
            let row = (&b"{}"[..], line);
            tally.add(Output {
                row,
                length: 0,
                group: &group,
                is_cut: false,
                is_complete: false,
                problems: &[],
                is_repaired: false,
                unread: None,
            });
        }
        assert_eq!((tally.groups.len(), tally.groups[OTHERS]), (GROUPS + 1, 1_000 - GROUPS as u64));
    }

    proptest! {
        #[test]
        fn merged_tallies_equal_a_single_one(texts in prop::collection::vec("(<c>|</c>|\\{,\\}|x| ){0,6}", 0..12), at in 0_usize..12) {
            let rows: Vec<(usize, &str)> = texts.iter().map(String::as_str).enumerate().collect();
            let (one, other) = rows.split_at(at.min(rows.len()));
            let mut merged = tally(other);
            merged.merge(tally(one));
            let whole = tally(&rows);
            prop_assert_eq!(merged.ranked(), whole.ranked());
            prop_assert_eq!((merged.outputs, merged.with_problems, merged.groups), (whole.outputs, whole.with_problems, whole.groups));
        }
    }
}
