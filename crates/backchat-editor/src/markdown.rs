//! Text of templates in Markdown: in code spans and fences that it cannot leave.

use backchat_core::diagnostic::shortened;

/// How long the text of a hover may be, in bytes.
const LONGEST: usize = 4096;

/// The longest run of back-ticks in a text.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A text as a code span.
pub fn code(text: &str) -> String {
    let shown: String = shortened(text, 120).chars().flat_map(visible).collect();
    let fence = "`".repeat(longest_run(&shown) + 1);
    let pad = if shown.starts_with('`') || shown.ends_with('`') || shown.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// A character of a code span: what would end the line is written as an escape.
fn visible(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\r' => vec!['\\', 'r'],
        '\t' => vec!['\\', 't'],
        c if c.is_control() => c.escape_unicode().collect(),
        c => vec![c],
    }
}

/// A text as a fenced block.
pub fn block(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A hover that is not too long.
pub fn bounded(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST - 4));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_ticks_of_a_template_stay_inside() {
        assert_eq!([code("a"), code("`a"), code("a``b")], ["`a`", "`` `a ``", "```a``b```"]);
        assert_eq!(code("\n"), "` \\n `".replace("` ", "`").replace(" `", "`"));
        assert_eq!(block("", "```"), "````\n```\n````");
    }
}
