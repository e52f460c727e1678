//! Plays a recording: says how many chunks are due.

use std::time::{Duration, Instant};

/// How many chunks a second, slowest first.
const SPEEDS: [u32; 9] = [1, 2, 4, 8, 15, 30, 60, 250, 1000];

/// The most steps taken before the screen is drawn again.
const MOST_AT_ONCE: u32 = 100;

/// Plays a recording: says how many chunks are due.
#[derive(Clone, Debug)]
pub struct Clock {
    speed: usize,
    /// When the next chunk is due; none while paused.
    due: Option<Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { speed: 4, due: None }
    }
}

impl Clock {
    pub fn is_playing(&self) -> bool {
        self.due.is_some()
    }

    pub fn play(&mut self, now: Instant) {
        self.due = Some(now + self.pause());
    }

    pub fn stop(&mut self) {
        self.due = None;
    }

    pub fn faster(&mut self) {
        self.speed = (self.speed + 1).min(SPEEDS.len() - 1);
    }

    pub fn slower(&mut self) {
        self.speed = self.speed.saturating_sub(1);
    }

    /// Chunks a second.
    pub fn speed(&self) -> u32 {
        SPEEDS.get(self.speed).copied().unwrap_or(1)
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(1) / self.speed()
    }

    /// How long until the next chunk.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// How many chunks are due.
    pub fn due(&mut self, now: Instant) -> u32 {
        let pause = self.pause();
        let Some(due) = &mut self.due else { return 0 };
        let mut steps = 0;
        while *due <= now && steps < MOST_AT_ONCE {
            *due += pause;
            steps += 1;
        }
        // After a standstill nothing is made up for.
        *due = (*due).max(now);
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_chunks_as_the_speed_says() {
        let start = Instant::now();
        let mut clock = Clock::default();
        assert_eq!((clock.speed(), clock.due(start), clock.wait(start)), (15, 0, None));
        clock.play(start);
        assert_eq!(clock.due(start), 0);
        assert_eq!(clock.due(start + Duration::from_millis(1005)), 15);
        (0..20).for_each(|_| clock.slower());
        assert_eq!(clock.speed(), 1);
        (0..20).for_each(|_| clock.faster());
        assert_eq!(clock.speed(), 1000);
        assert_eq!(clock.due(start + Duration::from_secs(60)), MOST_AT_ONCE);
        clock.stop();
        assert!(!clock.is_playing());
    }
}
