//! The words of a tool's name in any spelling.

use super::vocabulary::Vocabulary;

/// How many characters of a name are read; real names are shorter.
const MAX_NAME_CHARS: usize = 256;

/// Returns the parts of a name, separated as namespaces are (`mcp__server__tool`, `server.tool`, `server/tool`,
/// `server::tool`), each as its words in lower case without accents.
pub(super) fn split_name(name: &str) -> Vec<Vec<String>> {
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let parts = name.split(['.', '/', ':']).flat_map(|part| part.split("__"));
    parts.map(split_words).filter(|words| !words.is_empty()).collect()
}

/// Returns the words of a text in snake, kebab or camel case or with spaces. Versions (`v2`, `2`) are left out.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (place, character) in characters.iter().copied().enumerate() {
        let before = place.checked_sub(1).and_then(|before| characters.get(before)).copied();
        let after = characters.get(place + 1).copied();
        let starts_hump = character.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                // The last capital of an acronym starts the next word: `HTTPRequest`.
                || (before.is_some_and(char::is_uppercase) && after.is_some_and(char::is_lowercase)));
        let is_part = character.is_alphanumeric() || is_combining(character);
        if (starts_hump || !is_part) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_part {
            character.to_lowercase().for_each(|lower| push_folded(&mut word, lower));
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty() && !is_version(word));
    join_services(words)
}

/// Joins the two halves of product names that are written in camel case: `PayPal` pays nothing.
fn join_services(words: Vec<String>) -> Vec<String> {
    let vocabulary = Vocabulary::load();
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if vocabulary.is_service(last, &word) => last.push_str(&word),
            _ => joined.push(word),
        }
    }
    joined
}

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    !digits.is_empty() && digits.chars().all(|character| character.is_ascii_digit())
}

fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Adds a letter as it is written without accents.
fn push_folded(word: &mut String, letter: char) {
    match letter {
        'ä' => word.push_str("ae"),
        'ö' => word.push_str("oe"),
        'ü' => word.push_str("ue"),
        'ß' => word.push_str("ss"),
        'à' | 'á' | 'â' | 'ã' => word.push('a'),
        'è' | 'é' | 'ê' | 'ë' => word.push('e'),
        'ì' | 'í' | 'î' | 'ï' => word.push('i'),
        'ò' | 'ó' | 'ô' | 'õ' => word.push('o'),
        'ù' | 'ú' | 'û' => word.push('u'),
        'ç' => word.push('c'),
        'ñ' => word.push('n'),
        // The letter before it stands for both: a decomposed `é`.
        letter if is_combining(letter) => {}
        letter => word.push(letter),
    }
}
