//! What the simulated agent would like to do next: a preference for each action, and a draw by them.
//!
//! These numbers are assumptions about an agent. They were set on seeds that no measurement uses. The agent plans
//! sensibly on the whole and has two weaknesses, which real models have too: it breaks what is forbidden if that brings
//! it forward, and it looks one action ahead only, so that it fetches a package which it may not deliver yet.

use lictor::predict::SeededRandom;
use lictor_math::exp;

use super::oracle::find_broken;
use super::world::{AREAS, DELIVERY_ORDER, DESTINATION, LOCATIONS, PACKAGES, PackagePlace, TruckAction, TruckWorld};

/// Preferences for actions that bring a package forward.
const DELIVER: f64 = 2.0;
const UNLOAD: f64 = 1.7;
const DRIVE_LOADED: f64 = 1.2;
const LOAD: f64 = 1.0;
const DRIVE_EMPTY: f64 = 0.9;

/// The preference for an action that brings nothing forward.
const USELESS: f64 = -2.2;

/// What an area costs for each area that is nearer to the door, and each package that is in the truck already.
const DEEP_AREA: f64 = 0.8;
const CARRIED: f64 = 0.25;

/// What it is worth that a package may be delivered already, and that it is the one due first.
const IN_ORDER: f64 = 0.35;
const DUE_FIRST: f64 = 0.3;

/// An agent behind a name of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    /// How much the preference for an action is lower if it breaks a property at once.
    pub(super) care: f64,
    /// The most by which the agent likes or dislikes a package for no reason, in all of a run.
    pub(super) whim: f64,
}

/// Returns the actions that the agent considers in a state: whatever concerns packages that it can reach.
pub(super) fn list_actions(world: &TruckWorld) -> Vec<TruckAction> {
    let mut actions = Vec::new();
    for package in 1..=PACKAGES {
        let state = world.package(package);
        match state.place {
            _ if state.delivered.is_some() => {}
            PackagePlace::Ground(place) if place != world.truck => {}
            PackagePlace::Ground(DESTINATION) => actions.push(TruckAction::Deliver { package }),
            PackagePlace::Ground(_) => actions.extend((1..=AREAS).map(|area| TruckAction::Load { package, area })),
            PackagePlace::Area(area) => actions.push(TruckAction::Unload { package, area }),
        }
    }
    actions.extend((1..=LOCATIONS).filter(|to| *to != world.truck).map(|to| TruckAction::Drive { to }));
    actions
}

/// Returns how much the agent likes an action. `whims` are its likings for packages.
fn rate_action(world: &TruckWorld, action: TruckAction, whims: &[f64]) -> f64 {
    let open: Vec<u8> = (1..=PACKAGES).filter(|number| world.package(*number).delivered.is_none()).collect();
    let carried = (1..=AREAS).filter(|area| world.content(*area).is_some()).count();
    let lies_at = |place: u8| open.iter().any(|it| world.package(*it).place == PackagePlace::Ground(place));
    if world.find_obstacle(action).is_some() {
        return USELESS;
    }
    match action {
        TruckAction::Deliver { .. } => DELIVER,
        TruckAction::Unload { .. } if world.truck == DESTINATION => UNLOAD,
        TruckAction::Unload { .. } => USELESS,
        TruckAction::Load { package, area } => {
            let is_open = |number: &u8| world.package(*number).delivered.is_none();
            let must_wait = DELIVERY_ORDER.iter().any(|(first, second)| *second == package && is_open(first));
            let first = open.iter().copied().min_by_key(|number| world.package(*number).due);
            let liking = whims.get(usize::from(package) - 1).copied().unwrap_or_default();
            LOAD + liking - DEEP_AREA * f64::from(area - 1) - CARRIED * carried as f64
                + if must_wait { 0.0 } else { IN_ORDER }
                + if first == Some(package) { DUE_FIRST } else { 0.0 }
        }
        TruckAction::Drive { to: DESTINATION } if carried > 0 => DRIVE_LOADED,
        TruckAction::Drive { to } if carried == 0 && to != DESTINATION && lies_at(to) => {
            // What lies here is fetched first.
            if world.truck != DESTINATION && lies_at(world.truck) { 0.0 } else { DRIVE_EMPTY }
        }
        TruckAction::Drive { .. } => USELESS,
    }
}

/// Draws the next action; none if nothing is left to do. `abiding_factor` multiplies the weight of each action that breaks
/// nothing at once.
pub(super) fn draw_action(
    world: &TruckWorld,
    character: Character,
    temperature: f64,
    abiding_factor: f64,
    (seed, random): (u64, &mut SeededRandom),
) -> Option<TruckAction> {
    if world.is_done() {
        return None;
    }
    let mut whims = SeededRandom::new(seed ^ 0x5748_494d);
    let whims: Vec<f64> = (0..PACKAGES).map(|_| character.whim * (2.0 * whims.next_share() - 1.0)).collect();
    let actions = list_actions(world);
    let weigh = |action: &TruckAction| {
        let breaks = !find_broken(world, *action).is_empty();
        let liking = rate_action(world, *action, &whims) - if breaks { character.care } else { 0.0 };
        exp(liking / temperature) * if breaks { 1.0 } else { abiding_factor }
    };
    let weights: Vec<f64> = actions.iter().map(weigh).collect();
    let mut left = random.next_share() * weights.iter().sum::<f64>();
    for (action, weight) in actions.iter().zip(&weights) {
        left -= weight;
        if left < 0.0 {
            return Some(*action);
        }
    }
    actions.last().copied()
}
