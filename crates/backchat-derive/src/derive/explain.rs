//! The evidence as Markdown, for a pull request.

use std::fmt::Write;

use super::compile::Choices;
use super::evidence::{Change, Evidence, Printed};
use super::findings::{ReportData, headers};
use super::proof::Tried;
use super::recorded::function_of;
use super::report::{Derivation, Status};
use crate::wire::structure::{CallPart, Calls, Place, Prompt, WireFormat};
use backchat_core::diagnostic::{Diagnostic, escape, escape_lines, shortened};
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_probe::probe::steady::readable;

/// How much of a render an excerpt shows.
const EXCERPT: usize = 240;

/// How many refuted candidates are shown.
const REFUTED: usize = 3;

impl Derivation {
    /// One line: the status, and the parts that it covers.
    pub fn headline(&self) -> String {
        let refused = self.refused.iter().map(|refused| format!("; {refused}"));
        super::report::headline(self.status, &self.verdict) + &refused.collect::<String>()
    }

    /// How many samples the draft explains, if there are any.
    pub fn samples_line(&self) -> Option<String> {
        self.explained.describe()
    }

    /// The parts that the draft reads, one line each.
    pub fn summary(&self) -> Vec<String> {
        self.parts().into_iter().map(|(part, text)| format!("{part}: {text}")).collect()
    }

    /// How the draft reads each part of a turn.
    pub(super) fn parts(&self) -> Vec<(&'static str, String)> {
        let Some(found) = self.findings.found() else { return Vec::new() };
        let wire = &found.wire;
        let reasoning = match &wire.reasoning {
            Some(reasoning) => {
                let open = match reasoning.open.trim() {
                    "" => "the turn's beginning".to_owned(),
                    open => code(open),
                };
                let (close, how) = (code(reasoning.close.trim()), reasoning.source.name());
                format!("{open} to {close}, {how}, into `{}`", found.reasoning_field)
            }
            None => "none".to_owned(),
        };
        let content = match wire.content.open.trim() {
            "" => "everything outside the markers".to_owned(),
            open => format!("opened by {}", code(open)),
        };
        // A turn without a header follows the message before it directly.
        let named = |header: &str| if header.is_empty() { "the previous message".to_owned() } else { code(header) };
        let headers: Vec<String> = headers(wire).into_iter().map(named).collect();
        vec![
            ("turn", format!("starts after {}, ends with {}", headers.join(" or "), ends(wire, &found.stop_origin))),
            ("reasoning", reasoning),
            ("content", content),
            ("calls", calls_part(wire, self.response_template.as_ref())),
        ]
    }

