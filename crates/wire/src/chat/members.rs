//! The known members of messages and choices.

/// The known members of a message, or of a piece of one. The model's reasoning is among them: it passes unchanged.
pub(super) const MESSAGE_MEMBERS: [&str; 16] = [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "name",
    "annotations",
    "audio",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "reasoning_opaque",
    "reasoning_signature",
    "thinking_blocks",
    "provider_specific_fields",
];

/// The known members of a choice.
pub(super) const CHOICE_MEMBERS: [&str; 12] = [
    "index",
    "message",
    "delta",
    "logprobs",
    "finish_reason",
    "native_finish_reason",
    "stop_reason",
    "content_filter_results",
    "content_filter_offsets",
    "content_filter_result",
    "matched_stop",
    "token_ids",
];
