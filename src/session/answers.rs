//! What a client makes of our questions: learned from how it answered the earlier ones of a session.

/// What is known of a client's answers in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    answered: bool,
    silent: bool,
    formless: bool,
}

impl Answers {
    /// Says whether it makes sense to ask.
    pub fn can_be_asked(self) -> bool {
        !self.silent
    }

    /// Says whether it makes sense to ask with a form.
    pub fn can_fill_forms(self) -> bool {
        !self.formless
    }

    /// A question was answered.
    pub fn answered(&mut self) {
        self.answered = true;
    }

    /// A question was not answered in time. A client that has answered before is asked again: its person was away.
    pub fn unanswered(&mut self) {
        self.silent |= !self.answered;
    }

    /// The client could not answer a question.
    pub fn failed(&mut self) {
        self.silent = true;
    }

    /// The client could not answer a form.
    pub fn form_failed(&mut self) {
        self.formless = true;
    }

    /// The person wants to be asked again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_never_answered_is_asked_once() {
        let mut answers = Answers::default();
        answers.unanswered();
        assert!(!answers.can_be_asked());
        answers.forget();
        answers.answered();
        answers.unanswered();
        assert!(answers.can_be_asked() && answers.can_fill_forms());
        answers.form_failed();
        assert!(answers.can_be_asked() && !answers.can_fill_forms());
        answers.failed();
        assert!(!answers.can_be_asked());
    }
}
