//! One exchange: from the body of a request to the answer and its rows in the record.
//!
//! An exchange is dropped if its client disconnects: its connections to the engine close, and it is recorded.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use tokio::sync::futures::OwnedNotified;
use tokio::time::Sleep;

use super::outgoing::{BrokenOff, Outgoing, Outlet, of_type, whole};
use super::state::{Server, status_name};
use super::upstream::Incomplete;
use backchat_core::json::{self, Value};
use backchat_serve::api::{Api, Asked};
use backchat_serve::api_error::ApiError;
use backchat_serve::engine::Facts;
use backchat_serve::engine_request::{self, EngineRequest};
use backchat_serve::fault::Fault;
use backchat_serve::metrics::Metrics;
use backchat_serve::model::Prepared;
use backchat_serve::record::{Exchange as Shared, Kept, Outcome};
use backchat_serve::reply::{Reply, ReplyReader, error_text};
use backchat_serve::request::ChatRequest;
use backchat_serve::turn::Turn;

/// The longest wait for the token counts once all choices have ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

pub struct Failed {
    outcome: Outcome,
    pub error: ApiError,
}

impl Failed {
    pub fn new(outcome: Outcome, status: u16, message: impl Into<String>) -> Self {
        let error = ApiError::new(status, message);
        let error = if status < 500 { error } else { error.code(outcome.name()) };
        Self { outcome, error }
    }
}

/// One connection to the engine, which writes one choice or all.
struct Link {
    incomplete: Incomplete,
    replies: ReplyReader,
    is_over: bool,
}

pub struct Exchange {
    server: Rc<Server>,
    shared: Shared,
    turn: Turn,
    links: Vec<Link>,
    streams: bool,
    began: Instant,
    /// When the engine last wrote a part of the answer, which comments and empty events are not, or the client took it.
    read_at: Instant,
    timer: Pin<Box<Sleep>>,
    /// The timer for the engine's silence.
    limit: Duration,
    /// Completes when the server's grace period is over.
    cut: Pin<Box<OwnedNotified>>,
    is_recorded: bool,
}

/// Answers a request of this API.
pub async fn complete(server: Rc<Server>, api: Api, body: Bytes) -> Result<Response<Outgoing>, ApiError> {
    let begun = begin(&server, api, body).await.inspect_err(|error| server.count_refused(error))?;
    let (mut exchange, request, prepared, guard) = begun;
    let facts = server.facts().await;
    exchange.connect(&request, &prepared, &facts).await.map_err(|failed| exchange.fail(failed))?;
    drop((request, prepared));
    exchange.first().await.map_err(|failed| exchange.fail(failed))?;
    if exchange.streams {
        let outlet = Outlet::default();
        let work = exchange.stream(outlet.clone(), guard);
        let mut response = of_type("text/event-stream", Outgoing::written(outlet, work));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        return Ok(response);
    }
    Ok(whole("application/json", exchange.whole().await?.to_string()))
}

type Begun = (Exchange, ChatRequest, Prepared, OpenStream);

/// Reads and checks a request, and renders its prompt.
async fn begin(server: &Rc<Server>, api: Api, body: Bytes) -> Result<Begun, ApiError> {
    let began = Instant::now();
    let asked = api.read(&body)?;
    server.check_model(asked.request.model.as_deref())?;
    let engine = server.engine;
    engine_request::check(engine, &asked.request)?;
    let guard = OpenStream::new(server)?;
    server.metrics.borrow_mut().ignored += asked.request.ignored as u64;
    // Renders and grammars take up to milliseconds: other streams must not wait.
    let model = Arc::clone(&server.model);
    // Recorded outputs cannot be constrained, which the answer reports.
    let may_go_free = server.options.allows_unconstrained || server.options.replay.is_some();
    let prepared = tokio::task::spawn_blocking(move || {
        let prepared = model.prepare(&asked.request, engine, may_go_free);
        (asked, prepared)
    });
    let prepared = prepared.await.map_err(|_| ApiError::new(500, "the prompt could not be prepared"))?;
    let (mut asked, prepared) = (prepared.0, prepared.1?);
    let exchange = Exchange::new(Rc::clone(server), &mut asked, &prepared, began)?;
    Ok((exchange, asked.request, prepared, guard))
}

