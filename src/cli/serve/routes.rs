//! The connections of clients: routes, keys, and the end of the server.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::guard::Asked;
use super::outgoing::{Outgoing, whole};
use super::rows::Rows;
use super::state::Server;
use super::{exchange, forward};
use backchat_core::json::Value;
use backchat_serve::api::Api;
use backchat_serve::api_error::ApiError;

/// The longest head of a request.
const LONGEST_HEAD: usize = 32 << 10;
/// The time limit for the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How much of a path the access log keeps.
const LONGEST_PATH: usize = 200;
const BEARER: &[u8] = b"Bearer ";
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The timeout for the engine's health check.
const HEALTH_PATIENCE: Duration = Duration::from_secs(2);

impl Server {
    async fn route(self: Rc<Self>, request: Request<Incoming>) -> Result<Response<Outgoing>, ApiError> {
        let path = request.uri().path().to_owned();
        let expected = match path.as_str() {
            _ if Api::at(&path).is_some() || path == forward::PATH => Method::POST,
            "/v1/models" | "/health" | "/metrics" => Method::GET,
            _ if model_of(&path).is_some() => Method::GET,
            _ => return Err(no_path(&path)),
        };
        self.guard.check(request.method(), request.uri(), request.headers())?;
        if self.guard.cors.is_some() && request.method() == Method::OPTIONS {
            return Ok(Response::new(Outgoing::Whole(None)));
        }
        if *request.method() != expected {
            return Err(ApiError::new(405, format!("`{path}` takes {expected} requests only")));
        }
        let writes = expected == Method::POST;
        if path.starts_with("/v1/") {
            self.authorize(&request).inspect_err(|error| {
                if writes {
                    self.count_refused(error)
                }
            })?;
        }
        if writes {
            let body = self.uploads.read(request.into_body()).await;
            let body = body.inspect_err(|error| self.count_refused(error))?;
            return match Api::at(&path) {
                Some(api) => exchange::complete(self, api, body).await,
                None => forward::complete(self, body).await,
            };
        }
        match path.as_str() {
            "/v1/models" => Ok(whole("application/json", self.models().to_string())),
            "/health" => self.health().await,
            _ if let Some(name) = model_of(&path) => self.model_named(name),
            _ => {
                let dropped = self.record.as_ref().map_or(0, Rows::dropped);
                let text = self.metrics.borrow().to_text(dropped);
                Ok(whole("text/plain; version=0.0.4; charset=utf-8", text))
            }
        }
    }

    fn authorize(&self, request: &Request<Incoming>) -> Result<(), ApiError> {
        let Some(key) = &self.api_key else { return Ok(()) };
        let header = |name| request.headers().get(name).map(HeaderValue::as_bytes).unwrap_or_default();
        let (scheme, given) = header(header::AUTHORIZATION).split_at_checked(BEARER.len()).unwrap_or_default();
        // The name of a scheme is the same in any case. Clients of the Messages API have a header of their own.
        let given = if scheme.eq_ignore_ascii_case(BEARER) { given } else { header(API_KEY) };
        if is_same(given, key.as_bytes()) {
            return Ok(());
        }
        let message = "a key is required: send the header `Authorization: Bearer KEY` or `x-api-key: KEY`";
        Err(ApiError::new(401, message).code("invalid_api_key"))
    }

    fn model(&self) -> Value {
        Value::from([
            ("id", self.model_name.as_str().into()),
            ("object", "model".into()),
            ("created", self.began.into()),
            ("owned_by", "backchat".into()),
        ])
    }

    fn models(&self) -> Value {
        Value::from([("object", "list".into()), ("data", Value::List(vec![self.model()]))])
    }

    fn model_named(&self, name: &str) -> Result<Response<Outgoing>, ApiError> {
        // Clients escape the slash of ORG/NAME.
        if name.replace("%2F", "/") != self.model_name {
            let message = format!("no such model: `{name}`; this server has `{}`", self.model_name);
            return Err(ApiError::new(404, message).code("model_not_found"));
        }
        Ok(whole("application/json", self.model().to_string()))
    }

