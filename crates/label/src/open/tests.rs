//! Files that are missing or of something else are named, with the command that writes one.

use lictor_policy::FileResolver;

use super::*;

fn policy(folder: &Path, labeler: &str) -> Policy {
    let text = format!("lictor: 1\nlabelers: {{small: {labeler}}}\nfacts: {{angry: {{ask: angry, by: small}}}}\n");
    let file = folder.join("policy.yaml");
    Policy::parse(&text, &file.display().to_string(), &FileResolver)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .policy
}

fn find_problem(folder: &Path, labeler: &str) -> (String, String) {
    let problems = open_labelers(&policy(folder, labeler), &OpenOptions::default()).unwrap_err();
    (problems[0].message.clone(), problems[0].hint.clone().unwrap_or_default())
}

#[test]
fn missing_labeler_files_name_command_that_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    for (labeler, file, command) in [
        ("{learnt: mood.json}", "mood.json", "lictor learn labels"),
        ("{log: true, calibration: small.json}", "small.json", "lictor learn calibration"),
    ] {
        let (message, hint) = find_problem(folder.path(), labeler);
        assert!(message.contains(file) && message.contains("no such file"), "{message}");
        assert!(hint.contains(command), "{hint}");
    }
}

#[test]
fn wrong_labeler_file_is_named_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    let model = LabelModel::injection().unwrap();
    std::fs::write(folder.path().join("model.json"), model.to_text()).unwrap();
    std::fs::write(folder.path().join("log.json"), "{\"kind\":\"user_message\"}\n").unwrap();
    for (labeler, found) in [
        ("{log: true, calibration: model.json}", "a learnt model, not a calibration"),
        ("{log: true, calibration: log.json}", "a log, not a calibration"),
        ("{learnt: log.json}", "a log, not a model"),
    ] {
        let (message, hint) = find_problem(folder.path(), labeler);
        assert!(message.contains(found) && hint.contains("lictor learn"), "{message}\n{hint}");
    }
}

/// Only answers under the name that the policy gives settle a question, and only those of a log under it are left out.
#[test]
fn learnt_labeler_answers_under_policy_name() {
    let policy = policy(Path::new(""), "{learnt: \"builtin:injection\"}");
    let opened = open_labelers(&policy, &OpenOptions::default()).unwrap();
    let version = opened.labelers.version("small").unwrap();
    assert!(version.starts_with("small@") && version.len() > "small@".len(), "{version}");
}

#[test]
fn service_version_is_part_of_labeler_version() {
    let open = |labeler: &str| {
        let opened = open_labelers(&policy(Path::new(""), labeler), &OpenOptions::default()).unwrap();
        format!("{:?}", opened.labelers)
    };
    let first = open("{service: \"http://127.0.0.1:9\"}");
    assert_eq!(first, open("{service: \"http://127.0.0.1:9\", version: 1}"));
    assert_ne!(first, open("{service: \"http://127.0.0.1:9\", version: 2}"));
    let analyzer = |version: &str| open(&format!("{{presidio: \"http://127.0.0.1:9\", entities: [PERSON]{version}}}"));
    assert_ne!(analyzer(""), analyzer(", version: 2.2.3"));
}

#[test]
fn unset_key_variable_is_named_with_hint() {
    let labeler = "{service: \"http://127.0.0.1:9\", key: LICTOR_TEST_NO_SUCH_KEY}";
    let (message, hint) = find_problem(Path::new(""), labeler);
    assert!(message.contains("LICTOR_TEST_NO_SUCH_KEY") && hint.contains("`key`"), "{message}\n{hint}");
}