/// Counts an answer as open as long as it lives.
pub struct OpenStream(Rc<Server>);

impl OpenStream {
    /// Fails if as many are open as may be.
    pub fn new(server: &Rc<Server>) -> Result<Self, ApiError> {
        let most = server.options.max_streams;
        if server.metrics.borrow().open >= most {
            let message = format!("the server is already writing {most} answers: try again soon");
            return Err(ApiError { retry_after: Some("1".to_owned()), ..ApiError::new(429, message) });
        }
        server.metrics.borrow_mut().open += 1;
        Ok(Self(Rc::clone(server)))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut metrics = self.0.metrics.borrow_mut();
        metrics.open = metrics.open.saturating_sub(1);
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

impl Exchange {
    fn new(server: Rc<Server>, asked: &mut Asked, prepared: &Prepared, began: Instant) -> Result<Self, ApiError> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let model = asked.request.model.clone().unwrap_or_else(|| server.model_name.clone());
        let writer = asked.writer(&model, server.options.reasoning_field, now.as_secs(), server.model.id_form());
        let request = &asked.request;
        let turn = Turn::new(&server.model, prepared, request, server.options.calls, writer)?;
        let engine = server.engine;
        let mut recorded = request.to_record();
        let left_out: Vec<Value> = engine_request::left_out(engine, request).into_iter().map(Value::from).collect();
        if !left_out.is_empty() {
            recorded.insert("left_out", Value::List(left_out));
        }
        let shared = Shared {
            id: turn.id().to_owned(),
            engine: engine.name(),
            model: server.model_name.clone(),
            prompt: prepared.prompt.clone(),
            messages: request.messages.clone(),
            tools: request.shown_tools(),
            request: recorded,
            grammar: prepared.grammar_text(),
            at: now.as_secs_f64(),
        };
        Ok(Self {
            shared,
            turn,
            links: Vec::new(),
            streams: request.stream,
            began,
            read_at: began,
            timer: Box::pin(tokio::time::sleep(server.options.timeout_first)),
            limit: server.options.timeout_first,
            cut: Box::pin(Arc::clone(&server.cut).notified_owned()),
            is_recorded: false,
            server,
        })
    }

    /// Sends the request to the engine, once for all choices or once for each.
    async fn connect(&mut self, request: &ChatRequest, prepared: &Prepared, facts: &Facts) -> Result<(), Failed> {
        let together = self.server.engine.takes_n() || request.n <= 1;
        let sent = EngineRequest {
            request,
            prompt: &prepared.prompt,
            bos: self.server.model.bos_of(&prepared.prompt),
            constraint: prepared.constraint.as_ref(),
            format: &prepared.format,
            preserved: &prepared.preserved,
            keeps_bos: self.server.options.keeps_bos,
            token_ids: self.server.options.record_tokens,
        };
        let body = sent.body(self.server.engine, facts).to_string();
        let limit = self.server.options.timeout_first;
        let server = Rc::clone(&self.server);
        for choice in 0..if together { 1 } else { request.n } {
            let asked = server.upstream.send(Method::POST, self.server.engine.path(), body.clone());
            let incomplete = match tokio::time::timeout(limit.saturating_sub(self.began.elapsed()), asked).await {
                Err(_) => return Err(too_late(limit)),
                Ok(Err(error)) => {
                    let message = format!("the engine cannot be reached: {error}");
                    return Err(Failed::new(Outcome::UpstreamUnreachable, 502, message));
                }
                Ok(Ok(incomplete)) if !incomplete.status.is_success() => {
                    return Err(refusal(incomplete).await);
                }
                Ok(Ok(incomplete)) => incomplete,
            };
            if let Some(reason) = incomplete.unreadable() {
                let message = format!("the engine's answer cannot be read: {reason}");
                return Err(Failed::new(Outcome::UpstreamError, 502, message));
            }
            let replies = ReplyReader::new(self.server.engine, facts.streams_pieces, choice)
                .with_alternatives(request.logprobs.unwrap_or(0));
            self.links.push(Link { incomplete, replies, is_over: false });
        }
        Ok(())
    }

    /// Waits for the engine's first event: until then a failure has a status.
    async fn first(&mut self) -> Result<(), Failed> {
        let limit = self.server.options.timeout_first;
        self.timer.as_mut().reset((self.began + limit).into());
        loop {
            self.read(self.began, limit).await?;
            if self.turn.has_begun() {
                break;
            }
            if self.is_over() {
                return Err(Failed::new(
                    Outcome::UpstreamClosed,
                    502,
                    "the engine closed the connection without an answer",
                ));
            }
        }
        self.server.metrics.borrow_mut().first.add(self.began.elapsed());
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.links.iter().all(|link| link.is_over)
    }

    /// Reads available data from any link, and applies what came before a failure. Fails if there is no part of the answer
    /// within the limit from then on.
    async fn read(&mut self, since: Instant, limit: Duration) -> Result<(), Failed> {
        let mut replies = Vec::new();
        if std::mem::replace(&mut self.limit, limit) != limit {
            self.timer.as_mut().reset((since + limit).into());
        }
        let Self { links, timer, cut, .. } = self;
        let mut new = Vec::new();
        let mut has_read = false;
        let result = poll_fn(|context| {
            for link in links.iter_mut().filter(|link| !link.is_over) {
                let result = match link.incomplete.poll_bytes(context) {
                    Poll::Pending => continue,
                    Poll::Ready(Some(Ok(bytes))) => link.replies.feed(&bytes, &mut new),
                    Poll::Ready(end) => {
                        link.is_over = true;
                        let last = link.replies.finish(&mut new);
                        if let Some(Err(_)) = end { Err(Fault::Disconnected) } else { last }
                    }
                };
                has_read = true;
                link.is_over |= new.contains(&Reply::Done);
                replies.append(&mut new);
                if let Err(fault) = result {
                    let is_closed = link.is_over;
                    link.is_over = true;
                    let outcome = if is_closed { Outcome::UpstreamClosed } else { Outcome::UpstreamError };
                    return Poll::Ready(Err(Failed::new(outcome, 502, fault.to_string())));
                }
            }
            if has_read {
                return Poll::Ready(Ok(()));
            }
            if cut.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Failed::new(Outcome::Cancelled, 503, "the server is stopping")));
            }
            // The timer is reset only when it fires: most pieces come long before.
            while timer.as_mut().poll(context).is_ready() {
                if since.elapsed() >= limit {
                    return Poll::Ready(Err(too_late(limit)));
                }
                timer.as_mut().reset((since + limit).into());
            }
            Poll::Pending
        })
        .await;
        if replies.is_empty() {
            // Data without a reply may come so fast that the timer is never polled.
            let is_late = since.elapsed() >= limit && !self.is_over();
            return result.and_then(|()| if is_late { Err(too_late(limit)) } else { Ok(()) });
        }
        self.read_at = Instant::now();
        self.take(replies)?;
        result
    }

    /// Applies replies of the engine to the answer.
    fn take(&mut self, replies: Vec<Reply>) -> Result<(), Failed> {
        let after = milliseconds(self.read_at - self.began);
        let failed = |fault: Fault| Failed::new(Outcome::UpstreamError, 502, fault.to_string());
        replies.into_iter().try_for_each(|reply| self.turn.take(reply, after)).map_err(failed)
    }

    /// Reads until every choice has ended and the tokens are counted; returns whether there may be more.
    async fn next(&mut self) -> Result<bool, Failed> {
        let has_ended = self.turn.has_ended();
        if has_ended && (self.turn.count().is_some() || self.is_over()) {
            return Ok(false);
        }
        let idle = self.server.options.timeout_idle;
        let limit = if has_ended { idle.min(LAST_WORDS) } else { idle };
        if !has_ended && self.is_over() {
            let message = "the engine ended the stream without a finish reason";
            return Err(Failed::new(Outcome::UpstreamClosed, 502, message));
        }
        match self.read(self.read_at, limit).await {
            // The answer is complete; only its count of tokens is missing.
            Err(_) if self.turn.has_ended() => Ok(false),
            Err(failed) => Err(failed),
            Ok(()) => Ok(true),
        }
    }

    /// Writes the answer as a stream.
    async fn stream(mut self, outlet: Outlet, guard: OpenStream) -> Result<(), BrokenOff> {
        loop {
            // Pending output is written before more is read.
            if self.turn.has_unsent() {
                let overhead = self.read_at.elapsed();
                self.server.metrics.borrow_mut().overhead.add(overhead);
                outlet.send(self.turn.unsent()).await;
                // Meanwhile nothing was read.
                self.read_at = Instant::now();
            }
            match self.next().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(failed) => {
                    self.turn.fail(&failed.error);
                    self.close(failed.outcome, "200");
                    outlet.send(self.turn.unsent()).await;
                    // In other APIs the body breaks off, so that no client takes the answer for whole.
                    return if self.turn.ends_by_failing() { Ok(()) } else { Err(BrokenOff) };
                }
            }
        }
        self.turn.end();
        // It is recorded and counted before the client sees the end.
        self.close(Outcome::Complete, "200");
        drop(guard);
        outlet.send(self.turn.unsent()).await;
        Ok(())
    }

    async fn whole(mut self) -> Result<Value, ApiError> {
        while self.next().await.map_err(|failed| self.fail(failed))? {}
        self.close(Outcome::Complete, "200");
        Ok(self.turn.whole())
    }

    /// Closes a failed exchange; returns the error response.
    fn fail(&mut self, failed: Failed) -> ApiError {
        self.close(failed.outcome, status_name(failed.error.status));
        failed.error
    }

    /// Records the exchange and counts it, once.
    fn close(&mut self, outcome: Outcome, status: &'static str) {
        self.links.clear();
        if std::mem::replace(&mut self.is_recorded, true) {
            return;
        }
        let mut metrics = self.server.metrics.borrow_mut();
        Metrics::count(&mut metrics.requests, status);
        metrics.total.add(self.began.elapsed());
        metrics.characters += self.turn.characters();
        if let Some(usage) = self.turn.count() {
            metrics.prompt_tokens = metrics.prompt_tokens.saturating_add(usage.prompt);
            metrics.completion_tokens = metrics.completion_tokens.saturating_add(usage.completion);
        }
        if !matches!(outcome, Outcome::Complete | Outcome::Cancelled) {
            Metrics::count(&mut metrics.upstream_errors, outcome.name());
        }
        for problem in self.turn.problems() {
            Metrics::count(&mut metrics.problems, problem.kind.as_str());
        }
        if self.turn.is_unconstrained() {
            Metrics::count(&mut metrics.problems, "unconstrained");
        }
        drop(metrics);
        let Some(record) = &self.server.record else { return };
        let options = &self.server.options;
        let kept = Kept { redacts: options.record_redact, tokens: options.record_tokens };
        for choice in self.turn.choices(outcome, milliseconds(self.began.elapsed())) {
            record.write(self.shared.row(&choice, kept));
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.close(Outcome::Cancelled, "cancelled");
    }
}

