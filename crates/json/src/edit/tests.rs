//! An edit changes the value at its path and no other byte.

use super::*;

#[test]
fn edit_changes_only_the_value() {
    let text = r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null}"#;
    let cases: [(JsonPath, JsonEdit, &str); 9] = [
        (
            json_path!["a", 1, "bc"],
            JsonEdit::Set("y".into()),
            r#" { "a" : [1, {"b\u0063":"y"}, 2.50 ] ,"d":{ } , "e":null}"#,
        ),
        (json_path!["a", 2], JsonEdit::Set(3.into()), r#" { "a" : [1, {"b\u0063":"x\"}]"}, 3 ] ,"d":{ } , "e":null}"#),
        (json_path!["a"], JsonEdit::Remove, r#" { "d":{ } , "e":null}"#),
        (json_path!["e"], JsonEdit::Remove, r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } }"#),
        (
            json_path!["d", "n"],
            JsonEdit::Set(1.into()),
            r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{"n":1 } , "e":null}"#,
        ),
        (
            json_path!["n"],
            JsonEdit::Set(1.into()),
            r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null,"n":1}"#,
        ),
        (json_path!["a", 1, "bc"], JsonEdit::Remove, r#" { "a" : [1, {}, 2.50 ] ,"d":{ } , "e":null}"#),
        (
            json_path!["a"],
            JsonEdit::Prepend(vec![7.into(), 8.into()]),
            r#" { "a" : [7,8,1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null}"#,
        ),
        (json_path![], JsonEdit::Set(1.into()), " 1"),
    ];
    for (path, edit, expected) in cases {
        assert_eq!(edit_text(text, &[(path, edit)]).as_deref(), Some(expected));
    }
    assert_eq!(edit_text(text, &[(json_path!["a", 7], JsonEdit::Set(1.into()))]), None);
    assert_eq!(edit_text(text, &[(json_path!["x", "y"], JsonEdit::Set(1.into()))]), None);
    assert_eq!(edit_text(text, &[(json_path!["x"], JsonEdit::Remove)]).as_deref(), Some(text));
}
