//! Variables that a chat template requires but that are missing: each gets a value of the type that the template expects,
//! and the report lists it.
//!
//! A failed render reports what it has read so far. A value helps if the render gets further with it: it reads more, or it
//! succeeds. So variables are filled one after the other, objects key by key, and unneeded values are removed again.

mod advice;
mod goals;
mod tokens;
mod values;

use super::Options;
pub(crate) use advice::VariableInput;
pub use advice::with_variable_fields;
use backchat_chat::{ChatTemplate, RenderOptions, Watched};
use backchat_core::diagnostic::{Diagnostic, Severity, shell_word};
use backchat_core::json::{Object, Value};
use goals::{Goal, Stuck, reads, render};
pub use values::FILLED;
pub(super) use values::holds_probe;
use values::{TEXT, kinds, leaves, put};

/// How many values are found for one conversation at most.
const MOST_STEPS: usize = 24;

/// How many literals of the template are tried as the value of a variable.
const MOST_LITERALS: usize = 64;

/// Variables that every render is given.
const GIVEN: [&str; 4] = ["messages", "tools", "add_generation_prompt", "continue_final_message"];

/// The values found for one chat template.
struct Search<'t> {
    template: &'t ChatTemplate,
    given: &'t Object,
    options: RenderOptions,
    filled: Object,
    reached: Vec<Goal>,
}

/// The missing variables of a chat template.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// The options with a value for each variable that the template needs, if it needs any.
    pub options: Option<Options>,
    /// The values that were filled.
    filled: Object,
    /// The missing special tokens that the model's turn prints: without them, no draft is proved.
    tokens: Vec<String>,
    input: VariableInput,
}

impl Gaps {
    /// Finds what a template needs in addition to the given variables.
    pub fn find(template: &ChatTemplate, options: &Options) -> Self {
        let (filled_in, filled) = fill(template, options).unzip();
        let tokens = tokens::unknown(template, filled_in.as_ref().unwrap_or(options), &options.variables);
        // A token is reported once.
        let mut filled = filled.unwrap_or_default();
        filled.retain(|name, _| !tokens.iter().any(|token| token == name));
        Self { options: filled_in, filled, tokens, input: options.variable_input }
    }

    /// The missing value that the model's turn needs, if a draft depends on it.
    fn missing(&self, draft: Option<&Value>) -> Option<Missing> {
        let quoted =
            |names: Vec<&str>| names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        if !self.tokens.is_empty() {
            let tokens: Vec<_> = self.tokens.iter().map(|name| (name.as_str(), format!("{name}=TEXT"))).collect();
            let what = format!(
                "the model's turn prints {}, which was not given",
                quoted(self.tokens.iter().map(String::as_str).collect())
            );
            return Some(self.unknown("derive-token-unknown", what, &tokens));
        }
        let is_traced = draft.is_some_and(|draft| values::is_traced(&draft.to_string()));
        (is_traced && !self.filled.is_empty()).then(|| {
            let names = quoted(self.filled.keys().collect());
            let what = format!("the model's turn depends on {names}, which was not given");
            self.unknown("derive-value-unknown", what, &assignments(&self.filled))
        })
    }

    fn unknown(&self, id: &'static str, what: String, assignments: &[(&str, String)]) -> Missing {
        Missing { id, what, advice: self.input.set(assignments), source: self.input.source() }
    }

    /// Inserts diagnostics about missing and filled variables before the others. Returns the missing value that the
    /// model's turn needs: without it, nothing is proved.
    pub fn report(&self, draft: Option<&Value>, diagnostics: &mut Vec<Diagnostic>) -> Option<Missing> {
        let missing = self.missing(draft);
        let is_reported = missing.as_ref().is_some_and(|missing| missing.id == "derive-value-unknown");
        let filled = (!self.filled.is_empty() && !is_reported).then(|| note(&self.filled, self.input));
        diagnostics.splice(0..0, missing.as_ref().map(Missing::diagnostic).into_iter().chain(filled));
        missing
    }
}

/// A missing value that the model's turn needs: no draft is proved without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    id: &'static str,
    what: String,
    /// How to set it.
    advice: String,
    /// What sets it instead.
    source: &'static str,
}

