//! Parts of a page for a page of another kind, which brings the stylesheet and the script itself.

use super::html::Html;
use super::output::Output;
use super::stepper;

/// An output that can be stepped through.
pub fn stepper(output: &Output) -> String {
    let mut html = Html::default();
    stepper::stepper(&mut html, output);
    html.finish()
}
