//! A terminal for the real command.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The timeout of every wait.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A program in a terminal.
pub struct Session {
    /// The program.
    pub child: Child,
    pub keyboard: Box<dyn Write>,
    pub said: Receiver<Vec<u8>>,
    pub screen: vt100::Parser,
}

impl Session {
    /// Starts a program in a terminal of this size.
    pub fn start(program: &Path, arguments: &[&str], folder: &Path, size: (u16, u16), stdin: Option<Stdio>) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(size.0, size.1)).unwrap();
        let mut command = pty_process::blocking::Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            // A backtrace would push the output off the screen.
            .env_remove("RUST_BACKTRACE")
            .env_remove("COLORFGBG");
        if let Some(stdin) = stdin {
            command = command.stdin(stdin);
        }
        let child = command.spawn(pts).unwrap();
        let (tell, said) = channel();
        let keyboard = std::os::fd::OwnedFd::from(pty);
        let mut output = fs::File::from(keyboard.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if tell.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = vt100::Parser::new(size.0, size.1, 0);
        Self { child, keyboard: Box::new(fs::File::from(keyboard)), said, screen }
    }

    /// Starts `backchat` in a terminal of the usual size.
    pub fn backchat(folder: &Path, arguments: &[&str]) -> Self {
        Self::start(Path::new(env!("CARGO_BIN_EXE_backchat")), arguments, folder, (24, 80), None)
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits until the screen meets a condition.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.screen.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) if left.is_zero() => panic!("never seen: {what}\n{}", self.screen.screen().contents()),
                Err(_) => {}
            }
        }
    }

    /// Waits until the screen stops changing.
    pub fn settles(&mut self) {
        while let Ok(bytes) = self.said.recv_timeout(Duration::from_millis(400)) {
            self.screen.process(&bytes);
        }
    }

    pub fn sees(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the process is stopped; it restores the terminal shortly before.
    pub fn stops(&self) {
        let deadline = Instant::now() + PATIENCE;
        let id = self.child.id().to_string();
        loop {
            let state = Command::new("ps").args(["-o", "stat=", "-p", &id]).output().unwrap();
            if state.stdout.starts_with(b"T") {
                return;
            }
            assert!(Instant::now() < deadline, "never stopped: {}", String::from_utf8_lossy(&state.stdout));
        }
    }

    /// Waits for the end.
    pub fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                while let Ok(bytes) = self.said.recv_timeout(Duration::from_millis(100)) {
                    self.screen.process(&bytes);
                }
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.screen.screen().contents());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asserts that the terminal was restored.
    pub fn is_given_back(&mut self) {
        self.until("the terminal given back", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // If the test failed, the program is still running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
