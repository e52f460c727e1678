//! The server's metrics in Prometheus's text format. Labels come from fixed lists, never from clients.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Upper bounds of the histograms of seconds.
const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0];
/// Upper bounds of the time from a read to the write after it.
const OVERHEAD: [f64; 10] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 2e-2, 0.1];

#[derive(Clone, Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], sum: 0.0, count: 0 }
    }

    pub fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        self.sum += seconds;
        self.count += 1;
        if let Some(count) =
            self.bounds.iter().position(|bound| seconds <= *bound).and_then(|at| self.counts.get_mut(at))
        {
            *count += 1;
        }
    }

    fn write(&self, name: &str, help: &str, out: &mut String) {
        head(name, "histogram", help, out);
        let mut below = 0;
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            below += count;
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", self.sum, self.count);
    }
}

/// All counts of a server.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Requests for completions by result: a status, or `cancelled`.
    pub requests: BTreeMap<&'static str, u64>,
    pub problems: BTreeMap<&'static str, u64>,
    /// Failures of the engine by outcome.
    pub upstream_errors: BTreeMap<&'static str, u64>,
    pub open: u64,
    /// Characters that engines wrote.
    pub characters: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Unknown members of requests.
    pub ignored: u64,
    /// From a request to the first event of its engine.
    pub first: Histogram,
    /// Time from a request to the end of its answer.
    pub total: Histogram,
    /// From a read of an engine to the write to the client.
    pub overhead: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: BTreeMap::new(),
            problems: BTreeMap::new(),
            upstream_errors: BTreeMap::new(),
            open: 0,
            characters: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            ignored: 0,
            first: Histogram::new(&SECONDS),
            total: Histogram::new(&SECONDS),
            overhead: Histogram::new(&OVERHEAD),
        }
    }
}

impl Metrics {
    /// Increments the counter of a kind.
    pub fn count(counts: &mut BTreeMap<&'static str, u64>, kind: &'static str) {
        *counts.entry(kind).or_default() += 1;
    }

    /// The text for Prometheus; `dropped` rows did not reach the record.
    pub fn to_text(&self, dropped: u64) -> String {
        let mut out = String::new();
        let labelled = [
            ("requests", "status", &self.requests, "Requests for completions"),
            ("problems", "kind", &self.problems, "Problems in outputs"),
            ("upstream_errors", "kind", &self.upstream_errors, "Failures of the engine"),
        ];
        for (name, label, counts, help) in labelled {
            let name = format!("backchat_{name}_total");
            head(&name, "counter", help, &mut out);
            for (kind, count) in counts {
                let _ = writeln!(out, "{name}{{{label}=\"{kind}\"}} {count}");
            }
        }
        let plain = [
            ("streams_open", "gauge", self.open, "Answers in progress"),
            ("output_characters_total", "counter", self.characters, "Characters that the engine wrote"),
            ("prompt_tokens_total", "counter", self.prompt_tokens, "Tokens of prompts"),
            ("completion_tokens_total", "counter", self.completion_tokens, "Tokens of answers"),
            ("ignored_members_total", "counter", self.ignored, "Unknown members of requests"),
            ("record_rows_dropped_total", "counter", dropped, "Rows dropped because the disk was too slow"),
        ];
        for (name, kind, count, help) in plain {
            head(&format!("backchat_{name}"), kind, help, &mut out);
            let _ = writeln!(out, "backchat_{name} {count}");
        }
        self.first.write(
            "backchat_time_to_first_chunk_seconds",
            "Time from a request to the engine's first event",
            &mut out,
        );
        self.total.write("backchat_stream_seconds", "Time from a request to the end of its answer", &mut out);
        self.overhead.write("backchat_chunk_overhead_seconds", "Time from a read to the write that follows", &mut out);
        out
    }
}

fn head(name: &str, kind: &str, help: &str, out: &mut String) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let mut metrics = Metrics::default();
        metrics.overhead.add(Duration::from_micros(15));
        metrics.overhead.add(Duration::from_secs(9));
        Metrics::count(&mut metrics.requests, "200");
        let text = metrics.to_text(3);
        for line in [
            "backchat_requests_total{status=\"200\"} 1",
            "backchat_chunk_overhead_seconds_bucket{le=\"0.00001\"} 0",
            "backchat_chunk_overhead_seconds_bucket{le=\"0.00002\"} 1",
            "backchat_chunk_overhead_seconds_bucket{le=\"0.1\"} 1",
            "backchat_chunk_overhead_seconds_bucket{le=\"+Inf\"} 2",
            "backchat_record_rows_dropped_total 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
