//! Secrets: keys and tokens by the prefixes of their vendors, private keys, and values next to a name for a secret.
//!
//! A secret is no personal data, so it is no category: a policy asks for it by a fact of its own. The text is searched as it
//! is written.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The kind of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SecretKind {
    /// A key of a service, by the prefix of its vendor or next to a name for one.
    ApiKey,
    /// A token of a session or a person.
    Token,
    /// A private key.
    PrivateKey,
    /// A password, also one in an address.
    Password,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSpan {
    /// The bytes of the secret; whole characters.
    pub range: Range<usize>,
    /// Its kind.
    pub kind: SecretKind,
}

impl SecretKind {
    /// Returns its name in policies.
    pub fn name(self) -> &'static str {
        match self {
            SecretKind::ApiKey => "api_key",
            SecretKind::Token => "token",
            SecretKind::PrivateKey => "private_key",
            SecretKind::Password => "password",
        }
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the secrets in a text, in its order; they may overlap.
///
/// ```
/// use lictor_recognise::{SecretKind, find_secrets};
///
/// let text = "export DB_PASSWORD='hunter2!'";
/// let secrets = find_secrets(text);
/// assert_eq!((&text[secrets[0].range.clone()], secrets[0].kind), ("hunter2!", SecretKind::Password));
/// ```
pub fn find_secrets(text: &str) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    for (kind, pattern) in PATTERNS.iter() {
        for groups in pattern.captures_iter(text) {
            // The group is the secret, the whole match has what is around it.
            let Some(secret) = groups.get(1).filter(|secret| !is_placeholder(secret.as_str())) else { continue };
            found.push(SecretSpan { range: secret.range(), kind: *kind });
        }
    }
    found.sort_by_key(|secret| (secret.range.start, secret.range.end, secret.kind));
    found.dedup_by(|next, first| next.range == first.range && next.kind == first.kind);
    found
}

/// What may be between the name of a secret and its value.
const ASSIGNMENT: &str = r#"\\?["'`]?\s{0,3}(?::=|=>|[:=]|(?-u:\b)is(?-u:\b))\s{0,3}\\?["'`]?"#;

/// What the lines before and after a private key call it.
const PRIVATE_KEY: &str = "[A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?";

static PATTERNS: LazyLock<Vec<(SecretKind, Regex)>> = LazyLock::new(|| {
    let name = |words: &str, value: &str| format!(r"(?i)(?-u:\b|_)(?:{words}){ASSIGNMENT}({value})");
    let patterns = [
        (SecretKind::ApiKey, format!(r"(?-u:\b)((?:{})(?-u:\b))", VENDOR_KEYS.join("|"))),
        (SecretKind::Token, format!(r"(?-u:\b)((?:{})(?-u:\b))", VENDOR_TOKENS.join("|"))),
        // A text may be cut off within the key.
        (
            SecretKind::PrivateKey,
            format!(
                r"(-----BEGIN {PRIVATE_KEY}-----(?:[A-Za-z0-9+/=\s:,.\\]|-[A-Za-z0-9])*(?:-----END {PRIVATE_KEY}-----)?)"
            ),
        ),
        (
            SecretKind::Password,
            r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@'\x22]{0,64}:([^\s/@'\x22]{3,128})@".to_owned(),
        ),
        (SecretKind::Password, name(PASSWORD_NAMES, r#"[^\s"'`,;<>]{4,128}"#)),
        (SecretKind::ApiKey, name(KEY_NAMES, r"[A-Za-z0-9_\-./+=]{16,256}")),
        (SecretKind::Token, name(TOKEN_NAMES, r"[A-Za-z0-9_\-./+=]{16,2048}")),
        (SecretKind::Token, r"(?i)(?-u:\b)bearer\s+([A-Za-z0-9_\-./+=]{16,2048})".to_owned()),
    ];
    // INVARIANT: the patterns compile; a test finds a secret of each.
    patterns.into_iter().filter_map(|(kind, pattern)| Some((kind, Regex::new(&pattern).ok()?))).collect()
});

