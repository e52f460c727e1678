//! The variables that exchange the draft's markers: which marker each value writes, and in place of which.

use super::{Case, Proof};
use crate::derive::needed::holds_probe;
use crate::derive::recorded::spelled;
use backchat_core::diagnostic::{Diagnostic, Severity, escape};
use backchat_core::json::Value;
use backchat_core::{distinct, push_new};
use backchat_parser::template::{Delimiter, Template};
use backchat_probe::probe::Setting;

impl Proof<'_> {
    /// One note for each setting under which turns have another marker than by default.
    pub fn switched_markers(&self, template: &Template) -> Vec<Diagnostic> {
        let branches = self.branches().found.iter().map(|branch| &branch.case);
        let cases: Vec<&Case> = self.cases.iter().chain(branches).collect();
        let settings = distinct(cases.iter().map(|case| &case.setting));
        // One variable at a time: what two do together says nothing of either. A text that a marker repeats is one of many.
        let is_switch =
            |setting: &&Setting| setting.len() == 1 && !holds_probe(&Value::Object((*setting).clone()).to_string());
        let alone = settings.into_iter().filter(is_switch);
        alone.filter_map(|setting| note(setting, &exchanged(template, &cases, setting))).collect()
    }
}

/// The markers of a setting, each with the marker of the same delimiter that turns have by default instead.
fn exchanged(template: &Template, cases: &[&Case], setting: &Setting) -> Vec<(String, String)> {
    let with: Vec<&Case> = cases.iter().copied().filter(|case| case.setting == *setting).collect();
    let usual: Vec<&Case> = cases.iter().copied().filter(|case| case.setting.is_empty()).collect();
    let mut pairs = Vec::new();
    let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
    for delimiter in delimiters {
        let markers = markers_of(delimiter);
        let only = |have: &[&Case], lack: &[&Case]| {
            let has = |cases: &[&Case], marker: &str| {
                cases.iter().any(|case| case.text.contains(marker) || case.prompted.contains(marker))
            };
            markers.iter().find(|marker| has(have, marker) && !has(lack, marker)).cloned()
        };
        if let (Some(new), Some(old)) = (only(&with, &usual), only(&usual, &with)) {
            push_new(&mut pairs, (new, old));
        }
    }
    pairs
}

fn markers_of(delimiter: &Delimiter) -> Vec<String> {
    let spelled = spelled(delimiter).into_iter().map(|marker| marker.trim().to_owned());
    spelled.filter(|marker| !marker.is_empty()).collect()
}

/// Markers in words, each once; one that is made of others only repeats them.
fn listed<'m>(markers: impl Iterator<Item = &'m str>) -> String {
    let markers = distinct(markers);
    let repeats = |marker: &str| markers.iter().filter(|other| **other != marker).any(|other| marker.contains(other));
    let quoted: Vec<String> =
        markers.iter().filter(|marker| !repeats(marker)).map(|marker| format!("`{}`", escape(marker))).collect();
    quoted.join(", ")
}

fn note(setting: &Setting, exchanged: &[(String, String)]) -> Option<Diagnostic> {
    let (name, value) = setting.first().filter(|_| !exchanged.is_empty())?;
    let new = listed(exchanged.iter().map(|(new, _)| new.as_str()));
    let old = listed(exchanged.iter().map(|(_, old)| old.as_str()));
    let message = format!("the variable `{name}` switches markers: {new} with {name}={value}, else {old}");
    let help = format!(
        "the draft has the markers of both; `--set '{name}={value}'` derives one for turns with that value alone"
    );
    Some(Diagnostic::new(Severity::Note, "derive-switch", message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_marker_is_listed_once_and_by_its_parts() {
        for (markers, wanted) in [
            (&["<reason>", "</reason>", "<reason></reason>"][..], "`<reason>`, `</reason>`"),
            (&["<think>", "</think>", "</think>"], "`<think>`, `</think>`"),
            (&["<a><b>"], "`<a><b>`"),
        ] {
            assert_eq!(listed(markers.iter().copied()), wanted);
        }
    }
}
