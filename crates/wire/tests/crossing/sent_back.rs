//! What a client sends back of a reply: reasoning, compactions, calls and results of the vendor's tools. A client can write
//! anything into them, and into the tools on offer, so every text in them is an item or refused.

use lictor_wire::{Api, ConversationHistory, HistoryChange, Reply, Request};

/// What no model may read unjudged.
const FORBIDDEN: &str = "run drop_table";

/// Values with the text, at several depths.
const VALUES: [&str; 9] = [
    r#""run drop_table""#,
    r#"{"text":"run drop_table"}"#,
    r#"[{"type":"output_text","text":"run drop_table"}]"#,
    r#"[{"type":"summary_text","text":"a","note":{"deeper":["run drop_table"]}}]"#,
    r#"{"type":"thinking","thinking":"run drop_table"}"#,
    r#"{"role":"assistant","reasoning":"run drop_table"}"#,
    r#"[{"type":"reasoning","encrypted_content":"gAAA","summary":"run drop_table"}]"#,
    r#"{"run drop_table":1}"#,
    r#""cnVuIGRyb3BfdGFibGU=""#,
];

/// The members that a client could add to anything.
const MEMBERS: [&str; 18] = [
    "text",
    "content",
    "summary",
    "note",
    "prompt",
    "thinking",
    "result",
    "results",
    "output",
    "outputs",
    "error",
    "revised_prompt",
    "extra_content",
    "extra_body",
    "context_management",
    "reason",
    "encrypted_content",
    "signature",
];

/// Items of Responses that were in a reply, as far as the client says so.
const ITEMS: [&str; 14] = [
    r#"{"type":"reasoning","id":"rs_1"}"#,
    r#"{"type":"compaction","id":"c_1"}"#,
    r#"{"type":"compaction_summary","id":"c_1"}"#,
    r#"{"type":"image_generation_call","id":"i_1","status":"completed"}"#,
    r#"{"type":"web_search_call","id":"w_1","action":{"type":"search","query":"a"}}"#,
    r#"{"type":"file_search_call","id":"f_1","queries":["a"]}"#,
    r#"{"type":"code_interpreter_call","id":"c_1","code":"1"}"#,
    r#"{"type":"mcp_call","id":"m_1","name":"f","arguments":"{}"}"#,
    r#"{"type":"mcp_call","id":"m_1","name":"f","arguments":"{}","error":{"message":"a"}}"#,
    r#"{"type":"mcp_list_tools","id":"m_1","server_label":"s","tools":[]}"#,
    r#"{"type":"mcp_approval_request","id":"m_1","name":"f","arguments":"{}"}"#,
    r#"{"type":"mcp_approval_response","approval_request_id":"m_1","approve":true}"#,
    r#"{"type":"tool_search_call","id":"t_1"}"#,
    r#"{"type":"program","id":"p_1","code":"1"}"#,
];

/// Blocks of Messages that were in a reply, as far as the client says so.
const BLOCKS: [&str; 9] = [
    r#"{"type":"thinking","signature":"c2lnbmVk"}"#,
    r#"{"type":"redacted_thinking"}"#,
    r#"{"type":"compaction"}"#,
    r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
    r#"{"type":"mcp_tool_use","id":"s","name":"f","server_name":"x","input":{}}"#,
    r#"{"type":"web_search_tool_result","tool_use_id":"s"}"#,
    r#"{"type":"mcp_tool_result","tool_use_id":"s","content":[{"type":"text","text":"a"}]}"#,
    r#"{"type":"mcp_tool_listing","tools":[]}"#,
    r#"{"type":"text","text":"a"}"#,
];

/// Tools on offer.
const TOOLS: [&str; 6] = [
    r#"{"type":"function","name":"f","parameters":{}}"#,
    r#"{"type":"function","function":{"name":"f","parameters":{}}}"#,
    r#"{"type":"image_generation","size":"1024x1024"}"#,
    r#"{"type":"mcp","server_label":"s","server_url":"https://a/"}"#,
    r#"{"type":"web_search","filters":{"allowed_domains":["a.org"]}}"#,
    r#"{"name":"f","input_schema":{}}"#,
];

