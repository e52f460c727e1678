//! The delimiters the parser watches for, computed once for a template and shared by all its parsers.

use std::sync::Arc;

use super::anchor::Anchor;
use super::calls::CallShape;
use super::closers;
use super::roles::Roles;
use super::spare::Spare;
use crate::pattern::{Bytes, Pattern};
use crate::template::{Delimiter, Field, Regions, Template};

/// The field whose text may end anywhere: a truncated answer looks like a complete one.
const CONTENT: &str = "content";

/// The delimiters that a template watches for, and when.
#[derive(Debug)]
pub(super) struct Plan {
    pub anchor: Anchor,
    pub fields: Vec<FieldPlan>,
    /// The fields whose text is reported; dropped fields come last, and have no entry.
    pub shown: Vec<ShownField>,
    pub delimiters: Vec<DelimiterPlan>,
    /// The delimiters watched for outside of explicit regions.
    pub outside: Watch,
    /// The field that takes the text outside all others.
    pub implicit: Option<usize>,
    /// How many characters of finished text to keep; `None`: all.
    pub reach_behind: Option<usize>,
    /// The markers that end the turn, and so every region.
    pub turn_marks: Vec<String>,
    /// The fields that hold calls and the reasoning.
    pub roles: Roles,
    /// The closers of explicit fields, and the openers of calls: without any of them, no marker is stray.
    closers: Vec<usize>,
    call_openers: Vec<usize>,
    pub spare: Spare,
}

#[derive(Clone, Debug)]
pub(super) struct ShownField {
    pub name: Arc<str>,
    /// Whether chunks are raw text of a structured value.
    pub dirty: bool,
}

#[derive(Clone, Debug)]
pub(super) struct FieldPlan {
    pub name: Arc<str>,
    /// Whether its text is raw text of a structured value.
    pub dirty: bool,
    /// How its regions are treated.
    pub regions: Regions,
    /// The delimiters watched for inside.
    pub inside: Watch,
    /// The parts of its calls, if they can be reported before a region is complete.
    pub calls: Option<CallShape>,
    /// Whether a region is complete only with one of the field's own closers: its value does not delimit itself.
    pub needs_closer: bool,
}

#[derive(Clone, Debug)]
pub(super) struct DelimiterPlan {
    pub field: usize,
    pub closes: bool,
    pub pattern: Pattern,
    /// Whether the reference waits for more text if a match ends at the end of the text so far.
    pub can_grow: bool,
}

/// Delimiters watched for together, in order of precedence.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub delimiters: Vec<usize>,
    /// The roles of each byte in a match of any of them.
    pub signs: Arc<Signs>,
    /// The signs after which each byte can be the next byte of a match.
    follows: Box<[u8; 256]>,
    /// The bytes that are signs.
    sign_bytes: Bytes,
    /// The delimiters that have a leading run.
    runs: Vec<usize>,
    /// The delimiters that can match only at the beginning of the text.
    first: Vec<usize>,
}

/// The roles of each byte in matches of several delimiters: a bit for the end of a leading run, [`LEADS`], and one for
/// a sign, a byte that follows the leading run of every match. Signs beyond seven share a bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs([u8; 256]);

const LEADS: u8 = 1;

/// The result of prefiltering the bytes of a text for the watched delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glance {
    /// None has begun.
    Clear,
    /// The end of the text may belong to the leading run of one.
    MayLead,
    /// The text has a byte that could identify one.
    Sign,
}

impl Signs {
    #[inline]
    fn get(&self, byte: u8) -> u8 {
        self.0.get(usize::from(byte)).copied().unwrap_or(u8::MAX)
    }

    /// Prefilters the bytes of a text.
    #[inline]
    pub fn look_at(&self, text: &str) -> Glance {
        let bytes = text.as_bytes();
        // Four at a time, because the loop would cost more than the lookups.
        let (fours, rest) = bytes.as_chunks();
        let rest = rest.iter().fold(0, |all, byte| all | self.get(*byte));
        let all =
            fours.iter().fold(rest, |all, &[a, b, c, d]| all | self.get(a) | self.get(b) | self.get(c) | self.get(d));
        match bytes.last() {
            _ if all & !LEADS != 0 => Glance::Sign,
            Some(&last) if self.get(last) != 0 => Glance::MayLead,
            _ => Glance::Clear,
        }
    }
}

