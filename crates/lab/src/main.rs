//! `lictor-lab`: measures interventions in simulated worlds. `cargo xtask lab` runs it.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use lictor::predict::Chain;
use lictor_lab::trucks::measure::{LEARNING_SEEDS, MEASURED_SEEDS, MeasurePlan, measure};
use lictor_lab::trucks::report::{draw_sweeps, write_tables};
use lictor_lab::trucks::run::{Strategy, TruckRuns, learn_chain};
use lictor_lab::trucks::serve::{serve_agent, serve_world};

#[derive(Debug, Parser)]
#[command(about = "Measures interventions in simulated worlds")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare the strategies in the Trucks world, and print tables
    Trucks {
        /// How many runs each cell has
        #[arg(long, default_value_t = 40)]
        runs: u64,
        /// The first seed: 20000 for those held out, 1000 for those on which the agent was set
        #[arg(long, default_value_t = MEASURED_SEEDS)]
        seeds: u64,
        /// The threshold of the comparison
        #[arg(long, default_value_t = 0.3)]
        threshold: f64,
        /// Leave out the sweep of thresholds
        #[arg(long)]
        no_sweep: bool,
        /// Write the curves of the sweep into this folder
        #[arg(long)]
        pictures: Option<PathBuf>,
    },
    /// Run one strategy in the Trucks world, and print what truly happened, a line of JSON for each run
    Runs {
        #[command(flatten)]
        strategy: StrategyArguments,
        /// How many runs
        #[arg(long, default_value_t = 40)]
        runs: u64,
    },
    /// Serve the agent of the Trucks world over HTTP, in the interface of OpenAI's chat completions
    ServeAgent {
        /// The address
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
    /// Run the Trucks world of a seed for a client in another program, line by line
    World {
        /// The seed, counted from the first measured one
        #[arg(long)]
        seed: u64,
        /// The temperature of the requests
        #[arg(long, default_value_t = 0.8)]
        temperature: f64,
    },
    /// Write the policy and the chain of a strategy into a folder, for a gateway
    Policy {
        /// The folder
        folder: PathBuf,
        #[command(flatten)]
        strategy: StrategyArguments,
    },
}

#[derive(Debug, Args)]
struct StrategyArguments {
    /// none, inject, resample, one-by-one or switch
    #[arg(long, default_value = "resample")]
    strategy: String,
    /// The threshold
    #[arg(long, default_value_t = 0.3)]
    threshold: f64,
    /// The temperature of the agent, also in the runs that the chain is learnt from
    #[arg(long, default_value_t = 0.8)]
    temperature: f64,
}

impl StrategyArguments {
    fn strategy(&self) -> anyhow::Result<Strategy> {
        let known = Strategy::ALL.iter().find(|(_, name)| *name == self.strategy);
        let complain =
            || format!("`{}` is no strategy; use none, inject, resample, one-by-one or switch", self.strategy);
        Ok(known.with_context(complain)?.0)
    }

    fn learn(&self) -> anyhow::Result<Chain> {
        let seeds = LEARNING_SEEDS..LEARNING_SEEDS + MeasurePlan::default().learning_runs;
        learn_chain(seeds, self.temperature).map_err(anyhow::Error::msg)
    }
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Trucks { runs, seeds, threshold, no_sweep, pictures } => {
            let mut plan = MeasurePlan { first_seed: seeds, runs, threshold, ..MeasurePlan::default() };
            if no_sweep {
                plan.sweep.clear();
            }
            if let Some(folder) = &pictures {
                fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            }
            let results = measure(&plan).map_err(anyhow::Error::msg)?;
            io::stdout().write_all(write_tables(&plan, &results).as_bytes())?;
            for (temperature, picture) in pictures.is_some().then(|| draw_sweeps(&results)).into_iter().flatten() {
                let folder = pictures.clone().unwrap_or_default();
                let path = folder.join(format!("trucks-{temperature}.svg"));
                fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Command::ServeAgent { listen } => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            // Serving does not depend on whether the address can be printed.
            let announce = |address| drop(writeln!(io::stdout(), "http://{address}"));
            runtime.block_on(serve_agent(listen, announce))?;
        }
        Command::World { seed, temperature } => {
            serve_world(MEASURED_SEEDS + seed, temperature, io::stdin().lock(), io::stdout().lock())?;
        }
        Command::Runs { strategy: arguments, runs } => {
            let strategy = arguments.strategy()?;
            let chain = Arc::new(arguments.learn()?);
            let mut cell = TruckRuns::new(strategy, arguments.threshold, Some(&chain)).map_err(anyhow::Error::msg)?;
            for seed in MEASURED_SEEDS..MEASURED_SEEDS + runs {
                let (record, _) = cell.run(seed, arguments.temperature).map_err(anyhow::Error::msg)?;
                writeln!(io::stdout(), "{}", record.score.to_json())?;
            }
        }
        Command::Policy { folder, strategy: arguments } => {
            let policy = arguments.strategy()?.policy(arguments.threshold, "chain.json");
            let chain = arguments.learn()?.to_file();
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            for (name, text) in [("policy.yaml", policy), ("chain.json", chain)] {
                let path = folder.join(name);
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
    }
    Ok(())
}
