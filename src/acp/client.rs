//! What is known of the clients: whether a question at a turn's end reaches a person there, and in which form.

use crate::acp::{ClientCapabilities, Peer};

/// How a client can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Questions {
    /// Not at all, and why.
    None(&'static str),
    /// With the buttons of a permission.
    Buttons,
    /// With a form.
    Form,
}

/// A client whose behaviour is known, by the beginning of the name it gives.
struct Known {
    name: &'static str,
    buttons: Buttons,
}

/// What becomes of the buttons of a permission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buttons {
    /// A person chooses one.
    Chosen,
    /// Refusing also cancels the session's turn.
    RefusingCancels,
    /// A program chooses one.
    Automatic,
}

/// The clients that are known.
const KNOWN: [Known; 8] = [
    Known { name: "zed", buttons: Buttons::Chosen },
    Known { name: "codecompanion", buttons: Buttons::Chosen },
    Known { name: "avante", buttons: Buttons::Chosen },
    Known { name: "toad", buttons: Buttons::Chosen },
    Known { name: "jetbrains", buttons: Buttons::Chosen },
    Known { name: "intellij", buttons: Buttons::Chosen },
    Known { name: "agent-shell", buttons: Buttons::RefusingCancels },
    Known { name: "acpx", buttons: Buttons::Automatic },
];

/// Says how a client can be asked. `also` names further ones that show buttons to a person.
///
/// One that is not known is asked with a form when it offers forms, and not at all otherwise: a program that answers
/// permissions for itself would decide in the person's name.
pub fn questions<'a>(
    client: Option<&Peer>,
    capabilities: ClientCapabilities,
    also: impl IntoIterator<Item = &'a String>,
) -> Questions {
    let name = client.map(|client| client.name.to_lowercase()).unwrap_or_default();
    let named = also.into_iter().any(|known| known.to_lowercase() == name && !name.is_empty());
    let known = KNOWN.iter().find(|known| name.starts_with(known.name)).map(|known| known.buttons);
    match known {
        Some(Buttons::Automatic) if !named => Questions::None("no person sits behind this client"),
        _ if capabilities.elicitation_form => Questions::Form,
        _ if named => Questions::Buttons,
        Some(Buttons::Chosen) => Questions::Buttons,
        Some(Buttons::RefusingCancels) => {
            Questions::None("this client takes a refusal for a cancel, and offers no forms")
        }
        Some(Buttons::Automatic) | None => {
            Questions::None("it is not known whether this client asks a person")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, form: bool, also: &[String]) -> Questions {
        let client = Peer { name: name.into(), version: None };
        let capabilities = ClientCapabilities { elicitation_form: form, ..ClientCapabilities::default() };
        questions(Some(&client), capabilities, also)
    }

    #[test]
    fn a_client_is_asked_as_it_can_show_it() {
        for name in ["zed", "CodeCompanion.nvim", "avante.nvim", "toad"] {
            assert_eq!(asked(name, false, &[]), Questions::Buttons, "{name}");
        }
        assert_eq!(asked("zed", true, &[]), Questions::Form);
        assert_eq!(asked("agent-shell", true, &[]), Questions::Form);
        assert_eq!(asked("somebody", true, &[]), Questions::Form);
    }

    #[test]
    fn nobody_is_asked_where_a_program_could_answer() {
        for (name, form) in
            [("acpx", false), ("acpx", true), ("agent-shell", false), ("somebody", false), ("", false)]
        {
            assert!(matches!(asked(name, form, &[]), Questions::None(_)), "{name}");
        }
        assert!(matches!(questions(None, ClientCapabilities::default(), &[]), Questions::None(_)));
    }

    #[test]
    fn a_person_may_name_a_client_that_asks() {
        assert_eq!(asked("Somebody", false, &["somebody".to_owned()]), Questions::Buttons);
        assert!(matches!(asked("", false, &[String::new()]), Questions::None(_)));
    }
}