impl Watch {
    fn new(delimiters: Vec<usize>, all: &[DelimiterPlan]) -> Self {
        let pattern = |d: &usize| all.get(*d).map(|delimiter| &delimiter.pattern);
        let anywhere = || delimiters.iter().filter_map(pattern).filter(|pattern| !pattern.begins_the_text());
        let (mut signs, mut follows, mut bit) = (Signs([0; 256]), Box::new([0; 256]), LEADS);
        for (byte, kinds) in (0..=255).zip(&mut signs.0) {
            if anywhere().filter_map(Pattern::leading_run).any(|run| run.may_end_with(byte)) {
                *kinds |= LEADS;
            }
            if anywhere().any(|pattern| pattern.can_tell(byte)) {
                let own = bit.checked_mul(2);
                bit = own.unwrap_or(bit);
                *kinds |= bit;
                for (next, follows) in (0..=255).zip(follows.iter_mut()) {
                    // Signs that share a bit cannot be distinguished.
                    if own.is_none() || anywhere().any(|pattern| pattern.can_tell_with(byte, next)) {
                        *follows |= bit;
                    }
                }
            }
        }
        let sign_bytes = (0..=u8::MAX).filter(|byte| signs.get(*byte) & !LEADS != 0).collect();
        let of_kind =
            |is: fn(&Pattern) -> bool| delimiters.iter().copied().filter(|d| pattern(d).is_some_and(is)).collect();
        let (runs, first) = (of_kind(|pattern| pattern.leading_run().is_some()), of_kind(Pattern::begins_the_text));
        Self { delimiters, signs: Arc::new(signs), follows, sign_bytes, runs, first }
    }

    /// Examines the bytes of new text, and the byte after each sign. The empty text decides nothing about held text.
    pub fn look_closely(&self, text: &str) -> Glance {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(offset) = self.sign_bytes.find(bytes.get(at..).unwrap_or_default()) {
            at += offset;
            let sign = bytes.get(at).map_or(0, |sign| self.signs.get(*sign));
            match bytes.get(at + 1).and_then(|next| self.follows.get(usize::from(*next))) {
                Some(signs) if sign & signs == 0 => at += 1,
                _ => return Glance::Sign,
            }
        }
        match bytes.last() {
            Some(&last) if self.signs.get(last) != 0 => Glance::MayLead,
            Some(_) => Glance::Clear,
            None => Glance::Sign,
        }
    }

    /// Whether no delimiter can begin before the first character.
    pub fn is_quiet_at_first(&self) -> bool {
        self.first.is_empty()
    }

    /// The start of the leading run that may continue after a text without a sign.
    pub fn run_start(&self, all: &[DelimiterPlan], text: &str) -> usize {
        let runs = self.runs.iter().filter_map(|&d| all.get(d)?.pattern.leading_run());
        runs.map(|run| run.start_in(text)).min().unwrap_or(text.len())
    }

    /// Whether a delimiter can match at the beginning of the text only.
    pub fn is_first(&self, delimiter: usize) -> bool {
        self.first.contains(&delimiter)
    }
}

