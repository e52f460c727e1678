//! The panes and their layout.

use std::collections::HashMap;

use ratatui::layout::{Position, Rect};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pane {
    Stream,
    Events,
    Message,
    Template,
}

/// The panes: their order, which are folded, and their sizes.
#[derive(Clone, Debug)]
pub struct Panes {
    /// Stream and events are on the left, message and template on the right, unless they were moved.
    order: [Pane; 4],
    folded: Vec<Pane>,
    /// The heights of the resized panes, relative to [`WEIGHT`].
    weights: HashMap<Pane, u16>,
    /// How much of the width the left column has, in percent.
    left: u16,
    pub focus: Pane,
    pub is_zoomed: bool,
    /// How far panes were scrolled by hand; the others follow the position.
    scrolled: HashMap<Pane, usize>,
    areas: Vec<(Pane, Rect)>,
    drag: Option<Drag>,
}

#[derive(Clone, Copy, Debug)]
enum Drag {
    /// The title of a pane: dragging it resizes the pane above.
    Row { above: Pane, below: Pane },
    /// The line between the columns.
    Column(Rect),
}

/// The weight of a pane that was not resized.
const WEIGHT: u16 = 10;

/// From this size on, all four panes are shown.
const WIDE: (u16, u16) = (120, 20);
/// Below this size, only one pane is shown.
const NARROW: (u16, u16) = (60, 12);

impl Default for Panes {
    fn default() -> Self {
        Self {
            order: [Pane::Stream, Pane::Events, Pane::Message, Pane::Template],
            folded: Vec::new(),
            weights: HashMap::new(),
            left: 50,
            focus: Pane::Stream,
            is_zoomed: false,
            scrolled: HashMap::new(),
            areas: Vec::new(),
            drag: None,
        }
    }
}

impl Pane {
    pub fn title(self) -> &'static str {
        match self {
            Pane::Stream => "Output",
            Pane::Events => "Events",
            Pane::Message => "Message",
            Pane::Template => "Template",
        }
    }
}

impl Panes {
    /// Lays out the panes; `stacked` puts one above another, each as wide as the screen.
    pub fn lay_out(&mut self, area: Rect, stacked: bool) -> Vec<(Pane, Rect)> {
        let [a, b, c, d] = self.order;
        self.areas = if self.is_zoomed || area.width < NARROW.0 || area.height < NARROW.1 {
            vec![(self.focus, area)]
        } else if stacked && area.height < 30 {
            // Two sides need the width; the template is hidden unless it is selected.
            let gone = if self.focus == Pane::Template { Pane::Message } else { Pane::Template };
            let shown: Vec<Pane> = self.order.into_iter().filter(|pane| *pane != gone).collect();
            self.column(area, &shown)
        } else if stacked {
            self.column(area, &self.order)
        } else if area.width >= WIDE.0 && area.height >= WIDE.1 {
            let is_gone = |panes: [Pane; 2]| panes.iter().all(|pane| self.is_folded(*pane));
            match is_gone([a, b]) || is_gone([c, d]) {
                // A column of only titles would waste its space.
                true => self.column(area, &self.order),
                false => {
                    let (left, right) = self.columns(area);
                    [self.column(left, &[a, b]), self.column(right, &[c, d])].concat()
                }
            }
        } else if self.is_folded(b) || self.is_folded(self.shared()) {
            self.column(area, &[a, b, self.shared()])
        } else {
            let shared = self.shared();
            let rows = self.column(area, &[a, shared]);
            let (top, bottom) = match rows.as_slice() {
                [(_, top), (_, bottom)] => (*top, *bottom),
                _ => (area, Rect::default()),
            };
            let (left, right) = self.columns(bottom);
            vec![(a, top), (b, left), (shared, right)]
        };
        self.areas.clone()
    }

    /// The last two share a place on small screens: the selected one is shown.
    fn shared(&self) -> Pane {
        let [_, _, c, d] = self.order;
        if self.focus == d { d } else { c }
    }

    /// Two columns with a line between them.
    fn columns(&self, area: Rect) -> (Rect, Rect) {
        let left = (u32::from(area.width) * u32::from(self.left) / 100) as u16;
        let left = left.clamp(10, area.width.saturating_sub(11).max(10));
        let rest = area.width.saturating_sub(left + 1);
        (Rect { width: left, ..area }, Rect { x: area.x + left + 1, width: rest, ..area })
    }

