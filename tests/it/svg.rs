//! A screen as an SVG image: the same cells give the same bytes, and the image needs no font of its own.

use std::fmt::Write;

/// The size of a cell, and the space around the screen.
const CELL: (usize, usize) = (9, 19);
const MARGIN: usize = 14;

const FOREGROUND: &str = "#d4d7dd";
const BACKGROUND: &str = "#15181e";
/// The 16 colors of a terminal's palette.
const PALETTE: [&str; 16] = [
    "#15181e", "#e06c75", "#8fbf6f", "#d9b65c", "#6ba4e8", "#c58be0", "#5bbccc", "#d4d7dd", "#7f8794", "#f08a92",
    "#a8d888", "#f0cf7a", "#8fbcf5", "#d9a5f0", "#7bd5e3", "#ffffff",
];

/// How a run of cells is drawn.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    color: &'static str,
    ground: &'static str,
    bold: bool,
    italic: bool,
    underline: bool,
    dim: bool,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        let (mut color, mut ground) = (named(cell.fgcolor(), FOREGROUND), named(cell.bgcolor(), BACKGROUND));
        if cell.inverse() {
            std::mem::swap(&mut color, &mut ground);
        }
        let (bold, italic, underline) = (cell.bold(), cell.italic(), cell.underline());
        Self { color, ground, bold, italic, underline, dim: cell.dim() }
    }

    fn attributes(&self) -> String {
        let mut attributes = format!("fill=\"{}\"", self.color);
        for (is_set, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.italic, " font-style=\"italic\""),
            (self.underline, " text-decoration=\"underline\""),
            (self.dim, " opacity=\"0.6\""),
        ] {
            attributes.push_str(if is_set { attribute } else { "" });
        }
        attributes
    }
}

/// The screen drawn with text that keeps its place whatever the font: each run of cells has a fixed length.
pub fn svg(screen: &vt100::Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (usize::from(columns) * CELL.0 + 2 * MARGIN, usize::from(rows) * CELL.1 + 2 * MARGIN);
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"15\">\n\
         <title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n",
        escaped(title)
    );
    for row in 0..rows {
        for (start, cells, look, text) in runs(screen, row) {
            let (x, y) = (MARGIN + start * CELL.0, MARGIN + usize::from(row) * CELL.1);
            let length = cells * CELL.0;
            if look.ground != BACKGROUND {
                writeln!(
                    image,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{}\" fill=\"{}\"/>",
                    CELL.1, look.ground
                )
                .unwrap();
            }
            if !text.trim().is_empty() {
                writeln!(
                    image,
                    "<text x=\"{x}\" y=\"{}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" {} xml:space=\"preserve\">{}</text>",
                    y + CELL.1 - 5,
                    look.attributes(),
                    escaped(&text)
                )
                .unwrap();
            }
        }
    }
    image + "</svg>\n"
}

/// The runs of a row's cells that look alike: the first column, the number of cells, the look and the text.
fn runs(screen: &vt100::Screen, row: u16) -> Vec<(usize, usize, Look, String)> {
    let mut runs: Vec<(usize, usize, Look, String)> = Vec::new();
    for column in 0..screen.size().1 {
        let cell = screen.cell(row, column).unwrap();
        let text = if cell.is_wide_continuation() {
            ""
        } else if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        let look = Look::of(cell);
        match runs.last_mut() {
            Some((_, cells, known, before)) if *known == look => {
                *cells += 1;
                before.push_str(text);
            }
            _ => runs.push((usize::from(column), 1, look, text.to_owned())),
        }
    }
    runs
}

fn named(color: vt100::Color, default: &'static str) -> &'static str {
    match color {
        vt100::Color::Default => default,
        vt100::Color::Idx(index) => PALETTE[usize::from(index)],
        vt100::Color::Rgb(..) => panic!("the workbench uses the palette of the terminal"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
