//! The formats that Lictor reads, and how it detects them.

use std::fmt;

use super::{
    Decoder, a2a, actions, agentdojo, anthropic, anthropic_agents, claude_code, codex, langfuse, langsmith, mcp,
    openai_agents, openai_chat, openai_responses, openinference, otlp, tau_bench, toolemu, xes,
};
use lictor_event::native;
use lictor_json::Json;

/// How a file is cut into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// JSON values: one a line, elements of one array, or a single document.
    Json,
    /// Server-sent events; each payload is a record.
    Events,
    /// A transcript of HTTP messages; each JSON body and each payload of a streamed body is a record.
    Http,
    /// One text for the whole file.
    Whole,
    /// One text a line.
    Lines,
}

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal $module:ident $decoder:ident $alone:literal,)*) => {
        /// The format of a log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Format {
            /// All formats, in the order of detection: the more specific shapes first.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)*];

            /// Returns the name of the format, as `--input-format` takes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Format::$variant => $name,)*
                }
            }

            /// Describes the format in one line.
            pub fn describe(self) -> &'static str {
                match self {
                    $(Format::$variant => concat!($($doc),+).trim_ascii(),)*
                }
            }

            /// Returns a decoder for one file.
            pub fn decoder(self) -> Box<dyn Decoder> {
                match self {
                    $(Format::$variant => Box::new($module::$decoder::default()),)*
                }
            }

            /// Whether each record is decoded on its own, so that a file may be decoded in chunks.
            pub fn records_stand_alone(self) -> bool {
                match self {
                    $(Format::$variant => $alone,)*
                }
            }

            fn recognises(self, record: &Json) -> bool {
                match self {
                    $(Format::$variant => $module::recognises(record),)*
                }
            }
        }
    };
}

formats! {
    /// AgentDojo runs.
    Agentdojo "agentdojo" agentdojo AgentdojoDecoder true,
    /// tau-bench runs.
    TauBench "tau-bench" tau_bench TauBenchDecoder true,
    /// ToolEmu runs.
    Toolemu "toolemu" toolemu ToolemuDecoder true,
    /// OpenTelemetry traces and logs in OTLP/JSON with GenAI conventions, old and new.
    Otlp "otlp" otlp OtlpDecoder false,
    /// OpenInference spans.
    Openinference "openinference" openinference OpeninferenceDecoder false,
    /// Langfuse observations and ingestion batches.
    Langfuse "langfuse" langfuse LangfuseDecoder false,
    /// LangSmith runs and ingestion batches.
    Langsmith "langsmith" langsmith LangsmithDecoder false,
    /// Traces of the OpenAI Agents SDK.
    OpenaiAgents "openai-agents" openai_agents OpenaiAgentsDecoder false,
    /// Anthropic managed agents: session events.
    AnthropicAgents "anthropic-agents" anthropic_agents AnthropicAgentsDecoder false,
    /// Codex session files.
    Codex "codex" codex CodexDecoder false,
    /// Claude Code sessions and its stream output.
    ClaudeCode "claude-code" claude_code ClaudeCodeDecoder false,
    /// Agent2Agent messages and streams.
    A2a "a2a" a2a A2aDecoder false,
    /// Model Context Protocol: JSON-RPC messages, with or without their HTTP envelope.
    Mcp "mcp" mcp McpDecoder false,
    /// Anthropic Messages: requests, responses, recorded streams.
    Anthropic "anthropic" anthropic AnthropicDecoder false,
    /// OpenAI Responses: items, requests, responses, recorded streams.
    OpenaiResponses "openai-responses" openai_responses OpenaiResponsesDecoder false,
    /// OpenAI Chat Completions: messages, requests, responses, recorded streams.
    OpenaiChat "openai-chat" openai_chat OpenaiChatDecoder false,
    /// Event logs of process mining (IEEE 1849).
    Xes "xes" xes XesDecoder false,
    /// Lictor's own events, one a line, and bare facts.
    Native "native" native NativeDecoder true,
    /// Plain text, one action a line, numbered or not.
    Actions "actions" actions ActionsDecoder false,
}

impl Format {
    /// Returns the format of a name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Detects the format of a file by its first records: the first format that recognises most of them.
    pub fn detect(records: &[Json]) -> Option<Format> {
        let known = |format: Format| records.iter().filter(|record| format.recognises(record)).count();
        let mut best = None;
        for &format in Format::ALL {
            let count = known(format);
            if count > best.map_or(0, |(_, most)| most) {
                best = Some((format, count));
            }
        }
        best.map(|(format, _)| format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
