//! Blocks and labels do not overlap.

use super::*;

fn block(width: f64, above: f64, is_last: bool) -> Block {
    Block { size: Size { width, height: 44.0 }, above, span: 60.0, is_last }
}

fn link(from: usize, to: usize) -> Link {
    Link { from, to, label: Size { width: 70.0, height: 16.0 } }
}

/// Returns the rectangles of blocks and labels.
fn rectangles(blocks: &[Block], links: &[Link], placed: &Layout) -> Vec<(Point, Size)> {
    let blocks = placed.blocks.iter().zip(blocks).map(|(center, block)| (*center, block.size));
    let labels = placed.routes.iter().zip(links).map(|(route, link)| (route.label, link.label));
    blocks.chain(labels).collect()
}

fn check(blocks: &[Block], links: &[Link]) {
    let placed = compute_layout(blocks, links);
    let rectangles = rectangles(blocks, links, &placed);
    for (index, (a, first)) in rectangles.iter().enumerate() {
        for (b, second) in rectangles.iter().skip(index + 1) {
            let apart = (a.x - b.x).abs() >= (first.width + second.width) / 2.0
                || (a.y - b.y).abs() >= (first.height + second.height) / 2.0;
            assert!(apart, "{a:?} {first:?} and {b:?} {second:?}");
        }
        let inside = a.x - first.width / 2.0 >= -0.01
            && a.x + first.width / 2.0 <= placed.size.width + 0.01
            && a.y - first.height / 2.0 >= -0.01
            && a.y + first.height / 2.0 <= placed.size.height + 0.01;
        assert!(inside, "{a:?} {first:?} outside of {:?}", placed.size);
    }
    for (link, route) in links.iter().zip(&placed.routes) {
        let half = |block: usize| blocks[block].size.width / 2.0;
        let (start, end) = (route.points[0], route.points[route.points.len() - 1]);
        assert!(((start.x - placed.blocks[link.from].x).abs() - half(link.from)).abs() < 0.01);
        assert!(((end.x - placed.blocks[link.to].x).abs() - half(link.to)).abs() < 0.01);
    }
}

#[test]
fn layout_of_one_block() {
    check(&[block(100.0, 0.0, true)], &[]);
}

#[test]
fn layout_of_back_and_side_links() {
    let blocks = [block(100.0, 0.0, false), block(200.0, 40.0, false), block(80.0, 0.0, false), block(90.0, 0.0, true)];
    let links = [link(0, 1), link(1, 0), link(0, 2), link(1, 2), link(2, 1), link(2, 3), link(0, 3), link(3, 0)];
    check(&blocks, &links);
}

#[test]
fn layout_of_complete_graph() {
    let blocks: Vec<Block> = (0..7).map(|index| block(90.0 + index as f64 * 10.0, 30.0, index == 6)).collect();
    let links: Vec<Link> =
        (0..7).flat_map(|from| (0..7).filter(move |to| *to != from).map(move |to| link(from, to))).collect();
    check(&blocks, &links);
}

#[test]
fn layout_of_long_chain_with_back_link() {
    let blocks: Vec<Block> = (0..9).map(|_| block(120.0, 20.0, false)).collect();
    let mut links: Vec<Link> = (0..8).map(|from| link(from, from + 1)).collect();
    links.push(link(8, 0));
    check(&blocks, &links);
}
