//! Parts of a turn that are written as several regions: reasoning line by line, content in parts.

use super::structure::{Content, History, Reasoning};
use super::turn::Turns;
use backchat_probe::probe::needle::SECOND;
use backchat_probe::probe::{Answer, PART_BREAK, Setting, needle};

/// The texts at which a template may split one value into regions.
pub(super) const SEPARATORS: [&str; 2] = ["\n", "\n\n"];

/// The text at which a template splits reasoning into regions, if it does.
pub(crate) fn thought(turns: Turns<'_, '_>, reasoning: &Reasoning) -> Option<String> {
    let is_parted = |separator: &&str| {
        let thought = format!("{}{separator}{SECOND}", needle::REASONING);
        let answer = Answer::content(needle::CONTENT).with_reasoning(&thought);
        let marks = (reasoning.open.as_str(), reasoning.close.as_str());
        are_split(turns, &answer, &reasoning.setting, needle::REASONING, marks)
    };
    SEPARATORS.into_iter().find(is_parted).map(str::to_owned)
}

/// The text at which a template splits content into regions, if it does; empty if only content passed in parts has
/// several regions. The mark that closes content may be the one that ends the turn.
pub(crate) fn content(turns: Turns<'_, '_>, content: &Content, end: &str) -> Option<String> {
    let close = match content.close.trim() {
        "" => turns.segmentation.first(end).unwrap_or_default(),
        close => close,
    };
    let marks = (content.open.as_str(), close);
    let said = |between: &str| Answer::content(&format!("{}{between}{SECOND}", needle::CONTENT));
    let is_parted = |between: &str| are_split(turns, &said(between), &Setting::new(), needle::CONTENT, marks);
    let has_parts = || is_parted(&PART_BREAK.to_string());
    let separator = SEPARATORS.into_iter().find(|separator| is_parted(separator));
    separator.or_else(|| has_parts().then_some("")).map(str::to_owned)
}

/// Whether the two halves of a value are separate regions.
fn are_split(turns: Turns<'_, '_>, answer: &Answer, setting: &Setting, first: &str, marks: (&str, &str)) -> bool {
    let (open, close) = (marks.0.trim(), marks.1.trim());
    let Some(trace) = turns.trace(History::User, answer, setting).filter(|_| !open.is_empty() && !close.is_empty())
    else {
        return false;
    };
    let gap = trace.text.split_once(first).and_then(|(_, rest)| Some(rest.split_once(SECOND)?.0));
    let between = gap.and_then(|gap| gap.trim().strip_prefix(close)?.strip_suffix(open));
    between.is_some_and(|between| between.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::marks::Segmentation;
    use super::super::support::{chat_template, with_prober};
    use super::super::{template_usage, varying};
    use super::*;
    use backchat_core::json::Object;
    use backchat_probe::probe::steady::NUMBER;

    #[test]
    fn reasoning_in_regions_that_are_numbered_is_joined_by_the_text_that_separates_it() {
        for separator in SEPARATORS {
            let numbered = format!(
                "{{% if m.thinking %}}{{% for l in m.thinking.split({separator:?}) %}}<step n=\"{{{{ loop.index }}}}\">\
                 {{{{ l }}}}</step>\n{{% endfor %}}{{% endif %}}{{{{ m.content }}}}"
            );
            with_prober(&chat_template(&numbered), |prober| {
                let usage = template_usage::find(prober.template(), prober, &Object::new());
                let prober =
                    prober.with_reasoning(usage.reasoning_inputs.first()).steady(&varying::find(prober, &usage));
                let turns = Turns { prober: &prober, segmentation: Segmentation::Words, trailing: &[] };
                let (open, close) = (format!("<step n=\"{NUMBER}\">"), "</step>\n".to_owned());
                let reasoning = Reasoning { open, close, ..Reasoning::default() };
                assert_eq!(thought(turns, &reasoning).as_deref(), Some(separator));
            });
        }
    }

    #[test]
    fn content_in_regions_is_joined_by_the_text_that_separates_it() {
        let lines = "{% for l in m.content.split('\n') %}<p>{{ l }}</p>{% endfor %}";
        let parts = "{% if m.content is string %}<p>{{ m.content }}</p>{% else %}\
                     {% for p in m.content %}<p>{{ p.text }}</p>{% endfor %}{% endif %}";
        for (answer, join) in [
            (lines, Some("\n")),
            (&lines.replace("'\n'", "'\n\n'"), Some("\n\n")),
            (parts, Some("")),
            ("<p>{{ m.content }}</p>", None),
        ] {
            with_prober(&chat_template(answer), |prober| {
                let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
                let marked = Content { open: "<p>".to_owned(), close: "</p>".to_owned(), ..Content::default() };
                assert_eq!(content(turns, &marked, "<end>").as_deref(), join, "{answer}");
                let ended = Content { close: String::new(), ..marked };
                assert_eq!(content(turns, &ended, "</p>\n").as_deref(), join, "{answer}");
                assert_eq!(content(turns, &Content::default(), "</p>"), None);
            });
        }
    }
}
