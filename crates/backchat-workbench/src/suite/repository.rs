//! The files with which a repository checks a suite: workflow, hooks, attributes, and a badge.

use std::fs;
use std::path::Path;

/// The workflow's file.
pub const WORKFLOW: &str = ".github/workflows/backchat.yml";
/// The file of the hooks.
pub const HOOKS: &str = ".pre-commit-config.yaml";
/// The file that keeps git from changing line ends.
pub const ATTRIBUTES: &str = ".gitattributes";

/// A workflow that checks all fixtures of the repository, lints a template, and examines the chat template of a model for
/// the conversations of agents that it takes today.
pub fn workflow(template: &str, chat_template: &str, healthy: &[String]) -> String {
    let required: String = healthy.iter().map(|fact| format!("            {fact}\n")).collect();
    let required = if required.is_empty() { String::new() } else { format!("          require: |\n{required}") };
    format!(
        "\
name: Response templates
on:
  push:
  pull_request:
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      # The repository of Backchat, or your copy of it, and the revision to use.
      - uses: OWNER/backchat@REVISION
        with:
          templates: |
            {template}
          chat-templates: |
            {chat_template}
{required}"
    )
}

/// The hooks that do the same before a commit.
pub fn hooks() -> String {
    "\
repos:
  # The repository of Backchat, or your copy of it, and the revision to use.
  - repo: https://github.com/OWNER/backchat
    rev: REVISION
    hooks:
      - id: backchat-lint
      - id: backchat-check
"
    .to_owned()
}

/// The text with a line added at its end; `None` if it already has the line.
pub fn with_line(text: &str, line: &str) -> Option<String> {
    if text.lines().any(|known| known.trim() == line) {
        return None;
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{gap}{line}\n"))
}

/// Whether a file of YAML lists an item, under any key: a word, or a folder by itself or by its chat template.
pub fn lists(text: &str, item: &str) -> bool {
    let is_between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']');
    let words = text.lines().flat_map(|line| line.split(is_between)).chain(text.lines().map(str::trim));
    let is_it = |word: &str| {
        let below = word.strip_prefix(item);
        below.is_some_and(|below| matches!(below, "" | "/") || below.starts_with("/chat_template"))
    };
    words.into_iter().any(is_it)
}

/// The badge of the workflow, as Markdown.
pub fn badge(root: &Path) -> String {
    let name = repository(root).unwrap_or_else(|| "OWNER/REPOSITORY".to_owned());
    let page = format!("https://github.com/{name}/actions/workflows/backchat.yml");
    format!("[![Response templates]({page}/badge.svg)]({page})")
}

/// The name of a repository on GitHub, as its remote says.
fn repository(root: &Path) -> Option<String> {
    let config = fs::read_to_string(root.join(".git/config")).ok()?;
    let url = config.lines().find_map(|line| line.trim().strip_prefix("url = "))?;
    let (_, name) = url.split_once("github.com")?;
    let name = name.trim_start_matches([':', '/']).trim_end_matches(".git");
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    name.split_once('/').filter(|(owner, name)| is_name(owner) && is_name(name))?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_once() {
        for (text, with) in
            [("", Some("*.x\n")), ("a", Some("a\n*.x\n")), ("a\n", Some("a\n*.x\n")), ("a\n *.x \nb\n", None)]
        {
            assert_eq!(with_line(text, "*.x").as_deref(), with, "{text:?}");
        }
    }

    #[test]
    fn an_item_is_listed_as_a_word_of_its_own() {
        let listed = "templates: |\n  a/tokenizer_config.json\nchat-templates: [b/, \"c/chat_template.jinja\"]\nd: x y/z\n  x y\n";
        for (item, is_listed) in [
            ("a/tokenizer_config.json", true),
            ("a", false),
            ("b", true),
            ("c", true),
            ("d", false),
            ("x y", true),
            (".", false),
        ] {
            assert_eq!(lists(listed, item), is_listed, "{item}");
        }
    }

    #[test]
    fn the_badge_names_the_remote() {
        let folder = tempfile::tempdir().unwrap();
        assert!(badge(folder.path()).contains("OWNER/REPOSITORY"));
        fs::create_dir(folder.path().join(".git")).unwrap();
        for (url, name) in [
            ("git@github.com:ann/models.git", "ann/models"),
            ("https://github.com/ann/models", "ann/models"),
            ("https://example.com/ann/models", "OWNER/REPOSITORY"),
            ("https://github.com/a/b)[x](c", "OWNER/REPOSITORY"),
        ] {
            fs::write(folder.path().join(".git/config"), format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap();
            let page = format!("https://github.com/{name}/actions/workflows/backchat.yml");
            assert_eq!(badge(folder.path()), format!("[![Response templates]({page}/badge.svg)]({page})"));
        }
    }
}
