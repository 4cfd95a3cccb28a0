//! Personal data in free text: places are whole characters in order, and both ways to search find the same categories.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use lictor_json::{Json, Text};
use lictor_recognise::{
    BUILTIN_CATEGORIES, CustomCategory, PersonalData, Recogniser, find_names, normalize_identifier,
};

use crate::choices::Choices;

pub(crate) fn run(input: &[u8]) {
    static RECOGNISER: OnceLock<Recogniser> = OnceLock::new();
    let recogniser = RECOGNISER.get_or_init(|| {
        let custom = CustomCategory {
            name: "badge".into(),
            pattern: Some(r"\bB-\d{4}\b".into()),
            words: vec!["code name".into(), "décodeur".into()],
            identifies: true,
        };
        Recogniser::new(&[custom]).unwrap_or_else(|_| Recogniser::builtin())
    });
    let text = Choices(input).text();
    let spans = recogniser.spans(text);
    let mut last = (0, 0);
    for span in &spans {
        let range = span.range.clone();
        assert!(range.start < range.end, "an empty place {range:?}");
        assert!(text.get(range.clone()).is_some(), "{range:?} are no characters of {} bytes", text.len());
        assert!(last <= (range.start, range.end), "{range:?} after {last:?}");
        assert!(span.category == "badge" || BUILTIN_CATEGORIES.contains(&&*span.category), "{}", span.category);
        last = (range.start, range.end);
    }
    let found = search(recogniser, text);
    let categories: BTreeSet<&Text> = spans.iter().map(|span| &span.category).collect();
    assert_eq!(found.categories.iter().collect::<BTreeSet<_>>(), categories, "categories with and without places");
    assert!(found.categories.is_sorted() && found.subjects.is_sorted(), "in order");
    assert_eq!(search(recogniser, text), found, "searched again");
    for span in &spans {
        assert!(span.subject.iter().all(|subject| found.subjects.contains(subject)), "{:?} is a person", span.subject);
    }
    for name in find_names(text) {
        assert!(text.get(name.range.clone()).is_some_and(|name| !name.is_empty()), "{:?} is no name", name.range);
    }
    let normal = normalize_identifier(text);
    assert_eq!(normalize_identifier(&normal), normal, "normalized again");
    // A text inside a value is searched like one by itself.
    let mut value = PersonalData::default();
    recogniser.value(&Json::Array(vec![text.into()]), &mut value);
    assert_eq!(value, found, "within a value");
}

fn search(recogniser: &Recogniser, text: &str) -> PersonalData {
    let mut found = PersonalData::default();
    recogniser.text(text, &mut found);
    found
}
