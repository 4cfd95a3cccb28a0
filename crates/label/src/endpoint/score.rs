//! Reads from log probabilities how sure a model was of each value.
//!
//! The value of a key begins at one token of the reply. Endpoints list that token's alternatives with their log
//! probabilities, some before and some after the grammar is applied. So all spellings of a value count (`Yes`, ` yes`,
//! `"yes`), and what is no spelling of any value is *other*: forbidden tokens, and what the list leaves out.

use lictor_event::AnswerValue;
use lictor_json::{Json, Number};

use super::prompt::VALUES;

/// Rounding may make a sum of probabilities larger than one by this much.
const ROUNDING: f64 = 1e-3;

/// The probabilities of the values at the token where one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TokenMass {
    pub(super) yes: f64,
    pub(super) no: f64,
    pub(super) unclear: f64,
}

impl TokenMass {
    /// Returns the mass on no value.
    pub(super) fn other(&self) -> f64 {
        (1.0 - self.yes - self.no - self.unclear).max(0.0)
    }

    /// Returns the share of yes of the mass on yes and no.
    pub(super) fn yes_share(&self) -> Option<f64> {
        let both = self.yes + self.no;
        (both > 0.0).then(|| self.yes / both)
    }
}

/// Returns the mass at the value of each key; none at a value whose tokens are not as expected, and none at all if the
/// endpoint gave no log probabilities.
pub(super) fn read_masses(logprobs: &Json, keys: &[(&str, AnswerValue)]) -> Option<Vec<Option<TokenMass>>> {
    let tokens = logprobs.get("content")?.as_array()?;
    let texts: Vec<&str> = tokens.iter().map(|token| token.text("token")).collect::<Option<_>>()?;
    let content = texts.concat();
    let mass = |(key, value): &(&str, AnswerValue)| {
        let start = find_value(&content, key, value.name())?;
        let (place, offset) = find_token(&texts, start)?;
        read_mass(tokens.get(place)?, offset)
    };
    Some(keys.iter().map(mass).collect())
}

/// Returns where the value of a key begins, if the key occurs once and has that value.
fn find_value(content: &str, key: &str, value: &str) -> Option<usize> {
    let quoted = format!("\"{key}\"");
    let mut places = content.match_indices(&quoted);
    let (place, _) = places.next()?;
    if places.next().is_some() {
        return None;
    }
    let rest = content[place + quoted.len()..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.strip_prefix(value)?.starts_with('"').then_some(content.len() - rest.len())
}

/// Returns the token that holds a byte of the content, and the place of the byte in it.
fn find_token(texts: &[&str], byte: usize) -> Option<(usize, usize)> {
    let mut start = 0;
    for (place, text) in texts.iter().enumerate() {
        if byte < start + text.len() {
            return Some((place, byte - start));
        }
        start += text.len();
    }
    None
}

/// Returns the mass of the values at a token. The value begins at an offset in it, after what belongs to the JSON.
fn read_mass(token: &Json, offset: usize) -> Option<TokenMass> {
    let before = token.text("token")?.get(..offset)?.trim_start();
    let mut mass = TokenMass::default();
    let mut sum = 0.0;
    for alternative in token.get("top_logprobs")?.as_array()? {
        let Some(Json::Number(logarithm)) = alternative.get("logprob") else { return None };
        let probability = read_probability(logarithm)?;
        sum += probability;
        let text = alternative.text("token")?.trim_start();
        match text.strip_prefix(before).and_then(read_spelling) {
            Some("yes") => mass.yes += probability,
            Some("no") => mass.no += probability,
            Some("unclear") => mass.unclear += probability,
            _ => {}
        }
    }
    (sum > 0.0 && sum <= 1.0 + ROUNDING).then_some(mass)
}

fn read_probability(logarithm: &Number) -> Option<f64> {
    let logarithm = logarithm.as_f64();
    (logarithm <= ROUNDING).then(|| logarithm.exp().min(1.0))
}

/// Returns the value that a piece of text spells, or begins to spell.
fn read_spelling(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    let letters = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(letters);
    let word = word.to_lowercase();
    let value = VALUES.into_iter().find(|value| !word.is_empty() && value.starts_with(&word))?;
    // A word that ends within a value, such as `un-`, spells none.
    (rest.is_empty() || (word == value && rest.trim_start().starts_with('"'))).then_some(value)
}

#[cfg(test)]
mod tests;
