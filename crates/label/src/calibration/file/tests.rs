//! Files are read back as they were written, and damaged ones are refused.

use super::super::sample::Stratum;
use super::super::simulation::Simulation;
use super::*;

fn calibration() -> Calibration {
    let source = Simulation { seed: 1, answers: 3000, base_rate: 0.2, distance: 2.0, odds_factor: Some(3.0) };
    let mut sample = source.draw("angry", Some("mail"));
    sample.extend(Simulation { odds_factor: None, ..source }.draw("rude", None));
    sample.extend(Simulation { answers: 20, ..source }.draw("rare", None));
    let calibration = Calibration::fit("scripted@1", "2026-11-17T12:00:00Z", &sample).unwrap();
    calibration.with_base_rate("rude", Some(&Stratum::new(&lictor_event::Kind::ToolCall, None)), 0.125).unwrap()
}

/// Seals a changed text anew, so that only the meaning of the change is tested.
fn reseal(text: &str) -> String {
    let mut object = lictor_json::parse_str(text).unwrap().as_object().unwrap().clone();
    object.remove("hash");
    let hash = hash_content(&object);
    object.insert("hash", hash);
    Json::Object(object).to_string()
}

#[test]
fn calibration_survives_writing_and_reading() {
    let calibration = calibration();
    let read = Calibration::parse(&calibration.to_file()).unwrap();
    assert_eq!(read, calibration);
    assert_eq!(read.to_file(), calibration.to_file());
    assert_eq!(read.hash().len(), 32);
    assert!(!read.correlations().is_empty() && read.too_few().count() == 1);
}

#[test]
fn calibration_of_another_labeler_is_refused() {
    assert!(calibration().for_labeler("scripted@1").is_ok());
    let error = calibration().for_labeler("scripted@2").unwrap_err().to_string();
    assert!(error.contains("`scripted@1`") && error.contains("`scripted@2`") && error.contains("hint:"), "{error}");
}

#[test]
fn calibration_with_any_changed_character_is_refused() {
    let text = calibration().to_file();
    let place = text.find("\"true_yes\":").unwrap() + 11;
    for change in ["9", "-", "\"", "}"] {
        let mut changed = text.clone();
        changed.replace_range(place..=place, change);
        if changed != text {
            assert!(Calibration::parse(&changed).unwrap_err().to_string().contains("hint:"), "{change}");
        }
    }
    // Every member is read: without any one of them, or with it as null, the file is refused.
    for (key, _) in lictor_json::parse_str(&text).unwrap().as_object().unwrap().iter().filter(|(key, _)| *key != "hash")
    {
        let mut object = lictor_json::parse_str(&text).unwrap().as_object().unwrap().clone();
        object.insert(key.clone(), Json::Null);
        assert!(Calibration::parse(&reseal(&Json::Object(object).to_string())).is_err(), "{key}");
    }
}

#[test]
fn calibration_with_impossible_values_is_refused() {
    let text = calibration().to_file();
    for (from, to, message) in [
        ("\"version\":2", "\"version\":3", "version 3"),
        ("\"set_base_rate\":0.125", "\"set_base_rate\":1.0", "between 0 and 1"),
        ("\"about\":\"fact\"", "\"about\":\"mood\"", "about"),
        ("\"method\":\"platt\"", "\"method\":\"magic\"", "method"),
        ("\"true_yes\":", "\"true_yes\":1", "do not sum"),
        ("\"rows\":[[", "\"rows\":[[2.0,0.5],[", "must rise"),
        ("\"rows\":[[", "\"rows\":[[-2.0,1.5],[", "chance between"),
        ("\"bins\":[[", "\"bins\":[[1,2,0.5,0.5,0.5],[", "bins"),
        ("\"too_few\":{\"rare\":{\"fitted\":[", "\"too_few\":{\"rare\":{\"fitted\":[-", "`rare` must have"),
        ("\"phi\":", "\"phi\":-1", "from -1 to 1"),
        ("\"examples\":", "\"unheard\":0,\"examples\":", "do not belong"),
        ("\"kind\":\"tool_call\"", "\"kind\":\"tool_result\"", "two entries"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Calibration::parse(&reseal(&text.replacen(from, to, 1))).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("hint:"), "{from}: {error}");
    }
    for text in ["", "[]", "{", "null", "{\"version\":2}"] {
        assert!(Calibration::parse(text).is_err(), "{text}");
    }
}

/// Changes the check of the fact `angry` by hand, and seals the file anew.
fn forge(change: impl Fn(&mut Object)) -> Result<Calibration, CalibrationError> {
    fn edit(object: &mut Object, path: &[&str], change: &dyn Fn(&mut Object)) {
        let [key, rest @ ..] = path else { return change(object) };
        let mut inner = object.get(key).unwrap().as_object().unwrap().clone();
        edit(&mut inner, rest, change);
        object.insert(*key, inner);
    }
    let mut object = lictor_json::parse_str(&calibration().to_file()).unwrap().as_object().unwrap().clone();
    edit(&mut object, &["facts", "angry", "check"], &change);
    Calibration::parse(&reseal(&Json::Object(object).to_string()))
}

#[test]
fn calibration_with_forged_check_is_refused() {
    assert!(forge(|_| ()).is_ok());
    let bins = |rows: &str| lictor_json::parse_str(rows).unwrap();
    let cases: [(&str, Json, &str); 13] = [
        ("passed", false.into(), "did not pass, but its numbers do"),
        ("examples", 3.into(), "do not sum"),
        ("bins", bins("[[3,1,0.3,0.0,1.0]]"), "do not sum"),
        ("bins", bins("[]"), "do not sum"),
        ("brier", write_number(-0.5), "from 0 to 1"),
        ("brier", write_number(0.0), "lower than"),
        ("raw_brier", write_number(1.5), "from 0 to 1"),
        ("raw_brier", write_number(0.0), "says that it passed, but its Brier score"),
        ("ece", write_number(0.0), "`ece` is not"),
        ("log_loss", write_number(-1.0), "negative"),
        ("shift_error", write_number(-1.0), "shift_error"),
        ("shift_error", write_number(0.0), "says that it passed, but its mean chance"),
        ("brier_error", write_number(7.0), "brier_error"),
    ];
    for (key, value, message) in cases {
        let error = forge(|check| check.insert(key, value.clone())).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("hint:"), "{key}: {error}");
    }
}

#[test]
fn calibration_error_never_names_right_hash() {
    let calibration = calibration();
    let text = calibration.to_file().replace("scripted@1", "scripted@2");
    let error = Calibration::parse(&text).unwrap_err().to_string();
    let mut object = lictor_json::parse_str(&text).unwrap().as_object().unwrap().clone();
    object.remove("hash");
    assert!(error.contains("changed or is damaged") && !error.contains(hash_content(&object).as_str()), "{error}");
}

#[test]
fn calibration_names_the_file_given_instead() {
    let model = crate::learnt::LabelModel::injection().unwrap();
    let error = Calibration::parse(&model.to_text()).unwrap_err().to_string();
    assert!(
        error.contains("a learnt model, not a calibration") && error.contains("lictor learn calibration"),
        "{error}"
    );
    let error = crate::learnt::LabelModel::from_bytes(calibration().to_file().as_bytes()).unwrap_err().to_string();
    assert!(error.contains("a calibration, not a model") && error.contains("lictor learn labels"), "{error}");
}
