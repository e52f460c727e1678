//! The engines: names, detection, and limitations.

use backchat_grammar::Format;

/// An engine whose raw completion endpoint is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    LlamaCpp,
    Vllm,
    Sglang,
    /// Text Generation Inference.
    Tgi,
    Ollama,
    /// Any other server with OpenAI's `/v1/completions`.
    OpenAi,
}

impl Engine {
    /// All of them, in the order in which they are probed: two of them also answer the probe of a later one.
    pub const ALL: [Self; 6] = [Self::LlamaCpp, Self::Sglang, Self::Vllm, Self::Tgi, Self::Ollama, Self::OpenAi];

    /// Its name on the command line and in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Tgi => "tgi",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// The path that only this engine answers with 200; `None` for the fallback.
    pub fn probe(self) -> Option<&'static str> {
        match self {
            Self::LlamaCpp => Some("/props"),
            Self::Sglang => Some("/model_info"),
            Self::Vllm => Some("/version"),
            Self::Tgi => Some("/info"),
            Self::Ollama => Some("/api/version"),
            Self::OpenAi => None,
        }
    }

    /// The path of completions.
    pub fn path(self) -> &'static str {
        match self {
            Self::LlamaCpp => "/completion",
            Self::Vllm | Self::OpenAi => "/v1/completions",
            Self::Sglang => "/generate",
            Self::Tgi => "/generate_stream",
            Self::Ollama => "/api/generate",
        }
    }

    /// The path of its health check.
    pub fn health(self) -> &'static str {
        match self {
            Self::Ollama => "/api/version",
            Self::OpenAi => "/v1/models",
            _ => "/health",
        }
    }

    /// The format in which it takes a grammar of a turn with calls, if it takes one.
    pub fn grammar_format(self) -> Option<Format> {
        match self {
            Self::LlamaCpp => Some(Format::Gbnf),
            Self::Vllm | Self::Sglang => Some(Format::StructuralTag),
            Self::Tgi | Self::Ollama | Self::OpenAi => None,
        }
    }

    /// Whether one request can have several choices.
    pub fn takes_n(self) -> bool {
        !matches!(self, Self::Tgi | Self::Ollama)
    }

    /// Whether it gives the log probabilities of tokens in a form that is read here.
    pub fn gives_logprobs(self) -> bool {
        matches!(self, Self::LlamaCpp | Self::Vllm | Self::OpenAi)
    }

    /// Whether it leaves the stop text in the answer.
    pub fn leaves_stop(self) -> bool {
        self == Self::Tgi
    }

    /// Whether it can send the text of control tokens.
    pub fn shows_special_tokens(self) -> bool {
        !matches!(self, Self::Ollama | Self::OpenAi)
    }
}

/// Facts about an engine, besides its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The name under which it serves the model, for engines that require it.
    pub model: Option<String>,
    /// The maximum number of tokens of a prompt and its answer.
    pub context: Option<u64>,
    /// Whether it adds the BOS token to each prompt.
    pub adds_bos: bool,
    /// Whether its events contain a piece of the text rather than all of it so far.
    pub streams_pieces: bool,
}
