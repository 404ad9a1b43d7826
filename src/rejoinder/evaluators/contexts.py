"""The names of `data.contexts`, under which evaluators know them."""

from rejoinder.data.contexts import TrainedContexts, bare, context_keys, without_contexts

__all__ = ["TrainedContexts", "bare", "context_keys", "without_contexts"]
