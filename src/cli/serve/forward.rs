//! `/v1/completions`, forwarded to the engine's own endpoint: nothing is rendered, parsed or recorded.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response};

use super::exchange::{Failed, OpenStream, refusal, too_late};
use super::outgoing::{BrokenOff, Outgoing, Outlet};
use super::state::Server;
use super::upstream::{Incomplete, Upstream};
use backchat_core::json::Value;
use backchat_serve::api_error::ApiError;
use backchat_serve::metrics::Metrics;
use backchat_serve::record::Outcome;
use backchat_serve::request;
use backchat_serve::text_completion;

/// The path of such completions, here and at every engine.
pub const PATH: &str = "/v1/completions";

/// Sends the request to the engine, and streams the engine's answer to the client.
pub async fn complete(server: Rc<Server>, body: Bytes) -> Result<Response<Outgoing>, ApiError> {
    let begun = begin(&server, &body).await.inspect_err(|error| server.count_refused(error))?;
    let (answer, guard) = begun;
    Metrics::count(&mut server.metrics.borrow_mut().requests, "200");
    let (kind, encoding) = (answer.headers.get(CONTENT_TYPE).cloned(), answer.headers.get(CONTENT_ENCODING).cloned());
    let outlet = Outlet::default();
    let work = pass_on(server, answer, outlet.clone(), guard);
    let mut response = Response::new(Outgoing::written(outlet, work));
    let kind = kind.unwrap_or(HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().extend(encoding.map(|encoding| (CONTENT_ENCODING, encoding)));
    Ok(response)
}

async fn begin(server: &Rc<Server>, body: &[u8]) -> Result<(Incomplete, OpenStream), ApiError> {
    if matches!(server.upstream, Upstream::Recorded(_)) {
        return Err(ApiError::new(404, format!("`{PATH}` needs an engine: `--replay` answers chats only")));
    }
    let members = request::members(body)?;
    server.check_model(members.get("model").and_then(Value::as_str))?;
    let guard = OpenStream::new(server)?;
    let facts = server.facts().await;
    let sent = text_completion::for_engine(members, facts.model.as_deref())?;
    let limit = server.options.timeout_first;
    let asked = server.upstream.send(Method::POST, PATH, Value::Object(sent).to_string());
    match tokio::time::timeout(limit, asked).await {
        Err(_) => Err(too_late(limit).error),
        Ok(Err(error)) => {
            let message = format!("the engine cannot be reached: {error}");
            Err(Failed::new(Outcome::UpstreamUnreachable, 502, message).error)
        }
        Ok(Ok(answer)) if !answer.status.is_success() => Err(refusal(answer).await.error),
        Ok(Ok(answer)) => Ok((answer, guard)),
    }
}

/// Passes on what the engine writes until it ends, is silent for too long, or the server stops.
async fn pass_on(
    server: Rc<Server>,
    mut answer: Incomplete,
    outlet: Outlet,
    guard: OpenStream,
) -> Result<(), BrokenOff> {
    let limit = server.options.timeout_idle;
    let mut cut = pin!(Arc::clone(&server.cut).notified_owned());
    loop {
        let next = tokio::time::timeout(
            limit,
            poll_fn(|context| match cut.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Err(BrokenOff)),
                Poll::Pending => answer.poll_bytes(context).map(|next| next.transpose().map_err(|_| BrokenOff)),
            }),
        );
        match next.await.map_err(|_| BrokenOff)?? {
            Some(bytes) => outlet.send(bytes).await,
            None => break,
        }
    }
    drop(guard);
    Ok(())
}
