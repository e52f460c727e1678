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

/// What is not a part of the answer does not keep a request alive.
#[test]
fn only_parts_of_the_answer_reset_a_timeout() {
    let ping = || ": ping\n\n".to_owned();
    for (first, filler, stream, expected) in [
        (String::new(), ping(), true, "HTTP/1.1 504"),
        (String::new(), event("", "null"), false, "HTTP/1.1 504"),
        (event("Hi", "null"), ping(), false, "HTTP/1.1 504"),
        (event("Hi", "null"), event("", "null"), true, "the engine wrote no text for 1 s"),
        // Only the count of tokens is missing.
        (event("Hi", "\"stop\""), ping(), true, "data: [DONE]"),
    ] {
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
}
