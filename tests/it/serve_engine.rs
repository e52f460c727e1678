//! The real server in front of engines that fall silent, fail or answer in another form.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::serve::{Server, message};

const MESSAGES: &str = r#""messages": [{"role": "user", "content": "Hi"}]"#;

/// The address of an engine that answers each request for a completion with this, given its head.
fn engine(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (head, _) = message(&mut BufReader::new(stream.try_clone().unwrap()));
            if head.starts_with("POST") {
                answer(&head, &mut stream);
            }
        }
    });
    address
}

fn event(text: &str, reason: &str) -> String {
    format!("data: {{\"choices\": [{{\"index\": 0, \"text\": \"{text}\", \"finish_reason\": {reason}}}]}}\n\n")
}

/// What is not a part of the answer does not keep a request alive. Each case waits for a second: all wait at once.
#[test]
fn only_parts_of_the_answer_reset_a_timeout() {
    let ping = || ": ping\n\n".to_owned();
    let cases = [
        (String::new(), ping(), true, "HTTP/1.1 504"),
        (String::new(), event("", "null"), false, "HTTP/1.1 504"),
        (event("Hi", "null"), ping(), false, "HTTP/1.1 504"),
        (event("Hi", "null"), event("", "null"), true, "the engine wrote no text for 1 s"),
        // Only the count of tokens is missing.
        (event("Hi", "\"stop\""), ping(), true, "data: [DONE]"),
    ];
    thread::scope(|scope| {
        for (first, filler, stream, expected) in cases {
            scope.spawn(move || times_out(first, filler, stream, expected));
        }
    });
}

/// Asks for an answer of an engine that writes something first and the filler forever.
fn times_out(first: String, filler: String, stream: bool, expected: &str) {
    let case = format!("{first}{filler}");
    let upstream = engine(move |_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 X\r\n\r\n{first}");
        while stream.write_all(filler.as_bytes()).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let limits = ["--timeout-first", "1", "--timeout-idle", "1"];
    let server = Server::with(&[&["--engine", "openai", "--upstream", &upstream][..], &limits].concat());
    let began = Instant::now();
    let body = format!(r#"{{{MESSAGES}, "stream": {stream}}}"#);
    let (head, answer) = server.ask("POST /v1/chat/completions", &body);
    assert!((head + &answer).contains(expected), "{case}: {answer}");
    assert!(began.elapsed() < Duration::from_secs(20), "{case}");
}

/// Compressed answers are not asked for. The body of one that comes all the same is only passed on.
#[test]
fn a_compressed_answer_is_named() {
    for (path, body, engines, status, word) in [
        (
            "chat/completions",
            format!("{{{MESSAGES}}}"),
            200,
            502,
            "cannot be read: the body is compressed (`Content-Encoding: gzip`)",
        ),
        (
            "chat/completions",
            format!("{{{MESSAGES}}}"),
            400,
            400,
            "(400): the body is compressed (`Content-Encoding: gzip`)",
        ),
        ("completions", r#"{"prompt": "Once"}"#.to_owned(), 200, 200, "content-encoding: gzip\r\n"),
    ] {
        let upstream = engine(move |head, stream| {
            let is_asked = !head.to_ascii_lowercase().contains("accept-encoding: identity\r\n");
            let encoding = if is_asked { "identity" } else { "gzip" };
            let head = format!("HTTP/1.1 {engines} X\r\nContent-Encoding: {encoding}\r\nContent-Length: 3");
            let _ = write!(stream, "{head}\r\n\r\nzip");
        });
        let server = Server::with(&["--engine", "openai", "--upstream", &upstream]);
        let (head, answer) = server.ask(&format!("POST /v1/{path}"), &body);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {head}{answer}");
        assert!((head + &answer).contains(word), "{path}: {answer}");
    }
}
