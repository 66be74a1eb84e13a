"""The adapter for engines that answer by themselves."""

from __future__ import annotations

from orinbench_engines.contract import Adapter, AnswerSession, Model, Options, Output, Sample


class NoneAdapter(Adapter[AnswerSession, Options]):
    """Hands each sample on and the answer back."""

    needs = (AnswerSession,)

    def open(self, model: Model, session: AnswerSession) -> None:
        """Take up the session."""
        del model
        self._session = session

    def infer(self, sample: Sample) -> Output:
        """Return the engine's answer."""
        return self._session.answer(sample)