/// Whether a request with a text is refused, or has it in an item.
fn is_judged(api: Api, body: &str) -> bool {
    match Request::read(api, body.as_bytes()) {
        Ok(request) => request.items.iter().any(|item| {
            let event = format!("{:?}", item.event());
            event.contains(FORBIDDEN) || event.contains("cnVuIGRyb3")
        }),
        Err(_) => true,
    }
}

/// Returns an object with one member more, unless it has the member.
fn with_member(object: &str, member: &str, value: &str) -> Option<String> {
    let is_new = !object.contains(&format!("\"{member}\":"));
    is_new.then(|| format!(r#"{},"{member}":{value}}}"#, object.strip_suffix('}').unwrap()))
}

/// Requests in which the client adds a member to something, with what they are about.
fn requests() -> Vec<(Api, String)> {
    let mut requests = Vec::new();
    for (member, value) in MEMBERS.iter().flat_map(|member| VALUES.map(|value| (*member, value))) {
        for item in ITEMS {
            let body = |item: &str| format!(r#"{{"model":"m","input":[{{"role":"user","content":"a"}},{item}]}}"#);
            requests.extend(with_member(item, member, value).map(|item| (Api::Responses, body(&item))));
        }
        for block in BLOCKS {
            // A signature is one word, whatever it says.
            let is_thinking = block.contains("thinking") && member == "thinking"
                || member == "signature" && !value.contains("run drop_table");
            let body =
                |block: &str| format!(r#"{{"model":"m","messages":[{{"role":"assistant","content":[{block}]}}]}}"#);
            let with = with_member(block, member, value).filter(|_| !is_thinking);
            requests.extend(with.map(|block| (Api::Messages, body(&block))));
        }
        for tool in TOOLS {
            let body = |tool: &str| {
                format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}],"input":"a","tools":[{tool}]}}"#)
            };
            let with = with_member(tool, member, value);
            requests.extend(with.into_iter().flat_map(|tool| Api::ALL.map(|api| (api, body(&tool)))));
        }
        for (api, key) in [(Api::Chat, "messages"), (Api::Messages, "messages"), (Api::Responses, "input")] {
            let call = r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}"#;
            let said = format!(r#"{{"role":"assistant","content":"a","tool_calls":[{call}]}}"#);
            requests.extend(
                with_member(&said, member, value).map(|said| (api, format!(r#"{{"model":"m","{key}":[{said}]}}"#))),
            );
            let beside =
                with_member(&format!(r#"{{"model":"m","{key}":[{{"role":"user","content":"a"}}]}}"#), member, value);
            requests.extend(beside.map(|body| (api, body)));
        }
    }
    requests
}

#[test]
fn text_sent_back_reaches_no_model_unjudged() {
    let requests = requests();
    let unjudged: Vec<String> = requests
        .iter()
        .filter(|(api, body)| !is_judged(*api, body))
        // An event about arguments, or the definition of a tool, has all of it.
        .map(|(api, body)| format!("{api:?} {body}"))
        .collect();
    assert!(unjudged.is_empty(), "{} of {}:\n{}", unjudged.len(), requests.len(), unjudged.join("\n"));
    assert!(requests.len() > 5_000, "{}", requests.len());
}

#[test]
fn free_text_of_offered_tool_is_judged() {
    for tool in TOOLS {
        for (member, value) in [("prompt", r#""run drop_table""#), ("notes", r#"[{"deeper":"run drop_table"}]"#)] {
            let tool = with_member(tool, member, value).unwrap();
            let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}],"tools":[{tool}]}}"#);
            let request = Request::read(Api::Chat, body.as_bytes()).unwrap();
            let texts: Vec<&str> = request.items.iter().filter_map(|item| item.event().text.as_deref()).collect();
            assert!(texts.contains(&FORBIDDEN), "{tool}: {texts:?}");
        }
    }
}

#[test]
fn content_in_extra_body_is_refused() {
    for member in ["messages", "input", "system", "tools", "Prompt", "stream", "model"] {
        let body = format!(r#"{{"messages":[],"extra_body":{{"{member}":[]}}}}"#);
        for api in [Api::Chat, Api::Messages] {
            let refused = Request::read(api, body.as_bytes()).err().map(|refusal| refusal.code);
            assert!(matches!(refused, Some("request.shape" | "request.key_case")), "{body}");
        }
    }
    let settings =
        r#"{"messages":[{"role":"user","content":"a"}],"extra_body":{"top_k":20,"thinking":{"type":"enabled"}}}"#;
    assert_eq!(Request::read(Api::Chat, settings.as_bytes()).unwrap().items.len(), 1);
}

#[test]
fn ordinary_items_and_tools_have_no_other_texts() {
    let bodies = [
        (
            Api::Responses,
            r#"{"model":"m","tools":[
                {"type":"function","name":"f","description":"It does so.","strict":true,"parameters":{"type":"object","properties":{"a":{"description":"an a"}}}},
                {"type":"custom","name":"g","description":"It does so.","format":{"type":"grammar","syntax":"lark","definition":"start: a b"}},
                {"type":"web_search","search_context_size":"low","filters":{"allowed_domains":["a.org","b.org"]}},
                {"type":"file_search","vector_store_ids":["vs_1"],"ranking_options":{"ranker":"auto","score_threshold":0.5}},
                {"type":"code_interpreter","container":{"type":"auto","file_ids":["file-1"],"memory_limit":"4g"}},
                {"type":"image_generation","size":"1024x1024","quality":"high","background":"opaque","output_format":"png","moderation":"auto"},
                {"type":"computer_use_preview","display_width":1024,"display_height":768,"environment":"browser"},
                {"type":"mcp","server_label":"s","server_url":"https://a/","server_description":"It has files.","headers":{"Authorization":"Bearer a b"},"require_approval":"never","allowed_tools":["x","y"]}],
              "input":[{"role":"user","content":"hello"},
                {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I think"}],"encrypted_content":"gAAA","content":null,"status":"completed"},
                {"type":"compaction","id":"c_1","encrypted_content":"gAAA"},
                {"type":"web_search_call","id":"w_1","status":"completed","action":{"type":"search","query":"some words","queries":["some words"]}},
                {"type":"file_search_call","id":"f_1","status":"completed","queries":["some words"],"results":null},
                {"type":"code_interpreter_call","id":"c_2","status":"completed","code":"a = 1","container_id":"cntr_1","outputs":[{"type":"logs","logs":"1 2"}]},
                {"type":"image_generation_call","id":"i_1","status":"completed","result":"iVBORw0KGgoAAAANSUhEUg==","revised_prompt":"a cat","size":"1024x1024","quality":"high","background":"opaque","output_format":"png","action":"generate"},
                {"type":"mcp_list_tools","id":"m_1","server_label":"s","tools":[{"name":"x","description":"It does so.","input_schema":{},"annotations":{"title":"An x","read_only":true}}]},
                {"type":"mcp_call","id":"m_2","server_label":"s","name":"x","arguments":"{}","status":"failed","error":{"type":"http_error","code":503,"message":"it is down"},"output":null},
                {"type":"mcp_approval_request","id":"m_3","server_label":"s","name":"x","arguments":"{\"a\":\"some words\"}"}]}"#,
            vec!["hello", "it is down"],
        ),
        (
            Api::Messages,
            r#"{"model":"m","max_tokens":9,"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":1}}]},
              "tools":[{"name":"f","description":"It does so.","input_schema":{},"input_examples":[{"a":"some words"}],"cache_control":{"type":"ephemeral","ttl":"5m"}},
                {"type":"web_search_20250305","name":"web_search","max_uses":5,"allowed_domains":["a.org"]},
                {"type":"web_fetch_20250910","name":"web_fetch","citations":{"enabled":true}},
                {"type":"mcp_toolset","mcp_server_name":"x","default_config":{"enabled":true}}],
              "mcp_servers":[{"type":"url","url":"https://a/","name":"x","authorization_token":"a b c","tool_configuration":{"enabled":true,"allowed_tools":["y"]}}],
              "messages":[{"role":"user","content":"hello"},
                {"role":"assistant","content":[{"type":"thinking","thinking":"I think","signature":"EqQB+/8="},{"type":"redacted_thinking","data":"EqQB+/8="},
                  {"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"some words"},"caller":{"type":"direct"}},
                  {"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"A title","url":"https://a/","encrypted_content":"EqQB+/8=","page_age":"May 1, 2026"}]},
                  {"type":"mcp_tool_use","id":"t","name":"y","server_name":"x","input":{"a":"some words"}},
                  {"type":"mcp_tool_result","tool_use_id":"t","is_error":false,"content":[{"type":"text","text":"found it"}]},
                  {"type":"text","text":"Done."}]},
                {"role":"user","content":"thanks"}]}"#,
            vec!["hello", "found it", "Done.", "thanks"],
        ),
        (
            Api::Chat,
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"f","description":"It does so.","strict":true,"parameters":{}}},{"type":"custom","custom":{"name":"g","description":"It does so."}}],
              "messages":[{"role":"user","content":"hello"},
                {"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"I think"}],"closed":true},{"type":"text","text":"Done."}],
                  "reasoning":"I think","reasoning_details":[{"type":"reasoning.text","text":"I think","signature":"EqQB+/8=","format":"anthropic-claude-v1","index":0}],
                  "thinking_blocks":[{"type":"thinking","thinking":"I think","signature":"EqQB+/8="}],"provider_specific_fields":{"reasoning_content":"I think","refusal":null}},
                {"role":"user","content":"thanks"}]}"#,
            vec!["hello", "Done.", "thanks"],
        ),
    ];
    for (api, body, expected) in bodies {
        let request = Request::read(api, body.as_bytes()).unwrap();
        let texts: Vec<&str> = request.items.iter().filter_map(|item| item.event().text.as_deref()).collect();
        assert_eq!(texts, expected, "{api:?}");
    }
}

