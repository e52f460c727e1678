//! Applies the fixes of findings. No fix is applied twice, and none that overlaps another.

use backchat_core::diagnostic::{Diagnostic, Edit, with_edits};

/// The text with the fixes of some findings, and how many were applied. Of fixes that touch the same bytes only the
/// first is applied; the others are offered at the next run.
pub fn apply_fixes(text: &str, findings: &[Diagnostic]) -> (String, usize) {
    let mut edits: Vec<&Edit> = Vec::new();
    let mut made = 0;
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let is_free = |edit: &Edit| {
            edits.iter().all(|other| edit.span.end <= other.span.start || other.span.end <= edit.span.start)
        };
        if !fix.edits.is_empty() && fix.edits.iter().all(is_free) {
            edits.extend(&fix.edits);
            made += 1;
        }
    }
    (with_edits(text, edits), made)
}
