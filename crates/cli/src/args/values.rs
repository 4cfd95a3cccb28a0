//! Values of arguments that need more than their type.

use std::ffi::OsStr;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use lictor::decode::Format;

/// Reads the name of an input format. `help` prints the formats, also without a log.
#[derive(Clone, Debug)]
pub(super) struct FormatNameParser;

impl TypedValueParser for FormatNameParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let name = StringValueParser::new().parse_ref(command, argument, value)?;
        if name == "help" {
            let mut names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            names.sort_unstable();
            let mut help = Error::new(ErrorKind::DisplayHelp);
            help.insert(ContextKind::Custom, ContextValue::Strings(names.into_iter().map(str::to_owned).collect()));
            return Err(help);
        }
        Ok(name)
    }
}

/// Returns the list that an argument asked for instead of a run, such as the input formats.
pub(crate) fn requested_list(error: &Error) -> Option<&[String]> {
    match error.get(ContextKind::Custom) {
        Some(ContextValue::Strings(list)) => Some(list),
        _ => None,
    }
}

/// Reads the share of sessions that are held out: some, but not all of them.
pub(super) fn parse_held_out(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        Ok(0.0) => {
            Err("nothing would be held out to measure on; give a number between 0 and 100, such as 25".to_owned())
        }
        Ok(100.0) => Err("nothing would be left to learn from; give a number between 0 and 100, such as 25".to_owned()),
        _ => Err("not a number between 0 and 100".to_owned()),
    }
}

/// Reads a share in percent.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a number from 0 to 100".to_owned()),
    }
}
