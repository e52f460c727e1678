//! What each release of a reader reads: a row for each. A new release is a row here and a reader of that name.

use super::{CONTENT, Limits, Reader, THINKING, TOOL_CALLS};

/// One release of a program that reads response templates.
pub(super) struct Release {
    /// Its name in reports.
    pub name: &'static str,
    /// The program, which may have several releases here.
    pub program: &'static str,
    pub version: &'static str,
    /// The target with this reader alone.
    pub target: &'static str,
    pub limits: Limits,
}

/// The content parsers before transformers 5.24 added `python-call-list`.
pub(super) const FIRST_PARSERS: [&str; 7] = ["text", "int", "float", "bool", "json", "xml-inline", "kv-lines"];

/// The limits of transformers before 5.24, and of the copies of it in servers.
const BEFORE_5_24: Limits = Limits { content_parsers: Some(&FIRST_PARSERS), close_captures: false, ..Limits::NONE };

/// The limits of a server that passes on each field in the answer's own terms.
const SERVED: Limits = Limits {
    fields: Some(&[CONTENT, THINKING, TOOL_CALLS]),
    defaults: Some(&["role"]),
    reasoning: Some(THINKING),
    joins_text: false,
    shapes_text: false,
    repeats_reasoning: false,
    literal_reasoning: true,
    calls_are_functions: true,
    makes_ids: true,
    ..BEFORE_5_24
};

static TRANSFORMERS: Release = Release {
    name: "transformers",
    program: "transformers",
    version: "5.24.0",
    target: "transformers",
    limits: Limits::NONE,
};

static TRANSFORMERS_5_23: Release = Release {
    name: "transformers-5.23",
    program: "transformers",
    version: "5.23.0",
    target: "transformers-5.23",
    limits: BEFORE_5_24,
};

/// It parses with transformers.
static TRL: Release = Release { name: "trl", program: "trl", version: "1.16.0", target: "trl", limits: Limits::NONE };

/// The frontend that carries a copy of transformers' parser.
static VLLM: Release =
    Release { name: "vllm", program: "vllm", version: "0.33.0", target: "vllm-python", limits: SERVED };

/// The frontend with a parser of its own.
static VLLM_RUST: Release = Release {
    name: "vllm-rust",
    program: "vllm-rust",
    version: "0.33.0",
    target: "vllm-rust",
    limits: Limits {
        fields: Some(&[CONTENT, THINKING, "reasoning_content", TOOL_CALLS]),
        reasoning: Some(THINKING),
        shapes_text: false,
        looks_around: false,
        literal_starts: true,
        calls_are_functions: true,
        makes_ids: true,
        ..BEFORE_5_24
    },
};

static SGLANG: Release = Release {
    name: "sglang",
    program: "sglang",
    version: "0.5.23",
    target: "sglang",
    limits: Limits { repeats_reasoning: true, calls_need_open: true, calls_need_literal_close: true, ..SERVED },
};

static SMG: Release = Release {
    name: "smg",
    program: "smg",
    version: "0.1.0",
    target: "smg",
    limits: Limits { looks_around: false, open_delims: false, ..BEFORE_5_24 },
};

impl Reader {
    /// Its row.
    pub(super) fn release(self) -> &'static Release {
        match self {
            Self::Transformers => &TRANSFORMERS,
            Self::Transformers523 => &TRANSFORMERS_5_23,
            Self::Trl => &TRL,
            Self::Vllm => &VLLM,
            Self::VllmRust => &VLLM_RUST,
            Self::Sglang => &SGLANG,
            Self::Smg => &SMG,
        }
    }
}
