//! Value parsers for options with known names: completions offer the names, and errors keep our own wording.

use std::ffi::OsStr;

use backchat_chat::ChatTemplate;
use backchat_core::diagnostic::{Rule, closest};
use backchat_core::json::Value;
use backchat_derive::targets::{TARGETS, Target};
use backchat_parser::parser::RecoveryPolicy;
use backchat_probe::doctor::{self, Problem};
use backchat_workbench::lint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A parser of a value, and the possible names.
#[derive(Clone)]
pub struct NamedValueParser<T> {
    read: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<PossibleValue>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NamedValueParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        TypedValueParser::parse_ref(&self.read, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter()))
    }
}

/// A value parsed by `read`, for which `names` are offered.
pub fn known<T>(read: fn(&str) -> Result<T, String>, names: fn() -> Vec<PossibleValue>) -> NamedValueParser<T> {
    NamedValueParser { read, names }
}

/// Values by their names on the command line, each with its help.
pub type Names<T> = [(&'static str, T, &'static str)];

/// The value of a name.
pub fn named<T: Copy>(names: &Names<T>, name: &str) -> Option<T> {
    names.iter().find(|(known, ..)| *known == name).map(|(_, value, _)| *value)
}

/// The value that a key of a row names.
pub fn named_in_row<T: Copy>(names: &Names<T>, key: &str, value: &Value) -> Result<T, String> {
    value.as_str().and_then(|name| named(names, name)).ok_or_else(|| {
        let names: Vec<_> = names.iter().map(|(name, ..)| format!("`{name}`")).collect();
        let (last, others) = names.split_last().map_or(("", String::new()), |(last, rest)| (last, rest.join(", ")));
        format!("`{key}` must be {others} or {last}, not {value}")
    })
}

/// Parses one of some names.
pub fn one_of<T: Copy + Send + Sync + 'static>(names: &'static Names<T>) -> impl TypedValueParser<Value = T> {
    let possible = names.iter().map(|(name, _, help)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    PossibleValuesParser::new(possible).try_map(|name| named(names, &name).ok_or("unknown"))
}

/// Parses the name of one of these values, which know their names.
pub fn one_of_all<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let find = move |given: String| all.iter().copied().find(|value| name(*value) == given).ok_or("unknown");
    PossibleValuesParser::new(all.iter().map(|value| name(*value))).try_map(find)
}

/// Parses the name of a target.
pub fn target() -> NamedValueParser<&'static Target> {
    known(target_named, || TARGETS.iter().map(|target| PossibleValue::new(target.name)).collect())
}

pub fn rule() -> NamedValueParser<&'static Rule> {
    known(rule_named, rules)
}

/// The names of all targets as a list.
pub fn target_names() -> String {
    TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ")
}

/// The names of all targets as help.
pub fn known_targets() -> String {
    let names: Vec<_> = TARGETS.iter().map(|target| format!("`{}`", target.name)).collect();
    format!("choose one of {}", names.join(", "))
}

/// A rule by its name on the command line.
pub fn rule_named(name: &str) -> Result<&'static Rule, String> {
    lint::rule(name).ok_or_else(|| {
        let help = match closest(name, lint::rules().map(|rule| rule.name)) {
            Some(closest) => format!("did you mean `{closest}`?"),
            None => "`backchat lint --explain` lists them".to_owned(),
        };
        format!("unknown rule `{name}`; {help}")
    })
}

/// A target by its name on the command line.
fn target_named(name: &str) -> Result<&'static Target, String> {
    Target::named(name).ok_or_else(|| format!("unknown target `{name}`; {}", known_targets()))
}

/// Parses the name of a rule, `all`, or nothing for the list.
pub fn explained_rule() -> NamedValueParser<String> {
    known(owned, || {
        let all = PossibleValue::new("all").help("every rule");
        rules().into_iter().chain([all]).collect()
    })
}

fn rules() -> Vec<PossibleValue> {
    let rule =
        |rule: &Rule| PossibleValue::new(rule.name).help(format!("{}: {}", rule.id, first_sentence(rule.page.what)));
    lint::rules().map(rule).collect()
}

/// The first sentence of a text, without its period.
pub fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

pub fn policies() -> Vec<PossibleValue> {
    let names = RecoveryPolicy::ALL.iter().map(|policy| PossibleValue::new(policy.as_str()));
    [PossibleValue::new("all")].into_iter().chain(names).collect()
}

/// Parses names of policies.
pub fn recover() -> NamedValueParser<String> {
    known(owned, policies)
}

/// The problems that one name means.
#[derive(Clone, Debug)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// What trainers need: every problem that is repaired by name only.
    const TRAINING: [Problem; 3] = [Problem::Prefix, Problem::GenerationPrompt, Problem::Stop];

    pub fn is_for_training(&self) -> bool {
        self.0 == Self::TRAINING
    }
}

/// Parses the name of a problem that `fix` repairs, or of several.
pub fn problems() -> NamedValueParser<Problems> {
    known(problems_named, || {
        let named = Problem::ALL.iter().map(|problem| PossibleValue::new(problem.id()).help(problem.words()));
        named.chain([PossibleValue::new("training").help("prefix, generation_prompt and stop")]).collect()
    })
}

fn problems_named(name: &str) -> Result<Problems, String> {
    if name == "training" {
        return Ok(Problems(Problems::TRAINING.to_vec()));
    }
    Problem::named(name).map(|problem| Problems(vec![problem])).ok_or_else(|| {
        let names = || Problem::ALL.iter().map(|problem| problem.id());
        let help = closest(name, names()).map(|name| format!("did you mean `{name}`?"));
        help.unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")))
    })
}

/// Parses the name of a fact that `doctor` finds.
pub fn fact() -> NamedValueParser<String> {
    known(owned, || {
        // Every template has every fact.
        let Ok(template) = ChatTemplate::compile("{{ messages }}") else { return Vec::new() };
        let report = doctor::examine(&template, &doctor::Options::default());
        let facts = report.facts.iter().map(|fact| PossibleValue::new(fact.name).help(doctor::words(fact.name)));
        facts.chain(doctor::agent_facts().into_iter().map(PossibleValue::new)).collect()
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it has the signature of the other parsers")]
fn owned(value: &str) -> Result<String, String> {
    Ok(value.to_owned())
}
