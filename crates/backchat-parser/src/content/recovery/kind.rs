//! The kinds of problems that a text can have.

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A region has no value.
    Malformed,
    /// The end of the text, or the turn marker, ended a region that has closers of its own. JSON delimits itself: a
    /// JSON region that was cut is malformed.
    Unclosed,
    /// No value can begin after an opener of calls.
    FalseOpener,
    /// A closer of calls or of the reasoning, although that field is not open.
    StrayMarker,
    /// JSON that is a call without its opener.
    BareCall,
    /// A complete call in the reasoning of a message without other calls.
    CallInReasoning,
    /// Text outside all regions that no field takes.
    TextOutside,
    /// Text outside all tags of a tagged body.
    TextIgnored,
    /// A tag's value contains other arguments of the tool.
    ArgumentAbsorbed,
    /// A later region replaced the value of a field.
    ValueReplaced,
    /// A body has a duplicate key; the last one counts.
    DuplicateKey,
    /// A call's name is absent, blank or not a string.
    NamelessCall,
    /// A call of a tool that the request does not have.
    UnknownTool,
    /// A call's arguments are neither an object nor null.
    ArgumentsNotObject,
    /// An argument violates the tool's JSON schema.
    InvalidArguments,
    /// A required field is absent.
    MissingField,
    /// The prompt does not contain the start anchor.
    NoAnchor,
    /// More problems than are listed.
    More,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Malformed,
        Self::Unclosed,
        Self::FalseOpener,
        Self::StrayMarker,
        Self::BareCall,
        Self::CallInReasoning,
        Self::TextOutside,
        Self::TextIgnored,
        Self::ArgumentAbsorbed,
        Self::ValueReplaced,
        Self::DuplicateKey,
        Self::NamelessCall,
        Self::UnknownTool,
        Self::ArgumentsNotObject,
        Self::InvalidArguments,
        Self::MissingField,
        Self::NoAnchor,
        Self::More,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unclosed => "unclosed",
            Self::FalseOpener => "false-opener",
            Self::StrayMarker => "stray-marker",
            Self::BareCall => "bare-call",
            Self::CallInReasoning => "call-in-reasoning",
            Self::TextOutside => "text-outside",
            Self::TextIgnored => "text-ignored",
            Self::ArgumentAbsorbed => "argument-absorbed",
            Self::ValueReplaced => "value-replaced",
            Self::DuplicateKey => "duplicate-key",
            Self::NamelessCall => "nameless-call",
            Self::UnknownTool => "unknown-tool",
            Self::ArgumentsNotObject => "arguments-not-object",
            Self::InvalidArguments => "invalid-arguments",
            Self::MissingField => "missing-field",
            Self::NoAnchor => "no-anchor",
            Self::More => "more",
        }
    }
}
