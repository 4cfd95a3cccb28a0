//! Names of persons next to words that announce one: `my name is`, `Dear Ms`, a signature.
//!
//! No list of names is used, so names in the middle of a sentence are not found. The recogniser leaves names out of its
//! own findings: a caller who wants them asks for them here.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{CategorySpan, Confidence};
use lictor_json::Text;

/// What a phrase says about the words after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameCue {
    /// A name follows: `my name is`.
    Introduction,
    /// A name follows, perhaps only a surname: `Mrs`.
    Title,
    /// A name or a title follows, and then the end of the line or a mark: `Dear`.
    Salutation,
    /// A name is alone on the next line: `Kind regards`.
    Signature,
    /// A colon and a name of two words follow: `name:`.
    Label,
}

/// The phrases of every cue, with `|` in between. Letters beyond ASCII are compared with their case.
const PHRASES: &[(NameCue, &str)] = &[
    (
        NameCue::Introduction,
        "my name is|my name's|name's|his name is|her name is|i am called|mein name ist|ich heiße|ich heisse|je m'appelle|\
         je m’appelle|je me nomme|mon nom est|me llamo|mi nombre es|mi chiamo|il mio nome è|mijn naam is|ik heet|me chamo|\
         o meu nome é|meu nome é|nazywam się|jag heter|jeg heter|jeg hedder",
    ),
    (
        NameCue::Title,
        "mr|mrs|ms|miss|mister|dr|prof|professor|herr|herrn|frau|monsieur|madame|mademoiselle|mme|mlle|señor|señora|\
         señorita|sr|sra|don|doña|signor|signora|signore|sig|mevrouw|meneer|dhr|mevr|senhor|senhora|pan|pani",
    ),
    (
        NameCue::Salutation,
        "dear|hello|hi|hallo|liebe|lieber|sehr geehrte|sehr geehrter|bonjour|cher|chère|estimado|estimada|querido|querida|\
         hola|gentile|caro|cara|ciao|geachte|beste|lieve|caro|prezado|prezada|szanowny|szanowna|kära|kjære|kære",
    ),
    (
        NameCue::Signature,
        "kind regards|best regards|warm regards|regards|best wishes|sincerely|yours sincerely|yours truly|yours faithfully|\
         cheers|many thanks|mit freundlichen grüßen|freundliche grüße|viele grüße|liebe grüße|beste grüße|mfg|\
         cordialement|bien cordialement|bien à vous|sincères salutations|un saludo|saludos|saludos cordiales|atentamente|\
         un cordial saludo|cordiali saluti|distinti saluti|un saluto|met vriendelijke groet|met vriendelijke groeten|\
         vriendelijke groeten|groeten|atenciosamente|cumprimentos|pozdrawiam|med vänliga hälsningar|med venlig hilsen",
    ),
    (
        NameCue::Label,
        "name|full name|customer name|patient name|passenger name|cardholder|account holder|customer|patient|passenger|\
         contact|attn|nombre|nom|nome|naam|kunde|kundin|ansprechpartner",
    ),
];

/// Words with a capital that occur where a name does, and are none.
const NO_NAMES: &str = " the a an i it he she we you they this that there sir madam sirs all team customer customers support friend \
     friends colleague colleagues user guest member everyone everybody folks valued service department manager bank john's monday tuesday \
     wednesday thursday friday saturday sunday january february march april may june july august september october november \
     december damen herren herr frau dame monsieur madame mesdames messieurs señor señora señores signor signora signori mevrouw \
     meneer heer mr mrs ms dr prof sent please thank thanks if when what how can could would will is are was to for from and or but \
     no yes not none null unknown new my your our his her their order number name address phone email in on at of by with as ";

/// Small words within names.
const PARTICLES: &str = " de da di del della dei van von der den la le bin ibn al el dos das du ter ten zu y e ";

/// The most words of a name.
const MAX_WORDS: usize = 4;

