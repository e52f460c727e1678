//! The APIs of chat servers. A request of each is translated into one of the chat API, and an answer is written in the form of
//! each from the same deltas: nothing is rendered, constrained or parsed in a second way.

use crate::api_error::ApiError;
use crate::call_ids::{CallIds, IdForm};
use crate::chat_api::{Completion, Start};
use crate::custom::CustomTools;
use crate::parts::Parts;
use crate::request::{self, ChatRequest};
use crate::responses_api::answer::{Repeated, Response};
use crate::writer::Writer;
use crate::{messages_api, responses_api};
use backchat_core::json::Value;
use backchat_parser::deltas::ReasoningName;

/// An API in which clients ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Chat,
    Responses,
    Messages,
}

/// A request of one API.
#[derive(Debug)]
pub struct Asked {
    pub api: Api,
    pub request: ChatRequest,
    /// What a response repeats.
    repeated: Repeated,
}

impl Api {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    /// The path that takes its requests.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// The API that takes requests at this path.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.path() == path)
    }

    /// The API in whose form a path answers with an error.
    pub fn of_path(path: &str) -> Self {
        let is_below =
            |api: &Self| path.strip_prefix(api.path()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        Self::ALL.into_iter().find(is_below).unwrap_or(Self::Chat)
    }

    /// Reads the body of a request, or returns its first problem.
    pub fn read(self, body: &[u8]) -> Result<Asked, ApiError> {
        let body = request::members(body)?;
        let mut repeated = Repeated::default();
        let chat = match self {
            Self::Chat => body,
            Self::Responses => {
                repeated = Repeated::of(&body);
                responses_api::request::to_chat(body)?
            }
            Self::Messages => messages_api::request::to_chat(body)?,
        };
        let request = ChatRequest::read(chat)?;
        if self != Self::Chat && request.n > 1 {
            return Err(ApiError::param("n", "`n` is not supported: an answer of this API has one choice"));
        }
        Ok(Asked { api: self, request, repeated })
    }

    /// The body of an error.
    pub fn error(self, error: &ApiError) -> Value {
        match self {
            Self::Chat => error.to_value(),
            Self::Responses => error.renamed(&responses_api::request::NAMES).to_value(),
            Self::Messages => {
                let error = messages_api::answer::error_of(&error.renamed(&messages_api::request::NAMES));
                Value::from([("type", "error".into()), ("error", error)])
            }
        }
    }
}

impl Asked {
    /// Begins the answer of this model, at this second since 1970.
    pub fn writer(&mut self, model: &str, reasoning: ReasoningName, created: u64, ids: IdForm) -> Box<dyn Writer> {
        let request = &self.request;
        let streams = request.stream;
        let custom = CustomTools::of(request);
        let ids = CallIds::new(ids, if self.api == Api::Messages { "toolu_" } else { "call_" });
        match self.api {
            Api::Chat => {
                let (choices, counts) = (request.n, request.include_usage);
                Box::new(Completion::new(Start { model, reasoning, created, choices, streams, counts, custom, ids }))
            }
            Api::Responses => Box::new(Response::new(
                model,
                created,
                streams,
                Parts::new(ids, custom),
                std::mem::take(&mut self.repeated),
            )),
            Api::Messages => Box::new(messages_api::answer::Message::new(model, streams, ids)),
        }
    }
}
