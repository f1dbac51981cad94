"""Handbook search: a tenant's Markdown documents, cut into sections and ranked for a question."""

from agent.knowledge.library import HandbookRefused, Library
from agent.knowledge.ranking import Hit
from agent.knowledge.sections import Section

__all__ = ["HandbookRefused", "Hit", "Library", "Section"]