/// Returns the names of persons that words next to them announce, as category `person`, in the order of the text.
///
/// ```
/// let text = "Hello, my name is Zofia van der Berg and I have a question.";
/// let names = lictor_recognise::find_names(text);
/// assert_eq!(&text[names[0].range.clone()], "Zofia van der Berg");
/// ```
pub fn find_names(text: &str) -> Vec<CategorySpan> {
    static CUES: LazyLock<Option<(AhoCorasick, Vec<NameCue>)>> = LazyLock::new(build_cues);
    let Some((phrases, cues)) = &*CUES else { return Vec::new() };
    let mut names: Vec<CategorySpan> = Vec::new();
    for found in phrases.find_iter(text) {
        let Some(cue) = cues.get(found.pattern().as_usize()).copied() else { continue };
        let is_whole = !text[..found.start()].chars().next_back().is_some_and(char::is_alphanumeric)
            && !text[found.end()..].chars().next().is_some_and(char::is_alphanumeric);
        let last = names.last().map_or(0, |name| name.range.end);
        if !is_whole || found.start() < last {
            continue;
        }
        // A phrase that is written without capitals is no title and no salutation: `a dear friend`, `don`.
        let has_capital = text[found.range()].chars().next().is_some_and(char::is_uppercase);
        if matches!(cue, NameCue::Title | NameCue::Salutation | NameCue::Signature) && !has_capital {
            continue;
        }
        if let Some((range, confidence)) = find_name_after(text, found.end(), cue) {
            names.push(CategorySpan { range, category: Text::const_new("person"), confidence, subject: None });
        }
    }
    names
}

fn build_cues() -> Option<(AhoCorasick, Vec<NameCue>)> {
    let phrases = || PHRASES.iter().flat_map(|(cue, phrases)| phrases.split('|').map(|phrase| (*cue, phrase)));
    let searcher = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(phrases().map(|(_, phrase)| phrase))
        .ok()?;
    Some((searcher, phrases().map(|(cue, _)| cue).collect()))
}

/// Returns the name after a cue, and how sure it is.
fn find_name_after(text: &str, cue_end: usize, cue: NameCue) -> Option<(Range<usize>, Confidence)> {
    let rest = &text[cue_end..];
    let start = match cue {
        NameCue::Introduction => cue_end + skip(rest, " :\u{a0}", 2),
        NameCue::Title => cue_end + skip(rest, ". \u{a0}", 2),
        NameCue::Salutation => skip_titles(text, cue_end + skip(rest, " \u{a0}", 1)),
        NameCue::Signature => {
            let mark = skip(rest, ",.!", 1);
            let gap = skip(&rest[mark..], " \r\n", 4);
            if !rest[mark..mark + gap].contains('\n') {
                return None;
            }
            skip_titles(text, cue_end + mark + gap)
        }
        NameCue::Label => {
            let mark = skip(rest, " \"'", 2);
            if !rest[mark..].starts_with([':', '=']) {
                return None;
            }
            cue_end + mark + 1 + skip(&rest[mark + 1..], " \"'", 2)
        }
    };
    // A cue must be parted from the name.
    if start == cue_end {
        return None;
    }
    let (end, words) = read_name(text, start)?;
    let after = text[end..].chars().next();
    let confidence = match cue {
        NameCue::Introduction | NameCue::Title => Confidence::Medium,
        NameCue::Salutation if matches!(after, None | Some(',' | ':' | '!' | '\n' | '\r')) => Confidence::Medium,
        NameCue::Signature if words > 1 && matches!(after, None | Some('\n' | '\r' | ',')) => Confidence::Low,
        NameCue::Label if words > 1 => Confidence::Low,
        _ => return None,
    };
    Some((start..end, confidence))
}

/// Returns how many bytes of some characters a text starts with, at most so many characters.
fn skip(text: &str, characters: &str, most: usize) -> usize {
    text.chars().take(most).take_while(|character| characters.contains(*character)).map(char::len_utf8).sum()
}

