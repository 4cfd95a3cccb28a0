//! The file of a chain: JSON with a hash of its content.
//!
//! The hash detects damage, and names the chain in records; it does not protect from forgery.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_json::{Json, Number, Object};
use lictor_logic::Value;

use crate::chain::{Chain, FIRST, FORGOTTEN, MAX_ORDER, Row, SymbolContext, forget};
use crate::learn::ChainError;
use crate::symbol::{Constants, Symbol, SymbolFact, SymbolValue};

/// What the file says it is.
const FORMAT: &str = "lictor-chain";
/// The version of the format.
const VERSION: i64 = 1;
/// The number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 32;

impl Chain {
    /// Returns it as the text of a file.
    pub fn to_file(&self) -> String {
        let mut object = self.content();
        object.insert("hash", &*self.hash);
        format!("{}\n", Json::Object(object))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// It is no chain, of another version, or damaged.
    pub fn parse(text: &str) -> Result<Chain, ChainError> {
        let invalid =
            |message: String| ChainError::new(format!("{message}\nhint: learn it again: `lictor learn chain`"));
        let json = lictor_json::parse_str(text).map_err(|error| invalid(format!("no JSON: {}", error.message)))?;
        let Json::Object(mut object) = json else { return Err(invalid("a chain is a JSON object".to_owned())) };
        if object.get("format").and_then(Json::as_str) != Some(FORMAT) {
            return Err(invalid("the file is no chain".to_owned()));
        }
        if object.get("version").and_then(Json::as_i64) != Some(VERSION) {
            return Err(invalid(format!("the chain is not of version {VERSION}")));
        }
        let hash = object.remove("hash").and_then(|hash| hash.as_str().map(str::to_owned)).unwrap_or_default();
        if *hash_content(&object) != *hash {
            return Err(invalid("the chain was changed: its hash is that of another content".to_owned()));
        }
        let mut chain =
            read_chain(&Json::Object(object.clone())).ok_or_else(|| invalid("the chain is damaged".to_owned()))?;
        if chain.content() != object {
            return Err(invalid("the file has members that do not belong into a chain".to_owned()));
        }
        chain.hash = hash.into();
        Ok(chain)
    }

    /// Computes the hash of its content.
    pub(crate) fn seal(&mut self) {
        self.hash = hash_content(&self.content());
    }

    fn content(&self) -> Object {
        let constants = self.constants.0.iter().map(|((name, place), values)| {
            Json::from(vec![
                Json::from(&**name),
                Json::from(*place as i64),
                Json::from(values.iter().map(write_value).collect::<Vec<_>>()),
            ])
        });
        let mut rows: Vec<(&SymbolContext, &Row)> = self.rows.iter().collect();
        rows.sort_unstable_by_key(|(context, _)| *context);
        let rows = rows.into_iter().map(|(context, row)| {
            let known = context.iter().filter(|symbol| **symbol != FORGOTTEN);
            let context: Vec<Json> = known.map(|symbol| Json::from(i64::from(*symbol))).collect();
            let next = row.next.iter().flat_map(|(symbol, count)| [i64::from(*symbol), *count as i64]);
            Json::from(vec![Json::from(context), Json::from(next.map(Json::from).collect::<Vec<_>>())])
        });
        let names: Vec<Json> = self.names.iter().map(|name| Json::from(&**name)).collect();
        Object::from([
            ("format", Json::from(FORMAT)),
            ("version", Json::from(VERSION)),
            ("sessions", Json::from(self.sessions as i64)),
            ("events", Json::from(self.events as i64)),
            ("order", Json::from(self.order as i64)),
            ("smoothing", Json::Number(Number::Float(self.smoothing))),
            (
                "loss_limit",
                Json::Number(Number::Float(if self.loss_limit.is_finite() { self.loss_limit } else { -1.0 })),
            ),
            ("gaps", self.gaps.iter().map(|gap| Json::from(*gap)).collect::<Vec<_>>().into()),
            ("names", names.into()),
            ("constants", constants.collect::<Vec<_>>().into()),
            ("symbols", self.symbols.iter().map(write_symbol).collect::<Vec<_>>().into()),
            ("rows", rows.collect::<Vec<_>>().into()),
        ])
    }
}

fn hash_content(object: &Object) -> Arc<str> {
    let hash = blake3::hash(Json::Object(object.clone()).to_string().as_bytes());
    Arc::from(&hash.to_hex()[..HASH_DIGITS])
}

fn write_value(value: &Value) -> Json {
    match value {
        Value::Bool(value) => Json::from(*value),
        Value::Integer(value) => Json::from(*value),
        Value::Decimal(value) => Json::Number(Number::Float(value.get())),
        Value::Text(value) => Json::from(&**value),
    }
}

fn read_value(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match json.as_i64() {
            Some(value) => Value::Integer(value),
            None => Value::number(number.as_f64())?,
        },
        Json::String(value) => Value::Text(value.as_str().into()),
        _ => return None,
    })
}

