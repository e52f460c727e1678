//! Applies the repair of a finding to the template's file, and takes it back.

use super::editing::Applied;
use super::session::Session;
use crate::input::Problem;

impl Session {
    /// Applies the repair of a finding.
    pub fn repair(&mut self, finding: usize) -> Result<(), Problem> {
        let Some(found) = self.findings().get(finding) else {
            self.notice = Some(self.nothing_found());
            return Ok(());
        };
        let Some(fix) = found.fix().cloned() else {
            self.notice = Some("there is no repair for this that is known to be right; e opens the line".to_owned());
            return Ok(());
        };
        let material = &self.library.material;
        if !material.has_template_file() {
            self.notice = Some("the template is in no file that could be changed".to_owned());
            return Ok(());
        }
        let before = material.template_text.clone();
        let applied = Applied {
            file: material.template_file.clone().into(),
            after: fix.apply(&before),
            before,
            message: fix.message,
            is_proved: false,
        };
        self.library.outputs.write_template(&applied.file, &applied.before, &applied.after)?;
        self.reload();
        self.notice = Some(format!("applied: {}; u takes it back", applied.message));
        self.editing.applied.push(applied);
        Ok(())
    }

    /// Takes back what was typed on the open output, or else the repair that was applied last.
    pub fn undo(&mut self) -> Result<(), Problem> {
        if self.editing.edits.contains_key(&self.library.output) {
            self.untype();
            return Ok(());
        }
        let Some(applied) = self.editing.applied.last() else {
            self.notice = Some("nothing was typed, and no repair was applied".to_owned());
            return Ok(());
        };
        self.library.outputs.write_template(&applied.file, &applied.after, &applied.before)?;
        let message = format!("taken back: {}", applied.message);
        self.editing.applied.pop();
        self.reload();
        self.notice = Some(message);
        Ok(())
    }

    /// What the first proof after a repair says of it.
    pub(super) fn proof_of_repair(&mut self) -> Option<String> {
        let proof = self.library.prover.done()?;
        let now = &self.library.material.template_text;
        let applied = self.editing.applied.last_mut().filter(|applied| !applied.is_proved && applied.after == *now)?;
        applied.is_proved = true;
        Some(format!("applied: {} of {} conversations come back; u takes it back", proof.passed, proof.cases))
    }

    /// Why there is no finding to show.
    pub fn nothing_found(&self) -> String {
        let words = match (self.is_inspecting(), self.proof()) {
            (true, _) => "nothing is found yet; lint and proof are still running",
            (false, Some(_)) => "lint and proof find nothing wrong with the template",
            (false, None) => "lint finds nothing wrong; without a chat template (--chat-template) nothing is proved",
        };
        words.to_owned()
    }
}
