//! What the schemas say that decisions depend on: which events are decided, which fields are pinned, and which actions
//! belong to which groups. What types values have is left to Dogwood to check.

use super::cursor::Cursor;
use super::lexer::Token;
use super::refusal::{Refused, SYNTAX, refused};
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
    /// What it is equal to.
    pub(super) root: Root,
    pub(super) path: Vec<String>,
}

impl Pin {
    /// Is the field under the same name in the request? Then decisions see no other events at all.
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
pub(super) struct Events {
    pub(super) kinds: Vec<EventKind>,
}

impl Default for Events {
    /// What Dogwood takes without a schema: requests are decided, and every principal has a history of its own.
    fn default() -> Events {
        let pin = Pin { field: vec!["callerPrincipal".to_owned()], root: Root::Principal, path: Vec::new() };
        let kind =
            |name: &str| EventKind { name: name.to_owned(), is_decided: name == "request", pins: vec![pin.clone()] };
        Events { kinds: ["request", "response", "error"].map(kind).into() }
    }
}

impl Events {
    /// Reads an event schema.
    pub(super) fn read(file: usize, text: &str) -> Result<Events, Refused> {
        let mut cursor = Cursor::new(file, text)?;
        if cursor.takes_name("max_window") {
            cursor.expect("=")?;
            cursor.integer()?;
            cursor.name()?;
        }
        let mut kinds = Vec::new();
        while !cursor.is_at_end() {
            let is_decided = cursor.takes_name("decision");
            cursor.expect_name("event")?;
            cursor.expect("<")?;
            cursor.name()?;
            cursor.expect(">")?;
            cursor.expect("::")?;
            let name = cursor.name()?;
            cursor.expect("{")?;
            let mut pins = Vec::new();
            fields(&mut cursor, &mut Vec::new(), &mut pins)?;
            kinds.push(EventKind { name, is_decided, pins });
        }
        Ok(Events { kinds })
    }

    /// Is an event of this kind a request that is decided?
    pub(super) fn is_decided(&self, kind: &str) -> bool {
        self.kinds.iter().any(|known| known.name == kind && known.is_decided)
    }

    /// The fields that all events of a kind have in common with the request.
    pub(super) fn pins(&self, kind: &str) -> &[Pin] {
        self.kinds.iter().find(|known| known.name == kind).map_or(&[], |known| &known.pins)
    }

    /// The fields by which events belong to different histories: those pinned to themselves in every kind of event.
    pub(super) fn keys(&self) -> Vec<&Pin> {
        let Some((first, rest)) = self.kinds.split_first() else { return Vec::new() };
        let everywhere = |pin: &&Pin| pin.is_symmetric() && rest.iter().all(|kind| kind.pins.contains(pin));
        first.pins.iter().filter(everywhere).collect()
    }
}

/// The fields of an event up to the closing brace, of which only the pins are kept.
fn fields(cursor: &mut Cursor, path: &mut Vec<String>, pins: &mut Vec<Pin>) -> Result<(), Refused> {
    while !cursor.takes("}") {
        if cursor.takes("...") {
            cursor.name()?;
            cursor.expect("(")?;
            cursor.name()?;
            cursor.expect(")")?;
        } else {
            let is_pinned = cursor.is_name(0, "pin") && !cursor.is_sign(1, ":") && cursor.takes_name("pin");
            path.push(cursor.name()?);
            cursor.expect(":")?;
            if cursor.takes("{") {
                cursor.nested(|cursor| fields(cursor, path, pins))?;
            } else {
                cursor.qualified()?;
                if cursor.takes("(") {
                    cursor.name()?;
                    cursor.expect(")")?;
                }
            }
            if is_pinned {
                let at = cursor.at();
                cursor.expect("=")?;
                let mut target = cursor.path()?;
                let root = match target.remove(0).as_str() {
                    "principal" => Root::Principal,
                    "resource" => Root::Resource,
                    "context" => Root::Context,
                    other => return Err(refused(at, SYNTAX, format!("a field cannot be pinned to `{other}`"))),
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
pub(super) struct Groups {
    direct: Vec<(Entity, Entity)>,
}

impl Groups {
    /// Reads the actions of an action schema, and nothing else of it.
    pub(super) fn read(file: usize, text: &str) -> Result<Groups, Refused> {
        let mut cursor = Cursor::new(file, text)?;
        let mut groups = Groups::default();
        let (mut namespace, mut depth, mut inside) = (String::new(), 0_usize, None);
        while !cursor.is_at_end() {
            let begins = match cursor.ahead(1) {
                Token::Name(_) | Token::Text(_) => true,
                Token::Sign(_) | Token::Number(_) | Token::End => false,
            };
            if cursor.is_name(0, "namespace") && begins && depth == 0 {
                cursor.take();
                namespace = cursor.qualified()?.0;
                inside = Some(depth);
            } else if cursor.is_name(0, "action") && begins && depth == usize::from(inside.is_some()) {
                cursor.take();
                groups.action(&mut cursor, &namespace)?;
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
    fn action(&mut self, cursor: &mut Cursor, namespace: &str) -> Result<(), Refused> {
        let kind = if namespace.is_empty() { "Action".to_owned() } else { format!("{namespace}::Action") };
        let mut names = Vec::new();
        loop {
            names.push(if let Token::Text(_) = cursor.ahead(0) { cursor.text()? } else { cursor.name()? });
            if !cursor.takes(",") {
                break;
            }
        }
        if !cursor.takes_name("in") {
            return Ok(());
        }
        let group = |cursor: &mut Cursor| {
            if let Token::Text(_) = cursor.ahead(0) {
                return Ok(Entity { kind: kind.clone(), id: cursor.text()? });
            }
            Ok(match cursor.qualified()? {
                // Inside of a namespace `Action` is its own.
                (found, Some(id)) if found == "Action" => Entity { kind: kind.clone(), id },
                (found, Some(id)) => Entity { kind: found, id },
                (id, None) => Entity { kind: kind.clone(), id },
            })
        };
        let found = if cursor.takes("[") { cursor.list("]", group)? } else { vec![group(cursor)?] };
        for name in names {
            let action = Entity { kind: kind.clone(), id: name };
            self.direct.extend(found.iter().map(|group| (action.clone(), group.clone())));
        }
        Ok(())
    }

    /// Does an action belong to a group, itself or through others?
    pub(super) fn belongs(&self, action: &Entity, group: &Entity) -> bool {
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
