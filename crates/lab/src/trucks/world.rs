//! The world: a truck brings five packages to their destination before they are due.
//!
//! All packages go to `l2`. Each begins at `l1` or `l3`, is due at a time of its own, and has a value. The truck has the
//! areas `a1` to `a4`, of which `a1` is nearest to the door, and begins at `l3`. A drive takes 4 minutes, all other
//! actions take 1, also those that are refused.
//!
//! The world refuses what is impossible: a load into an area that is taken, or of a package that is elsewhere. It does
//! not refuse what is only forbidden, such as reaching past another package.
//!
//! The reward of a run is the value of each package that was delivered in time, minus half the value of each other one.

use lictor::predict::SeededRandom;
use serde_json::{Map, Value, json};

/// The number of packages, `package1` to `package5`.
pub const PACKAGES: u8 = 5;

/// The number of load areas, `a1` to `a4`.
pub const AREAS: u8 = 4;

/// The number of places, `l1` to `l3`; all are connected.
pub const LOCATIONS: u8 = 3;

/// Where all packages go.
pub const DESTINATION: u8 = 2;

/// Where the truck begins.
const START: u8 = 3;

/// Where packages begin.
const ORIGINS: [u8; 2] = [1, 3];

/// How long a drive and another action take, in minutes.
const DRIVE_MINUTES: u32 = 4;
const OTHER_MINUTES: u32 = 1;

/// How long it takes to bring one package to the destination without a detour, in minutes.
const TRIP_MINUTES: u32 = 2 * DRIVE_MINUTES + 3 * OTHER_MINUTES;

/// The minutes between the moment at which a faultless plan delivers a package and the moment at which it is due.
const LEAST_SLACK_MINUTES: u64 = 20;
const MOST_SLACK_MINUTES: u64 = 50;

/// Deliveries that come one after the other: the second package of a pair waits for the first.
pub const DELIVERY_ORDER: [(u8, u8); 3] = [(2, 1), (3, 2), (5, 4)];

/// What the agent can do. Places, packages and areas are numbered from 1 on.
// Exhaustive on purpose: the oracle matches every action, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruckAction {
    /// Drives to a place.
    Drive {
        /// The place.
        to: u8,
    },
    /// Loads a package that lies where the truck is.
    Load {
        /// The package.
        package: u8,
        /// The area it comes into.
        area: u8,
    },
    /// Unloads a package where the truck is.
    Unload {
        /// The package.
        package: u8,
        /// The area it is in.
        area: u8,
    },
    /// Hands a package over that lies at its destination.
    Deliver {
        /// The package.
        package: u8,
    },
}

impl TruckAction {
    /// Returns the action of a tool call; none if the call names no such thing of this world.
    pub fn from_call(tool: &str, arguments: &Value) -> Option<TruckAction> {
        let number = |key: &str, start: &str, most: u8| {
            let number: u8 = arguments.get(key)?.as_str()?.strip_prefix(start)?.parse().ok()?;
            // A second spelling such as `a01` would be another value for a policy.
            let is_plain = arguments[key] == format!("{start}{number}");
            (1..=most).contains(&number).then_some(number).filter(|_| is_plain)
        };
        let package = || number("package", "package", PACKAGES);
        let area = || number("area", "a", AREAS);
        Some(match tool {
            "drive" => TruckAction::Drive { to: number("to", "l", LOCATIONS)? },
            "load" => TruckAction::Load { package: package()?, area: area()? },
            "unload" => TruckAction::Unload { package: package()?, area: area()? },
            "deliver" => TruckAction::Deliver { package: package()? },
            _ => return None,
        })
    }

