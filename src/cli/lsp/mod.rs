//! `lsp`: the language server, on standard input and output. One thread reads, one answers from what is known, one proves.

mod capabilities;
mod convert;
mod prover;
mod server;
mod settings;

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use lsp_server::{Message, Response};

use super::{Failure, Global};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_editor::analysis::Analysis;
use server::Server;
use server::commands::Finished;

/// Serve an editor: the language server for chat templates, response templates and fixtures
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat lsp
  backchat lsp --log backchat-lsp.log

It speaks the Language Server Protocol 3.17 on standard input and output, and is started by an
editor; docs/editors.md has the configuration of several. It proves templates while you type, and
shows the verdict, the findings, and what each part of a chat template does.

Exit codes: 0 ended after `shutdown`, 1 ended without it.")]
pub struct Lsp {
    /// Write what goes wrong into this file instead of standard error
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// What the answering thread hears of.
pub enum Event {
    Client(Message),
    /// The client will say nothing more.
    Closed,
    /// The proof of a version of a document has begun.
    Working(String, i32),
    Proved(String, i32, Box<Analysis>),
    /// A request that took a thread of its own is answered.
    Computed(Box<Finished>),
}

impl Lsp {
    pub fn run(&self, _global: &Global) -> Result<ExitCode, Failure> {
        let log: Box<dyn Write> = match &self.log {
            Some(file) => Box::new(File::create(file).map_err(|error| {
                let name = file.display().to_string();
                let problem = Diagnostic::error("unwritable-file", format!("cannot write the log: {error}"));
                problem.at(Place::file(name)).help("name a file in a folder that you may write to")
            })?),
            None => Box::new(io::stderr()),
        };
        let (sender, events) = channel();
        let reader = sender.clone();
        // It ends with the process: nothing can interrupt a read.
        let _ = thread::Builder::new().name("reader".to_owned()).spawn(move || read(&mut io::stdin().lock(), &reader));
        let mut server = Server::new(sender, log);
        let code = server.serve(&events, &mut io::stdout().lock());
        Ok(ExitCode::from(code))
    }
}

/// Passes the messages of the client on. A body that is not JSON is skipped.
fn read(input: &mut impl BufRead, events: &Sender<Event>) {
    loop {
        let event = match Message::read(input) {
            Ok(Some(message)) => Event::Client(message),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
            Ok(None) | Err(_) => Event::Closed,
        };
        let is_last = matches!(event, Event::Closed);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Writes a message. A client that is gone is noticed by the end of its input.
fn write(out: &mut impl Write, message: &Message) {
    let _ = message.write(out);
}

/// An answer that says what is wrong.
fn refusal(id: lsp_server::RequestId, code: i32, message: impl Into<String>) -> Message {
    Message::Response(Response::new_err(id, code, message.into()))
}
