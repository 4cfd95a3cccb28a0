//! Names with `*` for any characters.

use lictor_json::Text;

/// A name in which `*` matches any characters, also none; every other character matches itself.
///
/// Matching looks for the pieces between the stars from left to right and never goes back, so it takes time in
/// proportion to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// What comes before the first star; without a star, the whole name.
    start: Text,
    /// What comes between stars, without empty pieces.
    middle: Vec<Text>,
    /// What comes after the last star; none if there is no star.
    end: Option<Text>,
}

impl Glob {
    /// Reads a pattern. Every text is one.
    pub fn new(pattern: &str) -> Glob {
        let Some((start, rest)) = pattern.split_once('*') else {
            return Glob { start: pattern.into(), middle: Vec::new(), end: None };
        };
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        let middle = middle.split('*').filter(|piece| !piece.is_empty()).map(Text::from).collect();
        Glob { start: start.into(), middle, end: Some(end.into()) }
    }

    /// Whether a text is of this shape, from its first character to its last.
    pub fn matches(&self, text: &str) -> bool {
        let Some(end) = &self.end else { return text == self.start };
        let inner = text.strip_prefix(self.start.as_str()).and_then(|rest| rest.strip_suffix(end.as_str()));
        let Some(mut inner) = inner else { return false };
        for piece in &self.middle {
            // The leftmost place leaves most room for the pieces that follow.
            match inner.find(piece.as_str()) {
                Some(place) => inner = &inner[place + piece.len()..],
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn glob_star_matches_any_characters() {
        let cases = [
            ("send", "send", true),
            ("send", "sends", false),
            ("send_*", "send_", true),
            ("send_*", "send_mail", true),
            ("send_*", "resend_mail", false),
            ("*_mail", "send_mail", true),
            ("*_mail", "mail", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a**b", "ab", true),
            ("*é*", "café au lait", true),
            ("?", "x", false),
            ("mcp__*__read_*", "mcp__files__read_all", true),
            ("ab*bc", "abc", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(text), expected, "`{pattern}` on `{text}`");
        }
    }

    #[test]
    fn glob_with_many_stars_takes_linear_time() {
        let pattern = "*a".repeat(5000);
        assert!(!Glob::new(&(pattern.clone() + "b")).matches(&"a".repeat(100_000)));
        assert!(Glob::new(&pattern).matches(&"a".repeat(100_000)));
    }
}
