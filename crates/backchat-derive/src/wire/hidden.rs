//! Reasoning without a message key: templates that remove it from content, and prompts that open it or ask for it.

use super::marks::{self, Segmentation};
use super::structure::{FoundBy, Prompt, Reasoning};
use super::template_usage::TemplateUsage;
use backchat_probe::probe::needle::{AFTER, BEFORE};
use backchat_probe::probe::{Answer, Message, Prober, Setting, mentions_reasoning, needle};

/// Finds it: first by a closing mark that makes the content before it vanish, then by marks that a prompt opens or asks
/// for.
pub(crate) fn find(
    prober: &Prober,
    segmentation: Segmentation,
    usage: &TemplateUsage,
    prompts: &[Prompt],
) -> Option<Reasoning> {
    removed(prober, segmentation, &usage.literals, prompts)
        .or_else(|| opened(segmentation, prompts))
        .or_else(|| asked(prober, segmentation, &usage.settings))
}

fn reasoning(open: &str, close: &str, setting: &Setting, source: FoundBy) -> Reasoning {
    Reasoning {
        open: open.to_owned(),
        close: close.to_owned(),
        setting: setting.clone(),
        source,
        ..Reasoning::default()
    }
}

/// The first mark of the turn that prompts already write.
fn prefill(segmentation: Segmentation, prompts: &[Prompt], test: impl Fn(&str) -> bool) -> Option<&str> {
    let mut marks = prompts.iter().filter_map(|prompt| segmentation.first(&prompt.prefill));
    marks.find(|mark| segmentation.is_distinctive(mark) && test(mark))
}

/// Reasoning that a prompt opens and no render shows. The mark must mention reasoning and must not close it.
fn opened(segmentation: Segmentation, prompts: &[Prompt]) -> Option<Reasoning> {
    let open = prefill(segmentation, prompts, |mark| mentions_reasoning(mark) && opening(mark).is_none())?;
    // A prompt that closes it at once also shows the closing mark.
    let closed = prompts.iter().find_map(|prompt| {
        let rest = prompt.prefill.split_once(open)?.1;
        let is_about = |mark: &&str| segmentation.share_a_word(mark, open, &prompt.header);
        segmentation.marks(rest).into_iter().find(|mark| segmentation.is_distinctive(mark) && is_about(mark))
    });
    let close = closed.map(str::to_owned).or_else(|| marks::counterpart(open))?;
    Some(reasoning(open, &close, &Setting::new(), FoundBy::Guessed))
}

/// Tries every literal of the template: one that makes the content before it vanish or move closes reasoning.
fn removed(prober: &Prober, segmentation: Segmentation, literals: &[String], prompts: &[Prompt]) -> Option<Reasoning> {
    let user = || Message::User(needle::USER.to_owned());
    let shown = |content: &str| -> Vec<String> {
        let answer = Message::Assistant(Answer::content(content));
        let later = Message::User(needle::LATER.to_owned());
        let conversations = [vec![user(), answer.clone()], vec![user(), answer, later]];
        conversations.iter().filter_map(|messages| prober.render(messages, &Setting::new(), false)).collect()
    };
    // The shortest such literal is the mark; longer ones contain it.
    let mut literals: Vec<&str> = literals.iter().map(String::as_str).collect();
    literals.sort_by_key(|literal| literal.trim().len());
    literals.iter().find_map(|close| {
        let content = format!("{BEFORE}{close}{AFTER}");
        let texts = shown(&content);
        let taken = texts.iter().any(|text| text.contains(AFTER) && !text.contains(&content));
        if !taken || texts.iter().any(|text| text.contains(&format!("{BEFORE}{AFTER}"))) {
            return None;
        }
        // A template that changes a text with the same signs in the same way looks for no mark.
        let other: String = close.chars().map(|c| if c.is_alphanumeric() { 'q' } else { c }).collect();
        let said = format!("{BEFORE}{other}{AFTER}");
        if other != *close && shown(&said).iter().any(|text| text.contains(AFTER) && !text.contains(&said)) {
            return None;
        }
        let close = close.trim();
        let header = prompts.first().map_or("", |prompt| prompt.header.trim());
        let lead = texts.iter().find_map(|text| {
            let end = text.find(BEFORE)?;
            let lead = text.get(text.get(..end)?.rfind(header)? + header.len()..end)?.trim();
            (!lead.is_empty()).then_some(lead)
        });
        // Other words in the place of the mark, and nothing before the content: the template writes the mark in another way.
        let between = |text: &str| {
            let (_, rest) = text.split_once(BEFORE)?;
            rest.split_once(AFTER).map(|(gap, _)| gap.to_owned())
        };
        if lead.is_none() && texts.iter().filter_map(|text| between(text)).any(|gap| !gap.contains(close)) {
            return None;
        }
        let open = lead.or_else(|| prefill(segmentation, prompts, |mark| mark != close)).or_else(|| {
            literals.iter().copied().find(|open| marks::counterpart(open.trim()).as_deref() == Some(close))
        });
        let open = open.map(|open| open.trim().to_owned()).or_else(|| opening(close))?;
        Some(reasoning(&open, close, &Setting::new(), FoundBy::Removed))
    })
}