    /// Returns the tool and the arguments that ask for it.
    pub fn to_call(self) -> (&'static str, Value) {
        let package = |number: u8| format!("package{number}");
        match self {
            TruckAction::Drive { to } => ("drive", json!({"to": format!("l{to}")})),
            TruckAction::Load { package: number, area } => {
                ("load", json!({"package": package(number), "area": format!("a{area}")}))
            }
            TruckAction::Unload { package: number, area } => {
                ("unload", json!({"package": package(number), "area": format!("a{area}")}))
            }
            TruckAction::Deliver { package: number } => ("deliver", json!({"package": package(number)})),
        }
    }
}

/// Where a package is.
// Exhaustive on purpose: a package is nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackagePlace {
    /// On the ground, at a place.
    Ground(u8),
    /// In an area of the truck.
    Area(u8),
}

/// A package of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruckPackage {
    /// Where it is.
    pub place: PackagePlace,
    /// The minute by which it must be delivered.
    pub due: u32,
    /// Its value, an even number.
    pub value: u32,
    /// The minute at which it was delivered.
    pub delivered: Option<u32>,
}

/// The state of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruckWorld {
    /// Where the truck is.
    pub truck: u8,
    /// The minutes since the run began.
    pub time: u32,
    /// The packages, by number minus one.
    pub packages: [TruckPackage; PACKAGES as usize],
}

impl TruckWorld {
    /// Returns the world of a seed: where packages are, what they are worth, and when they are due. There is always an
    /// order of deliveries, one package at a time, that breaks no property and is in time.
    pub fn new(seed: u64) -> TruckWorld {
        // Agents draw from the same seeds, so that the worlds begin elsewhere.
        let mut random = SeededRandom::new(seed ^ 0x5452_5543_4b53);
        let place = |number: u64| PackagePlace::Ground(ORIGINS[(number % 2) as usize]);
        let mut packages = [TruckPackage { place: place(0), due: 0, value: 0, delivered: None }; PACKAGES as usize];
        for package in &mut packages {
            package.place = place(random.next_bits() >> 33);
            package.value = 2 * (1 + (random.next_bits() % 4) as u32);
        }
        let mut waiting: Vec<u8> = (1..=PACKAGES).collect();
        let mut trips = 0;
        while !waiting.is_empty() {
            let is_next = |number: &&u8| {
                !DELIVERY_ORDER.iter().any(|(first, second)| second == *number && waiting.contains(first))
            };
            let next: Vec<u8> = waiting.iter().filter(is_next).copied().collect();
            let taken = next[(random.next_bits() % next.len() as u64) as usize];
            waiting.retain(|number| *number != taken);
            trips += 1;
            let slack = LEAST_SLACK_MINUTES + random.next_bits() % (MOST_SLACK_MINUTES - LEAST_SLACK_MINUTES + 1);
            packages[usize::from(taken) - 1].due = trips * TRIP_MINUTES + slack as u32;
        }
        TruckWorld { truck: START, time: 0, packages }
    }

    /// Returns a package by its number.
    pub fn package(&self, number: u8) -> &TruckPackage {
        &self.packages[usize::from(number.clamp(1, PACKAGES)) - 1]
    }

    /// Returns the package in an area.
    pub fn content(&self, area: u8) -> Option<u8> {
        (1..=PACKAGES).find(|number| self.package(*number).place == PackagePlace::Area(area))
    }

    /// Whether all packages are delivered.
    pub fn is_done(&self) -> bool {
        self.packages.iter().all(|package| package.delivered.is_some())
    }

