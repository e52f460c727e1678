//! Where answers come from: recorded outputs, or connections to the engine. There is one connection for each
//! completion, which closes with it, because closing it is how engines learn to stop.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::outgoing::Outgoing;
use super::recorded::{Playing, Recorded};
use super::tls::Tls;
use backchat_core::json::{self, Value};

/// The most bytes of an answer that is read whole.
const MOST_WHOLE: usize = 1 << 20;

/// The source of answers, fixed at the start.
#[derive(Debug)]
pub enum Upstream {
    Engine(Target),
    Recorded(Recorded),
}

/// The engine's address.
#[derive(Clone, Debug)]
pub struct Target {
    host: String,
    port: u16,
    /// The prefix of the engine's paths.
    base: String,
    key: Option<HeaderValue>,
    /// For `https`.
    tls: Option<Tls>,
}

/// An answer of the engine whose body is still to come.
#[derive(Debug)]
pub struct Incomplete {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Source,
}

/// The source of a body's bytes.
#[derive(Debug)]
enum Source {
    Engine {
        body: Incoming,
        /// Dropped with the body, which closes the connection.
        _connection: Connection,
    },
    Recorded(Playing),
}

#[derive(Debug)]
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Target {
    /// Reads `http://HOST:PORT/PATH`, or the same with `https`.
    pub fn read(url: &str, key: Option<&str>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|error| format!("not a URL: {error}"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("a URL begins with http:// or https://".to_owned()),
        };
        let host = uri.host().ok_or("the URL has no host")?.trim_matches(['[', ']']).to_owned();
        let tls = is_secure.then(|| Tls::new(&host)).transpose()?;
        let path = uri.path().trim_end_matches('/');
        // The endpoints are added, so an address of OpenAI's form is taken as well.
        let base = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        let key = key.map(|key| HeaderValue::from_str(&format!("Bearer {key}"))).transpose();
        let mut key = key.map_err(|_| "the engine's key has characters that no header can have".to_owned())?;
        if let Some(key) = &mut key {
            key.set_sensitive(true);
        }
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { host, port, base, key, tls })
    }

    async fn connect(&self) -> io::Result<(SendRequest<Outgoing>, Connection)> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            Some(tls) => handshake(tls.connect(stream).await?).await,
            None => handshake(stream).await,
        }
    }

    async fn send(&self, method: Method, path: &str, body: String) -> io::Result<Incomplete> {
        let (mut sender, connection) = self.connect().await?;
        let authority = if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(HOST, authority)
            .header(ACCEPT_ENCODING, "identity")
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key);
        }
        let request = request.body(Outgoing::whole(body)).map_err(io::Error::other)?;
        let (head, body) = sender.send_request(request).await.map_err(io::Error::other)?.into_parts();
        Ok(Incomplete {
            status: head.status,
            headers: head.headers,
            body: Source::Engine { body, _connection: connection },
        })
    }
}

/// Starts HTTP.
async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
) -> io::Result<(SendRequest<Outgoing>, Connection)> {
    let (sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let connection = Connection(tokio::task::spawn_local(async move {
        // Errors are seen by the reader of the body.
        let _ = connection.await;
    }));
    Ok((sender, connection))
}

impl Upstream {
    /// Sends a request and reads the head of the answer.
    pub async fn send(&self, method: Method, path: &str, body: String) -> io::Result<Incomplete> {
        match self {
            Self::Engine(target) => target.send(method, path, body).await,
            Self::Recorded(recorded) => Ok(Incomplete {
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                body: Source::Recorded(recorded.answer(path, &body)),
            }),
        }
    }

    /// The error if there is no connection in time.
    pub async fn fault(&self, limit: Duration) -> Option<io::Error> {
        match self {
            Self::Engine(target) => match tokio::time::timeout(limit, target.connect()).await {
                Ok(connected) => connected.err(),
                Err(_) => Some(io::ErrorKind::TimedOut.into()),
            },
            Self::Recorded(_) => None,
        }
    }

    /// Requests a JSON value; `None` if there is no such path, or no answer in time.
    pub async fn ask(&self, method: Method, path: &str, body: &str, limit: Duration) -> Option<Value> {
        let answer = tokio::time::timeout(limit, async {
            let mut answer = self.send(method, path, body.to_owned()).await.ok()?;
            let is_fine = answer.status.is_success();
            let text = answer.text().await;
            is_fine.then(|| json::read(&text).unwrap_or_default())
        });
        answer.await.ok().flatten()
    }
}

impl Incomplete {
    /// Why the body cannot be read, if the engine compressed it unasked.
    pub fn unreadable(&self) -> Option<String> {
        let encoding = String::from_utf8_lossy(self.headers.get(CONTENT_ENCODING)?.as_bytes());
        let is_plain = encoding.trim().is_empty() || encoding.trim().eq_ignore_ascii_case("identity");
        (!is_plain).then(|| {
            format!(
                "the body is compressed (`Content-Encoding: {encoding}`) although the request asks for `identity`: turn compression \
                 off in the engine, or in the proxy in front of it"
            )
        })
    }

    /// The next bytes; `None` at the end.
    pub fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        let body = match &mut self.body {
            Source::Engine { body, .. } => body,
            Source::Recorded(playing) => return playing.poll_bytes(context).map(|bytes| bytes.map(Ok)),
        };
        loop {
            match Pin::new(&mut *body).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
            }
        }
    }

    /// The text of a short body, as far as it comes.
    pub async fn text(&mut self) -> String {
        let mut bytes = Vec::new();
        while let Some(Ok(more)) = poll_fn(|context| self.poll_bytes(context)).await {
            bytes.extend_from_slice(&more);
            if bytes.len() > MOST_WHOLE {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
