//! The formats that Lictor reads, and how it detects them.

use std::fmt;

use super::attachments::AttachmentChecker;
use super::native_calls::NativeCallChecker;
use super::record_opener::{RecordOpener, open_all};
use super::reversed_logs::ReversedLogChecker;
use super::session_key::{SESSION_KEYS, SessionKeyDecoder};
use super::time_sorter::TimeSorter;
use super::unread_calls::UnreadCallChecker;
use super::{
    Decoder, a2a, actions, adk, agentdojo, anthropic, anthropic_agents, autogen, bedrock, chat, claude_code, codex,
    gemini, gemini_cli, haystack, inspect, jaeger, langchain, langfuse, langsmith, mcp, openai_agents,
    openai_assistants, openai_chat, openai_responses, openhands, openinference, otlp, pydantic_ai, semantic_kernel,
    smolagents, swe_agent, tau_bench, toolemu, vercel, xes,
};
use lictor_event::{Kind, native};
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

            /// Returns the format's own decoder, which knows nothing of what holds for all formats.
            fn plain_decoder(self) -> Box<dyn Decoder> {
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
    /// Inspect logs, JSON and archives.
    Inspect "inspect" inspect InspectDecoder true,
    /// OpenTelemetry traces and logs in OTLP/JSON with GenAI conventions, old and new.
    Otlp "otlp" otlp OtlpDecoder false,
    /// Jaeger traces with GenAI conventions.
    Jaeger "jaeger" jaeger JaegerDecoder false,
    /// OpenInference spans.
    Openinference "openinference" openinference OpeninferenceDecoder false,
    /// Langfuse observations and ingestion batches.
    Langfuse "langfuse" langfuse LangfuseDecoder false,
    /// OpenHands events of its runtime and of its agent SDK.
    Openhands "openhands" openhands OpenhandsDecoder false,
    /// LangSmith runs and ingestion batches.
    Langsmith "langsmith" langsmith LangsmithDecoder false,
    /// OpenAI Assistants: messages, runs and run steps.
    OpenaiAssistants "openai-assistants" openai_assistants OpenaiAssistantsDecoder false,
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
    /// Haystack chat messages.
    Haystack "haystack" haystack HaystackDecoder false,
    /// The memory of smolagents: its steps.
    Smolagents "smolagents" smolagents SmolagentsDecoder false,
    /// Amazon Bedrock Converse: messages, requests, responses, streams, invocation logs.
    Bedrock "bedrock" bedrock BedrockDecoder false,
    /// Vercel AI SDK: model messages and messages of its user interface.
    Vercel "vercel" vercel VercelDecoder false,
    /// LangChain messages and events, LangGraph states, checkpoints and streams.
    Langchain "langchain" langchain LangchainDecoder false,
    /// Pydantic AI messages.
    PydanticAi "pydantic-ai" pydantic_ai PydanticAiDecoder false,
    /// Gemini: contents, requests, responses.
    Gemini "gemini" gemini GeminiDecoder false,
    /// Agent Development Kit: sessions, events and eval sets.
    Adk "adk" adk AdkDecoder false,
    /// Trajectories of SWE-agent and mini-SWE-agent.
    SweAgent "swe-agent" swe_agent SweAgentDecoder false,
    /// AutoGen messages, team states and chat results; events of AG2.
    Autogen "autogen" autogen AutogenDecoder false,
    /// Chat histories of Semantic Kernel.
    SemanticKernel "semantic-kernel" semantic_kernel SemanticKernelDecoder false,
    /// Sessions of the Gemini command line.
    GeminiCli "gemini-cli" gemini_cli GeminiCliDecoder false,
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

/// The formats whose plain messages look like OpenAI's.
const MESSAGE_FORMATS: [Format; 5] =
    [Format::Bedrock, Format::Vercel, Format::Langchain, Format::SweAgent, Format::Autogen];

/// Those of them that write calls in another way than OpenAI.
const CALLS_ARE_OTHERS: [Format; 3] = [Format::Bedrock, Format::Vercel, Format::Langchain];

/// The formats whose records name their session by a member, which the user may name. The others define sessions
/// themselves: by traces, runs, or files of one session.
const SESSION_KEY_FORMATS: [Format; 13] = [
    Format::Native,
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Bedrock,
    Format::Gemini,
    Format::Adk,
    Format::Vercel,
    Format::Langchain,
    Format::PydanticAi,
    Format::Autogen,
    Format::SemanticKernel,
    Format::Haystack,
];

/// The formats of spans.
const SPAN_FORMATS: [Format; 6] =
    [Format::Otlp, Format::Jaeger, Format::Openinference, Format::Langfuse, Format::Langsmith, Format::OpenaiAgents];

impl Format {
    /// Returns the format of a name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Returns a decoder for one file.
    pub fn decoder(self) -> Box<dyn Decoder> {
        RecordOpener::wrap(self.sorting_decoder(), self)
    }

    /// Returns a decoder of records that are passed on while they happen: each makes its events at once.
    pub fn live_decoder(self) -> Box<dyn Decoder> {
        RecordOpener::wrap(self.checking_decoder(), self)
    }

    /// Returns a decoder that puts records in the order of their times, where that matters to the format.
    fn sorting_decoder(self) -> Box<dyn Decoder> {
        match self.is_judged_in_order() {
            true => TimeSorter::wrap(self.checking_decoder(), self.takes_session_key()),
            false => self.checking_decoder(),
        }
    }

    /// Returns a decoder that reports what the format's own one leaves out.
    fn checking_decoder(self) -> Box<dyn Decoder> {
        // Its events bring attachments of any kind, and its quick way is the hot path of an audit.
        if self == Format::Native {
            return Box::new(NativeCallChecker::new(is_of_other_format));
        }
        let mut decoder = self.plain_decoder();
        if self.is_judged_in_order() {
            decoder = ReversedLogChecker::wrap(decoder);
        }
        UnreadCallChecker::wrap(AttachmentChecker::wrap(decoder))
    }

    /// Whether its events are judged in the order of its records. Spans are put in the order of their times anyway, and
    /// some records are a session each. The order of native events is watched where they are judged.
    fn is_judged_in_order(self) -> bool {
        !self.records_stand_alone() && !SPAN_FORMATS.contains(&self) && !matches!(self, Format::Xes | Format::Actions)
    }

    /// Whether a record is of this format, or a plain message, which formats of messages read too.
    pub(super) fn reads(self, record: &Json) -> bool {
        let is_plain = || self != Format::Native && self.takes_session_key() && openai_chat::is_conversation(record);
        // Where most messages are plain, those with blocks are read with them.
        let has_blocks = || self == Format::OpenaiChat && chat::has_blocks(record);
        self.recognises(record) || is_plain() || has_blocks()
    }

    /// Whether the user may name the member by which records name their session.
    pub fn takes_session_key(self) -> bool {
        SESSION_KEY_FORMATS.contains(&self)
    }

    /// Returns a decoder for one file whose records name their session by a member at this path. A format that defines
    /// sessions itself ignores the path ([`Format::takes_session_key`]).
    pub fn decoder_by_session_key(self, key: &str) -> Box<dyn Decoder> {
        if !self.takes_session_key() {
            return self.decoder();
        }
        let target = if self == Format::Native { "session" } else { SESSION_KEYS[0] };
        RecordOpener::wrap(Box::new(SessionKeyDecoder::new(self.sorting_decoder(), key, target)), self)
    }

    /// Detects the format of a file by its first records: the first format that recognises most of them.
    ///
    /// A conversation of a format with parts of its own also has plain messages, which OpenAI writes in the same way.
    /// They count for that format once it recognises another record. Records of no format may hold others, as log
    /// shippers write them.
    pub fn detect(records: &[Json]) -> Option<Format> {
        Format::detect_bare(records).or_else(|| Format::detect_bare(&Format::open_records(records)?.1))
    }

    /// Returns the records within others of no format, and the member that holds the first of them; none if the records
    /// are of a format themselves.
    pub(super) fn open_records(records: &[Json]) -> Option<(&'static str, Vec<Json>)> {
        let is_known =
            |value: &Json| Format::ALL.iter().any(|format| *format != Format::Actions && format.recognises(value));
        match Format::detect_bare(records) {
            Some(_) => None,
            None => open_all(records, &is_known),
        }
    }

    fn detect_bare(records: &[Json]) -> Option<Format> {
        let known = |format: Format| {
            let (own, others): (Vec<&Json>, Vec<&Json>) = records
                .iter()
                .partition(|record| format.recognises(record) && !(format == Format::Native && is_doubtful(record)));
            // One odd record does not say of what format the others are.
            let marked = match CALLS_ARE_OTHERS.contains(&format) {
                true => others.iter().filter(|record| openai_chat::has_own_calls(record)).count(),
                false => 0,
            };
            let has_plain = MESSAGE_FORMATS.contains(&format) && own.len() > marked;
            own.len() + others.iter().filter(|record| has_plain && openai_chat::is_conversation(record)).count()
        };
        let mut best = None;
        for &format in Format::ALL {
            let count = known(format);
            if count > best.map_or(0, |(_, most)| most) {
                best = Some((format, count));
            }
        }
        let best = best.map(|(format, _)| format);
        best.filter(|format| *format != Format::Actions || actions::is_action_list(records))
    }
}

/// Whether a record is of a format that is not Lictor's own.
fn is_of_other_format(record: &Json) -> bool {
    let is_other = |format: &&Format| !matches!(format, Format::Native | Format::Actions | Format::Xes);
    Format::ALL.iter().filter(is_other).any(|format| format.recognises(record))
}

/// Whether a record that might be native is more likely something else: a message with a role and a kind that only its
/// writer knows, or a list of words of which some begin as no fact usually does. `--input-format native` reads both.
fn is_doubtful(record: &Json) -> bool {
    let is_own_kind = |kind: &str| Kind::names().all(|known| known != kind);
    match record {
        Json::Object(_) => record.get("role").is_some() && record.text("kind").is_some_and(is_own_kind),
        Json::Array(facts) => facts.iter().filter_map(Json::as_str).any(|fact| fact.starts_with(char::is_uppercase)),
        _ => false,
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
