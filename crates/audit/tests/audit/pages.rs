//! Every example of every page of every pack comes out as its page says.

use lictor_audit::trial::{self, TrialScope};
use lictor_judge::Judge;
use lictor_policy::pack::packs;

#[test]
fn pack_page_examples_give_expected_findings() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for pack in packs() {
        for page in &pack.pages {
            let id = format!("{}/{}", pack.name, page.id);
            let loaded = pack.policy(page).unwrap_or_else(|problems| panic!("{problems}"));
            let judge = Judge::new(&loaded.policy).unwrap_or_else(|problems| panic!("{problems:?}"));
            count += page.traces.len();
            for mismatch in trial::run(&judge, page, TrialScope::Property(&id)) {
                let place = &mismatch.place;
                wrong.push(format!("{}:{} {}: {}", place.file, place.line, mismatch.trace, mismatch.message));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "only {count} examples were run");
}
