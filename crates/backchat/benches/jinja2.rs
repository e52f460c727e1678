//! How fast chat templates compile and render, as a ratio to Jinja2 in the same run.
//!
//! `cargo bench --bench jinja2` needs a Python with jinja2 (`python3`, or what the environment variable `PYTHON` names) and
//! prints a line for each template of `chat_templates/`. Both sides are measured template by template, one right after the
//! other; each figure is the best of several rounds. `7.0×` is seven times as fast as Jinja2.

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backchat::chat::{ChatTemplate, RenderOptions};
use backchat::json::{self, Value};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(20);

/// The conversations: without tools, and with a call and its result.
const PLAIN: &str = include_str!("conversations/plain.json");
const TOOLS: &str = include_str!("conversations/tools.json");

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../chat_templates");
    let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut jinja2 = Command::new(python)
        .arg(here.join("benches/times_of_jinja2.py"))
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    jinja2.stdin.take().ok_or("no standard input")?.write_all(format!("[{PLAIN}, {TOOLS}]").as_bytes())?;
    println!("{:<26}{:>16}{:>16}{:>16}", "µs, × Jinja2", "compile", "plain", "tools");
    let mut columns = [const { Column::new() }; 3];
    for line in BufReader::new(jinja2.stdout.take().ok_or("no standard output")?).lines() {
        let row = json::read(&line?)?;
        let Some([Value::String(name), theirs @ ..]) = row.as_list() else { return Err("not a row".into()) };
        let source = fs::read_to_string(folder.join(format!("{name}.jinja")))?;
        let ours = [compile(&source), render(&source, PLAIN)?, render(&source, TOOLS)?];
        print!("{name:<26}");
        for (column, (ours, theirs)) in columns.iter_mut().zip(ours.into_iter().zip(theirs)) {
            match (ours, theirs.as_f64()) {
                (Some(ours), Some(theirs)) => column.add(ours, theirs / ours),
                _ => print!("{:>16}", "refused"),
            }
        }
        println!();
    }
    if !jinja2.wait()?.success() {
        return Err("Jinja2 was not measured: `PYTHON` has to name a Python that has it".into());
    }
    print!("{:<26}", "median");
    columns.iter_mut().for_each(|column| print_figure(median(&mut column.times), median(&mut column.ratios)));
    println!();
    Ok(())
}

/// The microseconds of every template, and how many times as fast as Jinja2 that is.
struct Column {
    times: Vec<f64>,
    ratios: Vec<f64>,
}

impl Column {
    const fn new() -> Self {
        Self { times: Vec::new(), ratios: Vec::new() }
    }

    fn add(&mut self, time: f64, ratio: f64) {
        print_figure(time, ratio);
        self.times.push(time);
        self.ratios.push(ratio);
    }
}

fn print_figure(time: f64, ratio: f64) {
    print!("{time:>9.1}{ratio:>6.1}×");
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn compile(source: &str) -> Option<f64> {
    Some(best(|| drop(black_box(ChatTemplate::compile(black_box(source))))))
}

/// Nothing is measured where the template refuses the conversation.
fn render(source: &str, context: &str) -> Result<Option<f64>, Box<dyn Error>> {
    let template = ChatTemplate::compile(source)?;
    let context = json::read(context)?;
    let context = context.as_object().ok_or("a context that is no object")?;
    let options = RenderOptions::default();
    if template.render(context, &options).is_err() {
        return Ok(None);
    }
    Ok(Some(best(|| drop(black_box(template.render(black_box(context), &options))))))
}

/// The least microseconds that one run took, of several rounds.
fn best(mut work: impl FnMut()) -> f64 {
    let mut timed = |times: u32| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed()
    };
    let mut times = 1;
    while timed(times) < ROUND {
        times *= 2;
    }
    let least = (0..ROUNDS).map(|_| timed(times)).min().unwrap_or_default();
    least.as_secs_f64() * 1e6 / f64::from(times)
}