    /// Returns why an action is impossible; none if it is possible.
    pub fn find_obstacle(&self, action: TruckAction) -> Option<String> {
        let say = |message: String| Some(message);
        match action {
            TruckAction::Drive { to } if to == self.truck => say(format!("the truck is at l{to} already")),
            TruckAction::Drive { .. } => None,
            TruckAction::Load { package, .. } if self.package(package).delivered.is_some() => {
                say(format!("package{package} is delivered"))
            }
            TruckAction::Load { package, .. } if self.package(package).place != PackagePlace::Ground(self.truck) => {
                say(format!("package{package} does not lie at l{}", self.truck))
            }
            TruckAction::Load { area, .. } => {
                self.content(area).and_then(|other| say(format!("package{other} is in area a{area}")))
            }
            TruckAction::Unload { package, area } => match self.content(area) == Some(package) {
                true => None,
                false => say(format!("package{package} is not in area a{area}")),
            },
            TruckAction::Deliver { package } => {
                let TruckPackage { place, delivered, .. } = *self.package(package);
                let is_there = place == PackagePlace::Ground(DESTINATION) && self.truck == DESTINATION;
                match (delivered.is_some(), is_there) {
                    (true, _) => say(format!("package{package} is delivered already")),
                    (false, true) => None,
                    (false, false) => say(format!(
                        "package{package} and the truck must be at l{DESTINATION}, and it must be unloaded"
                    )),
                }
            }
        }
    }

    /// Performs an action, or refuses it, and lets its time pass. Returns why it was refused.
    pub fn perform(&mut self, action: TruckAction) -> Option<String> {
        let obstacle = self.find_obstacle(action);
        self.time += if matches!(action, TruckAction::Drive { .. }) { DRIVE_MINUTES } else { OTHER_MINUTES };
        if obstacle.is_some() {
            return obstacle;
        }
        let (truck, time) = (self.truck, self.time);
        let mut set = |number: u8, change: &dyn Fn(&mut TruckPackage)| {
            change(&mut self.packages[usize::from(number.clamp(1, PACKAGES)) - 1]);
        };
        match action {
            TruckAction::Drive { to } => self.truck = to,
            TruckAction::Load { package, area } => set(package, &|it| it.place = PackagePlace::Area(area)),
            TruckAction::Unload { package, .. } => set(package, &|it| it.place = PackagePlace::Ground(truck)),
            TruckAction::Deliver { package } => set(package, &|it| it.delivered = Some(time)),
        }
        None
    }

    /// Lets the time of an action pass that is none of this world.
    pub fn waste_time(&mut self) {
        self.time += OTHER_MINUTES;
    }

    /// Returns the reward if the run ended now: the value of each package that was delivered in time, minus half the
    /// value of each other one.
    pub fn reward(&self) -> i64 {
        let reward = |package: &TruckPackage| match package.delivered {
            Some(time) if time <= package.due => i64::from(package.value),
            Some(_) | None => -i64::from(package.value / 2),
        };
        self.packages.iter().map(reward).sum()
    }

    /// Returns the state as the agent sees it.
    pub fn observe(&self) -> Map<String, Value> {
        let mut packages = Map::new();
        for (package, number) in self.packages.iter().zip(1..) {
            let place = match package.place {
                PackagePlace::Ground(place) => format!("l{place}"),
                PackagePlace::Area(area) => format!("a{area}"),
            };
            let mut seen = json!({"at": place, "due": package.due, "value": package.value});
            if let Some(time) = package.delivered {
                seen["delivered"] = json!(time);
            }
            packages.insert(format!("package{number}"), seen);
        }
        let mut seen = Map::new();
        seen.insert("time".into(), json!(self.time));
        seen.insert("truck".into(), json!(format!("l{}", self.truck)));
        seen.insert("packages".into(), Value::Object(packages));
        seen
    }

