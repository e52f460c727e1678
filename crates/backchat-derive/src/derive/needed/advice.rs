//! How to set the variables that a chat template needs, in the words of the program that reports them.

use super::super::Options;

/// Where people set variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VariableInput {
    /// With options of a command.
    #[default]
    CommandLine,
    /// In fields of a page.
    Fields,
}

/// The same options, for a page that has a field for each variable: advice names the field, not an option of the command.
pub fn with_variable_fields(options: Options) -> Options {
    Options { variable_input: VariableInput::Fields, ..options }
}

impl VariableInput {
    /// How to set variables, given as the values of `--set`, each with its name.
    pub(crate) fn set(self, assignments: &[(&str, String)]) -> String {
        let each: Vec<String> = match self {
            Self::CommandLine => assignments.iter().map(|(_, assignment)| format!("--set {assignment}")).collect(),
            Self::Fields => assignments.iter().map(|(name, _)| format!("`{name}`")).collect(),
        };
        match self {
            Self::CommandLine => format!("add `{}`", each.join(" ")),
            Self::Fields => format!("set {} under Variables", each.join(" and ")),
        }
    }

    /// What sets the special tokens instead.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::CommandLine => "pass the folder with tokenizer_config.json",
            Self::Fields => "paste the tokenizer_config.json",
        }
    }
}
