//! The lines of a chat template as text, with what conversations do with each.

use std::fmt::Write;

use super::lines::{CoveredLine, counts};
use backchat_core::diagnostic::{counted, escape, shortened};

/// How much of a text that a line prints is shown, in characters.
const PRINTED: usize = 60;

/// One sentence: how many lines run, and how many conditions go both ways.
pub fn summary(lines: &[CoveredLine], conversations: usize) -> String {
    let [code, run, conditions, both] = counts(lines);
    let of = counted(conversations, "conversation");
    format!("{run} of {code} lines with code run, and {both} of {conditions} conditions go both ways, in {of}.")
}

/// Each line with the number of the conversations that run it; below it, what it prints and the sides of its conditions
/// that none of them takes.
pub fn listing(lines: &[CoveredLine]) -> String {
    let mut out = String::from("   RUNS  LINE\n");
    for (at, line) in lines.iter().enumerate() {
        let runs = match (line.has_code, line.run_by.len()) {
            (_, count @ 1..) => count.to_string(),
            (true, 0) => "never".to_owned(),
            (false, 0) => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", format!("{runs:>7} {:>5}  {}", at + 1, escape(&line.text)).trim_end());
        if let Some(printed) = line.prints.first().filter(|printed| printed.trim() != line.text.trim()) {
            let more = if line.prints.len() > 1 { ", …" } else { "" };
            let printed = escape(printed).replace("\\n", "⏎");
            let _ = writeln!(out, "{:15}prints {}{more}", "", shortened(&printed, PRINTED));
        }
        for (condition, side) in line.one_sided() {
            let _ = writeln!(out, "{:15}{}", "", shortened(&escape(&condition.never(side)), PRINTED + 40));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::lines;
    use backchat_chat::{ChatTemplate, RenderOptions};
    use backchat_core::json;

    #[test]
    fn a_listing_shows_runs_prints_and_missing_sides() {
        let source = "{# \u{202e} #}\n{% for m in messages %}\n{% if m.role == 'user' %}\n<user>{{ m.content }}\n{% else %}\n<bot>{{ m.content }}\n{% endif %}{% endfor %}";
        let template = ChatTemplate::compile(source).unwrap();
        let context = json::read(r#"{"messages": [{"role": "user", "content": "Hi"}]}"#).unwrap();
        let lines = lines(&template, &[context.as_object().unwrap()], &RenderOptions::default());
        assert_eq!(
            summary(&lines, 1),
            "3 of 4 lines with code run, and 0 of 2 conditions go both ways, in 1 conversation."
        );
        let wanted = [
            "   RUNS  LINE",
            "            1  {# \\u{202e} #}",
            "      1     2  {% for m in messages %}",
            "               `messages` is never empty",
            "      1     3  {% if m.role == 'user' %}",
            "               `m.role == 'user'` is never false",
            "      1     4  <user>{{ m.content }}",
            "               prints <user>Hi⏎",
            "            5  {% else %}",
            "  never     6  <bot>{{ m.content }}",
            "            7  {% endif %}{% endfor %}",
        ];
        assert_eq!(listing(&lines).lines().collect::<Vec<_>>(), wanted);
    }
}
