//! Places the boxes and arrows of a small graph, from left to right.
//!
//! After Sugiyama, Tagawa and Toda (1981): boxes are in columns by their distance from the first one; between two
//! columns of boxes lies a column of labels, so that no label covers anything; an arrow that passes a column has a
//! place of its own there. The order in a column follows the neighbors, and heights are the least-squares fit to the
//! neighbors' heights that keeps the order.

use std::collections::VecDeque;

/// A point of the picture; y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An arrow between two boxes, with the size of its label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Size,
}

/// A box to place: its size, and the room it needs above.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) size: Size,
    pub(super) above: f64,
    /// The minimum width of its column.
    pub(super) span: f64,
    /// Whether it belongs at the right end.
    pub(super) is_last: bool,
}

/// The positions of all boxes and arrows.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The center of each box.
    pub(super) blocks: Vec<Point>,
    /// The route of each arrow, and the center of its label.
    pub(super) routes: Vec<Route>,
    pub(super) size: Size,
}

/// The route of an arrow.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// The points it passes; it is level at each, but for a turn.
    pub(super) points: Vec<Point>,
    /// Whether it leads back to its own column; then the middle point is the turn.
    pub(super) turns: bool,
    pub(super) label: Point,
}

/// The gap between columns; it grows where arrows climb far, so that they do not get too steep.
const COLUMN_GAP: f64 = 26.0;
const MAX_COLUMN_GAP: f64 = 150.0;
const GAP_PER_CLIMB: f64 = 0.22;
/// The distance between a label and the turn of its arrow.
const TURN_GAP: f64 = 5.0;
const ROW_GAP: f64 = 16.0;
const PORT_GAP: f64 = 14.0;
const ORDERING_SWEEPS: usize = 24;

/// Computes the layout of blocks and links; a link must not lead back to its own block.
pub(super) fn compute_layout(blocks: &[Block], links: &[Link]) -> Layout {
    let mut grid = Grid::new(blocks, links);
    grid.order();
    grid.settle();
    grid.placed(blocks, links)
}

/// A block, a label or a place where an arrow passes.
#[derive(Clone, Debug)]
struct Cell {
    column: usize,
    size: Size,
    y: f64,
    left: Vec<usize>,
    right: Vec<usize>,
    /// Whether an arrow passes here, which should be straight.
    passes: bool,
}

struct Grid {
    cells: Vec<Cell>,
    columns: Vec<Vec<usize>>,
    /// For each link, the cells between its blocks, from its beginning to its end; the first is its label.
    chains: Vec<Vec<usize>>,
}

impl Grid {
    fn new(blocks: &[Block], links: &[Link]) -> Grid {
        let layers = layers(blocks, links);
        let columns = layers.iter().max().map_or(1, |last| 2 * last + 2);
        let mut grid = Grid { cells: Vec::new(), columns: vec![Vec::new(); columns], chains: Vec::new() };
        for (block, layer) in blocks.iter().zip(&layers) {
            let Size { width, height } = block.size;
            grid.add(2 * layer, Size { width: width.max(block.span), height: height + block.above }, false);
        }
        for link in links {
            let (from, to) = (2 * layers[link.from], 2 * layers[link.to]);
            let mut between: Vec<usize> = (from.min(to) + 1..from.max(to)).collect();
            if from == to {
                between.push(from + 1);
            }
            if to < from {
                between.reverse();
            }
            let mut chain = Vec::new();
            for (index, column) in between.into_iter().enumerate() {
                let size = if index == 0 { link.label } else { Size { width: 0.0, height: 6.0 } };
                chain.push(grid.add(column, size, index > 0));
            }
            let stops: Vec<usize> = std::iter::once(link.from).chain(chain.clone()).chain([link.to]).collect();
            for pair in stops.windows(2) {
                grid.join(pair[0], pair[1]);
            }
            grid.chains.push(chain);
        }
        grid
    }

    fn add(&mut self, column: usize, size: Size, passes: bool) -> usize {
        let (left, right) = (Vec::new(), Vec::new());
        self.cells.push(Cell { column, size, y: 0.0, left, right, passes });
        self.columns[column].push(self.cells.len() - 1);
        self.cells.len() - 1
    }

    fn join(&mut self, a: usize, b: usize) {
        let (left, right) = if self.cells[a].column < self.cells[b].column { (a, b) } else { (b, a) };
        self.cells[left].right.push(right);
        self.cells[right].left.push(left);
    }

