//! Names in all spellings, and the effects they tell.

use lictor_json::parse_str;

use super::vocabulary::Vocabulary;
use super::*;

fn names_of(effects: Option<Effects>) -> String {
    effects.map_or("unknown".into(), |effects| effects.names().collect::<Vec<_>>().join(" "))
}

#[test]
fn effect_vocabulary_has_no_bad_line() {
    assert_eq!(Vocabulary::load().bad_lines, Vec::<&str>::new());
}

#[test]
fn effect_follows_verbs_of_tool_name() {
    for (tool, effects) in [
        ("get_user_details", "read"),
        ("getUser", "read"),
        ("GETUserV2", "read"),
        ("GmailSendEmail", "write external"),
        ("mcp__files__delete-file", "write destructive"),
        ("send_money", "write external payment irreversible"),
        ("transfer.funds", "write payment irreversible"),
        ("transfer_to_account", "write external payment irreversible"),
        ("transfer_to_savings_account", "write external payment irreversible"),
        ("transferToHumanAgents", "write external"),
        ("transfer_to_other_agent", "write external"),
        ("transfer_to_issues_and_repairs", "write external"),
        ("Bash", "execute"),
        ("WebFetch", "read"),
        ("HTTPRequest", "network"),
        ("get_and_delete_file", "read write destructive"),
        ("create_or_update_file", "write"),
        ("search_and_email", "read write external"),
        ("github/create_issue_v2", "write"),
        ("GITHUB_CREATE_AN_ISSUE", "write"),
        ("git_push", "write external"),
        ("kubectl_apply", "write"),
        ("approve_loan", "write"),
        ("close_account", "write destructive"),
        ("make_payment", "write payment irreversible"),
        ("create_payment_link", "write"),
        ("set_permission", "write"),
        ("setFilePermissions", "write"),
        ("set_status", "write"),
        ("change_permissions", "write"),
        ("grant_access", "write"),
        ("grant_permission", "write"),
        ("chmod", "write"),
        ("elevate_privileges", "write"),
        ("frobnicate", "unknown"),
        ("", "unknown"),
        ("__", "unknown"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

#[test]
fn effect_ignores_nouns_that_look_like_verbs() {
    for (tool, effects) in [
        ("get_order", "read"),
        ("get_update_status", "read"),
        ("get_data_set", "read"),
        ("check_permission", "read"),
        ("change_history", "read"),
        ("permission_status", "read"),
        ("get_delete_status", "read"),
        ("get_post", "read"),
        ("list_refunds", "read"),
        ("order_status", "read"),
        ("order_get", "read"),
        ("order_pizza", "write"),
        ("slack_post_message", "write external"),
        ("can_delete_file", "read"),
        ("get_name_and_email", "read"),
        ("customer_email", "unknown"),
        ("InventoryManagementSystemSearchItems", "read"),
        ("AmazonViewSavedPaymentMethods", "read"),
        ("AmazonPlaceOrder", "write payment"),
        ("TodoistSetReminder", "write"),
        ("check_payment", "read"),
        ("PayPal", "unknown"),
        ("PayPal.GetBalance", "read"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

/// A noun that may be a verb, or a verb of two meanings, is not taken for reading.
#[test]
fn effect_of_ambiguous_name_is_not_read() {
    for (tool, effects) in [
        ("evaluate", "unknown"),
        ("browser_evaluate", "unknown"),
        ("get_and_evaluate", "unknown"),
        ("evaluate_and_delete", "write destructive"),
        ("query_database", "unknown"),
        ("pg_query", "unknown"),
        ("list_item_for_sale", "unknown"),
        ("get_items_for_sale", "read"),
        ("track_event", "unknown"),
        ("track_package", "read"),
        ("reconcile_balance", "unknown"),
        ("account_balance", "read"),
        ("bump_version", "unknown"),
        ("server_version", "read"),
        ("BashOutput", "read"),
        ("AskUserQuestion", "read"),
        ("ExitPlanMode", "read"),
        ("Skill", "read"),
        ("LSP", "read"),
        ("SlashCommand", "execute"),
        ("ExitWorktree", "write"),
        ("mcp__thinking__sequentialthinking", "read"),
        ("release_version", "write"),
        ("settle_balance", "write payment irreversible"),
        ("dial_number", "write external"),
        ("convert_lead", "read write"),
        ("convert_currency", "read"),
        ("mark_all_read", "read write"),
        ("get_rid_of_user", "write destructive"),
        ("mcp__search__frobnicate", "unknown"),
        ("mcp__fetch__evaluate", "unknown"),
        ("search.web", "read"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

/// A noun of information at the end asks about an action that is named by a noun, and is what a verb acts on.
#[test]
fn effect_of_name_about_action_is_read() {
    for (tool, effects) in [
        ("refund_policy", "read"),
        ("refund_eligibility", "read"),
        ("cancellation_policy", "read"),
        ("payment_methods", "read"),
        ("transfer_options", "read"),
        ("charge_estimator", "read"),
        ("withdrawal_fee", "read"),
        ("buy_price", "read"),
        ("order_tracking", "read"),
        ("email_validator", "read"),
        ("call_transcript", "read"),
        ("update_check", "read"),
        ("get_delete_candidates", "read"),
        ("post_processing", "unknown"),
        ("remove_stopwords", "unknown"),
        ("update_policy", "write"),
        ("change_policy", "write"),
        ("reset_options", "write"),
        ("delete_policy", "write destructive"),
        ("close_policy", "write destructive"),
        ("pay_fees", "write payment irreversible"),
        ("get_and_increment", "read write"),
        ("issue_credit", "write payment irreversible"),
        ("settle_claim", "write payment irreversible"),
        ("ueberweisung_ausfuehren", "write payment irreversible execute"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

#[test]
fn effect_follows_what_verb_acts_on() {
    for (tool, effects) in [
        ("capture_payment_intent", "write payment irreversible"),
        ("payouts_create", "write payment irreversible"),
        ("list_payouts", "read"),
        ("transfer_ownership", "write"),
        ("transfer_funds", "write payment irreversible"),
        ("checkout_branch", "write"),
        ("checkout", "write payment irreversible"),
        ("reset_database", "write destructive"),
        ("reset_password", "write"),
        ("unlink", "write destructive"),
        ("unlink_bank_account", "write"),
        ("ssm_send_command", "write external execute"),
        ("empty_recycle_bin", "write destructive"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

#[test]
fn effect_of_harmless_name_loses_to_definition() {
    let takes = |name: &str| format!(r#"{{"inputSchema":{{"properties":{{"{name}":{{"type":"string"}}}}}}}}"#);
    for (tool, definition, effects) in [
        ("get_result", takes("code"), "read execute"),
        ("search", takes("sql"), "read execute"),
        ("get_rows", takes("sqlQuery"), "read execute"),
        ("check", takes("shell_command"), "read execute"),
        ("check", takes("script"), "read execute"),
        ("evaluate", takes("code"), "execute"),
        ("get_country", takes("code"), "read"),
        ("get_address", takes("zip_code"), "read"),
        ("get_job", takes("script_id"), "read"),
        ("send_email", takes("code"), "write external"),
        (
            "lookup",
            r#"{"parameters":{"properties":{"code":{"type":"string","description":"Two-letter country code"}}}}"#
                .into(),
            "read",
        ),
        ("check", r#"{"parameters":{"properties":{"command":{"type":["array","null"]}}}}"#.into(), "read execute"),
        ("list_all", r#"{"annotations":{"readOnlyHint":false}}"#.into(), "read write"),
        ("list_all", r#"{"annotations":{"readOnlyHint":true}}"#.into(), "read"),
        ("send_email", r#"{"annotations":{"readOnlyHint":false}}"#.into(), "write external"),
        // Which side effect it has is still unknown.
        ("frob", r#"{"annotations":{"readOnlyHint":false}}"#.into(), "unknown"),
    ] {
        let definition = parse_str(&definition).unwrap();
        assert_eq!(names_of(guess_from_definition(tool, &definition)), effects, "{tool} {definition}");
    }
}

#[test]
fn effect_is_read_in_several_languages() {
    for (tool, effects) in [
        ("kunde_löschen", "write destructive"),
        ("kunde_loeschen", "write destructive"),
        ("überweiseBetrag", "write payment irreversible"),
        ("envoyer_courriel", "write external"),
        ("créerFacture", "write"),
        ("cre\u{301}er_facture", "write"),
        ("eliminar_cuenta", "write destructive"),
        ("buscar-pedidos", "read"),
        ("esegui_comando", "execute"),
        ("excluir_conta", "write destructive"),
    ] {
        assert_eq!(names_of(guess_from_name(tool)), effects, "{tool}");
    }
}

#[test]
fn effect_of_unknown_name_follows_definition() {
    for (tool, definition, effects) in [
        ("frob", r#"{"description":"Deletes the file for good."}"#, "write destructive"),
        (
            "frob",
            r#"{"description":"This tool allows you to send money to a friend"}"#,
            "write external payment irreversible",
        ),
        ("frob", r#"{"description":"Gets users who can delete files"}"#, "read"),
        ("frob", r#"{"description":"Finds a file and deletes it"}"#, "read write destructive"),
        ("frob", r#"{"description":"Returns the user."}"#, "read"),
        ("frob", r#"{"description":"A thing."}"#, "unknown"),
        ("frob", r#"{"annotations":{"readOnlyHint":true}}"#, "read"),
        ("frob", r#"{"annotations":{"destructiveHint":true}}"#, "write destructive"),
        ("frob", r#"{"parameters":{"properties":{"command":{"type":"string"}}}}"#, "execute"),
        ("frob", r#"{"parameters":{"properties":{"command":{"type":"string","enum":["a"]}}}}"#, "unknown"),
        // A definition takes nothing away from the name.
        ("delete_file", r#"{"description":"Reads a file","annotations":{"readOnlyHint":true}}"#, "write destructive"),
        ("update_file", r#"{"annotations":{"destructiveHint":true}}"#, "write destructive"),
    ] {
        let definition = parse_str(definition).unwrap();
        assert_eq!(names_of(guess_from_definition(tool, &definition)), effects, "{tool} {definition}");
    }
}
