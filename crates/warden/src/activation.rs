//! Activates the policy of a warden over its store, and moves sessions forward only.

use lictor_judge::guard::Guard;
use lictor_judge::{PolicyScope, SavedHistories};
use lictor_store::{Change, ExpectedVersion, StoreError};

use crate::error::WardenError;
use crate::kept;
use crate::versions::{KeptActivations, MAX_ACTIVATIONS};
use crate::warden::{MAX_ATTEMPTS, Warden};

impl Warden {
    /// Activates the policy of the warden, unless it is the latest of the store already.
    pub(crate) fn activate_policy(&mut self) -> Result<(), WardenError> {
        if self.live.is_some() {
            self.versions.number += 1;
            self.versions.latest.insert(0, (self.versions.number, self.options.policy.clone()));
            self.versions.latest.truncate(MAX_ACTIVATIONS);
            return Ok(());
        }
        for _ in 0..MAX_ATTEMPTS {
            let stored = self.store.load(kept::ACTIVATIONS)?;
            let mut known = match &stored {
                Some(stored) => kept::read::<KeptActivations>(&stored.value, kept::ACTIVATIONS)?,
                None => KeptActivations::default(),
            };
            let last = known.latest.first().map_or(0, |(number, _)| *number);
            let mut changes = self.scope_change()?;
            if known.latest.first().is_none_or(|(_, policy)| *policy != self.options.policy) {
                known.latest.insert(0, (last + 1, self.options.policy.clone()));
                known.latest.truncate(MAX_ACTIVATIONS);
                let expected = ExpectedVersion::of_version(stored.map(|stored| stored.version));
                changes.push(Change::put(kept::ACTIVATIONS, expected, kept::written(&known, kept::ACTIVATIONS)?));
            }
            match if changes.is_empty() { Ok(0) } else { self.store.save(&changes) } {
                Ok(_) => {
                    self.versions.number = known.latest.first().map_or(0, |(number, _)| *number);
                    self.versions.latest = known.latest;
                    return Ok(());
                }
                // Another process activates a policy, or the keys tell what was saved.
                Err(StoreError::Conflict { .. } | StoreError::Uncertain { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(WardenError::Crowded { session: kept::ACTIVATIONS.to_owned() })
    }

    /// Returns the change that stores what the policy looks for, unless the store has it.
    fn scope_change(&self) -> Result<Vec<Change>, WardenError> {
        let key = kept::policy(&self.options.policy);
        let scope = kept::written(self.guard.policy_scope(), &key)?;
        Ok(match self.store.load(&key)? {
            Some(stored) if stored.value[..] == scope[..] => Vec::new(),
            stored => {
                vec![Change::put(key, ExpectedVersion::of_version(stored.map(|stored| stored.version)), scope)]
            }
        })
    }

    /// Checks that what a policy with this number judged last may move to the policy of this warden.
    pub(crate) fn check_forward(&mut self, number: u64, policy: &str, of: &str) -> Result<(), WardenError> {
        if number <= self.versions.number {
            return Ok(());
        }
        // Another process may have activated this policy again.
        if self.live.is_none()
            && let Some(stored) = self.store.load(kept::ACTIVATIONS)?
        {
            let known: KeptActivations = kept::read(&stored.value, kept::ACTIVATIONS)?;
            if let Some((latest, active)) = known.latest.first()
                && *active == self.options.policy
            {
                (self.versions.number, self.versions.latest) = (*latest, known.latest);
            }
        }
        match number <= self.versions.number || policy == self.options.policy {
            true => Ok(()),
            false => Err(WardenError::Superseded { session: of.to_owned(), policy: policy.to_owned() }),
        }
    }

    /// Loads what policies look for.
    pub(crate) fn load_scopes<'a>(&mut self, policies: impl IntoIterator<Item = &'a str>) -> Result<(), WardenError> {
        for policy in policies {
            if policy.is_empty() || self.versions.past.has(policy) {
                continue;
            }
            let key = kept::policy(policy);
            if let Some(stored) = self.store.load(&key)? {
                self.versions.past.insert(policy, kept::read::<PolicyScope>(&stored.value, &key)?);
            }
        }
        Ok(())
    }

    /// Notes what the policy of a guard looks for.
    pub(crate) fn note_scope(&mut self, guard: &Guard, policy: &str) {
        self.versions.past.insert(policy, guard.policy_scope().clone());
    }

    /// Whether events may have been decided by a policy without such histories since the activation with this number.
    pub(crate) fn was_interrupted(&mut self, since: u64, saved: &SavedHistories) -> Result<bool, WardenError> {
        let between: Vec<String> = self
            .versions
            .latest
            .iter()
            .filter(|(number, _)| (since + 1..self.versions.number).contains(number))
            .map(|(_, policy)| policy.clone())
            .collect();
        let count = self.versions.number.saturating_sub(since + 1) as usize;
        self.load_scopes(between.iter().map(String::as_str))?;
        let keeps = |policy: &String| self.versions.past.keeps_histories(policy, saved);
        Ok(between.len() < count || !between.iter().all(keeps))
    }
}
