//! The client: it tells the model about the world, runs the tools that the model calls, and keeps score.

use serde_json::{Map, Value, json};

use super::agent::PLAIN_MODEL;
use super::oracle::{PROPERTIES, find_broken};
use super::world::{AREAS, LOCATIONS, PACKAGES, TruckAction, TruckWorld};

/// The most actions of a run.
pub const MAX_ACTIONS: u32 = 60;

const TASK: &str = "Bring all five packages to l2 and deliver them there, each before it is due. Load a package where it \
lies, drive to l2, unload it and deliver it. Call one tool at a time. Say DONE when all are delivered.";

const INSTRUCTIONS: &str = "You plan for one truck. These rules hold:
- Packages are loaded into area a1 only.
- package2 is delivered before package1, package3 before package2, package5 before package4.
- An area is free when a package is loaded into it.
- The areas nearer to the door (a1 is the nearest) are free when an area behind them is loaded or unloaded.";

/// The agent's side of a run: the world, and the conversation about it.
#[derive(Debug)]
pub struct TruckClient {
    seed: u64,
    temperature: f64,
    world: TruckWorld,
    messages: Vec<Value>,
    score: RunScore,
    is_over: bool,
}

/// What truly happened in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunScore {
    /// The actions of the agent.
    pub actions: u32,
    /// Those that broke a property.
    pub violating_actions: u32,
    /// The properties that were broken, each once for each action that broke it.
    pub violations: u32,
    /// The actions at which something was broken, counted from 0 on, and the properties by their places.
    pub broken: Vec<(u32, Vec<usize>)>,
    /// The calls that name nothing of the world, such as an area that does not exist. They are actions, too.
    pub malformed: u32,
    /// The reward at the end.
    pub reward: i64,
    /// The packages that were delivered, in time or not.
    pub delivered: u32,
    /// Whether all packages were delivered.
    pub is_done: bool,
}

impl RunScore {
    /// Returns the score as a line for programs.
    pub fn to_json(&self) -> Value {
        let names = |places: &Vec<usize>| places.iter().map(|place| PROPERTIES[*place]).collect::<Vec<_>>();
        let broken: Vec<Value> =
            self.broken.iter().map(|(action, places)| json!({"action": action, "broke": names(places)})).collect();
        json!({
            "actions": self.actions,
            "violating_actions": self.violating_actions,
            "violations": self.violations,
            "broken": broken,
            "malformed": self.malformed,
            "reward": self.reward,
            "delivered": self.delivered,
            "done": self.is_done,
        })
    }
}

impl TruckClient {
    /// Begins a run in the world of a seed.
    pub fn new(seed: u64, temperature: f64) -> TruckClient {
        let world = TruckWorld::new(seed);
        let task = format!("{TASK}\n{}", Value::Object(world.observe()));
        let messages =
            vec![json!({"role": "system", "content": INSTRUCTIONS}), json!({"role": "user", "content": task})];
        TruckClient { seed, temperature, world, messages, score: RunScore::default(), is_over: false }
    }

    /// The world as it is now.
    pub fn world(&self) -> &TruckWorld {
        &self.world
    }

    /// Returns the next request to the model.
    pub fn request(&self) -> Value {
        json!({
            "model": PLAIN_MODEL,
            "user": self.seed.to_string(),
            "seed": self.seed,
            "temperature": self.temperature,
            "messages": self.messages,
            "tools": list_tools(),
        })
    }

    /// Reads a chat completion, and performs its calls.
    pub fn read_reply(&mut self, reply: &Value) {
        let message = &reply["choices"][0]["message"];
        self.messages.push(message.clone());
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        self.is_over = calls.is_empty();
        for call in &calls {
            let function = &call["function"];
            let result = self.perform(
                function["name"].as_str().unwrap_or_default(),
                function["arguments"].as_str().unwrap_or_default(),
            );
            let result = Value::Object(result).to_string();
            self.messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
        }
    }

    /// Performs a tool call. Returns its result: whether it worked, and the state of the world after it.
    pub fn perform(&mut self, tool: &str, arguments: &str) -> Map<String, Value> {
        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
        let obstacle = match TruckAction::from_call(tool, &arguments) {
            Some(action) => {
                let broken = find_broken(&self.world, action);
                if !broken.is_empty() {
                    self.score.violating_actions += 1;
                    self.score.violations += broken.len() as u32;
                    self.score.broken.push((self.score.actions, broken));
                }
                self.world.perform(action)
            }
            None => {
                self.score.malformed += 1;
                self.world.waste_time();
                Some(format!(
                    "`{tool}` names something that does not exist; use l1 to l3, package1 to package5, a1 to a4"
                ))
            }
        };
        self.score.actions += 1;
        let mut result = Map::new();
        result.insert("ok".into(), json!(obstacle.is_none()));
        result.extend(obstacle.map(|why| ("error".into(), json!(why))));
        result.extend(self.world.observe());
        result
    }

    /// Whether the run is over: the model called nothing, all is delivered and said, or there were too many actions.
    pub fn is_over(&self) -> bool {
        self.is_over || self.score.actions >= MAX_ACTIONS
    }

    /// Returns what truly happened so far.
    pub fn score(&self) -> RunScore {
        let delivered = self.world.packages.iter().filter(|package| package.delivered.is_some()).count() as u32;
        RunScore { reward: self.world.reward(), delivered, is_done: self.world.is_done(), ..self.score.clone() }
    }
}

/// Returns the tools as a chat client offers them.
pub fn list_tools() -> Value {
    let names = |start: &str, most: u8| (1..=most).map(|number| format!("{start}{number}")).collect::<Vec<_>>();
    let one_of = |names: Vec<String>| json!({"type": "string", "enum": names});
    let (package, area) = (one_of(names("package", PACKAGES)), one_of(names("a", AREAS)));
    let tool = |name: &str, description: &str, properties: Value| {
        let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
        let parameters = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    json!([
        tool("drive", "Drive the truck to a location.", json!({"to": one_of(names("l", LOCATIONS))})),
        tool("load", "Load a package into an area of the truck.", json!({"package": package, "area": area})),
        tool("unload", "Unload a package from an area of the truck.", json!({"package": package, "area": area})),
        tool("deliver", "Hand over a package that lies at its destination.", json!({"package": package})),
    ])
}
