//! The methods of all revisions of the protocol, by sender. Other methods do not pass unless the operator lists them.

use lictor_decode::Side;

const CLIENT_REQUESTS: [&str; 20] = [
    "initialize",
    "server/discover",
    "ping",
    "logging/setLevel",
    "completion/complete",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "subscriptions/listen",
    "tasks/get",
    "tasks/result",
    "tasks/update",
    "tasks/list",
    "tasks/cancel",
];

const SERVER_REQUESTS: [&str; 8] = [
    "ping",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
];

const CLIENT_NOTIFICATIONS: [&str; 5] = [
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "notifications/tasks/status",
];

const SERVER_NOTIFICATIONS: [&str; 10] = [
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/resources/updated",
    "notifications/resources/list_changed",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
    "notifications/tasks/status",
    "notifications/subscriptions/acknowledged",
];

/// Whether this side may send a request with this method.
pub(crate) fn is_request(side: Side, method: &str) -> bool {
    match side {
        Side::Client => CLIENT_REQUESTS.contains(&method),
        Side::Server => SERVER_REQUESTS.contains(&method),
    }
}

/// Whether this side may send a notification with this method.
pub(crate) fn is_notification(side: Side, method: &str) -> bool {
    match side {
        Side::Client => CLIENT_NOTIFICATIONS.contains(&method),
        Side::Server => SERVER_NOTIFICATIONS.contains(&method),
    }
}
