//! Files in requests and replies that are text, however their bytes are written.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lictor_wire::{Api, Reply, Request};

use crate::unread::texts;

const SECRET: &str = "the secret plan für Ann";

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The ways in which a text is written as bytes.
fn encodings() -> Vec<Vec<u8>> {
    let latin: Vec<u8> = SECRET.chars().map(|c| c as u8).collect();
    let wide = |is_big: bool| -> Vec<u8> {
        SECRET.encode_utf16().flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let belled = format!("\u{1b}[1m{SECRET}\u{1b}[0m\u{7}\0");
    let marked = [&[0xff, 0xfe], wide(false).as_slice()].concat();
    vec![SECRET.into(), latin, wide(false), wide(true), marked, belled.into()]
}

#[test]
fn text_files_of_any_encoding_are_items() {
    for bytes in encodings() {
        let data = base64(&bytes);
        let chat = [
            format!(r#"{{"type":"file","file":{{"filename":"notes.txt","file_data":"{data}"}}}}"#),
            format!(r#"{{"type":"file","file":{{"filename":"x","file_data":"data:text/plain;base64,{data}"}}}}"#),
            format!(
                r#"{{"type":"image_url","image_url":{{"url":"DATA:text/csv; charset=x-user-defined;Base64,{data}"}}}}"#
            ),
        ];
        for part in chat {
            let body = format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
            let found = texts(Api::Chat, &body);
            assert!(found.iter().any(|text| text.contains(SECRET)), "{part}: {found:?}");
        }
        let documents = [
            format!(r#"{{"type":"document","source":{{"type":"base64","media_type":"text/plain","data":"{data}"}}}}"#),
            format!(
                r#"{{"type":"document","title":"a.md","source":{{"type":"base64","media_type":"application/octet-stream","data":"{data}"}}}}"#
            ),
        ];
        for document in documents {
            for content in
                [document.clone(), format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{document}]}}"#)]
            {
                let body = format!(r#"{{"messages":[{{"role":"user","content":[{content}]}}]}}"#);
                let found = texts(Api::Messages, &body);
                assert!(found.iter().any(|text| text.contains(SECRET)), "{content}: {found:?}");
            }
        }
        let input = format!(
            r#"{{"input":[{{"role":"user","content":[{{"type":"input_file","filename":"a.json","file_data":"{data}"}}]}}]}}"#
        );
        assert!(texts(Api::Responses, &input).iter().any(|text| text.contains(SECRET)), "{input}");
    }
}

#[test]
fn data_urls_in_percent_form_are_items() {
    let urls = [
        "data:text/plain,the%20secret%20plan%20f%C3%BCr%20Ann",
        "data:text/plain;charset=iso-8859-1,the%20secret%20plan%20f%FCr%20Ann",
        "data:,the%20secret%20plan%20f%C3%BCr%20Ann",
        "data:image/svg+xml,%3Ctext%3Ethe%20secret%20plan%20f%C3%BCr%20Ann%3C/text%3E",
        "data:text/plain;base64,dGhlIHNlY3JldCBwbGFuIGbDvHIgQW5u%0A",
        "data:the secret plan für Ann,x",
    ];
    for url in urls {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
        );
        let found = texts(Api::Chat, &body);
        assert!(found.iter().any(|text| text.contains(SECRET)), "{url}: {found:?}");
        let output = format!(
            r#"{{"input":[{{"type":"computer_call_output","call_id":"c","output":{{"type":"computer_screenshot","image_url":"{url}"}}}}]}}"#
        );
        let found = texts(Api::Responses, &output);
        assert!(found.iter().any(|text| text.contains(SECRET)), "{url}: {found:?}");
    }
    let said = r#"{"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"input_text","text":"the secret plan für Ann"}}]}"#;
    assert!(texts(Api::Responses, said).iter().any(|text| text.contains(SECRET)));
}

#[test]
fn unreadable_text_file_is_refused() {
    let files = [
        r#"{"filename":"a.txt","file_data":"data:text/plain;base64,dGhl*IHNlY3JldA"}"#,
        r#"{"filename":"a.txt","file_data":"data:text/plain;charset=ebcdic-cp-us;base64,dGhl"}"#,
        r#"{"filename":"a.txt","file_data":"data:text/plain;charset=utf-7;base64,dGhl"}"#,
    ];
    for file in files {
        let body = format!(r#"{{"messages":[{{"role":"user","content":[{{"type":"file","file":{file}}}]}}]}}"#);
        assert_eq!(Request::read(Api::Chat, body.as_bytes()).unwrap_err().code, "request.file", "{file}");
    }
    let reply = r#"{"output":[{"type":"computer_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:text/plain;charset=none;base64,dGhl"}]}]}"#;
    assert_eq!(Reply::read(Api::Responses, reply.as_bytes()).unwrap_err().code, "wire.file");
}

#[test]
fn plain_text_sources_are_no_files() {
    let document =
        r#"{"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"hello"}}"#;
    let contents = [
        format!(r#"{{"role":"user","content":[{document}]}}"#),
        format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{document}]}}]}}"#),
        format!(r#"{{"role":"user","content":"b","documents":[{document}]}}"#),
    ];
    for content in contents {
        let found = texts(Api::Messages, &format!(r#"{{"messages":[{content}]}}"#));
        assert!(found.iter().any(|text| text.contains("hello")), "{content}: {found:?}");
    }
    let output = format!(r#"{{"input":[{{"type":"function_call_output","call_id":"c","output":{document}}}]}}"#);
    assert_eq!(texts(Api::Responses, &output), Vec::<String>::new(), "the result has it");
    let picture =
        r#"{"messages":[{"role":"user","content":[{"type":"image","image":"data:text/plain,the%20secret%20plan"}]}]}"#;
    assert!(texts(Api::Chat, picture).iter().any(|text| text.contains("the secret plan")));
}

#[test]
fn pictures_and_opaque_bytes_are_no_items() {
    for data in ["iVBORw0KGgoAAAANSUhEUg==", "/9j/4AAQSkZJRg==", "JVBERi0xLjQKJcOkw7zDtsOfCv///w==", "AQIDBAUG"] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"file","file":{{"filename":"a.bin","file_data":"data:application/pdf;base64,{data}"}}}}]}}]}}"#
        );
        assert_eq!(texts(Api::Chat, &body), Vec::<String>::new(), "{data}");
    }
}

