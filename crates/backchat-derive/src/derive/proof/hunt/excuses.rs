//! What the proof excuses in a conversation that is misread: text that contains a delimiter of the draft, and what a loss
//! of the verdict names.

use std::ops::Range;

use crate::derive::proof::Proof;
use crate::derive::proof::branches::Branch;
use crate::derive::proof::case::Case;
use crate::derive::proof::conversations::quoted;
use crate::derive::proof::ordinary::OrdinaryDelimiters;
use crate::derive::proof::verdict::{Fate, Verdict};
use backchat_core::distinct;
use backchat_core::json::Value;
use backchat_parser::pattern::Pattern;
use backchat_parser::template::Template;
use backchat_probe::coverage::{Coverage, Goal};
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Answer, Setting};

/// How many characters of a content parser's argument are read as a pattern.
const LONGEST: usize = 2_000;

/// How many texts that one pattern matches are looked at.
const MOST_EXAMPLES: usize = 8;

/// The excuses that one draft has.
pub(super) struct Excuses {
    patterns: Vec<Own>,
    /// Those of them that open a field.
    openings: Vec<Own>,
    /// The marks in texts that the patterns match, such as the closing tag of an argument, and the start anchors.
    marks: Vec<String>,
    /// Ordinary text that the verdict says is taken for a delimiter.
    named: Vec<String>,
    /// Outcomes of conditions whose turns the verdict says are misread.
    goals: Vec<Goal>,
    /// Settings whose turns the verdict says are misread.
    pub settings: Vec<Setting>,
}

/// A pattern of the draft.
struct Own {
    pattern: Pattern,
    /// Whether it is distinctive whatever it captures, even a line break in place of a name.
    is_mark: bool,
}

impl Own {
    fn new(pattern: Pattern) -> Self {
        let mut usual = pattern.examples().iter().filter(|example| !example.contains('\n')).peekable();
        let is_mark = |example: &String| Segmentation::Words.is_distinctive(example);
        Self { is_mark: usual.peek().is_some() && usual.take(MOST_EXAMPLES).all(is_mark), pattern }
    }

    /// Whether a distinctive match begins within these bytes of a text.
    fn matches_in(&self, text: &str, within: Range<usize>) -> bool {
        let mut found = self.pattern.matches(text).filter_map(Result::ok);
        let is_distinctive = |text: &str| self.is_mark || Segmentation::Words.is_distinctive(text);
        found.any(|found| within.contains(&found.span().0) && is_distinctive(found.text()))
    }
}

impl Excuses {
    pub fn new(proof: &Proof<'_>, template: &Template, verdict: &Verdict) -> Self {
        let is_failed = |fate: &Fate| matches!(fate, Fate::Failed(_));
        let fates = proof.branch_fates(template);
        let failed: Vec<&Branch> =
            fates.iter().filter(|(_, fate)| is_failed(fate)).map(|(branch, _)| *branch).collect();
        let judge = proof.judge_with(template);
        let mut settings: Vec<Setting> = failed.iter().map(|branch| branch.case.setting.clone()).collect();
        let set = proof.cases.iter().filter(|case| !case.setting.is_empty());
        settings.extend(set.filter(|case| is_failed(&judge.fate(case))).map(|case| case.setting.clone()));
        settings.retain(|setting| !setting.is_empty());
        let is_named = |text: &String| {
            let quoted = quoted(text);
            verdict.losses.iter().any(|loss| loss.is_assumed && loss.message.contains(&quoted))
        };
        let named = OrdinaryDelimiters::of(template).texts().filter(is_named);
        let named = named.map(|text| text.trim().to_owned()).collect();
        let goals = failed.iter().filter(|branch| branch.case.setting.is_empty()).map(|branch| branch.goal.clone());
        let patterns = patterns(template);
        let marks = marks(template, &patterns);
        let openings = template.fields().iter().flat_map(|field| &field.open);
        let openings = openings.map(|delimiter| Own::new(delimiter.pattern().clone())).collect();
        let patterns = patterns.into_iter().map(Own::new).collect();
        Self { patterns, openings, marks, named, goals: goals.collect(), settings }
    }

