//! The styles of the screen. No meaning is conveyed by color alone.

use ratatui::style::{Color, Modifier, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Colors that read well on a dark background.
    Dark,
    /// Colors that read well on a light background.
    Light,
    /// No colors.
    Plain,
}

/// Most readers with a color vision deficiency can distinguish them, in any terminal's palette.
const DARK: [Color; 6] =
    [Color::Cyan, Color::Yellow, Color::LightMagenta, Color::Green, Color::LightBlue, Color::LightRed];
/// The palette's own bright colors, white, yellow and light gray are hard to read on white.
const LIGHT: [Color; 6] = [Color::Blue, Color::Magenta, Color::Green, Color::Red, Color::Cyan, Color::Black];

impl Theme {
    /// The theme for a terminal that reports its colors in `COLORFGBG`; dark if it does not.
    pub fn guess(foreground_background: Option<&str>) -> Self {
        let background = foreground_background.and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
        match background {
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Dark,
        }
    }

    fn colored(self, color: Color) -> Style {
        match self {
            Self::Plain => Style::new(),
            _ => Style::new().fg(color),
        }
    }

    /// A field's text.
    pub fn field(self, index: usize) -> Style {
        let palette = match self {
            Self::Plain => return Style::new(),
            Self::Dark => DARK,
            Self::Light => LIGHT,
        };
        palette.get(index % palette.len()).map_or(Style::new(), |color| Style::new().fg(*color))
    }

    pub fn delimiter(self, index: usize) -> Style {
        self.field(index).add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }

    pub fn quiet(self) -> Style {
        match self {
            Self::Dark | Self::Light => Style::new().fg(Color::DarkGray),
            Self::Plain => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// A symbol for an invisible character.
    pub fn faint(self) -> Style {
        match self {
            Self::Light => Style::new().add_modifier(Modifier::ITALIC),
            Self::Dark | Self::Plain => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Prompt that the parser does not read.
    pub fn prompt(self) -> Style {
        self.quiet().add_modifier(Modifier::ITALIC)
    }

    pub fn held(self) -> Style {
        let held = Style::new().add_modifier(Modifier::DIM | Modifier::REVERSED);
        match self {
            // Many terminals dim the background of reversed text, which is unreadable on white.
            Self::Light => Style::new().fg(Color::White).bg(Color::DarkGray),
            Self::Dark | Self::Plain => held,
        }
    }

    /// Text that no field takes.
    pub fn dropped(self) -> Style {
        self.quiet().add_modifier(Modifier::CROSSED_OUT)
    }

    /// The end of the text that has arrived. Without colors it must not look like held text.
    pub fn cursor(self) -> Style {
        let cursor = Style::new().add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM);
        match self {
            Self::Plain => cursor.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Self::Dark | Self::Light => cursor,
        }
    }

    /// A match of the search.
    pub fn found(self) -> Style {
        match self {
            Self::Plain => Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD),
            _ => Style::new().fg(Color::Black).bg(Color::Yellow),
        }
    }

    pub fn bad(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.colored(Color::Green)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn current(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A key in the bottom bar.
    pub fn key(self) -> Style {
        self.colored(if self == Self::Light { Color::Blue } else { Color::Cyan }).add_modifier(Modifier::BOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_follows_the_background() {
        for (said, theme) in [
            (None, Theme::Dark),
            (Some("15;0"), Theme::Dark),
            (Some("0;15"), Theme::Light),
            (Some("0;default;15"), Theme::Light),
            (Some("12;8"), Theme::Dark),
            (Some("nonsense"), Theme::Dark),
        ] {
            assert_eq!(Theme::guess(said), theme, "{said:?}");
        }
    }

    #[test]
    fn no_style_is_pale_on_white() {
        let light = Theme::Light;
        let mut styles: Vec<Style> = (0..6).flat_map(|index| [light.field(index), light.delimiter(index)]).collect();
        styles.extend([light.quiet(), light.prompt(), light.held(), light.dropped(), light.cursor(), light.found()]);
        styles.extend([light.bad(), light.good(), light.strong(), light.current(), light.key()]);
        for style in styles {
            let on_white = style.bg.is_none();
            let pale =
                matches!(style.fg, Some(Color::White | Color::Gray | Color::Yellow)) || style.fg.is_some_and(is_light);
            assert!(!on_white || !pale, "{style:?}");
            assert!(!style.add_modifier.contains(Modifier::DIM), "{style:?}");
        }
    }

    fn is_light(color: Color) -> bool {
        let name = color.to_string();
        name.starts_with("Light")
    }

    #[test]
    fn without_colors_there_are_none() {
        let plain = Theme::Plain;
        let differ = plain.held().add_modifier ^ plain.cursor().add_modifier;
        assert!(!(differ - Modifier::DIM).is_empty(), "not every terminal dims");
        let styles =
            [plain.field(0), plain.delimiter(1), plain.quiet(), plain.held(), plain.found(), plain.bad(), plain.key()];
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }
}