    /// The whole evidence as Markdown.
    pub fn explain(&self, name: &str) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_page(&mut page, name);
        page
    }

    fn write_page(&self, page: &mut String, name: &str) -> std::fmt::Result {
        writeln!(page, "# Response template for {}\n", escape(name))?;
        writeln!(page, "{}.\n", capitalized(&self.headline()))?;
        let Some(found) = self.findings.found() else {
            for diagnostic in &self.diagnostics {
                writeln!(page, "- {}", escape(&diagnostic.message))?;
            }
            return Ok(());
        };
        for line in self.summary().into_iter().chain(self.samples_line()) {
            writeln!(page, "- {}", escape(&line))?;
        }
        if let Some(template) = &self.response_template {
            writeln!(page, "\n```json\n{}\n```", escape_lines(&template.to_pretty("  ")))?;
        }
        if self.status != Status::Proved {
            self.failures(page)?;
        }
        candidates(page, &self.tried, self.response_template.as_ref())?;
        writeln!(page, "\n## Evidence\n")?;
        writeln!(
            page,
            "Each pair of renders differs in one thing. Positions are bytes of the second render, lines those of the chat template; needles begin with `Qz` \
             or `qz`.\n"
        )?;
        for (finding, title) in SECTIONS {
            section(page, found, finding, title)?;
        }
        prompts(page, &found.wire)?;
        arguments(page, &found.wire)?;
        self.proof(page, found.renders)?;
        self.limits(page)?;
        let refused = found.refused.iter().map(|message| code(&shortened(message, EXCERPT)));
        let replaced = format!(
            "Refused probes\n\nThe template raised an error on some probes; they were replaced by others ({}).\n",
            found.request_shape
        );
        list_section(page, &replaced, refused)
    }

    /// What the proof saw, and what the wire format loses.
    fn proof(&self, page: &mut String, renders: usize) -> std::fmt::Result {
        writeln!(page, "## Proof\n")?;
        writeln!(
            page,
            "The evidence comes from {} renders. The proof rendered {} other conversations, cut out the last turn of each, and \
             parsed it whole and one character at a time, with and without the stop token. {} parse back exactly.",
            renders, self.verdict.cases, self.verdict.passed
        )?;
        if self.verdict.recut > 0 {
            writeln!(
                page,
                "\nThe renders of {} turns do not extend their prompt: these were cut where the two first differ.",
                self.verdict.recut
            )?;
        }
        for loss in self.verdict.losses.iter().filter(|loss| !loss.is_assumed) {
            writeln!(page, "\n- Lost by the wire format: {}.", escape(&loss.describe()))?;
            writeln!(page, "  - text: {}", code(&shortened(&loss.example, EXCERPT)))?;
        }
        Ok(())
    }

    /// What the readers and the notes limit.
    fn limits(&self, page: &mut String) -> std::fmt::Result {
        let readers = self.readers.iter().map(|reading| {
            let other =
                reading.other.map_or_else(String::new, |(target, effect)| format!("; `--target {target}` {effect}"));
            format!("{}{other}.", escape(&reading.describe()))
        });
        list_section(page, "Readers\n", readers)?;
        // Failures and losses have sections of their own.
        let is_note = |diagnostic: &&Diagnostic| !["derive-unproved", "derive-loss"].contains(&diagnostic.id);
        let notes = self.diagnostics.iter().filter(is_note).map(|note| {
            let help = note.help.as_ref().map_or_else(String::new, |help| format!(" {}.", capitalized(help)));
            format!("{}.{}", escape(&capitalized(&note.message)), escape(&help))
        });
        list_section(page, "Limits\n", notes)
    }

    /// Every cause of failure: the rendered turn, the positions of its parts, and the wrong boundary.
    fn failures(&self, page: &mut String) -> std::fmt::Result {
        if self.verdict.failures.is_empty() {
            return Ok(());
        }
        writeln!(page, "\n## What fails\n")?;
        writeln!(
            page,
            "{} conversations fail, for these causes. Positions are bytes of the turn.",
            self.verdict.failed()
        )?;
        for failure in &self.verdict.failures {
            let setting = match failure.setting.is_empty() {
                true => String::new(),
                false => format!(" with {}", code(&Value::Object(failure.setting.clone()).to_string())),
            };
            writeln!(page, "\n- {}{setting}.", escape(&failure.describe()))?;
            writeln!(page, "  - the prompt ends in: {}", code(&end_of(&failure.prefix)))?;
            writeln!(page, "  - the turn: {}", code(&shortened(&failure.text, 2 * EXCERPT)))?;
            let places = places(&failure.text, &failure.expected);
            if !places.is_empty() {
                writeln!(page, "  - its parts: {}", escape(&places.join(", ")))?;
            }
            writeln!(page, "  - expected: {}", code(&shortened(&failure.expected.to_string(), EXCERPT)))?;
            writeln!(page, "  - got: {}", code(&shortened(&failure.got.to_string(), EXCERPT)))?;
            if let Some(hint) = failure.hint() {
                writeln!(page, "  - to fix: {}", escape(&hint))?;
            }
        }
        Ok(())
    }
}

/// How the draft reads calls. A repair or a sample may teach it calls that no form of the renders explains.
fn calls_part(wire: &WireFormat, draft: Option<&Value>) -> String {
    match (&wire.calls, draft.and_then(|draft| draft.get("fields")?.get("tool_calls"))) {
        (Some(calls), _) => calls_line(calls),
        (None, Some(_)) => "as `tool_calls` of the draft reads them".to_owned(),
        (None, None) => "none".to_owned(),
    }
}