impl Plan {
    pub fn new(template: &Template) -> Self {
        let mut delimiters = Vec::new();
        let mut outside = Vec::new();
        let mut insides = Vec::new();
        let mut implicit = None;
        for (index, field) in template.fields().iter().enumerate() {
            let mut inside = Vec::new();
            match &field.open {
                Some(open) => {
                    outside.push(delimiters.len());
                    delimiters.push(DelimiterPlan::new(index, false, open));
                }
                None => implicit = Some(index),
            }
            if let Some(close) = &field.close {
                if field.open.is_some() { &mut inside } else { &mut outside }.push(delimiters.len());
                delimiters.push(DelimiterPlan::new(index, true, close));
            }
            insides.push(inside);
        }
        let name = |delimiter: &DelimiterPlan| template.fields().get(delimiter.field).map(|field| field.name.as_str());
        outside.sort_by_key(|&d| delimiters.get(d).map(|delimiter| (delimiter.closes, name(delimiter))));
        let turn_marks = closers::turn_marks(template.fields());
        let needs_closer = |field: &Field| {
            field.open.is_some()
                && field.name != CONTENT
                && !field.content.delimits_itself()
                && closers::has_own(field, &turn_marks)
        };
        let fields = template.fields().iter().zip(insides).map(|(field, inside)| FieldPlan {
            name: field.name.as_str().into(),
            dirty: field.content.is_structured(),
            regions: field.regions,
            inside: Watch::new(inside, &delimiters),
            calls: CallShape::find(field),
            needs_closer: needs_closer(field),
        });
        let reaches = delimiters.iter().map(|delimiter| delimiter.pattern.reach_behind());
        let fields: Vec<FieldPlan> = fields.collect();
        let shown = fields.iter().take_while(|field| field.regions != Regions::Dropped);
        let chosen = |is: &dyn Fn(&DelimiterPlan) -> bool| {
            let places = delimiters.iter().enumerate().filter(|(_, delimiter)| is(delimiter)).map(|(place, _)| place);
            places.collect()
        };
        let roles = Roles::new(template.fields(), &turn_marks);
        Self {
            closers: chosen(&|delimiter| delimiter.closes && implicit != Some(delimiter.field)),
            call_openers: chosen(&|delimiter| !delimiter.closes && roles.call(delimiter.field).is_some()),
            roles,
            shown: shown.map(|field| ShownField { name: field.name.clone(), dirty: field.dirty }).collect(),
            fields,
            turn_marks: turn_marks.clone(),
            outside: Watch::new(outside, &delimiters),
            implicit,
            reach_behind: reaches.into_iter().try_fold(0, |most, reach| Some(most.max(reach?))),
            anchor: Anchor::new(template.start_anchor()),
            delimiters,
            spare: Spare::default(),
        }
    }

    pub fn name(&self, field: usize) -> &str {
        self.fields.get(field).map_or("", |field| &*field.name)
    }

    /// The pattern that closes a field.
    pub fn closer(&self, field: usize) -> Option<&Pattern> {
        self.delimiter(field, true)
    }

    /// The pattern that opens a field.
    pub fn opener(&self, field: usize) -> Option<&Pattern> {
        self.delimiter(field, false)
    }

    fn delimiter(&self, field: usize, closes: bool) -> Option<&Pattern> {
        let found = self.delimiters.iter().find(|delimiter| delimiter.field == field && delimiter.closes == closes);
        found.map(|delimiter| &delimiter.pattern)
    }

    /// Whether a text may have a closer of an explicit field.
    pub fn may_close(&self, text: &str) -> bool {
        self.may_have(&self.closers, text)
    }

    /// Whether a text may have an opener of calls.
    pub fn may_open_calls(&self, text: &str) -> bool {
        self.may_have(&self.call_openers, text)
    }

    fn may_have(&self, delimiters: &[usize], text: &str) -> bool {
        let mut chosen = delimiters.iter().filter_map(|&place| self.delimiters.get(place));
        chosen.any(|delimiter| delimiter.pattern.may_match_in(text))
    }
}

impl DelimiterPlan {
    fn new(field: usize, closes: bool, delimiter: &Delimiter) -> Self {
        let can_grow = delimiter.literals().is_none_or(|literals| {
            let mut sorted: Vec<&str> = literals.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            sorted.dedup();
            // A literal that extends another sorts right after it.
            sorted.windows(2).any(|pair| matches!(pair, [short, long] if long.starts_with(short)))
        });
        Self { field, closes, pattern: delimiter.pattern().clone(), can_grow }
    }
}
