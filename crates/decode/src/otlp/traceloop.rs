//! The arguments of tools as OpenLLMetry records them: in a wrapper around those of the call.

use crate::attributes::parse_embedded;
use lictor_event::Arguments;
use lictor_json::Json;

/// Returns the arguments of a call from `traceloop.entity.input`.
///
/// A decorated function has `{"args":[…],"kwargs":{…}}`. A tool of LangChain has `inputs` beside what its callback was
/// given. Arguments by position have no names to compare, so they count as unparsed.
pub(super) fn read_arguments(input: Json) -> Arguments {
    let wrapped = match parse_embedded(input) {
        Json::Object(wrapped) => wrapped,
        other => return Arguments::from_json(other),
    };
    if let Some(inputs @ Json::Object(_)) = wrapped.get("inputs")
        && (wrapped.len() == 1 || wrapped.get("input_str").is_some())
    {
        return Arguments::Value(inputs.clone());
    }
    match (wrapped.get("args"), wrapped.get("kwargs")) {
        (Some(Json::Array(unnamed)), Some(named @ Json::Object(_))) if wrapped.len() == 2 => match unnamed.is_empty() {
            true => Arguments::Value(named.clone()),
            false => Arguments::Unparsed(Json::Object(wrapped).to_string().into()),
        },
        _ => Arguments::Value(Json::Object(wrapped)),
    }
}