/// Keys of services, by the prefixes that their vendors document.
const VENDOR_KEYS: [&str; 26] = [
    "sk-(?:ant|proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}",
    "sk-[A-Za-z0-9]{32,}",
    "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",
    "whsec_[A-Za-z0-9+/]{24,}",
    "(?:AKIA|ASIA)[A-Z0-9]{16}",
    "AIza[A-Za-z0-9_-]{35}",
    "SK[0-9a-f]{32}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "hf_[A-Za-z0-9]{30,}",
    "gsk_[A-Za-z0-9]{32,}",
    "r8_[A-Za-z0-9]{30,}",
    "xai-[A-Za-z0-9]{40,}",
    "pplx-[A-Za-z0-9]{32,}",
    "nvapi-[A-Za-z0-9_-]{40,}",
    "lin_api_[A-Za-z0-9]{32,}",
    "dop_v1_[0-9a-f]{64}",
    "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}",
    "NRAK-[A-Z0-9]{27}",
    "PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "key-[0-9a-f]{32}",
    "tvly-[A-Za-z0-9-]{20,}",
    "dapi[0-9a-f]{32}",
    "glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}",
    "phc_[A-Za-z0-9]{40,}",
    "AGE-SECRET-KEY-1[A-Z0-9]{58}",
];

/// Tokens of sessions, persons and machines, by the prefixes that their vendors document; and JSON web tokens.
const VENDOR_TOKENS: [&str; 13] = [
    "gh[pousr]_[A-Za-z0-9]{36,}",
    "github_pat_[A-Za-z0-9_]{22,}",
    "gl(?:pat|ptt|dt|rt|cbt|ft)-[A-Za-z0-9_-]{20,}",
    "xox[abeoprs]-[A-Za-z0-9-]{16,}",
    "xapp-[A-Za-z0-9-]{20,}",
    "npm_[A-Za-z0-9]{36}",
    "pypi-[A-Za-z0-9_-]{50,}",
    "dckr_pat_[A-Za-z0-9_-]{20,}",
    "rubygems_[0-9a-f]{48}",
    r"hv[sb]\.[A-Za-z0-9_-]{20,}",
    "ATATT3[A-Za-z0-9_=-]{40,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}",
];

/// Names for a password, as the end of a longer name too: `DB_PASSWORD`.
const PASSWORD_NAMES: &str = "password|passwd|passphrase|passwort|kennwort|contrase(?:n|ñ)a|mot de passe|senha|\
     wachtwoord|haslo|hasło|пароль|密码|pwd";

/// Names for a key of a service.
const KEY_NAMES: &str = "api[_ -]?key|secret[_ -]?key|secret[_ -]?access[_ -]?key|access[_ -]?key|\
     account[_ -]?key|encryption[_ -]?key|signing[_ -]?key|client[_ -]?secret|app[_ -]?secret|webhook[_ -]?secret";

/// Names for a token.
const TOKEN_NAMES: &str = "access[_ -]?token|auth[_ -]?token|refresh[_ -]?token|bearer[_ -]?token|\
     session[_ -]?token|api[_ -]?token|id[_ -]?token";