    /// Returns the state that an observation shows; none if it shows none.
    pub fn from_observation(seen: &Value) -> Option<TruckWorld> {
        let small = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let place = |text: &str, start: char| text.strip_prefix(start)?.parse::<u8>().ok();
        let mut world = TruckWorld::new(0);
        world.time = small(&seen["time"])?;
        world.truck = place(seen["truck"].as_str()?, 'l')?;
        for (package, number) in world.packages.iter_mut().zip(1..) {
            let seen = &seen["packages"][format!("package{number}")];
            let at = seen["at"].as_str()?;
            let ground = place(at, 'l').map(PackagePlace::Ground);
            *package = TruckPackage {
                place: ground.or_else(|| place(at, 'a').map(PackagePlace::Area))?,
                due: small(&seen["due"])?,
                value: small(&seen["value"])?,
                delivered: small(&seen["delivered"]),
            };
        }
        Some(world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brings a package to the destination and delivers it.
    fn bring(world: &mut TruckWorld, package: u8) {
        let PackagePlace::Ground(origin) = world.package(package).place else { return };
        let drive = (world.truck != origin).then_some(TruckAction::Drive { to: origin });
        let rest = [
            TruckAction::Load { package, area: 1 },
            TruckAction::Drive { to: DESTINATION },
            TruckAction::Unload { package, area: 1 },
            TruckAction::Deliver { package },
        ];
        for action in drive.into_iter().chain(rest) {
            assert_eq!(world.perform(action), None, "{action:?}");
        }
    }

    #[test]
    fn every_world_has_a_faultless_plan() {
        // All orders of the two rows 3, 2, 1 and 5, 4.
        let orders = (0u32..32).filter(|bits| bits.count_ones() == 2);
        let orders: Vec<Vec<u8>> = orders
            .map(|bits| {
                let (mut first, mut second) = ([3, 2, 1].into_iter(), [5, 4].into_iter());
                (0..5).filter_map(|place| if bits >> place & 1 == 1 { second.next() } else { first.next() }).collect()
            })
            .collect();
        assert_eq!(orders.len(), 10);
        for seed in 0..500 {
            let best = orders.iter().map(|order| {
                let mut world = TruckWorld::new(seed);
                order.iter().for_each(|package| bring(&mut world, *package));
                assert!(world.is_done());
                world.reward()
            });
            let whole: u32 = TruckWorld::new(seed).packages.iter().map(|package| package.value).sum();
            assert_eq!(best.max().unwrap(), i64::from(whole), "seed {seed}");
        }
    }

    #[test]
    fn observation_shows_the_whole_state() {
        let mut world = TruckWorld::new(7);
        for step in 0..30u8 {
            let action = match step % 4 {
                0 => TruckAction::Drive { to: step % 3 + 1 },
                1 => TruckAction::Load { package: step % 5 + 1, area: step % 4 + 1 },
                2 => TruckAction::Unload { package: step % 5 + 1, area: 1 },
                _ => TruckAction::Deliver { package: step % 5 + 1 },
            };
            world.perform(action);
            assert_eq!(TruckWorld::from_observation(&Value::Object(world.observe())), Some(world.clone()));
        }
        assert_eq!(TruckWorld::from_observation(&json!({"time": 3})), None);
    }

    #[test]
    fn impossible_action_is_refused_and_takes_time() {
        let mut world = TruckWorld::new(1);
        let before = world.clone();
        assert!(world.perform(TruckAction::Unload { package: 1, area: 1 }).is_some());
        assert_eq!(TruckWorld { time: 0, ..world.clone() }, before);
        assert_eq!(world.time, OTHER_MINUTES);
        assert!(world.perform(TruckAction::Drive { to: START }).is_some());
        assert!(world.perform(TruckAction::Deliver { package: 1 }).is_some());
    }

    #[test]
    fn tool_call_names_things_in_one_spelling() {
        for action in [
            TruckAction::Drive { to: 3 },
            TruckAction::Load { package: 5, area: 4 },
            TruckAction::Unload { package: 1, area: 1 },
            TruckAction::Deliver { package: 2 },
        ] {
            let (tool, arguments) = action.to_call();
            assert_eq!(TruckAction::from_call(tool, &arguments), Some(action));
        }
        for odd in [json!({"package": "package01"}), json!({"package": "package6"}), json!({"package": 1}), json!({})] {
            assert_eq!(TruckAction::from_call("deliver", &odd), None, "{odd}");
        }
        assert_eq!(TruckAction::from_call("fly", &json!({"to": "l1"})), None);
    }
}
