//! The keys of requests, by what their values hold, and what a name is.

/// The keys under which a short word is a name or a setting, and no text for the model.
pub(super) const NAME_KEYS: [&str; 57] = [
    "type",
    "role",
    "id",
    "version",
    "name",
    "model",
    "object",
    "status",
    "phase",
    "format",
    "detail",
    "encoding",
    "mode",
    "syntax",
    "tool_call_id",
    "call_id",
    "tool_use_id",
    "item_id",
    "approval_request_id",
    "previous_response_id",
    "conversation",
    "conversation_id",
    "file_id",
    "file_ids",
    "filename",
    "media_type",
    "mime_type",
    "server_label",
    "server_name",
    "mcp_server_name",
    "tool_name",
    "tool_id",
    "error_code",
    "container",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "service_tier",
    "reasoning_effort",
    "effort",
    "summary",
    "verbosity",
    "truncation",
    "include",
    "modalities",
    "voice",
    "tool_choice",
    "function_call",
    "strategy",
    "ttl",
    "speed",
    "inference_geo",
    "execution",
    "environment",
    "size",
    "quality",
];

/// The keys with bytes in base64, or with the address of a file.
pub(super) const FILE_KEYS: [&str; 10] = [
    "data",
    "file_data",
    "url",
    "image_url",
    "file_url",
    "b64_json",
    "result",
    "encrypted_content",
    "signature",
    "thought_signature",
];

/// The keys whose values hold the model's own thinking, as a client sends it back.
pub(super) const THINKING_KEYS: [&str; 7] = [
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "reasoning_opaque",
    "reasoning_signature",
    "thinking_blocks",
];

/// The members of thinking that hold it, at any depth.
pub(super) const THOUGHT_KEYS: [&str; 5] = ["text", "thinking", "summary", "content", "signature"];

/// The members of the body that a service takes from `extra_body`, too.
pub(super) const BODY_KEYS: [&str; 14] = [
    "messages",
    "input",
    "instructions",
    "system",
    "prompt",
    "prediction",
    "tools",
    "functions",
    "mcp_servers",
    "model",
    "stream",
    "n",
    "conversation",
    "previous_response_id",
];

/// The names of members that carry content. A member of such a name in other letters is read by some services only.
pub(super) const CONTENT_KEYS: [&str; 34] = [
    "messages",
    "input",
    "instructions",
    "system",
    "prompt",
    "prediction",
    "tools",
    "functions",
    "mcp_servers",
    "model",
    "stream",
    "metadata",
    "user",
    "conversation",
    "previous_response_id",
    "role",
    "content",
    "text",
    "type",
    "name",
    "refusal",
    "tool_calls",
    "function_call",
    "function",
    "custom",
    "arguments",
    "tool_call_id",
    "call_id",
    "tool_use_id",
    "output",
    "source",
    "data",
    "file",
    "documents",
];

/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 256;

/// Whether a string is a name: short, and without anything that separates words.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+*$".contains(&byte);
    text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part)
}
