//! Options from environment variables. The command line wins; an empty variable counts as unset; errors name the variable.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory, Error, FromArgMatches};

use super::Args;

/// The values that turn a flag off, as `clap` reads them.
const FALSE_VALUES: [&str; 6] = ["n", "no", "f", "false", "off", "0"];

/// Reads the arguments. The first one is the name of the program.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut command = Args::command().mut_subcommands(|command| command.mut_args(ignore_unset_variable));
    let matches = command.try_get_matches_from_mut(&arguments);
    let parsed =
        matches.and_then(|matches| Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command)));
    parsed.map_err(|error| name_variable(error, &command, &arguments))
}

/// The variable that holds the control key of a gateway. It is no option: a key does not belong on a command line.
pub(crate) const CONTROL_KEY_VARIABLE: &str = "LICTOR_CONTROL_KEY";

/// Returns the names among these that look like options of a command but are none, such as a misspelt `LICTOR_UPSTREM`.
pub(crate) fn find_unknown_variables(command: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let args = Args::command();
    let known: Vec<&str> = args
        .find_subcommand(command)
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter_map(|arg| arg.get_env()?.to_str())
        .collect();
    let is_known = |name: &str| known.contains(&name) || name == CONTROL_KEY_VARIABLE;
    let mut unknown: Vec<String> =
        names.filter(|name| name.starts_with("LICTOR_") && !is_known(name.as_str())).collect();
    unknown.sort_unstable();
    unknown
}

/// Ignores the variable of an option if it is empty, or if it says that a flag is not given.
fn ignore_unset_variable(arg: Arg) -> Arg {
    let value = arg.get_env().and_then(std::env::var_os).unwrap_or_default();
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let is_false = || FALSE_VALUES.iter().any(|known| value.eq_ignore_ascii_case(known));
    let is_set = arg.get_env().is_some_and(|name| std::env::var_os(name).is_some());
    if is_set && (value.is_empty() || is_flag && is_false()) { arg.env(Resettable::Reset) } else { arg }
}

/// Adds to an error about a value the variable that the value comes from.
fn name_variable(mut error: Error, command: &Command, arguments: &[OsString]) -> Error {
    let Some(ContextValue::String(invalid)) = error.get(ContextKind::InvalidArg) else { return error };
    let called = arguments.get(1).and_then(|name| command.find_subcommand(name));
    let option = called.into_iter().flat_map(Command::get_arguments).find(|arg| arg.to_string() == *invalid);
    let is_given = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
        arguments.iter().filter_map(|given| given.to_str()).any(|given| given.split('=').next() == Some(long.as_str()))
    };
    let variable = option.filter(|arg| !is_given(arg)).and_then(Arg::get_env);
    let variable = variable.filter(|name| std::env::var_os(name).is_some());
    if let Some(name) = variable.map(|name| name.to_string_lossy().into_owned()) {
        let tip = format!("the value is that of the environment variable {name}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn misspelt_variables_are_found() {
        let names = ["LICTOR_UPSTREM", "LICTOR_UPSTREAM", "LICTOR_CONTROL_KEY", "PATH"].map(str::to_owned);
        assert_eq!(find_unknown_variables("serve", names.into_iter()), ["LICTOR_UPSTREM"]);
    }

    #[test]
    fn every_serve_option_has_a_variable() {
        let command = Args::command();
        let serve = command.find_subcommand("serve").unwrap();
        for arg in serve.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
            let wanted = format!("LICTOR_{}", arg.get_long().unwrap().to_uppercase().replace('-', "_"));
            assert_eq!(arg.get_env().and_then(OsStr::to_str), Some(wanted.as_str()));
            assert!(arg.is_hide_env_values_set(), "{wanted}: a value may be a secret");
        }
    }
}