/// Returns where the words for persons end that start at a place: `Frau`, `Dr.`.
fn skip_titles(text: &str, start: usize) -> usize {
    const TITLES: &str = " mr mrs ms dr prof herr herrn frau madame monsieur señor señora signor signora mevrouw heer meneer senhor senhora ";
    let mut place = start;
    for _ in 0..2 {
        let word = read_word(text, place);
        if word.is_empty() || !is_listed(TITLES, word) {
            break;
        }
        let end = place + word.len();
        place = end + skip(&text[end..], ". ", 2);
    }
    place
}

/// Returns where the name ends that starts here, and how many words with a capital it has.
fn read_name(text: &str, start: usize) -> Option<(usize, usize)> {
    let (mut place, mut end, mut words) = (start, start, 0);
    while words < MAX_WORDS {
        let word = read_word(text, place);
        let word_end = place + word.len();
        if is_name(word) {
            words += 1;
            end = word_end;
            // An initial has a point.
            if word.chars().count() == 1 && text[word_end..].starts_with('.') {
                end += 1;
            }
        } else if words == 0 || word.is_empty() || !PARTICLES.contains(&format!(" {word} ")) {
            break;
        } else {
            end = end.max(start);
        }
        let next = end.max(word_end);
        if !text[next..].starts_with(' ') {
            break;
        }
        place = next + 1;
    }
    let name = text[start..end].strip_suffix("'s").or_else(|| text[start..end].strip_suffix("’s"));
    let end = name.map_or(end, |name| start + name.len());
    // A single letter names nobody.
    let is_named = text[start..end].chars().filter(|letter| letter.is_alphabetic()).count() > 1;
    (words > 0 && is_named).then_some((end, words))
}

/// Returns the letters, hyphens and apostrophes that a text has from a place on.
fn read_word(text: &str, place: usize) -> &str {
    let rest = &text[place..];
    let is_of_word = |character: char| character.is_alphabetic() || matches!(character, '-' | '\'' | '’');
    let end = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
    rest[..end].trim_end_matches(['-', '\'', '’'])
}

/// Whether a word can be part of a name: a capital in front and small letters after it, or a single capital.
fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    let has_capital = letters.next().is_some_and(char::is_uppercase);
    let is_shaped = letters.clone().next().is_none() || letters.any(char::is_lowercase);
    has_capital && is_shaped && !is_listed(NO_NAMES, word)
}

fn is_listed(list: &str, word: &str) -> bool {
    let word = word.to_lowercase();
    list.split(' ').any(|known| !known.is_empty() && known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        find_names(text).into_iter().map(|span| &text[span.range]).collect()
    }

    #[test]
    fn name_is_found_after_its_cue() {
        for (text, name) in [
            ("Hi, my name is Bartholomew Okonkwo and I am late.", "Bartholomew Okonkwo"),
            ("Je m'appelle Anaïs Lefèvre-Roux.", "Anaïs Lefèvre-Roux"),
            ("Ich heiße Jürgen von der Heide und wohne hier", "Jürgen von der Heide"),
            ("Please ask Dr. Adeyemi about it", "Adeyemi"),
            ("Sehr geehrter Herr Dr. Öztürk,", "Öztürk"),
            ("Dear Priya,\nthank you", "Priya"),
            ("See you soon.\n\nKind regards,\nMaria J. Gómez", "Maria J. Gómez"),
            ("Customer name: Liam O'Brien", "Liam O'Brien"),
            ("My name is María's", "María"),
        ] {
            assert_eq!(names(text), [name], "{text}");
        }
    }

    #[test]
    fn name_lookalikes_are_not_found() {
        for text in [
            "My name is not important.",
            "Dear Sir or Madam,",
            "Dear Customer,",
            "Hello there, how are you?",
            "Hello World program",
            "a dear Friend",
            "Kind regards, and see you",
            "name: value",
            "File name: README",
            "The name is missing",
            "Sehr geehrte Damen und Herren,",
            "",
            "name:",
            "It is Mr. D's shop",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn name_search_survives_any_cut() {
        let text = "Sehr geehrte Frau Müller, Dear Ünal, my name’s Zoë. Viele Grüße\nÅsa Öberg";
        for (place, _) in text.char_indices() {
            find_names(&text[..place]);
            find_names(&text[place..]);
        }
    }
}