    /// One pane over another; a folded one keeps its title.
    fn column(&self, area: Rect, panes: &[Pane]) -> Vec<(Pane, Rect)> {
        let open: Vec<Pane> = panes.iter().copied().filter(|pane| !self.is_folded(*pane)).collect();
        let folded = u16::try_from(panes.len() - open.len()).unwrap_or(0);
        let room = area.height.saturating_sub(folded);
        let sum: u32 = open.iter().map(|pane| u32::from(self.weight(*pane))).sum();
        let mut y = area.y;
        let mut used = 0;
        let mut weight_so_far = 0;
        let mut placed = Vec::new();
        for pane in panes {
            let height = if self.is_folded(*pane) {
                1.min(area.bottom().saturating_sub(y))
            } else {
                weight_so_far += u32::from(self.weight(*pane));
                let until = (u32::from(room) * weight_so_far / sum.max(1)) as u16;
                let height = until - used;
                used = until;
                height
            };
            placed.push((*pane, Rect { y, height, ..area }));
            y += height;
        }
        placed
    }

    fn weight(&self, pane: Pane) -> u16 {
        self.weights.get(&pane).copied().unwrap_or(WEIGHT)
    }

    pub fn is_folded(&self, pane: Pane) -> bool {
        self.folded.contains(&pane)
    }

    /// The pane at a place of the screen, and its area.
    pub fn at(&self, place: Position) -> Option<(Pane, Rect)> {
        self.areas.iter().copied().find(|(_, area)| area.contains(place))
    }

    pub fn focus_next(&mut self, forward: bool) {
        let at = self.order.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        let next = (at + if forward { 1 } else { 3 }) % 4;
        self.focus = self.order.get(next).copied().unwrap_or(Pane::Stream);
    }

    pub fn fold(&mut self) {
        match self.is_folded(self.focus) {
            true => self.folded.retain(|pane| *pane != self.focus),
            false => self.folded.push(self.focus),
        }
    }

    /// Swaps it with the pane next to it.
    pub fn swap(&mut self, forward: bool) {
        let at = self.order.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        self.order.swap(at, (at + if forward { 1 } else { 3 }) % 4);
    }

    pub fn resize(&mut self, grow: bool) {
        let weight = self.weight(self.focus);
        self.weights.insert(self.focus, if grow { weight + 2 } else { weight - 2 }.clamp(4, 60));
    }

    /// How far a pane was scrolled by hand.
    pub fn scrolled(&self, pane: Pane) -> Option<usize> {
        self.scrolled.get(&pane).copied()
    }

    pub fn scroll_to(&mut self, pane: Pane, row: usize) {
        self.scrolled.insert(pane, row);
    }

    /// All panes follow the position again.
    pub fn follow(&mut self) {
        self.scrolled.clear();
    }

    /// Grabs a border; false if there is none.
    pub fn grab(&mut self, place: Position) -> bool {
        let above = |below: Rect| {
            let over = |area: &Rect| area.bottom() == below.y && area.x <= place.x && place.x < area.right();
            self.areas.iter().find(|(_, area)| over(area)).map(|(pane, _)| *pane)
        };
        let title = self.areas.iter().find(|(_, area)| area.y == place.y && area.contains(place));
        self.drag = match title {
            Some((below, area)) => above(*area).map(|above| Drag::Row { above, below: *below }),
            None => {
                let left = self.areas.iter().map(|(_, area)| *area).find(|area| area.right() == place.x);
                let whole = self.areas.iter().map(|(_, area)| *area).reduce(Rect::union);
                left.and(whole).map(Drag::Column)
            }
        };
        self.drag.is_some()
    }

    /// Moves the grabbed border; false if there is none.
    pub fn drag(&mut self, place: Position) -> bool {
        // A hidden pane takes no space.
        let shown = |pane: Pane| self.areas.iter().find(|(known, _)| *known == pane);
        let height = |pane: Pane| shown(pane).map_or_else(Rect::default, |(_, area)| *area);
        match self.drag {
            None => return false,
            Some(Drag::Column(area)) => {
                let percent = u32::from(place.x.saturating_sub(area.x)) * 100 / u32::from(area.width.max(1));
                self.left = (percent as u16).clamp(15, 85);
            }
            Some(Drag::Row { above, below }) => {
                // From now on sizes are in rows, so that the border stays under the mouse.
                let (upper, lower) = (height(above), height(below));
                let rows = upper.height + lower.height;
                let share = place.y.saturating_sub(upper.y).clamp(2, rows.saturating_sub(2).max(2));
                self.weights.extend(self.areas.iter().map(|(pane, area)| match area.y {
                    y if y == upper.y => (*pane, share),
                    y if y == lower.y => (*pane, rows.saturating_sub(share).max(2)),
                    _ => (*pane, area.height.max(2)),
                }));
            }
        }
        true
    }

