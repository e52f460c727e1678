//! Counts of outputs by cause. They depend only on the order of the outputs, and their memory has a bound, whatever is
//! counted.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::cause::Cause;
use super::observed::{Example, Found, Likeness, Observed};
use backchat_core::json::Value;
use backchat_parser::parser::ProblemKind;

/// How many causes are counted separately.
const CAUSES: usize = 1_000;

/// How many models or servers are counted separately.
const GROUPS: usize = 256;

/// The name of those that are not.
const OTHERS: &str = "others";

/// The name of a model or a server; empty if a row has none.
type Group = String;

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

impl Tally {
    /// Counts an output. The first models and causes are those that are counted separately: outputs come in the order
    /// of the log.
    pub fn add(&mut self, observed: Observed) {
        self.outputs += 1;
        let group = add_to(&mut self.groups, &observed.group);
        for kind in observed.kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
        let Some(found) = observed.found else { return };
        self.with_problems += 1;
        match found.unread {
            Some(Likeness::Near) => self.near_markers += 1,
            Some(Likeness::Unknown) => self.unknown_markers += 1,
            None => {}
        }
        self.count(found, &group, observed.is_cut);
    }

    fn count(&mut self, found: Found, group: &str, is_cut: bool) {
        let has_room = self.causes.len() < CAUSES;
        let counted = match self.causes.entry(found.cause) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if has_room => new.insert(Counted::new(found.example.clone())),
            Entry::Vacant(_) => {
                self.unlisted += 1;
                return;
            }
        };
        counted.outputs += 1;
        counted.cut += u64::from(is_cut);
        add_to(&mut counted.groups, group);
        for other in &found.also {
            add_to(&mut counted.also, other);
        }
        if found.example.length < counted.example.length {
            counted.example = found.example;
        }
    }

    /// Counts a row that was not read.
    pub fn fail(&mut self, line: u64, why: String) {
        self.failed += 1;
        self.first_failure.get_or_insert((line, why));
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

/// Increments the count of a group; returns the name it is counted under.
fn add_to(groups: &mut BTreeMap<Group, u64>, name: &str) -> Group {
    if let Some(count) = groups.get_mut(name) {
        *count += 1;
        return name.to_owned();
    }
    let name = if groups.len() < GROUPS { name } else { OTHERS };
    *groups.entry(name.to_owned()).or_default() += 1;
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Output;
    use crate::replay::{Known, UnreadMarker};
    use backchat_parser::parser::{Options, Parser, Problem};
    use backchat_parser::template::Template;

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "call": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json"}, "content": {}}}"#;

    fn problems(text: &str) -> Vec<Problem> {
        let template = Template::load(TEMPLATE).unwrap().template;
        let mut parser = Parser::new(&template, "<bot>", Options::default()).unwrap();
        parser.feed_into(text, &mut |_| {}).unwrap();
        parser.finish().unwrap().problems
    }

    fn output<'o>(row: (&'o [u8], u64), group: &'o str, problems: &'o [Problem]) -> Output<'o> {
        let (length, is_cut, is_complete, is_repaired) = (row.0.len(), false, false, false);
        Output { row, length, group, is_cut, is_complete, problems, is_repaired, unread: None }
    }

    fn tally(rows: &[(u64, &str)]) -> Tally {
        let mut tally = Tally::default();
        for (line, text) in rows {
            tally.add(Observed::new(output((text.as_bytes(), *line), "", &problems(text))));
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
            let mut tally = Tally::default();
            tally.add(Observed::new(Output { is_complete, unread, ..output((text.as_bytes(), 1), "", problems) }));
            let (cause, counted) = tally.ranked()[0];
            let also: String =
                counted.also.iter().map(|(problem, count)| format!(", also {count} {problem}")).collect();
            assert_eq!(cause.name() + &also, wanted, "{text}");
        }
    }

    #[test]
    fn the_memory_has_a_bound() {
        let mut tally = Tally::default();
        for line in 0..3_000 {
            let group = (line % 300).to_string();
            let written = format!("<{}>", line % 1_500);
            let unread = UnreadMarker { within: "content".to_owned(), written, meant: None };
            tally.add(Observed::new(Output { unread: Some(&unread), ..output((&b"{}"[..], line), &group, &[]) }));
        }
        let groups: Vec<u64> = tally.ranked_groups().into_iter().map(|(_, outputs)| outputs).collect();
        assert_eq!((groups[0], &groups[1..]), (44 * 10, &[10; GROUPS][..]));
        let causes: Vec<u64> = tally.ranked().into_iter().map(|(_, counted)| counted.outputs).collect();
        assert_eq!((causes, tally.unlisted), (vec![2; CAUSES], 1_000));
        // A model has one name in all counts.
        assert!(
            tally.ranked().iter().all(|(_, counted)| counted.groups.keys().all(|name| tally.groups.contains_key(name)))
        );
    }
}