#[test]
fn texts_as_keys_are_items() {
    let bodies = [
        (Api::Chat, r#"{"messages":[],"metadata":{"4111 1111 1111 1111":"a"}}"#, "4111"),
        (Api::Chat, r#"{"messages":[],"metadata":{"4111-1111-1111-1111":"a"}}"#, "4111"),
        (Api::Chat, r#"{"messages":[],"metadata":{"a":{"b":"the secret plan"}}}"#, "secret"),
        (Api::Chat, r#"{"messages":[],"logit_bias":{"the secret plan":5}}"#, "secret"),
        (
            Api::Chat,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","+491701234567":1}]}]}"#,
            "+4917",
        ),
        (
            Api::Responses,
            r#"{"input":[{"type":"function_call_output","call_id":"c","output":{"the secret plan":1}}]}"#,
            "secret",
        ),
        (
            Api::Responses,
            r#"{"input":[{"type":"mcp_approval_response","approval_request_id":"a","approve":true,"reason":"the secret plan"}]}"#,
            "secret",
        ),
    ];
    for (api, body, wanted) in bodies {
        let found = texts(api, body);
        assert!(found.iter().any(|text| text.contains(wanted)), "{body}: {found:?}");
    }
    assert_eq!(
        texts(Api::Chat, r#"{"messages":[],"logit_bias":{"50256":-100,"199999":1},"metadata":{"build":"a1"}}"#),
        Vec::<String>::new()
    );
}

#[test]
fn items_of_clients_in_replies_are_refused() {
    let response =
        r#"{"output":[{"type":"mcp_approval_response","approval_request_id":"a","approve":true,"reason":"x"}]}"#;
    assert_eq!(Reply::read(Api::Responses, response.as_bytes()).unwrap_err().code, "wire.unknown");
    let listing =
        r#"{"role":"assistant","content":[{"type":"mcp_tool_listing","tools":[{"name":"a","description":"x"}]}]}"#;
    assert_eq!(Reply::read(Api::Messages, listing.as_bytes()).unwrap_err().code, "wire.unknown");
}

#[test]
fn identifiers_that_are_sentences_are_stripped() {
    let replies = [
        (Api::Chat, r#"{"choices":[{"message":{"role":"assistant","content":"a","tool_call_id":"the secret plan"}}]}"#),
        (
            Api::Chat,
            r#"{"choices":[{"message":{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"t","format":"the secret plan"}]}}]}"#,
        ),
        (
            Api::Responses,
            r#"{"output":[{"type":"mcp_call","id":"m","name":"f","arguments":"{}","server_label":"the secret plan"}]}"#,
        ),
        (
            Api::Messages,
            r#"{"role":"assistant","content":[{"type":"mcp_tool_use","id":"t","name":"f","input":{},"server_name":"the secret plan"}]}"#,
        ),
        (
            Api::Messages,
            r#"{"role":"assistant","content":[],"container":{"id":"c","skills":[{"type":"custom","skill_id":"the secret plan","version":"1"}]}}"#,
        ),
    ];
    for (api, body) in replies {
        let reply = Reply::read(api, body.as_bytes()).unwrap();
        let sent = String::from_utf8(reply.settle(&[]).unwrap().body).unwrap();
        assert!(!sent.contains("secret") && reply.stripped().count == 1, "{body}: {sent}");
    }
}