impl Missing {
    /// What is missing and how to set it, in one line.
    pub fn describe(&self) -> String {
        match self.id {
            // A token is usually in a file beside the template.
            "derive-token-unknown" => format!("{}: {}, or {}", self.what, self.advice, self.source),
            _ => format!("{}: {}", self.what, self.advice),
        }
    }

    fn diagnostic(&self) -> Diagnostic {
        let help = format!("{}, or {}", self.advice, self.source);
        Diagnostic::new(Severity::Warning, self.id, self.what.clone()).help(help)
    }
}

/// The options with a value for each variable that the template needs, and the values; `None` if it needs none, or no
/// value helps.
fn fill(template: &ChatTemplate, options: &Options) -> Option<(Options, Object)> {
    let mut search = Search {
        template,
        given: &options.variables,
        options: RenderOptions::default().now(options.now.clone()),
        filled: Object::new(),
        reached: Vec::new(),
    };
    for goal in Goal::NEEDED {
        let before = search.filled.clone();
        match search.reach(goal) {
            true => search.reached.push(goal),
            // Without an answer there is nothing to derive from.
            false if goal == Goal::Answer => return None,
            false => search.filled = before,
        }
    }
    search.drop_unneeded();
    search.complete();
    let filled = search.filled;
    (!filled.is_empty()).then(|| {
        let mut variables = options.variables.clone();
        variables.extend(filled.clone());
        (Options { variables, ..options.clone() }, filled)
    })
}

impl Search<'_> {
    /// Fills variables until the template renders a conversation.
    fn reach(&mut self, goal: Goal) -> bool {
        for _ in 0..MOST_STEPS {
            let stuck = match goal.reach(self.template, &self.with(&self.filled), &self.options) {
                Ok(_) => return true,
                Err(stuck) if stuck.is_exhausted => return false,
                Err(stuck) => stuck,
            };
            match self.step(goal, &stuck) {
                Some(filled) => self.filled = filled,
                None => return false,
            }
        }
        false
    }

    fn with(&self, filled: &Object) -> Object {
        let mut variables = self.given.clone();
        variables.extend(filled.clone());
        variables
    }

    /// The values with one more that lets the render get further.
    fn step(&self, goal: Goal, stuck: &Stuck) -> Option<Object> {
        let candidates = self.candidates(&stuck.seen);
        let found = candidates.iter().find_map(|path| self.value_for(goal, stuck, path));
        let found = found.or_else(|| {
            // A variable may have to be a text that only a list or an object in the template contains.
            let literals = || self.template.literals().iter().take(MOST_LITERALS);
            let texts = |path: &String| literals().find_map(|text| self.helps(goal, stuck, path, text.as_str().into()));
            candidates.iter().find_map(texts)
        });
        found.or_else(|| {
            // Several at once, if none helps alone.
            let missing = candidates.iter().filter(|path| !path.contains(['.', '[']) && !is_token(path));
            let mut all = self.filled.clone();
            all.extend(missing.map(|name| (name.clone(), TEXT.into())));
            self.gets_further(goal, stuck, &all).then_some(all)
        })
    }

    /// The places whose values may be wrong, the last one read first.
    fn candidates(&self, seen: &Watched) -> Vec<String> {
        let root = |path: &str| path.split(['.', '[']).next().unwrap_or_default().to_owned();
        let below = seen.missing_paths.iter().rev().filter(|path| self.filled.contains_key(&root(path)));
        let wrong = leaves(&self.filled).into_iter().rev();
        let missing = seen.missing.iter().rev().filter(|name| !GIVEN.contains(&name.as_str()));
        below.cloned().chain(wrong).chain(missing.cloned()).collect()
    }

    /// The values with a helpful one at this place.
    fn value_for(&self, goal: Goal, stuck: &Stuck, path: &str) -> Option<Object> {
        if is_token(path) {
            // A special token gets no made-up text if an empty one will do, because the draft would contain it.
            return ["", TEXT].into_iter().find_map(|text| self.helps(goal, stuck, path, text.into()));
        }
        let empty = || Value::Object(Object::new());
        for (value, key) in [(empty(), format!("{path}.")), (Value::List(vec![empty()]), format!("{path}[]."))] {
            let looked_into = put(&self.filled, path, value).filter(|filled| {
                let (_, seen) = render(self.template, &stuck.context, &self.with(filled), &self.options);
                seen.paths.iter().any(|read| read.starts_with(&key) && !stuck.seen.paths.contains(read))
            });
            if looked_into.is_some() {
                return looked_into;
            }
        }
        let constants = self.template.compared_constants().get(path).map_or(&[][..], Vec::as_slice);
        kinds(constants).into_iter().find_map(|value| self.helps(goal, stuck, path, value))
    }

    /// The values with this one, if the render gets further with it.
    fn helps(&self, goal: Goal, stuck: &Stuck, path: &str, value: Value) -> Option<Object> {
        put(&self.filled, path, value).filter(|filled| self.gets_further(goal, stuck, filled))
    }

    fn gets_further(&self, goal: Goal, stuck: &Stuck, filled: &Object) -> bool {
        let (rendered, seen) = render(self.template, &stuck.context, &self.with(filled), &self.options);
        rendered.is_ok_and(|text| goal.is_shown(&text)) || reads(&seen) > reads(&stuck.seen)
    }

    /// Whether every conversation still renders.
    fn holds(&self, filled: &Object) -> bool {
        let variables = self.with(filled);
        self.reached.iter().all(|goal| goal.reach(self.template, &variables, &self.options).is_ok())
    }

    fn drop_unneeded(&mut self) {
        for name in self.filled.keys().map(str::to_owned).collect::<Vec<_>>() {
            let mut others = self.filled.clone();
            others.shift_remove(&name);
            if self.holds(&others) {
                self.filled = others;
            }
        }
    }

    /// Puts a text at each place that is looked up in a filled variable and still empty, to recognize it in renders.
    fn complete(&mut self) {
        if self.filled.is_empty() {
            return;
        }
        for goal in self.reached.clone() {
            let Ok((_, seen)) = goal.reach(self.template, &self.with(&self.filled), &self.options) else { continue };
            for path in &seen.missing_paths {
                if let Some(filled) = put(&self.filled, path, TEXT.into()).filter(|filled| self.holds(filled)) {
                    self.filled = filled;
                }
            }
        }
    }
}

