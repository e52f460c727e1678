//! What changed between the results of two runs: the lines that went and the lines that came.

use backchat_probe::diff::unified;

/// How many lines are shown.
const MOST: usize = 12;

/// The lines with `-` or `+` before them; empty if nothing changed.
pub fn between(before: &str, now: &str) -> Vec<String> {
    let diff = unified(before, now, 0, None);
    let changed = diff.lines().filter_map(|line| {
        let (sign, text) = line.split_at_checked(1)?;
        // Other lines tell places.
        (["-", "+"].contains(&sign) && !text.trim().is_empty()).then(|| format!("{sign} {text}"))
    });
    let mut lines: Vec<String> = changed.collect();
    let more = lines.len().saturating_sub(MOST);
    if more > 0 {
        // What is new is more urgent than what is gone.
        lines.sort_by_key(|line| line.starts_with('-'));
        lines.truncate(MOST);
        lines.push(format!("  and {more} more {}", if more == 1 { "line" } else { "lines" }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_went_and_came_are_shown() {
        assert_eq!(between("a\nb\n\n", "a\nc\n"), ["- b", "+ c"]);
        assert_eq!(between("a\n", "a\n"), Vec::<String>::new());
        let many: String = (0..20).map(|line| format!("{line}\n")).collect();
        let lines = between("", &many);
        assert_eq!((lines.len(), lines[12].as_str()), (13, "  and 8 more lines"));
        assert_eq!(between(&many, "new\n")[..2], ["+ new", "- 0"]);
    }
}
