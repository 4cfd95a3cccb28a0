//! What a forecast says.

use std::fmt;

/// The probability that a pattern happens within some actions of the agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// The number of actions.
    pub within: u32,
    /// The probability is at least this, as far as the method knows.
    pub least: f64,
    /// The best guess. What depends on unknown facts, or on events of no known class, counts as not happening; the upper
    /// end counts it as happening.
    pub chance: f64,
    /// The probability is at most this, as far as the method knows.
    pub most: f64,
    /// How it was made.
    pub method: ForecastMethod,
}

/// How a forecast was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForecastMethod {
    /// By all paths of a chain, added up. No model was asked.
    Chain,
    /// By random paths of a chain, for properties with values, counts or deadlines. No model was asked.
    ChainPaths {
        /// The number of paths.
        paths: u32,
        /// The seed of the random numbers.
        seed: u64,
    },
    /// By continuations that a model was asked for.
    Samples {
        /// The number of continuations.
        samples: u32,
    },
}

/// What a predictor says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outlook {
    /// A forecast.
    Forecast(Forecast),
    /// The session is unlike those that the chain was learnt from.
    OutOfModel,
}

/// On which side of a threshold a forecast is.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdSide {
    /// The probability is below it.
    Below,
    /// The probability is not below it.
    Above,
    /// It is not known.
    Undecided,
}

impl Outlook {
    /// Returns the forecast, if there is one.
    pub fn forecast(&self) -> Option<&Forecast> {
        match self {
            Outlook::Forecast(forecast) => Some(forecast),
            Outlook::OutOfModel => None,
        }
    }

    /// Returns on which side of a threshold it is. Only the upper end of a chain's interval was shown to hold, so a
    /// chain never says that a probability is above.
    pub fn side(&self, threshold: f64) -> ThresholdSide {
        match self {
            Outlook::OutOfModel => ThresholdSide::Undecided,
            Outlook::Forecast(forecast) if forecast.most < threshold => ThresholdSide::Below,
            Outlook::Forecast(Forecast { method: ForecastMethod::Samples { .. }, least, .. })
                if *least >= threshold =>
            {
                ThresholdSide::Above
            }
            Outlook::Forecast(_) => ThresholdSide::Undecided,
        }
    }
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outlook::OutOfModel => f.write_str("out of model"),
            Outlook::Forecast(Forecast { within, least, chance, most, method }) => {
                write!(f, "{chance:.3} ({least:.3} to {most:.3}) within {within}, {method}")
            }
        }
    }
}

impl fmt::Display for ForecastMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForecastMethod::Chain => f.write_str("by the chain"),
            ForecastMethod::ChainPaths { paths, seed } => write!(f, "by {paths} paths of the chain, seed {seed}"),
            ForecastMethod::Samples { samples } => write!(f, "by {samples} samples"),
        }
    }
}
