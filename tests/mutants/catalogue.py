"""Every mutant, in the order of the invariants."""

from __future__ import annotations

from typing import Final

from tests.mutants import approvals, effects, histories, policies, releases, spend, stamps, tenants
from tests.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    *tenants.MUTANTS,
    *stamps.MUTANTS,
    *policies.MUTANTS,
    *approvals.MUTANTS,
    *histories.MUTANTS,
    *effects.MUTANTS,
    *releases.MUTANTS,
    *spend.MUTANTS,
)
