//! What doctor finds, at the places that cause it.

use std::ops::Range;

use backchat_chat::source::Source;
use backchat_chat::{ChatTemplate, RenderErrorKind, RenderOptions, Rendered, render_explained};
use backchat_core::diagnostic::{Edit, Severity};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_probe::doctor::{Exhibit, Fact, Options, Report, examine, traps, words};
use backchat_probe::probe::REASONING_KEYS;

use crate::chat_facts::ChatFacts;
use crate::chat_text::ChatText;
use crate::finding::{Finding, Level};
use crate::markdown;
use crate::settings::Settings;

/// The subject of an examination.
struct Examined<'a> {
    text: &'a ChatText,
    template: &'a ChatTemplate,
    variables: Object,
    settings: &'a Settings,
    report: Report,
}

/// The findings about a chat template, and what its variables and keys do, for its facts.
pub fn findings(text: &ChatText, source: &Source, settings: &Settings, facts: &mut ChatFacts) -> Vec<Finding> {
    let Ok(template) = ChatTemplate::compile(&source.template) else { return Vec::new() };
    let mut variables = source.special_tokens.clone();
    variables.extend(settings.set.iter().cloned());
    let options = Options::default().variables(variables.clone()).now(Some(settings.now.clone()));
    let report = examine(&template, &options);
    let examined = Examined { text, template: &template, variables, settings, report };
    facts.switches = examined.switches();
    facts.dropped = examined.dropped();
    let mut found = examined.traps();
    found.extend(examined.refusals());
    found
}

