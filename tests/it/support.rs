//! Helpers for all tests: run the real command, and create files for it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use backchat::json::Value;
use tempfile::TempDir;

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the command in the project's folder, with empty standard input.
pub fn backchat(arguments: &[&str]) -> Output {
    backchat_in(root(), arguments, "")
}

/// Runs the command in a folder, with this standard input, and without the variables of GitHub Actions and `NO_COLOR`.
pub fn backchat_in(folder: &Path, arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_backchat"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("GITHUB_ACTIONS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref().to_vec();
    let writing = std::thread::spawn(move || {
        // The command may end before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// The exit code, standard output and standard error.
pub fn outcome(output: &Output) -> (i32, String, String) {
    (output.status.code().unwrap(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

/// The same for a run in a folder, with empty standard input.
pub fn outcome_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome(&backchat_in(folder, arguments, ""))
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// An empty folder of this name, which is kept after the test for inspection.
pub fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A folder with these files, whose names may contain folders.
pub fn folder_of(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// A path as an argument.
pub fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn integer(value: &Value) -> i64 {
    match value {
        Value::Number(number) => number.as_i64().unwrap(),
        other => panic!("{other} is not a number"),
    }
}

/// A builder of GGUF files.
pub struct Gguf {
    bytes: Vec<u8>,
    entries: u64,
}

impl Gguf {
    pub fn new() -> Self {
        Self { bytes: Vec::new(), entries: 0 }
    }

    fn string(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }

    pub fn entry(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        Self::string(&mut self.bytes, key);
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(value);
        self.entries += 1;
        self
    }

    pub fn text(self, key: &str, text: &str) -> Self {
        let mut value = Vec::new();
        Self::string(&mut value, text);
        self.entry(key, 8, &value)
    }

    pub fn texts<'t>(self, key: &str, texts: impl ExactSizeIterator<Item = &'t str>) -> Self {
        let mut value = 8_u32.to_le_bytes().to_vec();
        value.extend((texts.len() as u64).to_le_bytes());
        for text in texts {
            Self::string(&mut value, text);
        }
        self.entry(key, 9, &value)
    }

    pub fn number(self, key: &str, number: u32) -> Self {
        self.entry(key, 4, &number.to_le_bytes())
    }

    pub fn finish(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(1_u64.to_le_bytes());
        file.extend(self.entries.to_le_bytes());
        file.extend(self.bytes);
        file
    }
}
