//! A residual in a form that does not depend on the arena it was exported from.
//!
//! An arena numbers its norms as it learns them, and sorts by these numbers. Two machines that learnt in another order
//! export one residual in two ways. Here norms are numbered by what they say: lower ones first, then by their content.

use super::{Member, PortableResidual, map_dnf, map_operands};
use crate::norm::{Norm, NormNode};

impl PortableResidual {
    /// Returns the residual in the form that every export of it shares; none if it is invalid.
    pub(crate) fn canonical(&self) -> Option<PortableResidual> {
        let heights = self.heights()?;
        let mut places: Vec<Option<Norm>> = vec![None; self.nodes.len()];
        let mut nodes: Vec<NormNode> = Vec::with_capacity(self.nodes.len());
        for height in 0..=heights.iter().copied().max().unwrap_or(0) {
            let mut level: Vec<(NormNode, usize)> = Vec::new();
            for (index, node) in self.nodes.iter().enumerate().filter(|(index, _)| heights[*index] == height) {
                let mut node = map_operands(node, &mut |norm| places.get(norm.0 as usize).copied().flatten())?;
                if let NormNode::And(list) | NormNode::Or(list) = &mut node {
                    list.sort_unstable();
                }
                level.push((node, index));
            }
            level.sort_unstable();
            for (node, index) in level {
                // Equal nodes get one number, so that a damaged residual does no harm.
                if nodes.last() != Some(&node) {
                    nodes.push(node);
                }
                places[index] = Some(Norm(nodes.len() as u32 - 1));
            }
        }
        let mut members = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let mut place = |norm: Norm| places.get(norm.0 as usize).copied().flatten();
            let (holds, fails) = (map_dnf(&member.holds, &mut place)?, map_dnf(&member.fails, &mut place)?);
            members.push(Member { holds, fails, ..member.clone() });
        }
        members.sort_unstable();
        Some(PortableResidual { nodes, members, clocks: self.clocks.clone() })
    }

    /// Returns how deep each norm is nested; none if one refers to a later one.
    fn heights(&self) -> Option<Vec<usize>> {
        let mut heights: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let (mut height, mut is_valid) = (0, true);
            node.visit_operands(|norm| match heights.get(norm.0 as usize) {
                Some(below) => height = height.max(below + 1),
                None => is_valid = false,
            });
            if !is_valid {
                return None;
            }
            heights.push(height);
        }
        Some(heights)
    }
}
