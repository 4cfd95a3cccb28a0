//! Fair cycles in an explicit graph, and short paths to them.

use std::collections::VecDeque;

/// An edge: its target, the untils it puts off, and its letter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphEdge {
    pub(crate) to: usize,
    pub(crate) put_off: u64,
    pub(crate) letter: u64,
}

/// Letters up to a cycle, and the letters of the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FairLoop {
    pub(crate) stem: Vec<u64>,
    pub(crate) cycle: Vec<u64>,
}

/// Finds a short path from a start to a cycle on which no until is put off for ever; none without such a cycle.
pub(crate) fn find_fair_loop(starts: &[usize], graph: &[Vec<GraphEdge>]) -> Option<FairLoop> {
    let component = find_components(graph);
    let mut common = vec![u64::MAX; graph.len()];
    let mut has_edge = vec![false; graph.len()];
    for (from, arrows) in graph.iter().enumerate() {
        for arrow in arrows.iter().filter(|arrow| component[arrow.to] == component[from]) {
            common[component[from]] &= arrow.put_off;
            has_edge[component[from]] = true;
        }
    }
    let is_fair = |node: usize| has_edge[component[node]] && common[component[node]] == 0;
    let (stem, root) = find_path(starts, graph, |_, _| true, is_fair)?;
    let inside = |from: usize, arrow: &GraphEdge| component[arrow.to] == component[from];
    let mut cycle = Vec::new();
    let mut at = root;
    // For each until in turn, walk to an edge that does not put it off and take it; then return to the root.
    let mut owed: u64 = graph[..]
        .iter()
        .enumerate()
        .filter(|(from, _)| component[*from] == component[root])
        .flat_map(|(from, arrows)| arrows.iter().filter(move |arrow| inside(from, arrow)))
        .fold(0, |owed, arrow| owed | arrow.put_off);
    while owed != 0 {
        let pays = |node: usize| graph[node].iter().find(|arrow| inside(node, arrow) && owed & !arrow.put_off != 0);
        let (letters, node) = find_path(&[at], graph, inside, |node| pays(node).is_some())?;
        let arrow = pays(node)?;
        cycle.extend(letters);
        cycle.push(arrow.letter);
        owed &= arrow.put_off;
        at = arrow.to;
    }
    if at == root && cycle.is_empty() {
        let first = graph[root].iter().find(|arrow| inside(root, arrow))?;
        cycle.push(first.letter);
        at = first.to;
    }
    let (home, _) = find_path(&[at], graph, inside, |node| node == root)?;
    cycle.extend(home);
    Some(FairLoop { stem, cycle })
}

/// Returns the letters of a shortest path from a start to a wanted node, and the node.
fn find_path(
    starts: &[usize],
    graph: &[Vec<GraphEdge>],
    allowed: impl Fn(usize, &GraphEdge) -> bool,
    wanted: impl Fn(usize) -> bool,
) -> Option<(Vec<u64>, usize)> {
    let mut came: Vec<Option<(usize, u64)>> = vec![None; graph.len()];
    let mut seen = vec![false; graph.len()];
    let mut queue: VecDeque<usize> = starts.iter().copied().collect();
    starts.iter().for_each(|start| seen[*start] = true);
    while let Some(node) = queue.pop_front() {
        if wanted(node) {
            let mut letters = Vec::new();
            let mut at = node;
            while let Some((before, letter)) = came[at] {
                letters.push(letter);
                at = before;
            }
            letters.reverse();
            return Some((letters, node));
        }
        for arrow in graph[node].iter().filter(|arrow| allowed(node, arrow)) {
            if !std::mem::replace(&mut seen[arrow.to], true) {
                came[arrow.to] = Some((node, arrow.letter));
                queue.push_back(arrow.to);
            }
        }
    }
    None
}

/// Returns the strongly connected component of each node (Tarjan), identified by one of its nodes.
fn find_components(graph: &[Vec<GraphEdge>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let count = graph.len();
    let (mut index, mut low, mut component) = (vec![NONE; count], vec![0; count], vec![NONE; count]);
    let (mut next, mut stack): (usize, Vec<usize>) = (0, Vec::new());
    for root in 0..count {
        if index[root] != NONE {
            continue;
        }
        let mut calls: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
            }
            match graph[node].get(edge) {
                Some(arrow) => {
                    calls.push((node, edge + 1));
                    if index[arrow.to] == NONE {
                        calls.push((arrow.to, 0));
                    } else if component[arrow.to] == NONE {
                        low[node] = low[node].min(index[arrow.to]);
                    }
                }
                None => {
                    if low[node] == index[node] {
                        while let Some(member) = stack.pop() {
                            component[member] = node;
                            if member == node {
                                break;
                            }
                        }
                    }
                    if let Some((parent, _)) = calls.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                }
            }
        }
    }
    component
}