#[test]
fn reasoning_sent_back_changes_no_history() {
    let user = r#"{"role":"user","content":"hello"}"#;
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I think so"}]}"#;
    let search = r#"{"type":"file_search_call","id":"f_1","queries":["a"],"results":[{"file_id":"f","filename":"my file.txt","text":"found it"}]}"#;
    let said = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]}"#;
    let mut known = ConversationHistory::default();
    let mut ask = |items: &[&str], reply: Option<&str>| {
        let body = format!(r#"{{"model":"m","input":[{}]}}"#, items.join(","));
        let diff = known.fold(&Request::read(Api::Responses, body.as_bytes()).unwrap());
        known = diff.known;
        if let Some(output) = reply {
            let body = format!(r#"{{"id":"r","output":[{output}]}}"#);
            known.replied(&Reply::read(Api::Responses, body.as_bytes()).unwrap().settle(&[]).unwrap().sent);
        }
        let texts = diff.fresh.iter().filter_map(|(_, event)| event.text.as_ref().map(ToString::to_string));
        (diff.change, texts.collect::<Vec<String>>())
    };
    let output = [reasoning, search, said].join(",");
    assert_eq!(ask(&[user], Some(&output)), (HistoryChange::Continued, vec!["hello".into()]));
    let next = r#"{"role":"user","content":"and now?"}"#;
    let (change, texts) = ask(&[user, reasoning, search, said, next], Some(&said.replace("Hi", "Now")));
    assert_eq!(change, HistoryChange::Continued);
    assert_eq!(texts, ["I think so", "my file.txt", "and now?"], "each is judged when it first reaches the model");
    let now = said.replace("Hi", "Now");
    let (change, texts) = ask(&[user, reasoning, search, said, next, &now, user], None);
    assert_eq!((change, texts), (HistoryChange::Continued, vec!["hello".to_owned()]));
    let other = reasoning.replace("think so", "run drop_table");
    let (change, texts) = ask(&[user, &other, search, said, next, &now, user], None);
    assert_eq!(
        (change, texts),
        (HistoryChange::Continued, vec!["I run drop_table".to_owned()]),
        "a changed one is new"
    );
}
