//! How operators are spelled: one table that the lexer reads, the printer writes and the documentation shows.
//!
//! Every operator has a word, a short form in ASCII and a Unicode symbol; one formula may mix them. In Unicode, hollow
//! shapes look forward and filled ones back, and a ring inside a circle makes it weak: `○` next, `◎` weak next, `●`
//! previous, `◉` weak previous.

use crate::comparison::Comparison;
use crate::formula::{Binary, Quantifier, Unary};

/// Which spelling a formula is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Spelling {
    /// `always (a implies eventually b)`
    Words,
    /// `G(a -> F b)`
    Ascii,
    /// `□(a → ◇b)`
    Unicode,
    /// `G(a → F b)`: as textbooks write it, letters for what speaks of time and symbols for the rest
    Letters,
}

/// One operator with all its spellings.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    pub(crate) sign: Sign,
    /// Its word.
    pub word: &'static str,
    /// Its short form.
    pub ascii: &'static str,
    /// Its symbol.
    pub unicode: &'static str,
    /// Other spellings that parse as this operator and are never printed.
    pub synonyms: &'static [&'static str],
    /// Its meaning, in a line.
    pub meaning: &'static str,
}

impl Operator {
    fn spellings(&self) -> impl Iterator<Item = &'static str> {
        [self.word, self.ascii, self.unicode].into_iter().chain(self.synonyms.iter().copied())
    }
}

/// Returns every operator of the language, in the order of explanation.
pub fn operators() -> &'static [Operator] {
    OPERATORS
}

/// The meaning of an operator's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    True,
    False,
    Not,
    And,
    Or,
    Implies,
    Iff,
    Unary(Unary),
    Binary(Binary),
    Quantifier(Quantifier),
}

impl Sign {
    pub(crate) fn spell(self, spelling: Spelling) -> &'static str {
        OPERATORS.iter().find(|operator| operator.sign == self).map_or("", |operator| match spelling {
            Spelling::Words => operator.word,
            Spelling::Ascii => operator.ascii,
            Spelling::Unicode => operator.unicode,
            Spelling::Letters if matches!(self, Sign::Unary(_) | Sign::Binary(_)) => operator.ascii,
            Spelling::Letters => operator.unicode,
        })
    }

    /// Returns the operator of a word or a capital letter.
    pub(crate) fn from_word(word: &str) -> Option<Sign> {
        OPERATORS.iter().find(|operator| operator.spellings().any(|known| known == word)).map(|operator| operator.sign)
    }

    /// Returns the operator that the text begins with, and the length of its symbol. The longest symbol wins, so `<->`
    /// is no `<`.
    pub(crate) fn from_symbol(text: &str) -> Option<(Sign, usize)> {
        let known = OPERATORS.iter().flat_map(|operator| operator.spellings().map(|symbol| (operator.sign, symbol)));
        known
            .filter(|(_, symbol)| !symbol.starts_with(|c: char| c.is_ascii_alphabetic()) && text.starts_with(symbol))
            .map(|(sign, symbol)| (sign, symbol.len()))
            .max_by_key(|(_, length)| *length)
    }

    /// Whether it is written between two operands.
    pub(crate) fn is_infix(self) -> bool {
        matches!(self, Sign::And | Sign::Or | Sign::Implies | Sign::Iff | Sign::Binary(_))
    }

    /// Returns the words of the operators between operands, or of the others.
    pub(crate) fn words(infix: bool) -> impl Iterator<Item = &'static str> {
        let chosen = OPERATORS.iter().filter(move |operator| operator.sign.is_infix() == infix);
        chosen.flat_map(Operator::spellings).filter(|word| word.len() > 1 && word.is_ascii())
    }
}

/// The spellings of comparisons; the longest first if one begins another.
pub(crate) const COMPARISONS: [(&str, Comparison); 10] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("≠", Comparison::Unequal),
    ("≤", Comparison::AtMost),
    ("≥", Comparison::AtLeast),
];

/// Returns a comparison in a spelling.
pub(crate) fn spell_comparison(comparison: Comparison, spelling: Spelling) -> &'static str {
    match (spelling, comparison) {
        (Spelling::Unicode | Spelling::Letters, Comparison::Unequal) => "≠",
        (Spelling::Unicode | Spelling::Letters, Comparison::AtMost) => "≤",
        (Spelling::Unicode | Spelling::Letters, Comparison::AtLeast) => "≥",
        _ => comparison.symbol(),
    }
}

