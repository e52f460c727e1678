//! The `backchat` command.

fn main() -> std::process::ExitCode {
    backchat::cli::main()
}
