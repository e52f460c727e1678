//! The command line that opens an editor at a line, in the syntax of each known editor.

use std::path::Path;
use std::process::Command;

/// The command that opens an editor on a line of a file. `editor` is `VISUAL` or `EDITOR`, with its arguments.
pub fn command(editor: &str, file: &Path, line: usize) -> Command {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let mut command = Command::new(program);
    command.args(words);
    let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or(program);
    let with_line = || format!("{}:{line}", file.display());
    match name {
        "code" | "code-insiders" | "codium" | "cursor" => command.arg("--wait").arg("--goto").arg(with_line()),
        "hx" | "helix" | "subl" | "zed" => command.arg(with_line()),
        "vi" | "vim" | "nvim" | "gvim" | "nano" | "micro" | "emacs" | "emacsclient" | "kak" | "joe" | "ne" | "mg" => {
            command.arg(format!("+{line}")).arg(file)
        }
        _ => command.arg(file),
    };
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_gets_the_line_in_its_syntax() {
        for (editor, arguments) in [
            ("vim", &["+7", "a b.json"][..]),
            ("/usr/bin/emacsclient -t", &["-t", "+7", "a b.json"]),
            ("code", &["--wait", "--goto", "a b.json:7"]),
            ("hx", &["a b.json:7"]),
            ("my-editor", &["a b.json"]),
            ("", &["+7", "a b.json"]),
        ] {
            let command = command(editor, Path::new("a b.json"), 7);
            assert_eq!(command.get_args().collect::<Vec<_>>(), arguments, "{editor}");
        }
    }
}
