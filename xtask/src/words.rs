//! `cargo xtask words`: how hard a page is to read.
//!
//! For each page: words, sentences, words per sentence, the share of sentences above 30 words, and how often it uses
//! words that make a reader guess who does what. This file only counts; the caller chooses the pages.

/// A sentence above this many words counts as long.
const LONG_SENTENCE_WORDS: usize = 30;

/// A text below this many words is a heading, a label or a name, and not counted as a sentence.
const MIN_SENTENCE_WORDS: usize = 4;

/// Phrases that make a reader guess, by the name under which they are counted. A phrase is words with one space between.
const PHRASES: [(&str, &[&str]); 11] = [
    ("whoever/nobody", &["whoever", "whatever", "whomever", "nobody", "somebody"]),
    ("behind", &["behind"]),
    ("told", &["told", "tell of", "tells of"]),
    ("goes on", &["go on", "goes on", "went on", "going on"]),
    ("given up", &["given up", "give up", "gives up"]),
    ("not there", &["is not there", "are not there"]),
    ("nothing is", &["nothing is", "nothing stands", "nothing was"]),
    ("stands", &["stand", "stands"]),
    ("under way", &["under way"]),
    ("by itself", &["by itself"]),
    ("of its own", &["of its own"]),
];

/// The counts of a page, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    words: usize,
    sentences: usize,
    long: usize,
    /// The number of riddles of each kind that occurs, by name.
    riddles: Vec<(&'static str, usize)>,
}

impl Count {
    /// Counts a page.
    pub(crate) fn of(page: &str) -> Count {
        let mut count = Count::default();
        for sentence in prose(page).iter().flat_map(|text| sentences(text)) {
            let words = words(&sentence);
            if words < MIN_SENTENCE_WORDS {
                continue;
            }
            count.words += words;
            count.sentences += 1;
            count.long += usize::from(words > LONG_SENTENCE_WORDS);
            riddles(&sentence).into_iter().for_each(|(name, times)| count.add_riddle(name, times));
        }
        count
    }

    /// Adds the count of another page.
    pub(crate) fn add(&mut self, other: &Count) {
        self.words += other.words;
        self.sentences += other.sentences;
        self.long += other.long;
        other.riddles.iter().for_each(|(name, times)| self.add_riddle(name, *times));
    }

    fn add_riddle(&mut self, name: &'static str, times: usize) {
        match self.riddles.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += times,
            None => self.riddles.push((name, times)),
        }
    }

    /// Returns the line of a page in the table whose first line is [`heading`].
    pub(crate) fn row(&self, name: &str) -> String {
        let sentences = self.sentences.max(1);
        let sum: usize = self.riddles.iter().map(|(_, times)| times).sum();
        let riddles: Vec<String> = self.riddles.iter().map(|(name, times)| format!("{name} {times}")).collect();
        format!(
            "{name:<48} {:>6} {:>6} {:>6.1} {:>5}%  {sum:>4}  {}",
            self.words,
            self.sentences,
            self.words as f64 / sentences as f64,
            100 * self.long / sentences,
            riddles.join(", ")
        )
        .trim_end()
        .to_owned()
    }
}

/// Returns the first line of the table.
pub(crate) fn heading() -> String {
    format!("{:<48} {:>6} {:>6} {:>6} {:>6}  {:>4}", "page", "words", "sent.", "avg.", ">30", "riddles")
}

/// Returns the paragraphs, list items and table cells of a page, without code, headings and front matter.
fn prose(page: &str) -> Vec<String> {
    let (mut found, mut paragraph) = (Vec::new(), String::new());
    let mut fence: Option<&str> = None;
    let mut after_blank = true;
    for line in without_front_matter(page).lines().chain([""]) {
        let text = line.trim();
        if let Some(mark) = fence {
            fence = (text != mark).then_some(mark);
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        let is_heading = after_blank && text.starts_with('#');
        after_blank = text.is_empty() || fence.is_some();
        if after_blank {
            found.extend(Some(std::mem::take(&mut paragraph)).filter(|text| !text.is_empty()));
        } else if is_heading {
        } else if text.starts_with('|') {
            if !text.chars().all(|c| "|-: ".contains(c)) {
                found.extend(cells(text));
            }
        } else if let Some(item) = list_item(text) {
            found.extend(Some(std::mem::replace(&mut paragraph, item.to_owned())).filter(|text| !text.is_empty()));
        } else {
            paragraph = format!("{paragraph} {text}").trim().to_owned();
        }
    }
    found
}

fn without_front_matter(page: &str) -> &str {
    let body = page.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(page, |(_, body)| body)
}

/// Returns the cells of a row; an escaped bar is part of a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim_matches('|').replace("\\|", "\u{0}");
    row.split('|').map(|cell| cell.trim().replace('\u{0}', "\\|")).collect()
}

/// Returns the text after the mark of a list item.
fn list_item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*']) {
        Some(rest) => rest,
        None if digits.len() < line.len() => digits.strip_prefix('.')?,
        None => return None,
    };
    rest.strip_prefix(' ')
}

/// Returns the sentences of a paragraph. Code counts as one word, a link as its text.
fn sentences(paragraph: &str) -> Vec<String> {
    let text = without_links(&without_code(paragraph));
    let mut sentences = vec![String::new()];
    let mut rest = text.chars().peekable();
    let mut last = ' ';
    while let Some(c) = rest.next() {
        let mut space = String::new();
        if c.is_whitespace() {
            space.push(c);
            while let Some(next) = rest.next_if(|next| next.is_whitespace()) {
                space.push(next);
            }
            let begins = rest.peek().is_some_and(|next| next.is_ascii_uppercase() || "*\"(`".contains(*next));
            if begins && ".!?:".contains(last) {
                sentences.push(String::new());
                continue;
            }
        } else {
            space.push(c);
            last = c;
        }
        if let Some(sentence) = sentences.last_mut() {
            sentence.push_str(&space);
        }
        if c.is_whitespace() {
            last = ' ';
        }
    }
    sentences
}

