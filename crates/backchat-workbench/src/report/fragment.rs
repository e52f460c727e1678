//! Parts of a page for embedding in another page, which brings its own stylesheet and script.

use super::html::Html;
use super::output::Output;
use super::stepper;

/// An output that can be stepped through.
pub fn stepper(output: &Output) -> String {
    let mut html = Html::default();
    stepper::stepper(&mut html, output);
    html.finish()
}
