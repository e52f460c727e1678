//! Removes the stop text from an answer, for engines that leave it in, even across pieces.

/// Watches the pieces of one choice.
#[derive(Clone, Debug, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    /// The end of the text so far, if a stop text could begin there.
    held: String,
    /// The stop text that ended the answer.
    found: Option<String>,
}

impl StopStrings {
    pub fn new(stops: &[String]) -> Self {
        Self { stops: stops.to_vec(), ..Self::default() }
    }

    /// The part of the text that is certain to belong to the answer.
    pub fn feed(&mut self, piece: &str) -> String {
        if self.found.is_some() {
            return String::new();
        }
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let places = self.stops.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop)));
        if let Some((at, stop)) = places.min_by_key(|(at, _)| *at) {
            self.found = Some(stop.clone());
            text.truncate(at);
            return text;
        }
        let could_begin = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            self.stops.iter().any(|stop| stop.starts_with(rest))
        };
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = text.len().saturating_sub(longest);
        let held = text.char_indices().map(|(at, _)| at).filter(|at| *at >= from).find(could_begin);
        if let Some(at) = held {
            self.held = text.split_off(at);
        }
        text
    }

    /// The stop text that ended the answer.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// The held text, at the end.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_however_it_is_cut() {
        let stops = ["END".to_owned(), "EN.".to_owned()];
        for (text, expected) in [("one END two", "one "), ("ENE EN", "ENE EN"), ("EEN.D", "E"), ("", ""), ("äEND", "ä")]
        {
            for size in 1..5 {
                let mut watched = StopStrings::new(&stops);
                let characters: Vec<char> = text.chars().collect();
                let pieces = characters.chunks(size).map(|piece| piece.iter().collect::<String>());
                let mut out: String = pieces.map(|piece| watched.feed(&piece)).collect();
                out.push_str(&watched.finish());
                assert_eq!(out, expected, "{text:?} in pieces of {size}");
            }
        }
    }
}
