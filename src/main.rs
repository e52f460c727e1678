//! The `backchat` command.

fn main() -> std::process::ExitCode {
    backchat_cli::cli::main()
}
