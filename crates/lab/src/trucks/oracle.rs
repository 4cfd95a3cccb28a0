//! What an action truly breaks, from the state of the world alone.
//!
//! The oracle shares nothing with the judge: no formulas, no facts, no memory of the past. A test compares the two.

use super::world::{DELIVERY_ORDER, TruckAction, TruckWorld};

/// The ids of the properties, as `policy.yaml` has them.
pub const PROPERTIES: [&str; 15] = [
    "01-loads-only-a1",
    "02-loads-only-a1-a2",
    "03-loads-only-a1-a2-a3",
    "04-package2-before-package1",
    "05-package3-before-package2",
    "06-package5-before-package4",
    "07-a1-free-when-loaded",
    "08-a2-free-when-loaded",
    "09-a3-free-when-loaded",
    "10-a1-free-when-loading-a2",
    "11-a1-free-when-loading-a3",
    "12-a2-free-when-loading-a3",
    "13-a1-free-when-unloading-a2",
    "14-a1-free-when-unloading-a3",
    "15-a2-free-when-unloading-a3",
];

/// Returns the properties that an action breaks in a state, by their places in [`PROPERTIES`]. An action that the world
/// refuses counts: it was tried.
pub fn find_broken(world: &TruckWorld, action: TruckAction) -> Vec<usize> {
    let is_taken = |area: u8| world.content(area).is_some();
    let mut broken = Vec::new();
    match action {
        TruckAction::Drive { .. } => {}
        TruckAction::Load { area, .. } => {
            // 1 to 3: which areas may be used at all.
            broken.extend((1..=3).filter(|most| area > *most).map(|most| usize::from(most) - 1));
            // 7 to 9: the area itself is free.
            if area <= 3 && is_taken(area) {
                broken.push(5 + usize::from(area));
            }
            // 10 to 12: so are those nearer to the door.
            for (place, behind, front) in [(9, 2, 1), (10, 3, 1), (11, 3, 2)] {
                if area == behind && is_taken(front) {
                    broken.push(place);
                }
            }
        }
        TruckAction::Unload { area, .. } => {
            for (place, behind, front) in [(12, 2, 1), (13, 3, 1), (14, 3, 2)] {
                if area == behind && is_taken(front) {
                    broken.push(place);
                }
            }
        }
        TruckAction::Deliver { package } => {
            for (place, (first, second)) in (3..).zip(DELIVERY_ORDER) {
                if package == second && world.package(first).delivered.is_none() {
                    broken.push(place);
                }
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trucks::world::{DESTINATION, PackagePlace};

    /// Returns the numbers of the properties that an action breaks, after packages were put somewhere.
    fn broken(places: &[(usize, PackagePlace)], action: TruckAction) -> Vec<&'static str> {
        let mut world = TruckWorld::new(1);
        world.truck = DESTINATION;
        places.iter().for_each(|(number, place)| world.packages[number - 1].place = *place);
        find_broken(&world, action).into_iter().map(|place| &PROPERTIES[place][..2]).collect()
    }

    #[test]
    fn oracle_finds_each_property() {
        let load = |area: u8| TruckAction::Load { package: 1, area };
        let unload = |area: u8| TruckAction::Unload { package: 1, area };
        let within = |area: u8| (2, PackagePlace::Area(area));
        assert!(broken(&[], load(1)).is_empty());
        assert_eq!(broken(&[], load(2)), ["01"]);
        assert_eq!(broken(&[], load(3)), ["01", "02"]);
        assert_eq!(broken(&[], load(4)), ["01", "02", "03"]);
        assert_eq!(broken(&[within(1)], load(1)), ["07"]);
        assert_eq!(broken(&[within(2)], load(2)), ["01", "08"]);
        assert_eq!(broken(&[within(3)], load(3)), ["01", "02", "09"]);
        assert_eq!(broken(&[within(1)], load(2)), ["01", "10"]);
        assert_eq!(broken(&[within(1), (3, PackagePlace::Area(2))], load(3)), ["01", "02", "11", "12"]);
        assert_eq!(broken(&[within(1)], unload(2)), ["13"]);
        assert_eq!(broken(&[within(1), (3, PackagePlace::Area(2))], unload(3)), ["14", "15"]);
        assert!(broken(&[within(2)], unload(1)).is_empty());
        let deliver = |package: u8| broken(&[], TruckAction::Deliver { package });
        assert_eq!((deliver(1), deliver(2), deliver(4)), (vec!["04"], vec!["05"], vec!["06"]));
        assert!(deliver(3).is_empty() && deliver(5).is_empty());
        assert!(broken(&[], TruckAction::Drive { to: 1 }).is_empty());
    }
}
