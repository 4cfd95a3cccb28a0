"""Guards in the hook points of agent frameworks, a module for each.

Every adapter is a few lines over :meth:`lictor.Guard.call`. A module imports its framework, so import only the one you
use: `lictor.adapters.langchain`, `.openai_agents`, `.smolagents`, `.mcp`.
"""
