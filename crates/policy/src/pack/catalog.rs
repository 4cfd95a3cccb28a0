//! The pages that come with Lictor. A test keeps this list complete.

/// The text of a page.
macro_rules! page {
    ($pack:literal, $id:literal) => {
        ($id, include_str!(concat!("../../packs/", $pack, "/", $id, ".md")))
    };
}

/// Packs with their pages.
macro_rules! catalog {
    ($($pack:literal: [$($id:literal,)*],)*) => {
        &[$(($pack, page!($pack, "README").1, &[$(page!($pack, $id),)*]),)*]
    };
}

/// A pack: its name, its page, and the pages of its properties with their names.
type PackSource = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Every pack, by name.
pub(super) const PACKS: &[PackSource] = catalog! {
    "agent-safety": [
        "bounded-retries",
        "denial-is-respected",
        "fact-claims-are-grounded",
        "handoff-is-coherence-checked",
        "injection-is-reported",
        "irreversible-needs-approval",
        "no-action-after-injection",
        "no-catastrophic-command",
        "no-output-after-injection",
        "no-sink-after-taint",
        "tool-calls-are-verified",
    ],
    "airline": [
        "basic-economy-unmodifiable",
        "cancel-eligibility",
        "compensation-only-on-complaint",
        "one-tool-at-a-time",
    ],
    "banking-kyc": [
        "dual-control",
        "kyc-before-transfer",
        "payee-change-cooling-off",
        "structuring",
    ],
    "coding-agent": [
        "destructive-needs-approval",
        "no-egress-after-secret",
        "no-run-of-fresh-package",
        "read-before-edit",
        "tests-green-before-push",
    ],
    "customer-service": [
        "confirm-before-write",
        "identify-before-act",
        "transfer-is-final",
    ],
    "eu-ai-act": [
        "disclose-ai",
        "every-action-logged",
        "log-retention-6-months",
        "oversight-of-irreversible",
        "serious-incident-15-days",
        "session-bounds-recorded",
        "stop-means-stop",
        "two-person-verification",
    ],
    "gdpr": [
        "breach-notification-72h",
        "consent-before-processing",
        "data-minimisation",
        "erasure-deadline",
        "purpose-limitation",
        "right-to-erasure",
        "special-category-explicit-consent",
        "withdrawal-is-respected",
    ],
    "hipaa": [
        "authorisation-before-disclosure",
        "breach-notice-60-days",
        "treatment-relationship-or-break-glass",
    ],
    "owasp-agentic": [
        "asi03-scoped-credential",
        "asi04-tool-definition-pinned",
        "asi06-memory-quarantine",
        "asi07-authenticated-peer",
        "asi08-circuit-breaker",
        "llm10-daily-budget",
        "sink-argument-provenance",
    ],
    "pci": [
        "lockout-after-10-failures",
        "no-sad-after-authorisation",
        "pan-is-masked",
    ],
};
