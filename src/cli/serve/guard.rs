//! Which requests reach the server at all: not those that a page of another site makes a browser send.
//!
//! A server without a key trusts who can connect. A browser on the same machine can, and runs pages of strangers: they post
//! to other sites, and, by a name that they point at this machine, also read the answers (DNS rebinding). A key keeps them out.

use std::net::IpAddr;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Uri};

use backchat_core::diagnostic::escape;
use backchat_serve::api_error::ApiError;

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The origin whose pages may ask; `*` is any.
    pub cors: Option<HeaderValue>,
    /// Names of this server, in addition to addresses, `localhost` and names without a dot.
    pub hosts: Vec<String>,
    /// Whether each request needs a key, which pages of strangers do not have.
    pub has_key: bool,
}

impl Guard {
    /// Refuses what a page of another site sends.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if let Some(kind) = headers.get(header::CONTENT_TYPE).filter(|kind| *method == Method::POST && !is_json(kind)) {
            let kind = kind.to_str().unwrap_or_default();
            let message = format!("the header `Content-Type` must be `application/json`, not `{}`", escape(kind));
            return Err(ApiError::new(415, message));
        }
        if self.has_key {
            return Ok(());
        }
        let host = uri.authority().map(|authority| authority.as_str()).or_else(|| text(header::HOST));
        if let Some(host) = host.filter(|host| !self.knows(name_of(host))) {
            let name = escape(name_of(host)).into_owned();
            let message = format!(
                "a server without a key takes no requests for the host `{name}`: start it with `--allow-host {name}`, or \
                 with a key"
            );
            return Err(ApiError::new(403, message).code("host_not_allowed"));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        if self.takes(origin) || own.is_some_and(|own| Some(own) == host) {
            return Ok(());
        }
        let name = escape(origin.to_str().unwrap_or("?")).into_owned();
        let message = format!(
            "a server without a key takes no requests from pages of `{name}`: start it with `--cors {name}`, or with a key"
        );
        Err(ApiError::new(403, message).code("origin_not_allowed"))
    }

    fn knows(&self, name: &str) -> bool {
        let address = name.trim_start_matches('[').trim_end_matches(']');
        // Nobody can point a name without a dot at this machine but who runs its network.
        let is_local = |name: &str| !name.is_empty() && !name.contains('.') || name.ends_with(".localhost");
        address.parse::<IpAddr>().is_ok()
            || is_local(&name.to_ascii_lowercase())
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }

    fn takes(&self, origin: &HeaderValue) -> bool {
        self.cors.as_ref().is_some_and(|allowed| allowed == origin || allowed == "*")
    }

    /// Adds what tells a browser that a page of the allowed origin may read the answer.
    pub fn answer(&self, asked: &Asked, headers: &mut HeaderMap) {
        let Some(origin) = &self.cors else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
        if !asked.is_preflight {
            return;
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        // Clients send headers of their own, and no header gives a page more than the origin already has.
        let names = asked.headers.clone();
        let names = names.unwrap_or_else(|| HeaderValue::from_static("authorization, content-type"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
}

/// What a browser asks before it sends a request of a page.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    is_preflight: bool,
    headers: Option<HeaderValue>,
}

impl Asked {
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        let is_preflight = *method == Method::OPTIONS;
        Self { is_preflight, headers: headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned() }
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn is_json(kind: &HeaderValue) -> bool {
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(guard: &Guard, headers: &[(&'static str, &str)]) -> u16 {
        let pairs = headers
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let uri = Uri::from_static("/v1/chat/completions");
        guard.check(&Method::POST, &uri, &pairs.collect()).map_or_else(|error| error.status, |()| 200)
    }

    #[test]
    fn a_server_without_a_key_answers_under_its_own_names_only() {
        let guard = Guard { hosts: vec!["models.lan".to_owned()], ..Guard::default() };
        for (host, expected) in [
            ("localhost", 200),
            ("LOCALHOST:8080", 200),
            ("app.localhost:8080", 200),
            ("127.0.0.1:8080", 200),
            ("[::1]:8080", 200),
            ("192.168.1.7", 200),
            ("backchat:8080", 200),
            ("Models.lan:8080", 200),
            ("other.lan:8080", 403),
            ("evil.example:8080", 403),
            ("localhost.evil.example", 403),
            ("evil.example:8080:80", 403),
            ("evil.", 403),
            ("", 403),
        ] {
            assert_eq!(status(&guard, &[("host", host)]), expected, "{host}");
        }
        // A page that a stranger's name leads to has no key.
        assert_eq!(status(&Guard { has_key: true, ..guard }, &[("host", "evil.example")]), 200);
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let none = Guard::default();
        let allowed = |origin| Guard { cors: Some(HeaderValue::from_static(origin)), ..Guard::default() };
        let from = |guard: &Guard, origin| status(guard, &[("host", "localhost:8080"), ("origin", origin)]);
        for (origin, expected) in [
            ("http://localhost:8080", 200),
            ("http://localhost:3000", 403),
            ("https://evil.example", 403),
            ("null", 403),
        ] {
            assert_eq!(from(&none, origin), expected, "{origin}");
        }
        assert_eq!(from(&allowed("https://app.example"), "https://app.example"), 200);
        assert_eq!(from(&allowed("https://app.example"), "https://evil.example"), 403);
        assert_eq!(from(&allowed("*"), "https://any.example"), 200);
        assert_eq!(from(&Guard { has_key: true, ..none }, "https://any.example"), 200);
    }

    #[test]
    fn a_body_that_says_it_is_no_json_is_refused() {
        let guard = Guard { has_key: true, ..Guard::default() };
        for (kind, expected) in [
            ("application/json", 200),
            ("Application/JSON; charset=utf-8", 200),
            ("application/problem+json", 200),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
            ("multipart/form-data; boundary=x", 415),
        ] {
            assert_eq!(status(&guard, &[("content-type", kind)]), expected, "{kind}");
        }
        assert_eq!(status(&guard, &[]), 200);
    }
}
