//! The scripts of the GitHub action, run as a runner runs them.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The script of a step of `action.yml`.
fn script(step: &str) -> String {
    let action = fs::read_to_string(Path::new(ROOT).join("action.yml")).unwrap();
    let (_, rest) = action.split_once(&format!("    - name: {step}\n")).unwrap();
    let (_, rest) = rest.split_once("      run: |\n").unwrap();
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("        "));
    lines.map(|line| format!("{}\n", line.get(8..).unwrap_or(""))).collect()
}

/// A runner: a folder with the files that steps write to.
struct Runner(tempfile::TempDir);

impl Runner {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// What a step wrote to `GITHUB_OUTPUT` or `GITHUB_PATH`.
    fn written(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn run(&self, step: &str, variables: &[(&str, &str)]) -> Output {
        Command::new("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script(step)])
            .current_dir(&self.0)
            .env("GITHUB_OUTPUT", self.path("output"))
            .env("GITHUB_PATH", self.path("path"))
            .env("RUNNER_OS", "Linux")
            .env_remove("GITHUB_ACTIONS")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A small source tree with what the key of the cache is made of.
fn sources(folder: &Path, rust: &str) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join("python")).unwrap();
    fs::create_dir_all(folder.join("crates/one/src")).unwrap();
    fs::write(folder.join("Cargo.toml"), format!("[package]\nrust-version = \"{rust}\"\n")).unwrap();
    for name in ["Cargo.lock", "src/main.rs", "crates/one/src/lib.rs", "python/Cargo.toml"] {
        fs::write(folder.join(name), "").unwrap();
    }
}

fn output(runner: &Runner, key: &str) -> String {
    let written = runner.written("output");
    written.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap().to_owned()
}

/// A runner refuses an action with a key twice.
#[test]
fn each_input_is_declared_once() {
    let action = fs::read_to_string(Path::new(ROOT).join("action.yml")).unwrap();
    let (_, rest) = action.split_once("inputs:\n").unwrap();
    let (inputs, _) = rest.split_once("outputs:\n").unwrap();
    let names = || inputs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let once: std::collections::HashSet<&str> = names().collect();
    assert_eq!(names().count(), once.len(), "{inputs}");
}

#[test]
fn the_action_builds_its_own_sources_without_git() {
    let (runner, action) = (Runner::new(), tempfile::tempdir().unwrap());
    sources(action.path(), "1.95");
    let folder = action.path().display().to_string();
    let run = runner.run("Find the sources", &[("BACKCHAT_ACTION", &folder), ("BACKCHAT_VERSION", "")]);
    assert!(run.status.success(), "{run:?}");
    assert_eq!((output(&runner, "folder"), output(&runner, "rust").as_str()), (folder.clone(), "1.95"));
    let key = output(&runner, "key");
    assert_eq!(key.len(), 16);
    for source in ["src/main.rs", "crates/one/src/lib.rs"] {
        fs::write(action.path().join(source), "fn main() {}").unwrap();
        let other = Runner::new();
        other.run("Find the sources", &[("BACKCHAT_ACTION", &folder), ("BACKCHAT_VERSION", "")]);
        assert_ne!(output(&other, "key"), key, "other sources are another build");
        fs::write(action.path().join(source), "").unwrap();
    }
}

#[test]
fn another_version_is_fetched_from_the_repository() {
    let (runner, action, server) = (Runner::new(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    sources(action.path(), "1.95");
    let repository = server.path().join("owner/name");
    sources(&repository, "1.90");
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "-m", "one"]);
    git(&repository, &["tag", "v1"]);
    let (folder, url) = (action.path().display().to_string(), format!("file://{}", server.path().display()));
    let fetched = runner.path("fetched");
    let variables = |repository| {
        [
            ("BACKCHAT_ACTION", folder.as_str()),
            ("BACKCHAT_VERSION", "v1"),
            ("BACKCHAT_REPOSITORY", repository),
            ("BACKCHAT_SERVER", &url),
            ("BACKCHAT_FETCHED", &fetched),
        ]
    };
    let run = runner.run("Find the sources", &variables("owner/name"));
    assert!(run.status.success(), "{run:?}");
    assert_eq!((output(&runner, "folder"), output(&runner, "rust").as_str()), (fetched.clone(), "1.90"));
    let run = Runner::new().run("Find the sources", &variables(""));
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8(run.stdout).unwrap().contains("needs `repository: OWNER/NAME`"));
}

/// Runs `.ci/archive` for a target in a copy of what it packs, with a cargo that has the command already.
fn archive(target: &str) -> tempfile::TempDir {
    let sources = tempfile::tempdir().unwrap();
    let at = |name: &str| sources.path().join(name);
    fs::create_dir_all(at(".ci")).unwrap();
    fs::create_dir_all(at("bin")).unwrap();
    for name in [".ci/archive", "Cargo.toml", "LICENSE", "README.md", "CHANGELOG.md"] {
        fs::copy(Path::new(ROOT).join(name), at(name)).unwrap();
    }
    // Written and run by shells: a program that this process wrote may still be open for writing in another test's child.
    let cargo = "mkdir -p target/$TARGET/release && printf '#!/bin/sh\\nexec %s \"$@\"\\n' $BACKCHAT > target/$TARGET/release/backchat && \
                 chmod +x target/$TARGET/release/backchat";
    let script = format!(
        "cat > bin/cargo <<'END'\n#!/bin/sh\n{cargo}\nEND\nchmod +x bin/cargo && PATH=$PWD/bin:$PATH sh .ci/archive $TARGET"
    );
    let variables = [("TARGET", target), ("BACKCHAT", env!("CARGO_BIN_EXE_backchat"))];
    let packed = Command::new("sh").args(["-c", &script]).envs(variables).current_dir(&sources).output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    sources
}

/// A server with the archive of this version as a release has it.
fn released(target: &str) -> (tempfile::TempDir, String) {
    let (server, version) = (tempfile::tempdir().unwrap(), env!("CARGO_PKG_VERSION"));
    let name = format!("backchat-{version}-{target}.tar.gz");
    let release = server.path().join(format!("owner/name/releases/download/v{version}"));
    fs::create_dir_all(&release).unwrap();
    fs::copy(archive(target).path().join("target/dist").join(&name), release.join(&name)).unwrap();
    let sums = Command::new("sh").args(["-c", "sha256sum * > SHA256SUMS"]).current_dir(&release).status().unwrap();
    assert!(sums.success());
    let url = format!("file://{}", server.path().display());
    (server, url)
}

#[cfg(target_os = "linux")]
#[test]
fn a_release_is_downloaded_and_everything_else_is_built() {
    let target = "x86_64-unknown-linux-musl";
    let (server, url) = released(target);
    let version = env!("CARGO_PKG_VERSION");
    let tag = format!("v{version}");
    let run = |tag: &str, arch: &str| {
        let runner = Runner::new();
        let home = runner.path("home");
        let variables = [
            ("BACKCHAT_TAG", tag),
            ("BACKCHAT_REPOSITORY", "owner/name"),
            ("BACKCHAT_SERVER", &url),
            ("BACKCHAT_HOME", &home),
            ("BACKCHAT_ARCH", arch),
        ];
        let run = runner.run("Download", &variables);
        let said = String::from_utf8(run.stdout).unwrap();
        (run.status.code(), said, runner.written("output"), runner)
    };
    let (code, said, written, runner) = run(&tag, "X64");
    assert_eq!((code, written.as_str()), (Some(0), "done=true\n"), "{said}");
    let home = runner.path("home");
    let installed = runner.run("Install", &[("BACKCHAT_BINARY", ""), ("BACKCHAT_HOME", &home)]);
    assert_eq!(String::from_utf8(installed.stdout).unwrap(), format!("backchat {version}\n"));

    for (tag, arch, reason) in [
        ("main", "X64", "main is not a release: building it"),
        ("", "X64", "this action is not a release: building it"),
        (&tag, "RISCV", "there are no archives for Linux on RISCV: building from source"),
        ("v9.9.9", "X64", "cannot be downloaded: building from source"),
    ] {
        let (code, said, written, _) = run(tag, arch);
        assert_eq!((code, written.as_str()), (Some(0), ""), "{tag} {arch}");
        assert!(said.contains(reason), "{said}");
    }

    let archive = format!("owner/name/releases/download/{tag}/backchat-{version}-{target}.tar.gz");
    fs::write(server.path().join(archive), "something else").unwrap();
    let (code, said, written, _) = run(&tag, "X64");
    assert_eq!((code, written.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("is not what SHA256SUMS of"), "{said}");
}

#[test]
fn cargo_binstall_finds_the_archives_that_are_made() {
    let manifest = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let of = |section: &str, key: &str, target: &str| {
        let (_, rest) = manifest.split_once(&format!("[package.metadata.binstall{section}]\n")).unwrap();
        let value = rest.lines().find_map(|line| line.strip_prefix(&format!("{key} = \""))).unwrap();
        let value = value.trim_end_matches('"').replace("{ name }", "backchat").replace("{ version }", version);
        value.replace("{ target }", target).replace("{ bin }", "backchat").replace("{ binary-ext }", "")
    };
    for (target, section, packed) in [
        ("aarch64-apple-darwin", "", "aarch64-apple-darwin"),
        ("x86_64-unknown-linux-musl", "", "x86_64-unknown-linux-musl"),
        ("x86_64-unknown-linux-gnu", ".overrides.x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"),
        ("aarch64-unknown-linux-gnu", ".overrides.aarch64-unknown-linux-gnu", "aarch64-unknown-linux-musl"),
    ] {
        let sources = archive(packed);
        let url = of(section, "pkg-url", target);
        let name = url.strip_prefix(&format!("{{ repo }}/releases/download/v{version}/")).unwrap();
        let list = Command::new("tar").arg("-tzf").arg(sources.path().join("target/dist").join(name)).output().unwrap();
        let listed = String::from_utf8(list.stdout).unwrap();
        assert!(listed.lines().any(|file| file == of(section, "bin-dir", target)), "{target}: {listed}");
    }
}

#[test]
fn every_script_of_the_workflow_is_one() {
    for file in ["action.yml", ".github/workflows/release.yml", ".github/workflows/newest.yml"] {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let scripts: Vec<&str> = text.split("run: |\n").skip(1).collect();
        assert!(!scripts.is_empty(), "{file}");
        for script in scripts {
            let indent = script.len() - script.trim_start_matches(' ').len();
            let lines = script.lines().take_while(|line| line.is_empty() || line.starts_with(&" ".repeat(indent)));
            let script: String = lines.map(|line| format!("{line}\n")).collect();
            let checked = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
            assert!(checked.status.success(), "{file}: {script}\n{checked:?}");
        }
    }
}

#[test]
fn a_binary_that_is_given_is_used() {
    let runner = Runner::new();
    let home = runner.path("home");
    let given = [("BACKCHAT_BINARY", env!("CARGO_BIN_EXE_backchat")), ("BACKCHAT_HOME", home.as_str())];
    let run = runner.run("Install", &given);
    assert!(run.status.success(), "{run:?}");
    assert_eq!(runner.written("path"), format!("{home}/bin\n"));
    assert!(String::from_utf8(run.stdout).unwrap().starts_with("backchat "));
}

#[test]
fn templates_are_linted_and_fixtures_checked_line_by_line() {
    let runner = Runner::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_backchat")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
    let case = |text: &str| {
        format!("template: t.json\n=== prefix\n<bot>\n=== output\nHi\n=== message\n{{\"content\": \"{text}\"}}\n")
    };
    fs::write(runner.path("t.json"), template).unwrap();
    fs::write(runner.path("a b.fixture"), case("Hi")).unwrap();
    fs::write(runner.path("c.fixture"), case("Bye")).unwrap();
    let reports = runner.path("");
    let check = |paths: &str| {
        let variables = [("PATH", path.as_str()), ("BACKCHAT_PATHS", paths), ("BACKCHAT_ARGUMENTS", "--reference off")];
        runner.run("Check", &[&variables[..], &[("BACKCHAT_REPORTS", reports.as_str())]].concat())
    };
    assert_eq!(check("a b.fixture\n\n").status.code(), Some(0));
    let failed = check("a b.fixture\nc.fixture\n");
    assert_eq!(failed.status.code(), Some(1));
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(said.lines().last().unwrap().starts_with("2 cases: 1 passed, 1 failed"), "{said}");
    assert!(runner.written("backchat.html").contains("c.fixture"));
    assert!(runner.written("backchat.xml").contains("failures=\"1\""));
    assert!(output(&runner, "sarif").ends_with("backchat.sarif"));
    let linted = runner.run("Lint", &[("PATH", &path), ("BACKCHAT_TEMPLATES", "  \nt.json\n")]);
    assert_eq!(linted.status.code(), Some(0), "{linted:?}");
}

#[test]
fn a_pull_request_is_compared_with_its_base_which_a_shallow_checkout_lacks() {
    let (author, remote, runner) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Runner::new());
    let url = format!("file://{}", remote.path().display());
    git(remote.path(), &["init", "-q", "--bare"]);
    git(remote.path(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    git(author.path(), &["clone", "-q", &url, "."]);
    let template = fs::read_to_string(Path::new(ROOT).join("examples/diff/released.jinja")).unwrap();
    fs::write(author.path().join("chat template.jinja"), &template).unwrap();
    fs::write(author.path().join("notes.md"), "one").unwrap();
    git(author.path(), &["add", "."]);
    git(author.path(), &["commit", "-qm", "one"]);
    let head = |folder: &Path| {
        let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let base = head(author.path());
    fs::write(author.path().join("chat template.jinja"), template.replace("<|end|>", "<|stop|>")).unwrap();
    fs::write(author.path().join("notes.md"), "two").unwrap();
    git(author.path(), &["commit", "-qam", "two"]);
    git(author.path(), &["push", "-q", "origin", "HEAD"]);
    git(runner.0.path(), &["clone", "-q", "--depth", "1", &url, "."]);
    let bin = Path::new(env!("CARGO_BIN_EXE_backchat")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let (reports, summary) = (tempfile::tempdir().unwrap(), runner.path("summary"));
    let reports = reports.path().display().to_string();
    let variables = |fail_on: &'static str| {
        [
            ("PATH", path.clone()),
            ("BACKCHAT_BASE", base.clone()),
            ("BACKCHAT_NUMBER", "3".to_owned()),
            ("BACKCHAT_FAIL_ON", fail_on.to_owned()),
            ("BACKCHAT_TOKEN", String::new()),
            ("BACKCHAT_API", String::new()),
            ("BACKCHAT_REPORTS", reports.clone()),
            ("GITHUB_STEP_SUMMARY", summary.clone()),
        ]
    };
    for (fail_on, code) in [("", 0), ("mask", 0), ("prompt refusal", 1)] {
        let variables = variables(fail_on);
        let given: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let output = runner.run("Compare", &given);
        assert_eq!(output.status.code(), Some(code), "{fail_on}: {output:?}");
    }
    let written = runner.written("summary");
    assert!(written.starts_with(
        "<!-- backchat diff -->\n### What changes for whom\n\n#### `chat template.jinja`\n\n**differs in "
    ));
    assert!(!written.contains("notes.md"), "{written}");
}