    /// Sorts each column by the mean position of the neighbors, from the left and from the right in turn.
    fn order(&mut self) {
        let mut rank: Vec<f64> = vec![0.0; self.cells.len()];
        for sweep in 0..ORDERING_SWEEPS {
            let forward = sweep % 2 == 0;
            for step in 0..self.columns.len() {
                let column = if forward { step } else { self.columns.len() - 1 - step };
                let key = |cell: usize| {
                    let Cell { left, right, .. } = &self.cells[cell];
                    let neighbors = if forward { left } else { right };
                    let sum: f64 = neighbors.iter().map(|other| rank[*other]).sum();
                    if neighbors.is_empty() { rank[cell] } else { sum / neighbors.len() as f64 }
                };
                let mut keyed: Vec<(f64, usize)> =
                    self.columns[column].iter().map(|cell| (key(*cell), *cell)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                let count = keyed.len() as f64;
                for (place, (_, cell)) in keyed.iter().enumerate() {
                    rank[*cell] = (place as f64 + 0.5) / count;
                }
                self.columns[column] = keyed.into_iter().map(|(_, cell)| cell).collect();
            }
        }
    }

    /// Gives every cell a height near those of its neighbors.
    fn settle(&mut self) {
        for column in 0..self.columns.len() {
            self.fit(column, |_, _| (0.0, 1.0));
        }
        for sweep in 0..ORDERING_SWEEPS {
            for step in 0..self.columns.len() {
                let column = if sweep % 2 == 0 { step } else { self.columns.len() - 1 - step };
                self.fit(column, |cells, cell| {
                    let Cell { left, right, y, passes, .. } = &cells[cell];
                    let (mut sum, mut weight) = (*y * 0.1, 0.1);
                    for other in left.iter().chain(right) {
                        let pull = if *passes && cells[*other].passes { 4.0 } else { 1.0 };
                        sum += pull * cells[*other].y;
                        weight += pull;
                    }
                    (sum / weight, weight)
                });
            }
        }
    }

    /// Least squares with a fixed order, by pooling neighbors that would overlap.
    fn fit(&mut self, column: usize, wish: impl Fn(&[Cell], usize) -> (f64, f64)) {
        struct Pool {
            mean: f64,
            weight: f64,
            count: usize,
        }
        let cells = self.columns[column].clone();
        let mut offsets = Vec::with_capacity(cells.len());
        let mut pools: Vec<Pool> = Vec::new();
        let mut offset = 0.0;
        for (index, cell) in cells.iter().enumerate() {
            let height = self.cells[*cell].size.height;
            offset += if index == 0 { 0.0 } else { height / 2.0 + ROW_GAP };
            let (wished, weight) = wish(&self.cells, *cell);
            offsets.push(offset);
            let mut pool = Pool { mean: wished - offset, weight, count: 1 };
            offset += height / 2.0;
            while let Some(before) = pools.pop_if(|before| before.mean > pool.mean) {
                let weight = before.weight + pool.weight;
                let mean = (before.mean * before.weight + pool.mean * pool.weight) / weight;
                pool = Pool { mean, weight, count: before.count + pool.count };
            }
            pools.push(pool);
        }
        let means = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.count));
        for ((cell, offset), mean) in cells.iter().zip(offsets).zip(means) {
            self.cells[*cell].y = mean + offset;
        }
    }

    fn placed(&self, blocks: &[Block], links: &[Link]) -> Layout {
        let strips = self.strips();
        let top = self.cells.iter().map(|cell| cell.y - cell.size.height / 2.0).fold(f64::INFINITY, f64::min);
        let bottom = self.cells.iter().map(|cell| cell.y + cell.size.height / 2.0).fold(0.0, f64::max);
        let point = |cell: usize| {
            let (left, right) = strips[self.cells[cell].column];
            Point { x: f64::midpoint(left, right), y: self.cells[cell].y - top }
        };
        let placed: Vec<Point> = (0..blocks.len())
            .map(|block| Point { y: point(block).y + blocks[block].above / 2.0, ..point(block) })
            .collect();
        let ends = self.ports(blocks, links, &placed, top);
        let mut routes = Vec::new();
        for ((link, chain), (start, end)) in links.iter().zip(&self.chains).zip(ends) {
            let (from, to) = (self.cells[link.from].column, self.cells[link.to].column);
            let turns = from == to;
            let mut label = chain.first().map_or(start, |cell| point(*cell));
            let mut points = vec![start];
            for cell in chain {
                let Cell { size, column, .. } = &self.cells[*cell];
                let (half, Point { x, y }) = (size.width / 2.0, point(*cell));
                if turns {
                    // It turns before the column of labels, so as not to cross any, and its own label is there.
                    let left = strips[*column].0;
                    label.x = left + half;
                    points.push(Point { x: left - TURN_GAP, y });
                } else {
                    let sides = if to < from { [x + half, x - half] } else { [x - half, x + half] };
                    points.extend(sides.into_iter().take(if half == 0.0 { 1 } else { 2 }).map(|x| Point { x, y }));
                }
            }
            points.push(end);
            routes.push(Route { points, turns, label });
        }
        let width = strips.last().map_or(0.0, |(_, right)| *right);
        Layout { blocks: placed, routes, size: Size { width, height: bottom - top } }
    }

    /// Returns the start and the end of each column.
    fn strips(&self) -> Vec<(f64, f64)> {
        let mut right = 0.0;
        let mut strips = Vec::new();
        for column in &self.columns {
            let width = column.iter().map(|cell| self.cells[*cell].size.width).fold(0.0, f64::max);
            let climb = |cell: &usize| {
                let Cell { left, y, .. } = &self.cells[*cell];
                left.iter().map(|other| (self.cells[*other].y - y).abs()).fold(0.0, f64::max)
            };
            let steepest = column.iter().map(climb).fold(0.0, f64::max);
            let is_first = column.is_empty() || right == 0.0;
            let gap = if is_first { 0.0 } else { (steepest * GAP_PER_CLIMB).clamp(COLUMN_GAP, MAX_COLUMN_GAP) };
            strips.push((right + gap, right + gap + width));
            right += gap + width;
        }
        strips
    }

    /// Returns the end points of each arrow: spread over the side of the block, in the order of the other ends.
    fn ports(&self, blocks: &[Block], links: &[Link], placed: &[Point], top: f64) -> Vec<(Point, Point)> {
        let mut ends = vec![(Point::default(), Point::default()); links.len()];
        for (block, center) in placed.iter().enumerate() {
            for is_right in [false, true] {
                let mut ports: Vec<(f64, usize, bool)> = Vec::new();
                for (index, (link, chain)) in links.iter().zip(&self.chains).enumerate() {
                    let (from, to) = (self.cells[link.from].column, self.cells[link.to].column);
                    let height = |cell: Option<&usize>| cell.map_or(0.0, |cell| self.cells[*cell].y - top);
                    if link.from == block && is_right == (to >= from) {
                        ports.push((height(chain.first()), index, true));
                    }
                    if link.to == block && is_right == (to <= from) {
                        ports.push((height(chain.last()), index, false));
                    }
                }
                ports.sort_by(|a, b| a.0.total_cmp(&b.0));
                let Size { width, height } = blocks[block].size;
                let gap = PORT_GAP.min((height - 10.0) / ports.len().max(1) as f64);
                let middle = (ports.len() as f64 - 1.0) / 2.0;
                for (place, (_, index, leaves)) in ports.into_iter().enumerate() {
                    let x = center.x + if is_right { width / 2.0 } else { -width / 2.0 };
                    let port = Point { x, y: center.y + (place as f64 - middle) * gap };
                    if leaves { ends[index].0 = port } else { ends[index].1 = port }
                }
            }
        }
        ends
    }
}

/// Returns the distance of each block from the first, in arrows; blocks of the right end are in a layer after all
/// others.
fn layers(blocks: &[Block], links: &[Link]) -> Vec<usize> {
    let mut layers: Vec<Option<usize>> = vec![None; blocks.len()];
    let mut queue = VecDeque::from([0]);
    if let Some(first) = layers.first_mut() {
        *first = Some(0);
    }
    while let Some(block) = queue.pop_front() {
        for link in links.iter().filter(|link| link.from == block) {
            if layers[link.to].is_none() {
                layers[link.to] = layers[block].map(|layer| layer + 1);
                queue.push_back(link.to);
            }
        }
    }
    let others = blocks.iter().zip(&layers).filter(|(block, _)| !block.is_last);
    let last = others.map(|(_, layer)| layer.unwrap_or(0) + 1).max().unwrap_or(0);
    let settle = |(block, layer): (&Block, &Option<usize>)| if block.is_last { last } else { layer.unwrap_or(0) };
    blocks.iter().zip(&layers).map(settle).collect()
}

#[cfg(test)]
mod tests;