fn without_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd backtick at the end opens nothing.
    let closed = parts.len() - usize::from(parts.len().is_multiple_of(2));
    let part = |(index, part): (usize, &&str)| match index {
        _ if index >= closed => format!("`{part}"),
        _ if index % 2 == 1 => "CODE".to_owned(),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(part).collect()
}

fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(open) = rest.find('[') {
        let link = rest[open + 1..].split_once(']').and_then(|(label, after)| {
            let (_, after) = after.strip_prefix('(')?.split_once(')')?;
            Some((label, after))
        });
        plain.push_str(&rest[..open]);
        match link {
            Some((label, after)) => {
                plain.push_str(label);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = &rest[open + 1..];
            }
        }
    }
    plain + rest
}

/// Counts the words that begin with a letter.
fn words(sentence: &str) -> usize {
    let is_inside = |c: char| c.is_alphanumeric() || "_'’-".contains(c);
    let (mut count, mut inside) = (0, false);
    for c in sentence.chars() {
        let begins = !inside && c.is_ascii_alphabetic();
        count += usize::from(begins);
        inside = begins || (inside && is_inside(c));
    }
    count
}

/// Counts the riddles of a sentence, by name.
fn riddles(sentence: &str) -> Vec<(&'static str, usize)> {
    let text = sentence.to_lowercase();
    let mut found: Vec<(&'static str, usize)> = PHRASES
        .iter()
        .map(|(name, phrases)| (*name, phrases.iter().map(|phrase| places(&text, phrase).len()).sum()))
        .collect();
    // `is there` is a riddle unless it asks or states that something exists.
    let there = ["is there", "are there"]
        .into_iter()
        .flat_map(|phrase| places(&text, phrase).into_iter().map(move |place| place + phrase.len()));
    let introduces = |end: usize| [" a", " an", " no", " any"].iter().any(|word| starts_with_word(&text[end..], word));
    let there = there.filter(|end| !introduces(*end)).count();
    if let Some((_, times)) = found.iter_mut().find(|(name, _)| *name == "not there") {
        *times += there;
    }
    found.push(("what-subject", what_subjects(&text)));
    found.retain(|(_, times)| *times > 0);
    found
}

/// Counts the clauses that begin with `what …` and ask nothing.
fn what_subjects(text: &str) -> usize {
    let begins = |place: usize| {
        let before = text[..place].trim_end_matches(char::is_whitespace);
        place == 0 || (before.len() < place && before.ends_with(['.', ';', ':', ',']))
    };
    let asks = |place: usize| text[place..].split('.').next().is_some_and(|clause| clause.contains('?'));
    places(text, "what").into_iter().filter(|place| begins(*place) && !asks(*place)).count()
}

/// Returns the places of a phrase, as whole words.
fn places(text: &str, phrase: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |place: &usize| !text[..*place].ends_with(is_word) && starts_with_word(&text[*place..], phrase);
    text.match_indices(phrase).map(|(place, _)| place).filter(whole).collect()
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_leaves_out_code_headings_and_rules() {
        let page = "---\nname: x\n---\n# Title\n\nOne two.\nThree.\n\n```sh\nls -l\n```\n- first\n- second\n  more\n\n| a | b \\| c |\n|---|---|\n";
        assert_eq!(prose(page), ["One two. Three.", "first", "second more", "a", "b \\| c"]);
    }

    #[test]
    fn sentences_end_before_a_capital_letter() {
        let found =
            sentences("It reads `a. B` and [the log](x.md). Then it stops: 1.5 s. \"Why?\" is asked e.g. here.");
        assert_eq!(found, ["It reads CODE and the log.", "Then it stops: 1.5 s.", "\"Why?\" is asked e.g. here."]);
    }

    #[test]
    fn words_begin_with_a_letter() {
        assert_eq!(words("the client's 30 well-known words, 2nd"), 5);
    }

    #[test]
    fn riddles_are_counted_as_whole_words() {
        let of = |text: &str| riddles(text);
        assert_eq!(
            of("Whoever goes on is told what stands behind."),
            [("whoever/nobody", 1), ("behind", 1), ("told", 1), ("goes on", 1), ("stands", 1)]
        );
        assert_eq!(
            of("What nothing is against, what is new? It is there. Is there a reason?"),
            [("not there", 1), ("nothing is", 1)]
        );
        assert_eq!(of("What crosses, what waits."), [("what-subject", 2)]);
        assert_eq!(of("The standard understands retold stories, somehow."), []);
    }

    #[test]
    fn short_sentences_are_skipped_and_long_ones_counted() {
        let count = Count::of(&format!("Two words. {}end.", "Word ".repeat(31)));
        assert_eq!((count.words, count.sentences, count.long), (32, 1, 1));
    }

    #[test]
    fn counts_of_pages_add_up() {
        let mut sum = Count::of("Nobody knows this page at all.");
        sum.add(&Count::of("Somebody knows that page by itself."));
        assert_eq!((sum.words, sum.sentences), (12, 2));
        assert_eq!(sum.riddles, [("whoever/nobody", 2), ("by itself", 1)]);
    }
}
