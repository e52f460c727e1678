//! The cause of an output's problems: the one that explains the others, so that every output counts once.

use crate::replay::Known;
use backchat_core::diagnostic::escape;
use backchat_core::text::markers;
use backchat_parser::parser::{Policies, Problem, ProblemKind, RecoveryPolicy};

/// The names of markers that are read as text, for options and files: of those that look like a marker of the template,
/// and of special tokens that it does not know.
pub const NEAR_MARKER: &str = "near-marker";
pub const UNKNOWN_MARKER: &str = "unknown-marker";

/// Why outputs have problems.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A fault of the response template: its repair reads them without the problem, or with another.
    Template,
    /// A marker that is read as text, in an output without another problem.
    UnreadMarker {
        /// The marker.
        written: String,
        /// The marker of the template that it looks like.
        meant: Option<Known>,
    },
    /// The output itself.
    Output(OutputCause),
}

/// The problem that explains the others of an output; `None` if it has none.
///
/// It is the first of the text. One that follows from any of the others, such as a value that was replaced, explains
/// only itself.
pub(super) fn root(problems: &[Problem]) -> Option<&Problem> {
    let follows = |problem: &Problem| {
        matches!(problem.kind, ProblemKind::ValueReplaced | ProblemKind::MissingField | ProblemKind::More)
    };
    problems.iter().min_by_key(|problem| (follows(problem), problem.span.start))
}

/// Problems of one kind in one field, that the same policies would recover.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutputCause {
    /// The kind.
    pub kind: ProblemKind,
    /// The field, if it is about one.
    pub field: Option<String>,
    /// The marker directly after the value, if that is not what closes the field.
    pub followed_by: Option<String>,
    /// Whether the output ends inside the field.
    pub is_cut: bool,
    /// The policies that together would recover it; empty if none would.
    pub policies: Policies,
}

impl Cause {
    /// The kind of the problem; a fault of the template has none.
    pub fn kind(&self) -> Option<ProblemKind> {
        if let Self::Output(cause) = self { Some(cause.kind) } else { None }
    }

    /// The names of the policies that would recover it.
    pub fn policy_names(&self) -> Vec<&'static str> {
        match self {
            Self::Template | Self::UnreadMarker { .. } => Vec::new(),
            Self::Output(cause) => cause.policies.iter().map(RecoveryPolicy::as_str).collect(),
        }
    }

    /// Its name, for options and files: the kind, the field, a wrong closer, `cut` if the output ends there, and the
    /// policies; of a marker that is read as text, what is written.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Template => "template".to_owned(),
            Self::UnreadMarker { written, meant } => {
                let kind = if meant.is_some() { NEAR_MARKER } else { UNKNOWN_MARKER };
                format!("{kind}-{}", word(written))
            }
            Self::Output(cause) => {
                let cut = cause.is_cut.then_some("cut");
                let closer = cause.followed_by.as_ref().map(|marker| format!("at-{}", word(marker)));
                let parts = [Some(cause.kind.as_str()), cause.field.as_deref(), closer.as_deref(), cut];
                parts.into_iter().flatten().chain(self.policy_names()).collect::<Vec<_>>().join("-")
            }
        };
        // The name of a field may be any text.
        name.replace(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'), "_")
    }

    /// What is wrong with the outputs, as a sentence without its period.
    pub fn explain(&self) -> String {
        match self {
            Self::Template => "the response template is at fault: with its repair they have no such problem".to_owned(),
            Self::UnreadMarker { written, meant: Some(Known { text, field, .. }) } => {
                format!("`{written}` in the content looks like `{text}` of `{field}`, and is not")
            }
            Self::UnreadMarker { written, meant: None } => {
                format!("`{written}` in the content looks like a special token, and no field of the template knows it")
            }
            Self::Output(cause) => cause.explain(),
        }
    }
}