impl Examined<'_> {
    fn traps(&self) -> Vec<Finding> {
        let found = traps(&self.report);
        let finding = |trap: &backchat_core::Diagnostic| {
            let place = match trap.id {
                "CT001" => self.reasoning_condition(),
                "CT003" => self.tag("endgeneration"),
                "CT004" => self.none_printed(),
                _ => None,
            };
            let level = if trap.severity == Severity::Note { Level::Information } else { trap.severity.into() };
            let help = trap.help.as_deref().unwrap_or_default();
            let span = place.clone().unwrap_or(0..0);
            let finding = Finding::new(level, trap.id, self.text.span(&span), format!("{}\n{help}", trap.message));
            match (trap.id, place) {
                ("CT004", Some(place)) => self.guarded(finding, &place),
                _ => finding,
            }
        };
        found.iter().map(finding).collect()
    }

    /// Offers to print nothing in the place of None.
    fn guarded(&self, finding: Finding, place: &Range<usize>) -> Finding {
        let expression = slice(&self.text.source, place.clone());
        let guarded = format!("({expression} if {expression} is not none else '')");
        let changed =
            [slice(&self.text.source, ..place.start), &guarded, slice(&self.text.source, place.end..)].concat();
        let Ok(template) = ChatTemplate::compile(&changed) else { return finding };
        // Renders without None stay as they are.
        let options = RenderOptions::default().now(Some(self.settings.now.clone()));
        let render =
            |template: &ChatTemplate, exhibit: &Exhibit| template.render(&self.context(exhibit), &options).ok();
        let exhibits = self.report.facts.iter().flat_map(|fact| &fact.evidence);
        let is_proved = exhibits
            .filter(|exhibit| exhibit.outcome.as_ref().is_ok_and(|text| !text.contains("None")))
            .all(|exhibit| {
                let same = |one: Option<Rendered>| one.map(|rendered| rendered.text);
                same(render(self.template, exhibit)) == same(render(&template, exhibit))
            });
        let edits = vec![Edit { span: self.text.span(place), text: self.text.written(&guarded) }];
        if is_proved { finding.remedy("Print nothing in the place of None", edits, true) } else { finding }
    }

    fn context(&self, exhibit: &Exhibit) -> Object {
        let mut context = self.variables.clone();
        context.extend([("tools".to_owned(), Value::Null), ("documents".to_owned(), Value::Null)]);
        context.extend([("add_generation_prompt".to_owned(), Value::from(false))]);
        context.extend(exhibit.variables.iter().map(|(name, value)| (name.to_owned(), value.clone())));
        context.insert("messages", exhibit.messages.clone());
        context
    }

    fn rendered(&self, exhibit: &Exhibit) -> Option<Rendered> {
        let options = RenderOptions::default().now(Some(self.settings.now.clone()));
        render_explained(self.template, &self.context(exhibit), &options).0.ok()
    }

    /// The name of the last tag with a name.
    fn tag(&self, name: &str) -> Option<Range<usize>> {
        let tags = self.text.reading.tags.iter().rev();
        tags.map(|tag| tag.name.clone()).find(|span| slice(&self.text.source, span.clone()) == name)
    }

    /// The expression that prints None.
    fn none_printed(&self) -> Option<Range<usize>> {
        let fact = self.report.fact("null_content_beside_call")?;
        fact.evidence.iter().rev().find_map(|exhibit| {
            let rendered = self.rendered(exhibit)?;
            let origin =
                rendered.origins.iter().find(|origin| slice(&rendered.text, origin.text.clone()).contains("None"))?;
            Some(origin.source.clone())
        })
    }

    /// The condition around the reasoning that some renders lack.
    fn reasoning_condition(&self) -> Option<Range<usize>> {
        let reading = &self.text.reading;
        let is_reasoning = |key: &str| REASONING_KEYS.contains(&key) || key == "thinking";
        let reads: Vec<usize> =
            reading.lookups.iter().filter(|lookup| is_reasoning(&lookup.key)).map(|lookup| lookup.span.start).collect();
        let names: Vec<&str> =
            reading.mentions.iter().map(|mention| mention.name.as_str()).filter(|name| is_reasoning(name)).collect();
        let asks_where =
            |test: &str| ["loop", "last", "index", "length", "query", "ns."].iter().any(|word| test.contains(word));
        let tests = reading.blocks.iter().flat_map(|block| &block.parts).filter_map(|part| part.test.clone());
        let mut tests: Vec<Range<usize>> =
            tests.filter(|test| asks_where(slice(&self.text.source, test.clone()))).collect();
        let about = |test: &Range<usize>| {
            let block =
                reading.blocks.iter().find(|block| block.parts.iter().any(|part| part.test.as_ref() == Some(test)));
            let inside = |at: usize| block.is_some_and(|block| block.span.contains(&at));
            reads.iter().any(|at| inside(*at))
                || reading
                    .mentions
                    .iter()
                    .any(|mention| names.contains(&mention.name.as_str()) && inside(mention.span.start))
        };
        tests.retain(about);
        // The innermost condition about the place of the message decides.
        let size = |test: &Range<usize>| {
            let blocks =
                reading.blocks.iter().filter(|block| block.parts.iter().any(|part| part.test.as_ref() == Some(test)));
            blocks.map(|block| block.span.len()).min()
        };
        tests.into_iter().min_by_key(size).or_else(|| {
            let first = reading.lookups.iter().find(|lookup| is_reasoning(&lookup.key))?;
            Some(first.span.clone())
        })
    }

    /// What the template refuses, at its calls of `raise_exception`.
    fn refusals(&self) -> Vec<Finding> {
        let refusal = |fact: &Fact| {
            if fact.holds() || matches!(&fact.value, Value::String(word) if word == "rendered" || word == "dropped") {
                return None;
            }
            let error = fact.evidence.iter().rev().find_map(|exhibit| exhibit.outcome.as_ref().err())?;
            let span = error.span.clone().filter(|_| error.kind() == RenderErrorKind::Raised)?;
            let message = format!("refuses {}: {}", words(fact.name), error.message);
            Some(Finding::new(Level::Hint, format!("doctor-{}", fact.name), self.text.span(&span), message))
        };
        self.report.facts.iter().filter_map(refusal).collect()
    }

    fn switches(&self) -> Vec<(String, String)> {
        let switches =
            self.report.fact("switches").and_then(|fact| fact.value.as_object().cloned()).unwrap_or_default();
        let mut found: Vec<(String, String)> = switches
            .iter()
            .map(|(name, row)| {
                let text = |key: &str| markdown::code(row.get(key).and_then(Value::as_str).unwrap_or_default());
                let default = row.get("default").and_then(Value::as_str).unwrap_or_default();
                let words = format!(
                    "changes the generation prompt: true {}, false {}, default {default}",
                    text("true"),
                    text("false")
                );
                (name.to_owned(), words)
            })
            .collect();
        let changing = self.report.fact("variables").and_then(|fact| fact.value.as_list().map(<[Value]>::to_vec));
        for name in changing.unwrap_or_default().iter().filter_map(Value::as_str) {
            if !found.iter().any(|(known, _)| known == name) {
                let words =
                    "tried with true, false and a text: it changes a render, and not the generation prompt alone";
                found.push((name.to_owned(), words.to_owned()));
            }
        }
        found
    }

    fn dropped(&self) -> Vec<(String, String)> {
        let is_false = |name: &str| self.report.fact(name).is_some_and(|fact| fact.value == Value::from(false));
        let mut found = Vec::new();
        for (fact, words) in [
            ("reasoning_kept_after_user", "dropped from turns before the last user message"),
            ("reasoning_kept_in_tool_loop", "dropped between the calls of one turn"),
        ] {
            if is_false(fact) {
                found.extend(REASONING_KEYS.iter().map(|key| ((*key).to_owned(), words.to_owned())));
            }
        }
        found
    }
}
