//! The kinds of problems that a text can have.

macro_rules! kinds {
    ($($name:ident $text:literal $doc:literal,)*) => {
        /// A kind of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $(#[doc = $doc] $name,)*
        }

        impl ProblemKind {
            /// Every kind.
            pub const ALL: &[ProblemKind] = &[$(ProblemKind::$name),*];

            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ProblemKind::$name => $text,)*
                }
            }
        }
    };
}

kinds! {
    Malformed "malformed" "A region gives no value.",
    Unclosed "unclosed" "A region with closers of its own was ended by the end of the text, or by the mark that ends the \
        turn. JSON ends by itself: a region of it that was cut is malformed.",
    FalseOpener "false-opener" "After an opener of calls no value can begin.",
    StrayMarker "stray-marker" "A closer of calls or of the reasoning, although that field is not open.",
    BareCall "bare-call" "JSON that is a call without its opener.",
    CallInReasoning "call-in-reasoning" "A complete call in the reasoning of a message without other calls.",
    TextOutside "text-outside" "Text outside of all regions that no field takes.",
    TextIgnored "text-ignored" "Text outside all tags of a tagged body.",
    ArgumentAbsorbed "argument-absorbed" "A tag's value contains other arguments of the tool.",
    ValueReplaced "value-replaced" "A later region replaced the value of a field.",
    DuplicateKey "duplicate-key" "A key comes twice in a body; the last one counts.",
    NamelessCall "nameless-call" "A call's name is absent, blank or no string.",
    UnknownTool "unknown-tool" "A call of a tool that is not among those of the request.",
    ArgumentsNotObject "arguments-not-object" "A call's arguments are neither an object nor null.",
    InvalidArguments "invalid-arguments" "An argument violates the tool's JSON schema.",
    MissingField "missing-field" "A required field is absent.",
    NoAnchor "no-anchor" "The prompt does not contain the start anchor.",
    More "more" "More problems than are listed.",
}
