//! The patterns that an expression looks for in the text of an event.

use super::function::{Function, TextTest};
use super::node::ExprNode;
use super::root::Root;
use lictor_json::Json;

/// The patterns found so far, and the loops around the part that is read.
#[derive(Default)]
pub(super) struct TextPatterns<'e> {
    pub(super) patterns: Vec<String>,
    /// The texts that the variable of each loop takes, outer ones first; none if they are not known.
    loops: Vec<Option<Vec<&'e str>>>,
}

impl<'e> TextPatterns<'e> {
    /// Adds the patterns of an expression. Returns whether it looks at the text in no other way.
    pub(super) fn add(&mut self, node: &'e ExprNode) -> bool {
        match node {
            // A pattern of the plain text may match what the text does not show.
            ExprNode::Path(path) => !matches!(path.root, Root::Text | Root::PlainText),
            ExprNode::Constant(_) | ExprNode::Time(_) | ExprNode::Duration(_) | ExprNode::Local(_) => true,
            ExprNode::Has(inner) if is_text(inner) => true,
            ExprNode::TextTest(TextTest::Contains | TextTest::StartsWith, parts, _) => match &**parts {
                [text, part] if is_text(text) => self.add_literals(part, ""),
                [ExprNode::Call(Function::LowerAscii | Function::UpperAscii, inner, _), part]
                    if inner.iter().all(is_text) =>
                {
                    self.add_literals(part, "(?i)")
                }
                [text, part] => self.add(text) && self.add(part),
            },
            ExprNode::MatchesFixed(text, pattern, _) if is_text(text) => {
                self.patterns.push(pattern.as_str().to_owned());
                true
            }
            ExprNode::MatchesAny(parts, ..) if is_text(&parts[0]) => match self.known_texts(&parts[1]) {
                Some(patterns) => {
                    self.patterns.extend(patterns.into_iter().map(str::to_owned));
                    true
                }
                None => false,
            },
            ExprNode::Has(inner)
            | ExprNode::Select(inner, ..)
            | ExprNode::Not(inner, _)
            | ExprNode::Negate(inner, _)
            | ExprNode::MatchesFixed(inner, ..) => self.add(inner),
            ExprNode::Index(parts, _)
            | ExprNode::Equal(_, parts, _)
            | ExprNode::Order(_, parts, _)
            | ExprNode::In(parts, _)
            | ExprNode::Arithmetic(_, parts, _)
            | ExprNode::TextTest(_, parts, _)
            | ExprNode::MatchesAny(parts, ..) => self.add_all(parts.iter()),
            ExprNode::Choice(parts, _) => self.add_all(parts.iter()),
            ExprNode::And(parts, _) | ExprNode::Or(parts, _) | ExprNode::List(parts) | ExprNode::Call(_, parts, _) => {
                self.add_all(parts.iter())
            }
            ExprNode::Map(members, _) => self.add_all(members.iter().flat_map(|(key, value)| [key, value])),
            ExprNode::Quantify(_, parts, _) => self.add_loop(&parts[0], [&parts[1]]),
            ExprNode::Collect(parts, _) => self.add_loop(&parts.0, parts.1.iter().chain([&parts.2])),
        }
    }

    fn add_all(&mut self, nodes: impl IntoIterator<Item = &'e ExprNode>) -> bool {
        nodes.into_iter().all(|node| self.add(node))
    }

    fn add_loop(&mut self, list: &'e ExprNode, inside: impl IntoIterator<Item = &'e ExprNode>) -> bool {
        let texts = match list {
            ExprNode::Constant(constant) => {
                constant.json.as_array().and_then(|items| items.iter().map(Json::as_str).collect())
            }
            _ => None,
        };
        if !self.add(list) {
            return false;
        }
        self.loops.push(texts);
        let is_known = self.add_all(inside);
        self.loops.pop();
        is_known
    }

    fn add_literals(&mut self, part: &'e ExprNode, flags: &str) -> bool {
        let Some(texts) = self.known_texts(part) else { return false };
        self.patterns.extend(texts.into_iter().map(|text| format!("{flags}{}", regex::escape(text))));
        true
    }

    /// Returns the texts that an expression can come to, if they are known before any event.
    fn known_texts(&self, node: &'e ExprNode) -> Option<Vec<&'e str>> {
        match node {
            ExprNode::Constant(constant) => constant.json.as_str().map(|text| vec![text]),
            ExprNode::Local(hops) => {
                let place = self.loops.len().checked_sub(1 + *hops as usize)?;
                self.loops[place].clone()
            }
            _ => None,
        }
    }
}

/// Whether an expression is the text of the event.
fn is_text(node: &ExprNode) -> bool {
    matches!(node, ExprNode::Path(path) if path.root == Root::Text && path.steps.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{Expression, Tables};
    use lictor_json::{Text, parse_str};

    fn patterns(source: &str) -> Option<Vec<String>> {
        let tables = [(Text::from("cards"), parse_str(r#"["4\\d{3}", "5\\d{3}"]"#).unwrap())];
        Expression::compile(source, &Tables::new(&tables)).unwrap().text_patterns()
    }

    #[test]
    fn text_patterns_are_read_from_expressions() {
        let found = |source: &str| patterns(source).unwrap();
        assert_eq!(found("tool == 'x' && size(labels) > 2"), Vec::<String>::new());
        assert_eq!(found("text.contains('a.b')"), [r"a\.b"]);
        assert_eq!(found("text.lowerAscii().contains('abc')"), ["(?i)abc"]);
        assert_eq!(found("!text.matches('a+') || text.startsWith('x')"), ["a+", "x"]);
        assert_eq!(found("cards.exists(p, text.matches(p))"), [r"4\d{3}", r"5\d{3}"]);
        assert_eq!(found("labels.exists(l, ['a', 'b'].exists(w, l == w || text.contains(w)))"), ["a", "b"]);
    }

    #[test]
    fn text_patterns_are_unknown_for_other_uses() {
        for source in [
            "size(text) > 10",
            "text == 'x'",
            "text.endsWith('x')",
            "text.contains(tool)",
            "labels.exists(l, text.matches(l))",
        ] {
            assert_eq!(patterns(source), None, "{source}");
        }
    }
}
