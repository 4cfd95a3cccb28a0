//! Reads the parts of schemas that decisions depend on: which events are decided, which fields are pinned, and which
//! actions belong to which groups. Dogwood checks the types of values.

use super::cursor::Cursor;
use super::lexer::Token;
use super::refusal::{Refusal, SYNTAX, refuse};
use super::syntax::{Entity, Root};

/// A kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventKind {
    pub(super) name: String,
    pub(super) is_decided: bool,
    pub(super) pins: Vec<Pin>,
}

/// A field that every event a decision looks back at must have in common with the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pin {
    /// The field of the event.
    pub(super) field: Vec<String>,
    /// The part of the request that it equals.
    pub(super) root: Root,
    pub(super) path: Vec<String>,
}

impl Pin {
    /// Whether the field has the same name in the request, so that decisions see no other events at all.
    fn is_symmetric(&self) -> bool {
        match self.root {
            Root::Context => self.path == self.field,
            Root::Principal => self.path.is_empty() && self.field == ["callerPrincipal"],
            Root::Resource => self.path.is_empty() && self.field == ["callerResource"],
            Root::Action => false,
        }
    }
}

/// The kinds of events.
#[derive(Clone, Debug)]
pub(super) struct EventSchema {
    pub(super) kinds: Vec<EventKind>,
}

impl Default for EventSchema {
    /// The schema that Dogwood uses by default: requests are decided, and every principal has its own history.
    fn default() -> EventSchema {
        let pin = Pin { field: vec!["callerPrincipal".to_owned()], root: Root::Principal, path: Vec::new() };
        let kind =
            |name: &str| EventKind { name: name.to_owned(), is_decided: name == "request", pins: vec![pin.clone()] };
        EventSchema { kinds: ["request", "response", "error"].map(kind).into() }
    }
}

impl EventSchema {
    /// Reads an event schema.
    pub(super) fn read(file: usize, text: &str) -> Result<EventSchema, Refusal> {
        let mut cursor = Cursor::new(file, text)?;
        if cursor.take_name_if("max_window") {
            cursor.expect("=")?;
            cursor.take_integer()?;
            cursor.take_name()?;
        }
        let mut kinds = Vec::new();
        while !cursor.is_at_end() {
            let is_decided = cursor.take_name_if("decision");
            cursor.expect_name("event")?;
            cursor.expect("<")?;
            cursor.take_name()?;
            cursor.expect(">")?;
            cursor.expect("::")?;
            let name = cursor.take_name()?;
            cursor.expect("{")?;
            let mut pins = Vec::new();
            parse_fields(&mut cursor, &mut Vec::new(), &mut pins)?;
            kinds.push(EventKind { name, is_decided, pins });
        }
        Ok(EventSchema { kinds })
    }

    /// Whether an event of this kind is a request that is decided.
    pub(super) fn is_decided(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known.name == kind && known.is_decided)
    }

    /// Returns the fields that all events of a kind share with the request.
    pub(super) fn pins(&self, kind: &str) -> &[Pin] {
        self.kinds.iter().find(|known| known.name == kind).map_or(&[], |known| &known.pins)
    }

    /// Returns the fields that split events into histories: those pinned to themselves in every kind of event.
    pub(super) fn session_pins(&self) -> Vec<&Pin> {
        let Some((first, rest)) = self.kinds.split_first() else { return Vec::new() };
        let everywhere = |pin: &&Pin| pin.is_symmetric() && rest.iter().all(|kind| kind.pins.contains(pin));
        first.pins.iter().filter(everywhere).collect()
    }
}

