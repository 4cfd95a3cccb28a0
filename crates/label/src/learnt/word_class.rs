//! Classes of words that instructions to an agent are made of. A [cue](super::cue) is a few of them near each other.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// A set of classes of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordClasses(u32);

macro_rules! classes {
    ($($name:ident = $bit:literal;)*) => {
        $(pub(super) const $name: WordClasses = WordClasses(1 << $bit);)*
    };
}

classes! {
    OVERRIDE = 0;
    EARLIER = 1;
    RULE = 2;
    MODEL = 3;
    YOU = 4;
    MODAL = 5;
    PERSONA = 6;
    NEW = 7;
    NEGATION = 8;
    INFORM = 9;
    SECRET = 10;
    URGENT = 11;
    ACT = 12;
    PRIVATE = 13;
    SAY = 14;
    EXACT = 15;
    LIMIT = 16;
    TOOL = 17;
    PERSON = 18;
    DUTY = 19;
    HAIL = 20;
    SEQUENCE = 21;
    PLACE = 22;
    INFORMING = 23;
}

impl WordClasses {
    /// How many classes there are.
    pub(super) const COUNT: usize = 24;

    /// Returns the numbers of its classes.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let class = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(class)
        })
    }

    /// Whether the two sets share a class.
    pub(super) fn meets(self, other: WordClasses) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the classes of a word in lower case.
    pub(super) fn find(word: &str) -> WordClasses {
        CLASSES_BY_WORD.get(word).copied().unwrap_or_default()
    }
}

impl std::ops::BitOr for WordClasses {
    type Output = WordClasses;

    fn bitor(self, other: WordClasses) -> WordClasses {
        WordClasses(self.0 | other.0)
    }
}

static CLASSES_BY_WORD: LazyLock<FxHashMap<&str, WordClasses>> = LazyLock::new(|| {
    let mut classes: FxHashMap<&str, WordClasses> = FxHashMap::default();
    for (class, words) in LISTS {
        for word in words.split(' ') {
            let known = classes.entry(word).or_default();
            *known = *known | *class;
        }
    }
    classes
});

/// The words of each class, in alphabetical order.
const LISTS: &[(WordClasses, &str)] = &[
    (
        OVERRIDE,
        "abandon bypass cancel cease circumvent disable discard disobey disregard drop forget ignore ignoring \
         neglect omit overlook override overrides overwrite replace skip stop supersede supersedes suspend turn",
    ),
    (
        EARLIER,
        "above before current earlier existing foregoing former initial last original other past preceding \
         previous previously prior",
    ),
    (
        RULE,
        "command commands constraints context directions directive directives guardrails guideline guidelines \
         instruction instructions order orders policies policy programming prompt prompts protocol protocols \
         request requests rules safeguards task tasks training",
    ),
    (
        MODEL,
        "agent agents ai assistant assistants bot chatbot chatgpt claude copilot gemini gpt llama llm llms model \
         models openai",
    ),
    (YOU, "you you'll you're you've your yourself"),
    (MODAL, "always are cannot have must need never ought required shall should will"),
    (
        PERSONA,
        "act acting become behave character dan imagine impersonate jailbroken persona play pretend pretending \
         roleplay roleplaying simulate simulating",
    ),
    (NEW, "actual additional extra following new real revised secret special updated"),
    (NEGATION, "avoid don't dont never no not refrain without"),
    (
        INFORM,
        "acknowledge alert ask disclose explain inform mention notify refer reference report reveal say show tell \
         warn",
    ),
    (SECRET, "covertly discreetly hidden quietly secretly silently stealthily unnoticed"),
    (
        URGENT,
        "asap attention critical crucial emergency immediate immediately important mandatory must note notice \
         priority required urgent urgently warning",
    ),
    (
        ACT,
        "access add append approve authorize book buy call cancel change click copy create curl delete deploy \
         disable download email execute export fetch find forward get give grant insert install invite invoke log \
         make move navigate open order pay post publish purchase push put read recommend remove rename reserve \
         reset retrieve run save schedule search send set share submit transfer translate unlock update upload use \
         visit wire",
    ),
    (
        PRIVATE,
        "account accounts address addresses bank card confidential contacts cookie cookies credential credentials \
         data details email emails env file files history key keys medical password passwords personal phone \
         private records secret secrets ssn token tokens",
    ),
    (
        SAY,
        "answer begin conclude display echo end finish generate include output print produce provide recite repeat \
         reply respond response responses return reveal say speak start state summarize tell translate write",
    ),
    (
        EXACT,
        "any exact exactly following just literally nothing only phrase sentence simply string verbatim word words",
    ),
    (
        LIMIT,
        "censorship ethical ethics filter filters limitation limitations limits moral morals policies restriction \
         restrictions rules safety unfiltered unrestricted",
    ),
    (TOOL, "api call command endpoint function functions script shell tool tools"),
    (PERSON, "customer human me owner user user's users"),
    (DUTY, "answer behavior goal job mission objective output purpose reply response role task"),
    (HAIL, "attention dear hello hey hi ok okay to"),
    (SEQUENCE, "after also before finally first instead next now once prior then when"),
    (PLACE, "article content context conversation document email input message page text"),
    (INFORMING, "alerting asking confirmation confirming informing mentioning notifying telling"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_classes_are_in_alphabetical_order() {
        for (_, words) in LISTS {
            let words: Vec<&str> = words.split(' ').collect();
            assert!(words.is_sorted(), "{words:?}");
        }
    }

    #[test]
    fn word_classes_of_a_word_are_all_found() {
        let classes = WordClasses::find("cancel");
        assert!(classes.meets(OVERRIDE) && classes.meets(ACT) && !classes.meets(MODEL));
        assert_eq!(WordClasses::find("tea"), WordClasses::default());
    }
}
