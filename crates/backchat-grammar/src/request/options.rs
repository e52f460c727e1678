//! What a request asks of the parts of the turn: options with names.

/// Whether a region may be present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// As the wire and the choice of tools require.
    #[default]
    Auto,
    /// It is present and not empty.
    Always,
    /// It is absent.
    Never,
}

impl Presence {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Always, Self::Never];

    /// Its name as the value of an option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    /// The value with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

/// Whether the model reasons first, and whether the grammar includes the reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// As the wire has it after this prompt.
    #[default]
    Auto,
    /// It reasons, and the reasoning is not empty.
    Always,
    /// It does not reason; reasoning that the prompt opens is closed at once.
    Never,
    /// The engine applies the grammar only after reasoning: the grammar begins after it.
    Outside,
}

impl Reasoning {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Always, Self::Never, Self::Outside];

    /// Its name as the value of an option.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
            Self::Outside => "outside",
        }
    }

    /// The value with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_an_option_has_one_name_and_is_found_by_it() {
        assert_eq!(Presence::ALL.map(|value| Presence::from_name(value.name())), Presence::ALL.map(Some));
        assert_eq!(Reasoning::ALL.map(|value| Reasoning::from_name(value.name())), Reasoning::ALL.map(Some));
        assert_eq!((Presence::from_name(""), Reasoning::from_name("on")), (None, None));
    }
}