    /// Whether a text of the answer contains a delimiter of the draft, or one begins in it and ends in what the template
    /// writes after it: no parser could tell that from the delimiter.
    pub fn has_delimiter(&self, case: &Case) -> bool {
        texts(&case.said).iter().any(|text| {
            let mut own = self.named.iter().chain(&self.marks);
            let inside = case.text.find(text.trim()).filter(|_| !text.trim().is_empty());
            let inside = inside.map_or(0..0, |at| at..at + text.trim().len());
            own.any(|own| text.contains(own) || case.text.match_indices(own).any(|(at, _)| inside.contains(&at)))
                || self.patterns.iter().any(|pattern| pattern.matches_in(text, 0..text.len()))
                || self.openings.iter().any(|opening| opening.matches_in(&case.text, inside.clone()))
        })
    }

    /// Whether a loss of the verdict names a branch that this conversation takes.
    pub fn names_a_branch_of(&self, case: &Case, proof: &Proof<'_>) -> bool {
        if self.goals.is_empty() {
            return false;
        }
        let prober = case.prober(&proof.plain, &proof.offering);
        let ran = prober.ran(&case.with(case.said.clone()), &case.setting, false).unwrap_or_default();
        let mut coverage = Coverage::default();
        coverage.add(ran, &case.said);
        self.goals.iter().any(|goal| coverage.has(goal))
    }
}

/// The start anchors of a template, and the distinctive marks that its patterns match.
fn marks(template: &Template, patterns: &[Pattern]) -> Vec<String> {
    let anchor = template.start_anchor();
    let anchors = match anchor.literals() {
        Some(literals) => literals,
        None => anchor.pattern().examples(),
    };
    let mut found: Vec<String> = anchors.iter().map(|anchor| anchor.trim().to_owned()).collect();
    for example in patterns.iter().flat_map(|pattern| pattern.examples().iter().take(MOST_EXAMPLES)) {
        let marks = Segmentation::Words.marks(example);
        found.extend(
            marks.iter().filter(|mark| Segmentation::Words.is_distinctive(mark)).map(|mark| mark.trim().to_owned()),
        );
    }
    found.retain(|mark| !mark.is_empty());
    distinct(found)
}

/// The delimiters of a template, and the patterns within its regions.
fn patterns(template: &Template) -> Vec<Pattern> {
    let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
    let mut found: Vec<Pattern> = delimiters.map(|delimiter| delimiter.pattern().clone()).collect();
    found.extend(inner(template).iter().filter_map(|text| Pattern::new(text).ok()));
    found
}

/// The texts of a template that content parsers take as delimiters or patterns.
pub(super) fn inner(template: &Template) -> Vec<String> {
    let Value::Object(draft) = template.to_value() else { return Vec::new() };
    let mut found = Vec::new();
    for field in draft.get("fields").and_then(Value::as_object).into_iter().flat_map(|fields| fields.values()) {
        strings(field.get("content_args").unwrap_or(&Value::Null), &mut found);
    }
    found.retain(|text| text.len() <= LONGEST);
    found
}

/// All texts of an answer: content, reasoning, and the strings of arguments.
pub(super) fn texts(answer: &Answer) -> Vec<String> {
    let mut found: Vec<String> = answer.content.iter().chain(&answer.reasoning).cloned().collect();
    for value in answer.calls.iter().flat_map(|call| call.arguments.values()) {
        strings(value, &mut found);
    }
    found
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(entries) => entries.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_of_a_mark_is_an_excuse_whatever_name_it_has() {
        let excuses =
            |pattern: &str, text: &str| Own::new(Pattern::new(pattern).unwrap()).matches_in(text, 0..text.len());
        let named = "<call name=\"[^\"]+\">";
        assert!(excuses(named, "See <call name=\"f\">"));
        assert!(excuses(named, "See <call name=\"\n\">"));
        // Prose has the opening of a list.
        assert!(!excuses("\\((?P<name>[^ ]+) ", "It is (in short) so"));
    }
}