/// Whether a value stands for a secret that is not there: a variable, a mask, a word of a form.
fn is_placeholder(value: &str) -> bool {
    let mut letters: Vec<char> = value.chars().filter(|letter| letter.is_alphanumeric()).collect();
    letters.sort_unstable();
    letters.dedup();
    let is_variable = value.starts_with(['$', '{', '<', '%', '[', '(']) || value.contains("...") || value.contains('…');
    let is_prose = !value.chars().any(|letter| letter.is_ascii_digit() || "!@#$%^&*?+=".contains(letter));
    let lower = value.to_lowercase();
    let is_example =
        ["your", "redacted", "placeholder", "changeme", "xxxx", "****"].iter().any(|it| lower.contains(it));
    // A path of a program: `process.env.PASSWORD_1`, `config["x"]`, `getenv(`.
    let is_code = ["env.", "env[", "getenv", "os.environ", "config.", "secrets."].iter().any(|it| lower.contains(it));
    letters.len() < 4 || is_variable || is_prose && value.len() < 40 || is_example || is_code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, &'static str)> {
        find_secrets(text).into_iter().map(|secret| (&text[secret.range], secret.kind.name())).collect()
    }

    #[test]
    fn secret_of_vendor_is_found_by_prefix() {
        for (text, kind) in [
            ("sk-ant-api03-XF2mVqYgPLPeRF87038j1TA6Skt4T2wg", "api_key"),
            ("sk_live_tvCfYFbN73k587KVSqez5pU0", "api_key"),
            ("AKIAKVKAXCDKXYZXSKG7", "api_key"),
            ("AIzap4b1NfMCCQQPhNxOa3QJUD57UkHkZ95pp3y", "api_key"),
            ("SK0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d", "api_key"),
            ("hf_tKApTHiHfytmehEhPa2SWOxL3oArDn6Ui6", "api_key"),
            ("ghp_Ea6MoocRLWbvlUojM5UG1DtORwln3PHV7LSd", "token"),
            ("xoxb-2412345678-2412345679-ahNpzrzRV7Z9fE2R9oqMCZ5n", "token"),
            ("npm_gba2txcEo48MoT71ebHzjKX3KLtJUf3VQi5A", "token"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Ix9Rq2D3KsodkevZ7YNzAN7KAn4QHZz", "token"),
        ] {
            assert_eq!(found(&format!("here is {text}, keep it")), [(text, kind)]);
        }
    }

    #[test]
    fn secret_next_to_its_name_is_found() {
        for (text, secret, kind) in [
            ("password: Tr0ub4dor&3", "Tr0ub4dor&3", "password"),
            ("my password is hunter2", "hunter2", "password"),
            (r#"{"db_password":"s3cr3t"}"#, "s3cr3t", "password"),
            (r#"{\"password\": \"s3cr3t\"}"#, r"s3cr3t\", "password"),
            ("postgres://app:s3cr3t@db.prod.local/main", "s3cr3t", "password"),
            (
                "aws_secret_access_key=Nb6NHDDDvKmrJmCiflPUCH1hSxapMeMPcafCOacP",
                "Nb6NHDDDvKmrJmCiflPUCH1hSxapMeMPcafCOacP",
                "api_key",
            ),
            ("X-Api-Key: 0f9e8d7c6b5a49382716", "0f9e8d7c6b5a49382716", "api_key"),
            ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef", "token"),
            ("access_token=abcdef0123456789", "abcdef0123456789", "token"),
        ] {
            assert_eq!(found(text), [(secret, kind)], "{text}");
        }
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEmV05jxye6hcB\n-----END RSA PRIVATE KEY-----";
        assert_eq!(found(&format!("x {key} y")), [(key, "private_key")]);
        assert_eq!(found("-----BEGIN PRIVATE KEY-----\\nMIIEmV05jxye6hcB")[0].1, "private_key");
    }

    #[test]
    fn secret_placeholders_are_not_found() {
        for text in [
            "password: required",
            "password: ${DB_PASSWORD}",
            "password = os.environ['PASSWORD']",
            "api_key: <your-api-key-goes-here-1>",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "The password is correct.",
            "password: ********",
            "token: the word that follows 1 other",
            "https://example.org:8080/path@x",
            "-----BEGIN PUBLIC KEY-----\nMIIEmV05jxye6hcB",
            "task-management-of-everything-in-2024",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    /// Each of these would take minutes if the time grew with the square of the length.
    #[test]
    fn secrets_in_one_long_run_end() {
        for part in ["password", "password:", "-----BEGIN PRIVATE KEY-----", "sk-", "eyJa.", "a://a:", "bearer "] {
            let _ = find_secrets(&part.repeat(300_000 / part.len()));
        }
    }
}