/// Parses the fields of an event up to the closing brace; keeps only the pins.
fn parse_fields(cursor: &mut Cursor, path: &mut Vec<String>, pins: &mut Vec<Pin>) -> Result<(), Refusal> {
    while !cursor.take_if("}") {
        if cursor.take_if("...") {
            cursor.take_name()?;
            cursor.expect("(")?;
            cursor.take_name()?;
            cursor.expect(")")?;
        } else {
            let is_pinned = cursor.is_name(0, "pin") && !cursor.is_sign(1, ":") && cursor.take_name_if("pin");
            path.push(cursor.take_name()?);
            cursor.expect(":")?;
            if cursor.take_if("{") {
                cursor.parse_nested(|cursor| parse_fields(cursor, path, pins))?;
            } else {
                cursor.take_qualified()?;
                if cursor.take_if("(") {
                    cursor.take_name()?;
                    cursor.expect(")")?;
                }
            }
            if is_pinned {
                let at = cursor.location();
                cursor.expect("=")?;
                let mut target = cursor.take_path()?;
                let root = match target.remove(0).as_str() {
                    "principal" => Root::Principal,
                    "resource" => Root::Resource,
                    "context" => Root::Context,
                    other => return Err(refuse(at, SYNTAX, format!("a field cannot be pinned to `{other}`"))),
                };
                pins.push(Pin { field: path.clone(), root, path: target });
            }
            path.pop();
        }
        if !cursor.is_sign(0, "}") {
            cursor.expect(",")?;
        }
    }
    Ok(())
}

/// Which groups each action belongs to, as an action schema declares it.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionGroups {
    direct: Vec<(Entity, Entity)>,
}

impl ActionGroups {
    /// Reads the actions of an action schema, and nothing else of it.
    pub(super) fn read(file: usize, text: &str) -> Result<ActionGroups, Refusal> {
        let mut cursor = Cursor::new(file, text)?;
        let mut groups = ActionGroups::default();
        let (mut namespace, mut depth, mut inside) = (String::new(), 0_usize, None);
        while !cursor.is_at_end() {
            let begins = match cursor.peek(1) {
                Token::Name(_) | Token::Text(_) => true,
                Token::Sign(_) | Token::Number(_) | Token::End => false,
            };
            if cursor.is_name(0, "namespace") && begins && depth == 0 {
                cursor.take();
                namespace = cursor.take_qualified()?.0;
                inside = Some(depth);
            } else if cursor.is_name(0, "action") && begins && depth == usize::from(inside.is_some()) {
                cursor.take();
                groups.parse_action(&mut cursor, &namespace)?;
            } else {
                match cursor.take() {
                    Token::Sign("{") => depth += 1,
                    Token::Sign("}") => {
                        depth = depth.saturating_sub(1);
                        if inside == Some(depth) {
                            inside = None;
                            namespace.clear();
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(groups)
    }

    /// `action a, "b" in [Group, Other::Action::"c"]`.
    fn parse_action(&mut self, cursor: &mut Cursor, namespace: &str) -> Result<(), Refusal> {
        let kind = if namespace.is_empty() { "Action".to_owned() } else { format!("{namespace}::Action") };
        let mut names = Vec::new();
        loop {
            names.push(if let Token::Text(_) = cursor.peek(0) { cursor.take_text()? } else { cursor.take_name()? });
            if !cursor.take_if(",") {
                break;
            }
        }
        if !cursor.take_name_if("in") {
            return Ok(());
        }
        let group = |cursor: &mut Cursor| {
            if let Token::Text(_) = cursor.peek(0) {
                return Ok(Entity { kind: kind.clone(), id: cursor.take_text()? });
            }
            Ok(match cursor.take_qualified()? {
                // Inside of a namespace `Action` is its own.
                (found, Some(id)) if found == "Action" => Entity { kind: kind.clone(), id },
                (found, Some(id)) => Entity { kind: found, id },
                (id, None) => Entity { kind: kind.clone(), id },
            })
        };
        let found = if cursor.take_if("[") { cursor.take_list("]", group)? } else { vec![group(cursor)?] };
        for name in names {
            let action = Entity { kind: kind.clone(), id: name };
            self.direct.extend(found.iter().map(|group| (action.clone(), group.clone())));
        }
        Ok(())
    }

    /// Whether an action belongs to a group, directly or through others.
    pub(super) fn is_member(&self, action: &Entity, group: &Entity) -> bool {
        let mut seen = vec![action];
        let mut place = 0;
        while let Some(found) = seen.get(place).copied() {
            if found == group {
                return true;
            }
            let next = self.direct.iter().filter(|(member, _)| member == found).map(|(_, group)| group);
            for group in next {
                if !seen.contains(&group) {
                    seen.push(group);
                }
            }
            place += 1;
        }
        false
    }
}
