//! Pieces of a stream that belong to another kind of block or item: every piece that a client gets is judged with the block
//! or the item it is about, or refused.

use lictor_event::Event;
use lictor_wire::{Api, Ruling};

use crate::drive::ruled;
use crate::made::events;

/// What no client may get unjudged.
const FORBIDDEN: &str = "drop_table";

/// Returns the text that a client gets if every event with the forbidden text is denied.
fn denied(api: Api, payloads: &[&str]) -> String {
    let rule = |event: &Event| match format!("{event:?}").contains(FORBIDDEN) {
        true => Ruling::Deny { text: "no".into() },
        false => Ruling::Forward,
    };
    ruled(api, &events(payloads), rule).text().to_owned()
}

#[test]
fn piece_of_other_block_is_judged_or_refused() {
    let blocks = [
        r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#,
        r#"{"type":"server_tool_use","id":"t","name":"f","input":{}}"#,
        r#"{"type":"mcp_tool_use","id":"t","name":"f","input":{},"server_name":"s"}"#,
        r#"{"type":"mcp_tool_result","tool_use_id":"t","content":"a"}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"t","content":[]}"#,
        r#"{"type":"mcp_tool_listing","tools":[]}"#,
        r#"{"type":"container_upload","file_id":"f"}"#,
        r#"{"type":"compaction","content":null}"#,
        r#"{"type":"refusal","refusal":""}"#,
    ];
    let deltas = [
        r#"{"type":"input_json_delta","partial_json":"{\"a\":\"run drop_table\"}"}"#,
        r#"{"type":"text_delta","text":"run drop_table"}"#,
        r#"{"type":"compaction_delta","content":"run drop_table"}"#,
        r#"{"type":"citations_delta","citation":{"cited_text":"run drop_table"}}"#,
    ];
    for block in blocks {
        for delta in deltas {
            let payloads = [
                r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#,
                &format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
                &format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#),
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
                r#"{"type":"message_stop"}"#,
            ];
            for end in 3..=payloads.len() {
                let sent = denied(Api::Messages, &payloads[..end]);
                assert!(!sent.contains(FORBIDDEN), "{block} {delta}: {sent}");
            }
        }
    }
}

#[test]
fn piece_of_other_item_is_judged_or_refused() {
    let items = [
        r#"{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""}"#,
        r#"{"type":"custom_tool_call","id":"i","call_id":"c","name":"f","input":""}"#,
        r#"{"type":"mcp_call","id":"i","name":"f","arguments":"{}","output":"a"}"#,
        r#"{"type":"mcp_list_tools","id":"i","tools":[]}"#,
        r#"{"type":"mcp_approval_request","id":"i","name":"f","arguments":"{}"}"#,
        r#"{"type":"web_search_call","id":"i","action":{"type":"search","query":"a"}}"#,
        r#"{"type":"file_search_call","id":"i","queries":["a"]}"#,
        r#"{"type":"image_generation_call","id":"i","result":"iVBORw0KGgoAAAANSUhEUg=="}"#,
        r#"{"type":"code_interpreter_call","id":"i","code":""}"#,
        r#"{"type":"computer_call","id":"i","call_id":"c","action":{"type":"click"}}"#,
        r#"{"type":"shell_call","id":"i","call_id":"c","action":{"commands":["a"]}}"#,
        r#"{"type":"apply_patch_call","id":"i","call_id":"c","operation":{"type":"update_file","diff":"a"}}"#,
        r#"{"type":"function_call_output","call_id":"c","output":"a"}"#,
        r#"{"type":"shell_call_output","call_id":"c","output":[]}"#,
        r#"{"type":"tool_search_output","call_id":"c","tools":[]}"#,
        r#"{"type":"program","id":"i","code":"a"}"#,
        r#"{"type":"reasoning","id":"i","summary":[]}"#,
        r#"{"type":"compaction","id":"i"}"#,
        r#"{"type":"message","id":"i","role":"assistant","content":[]}"#,
    ];
    let said = [
        r#""type":"response.function_call_arguments.delta","delta":"drop_table""#,
        r#""type":"response.function_call_arguments.done","arguments":"drop_table""#,
        r#""type":"response.function_call_arguments.done","name":"drop_table","arguments":"{}""#,
        r#""type":"response.mcp_call_arguments.delta","delta":"drop_table""#,
        r#""type":"response.mcp_call_arguments.done","arguments":"drop_table""#,
        r#""type":"response.custom_tool_call_input.delta","delta":"drop_table""#,
        r#""type":"response.custom_tool_call_input.done","input":"drop_table""#,
        r#""type":"response.code_interpreter_call_code.delta","delta":"drop_table""#,
        r#""type":"response.code_interpreter_call_code.done","code":"drop_table""#,
        r#""type":"response.shell_call_command.delta","command_index":0,"delta":"drop_table""#,
        r#""type":"response.shell_call_command.done","command_index":0,"command":"drop_table""#,
        r#""type":"response.apply_patch_call_operation_diff.delta","delta":"drop_table""#,
        r#""type":"response.apply_patch_call_operation_diff.done","diff":"drop_table""#,
        r#""type":"response.image_generation_call.partial_image","partial_image_b64":"run drop_table""#,
        r#""type":"response.output_text.delta","content_index":0,"delta":"run drop_table""#,
        r#""type":"response.output_text.done","content_index":0,"text":"run drop_table""#,
        r#""type":"response.refusal.delta","content_index":0,"delta":"run drop_table""#,
    ];
    let mut leaks = Vec::new();
    for item in items {
        for event in said {
            let payloads = [
                &format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#),
                &format!(r#"{{"output_index":0,{event}}}"#),
                &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
                &format!(r#"{{"type":"response.completed","response":{{"id":"r","output":[{item}]}}}}"#),
            ];
            let payloads = payloads.map(String::as_str);
            for end in 2..=payloads.len() {
                // The text of a message may leave before its end was judged.
                let is_text = item.contains(r#""message""#) && event.contains("run ");
                if !is_text && denied(Api::Responses, &payloads[..end]).contains(FORBIDDEN) {
                    leaks.push(format!("{item} {event} {end}"));
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{}:\n{}", leaks.len(), leaks.join("\n"));
}