/// The opening mark with this counterpart.
fn opening(close: &str) -> Option<String> {
    let candidates = [("end", "start"), ("end", "begin"), ("/", ""), ("END", "START")];
    let mut found = candidates.into_iter().map(|(from, to)| close.replacen(from, to, 1));
    found.find(|open| open != close && marks::counterpart(open).as_deref() == Some(close))
}

/// A setting under which the prompt asks for reasoning between two marks, which it names one after the other.
fn asked(prober: &Prober, segmentation: Segmentation, settings: &[Setting]) -> Option<Reasoning> {
    let user = [Message::User(needle::USER.to_owned())];
    let plain = prober.render(&user, &Setting::new(), true)?;
    settings.iter().find_map(|setting| {
        let text = prober.render(&user, setting, true)?;
        let new = text.get(segmentation.shared_start(&text, &plain).len()..)?;
        let new = new.get(..new.len() - segmentation.shared_end(new, &plain).len())?;
        let found = segmentation.marks(new);
        let is_pair = |[open, close]: &&[&str; 2]| marks::counterpart(open).as_deref() == Some(*close);
        let mut pairs = found.array_windows().filter(is_pair);
        let [open, close] = pairs.next()?;
        let named = setting.keys().any(mentions_reasoning) || mentions_reasoning(open);
        let mut found = named.then(|| reasoning(open, close, setting, FoundBy::Asked))?;
        found.answer_marks = pairs.flatten().map(|mark| (*mark).to_owned()).collect();
        found.answer_marks.dedup();
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::super::structure::History;
    use super::super::support::{chat_template, with_prober};
    use super::*;

    fn prompt(header: &str, prefill: &str) -> Prompt {
        Prompt {
            after: History::User,
            setting: Setting::new(),
            header: header.to_owned(),
            prefill: prefill.to_owned(),
            before: String::new(),
            header_in_prompt_only: false,
        }
    }

    fn marks(reasoning: Option<&Reasoning>) -> Option<(&str, &str)> {
        reasoning.map(|reasoning| (&*reasoning.open, &*reasoning.close))
    }

    #[test]
    fn a_mark_that_makes_the_content_before_it_vanish_or_move_closes_reasoning() {
        let strips = "{{ m.content.split('</think>')[-1] }}";
        let moves = "{% if '</think>' in m.content %}<think>{{ m.content.split('</think>')[0] }}</think>\n\
                     {{ m.content.split('</think>')[1] }}{% else %}{{ m.content }}{% endif %}";
        let replaces = "{{ m.content.replace('</think>', '') }}";
        let literals = ["</think>".to_owned()];
        for (answer, prefill, found) in [
            (strips, "", Some(("<think>", "</think>"))),
            // The mark closes the reasoning that the prompt opens.
            (strips, "<thought>\n", Some(("<thought>", "</think>"))),
            // A template may rewrite reasoning in its own form.
            (moves, "", Some(("<think>", "</think>"))),
            // Only the mark itself vanishes.
            (replaces, "", None),
            // Or it is written in another way.
            ("{{ m.content.replace('</think>', '[/think]') }}", "", None),
            ("{{ m.content }}", "", None),
        ] {
            with_prober(&chat_template(answer), |prober| {
                let prompts = [prompt("<|assistant|>", prefill)];
                let removed = removed(prober, Segmentation::Words, &literals, &prompts);
                assert_eq!(marks(removed.as_ref()), found, "{answer} {prefill:?}");
                assert!(removed.is_none_or(|reasoning| reasoning.source == FoundBy::Removed));
            });
        }
    }

    #[test]
    fn the_shortest_literal_that_makes_content_vanish_is_the_mark() {
        with_prober(&chat_template("{{ m.content.split('</think>')[-1] }}"), |prober| {
            let literals = ["</think></b>".to_owned(), "</think>".to_owned(), "<think>".to_owned()];
            let removed = removed(prober, Segmentation::Words, &literals, &[]);
            assert_eq!(marks(removed.as_ref()), Some(("<think>", "</think>")));
        });
    }

    #[test]
    fn the_mark_of_reasoning_is_taken_from_a_prompt_that_opens_it() {
        for (prefill, found) in [
            ("<think>\n", Some(("<think>", "</think>"))),
            ("<|begin_of_thought|>", Some(("<|begin_of_thought|>", "<|end_of_thought|>"))),
            // A prompt that closes reasoning at once also shows the closing mark.
            ("<think>\n\n<|think_end|>\n\n", Some(("<think>", "<|think_end|>"))),
            // A closing mark opens nothing.
            ("</think>", None),
            // The mark must name reasoning.
            ("<answer>", None),
            ("thinking:", None),
            ("", None),
        ] {
            let opened = opened(Segmentation::Words, &[prompt("<|assistant|>", prefill)]);
            assert_eq!(marks(opened.as_ref()), found, "{prefill:?}");
            assert!(opened.is_none_or(|reasoning| reasoning.source == FoundBy::Guessed));
        }
    }

    #[test]
    fn a_setting_may_ask_for_reasoning_between_two_marks() {
        let asking =
            |system: &str| format!("{{% if mode == 'on' %}}{system}{{% endif %}}{}", chat_template("{{ m.content }}"));
        let setting = |name: &str| Setting::from([(name.to_owned(), "on".into())]);
        let think = asking("Write <think></think> first, then <answer></answer>.");
        let calls = asking("Write <do></do>.");
        with_prober(&think, |prober| {
            let asked = asked(prober, Segmentation::Words, &[Setting::new(), setting("mode")]).unwrap();
            assert_eq!(marks(Some(&asked)), Some(("<think>", "</think>")));
            assert_eq!((asked.source, &asked.setting), (FoundBy::Asked, &setting("mode")));
            assert_eq!(asked.answer_marks, ["<answer>", "</answer>"]);
        });
        // Neither the setting nor the mark names reasoning.
        with_prober(&calls, |prober| assert!(asked(prober, Segmentation::Words, &[setting("mode")]).is_none()));
        let named = calls.replace("mode", "reasoning");
        with_prober(&named, |prober| {
            assert_eq!(
                marks(asked(prober, Segmentation::Words, &[setting("reasoning")]).as_ref()),
                Some(("<do>", "</do>"))
            );
        });
    }

    #[test]
    fn the_opening_mark_is_derived_from_the_closing_one() {
        for (close, open) in [
            ("</think>", Some("<think>")),
            ("[/THINK]", Some("[THINK]")),
            ("<|end_of_thought|>", Some("<|start_of_thought|>")),
            ("think", None),
            ("---", None),
        ] {
            assert_eq!(opening(close).as_deref(), open, "{close}");
        }
    }
}
