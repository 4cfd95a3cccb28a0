//! Searches whether several bindings of one formula can be satisfied together.
//!
//! Bindings have facts of their own and facts they share. Each residual gets a copy of the own bits and keeps the
//! shared ones, and one search looks for a continuation that satisfies all of them.

use crate::dnf::Obligation;
use crate::norm::{Norm, NormNode, Norms};
use crate::satisfiability::Satisfiability;
use crate::skeleton::Skeleton;
use crate::state::{PortableResidual, Residual};

/// A conjunction of residuals over disjoint own bits.
#[derive(Debug)]
pub(crate) struct JointSearch {
    skeleton: Skeleton,
    width: u32,
    own: u64,
}

/// The most copies that are searched; more bindings count as compatible.
const MAX_JOINT_COPIES: usize = 6;

impl JointSearch {
    /// Returns a search for so many copies; none if there are too many bits.
    pub(crate) fn new(skeleton: &Skeleton, own: u64, copies: usize) -> Option<JointSearch> {
        let width = skeleton.width;
        let most = u64::from(width.max(skeleton.families)) * copies as u64;
        if copies > MAX_JOINT_COPIES || !skeleton.clocks.is_empty() || most > 64 {
            return None;
        }
        let mut joint = JointSearch { skeleton: skeleton.clone(), width, own };
        let (mut generals, mut specials) = (Vec::new(), Vec::new());
        for copy in 0..copies.max(1) {
            for bit in 0..width as usize {
                generals.push(joint.shift_bits(skeleton.generals[bit], copy));
                // A shared bit is special to the own bits of every copy.
                let all =
                    (0..copies.max(1)).fold(0, |bits, other| bits | joint.shift_bits(skeleton.specials[bit], other));
                let is_own = own >> bit & 1 == 1;
                specials.push(if is_own { joint.shift_bits(skeleton.specials[bit], copy) } else { all });
            }
        }
        joint.skeleton.generals = generals;
        joint.skeleton.specials = specials;
        Some(joint)
    }

    /// Returns the bits of a copy.
    fn shift_bits(&self, bits: u64, copy: usize) -> u64 {
        let own = (bits & self.own) << (copy as u32 * self.width);
        bits & !self.own | own
    }

    /// Adds the residual of a copy and returns its norm.
    pub(crate) fn add(&mut self, residual: &Residual, norms: &Norms, copy: usize) -> Norm {
        let shift = (copy as u32 * self.width) as u8;
        let families = (copy as u32 * self.skeleton.families) as u8;
        let own = self.own;
        let place = |node: NormNode| match node {
            NormNode::Literal { bit, positive } if own >> bit & 1 == 1 => {
                NormNode::Literal { bit: bit + shift, positive }
            }
            NormNode::Until { family, from, to, f, g } => NormNode::Until { family: family + families, from, to, f, g },
            node => node,
        };
        let Some(moved) = PortableResidual::export(residual, norms).import_with(&mut self.skeleton.norms, place) else {
            return Norms::TRUE;
        };
        let mut alternatives = Vec::new();
        for member in &moved.members {
            for clause in member.holds.clauses() {
                alternatives.push(self.skeleton.norms.and(clause.iter().map(|obligation| obligation.norm())));
            }
            if member.holds == crate::dnf::Dnf::TooMany {
                return Norms::TRUE;
            }
        }
        self.skeleton.norms.or(alternatives)
    }

    pub(crate) fn can_be_met(&mut self, parts: &[Norm]) -> bool {
        let clause: Vec<Obligation> = parts.iter().map(|norm| Obligation::new(*norm, true)).collect();
        let mut norms = self.skeleton.norms.clone();
        let mut satisfy = Satisfiability::default();
        satisfy.begin_search();
        satisfy.can_be_met(&clause, &mut norms, &self.skeleton)
    }
}
