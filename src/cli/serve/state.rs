//! The state that all connections share: the options, the model, the engine, the record and the counts.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tokio::sync::Notify;

use super::guard::Guard;
use super::rows::Rows;
use super::upload::Uploads;
use super::upstream::Upstream;
use super::{Serve, probe};
use backchat_serve::api_error::ApiError;
use backchat_serve::engine::{Engine, Facts};
use backchat_serve::metrics::Metrics;
use backchat_serve::model::Model;

pub struct Server {
    /// The options of the command line.
    pub options: Serve,
    pub model_name: String,
    pub api_key: Option<String>,
    pub guard: Guard,
    pub uploads: Uploads,
    pub model: Arc<Model>,
    pub engine: Engine,
    pub upstream: Upstream,
    pub record: Option<Rows>,
    pub access_log: Option<Rows>,
    pub metrics: RefCell<Metrics>,
    /// Notified when the grace period of streams is over.
    pub cut: Arc<Notify>,
    pub facts: RefCell<Option<Facts>>,
    /// Notified when no more requests are accepted.
    pub stopping: Notify,
    pub is_stopping: Cell<bool>,
    /// How many clients are connected.
    pub connections: Cell<usize>,
    /// When it began, in seconds since 1970.
    pub began: u64,
}

impl Server {
    /// The facts about the engine: queried once, and again until it answers.
    pub async fn facts(&self) -> Facts {
        if let Some(facts) = &*self.facts.borrow() {
            return facts.clone();
        }
        let found = probe::facts(self.engine, &self.upstream).await;
        let is_known = found.is_some();
        let mut facts = found.unwrap_or_default();
        if self.options.upstream_model.is_some() {
            facts.model.clone_from(&self.options.upstream_model);
        }
        if facts.model.is_none() {
            facts.model = Some(self.model_name.clone());
        }
        if is_known {
            self.facts.replace(Some(facts.clone()));
        }
        facts
    }

    /// Refuses a request for another model, if the server is strict about names.
    pub fn check_model(&self, asked: Option<&str>) -> Result<(), ApiError> {
        match asked.filter(|asked| self.options.strict_model && *asked != self.model_name) {
            None => Ok(()),
            Some(asked) => {
                let message = format!("the model `{asked}` is not served here; this server has `{}`", self.model_name);
                Err(ApiError { status: 404, ..ApiError::param("model", message) }.code("model_not_found"))
            }
        }
    }

    /// Counts a request that the engine did not see.
    pub fn count_refused(&self, error: &ApiError) {
        let mut metrics = self.metrics.borrow_mut();
        Metrics::count(&mut metrics.requests, status_name(error.status));
    }
}

/// The status as a label of the metrics, which come from a fixed list.
pub fn status_name(status: u16) -> &'static str {
    match status {
        200 => "200",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        408 => "408",
        413 => "413",
        415 => "415",
        429 => "429",
        500 => "500",
        502 => "502",
        503 => "503",
        504 => "504",
        _ => "other",
    }
}
