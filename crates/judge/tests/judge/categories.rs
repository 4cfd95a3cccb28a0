//! The categories that a policy knows are those that the recognisers find.

#[test]
fn category_names_agree_with_recognisers() {
    assert_eq!(lictor_policy::vocabulary::CATEGORIES, lictor_recognise::BUILTIN_CATEGORIES);
}