    async fn health(&self) -> Result<Response<Outgoing>, ApiError> {
        if self.is_stopping.get() {
            return Err(ApiError::new(503, "the server is stopping"));
        }
        match self.upstream.ask(Method::GET, self.engine.health(), "", HEALTH_PATIENCE).await {
            Some(_) => Ok(whole("application/json", r#"{"status": "ok"}"#.to_owned())),
            None => Err(ApiError::new(503, "the engine does not answer")),
        }
    }

    async fn answer(
        self: Rc<Self>,
        request: Request<Incoming>,
        client: SocketAddr,
    ) -> Result<Response<Outgoing>, std::convert::Infallible> {
        let server = Rc::clone(&self);
        let began = Instant::now();
        let asked = Asked::of(request.method(), request.headers());
        let api = Api::of_path(request.uri().path());
        let line = server.access_log.as_ref().map(|_| (request.method().to_string(), request.uri().path().to_owned()));
        let mut response = self.route(request).await.unwrap_or_else(|error| refuse(api, &error));
        server.guard.answer(&asked, response.headers_mut());
        if let (Some(log), Some((method, path))) = (&server.access_log, line) {
            log.write(access(client, &method, &path, response.status(), began));
        }
        Ok(response)
    }

    /// Serves until the listener's task is stopped.
    pub async fn accept(self: Rc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, client)) => drop(tokio::task::spawn_local(Rc::clone(&self).connection(stream, client))),
                // Too many files are open: some will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn connection(self: Rc<Self>, stream: TcpStream, client: SocketAddr) {
        let _ = stream.set_nodelay(true);
        self.connections.set(self.connections.get() + 1);
        let service = service_fn(|request| Rc::clone(&self).answer(request, client));
        let mut connection = pin!(
            hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_PATIENCE)
                .max_buf_size(LONGEST_HEAD)
                .serve_connection(TokioIo::new(stream), service)
        );
        let mut stopping = pin!(self.stopping.notified());
        let mut is_notified = self.is_stopping.get();
        if is_notified {
            connection.as_mut().graceful_shutdown();
        }
        poll_fn(|context| {
            if !is_notified && stopping.as_mut().poll(context).is_ready() {
                is_notified = true;
                connection.as_mut().graceful_shutdown();
            }
            // A client that disconnects is not an error.
            connection.as_mut().poll(context).map(drop)
        })
        .await;
        self.connections.set(self.connections.get().saturating_sub(1));
    }

    /// Lets running answers finish, until the grace period is over or `hurry` is ready.
    pub async fn stop(&self, hurry: impl Future<Output = ()>) {
        self.is_stopping.set(true);
        self.stopping.notify_waiters();
        let mut hurry = pin!(hurry);
        let mut grace = pin!(tokio::time::sleep(self.options.grace));
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        poll_fn(|context| {
            if grace.as_mut().poll(context).is_ready() || hurry.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            while tick.poll_tick(context).is_ready() {
                if self.connections.get() == 0 {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        })
        .await;
        self.cut.notify_waiters();
        // Time for the final events of interrupted streams.
        for _ in 0..50 {
            if self.connections.get() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The error for a path that has nothing.
fn no_path(path: &str) -> ApiError {
    let message = if Api::of_path(path) == Api::Responses {
        format!("no such path: `{path}`; this server keeps no responses, so that none can be fetched or deleted")
    } else {
        format!("no such path: `{path}`; use {}, {}", Api::ALL.map(Api::path).join(", "), forward::PATH)
    };
    ApiError::new(404, message)
}

/// The name in the path of one model, as it is written there.
fn model_of(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/models/").filter(|name| !name.is_empty())
}

/// A line of the access log: when an answer began, and how long the client waited for that.
fn access(client: SocketAddr, method: &str, path: &str, status: StatusCode, began: Instant) -> String {
    let path: String = path.chars().take(LONGEST_PATH).collect();
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_millis() as f64 / 1000.0);
    let row = Value::from([
        ("time", now.into()),
        ("client", client.ip().to_string().into()),
        ("method", method.into()),
        ("path", path.into()),
        ("status", u64::from(status.as_u16()).into()),
        ("ms", (began.elapsed().as_millis() as u64).into()),
    ]);
    format!("{row}\n")
}

/// Compares in constant time.
fn is_same(given: &[u8], key: &[u8]) -> bool {
    let difference = key.iter().enumerate().fold(given.len() ^ key.len(), |difference, (at, byte)| {
        difference | usize::from(byte ^ given.get(at).copied().unwrap_or(0))
    });
    std::hint::black_box(difference) == 0
}

/// The answer to a request that cannot be served, in the form of its API.
fn refuse(api: Api, error: &ApiError) -> Response<Outgoing> {
    let mut response = whole("application/json", api.error(error).to_string());
    *response.status_mut() = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Some(wait) = error.retry_after.as_deref().and_then(|wait| HeaderValue::from_str(wait).ok()) {
        headers.insert(header::RETRY_AFTER, wait);
    }
    // The unread rest of a body is useless.
    if matches!(error.status, 401 | 403 | 404 | 405 | 408 | 413 | 415 | 503) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
