//! Calls that a variable asks for by the name of the tool: the prompt begins such a call, and the turn is the rest of it.

use super::conversations::{Reach, TestAnswer};
use super::turn_start::Cut;
use super::{Case, Proof};
use backchat_core::push_new;
use backchat_probe::probe::Setting;

impl Proof<'_> {
    /// The turns of these answers after prompts that begin their first call. Values are written there as elsewhere, so that one
    /// answer for each tool is enough, alone and before another call.
    pub(super) fn forced_calls(&self, said: &[TestAnswer]) -> Vec<Case> {
        let mut known: Vec<(&str, bool)> = Vec::new();
        let mut named: Vec<(&str, TestAnswer)> = Vec::new();
        for said in said.iter().filter(|said| said.answer.content.is_none() && said.answer.reasoning.is_none()) {
            let Some(name) = said.answer.calls.first().map(|call| call.name.as_str()) else { continue };
            if push_new(&mut known, (name, said.answer.calls.len() > 1)) {
                let reach = if said.reach == Reach::Value { Reach::Value } else { Reach::Histories };
                named.push((name, TestAnswer { reach, ..said.clone() }));
            }
        }
        let mut found = Vec::new();
        for printed in &self.request.usage.printed {
            let mut cases = named.iter().map(|(name, said)| self.forced(printed.setting(*name), name, said));
            // A prompt that does not begin the plainest call begins none.
            if let Some(first) = cases.next().filter(|first| !first.is_empty()) {
                found.extend(first);
                found.extend(cases.flatten());
            }
        }
        found
    }

    /// The turns of an answer under a setting that begins a call of the tool with this name.
    fn forced(&self, setting: Setting, name: &str, said: &TestAnswer) -> Vec<Case> {
        self.cut_under(vec![setting], |mut cutter| {
            // Most variables are printed elsewhere, which one render shows.
            let is_named = cutter.prompt_end().is_some_and(|end| end.contains(name));
            let turn_start = if is_named { cutter.turn_start(0, 0, true) } else { None };
            if !turn_start.is_some_and(|turn_start| turn_start.begun(Cut::Exact).contains(name)) {
                return Vec::new();
            }
            let mut cases = cutter.cases(std::slice::from_ref(said));
            cases.retain(|case| case.cut <= Cut::History);
            cases
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, template, with_proof};

    const OPENING: &str = r#"<call>{"name": "{{ NAME }}", "arguments": "#;

    /// A chat whose prompts begin so if this holds.
    fn asking(condition: &str, begin: &str) -> String {
        let prompt = format!("<assistant>{{% if {condition} %}}{begin}{{% endif %}}{{% endif %}}");
        CHAT.replace("<assistant>{% endif %}", &prompt)
    }

    #[test]
    fn a_call_that_a_prompt_begins_is_read_from_its_opening() {
        let aliased = "{% set asked = pick.function.name if pick is mapping else '' %}";
        for (before, condition, name) in [
            ("", "pick", "pick"),
            ("", "pick is string and pick not in ['auto', 'none']", "pick"),
            ("", "pick is mapping", "pick.function.name"),
            (aliased, "asked", "asked"),
        ] {
            let source = format!("{before}{}", asking(condition, &OPENING.replace("NAME", name)));
            with_proof(&source, |proof| {
                let begun: Vec<_> = proof.cases.iter().filter(|case| case.is_begun()).collect();
                let case = begun.iter().find(|case| case.name == "a call after a question").expect(condition);
                assert!(
                    case.prefix.ends_with(r#"<assistant><call>{"name": "get_route", "arguments": "#),
                    "{condition}"
                );
                assert_eq!(case.text, r#"{"city": "Ghent", "days": 2}}</call><end>"#, "{condition}");
                assert_eq!(case.expected.calls[0].name, "get_route", "{condition}");
                assert!(begun.iter().any(|case| case.expected.calls[0].name == "run-sql.v2"), "{condition}");
                let read = template(ANSWER);
                let verdict = proof.with_branches(&read, proof.judge(&read));
                assert!(verdict.holds() && verdict.unread_setting.is_none(), "{condition}: {:?}", verdict.failures);
                assert_eq!(losses_beside_null(&verdict.losses), [""; 0], "{condition}");
                // The call belongs to the turn, not to the header.
                let anchor = r#""start_anchor_pattern": "<assistant>(?:<call>[^,]*, \"arguments\": )?""#;
                let wrong = template(&ANSWER.replace(r#""start_anchor": "<assistant>""#, anchor));
                assert!(!proof.judge(&wrong).holds(), "{condition}");
            });
        }
    }

    #[test]
    fn a_prompt_that_only_mentions_a_tool_begins_no_call() {
        for begin in ["<use {{ pick }}>", "Call {{ pick }}: ", "<call>"] {
            with_proof(&asking("pick", begin), |proof| {
                assert!(!proof.cases.iter().any(|case| case.is_begun()), "{begin}");
            });
        }
    }
}