fn write_symbol(symbol: &Symbol) -> Json {
    let mut object = Object::from([("kind", Json::from(&*symbol.kind)), ("action", Json::from(symbol.is_action))]);
    symbol.tool.iter().for_each(|tool| object.insert("tool", &**tool));
    let facts = symbol.facts.iter().map(|fact| {
        let values = fact.values.iter().map(|value| match value {
            SymbolValue::Constant(value) => Json::from([("is", write_value(value))]),
            SymbolValue::Recent { of, place } => {
                Json::from([("recent", Json::from(i64::from(*place))), ("of", Json::from(&**of))])
            }
            SymbolValue::Fresh => Json::from("fresh"),
            SymbolValue::Any => Json::from("any"),
        });
        Json::from([
            ("name", Json::from(&*fact.name)),
            ("values", values.collect::<Vec<_>>().into()),
            ("unknown", Json::from(fact.is_unknown)),
        ])
    });
    object.insert("facts", facts.collect::<Vec<_>>());
    object.into()
}

fn read_symbol(json: &Json) -> Option<Symbol> {
    let mut facts = BTreeSet::new();
    for fact in json.get("facts")?.as_array()? {
        let value = |value: &Json| match value.as_str() {
            Some("fresh") => Some(SymbolValue::Fresh),
            Some("any") => Some(SymbolValue::Any),
            Some(_) => None,
            None => match value.get("recent") {
                Some(place) => {
                    let place = u8::try_from(place.as_i64()?).ok()?;
                    Some(SymbolValue::Recent { of: value.text("of")?.into(), place })
                }
                None => Some(SymbolValue::Constant(read_value(value.get("is")?)?)),
            },
        };
        facts.insert(SymbolFact {
            name: fact.text("name")?.into(),
            values: fact.get("values")?.as_array()?.iter().map(value).collect::<Option<_>>()?,
            is_unknown: fact.get("unknown")?.as_bool()?,
        });
    }
    let tool = json.text("tool").map(Arc::from);
    Some(Symbol { kind: json.text("kind")?.into(), tool, facts, is_action: json.get("action")?.as_bool()? })
}

fn read_chain(json: &Json) -> Option<Chain> {
    let whole = |json: &Json, key: &str| json.get(key)?.as_i64().filter(|number| *number >= 0);
    let mut constants = Constants::default();
    for entry in json.get("constants")?.as_array()? {
        let [name, place, values] = entry.as_array()? else { return None };
        let (name, place) = (Arc::from(name.as_str()?), usize::try_from(place.as_i64()?).ok()?);
        for value in values.as_array()? {
            constants.insert(&name, place, read_value(value)?);
        }
    }
    let symbols: Vec<Symbol> = json.get("symbols")?.as_array()?.iter().map(read_symbol).collect::<Option<_>>()?;
    let order = whole(json, "order").filter(|order| (1..=MAX_ORDER as i64).contains(order))? as usize;
    let number = |key: &str| match json.get(key)? {
        Json::Number(number) => Some(number.as_f64()),
        _ => None,
    };
    let smoothing = number("smoothing").filter(|it| *it > 0.0 && *it <= 1.0)?;
    let end = FIRST as usize + symbols.len();
    let read_number = |json: &Json| u32::try_from(json.as_i64()?).ok().filter(|number| (*number as usize) < end);
    let mut chain = Chain::new(constants, symbols, order, smoothing);
    for entry in json.get("rows")?.as_array()? {
        let [context, next] = entry.as_array()? else { return None };
        let known: Vec<u32> = context.as_array()?.iter().map(read_number).collect::<Option<_>>()?;
        let mut context = [FORGOTTEN; MAX_ORDER];
        context.iter_mut().rev().zip(known.iter().rev()).for_each(|(to, from)| *to = *from);
        let mut row = Row::default();
        let (pairs, []) = next.as_array()?.as_chunks::<2>() else { return None };
        for [symbol, count] in pairs {
            let (symbol, count) = (read_number(symbol)?, u64::try_from(count.as_i64()?).ok().filter(|it| *it > 0)?);
            if row.next.last().is_some_and(|(last, _)| *last >= symbol) {
                return None;
            }
            row.total = row.total.checked_add(count)?;
            row.next.push((symbol, count));
        }
        if known.len() > order || chain.rows.insert(forget(known.len(), context), row).is_some() {
            return None;
        }
    }
    let limit = number("loss_limit")?;
    chain.loss_limit = if limit < 0.0 { f64::INFINITY } else { limit };
    let gap = |gap: &Json| gap.as_i64().filter(|gap| *gap >= 0);
    chain.gaps = json.get("gaps")?.as_array()?.iter().map(gap).collect::<Option<_>>()?;
    chain.sessions = whole(json, "sessions")? as u64;
    chain.events = whole(json, "events")? as u64;
    chain.names = json.get("names")?.as_array()?.iter().map(|it| it.as_str().map(Arc::from)).collect::<Option<_>>()?;
    Some(chain)
}
