//! The list of sessions.

use super::style::{Style, Tone, brief, harmless};
use crate::ledger::{SessionRowShape, SessionsShape};

/// Writes a list of sessions.
pub fn sessions(style: &Style, sessions: &SessionsShape) -> String {
    if sessions.items.is_empty() {
        return "no session is recorded\n".to_owned();
    }
    sessions.items.iter().map(|row| session(style, row)).collect()
}

fn session(style: &Style, row: &SessionRowShape) -> String {
    let mut facts = vec![brief(&row.agent, 60)];
    facts.extend(row.client.as_ref().map(|client| format!("in {}", brief(client, 60))));
    facts.push(row.last_turn.map_or_else(|| "no turn yet".to_owned(), |turn| format!("turn {turn}")));
    facts.extend(row.unreviewed.map(|owed| format!("{owed} unreviewed")));
    if row.live {
        facts.push(style.tone(Tone::Added, "live"));
    }
    let mut text = format!(
        "{}  {}  {}\n",
        style.tone(Tone::Name, row.session_id.as_str()),
        style.time(row.active),
        facts.join(", ")
    );
    for root in &row.roots {
        text += &format!("    {}\n", harmless(root));
    }
    if let Some(parent) = &row.parent {
        let call = parent.tool_call_id.as_ref().map(|call| format!(", call {call}")).unwrap_or_default();
        text +=
            &format!("    {}\n", style.tone(Tone::Faint, &format!("started by {}{call}", parent.session_id)));
    }
    text
}
