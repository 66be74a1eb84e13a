"""Speech to text with a transducer of NeMo, in NeMo's own decoder."""

from __future__ import annotations

from typing import Any

from orinbench_engines.audio import SAMPLE_RATE, decode
from orinbench_engines.contract import Adapter, Model, Options, Output, Sample, Stages, TorchSession
from orinbench_engines.failures import model_failure
from orinbench_engines.nemo_archive import check_archive


class NemoAdapter(Adapter[TorchSession, Options]):
    """Reads exactly one .nemo file, after proving that it holds no code; decodes as its own settings say."""

    packages = ("nemo_toolkit", "soundfile")
    needs = (TorchSession,)

    def open(self, model: Model, session: TorchSession) -> None:
        """Check the archive, load it. Raises WorkerFailure (model): none or several, refused, or NeMo is missing."""
        name = model.only(".nemo", None, "files")
        check_archive(name, model.files[name])
        self._session = session
        opener = _asr_model(model)
        # NeMo goes by the ending.
        link = model.scratch.absolute() / "model.nemo"
        link.symlink_to(model.files[name].absolute())
        try:
            self._model = opener.restore_from(restore_path=str(link), map_location=session.device)
        except Exception as error:
            problem = f"NeMo cannot open {name}: {type(error).__name__}: {error}"
            raise model_failure("CHECKPOINT_UNREADABLE", problem) from error
        session.adopt(self._model, [name])

    def infer(self, sample: Sample) -> Output:
        """Decode the audio, compute; features and text are NeMo's. Raises WorkerFailure (input) for unfit audio."""
        stages = Stages()
        audio = decode(sample)
        stages.lap("decode_audio")
        with self._session.computing():
            (hypothesis,) = self._model.transcribe([audio], batch_size=1, verbose=False)
        stages.lap("inference")
        return Output(hypothesis.text, stages=stages.laps, audio_seconds=len(audio) / SAMPLE_RATE)


def _asr_model(model: Model) -> Any:
    try:
        from nemo.collections.asr.models import ASRModel
    except ImportError as error:
        raise model_failure(
            "ADAPTER_UNAVAILABLE",
            f"model {model.declaration.id}: adapter nemo-rnnt needs nemo_toolkit[asr] 2.2 or newer, which runtime "
            f"{model.declaration.runtime!r} lacks ({error}): make one with `scripts/make-runtime nemo` and declare "
            'runtime = "nemo"',
        ) from error
    return ASRModel
