//! An edit changes the value at its path and no other byte.

use super::*;

#[test]
fn edit_changes_only_the_value() {
    let text = r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ] ,"d":{ } , "e":null}"#;
    let cases: [(JsonPath, JsonEdit, &str); 10] = [
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
        (
            json_path!["a"],
            JsonEdit::Append(vec![7.into()]),
            r#" { "a" : [1, {"b\u0063":"x\"}]"}, 2.50 ,7] ,"d":{ } , "e":null}"#,
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

#[test]
fn elements_of_a_list_are_found() {
    let text = r#" { "x":"a\"]" , "l\u0069st" : [ {"a":[1,"}"]} ,2 ,"\\" ], "list":{} }"#;
    let found = find_elements(text, "list").unwrap();
    assert_eq!(
        found.iter().map(|place| &text[place.clone()]).collect::<Vec<_>>(),
        [r#"{"a":[1,"}"]}"#, "2", r#""\\""#]
    );
    assert_eq!(find_elements(r#"{"list":[ ]}"#, "list"), Some(Vec::new()));
    for other in [r#"{"list":{"a":1}}"#, r#"{"other":[1]}"#, "[1]", "1"] {
        assert_eq!(find_elements(other, "list"), None, "{other}");
    }
}

#[test]
fn value_at_a_path_can_be_changed() {
    let mut value = crate::parse_str(r#"{"a":[1,{"b":"x"}]}"#).unwrap();
    *value.find_mut(&json_path!["a", 1, "b"]).unwrap() = "y".into();
    assert_eq!(value.to_string(), r#"{"a":[1,{"b":"y"}]}"#);
    for nowhere in [json_path!["a", 2], json_path!["a", "b"], json_path![0]] {
        assert_eq!(value.find_mut(&nowhere), None);
    }
}

#[test]
fn neighbours_are_removed_together() {
    let text = r#"{"a":1,"b":[2,{"x":3,"y":4}],"c":5,"d":6}"#;
    let remove = |paths: &[JsonPath]| {
        let edits: Vec<_> = paths.iter().map(|path| (path.clone(), JsonEdit::Remove)).collect();
        assert_eq!(edit_text(text, &edits), remove_members(text, paths), "{paths:?}");
        remove_members(text, paths)
    };
    assert_eq!(remove(&[json_path!["c"], json_path!["d"]]).as_deref(), Some(r#"{"a":1,"b":[2,{"x":3,"y":4}]}"#));
    let all = [json_path!["a"], json_path!["b"], json_path!["c"], json_path!["d"]];
    assert_eq!(remove(&all).as_deref(), Some("{}"));
    let inside = [json_path!["b", 1, "y"], json_path!["b", 1, "x"], json_path!["d"]];
    assert_eq!(remove(&inside).as_deref(), Some(r#"{"a":1,"b":[2,{}],"c":5}"#));
    let edits = [
        (json_path!["c"], JsonEdit::Remove),
        (json_path!["a"], JsonEdit::Set("z".into())),
        (json_path!["d"], JsonEdit::Remove),
    ];
    assert_eq!(edit_text(text, &edits).as_deref(), Some(r#"{"a":"z","b":[2,{"x":3,"y":4}]}"#));
}

#[test]
fn many_members_are_removed_in_one_pass() {
    let members: Vec<String> = (0..200_000).map(|number| format!(r#""k{number}":[{number}]"#)).collect();
    let text = format!("{{{}}}", members.join(","));
    let paths: Vec<JsonPath> = (1..200_000).map(|number| json_path![format!("k{number}").as_str()]).collect();
    assert_eq!(remove_members(&text, &paths).as_deref(), Some(r#"{"k0":[0]}"#));
}

#[test]
fn many_values_are_edited_in_one_pass() {
    let count = 50_000;
    let items: Vec<String> = (0..count).map(|number| format!("{{ \"a\": [{number}, \"x\"] }}")).collect();
    let text = format!("{{\"list\": [{}]}}", items.join(", "));
    // Neither their order nor a path that leads nowhere matters to the others.
    let mut edits: Vec<(JsonPath, JsonEdit)> =
        (0..count).rev().map(|place| (json_path!["list", place, "a", 1], JsonEdit::Set("y".into()))).collect();
    edits.push((json_path!["list", 7, "b"], JsonEdit::Set(1.into())));
    edits.push((json_path!["list", 8, "c"], JsonEdit::Remove));
    let edited = edit_text(&text, &edits).unwrap();
    let expected = text.replace("\"x\"", "\"y\"").replace("[7, \"y\"] }", "[7, \"y\"],\"b\":1 }");
    assert_eq!(edited, expected);
    edits.push((json_path!["list", count, "a"], JsonEdit::Set(1.into())));
    assert_eq!(edit_text(&text, &edits), None);
}