/// The marks that end a turn, and the origin of those that no render shows.
fn ends(wire: &WireFormat, origin: &str) -> String {
    let is_shown = |stop: &&String| !wire.given_stops.contains(stop);
    let shown: Vec<String> = wire.stops.iter().filter(is_shown).cloned().collect();
    if wire.given_stops.is_empty() {
        return list(&shown);
    }
    let given = format!("{} ({origin}; no render ends with it)", list(&wire.given_stops));
    if shown.is_empty() { given } else { format!("{}, or {given}", list(&shown)) }
}

/// A section with one line per item, or nothing without items. The heading may continue with other text.
fn list_section(page: &mut String, heading: &str, items: impl Iterator<Item = String>) -> std::fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_some() {
        writeln!(page, "\n## {heading}")?;
    }
    items.try_for_each(|item| writeln!(page, "- {item}"))
}

/// The best refuted candidates, each with the failure that refuted it and the fields that differ from the draft.
fn candidates(page: &mut String, tried: &[Tried], draft: Option<&Value>) -> std::fmt::Result {
    if tried.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n## Candidates that were refuted\n")?;
    let mut nearest: Vec<&Tried> = tried.iter().collect();
    nearest.sort_by_key(|tried| tried.failed);
    let rest = nearest.len().saturating_sub(REFUTED);
    let known = draft.map_or_else(Vec::new, parts);
    for tried in nearest.into_iter().take(REFUTED) {
        let conversations = if tried.failed == 1 { "conversation" } else { "conversations" };
        writeln!(page, "- {} {conversations} failed: {}", tried.failed, escape(&tried.refuted))?;
        for (name, value) in parts(&tried.draft) {
            if !known.contains(&(name.clone(), value.clone())) {
                writeln!(page, "  - {}: {}", escape(&name), code(&shortened(&value.to_string(), 2 * EXCERPT)))?;
            }
        }
    }
    if rest > 0 {
        writeln!(page, "- and {rest} more that failed as many or more")?;
    }
    Ok(())
}

