//! How two answers to many outputs differ, by cause.

use backchat_core::diagnostic::escape;
use backchat_diff::messages::{Group, groups};
use backchat_workbench::replay::{Side, cause_of_sides};

/// How many outputs of a cause are named.
const NAMED: usize = 6;

/// The outputs that were read twice.
#[derive(Default)]
pub struct Comparison {
    /// How many there are.
    pub outputs: usize,
    /// The names of the two answers.
    sides: [String; 2],
    differing: Vec<Differing>,
}

struct Differing {
    index: usize,
    name: String,
    /// The length of its text in bytes.
    length: usize,
    cause: String,
}

/// Outputs that differ for one cause.
pub struct Cause<'c> {
    group: Group<'c, (), Differing>,
    /// The index of the output with the shortest text.
    pub smallest: usize,
}

impl Comparison {
    /// Adds an output, read in two ways.
    pub fn add(&mut self, index: usize, name: &str, sides: &[Side]) {
        let [first, second] = sides else { return };
        self.outputs += 1;
        self.sides = [first, second].map(|side| side.name.clone());
        if let Some(cause) = cause_of_sides(first, second) {
            let length = first.recording.text().len();
            self.differing.push(Differing { index, name: name.to_owned(), length, cause });
        }
    }

    /// The causes, those of the most outputs first.
    pub fn causes(&self) -> Vec<Cause<'_>> {
        let groups = groups(&self.differing, |output| ((), output.cause.clone()), |_| ());
        let causes = groups.into_iter().map(|group| {
            let smallest = group.items.iter().map(|(_, output)| *output).min_by_key(|output| output.length);
            Cause { smallest: smallest.map_or(0, |output| output.index), group }
        });
        causes.collect()
    }

    /// How many outputs differ, and for which causes.
    pub fn summary(&self, causes: &[Cause<'_>]) -> String {
        let [first, second] = self.sides.each_ref().map(|name| escape(name));
        let mut text =
            format!("{} of {} outputs differ with {second} instead of {first}\n", self.differing.len(), self.outputs);
        let width = causes.first().map_or(0, |cause| cause.group.items.len().to_string().len());
        for Cause { group, .. } in causes {
            let count = group.items.len();
            let mut names: Vec<_> = group.items.iter().take(NAMED).map(|(_, output)| escape(&output.name)).collect();
            if let Some(more) = count.checked_sub(NAMED).filter(|more| *more > 0) {
                names.push(format!("and {more} more").into());
            }
            text.push_str(&format!("{count:>width$}  {}\n", escape(&group.cause)));
            text.push_str(&format!("{:width$}  {}\n", "", names.join(", ")));
        }
        text
    }
}
