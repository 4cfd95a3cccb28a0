//! Files that people have beside their logs: each is refused with what was seen, and none is read as a log.

use lictor_decode::input::{Input, InputLimits, detect};

/// Kinds of files that are no agent log, in a few lines each.
const NOT_LOGS: [(&str, &str); 35] = [
    ("questions.jsonl", "{\"query\":\"Who?\",\"reference\":\"Ann\"}\n{\"query\":\"Where?\",\"reference\":\"Rome\"}\n"),
    ("webhooks.jsonl", "{\"event\":\"on_payment\",\"data\":{\"amount\":3},\"id\":\"1\"}\n"),
    ("customers.csv", "id,name,city\n1,Ann,Berlin\n2,Bob,Rome\n"),
    ("numbers.tsv", "1\t2\t3\n4\t5\t6\n"),
    ("access.log", "127.0.0.1 - - [01/May/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 12\n"),
    ("server.log", "2026-05-01T10:00:00Z INFO started\n2026-05-01T10:00:01Z WARN slow\n"),
    ("syslog", "May  1 10:00:00 host sshd[4711]: Accepted publickey for ann\n"),
    ("main.py", "import os\n\ndef main():\n    print(os.getcwd())\n"),
    ("main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
    ("script.sh", "#!/bin/sh\nset -e\nmake\n"),
    (
        "README.md",
        "# Title\n\nSome words about the project.\n\n1. Install it.\n2. Run it.\n\nMore words follow here.\n\nAnd more.\n",
    ),
    ("passwd", "root:x:0:0::/:/bin/bash\nann:x:1000:1000::/srv/ann:/bin/sh\n"),
    ("notes.md", "1. Call the bank.\n2. Buy milk.\n3. Water the plants.\n"),
    ("notes.txt", "call the bank\nbuy milk\n"),
    ("config.yaml", "name: shop\nproperties:\n  - id: one\n"),
    ("config.ini", "[server]\nport = 80\n"),
    ("Cargo.toml", "[package]\nname = \"shop\"\n"),
    ("patch.diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"),
    ("query.sql", "SELECT * FROM orders;\nDELETE FROM orders;\n"),
    ("package.json", "{\"name\":\"shop\",\"version\":\"1.0.0\",\"dependencies\":{\"left-pad\":\"1\"}}\n"),
    ("notebook.ipynb", "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"1\"]}],\"nbformat\":4}\n"),
    ("map.geojson", "{\"type\":\"FeatureCollection\",\"features\":[]}\n"),
    ("openapi.json", "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"x\"},\"paths\":{}}\n"),
    ("rows.jsonl", "{\"user\":\"ann\",\"amount\":3}\n{\"user\":\"bob\",\"amount\":4}\n"),
    ("page.html", "<!DOCTYPE html><html><body>hello</body></html>\n"),
    ("pom.xml", "<?xml version=\"1.0\"?><project><name>x</name></project>\n"),
    (
        "pods.json",
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}]}\n",
    ),
    ("symbols.json", "[{\"kind\":\"function\",\"name\":\"main\"},{\"kind\":\"class\",\"name\":\"Shop\"}]\n"),
    ("tree.json", "{\"type\":\"Program\",\"body\":[{\"type\":\"ExpressionStatement\"}]}\n"),
    ("chart.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"1\"/></svg>\n"),
    ("people.json", "[{\"name\":\"Ann\",\"role\":\"admin\"},{\"name\":\"Bob\",\"role\":\"user\"}]\n"),
    ("numbers.json", "[1,2,3]\n"),
    ("routes.jsonl", "[\"GET\",\"POST\",\"x0\"]\n[\"GET\",\"POST\",\"x1\"]\n"),
    ("chat.jsonl", "{\"kind\":\"message\",\"session\":\"s\",\"role\":\"user\",\"text\":\"yes\"}\n"),
    ("mail.eml", "From: ann@example.org\nTo: bob@example.org\nSubject: hello\n\nHow are you?\n"),
];

#[test]
fn files_that_are_no_logs_are_refused() {
    for (name, text) in NOT_LOGS {
        let found = detect(&Input::from_bytes(name, text.as_bytes()), &InputLimits::default());
        assert!(found.is_err(), "{name} is taken for {found:?}");
    }
}

#[test]
fn refusal_names_content_and_closest_format() {
    let refuse = |name: &str, text: &str| {
        detect(&Input::from_bytes(name, text.as_bytes()), &InputLimits::default()).unwrap_err().to_string()
    };
    let text = refuse("chat.json", r#"{"model":"m","messages":"none","title":"t"}"#);
    assert!(
        text.contains("with keys `model`, `messages`, `title`; closest is openai-chat, by `messages`, `model`"),
        "{text}"
    );
    let text = refuse("notes.txt", "call the bank\nbuy milk\n");
    assert!(text.contains("its first line is the text `call the bank`"), "{text}");
}

#[test]
fn numbered_lines_are_actions() {
    let text = "Here is the plan:\n1. go north\n2. take lamp\n3. go south\n";
    let (_, format) = detect(&Input::from_bytes("plan.txt", text.as_bytes()), &InputLimits::default()).unwrap();
    assert_eq!(format.name(), "actions");
}