pub fn too_late(limit: Duration) -> Failed {
    let message = format!("the engine wrote no text for {} s", limit.as_secs());
    Failed::new(Outcome::UpstreamTimeout, 504, message)
}

/// The error response for a request that the engine refuses.
pub async fn refusal(mut answer: Incomplete) -> Failed {
    let status = answer.status;
    let text = match answer.unreadable() {
        Some(reason) => reason,
        None => answer.text().await,
    };
    let value = json::read(&text).unwrap_or_default();
    let reason = value.get("error").map(error_text).or_else(|| Some(value.get("message")?.as_str()?.to_owned()));
    let reason = reason.unwrap_or_else(|| {
        let short: String = text.chars().take(200).collect();
        if short.trim().is_empty() { "no reason".to_owned() } else { short }
    });
    let (status, is_request) = match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY | StatusCode::PAYLOAD_TOO_LARGE => (400, true),
        StatusCode::TOO_MANY_REQUESTS => (429, false),
        StatusCode::SERVICE_UNAVAILABLE => (503, false),
        _ => (502, false),
    };
    let verb = if is_request { "refuses the request" } else { "answers with an error" };
    let mut failed = Failed::new(
        Outcome::UpstreamError,
        status,
        format!("the engine {verb} ({}): {reason}", answer.status.as_u16()),
    );
    let wait = answer.headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
    failed.error.retry_after = wait.filter(|_| matches!(status, 429 | 503)).map(str::to_owned);
    failed
}
