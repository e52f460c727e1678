//! Groups equal differences: cases that lose and gain the same lines are decided together.

use crate::check::PendingSection;
use backchat_probe::diff::unified;

/// The lines that a case loses and gains by section, without their positions and the commas that separate values.
pub fn difference(sections: &[PendingSection]) -> String {
    let mut key = String::new();
    for section in sections {
        let changes = unified(&section.expected, &section.found, 0, None);
        let lines = |sign: char| {
            let lines = changes.lines().filter_map(move |line| line.strip_prefix(sign));
            lines.map(|line| line.trim().trim_end_matches(',')).collect::<Vec<_>>()
        };
        let (mut lost, mut gained) = (lines('-'), lines('+'));
        // A line that only gained or lost a comma is the same.
        lost.retain(|line| match gained.iter().position(|other| other == line) {
            Some(same) => {
                gained.remove(same);
                false
            }
            None => true,
        });
        key.push_str(&format!("{}\n-{}\n+{}\n", section.name, lost.join("\n-"), gained.join("\n+")));
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_change_in_another_case_is_the_same() {
        let section = |expected: &str, found: &str| {
            difference(&[PendingSection { name: "message", expected: expected.to_owned(), found: found.to_owned() }])
        };
        let one = section("{\n  \"a\": 1,\n  \"b\": \"x\"\n}", "{\n  \"a\": 2,\n  \"b\": \"x\"\n}");
        let other = section("{\n  \"c\": 5,\n  \"a\": 1\n}", "{\n  \"c\": 5,\n  \"a\": 2\n}");
        assert_eq!(one, other);
        let last = section("{\n  \"x\": 1,\n  \"t\": 5\n}", "{\n  \"x\": 1\n}");
        assert_eq!(last, section("{\n  \"y\": 2,\n  \"t\": 5\n}", "{\n  \"y\": 2\n}"), "a comma is not a change");
        assert_ne!(one, section("{\n  \"a\": 1\n}", "{\n  \"a\": 3\n}"));
        assert_ne!(one, section("", "{\n  \"a\": 2\n}"));
    }
}
