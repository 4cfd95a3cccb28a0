//! How commands find policies, their tests, and the format of a report.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::ledger_audit::run;

const POLICY: &str = "lictor: 1\nname: p\nproperties:\n  - {id: no-wipe, formula: always !tool_call(\"wipe\")}\n";
const FAILING: &str = "# Tests\n\n### Wiped\n\n```jsonl\n{\"kind\":\"tool_call\",\"tool\":\"wipe\",\"args\":{}}\n```\n";

/// Returns a folder with a policy `a.yaml` and other files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in [("a.yaml", POLICY)].iter().chain(files) {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn test(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(folder, &[&["test"], arguments].concat(), "");
    (output.status.code(), said(&output))
}

#[test]
fn test_option_policy_runs_tests_beside_it() {
    let folder = folder(&[("tests.md", FAILING)]);
    let (code, text) = test(folder.path(), &["-p", "a.yaml"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("unexpected finding of no-wipe") && text.contains("1 examples, 1 failed"), "{text}");
    let (code, text) = test(folder.path(), &["-p", "missing.yaml"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = test(folder.path(), &["-p", "no-such-pack"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = test(folder.path(), &["-p", "pci"]);
    assert!(code == Some(0) && text.contains("ok     pci/") && !text.contains("gdpr/"), "{text}");
    let (code, text) = test(TempDir::new().unwrap().path(), &["-p", "a.yaml"]);
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn tests_of_one_policy_have_its_name() {
    let right = FAILING.replace("{}}", "{}} # violated: no-wipe");
    let other = POLICY.replace("no-wipe", "other").replace("wipe", "delete");
    let folder = folder(&[("b.yaml", &other), ("tests.md", FAILING), ("a.tests.md", &right)]);
    let (code, text) = test(folder.path(), &["a.yaml"]);
    assert!(code == Some(0) && !text.contains("every policy"), "{text}");
    let (code, text) = test(folder.path(), &["b.yaml"]);
    assert!(code == Some(0) && text.contains("tests of b.yaml alone are in b.tests.md"), "{text}");
}

#[test]
fn finding_at_end_is_named_as_such() {
    let policy = "lictor: 1\nname: p\nproperties:\n  - {id: reply, formula: eventually assistant_message}\n";
    let page = "# T\n\n### Silent\n\n```jsonl\n{\"kind\":\"user_message\",\"text\":\"hi\"}\n```\n";
    let folder = folder(&[("c.yaml", policy), ("c.tests.md", page)]);
    let (_, text) = test(folder.path(), &["c.yaml"]);
    assert!(text.contains("c.tests.md:6 in \"Silent\": at the end: unexpected finding of reply"), "{text}");
    assert!(text.contains("`# end: violated: reply`"), "{text}");
    let unnamed = page.replace("\n```\n", "\n# end: violated\n```\n");
    fs::write(folder.path().join("c.tests.md"), unnamed).unwrap();
    let (_, text) = test(folder.path(), &["c.yaml"]);
    assert!(text.contains("the remark must name the property: `# end: violated: ID`"), "{text}");
    // The remark that the message offers is right.
    let named = page.replace("\n```\n", "\n# end: violated: reply\n```\n");
    fs::write(folder.path().join("c.tests.md"), named).unwrap();
    assert_eq!(test(folder.path(), &["c.yaml"]).0, Some(0));
}

#[test]
fn check_strict_fails_on_warnings() {
    let misspelt = "lictor: 1\nname: p\nfacts:\n  huge_refund: {on: tool_call(refund)}\nproperties:\n  \
                    - {id: none, formula: always !hugerefund}\n";
    let folder = folder(&[("w.yaml", misspelt)]);
    let check = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["check"], arguments].concat(), "");
        (output.status.code(), said(&output))
    };
    let (code, text) = check(&["w.yaml"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("warning[").count(), 2, "one for each place: {text}");
    assert!(text.contains("did you mean `huge_refund`?") && text.contains("0 errors, 2 warnings"), "{text}");
    assert_eq!(check(&["w.yaml", "--strict"]).0, Some(1));
    assert_eq!(check(&["a.yaml", "--strict"]).0, Some(0));
}

#[test]
fn check_takes_packs_and_default_file() {
    let folder = folder(&[]);
    let check = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["check"], arguments].concat(), "");
        (output.status.code(), said(&output))
    };
    for packs in ["gdpr", "gdpr,agent-safety"] {
        let (code, text) = check(&[packs]);
        assert!(code == Some(0) && text.contains("properties, 0 errors"), "{text}");
    }
    let (code, text) = check(&[]);
    assert!(code == Some(2) && text.contains("lictor.yaml"), "{text}");
    fs::write(folder.path().join("lictor.yaml"), POLICY).unwrap();
    let (code, text) = check(&[]);
    assert!(code == Some(0) && text.contains("p: 1 properties, 0 errors"), "{text}");
}

#[test]
fn policy_of_two_files_points_to_uses() {
    let folder = folder(&[("b.yaml", POLICY), ("log.jsonl", "{\"kind\":\"user_message\",\"text\":\"hi\"}\n")]);
    let output = run(folder.path(), &["audit", "-p", "a.yaml,b.yaml", "log.jsonl"], "");
    assert!(output.status.code() == Some(2) && said(&output).contains("`uses:`"), "{}", said(&output));
}

#[test]
fn init_names_the_file_it_writes() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), &["init", "mine.yaml"], "");
    let text = fs::read_to_string(folder.path().join("mine.yaml")).unwrap();
    assert!(text.lines().next().unwrap().contains("--policy mine.yaml"), "{text}");
}

#[test]
fn report_format_follows_file_ending() {
    let folder = folder(&[("log.jsonl", "{\"kind\":\"tool_call\",\"tool\":\"wipe\",\"args\":{}}\n")]);
    let report = |name: &str, options: &[&str]| {
        let arguments = [&["audit", "-p", "a.yaml", "log.jsonl", "-o", name], options].concat();
        run(folder.path(), &arguments, "");
        fs::read_to_string(folder.path().join(name)).unwrap()
    };
    let begins = [
        ("r.html", "<!doctype html>"),
        ("r.HTM", "<!doctype html>"),
        ("r.json", "{"),
        ("r.jsonl", "{\"lictor\":1,\"type\":"),
        ("r.sarif", "{"),
        ("r.sarif.json", "{"),
        ("r.xml", "<?xml"),
        ("r.md", "## "),
        ("r.txt", "violation["),
        ("report", "violation["),
    ];
    for (name, begin) in begins {
        let text = report(name, &[]);
        assert!(text.to_lowercase().starts_with(&begin.to_lowercase()), "{name}: {text}");
    }
    assert!(report("r.sarif.json", &[]).contains("\"runs\"") && !report("r.json", &[]).contains("\"runs\""));
    assert!(report("r.html", &["-f", "text"]).starts_with("violation["), "the format asked for wins");
}
