//! Navigation between the moments of a recording.

use super::recording::{Kind, Moment, Outcome, Recording};

impl Recording {
    /// Before the output: the prompt was read.
    pub fn start(&self) -> Moment {
        self.moment_of_feed(0)
    }

    /// After everything.
    pub fn end(&self) -> Moment {
        self.moment_of_feed(self.feeds.len().saturating_sub(1))
    }

    /// Whether it is finished: the output has ended, or the parse failed.
    pub fn has_ended(&self, moment: Moment) -> bool {
        moment == self.end() && !matches!(self.outcome, Outcome::Open)
    }

    /// The moment at which a feed was read whole.
    pub fn moment_of_feed(&self, feed: usize) -> Moment {
        let feed = feed.min(self.feeds.len().saturating_sub(1));
        Moment { feed, event: self.feed(feed).events as usize }
    }

    /// The moment right after an event.
    pub fn moment_of_event(&self, event: usize) -> Moment {
        let taken = (event + 1).min(self.entries.len());
        let feed = self.feeds.partition_point(|feed| (feed.events as usize) < taken);
        Moment { feed: feed.min(self.feeds.len().saturating_sub(1)), event: taken }.max(self.start())
    }

    /// The moment at which the text up to a position had arrived.
    pub fn moment_at(&self, byte: usize) -> Moment {
        self.moment_of_feed(self.feeds.partition_point(|feed| (feed.end as usize) < byte))
    }

    /// The same, but no later than the last moment before the end of the output is known.
    pub(crate) fn moment_before_end(&self, byte: usize) -> Moment {
        self.moment_at(byte).min(self.before_end())
    }

    /// The moment of this recording at the same place as a moment of another recording of the same text.
    pub fn moment_like(&self, other: &Recording, moment: Moment) -> Moment {
        if moment == other.end() {
            return self.end();
        }
        let whole = self.moment_before_end(other.arrived(moment));
        if !other.is_inside_feed(moment) {
            return whole;
        }
        // As many events as cover no more text. Of events that end at the same position, the one with the same content.
        let place = other.settled(moment);
        let up_to = self.entries.partition_point(|event| (event.end as usize) <= place).min(whole.event);
        let said = |recording: &Recording, event: usize| {
            let entry = recording.entries.get(event)?;
            Some((entry.end, entry.kind, recording.field_name(entry.field.into()).to_owned()))
        };
        let last = other.last_event(moment).and_then(|event| said(other, event));
        let ends_here = |event: &usize| self.entries.get(*event).is_some_and(|event| event.end as usize == place);
        let same = (0..up_to).rev().take_while(ends_here).find(|event| said(self, *event) == last);
        let event = same.map_or(up_to, |event| event + 1);
        match self.events_before(whole.feed) <= event {
            true => Moment { feed: whole.feed, event },
            // Shorter feeds have delivered it before.
            false => event.checked_sub(1).map_or_else(|| self.start(), |last| self.moment_of_event(last)),
        }
    }

    /// The last moment before the end of the output is known.
    pub fn before_end(&self) -> Moment {
        self.moment_of_feed(self.chunk_count())
    }

    /// After the next event.
    pub fn next_event(&self, moment: Moment) -> Moment {
        if moment.event < self.entries.len() { self.moment_of_event(moment.event) } else { self.end() }
    }

    /// After the event before.
    pub fn previous_event(&self, moment: Moment) -> Moment {
        let Some(last) = self.last_event(moment) else { return self.start() };
        match self.moment_of_event(last) {
            silent if silent < moment => silent,
            _ => last.checked_sub(1).map_or_else(|| self.start(), |before| self.moment_of_event(before)),
        }
    }

    /// After the next row.
    pub fn next_row(&self, moment: Moment) -> Moment {
        match moment.event < self.entries.len() {
            true => self.moment_of_event(self.row(self.row_of(moment.event)).end.saturating_sub(1)),
            false => self.end(),
        }
    }

    /// After the row before.
    pub fn previous_row(&self, moment: Moment) -> Moment {
        let Some(last) = self.last_event(moment) else { return self.start() };
        let row = self.row(self.row_of(last));
        match self.moment_of_event(row.end.saturating_sub(1)) {
            end if end < moment => end,
            _ => row.start.checked_sub(1).map_or_else(|| self.start(), |before| self.moment_of_event(before)),
        }
    }

    /// After the next feed.
    pub fn next_feed(&self, moment: Moment) -> Moment {
        let whole = self.moment_of_feed(moment.feed);
        if whole > moment { whole } else { self.moment_of_feed(moment.feed + 1) }
    }

    /// After the feed before.
    pub fn previous_feed(&self, moment: Moment) -> Moment {
        self.moment_of_feed(moment.feed.saturating_sub(1))
    }

    /// The moment at which the next line of the text has begun.
    pub fn next_line(&self, moment: Moment) -> Moment {
        let here = self.arrived(moment);
        let newline = self.text.get(here..).and_then(|rest| rest.find('\n'));
        newline.map_or_else(|| self.end(), |at| self.moment_at(here + at + 1))
    }

    /// The moment at which the line of the text, or the one before it, began.
    pub fn previous_line(&self, moment: Moment) -> Moment {
        let mut here = self.arrived(moment);
        loop {
            // At the beginning of a line, the line before it is meant.
            let before = self.slice(self.output..here.max(self.output));
            let before = before.strip_suffix('\n').unwrap_or(before);
            let Some(newline) = before.rfind('\n') else { return self.start() };
            here = self.output + newline + 1;
            let found = self.moment_at(here);
            if found < moment {
                return found;
            }
        }
    }

    /// The last event that was taken.
    pub fn last_event(&self, moment: Moment) -> Option<usize> {
        moment.event.checked_sub(1)
    }

    /// The field that acted last.
    pub fn acting_field(&self, moment: Moment) -> Option<usize> {
        let entry = self.entries.get(self.last_event(moment)?)?;
        Some(entry.field.into())
    }

    /// Whether the last event was a malformed end.
    pub fn is_malformed(&self, event: usize) -> bool {
        self.entries.get(event).is_some_and(|entry| entry.kind == Kind::Malformed)
    }
}
