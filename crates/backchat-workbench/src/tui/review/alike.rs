//! Which differences are the same: cases that lose and gain the same lines are decided as one.

use super::Section;
use backchat_probe::diff::unified;

/// What a case loses and gains, section by section. Where in the section it stands makes no difference, nor does the
/// comma that parts a value from the next.
pub fn difference(sections: &[Section]) -> String {
    let mut key = String::new();
    for section in sections {
        key.push_str(section.name);
        key.push('\n');
        let changes = unified(&section.expected, &section.found, 0, None);
        for line in changes.lines().filter(|line| !line.starts_with("@@")) {
            key.push_str(line.trim_end().trim_end_matches(','));
            key.push('\n');
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_change_elsewhere_is_the_same() {
        let section = |expected: &str, found: &str| {
            difference(&[Section { name: "message", expected: expected.to_owned(), found: found.to_owned() }])
        };
        let one = section("{\n  \"a\": 1,\n  \"b\": \"x\"\n}", "{\n  \"a\": 2,\n  \"b\": \"x\"\n}");
        let other = section("{\n  \"c\": 5,\n  \"a\": 1\n}", "{\n  \"c\": 5,\n  \"a\": 2\n}");
        assert_eq!(one, other);
        assert_ne!(one, section("{\n  \"a\": 1\n}", "{\n  \"a\": 3\n}"));
        assert_ne!(one, section("", "{\n  \"a\": 2\n}"));
    }
}
