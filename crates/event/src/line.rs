//! Writes an event as a line of Lictor's own format.

use super::{Answer, Arguments, Event, Kind, write_time};
use lictor_json::{Json, Number, Object, Text};

impl Event {
    /// Returns the event as an object that the native decoder reads back; its `to_string` is the line.
    ///
    /// Empty fields are left out. The source of the event is written as `source`, unless the log has a `source` of its
    /// own.
    pub fn to_json(&self) -> Json {
        let mut line = vec![(Text::const_new("v"), Json::from(1))];
        let mut add = |key: &'static str, value: Json| line.push((Text::const_new(key), value));
        let text = |value: &Text| Json::String(value.clone());
        let texts = |values: &[Text]| Json::Array(values.iter().map(text).collect());
        self.session.iter().for_each(|value| add("session", text(value)));
        self.seq.iter().for_each(|value| add("seq", Json::Number(Number::Integer(*value))));
        self.time.iter().for_each(|value| add("time", write_time(*value).into()));
        if self.kind != Kind::Facts {
            add("kind", self.kind.name().into());
        }
        self.agent.iter().for_each(|value| add("agent", text(value)));
        self.principal.iter().for_each(|value| add("principal", text(value)));
        self.id.iter().for_each(|value| add("id", text(value)));
        self.tool.iter().for_each(|value| add("tool", text(value)));
        self.args.iter().for_each(|value| add("args", value.to_json()));
        self.result.iter().for_each(|value| add("result", value.clone()));
        self.text.iter().for_each(|value| add("text", text(value)));
        if self.failed {
            add("failed", true.into());
        }
        self.to.iter().for_each(|value| add("to", text(value)));
        self.purposes.iter().for_each(|values| add("purposes", texts(values)));
        self.categories.iter().for_each(|values| add("categories", texts(values)));
        self.subjects.iter().for_each(|values| add("subjects", texts(values)));
        if !self.labels.is_empty() {
            add("labels", texts(&self.labels));
        }
        if !self.answers.is_empty() {
            add("answers", Json::Array(self.answers.iter().map(Answer::to_json).collect()));
        }
        if !self.facts.is_empty() || self.kind == Kind::Facts {
            add("facts", Json::Array(self.facts.iter().map(|fact| fact.to_string().into()).collect()));
        }
        if !self.source.file.is_empty() && self.more.get("source").is_none() {
            let mut source = Object::new();
            source.insert("file", &*self.source.file);
            source.insert("line", i64::from(self.source.line));
            add("source", source.into());
        }
        // A field of the event wins over a stray one of the same name.
        let mut line = Object::from_members(line);
        for (key, value) in self.more.iter() {
            if line.get(key).is_none() {
                line.insert(key.clone(), value.clone());
            }
        }
        Json::Object(line)
    }
}

impl Arguments {
    /// Returns the arguments as [`from_json`](Arguments::from_json) reads them.
    fn to_json(&self) -> Json {
        match self {
            Arguments::Value(value @ Json::Object(_)) => value.clone(),
            // Only a string can hold anything but an object.
            Arguments::Value(value) => value.to_string().into(),
            Arguments::Unparsed(text) => Json::String(text.clone()),
        }
    }
}