    pub fn let_go(&mut self) {
        self.drag = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(panes: &mut Panes, width: u16, height: u16) -> Vec<(Pane, Rect)> {
        let area = Rect::new(0, 1, width, height);
        let placed = panes.lay_out(area, false);
        for (pane, place) in &placed {
            assert!(area.union(*place) == area, "{pane:?} sticks out: {place:?}");
        }
        for (at, (_, one)) in placed.iter().enumerate() {
            assert!(placed.iter().skip(at + 1).all(|(_, other)| !one.intersects(*other)), "panes overlap: {placed:?}");
        }
        placed
    }

    #[test]
    fn every_size_has_its_layout() {
        let mut panes = Panes::default();
        assert_eq!(areas(&mut panes, 200, 45).len(), 4);
        assert_eq!(areas(&mut panes, 80, 19).len(), 3);
        assert_eq!(areas(&mut panes, 40, 5), [(Pane::Stream, Rect::new(0, 1, 40, 5))]);
        for size in [(0, 0), (1, 1), (60, 12), (61, 13), (120, 20), (119, 200), (10_000, 1)] {
            assert!(!areas(&mut panes, size.0, size.1).is_empty());
            panes.fold();
            areas(&mut panes, size.0, size.1);
            panes.fold();
            panes.focus_next(true);
        }
    }

    #[test]
    fn a_folded_pane_leaves_its_space_to_the_others() {
        for (width, height) in [(80, 19), (200, 45)] {
            let all: Vec<Pane> = areas(&mut Panes::default(), width, height).iter().map(|(pane, _)| *pane).collect();
            for bits in 0..1 << all.len() {
                let folded = |at: usize| bits >> at & 1 == 1;
                let shut = all.iter().enumerate().filter(|(at, _)| folded(*at)).map(|(_, pane)| *pane);
                let mut panes = Panes { folded: shut.collect(), ..Panes::default() };
                let open = all.len() - panes.folded.len();
                for (pane, area) in areas(&mut panes, width, height) {
                    match panes.is_folded(pane) {
                        true => assert_eq!(area.height, 1, "{pane:?} of {:?} is folded", panes.folded),
                        false => assert!(area.height > 4, "{pane:?} has {area:?} beside {:?}", panes.folded),
                    }
                }
                let covered: u32 = areas(&mut panes, width, height).iter().map(|(_, area)| area.area()).sum();
                let lines = u32::from(height);
                assert!(
                    open == 0 || covered + lines >= u32::from(width) * lines,
                    "room is left beside {:?}",
                    panes.folded
                );
            }
        }
    }

    #[test]
    fn the_focused_pane_is_visible() {
        for size in [(40, 5), (80, 19), (200, 45)] {
            let mut panes = Panes::default();
            for _ in 0..4 {
                assert!(areas(&mut panes, size.0, size.1).iter().any(|(pane, _)| *pane == panes.focus), "{size:?}");
                panes.focus_next(true);
            }
        }
    }

    #[test]
    fn borders_follow_the_mouse() {
        let mut panes = Panes::default();
        let before = areas(&mut panes, 80, 20);
        let border = before[1].1.y;
        assert!(panes.grab(Position::new(3, border)));
        assert!(panes.drag(Position::new(3, border - 4)));
        let after = areas(&mut panes, 80, 20);
        assert_eq!(after[1].1.y, border - 4);
        panes.let_go();
        assert!(!panes.drag(Position::new(3, border)));
        assert!(!panes.grab(Position::new(3, 1)), "nothing is above the first");
        assert!(panes.grab(Position::new(before[1].1.right(), border + 1)), "the line between the columns");
        panes.drag(Position::new(20, border));
        assert_eq!(areas(&mut panes, 80, 20)[1].1.width, 20);
    }
}
