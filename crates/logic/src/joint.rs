//! Can several bindings of one formula be satisfied together?
//!
//! Bindings have facts of their own and facts they share. Each residual gets its own copy of the own bits, the shared
//! ones stay, and one search looks for a continuation that satisfies all of them.

use crate::normal::{Norm, NormNode, Norms};
use crate::residual::Obligation;
use crate::satisfy::Satisfy;
use crate::state::{Portable, Residual};
use crate::stepper::Skeleton;

/// A conjunction of residuals over disjoint own bits.
#[derive(Debug)]
pub(crate) struct Joint {
    skeleton: Skeleton,
    width: u32,
    own: u64,
}

/// More copies than this are not searched; the bindings then count as compatible.
const MOST: usize = 6;

impl Joint {
    /// None if there are too many bits for one search.
    pub(crate) fn new(skeleton: &Skeleton, own: u64, copies: usize) -> Option<Joint> {
        let width = skeleton.width;
        let most = u64::from(width.max(skeleton.families)) * copies as u64;
        if copies > MOST || !skeleton.clocks.is_empty() || most > 64 {
            return None;
        }
        let mut joint = Joint { skeleton: skeleton.clone(), width, own };
        let (mut generals, mut specials) = (Vec::new(), Vec::new());
        for copy in 0..copies.max(1) {
            for bit in 0..width as usize {
                generals.push(joint.moved(skeleton.generals[bit], copy));
                // A shared bit is special to the own bits of every copy.
                let all = (0..copies.max(1)).fold(0, |bits, other| bits | joint.moved(skeleton.specials[bit], other));
                let is_own = own >> bit & 1 == 1;
                specials.push(if is_own { joint.moved(skeleton.specials[bit], copy) } else { all });
            }
        }
        joint.skeleton.generals = generals;
        joint.skeleton.specials = specials;
        Some(joint)
    }

    /// Bits as a copy has them.
    fn moved(&self, bits: u64, copy: usize) -> u64 {
        let own = (bits & self.own) << (copy as u32 * self.width);
        bits & !self.own | own
    }

    /// What a residual of a copy asks for.
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
        let Some(moved) = Portable::export(residual, norms).import_with(&mut self.skeleton.norms, place) else {
            return Norms::TRUE;
        };
        let mut alternatives = Vec::new();
        for member in &moved.members {
            for clause in member.holds.clauses() {
                alternatives.push(self.skeleton.norms.and(clause.iter().map(|obligation| obligation.norm())));
            }
            if member.holds == crate::residual::Dnf::TooMany {
                return Norms::TRUE;
            }
        }
        self.skeleton.norms.or(alternatives)
    }

    pub(crate) fn can_be_met(&mut self, parts: &[Norm]) -> bool {
        let clause: Vec<Obligation> = parts.iter().map(|norm| Obligation::new(*norm, true)).collect();
        let mut norms = self.skeleton.norms.clone();
        Satisfy::default().can_be_met(&clause, &mut norms, &self.skeleton)
    }
}
