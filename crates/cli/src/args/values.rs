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

/// Reads a share in percent.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("not a number from 0 to 100".to_owned()),
    }
}