/// The anchor and the fields of a response template, by name.
fn parts(template: &Value) -> Vec<(String, Value)> {
    let entries = template.as_object().into_iter().flatten();
    let anchors = entries.filter(|(key, _)| key.starts_with("start_anchor"));
    let fields = template.get("fields").and_then(Value::as_object).into_iter().flatten();
    anchors.chain(fields).map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// The positions of a message's texts in its rendered turn, in bytes.
fn places(text: &str, message: &Value) -> Vec<String> {
    let mut places = Vec::new();
    let mut place = |name: &str, part: &str| {
        if let Some(at) = text.find(part.trim()).filter(|_| !part.trim().is_empty()) {
            places.push(format!("{name} {}–{}", at, at + part.trim().len()));
        }
    };
    for (key, value) in message.as_object().into_iter().flatten().filter(|(key, _)| *key != "role") {
        match value {
            Value::String(part) => place(key, part),
            Value::List(calls) => {
                for (i, call) in calls.iter().enumerate() {
                    if let Some(name) = function_of(call).get("name").and_then(Value::as_str) {
                        place(&format!("name of call {}", i + 1), name);
                    }
                }
            }
            _ => {}
        }
    }
    places
}

fn end_of(prompt: &str) -> String {
    let from = prompt.char_indices().rev().nth(79).map_or(0, |(at, _)| at);
    let rest = slice(prompt, from..);
    if from > 0 { format!("…{rest}") } else { rest.to_owned() }
}

const SECTIONS: [(&str, &str); 5] = [
    ("turn", "The turn"),
    ("content", "Content"),
    ("reasoning", "Reasoning"),
    ("tools", "Calls"),
    ("arguments", "Arguments"),
];

fn section(page: &mut String, found: &ReportData, finding: &str, title: &str) -> std::fmt::Result {
    let shown_by: Vec<&Evidence> = found.evidence.iter().filter(|evidence| evidence.finding == finding).collect();
    if shown_by.is_empty() {
        return Ok(());
    }
    writeln!(page, "### {title}\n")?;
    if finding == "tools"
        && let Some(calls) = &found.wire.calls
    {
        let content = match found.wire.content.place {
            Place::Before => "Content comes before calls.",
            Place::After => "Content comes after calls.",
            Place::Dropped => "Content beside calls is dropped.",
        };
        writeln!(page, "{content} The conversations pass {}.\n", calls.request_shape.describe())?;
    }
    for evidence in shown_by {
        writeln!(page, "- {} → {}", escape(&evidence.without), escape(&evidence.with))?;
        for change in &evidence.changes {
            writeln!(page, "  - {}{}", shown(change), printed(change))?;
        }
    }
    writeln!(page)
}

fn shown(change: &Change) -> String {
    let inserted = code(&shortened(&change.inserted, EXCERPT));
    if change.removed.is_empty() {
        format!("at {}: {inserted}", change.at)
    } else if change.inserted.is_empty() {
        format!("at {}: without {}", change.at, code(&shortened(&change.removed, EXCERPT)))
    } else {
        format!("at {}: {inserted} instead of {}", change.at, code(&shortened(&change.removed, EXCERPT)))
    }
}

/// The lines of the chat template that print the inserted text, and what each of them prints.
fn printed(change: &Change) -> String {
    let piece = |Printed { line, text }: &Printed| match change.printed.len() {
        1 => format!("line {line}"),
        _ => format!("line {line} {}", code(&shortened(text, EXCERPT))),
    };
    let pieces: Vec<String> = change.printed.iter().map(piece).collect();
    if pieces.is_empty() { String::new() } else { format!(", printed by {}", pieces.join(", ")) }
}

fn prompts(page: &mut String, wire: &WireFormat) -> std::fmt::Result {
    let mut rows: Vec<(String, &str)> = Vec::new();
    for (at, prompt) in wire.prompts.iter().enumerate() {
        // A history or a setting gets a row only if the prefill differs.
        let is_known = |other: &Prompt| other.prefill == prompt.prefill;
        if wire.prompts.iter().take(at).any(is_known) {
            continue;
        }
        let setting = match prompt.setting.first() {
            Some((name, value)) => format!("`{name}` = {value}"),
            None => "nothing set".to_owned(),
        };
        rows.push((format!("{}, {setting}", prompt.after.name()), &prompt.prefill));
    }
    if rows.iter().all(|(_, prefill)| prefill.is_empty()) {
        return Ok(());
    }
    writeln!(page, "### What the prompt already writes\n")?;
    writeln!(page, "| prompt after | writes |\n|---|---|")?;
    for (what, prefill) in rows {
        let prefill = if prefill.is_empty() { "nothing".to_owned() } else { code(prefill).replace('|', "\\|") };
        writeln!(page, "| {} | {prefill} |", escape(&what))?;
    }
    writeln!(page)
}

fn arguments(page: &mut String, wire: &WireFormat) -> std::fmt::Result {
    let Some(pairs) = wire.pairs() else { return Ok(()) };
    writeln!(page, "### How each type is written\n")?;
    writeln!(page, "| type | after the key |\n|---|---|")?;
    for (kind, text) in &pairs.written {
        writeln!(page, "| {kind} | {} |", code(text).replace('|', "\\|"))?;
    }
    writeln!(page)
}

/// How calls are written, in one line.
fn calls_line(calls: &Calls) -> String {
    let cut = Choices::default().cut(calls);
    let open = match format!("{}{}", cut.section.trim(), cut.open.trim()).as_str() {
        "" => "their own first characters".to_owned(),
        open => code(open),
    };
    // The close of a call that is not an object may be part of its body; the close of a list is written once.
    let tail = calls.body.tail.iter().filter(|_| calls.body.object.is_none()).rev().find_map(CallPart::text);
    let closes = [Some(cut.close.as_str()), tail, Some(cut.section_close.as_str())];
    let close = closes.into_iter().flatten().map(str::trim).find(|close| !close.is_empty());
    let close = close.map_or_else(|| "the end of the turn".to_owned(), code);
    let several = if calls.several { ", several calls per turn" } else { ", one call per turn" };
    format!("{}, opened by {open}, closed by {close}{several}", calls.layout())
}

/// A text as Markdown code on one line.
fn code(text: &str) -> String {
    let text = readable(text).replace('\n', "⏎");
    let shown = escape(&text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{shown}{space}{fence}")
}

fn list(texts: &[String]) -> String {
    if texts.is_empty() {
        return "nothing".to_owned();
    }
    texts.iter().map(|text| code(text)).collect::<Vec<_>>().join(" or ")
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, calls, object_body, pairs, prompt, value, wire};
    use crate::derive::{Options, derive};
    use crate::wire::structure::{Arguments, History};

    #[test]
    fn the_page_has_the_draft_the_evidence_and_the_proof() {
        let derivation = derive(CHAT, &Options::default());
        let page = derivation.explain("a\u{1b}b.jinja");
        assert!(page.starts_with("# Response template for a\\u{1b}b.jinja\n\nProved: content"), "{page}");
        for part in [
            "\n- reasoning: `<weigh>` to `</weigh>`, rendered",
            "\n```json\n{",
            "\n## Evidence\n",
            "### Calls",
            "\n## Proof\n",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("## What fails"), "nothing does");
    }

    #[test]
    fn calls_that_only_the_draft_has_are_not_none() {
        let without = WireFormat { calls: None, ..wire() };
        let draft = value(ANSWER);
        assert!(draft.get("fields").is_some_and(|fields| fields.get("tool_calls").is_some()));
        assert_eq!(calls_part(&without, Some(&draft)), "as `tool_calls` of the draft reads them");
        assert_eq!(calls_part(&without, Some(&value(r#"{"fields": {"content": {}}}"#))), "none");
        assert_eq!(calls_part(&without, None), "none");
    }

    #[test]
    fn the_page_of_a_failed_derivation_has_only_the_reason() {
        let page = derive("{{ messages | length }}", &Options::default()).explain("x.jinja");
        let why = "this chat template does not render the content of assistant messages";
        assert_eq!(page, format!("# Response template for x.jinja\n\nFailed: no draft.\n\n- {why}\n"));
    }

    #[test]
    fn refuted_candidates_show_the_fields_in_which_they_differ() {
        let draft = value(ANSWER);
        let tried = |failed: usize| Tried {
            draft: value(&ANSWER.replace("<end>", "<stop>")),
            failed,
            refuted: format!("case {failed}"),
        };
        let mut page = String::new();
        candidates(&mut page, &[tried(9), tried(1), tried(4), tried(3)], Some(&draft)).unwrap();
        let content = "  - content: `{\"close\": \"<stop>\", \"content\": \"text\"}`\n";
        let wanted = format!(
            "\n## Candidates that were refuted\n\n- 1 conversation failed: case 1\n{content}- 3 conversations failed: case 3\n\
             {content}- 4 conversations failed: case 4\n{content}- and 1 more that failed as many or more\n"
        );
        assert_eq!(page, wanted);
        page.clear();
        candidates(&mut page, &[], Some(&draft)).unwrap();
        assert_eq!(page, "");
    }

    #[test]
    fn the_parts_of_a_turn_are_found_in_its_text() {
        let message = value(
            r#"{"role": "assistant", "content": " Yes. ", "thinking": "", "tool_calls":
                [{"function": {"name": "f_one"}}, {"function": {}}, {"function": {"name": "absent"}}]}"#,
        );
        assert_eq!(places("<b>Yes.<c>f_one", &message), ["content 3–7", "name of call 1 10–15"]);
        assert_eq!(places("assistant", &message), [""; 0]);
    }

    #[test]
    fn only_the_end_of_a_long_prompt_is_shown() {
        assert_eq!(end_of("<bot>"), "<bot>");
        let long = "é".repeat(100);
        assert_eq!(end_of(&long), format!("…{}", "é".repeat(80)));
        assert_eq!(end_of(&"é".repeat(80)), "é".repeat(80));
    }

    #[test]
    fn code_is_fenced_with_more_backticks_than_it_contains() {
        for (text, shown) in
            [("<a>\n", "`<a>⏎`"), ("a`b", "`` a`b ``"), ("```", "```` ``` ````"), ("\u{1b}", "`\\u{1b}`")]
        {
            assert_eq!(code(text), shown);
        }
        assert_eq!(list(&[]), "nothing");
        assert_eq!(list(&["<a>".to_owned(), "<b>".to_owned()]), "`<a>` or `<b>`");
        assert_eq!([capitalized("ändert"), capitalized("")], ["Ändert", ""]);
    }

    #[test]
    fn calls_are_described_by_their_layout_and_their_marks() {
        let mut one = calls(["", "<call>", "</call>", "", ""], object_body());
        assert_eq!(
            calls_line(&one),
            "one JSON object per call, opened by `<call>`, closed by `</call>`, several calls per turn"
        );
        one.several = false;
        one.cuts = vec![crate::derive::by_hand::cut([""; 5])];
        assert_eq!(
            calls_line(&one),
            "one JSON object per call, opened by their own first characters, closed by the end of the turn, one call per turn"
        );
        one.cuts = vec![crate::derive::by_hand::cut(["<calls>", "", "", "", "</calls>"])];
        assert_eq!(
            calls_line(&one),
            "one JSON object per call, opened by `<calls>`, closed by `</calls>`, one call per turn"
        );
    }

    #[test]
    fn each_prefill_of_a_prompt_has_a_row() {
        let mut page = String::new();
        let quiet = wire();
        prompts(&mut page, &quiet).unwrap();
        assert_eq!(page, "", "no prompt writes anything");
        let mut opens = prompt("<bot>");
        opens.prefill = "<think>|".to_owned();
        opens.after = History::ToolResult;
        opens.setting.insert("think", true.into());
        prompts(&mut page, &WireFormat { prompts: vec![prompt("<bot>"), opens.clone(), opens], ..wire() }).unwrap();
        let wanted = "### What the prompt already writes\n\n| prompt after | writes |\n|---|---|\n\
                      | a user message, nothing set | nothing |\n| a tool result, `think` = true | `<think>\\|` |\n\n";
        assert_eq!(page, wanted);
    }

    #[test]
    fn arguments_have_a_row_for_each_type_if_they_are_written_key_by_key() {
        let mut page = String::new();
        let mut typed = calls(["", "<call>", "</call>", "", ""], object_body());
        let with = |calls: &Calls| WireFormat { calls: Some(calls.clone()), ..wire() };
        arguments(&mut page, &with(&typed)).unwrap();
        assert_eq!(page, "");
        let mut keyed = pairs(["<", ">", "</>", ""]);
        keyed.written = vec![("string", "x".to_owned()), ("boolean", "a|b".to_owned())];
        typed.body.arguments = Arguments::Pairs(Box::new(keyed));
        arguments(&mut page, &with(&typed)).unwrap();
        assert!(page.ends_with("| string | `x` |\n| boolean | `a\\|b` |\n\n"), "{page}");
    }

    #[test]
    fn a_change_lists_inserted_and_removed_text() {
        let change = |removed: &str, inserted: &str| Change {
            at: 3,
            removed: removed.to_owned(),
            inserted: inserted.to_owned(),
            printed: Vec::new(),
        };
        assert_eq!(shown(&change("", "<a>")), "at 3: `<a>`");
        assert_eq!(shown(&change("<a>", "")), "at 3: without `<a>`");
        assert_eq!(shown(&change("<a>", "<b>")), "at 3: `<b>` instead of `<a>`");
        let by = |pieces: &[(usize, &str)]| {
            let piece = |&(line, text): &(usize, &str)| Printed { line, text: text.to_owned() };
            printed(&Change { printed: pieces.iter().map(piece).collect(), ..change("", "<a>b") })
        };
        assert_eq!(by(&[]), "");
        assert_eq!(by(&[(2, "<a>b")]), ", printed by line 2");
        assert_eq!(by(&[(2, "<a>"), (5, "b")]), ", printed by line 2 `<a>`, line 5 `b`");
    }
}