fn is_token(name: &str) -> bool {
    name.ends_with("_token")
}

/// Reports the filled variables, and how to set them.
fn note(filled: &Object, input: VariableInput) -> Diagnostic {
    let named: Vec<String> = filled.iter().map(|(name, value)| format!("`{name}` = {value}")).collect();
    let message = format!("the chat template needs variables that were not given: set to {}", named.join(" and "));
    Diagnostic::new(Severity::Note, "derive-filled", message)
        .help(format!("pass the real values: {}", input.set(&assignments(filled))))
}

/// How to set these variables.
fn assignments(filled: &Object) -> Vec<(&str, String)> {
    filled.iter().map(|(name, value)| (name, assignment(name, value))).collect()
}

/// How to set a variable: a placeholder for a text or a number, else the shape of its value.
fn assignment(name: &str, value: &Value) -> String {
    match value {
        Value::String(_) => format!("{name}=TEXT"),
        Value::Number(_) => format!("{name}=NUMBER"),
        Value::Bool(_) | Value::Null => shell_word(&format!("{name}={value}")),
        Value::List(_) | Value::Object(_) => shell_word(&format!("{name}={}", shape(value))),
    }
}

/// A value with `TEXT` in place of each text.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => "TEXT".into(),
        Value::List(items) => Value::List(items.iter().map(shape).collect()),
        Value::Object(entries) => Value::Object(entries.iter().map(|(key, value)| (key, shape(value))).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: &str = "{% for m in messages %}{{ m.content }}{% endfor %}";

    fn filled(before: &str) -> String {
        let template = ChatTemplate::compile(&format!("{before}{TURNS}")).unwrap();
        match fill(&template, &Options::default()) {
            Some((options, filled)) => {
                assert_eq!(options.variables, filled, "exactly the reported variables are set");
                Value::Object(filled).to_string()
            }
            None => "none".to_owned(),
        }
    }

    #[test]
    fn a_variable_gets_a_value_of_the_type_that_the_template_expects() {
        let check = |test: &str| format!("{{% if {test} %}}{{{{ raise_exception('no') }}}}{{% endif %}}");
        for (before, values) in [
            (String::new(), "none"),
            ("{{ mode }}{% if flag %}!{% endif %}".to_owned(), "none"),
            (check("not policy"), r#"{"policy": "Qzfilledq"}"#),
            (check("not policy") + &check("not day"), r#"{"policy": "Qzfilledq", "day": "Qzfilledq"}"#),
            (check("not (policy and day)"), r#"{"policy": "Qzfilledq", "day": "Qzfilledq"}"#),
            ("{{ 'Functions: ' + functions }}".to_owned(), r#"{"functions": "Qzfilledq"}"#),
            ("{{ budget + 1 }}".to_owned(), r#"{"budget": 918273}"#),
            (check("not budget") + "{{ budget + 1 }}", r#"{"budget": 918273}"#),
            (check("budget is not defined or budget > 10"), r#"{"budget": 10}"#),
            ("{{ topics + ['x'] }}".to_owned(), r#"{"topics": ["Qzfilledq"]}"#),
            ("{{ user.name.first }}".to_owned(), r#"{"user": {"name": {"first": "Qzfilledq"}}}"#),
            ("{{ user.age + 1 }}".to_owned(), r#"{"user": {"age": 918273}}"#),
            ("{{ documents[0].title.upper() }}".to_owned(), r#"{"documents": [{"title": "Qzfilledq"}]}"#),
            (check("mode not in ['brief', 'long']"), r#"{"mode": "brief"}"#),
            ("{% set known = ['brief', 'long'] %}".to_owned() + &check("mode not in known"), r#"{"mode": "brief"}"#),
            (check("persona.tone.style != 'warm'"), r#"{"persona": {"tone": {"style": "warm"}}}"#),
            (check("day | length != 10"), r#"{"day": "2187-06-05"}"#),
            (check("strict is not boolean"), r#"{"strict": true}"#),
            ("{% for k, v in limits.items() %}{{ k }}{% endfor %}".to_owned(), r#"{"limits": {}}"#),
            // No value helps.
            ("{{ raise_exception('never') }}{{ policy }}".to_owned(), "none"),
            ("{{ now() }}".to_owned(), "none"),
        ] {
            assert_eq!(filled(&before), values, "{before}");
        }
    }

    #[test]
    fn a_variable_that_only_prompts_or_calls_need_is_filled() {
        let prompt = "{% if add_generation_prompt %}{{ 'Budget: ' + budget }}{% endif %}";
        assert_eq!(filled(prompt), r#"{"budget": "Qzfilledq"}"#);
        let calls = "{% for m in messages %}{% if m.tool_calls %}{{ 'Style: ' + style }}{% endif %}{% endfor %}";
        assert_eq!(filled(calls), r#"{"style": "Qzfilledq"}"#);
    }

    #[test]
    fn a_special_token_is_left_empty_if_that_will_do() {
        assert_eq!(filled("{{ bos_token + 'x' }}"), r#"{"bos_token": ""}"#);
    }

    #[test]
    fn variables_of_a_template_that_requires_a_system_message_or_tools_are_filled() {
        let demand = "{% if messages[0].role != 'system' or not tools %}{{ raise_exception('no') }}{% endif %}";
        assert_eq!(filled(&format!("{demand}{{{{ 'x' + policy }}}}")), r#"{"policy": "Qzfilledq"}"#);
    }

    #[test]
    fn the_note_lists_every_variable_and_how_to_set_it() {
        let user = Value::from([("name", Value::from("Qzfilledq"))]);
        let filled = Object::from([("a".to_owned(), "Qzfilledq".into()), ("b".to_owned(), user)]);
        let in_fields = note(&filled, VariableInput::Fields);
        assert_eq!(in_fields.help.as_deref(), Some("pass the real values: set `a` and `b` under Variables"));
        let note = note(&filled, VariableInput::CommandLine);
        assert_eq!(
            note.message,
            r#"the chat template needs variables that were not given: set to `a` = "Qzfilledq" and `b` = {"name": "Qzfilledq"}"#
        );
        assert_eq!(
            note.help.as_deref(),
            Some(r#"pass the real values: add `--set a=TEXT --set 'b={"name": "TEXT"}'`"#)
        );
    }
}