/// A marker as a part of a name.
fn word(marker: &str) -> String {
    let closes = if marker.contains('/') { "close-" } else { "" };
    format!("{closes}{}", marker.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// The marker at which the value of a malformed region ends, although it does not close the region.
pub fn wrong_closer(problem: &Problem) -> Option<String> {
    let (_, rest) = problem.reason.as_ref()?.split_once("after the end of the value, at ")?;
    let marker = markers(rest).next().filter(|_| problem.policies.is_empty())?;
    // It comes first: another one may be anywhere in the text after the value.
    let before = rest.split(marker).next()?.replace("\\n", "");
    before.chars().all(|c| c == '"' || c.is_whitespace()).then(|| marker.to_owned())
}

impl OutputCause {
    pub(super) fn of(problem: &Problem) -> Self {
        let Problem { kind, field, at_end, policies, .. } = problem;
        let followed_by = wrong_closer(problem).filter(|_| *kind == ProblemKind::Malformed);
        Self { kind: *kind, field: field.clone(), followed_by, is_cut: *at_end, policies: *policies }
    }

    fn explain(&self) -> String {
        let field = self.field.as_ref().map_or_else(|| "the output".to_owned(), |field| format!("`{field}`"));
        if let Some(marker) = &self.followed_by {
            let marker = escape(marker);
            return format!(
                "the value of {field} ends at `{marker}`, which does not close it: if the model means a closer, add it to \
                 `close` in the template"
            );
        }
        match self.kind {
            ProblemKind::Malformed if self.is_cut => format!("the output ends inside {field}, before its value does"),
            ProblemKind::Unclosed if self.is_cut => {
                format!("the output ends inside {field}: what closes it never came")
            }
            ProblemKind::Malformed => format!("{field} cannot be parsed"),
            ProblemKind::Unclosed => format!("the turn ends inside {field}: what closes it never came"),
            ProblemKind::FalseOpener => format!("what opens {field} is in the text, and no value follows"),
            ProblemKind::StrayMarker => format!("what closes {field} comes while it is not open"),
            ProblemKind::BareCall => "a call has no opener".to_owned(),
            ProblemKind::CallInReasoning => "a complete call is inside the reasoning".to_owned(),
            ProblemKind::TextOutside => "text is outside every field".to_owned(),
            ProblemKind::TextIgnored => format!("text in {field} is outside its tags"),
            ProblemKind::ArgumentAbsorbed => "an argument contains the next one".to_owned(),
            ProblemKind::ValueReplaced => format!("a later {field} replaces the one before"),
            ProblemKind::DuplicateKey => "a key is written twice, and the last one counts".to_owned(),
            ProblemKind::NamelessCall => "a call has no name".to_owned(),
            ProblemKind::UnknownTool => "a call names a tool that the request does not have".to_owned(),
            ProblemKind::ArgumentsNotObject => "the arguments of a call are not an object".to_owned(),
            ProblemKind::InvalidArguments => "an argument violates the schema of its tool".to_owned(),
            ProblemKind::MissingField => format!("the required field {field} is missing"),
            ProblemKind::NoAnchor => "the prompt does not contain the start anchor".to_owned(),
            kind => kind.as_str().to_owned(),
        }
    }
}

/// Whether the problem that explains the others is gone in another reading of the output.
pub fn is_gone(problems: &[Problem], then: &[Problem]) -> bool {
    root(problems).is_some_and(|root| {
        let cause_of = |problem| OutputCause { followed_by: None, ..OutputCause::of(problem) };
        then.iter().all(|other| cause_of(other) != cause_of(root))
    })
}

/// A problem other than the cause, in words.
pub(super) fn in_words(problem: &Problem) -> String {
    let field = problem.field.as_ref().map_or_else(String::new, |field| format!(" of `{field}`"));
    format!("{}{field}", problem.kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_parser::parser::{Options, Parser};
    use backchat_parser::template::Template;

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "thought": {"open": "<t>", "close": ["</t>", "<end>"]},
        "calls": {"open": "<c>", "close": ["</c>", "<end>"], "repeats": true, "content": "json",
            "transform": {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
        "content": {"close": "<end>"}}}"#;

    fn problems(text: &str) -> Vec<Problem> {
        let template = Template::load(TEMPLATE).unwrap().template;
        let mut parser = Parser::new(&template, "<bot>", Options::default()).unwrap();
        parser.feed_into(text, &mut |_| {}).unwrap();
        parser.finish().unwrap().problems
    }

    #[test]
    fn each_output_has_one_cause() {
        let mut shown = String::new();
        for text in [
            "<t>Hm, so",
            "<t>Hm, so<end>",
            "<t>Hm.</t><c>{\"name\": \"f\"",
            "<t>Hm.</t><c>{\"name\": \"f\", \"arguments\": {},}</c><end>",
            "So.<t>Hm.</t>Hi<end>",
            "<c>{\"name\": \"f\", \"arguments\": {}}</c></c><end>",
            "So.<c>{,}</c>Hi<end>",
            "<c>{\"name\": \"f\", \"arguments\": {}}\n</call><end>",
        ] {
            let problems = problems(text);
            let cause = root(&problems).map(|root| Cause::Output(OutputCause::of(root)));
            let name = cause.as_ref().map_or_else(String::new, Cause::name);
            let kinds: Vec<_> = problems.iter().map(|problem| problem.kind.as_str()).collect();
            let explained = cause.map_or_else(String::new, |cause| cause.explain());
            shown += &format!("{text}\n  {}\n  {name}\n  {explained}\n", kinds.join(", "));
        }
        insta::assert_snapshot!(shown, @r#"
        <t>Hm, so
          unclosed
          unclosed-thought-cut
          the output ends inside `thought`: what closes it never came
        <t>Hm, so<end>
          unclosed
          unclosed-thought
          the turn ends inside `thought`: what closes it never came
        <t>Hm.</t><c>{"name": "f"
          malformed
          malformed-calls-cut
          the output ends inside `calls`, before its value does
        <t>Hm.</t><c>{"name": "f", "arguments": {},}</c><end>
          malformed
          malformed-calls-json-commas
          `calls` cannot be parsed
        So.<t>Hm.</t>Hi<end>
          value-replaced
          value-replaced-content
          a later `content` replaces the one before
        <c>{"name": "f", "arguments": {}}</c></c><end>
          stray-marker
          stray-marker-calls-stray-closers
          what closes `calls` comes while it is not open
        So.<c>{,}</c>Hi<end>
          value-replaced, malformed
          malformed-calls
          `calls` cannot be parsed
        <c>{"name": "f", "arguments": {}}
        </call><end>
          malformed
          malformed-calls-at-close-call
          the value of `calls` ends at `</call>`, which does not close it: if the model means a closer, add it to `close` in the template
        "#);
    }

    #[test]
    fn names_are_safe_for_files() {
        let field = Some("../a b".to_owned());
        let (kind, policies) = (ProblemKind::Malformed, Policies::none());
        let cause = OutputCause { kind, field, followed_by: None, is_cut: false, policies };
        assert_eq!(Cause::Output(cause).name(), "malformed-.._a_b");
    }
}