const fn operator_row(
    sign: Sign,
    [word, ascii, unicode]: [&'static str; 3],
    synonyms: &'static [&'static str],
    meaning: &'static str,
) -> Operator {
    Operator { sign, word, ascii, unicode, synonyms, meaning }
}

const OPERATORS: &[Operator] = &[
    operator_row(Sign::True, ["true", "true", "⊤"], &[], "holds of everything"),
    operator_row(Sign::False, ["false", "false", "⊥"], &[], "holds of nothing"),
    operator_row(Sign::Not, ["not", "!", "¬"], &["~"], "it does not hold"),
    operator_row(Sign::And, ["and", "&", "∧"], &["&&", "/\\"], "both hold"),
    operator_row(Sign::Or, ["or", "|", "∨"], &["||", "\\/"], "at least one holds"),
    operator_row(
        Sign::Implies,
        ["implies", "->", "→"],
        &["=>", "⇒", "⟶", "⟹"],
        "if the left one holds, the right one does",
    ),
    operator_row(Sign::Iff, ["iff", "<->", "↔"], &["<=>", "⇔", "⟷", "⟺"], "both hold or neither"),
    operator_row(Sign::Unary(Unary::Next), ["next", "X", "○"], &["◯", "∘"], "there is a next step, and it holds there"),
    operator_row(
        Sign::Unary(Unary::WeakNext),
        ["weak_next", "N", "◎"],
        &["wnext", "⊙"],
        "if there is a next step, it holds there",
    ),
    operator_row(
        Sign::Unary(Unary::Eventually),
        ["eventually", "F", "◇"],
        &["⋄", "♢", "◊", "<>"],
        "it holds at this step or a later one",
    ),
    operator_row(
        Sign::Unary(Unary::Always),
        ["always", "G", "□"],
        &["◻", "▢", "☐", "[]"],
        "it holds at this step and every later one",
    ),
    operator_row(
        Sign::Unary(Unary::Previous),
        ["previous", "Y", "●"],
        &["⊖"],
        "there is a step before this one, and it held there",
    ),
    operator_row(
        Sign::Unary(Unary::WeakPrevious),
        ["weak_previous", "Z", "◉"],
        &["wprevious"],
        "if there is a step before this one, it held there",
    ),
    operator_row(Sign::Unary(Unary::Once), ["once", "O", "◆"], &["⧫", "♦"], "it held at this step or an earlier one"),
    operator_row(
        Sign::Unary(Unary::Historically),
        ["historically", "H", "■"],
        &["⊟", "◼"],
        "it held at this step and every earlier one",
    ),
    operator_row(
        Sign::Binary(Binary::Until),
        ["until", "U", "𝒰"],
        &[],
        "the right one holds at last, the left one until then",
    ),
    operator_row(
        Sign::Binary(Binary::WeakUntil),
        ["weak_until", "W", "𝒲"],
        &["unless"],
        "until, or the left one for ever",
    ),
    operator_row(
        Sign::Binary(Binary::Release),
        ["release", "R", "ℛ"],
        &["releases"],
        "the right one up to and including the step where the left one holds, or for ever",
    ),
    operator_row(
        Sign::Binary(Binary::StrongRelease),
        ["strong_release", "M", "ℳ"],
        &[],
        "release, and the left one holds at last",
    ),
    operator_row(
        Sign::Binary(Binary::Since),
        ["since", "S", "𝒮"],
        &[],
        "the right one held once, and the left one ever since",
    ),
    operator_row(
        Sign::Binary(Binary::Trigger),
        ["trigger", "T", "𝒯"],
        &["triggered"],
        "the right one since and including the step where the left one held, or from the beginning",
    ),
    operator_row(
        Sign::Quantifier(Quantifier::Forall),
        ["forall", "forall", "∀"],
        &[],
        "for every value of the variables",
    ),
    operator_row(
        Sign::Quantifier(Quantifier::Exists),
        ["exists", "exists", "∃"],
        &[],
        "for some value of the variables",
    ),
];
