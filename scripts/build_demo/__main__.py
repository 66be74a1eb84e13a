"""Build the demo: `python -m build_demo --work DIR --out DIR` (normally by way of scripts/build-demo)."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from build_demo.evaluate import ErrorRates, Transcriber, error_rates
from build_demo.export import export, largest_difference
from build_demo.grammar import SEED, Sentence, Splits, demo_splits, vocabulary
from build_demo.model import LogMel
from build_demo.suite import write_suite
from build_demo.synth import SAMPLE_RATE, Utterance, espeak_version, plan, render_all
from build_demo.train import Example, Size, Training, train

_THREADS = 2
_SIZES = (
    Size("fa-demo-tiny", width=32, blocks=2, epochs=8),
    Size("fa-demo-small", width=128, blocks=5, epochs=8),
)


@dataclass(frozen=True)
class Evaluation:
    """Sentences with their recordings, to measure on."""

    utterances: tuple[Utterance, ...]
    recordings: tuple[NDArray[np.int16], ...]

    @property
    def seconds(self) -> float:
        """Length of all recordings."""
        return sum(map(len, self.recordings)) / SAMPLE_RATE


def main() -> None:
    """Make sentences, speech, models and figures; prints what it does."""
    parser = argparse.ArgumentParser(prog="build-demo", description="Rebuild the demo suite and models.")
    parser.add_argument("--work", type=Path, required=True, help="folder for the sentences and checkpoints")
    parser.add_argument("--out", type=Path, required=True, help="folder that gets fa-demo-v1/ and models/")
    options = parser.parse_args()
    torch.set_num_threads(_THREADS)
    torch.use_deterministic_algorithms(True)
    splits = demo_splits()
    _write_sentences(options.work, splits)
    evaluations = {
        name: _evaluation(sentences, SEED + offset)
        for offset, (name, sentences) in enumerate(_measured(splits).items(), start=1)
    }
    demo = evaluations["demo"]
    write_suite(options.out / "fa-demo-v1", demo.utterances, demo.recordings)
    figures = _train_and_measure(splits.train, evaluations, options.work, options.out / "models")
    text = json.dumps(figures, indent=1, sort_keys=True, ensure_ascii=False)
    (options.out / "fa-demo-v1" / "figures.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def _measured(splits: Splits) -> dict[str, tuple[Sentence, ...]]:
    return {"valid": splits.valid, "heldout": splits.heldout, "demo": splits.demo}


def _write_sentences(work: Path, splits: Splits) -> None:
    """Leave the sentences to be proofread."""
    work.mkdir(parents=True, exist_ok=True)
    for name, sentences in {"train": splits.train, **_measured(splits)}.items():
        (work / f"{name}.txt").write_text("".join(f"{s.text}\n" for s in sentences), encoding="utf-8")


def _evaluation(sentences: Sequence[Sentence], seed: int) -> Evaluation:
    utterances = tuple(plan(sentences, seed, unseen_voices=True))
    return Evaluation(utterances, tuple(render_all(utterances, _THREADS)))


def _train_and_measure(
    sentences: tuple[Sentence, ...], evaluations: dict[str, Evaluation], work: Path, models: Path
) -> dict[str, object]:
    characters = "".join(sorted({character for sentence in sentences for character in sentence.text}))
    started = time.monotonic()
    examples, seconds = _examples(sentences, characters)
    spent = time.monotonic() - started
    print(f"{len(examples)} recordings, {seconds / 3600:.2f} h, in {spent:.0f} s", flush=True)
    models.mkdir(parents=True, exist_ok=True)
    trained = {}
    for size in _SIZES:
        training = train(size, len(characters) + 1, examples, SEED)
        torch.save(training.network.state_dict(), work / f"{size.name}.pt")
        model = export(training.network, characters, models, size.name)
        trained[size.name] = _figures(size, training, model, evaluations)
    return {
        "espeak_ng": espeak_version(),
        "torch": torch.__version__,
        "onnxruntime": onnxruntime.__version__,
        "seed": SEED,
        "threads": _THREADS,
        "training": {
            "sentences": len(sentences),
            "words": len(vocabulary(sentences)),
            "characters": len(characters),
            "hours": round(seconds / 3600, 2),
        },
        "evaluation_seconds": {name: round(e.seconds, 1) for name, e in evaluations.items()},
        "models": trained,
    }


def _examples(sentences: Sequence[Sentence], characters: str) -> tuple[list[Example], float]:
    """Features and targets for all sentences, and the length of the speech in seconds; no audio is kept."""
    classes = {character: index for index, character in enumerate(characters, start=1)}
    features, examples, samples = LogMel(), [], 0
    recordings = render_all(plan(sentences, SEED, unseen_voices=False), _THREADS)
    for sentence, recording in zip(sentences, recordings, strict=True):
        with torch.no_grad():
            spectrum = features(torch.from_numpy(recording.astype(np.float32) / 32768)[None])[0]
        examples.append(Example(spectrum, torch.tensor([classes[c] for c in sentence.text])))
        samples += len(recording)
    return examples, samples / SAMPLE_RATE


def _figures(size: Size, training: Training, model: Path, evaluations: dict[str, Evaluation]) -> dict[str, object]:
    recordings = evaluations["demo"].recordings + evaluations["heldout"].recordings
    return {
        "parameters": sum(parameter.numel() for parameter in training.network.parameters()),
        "bytes": model.stat().st_size,
        "epochs": size.epochs,
        "losses": [round(loss, 4) for loss in training.losses],
        "training_seconds": round(training.seconds, 1),
        "largest_difference": largest_difference(training.network, model, recordings),
        "errors": {name: _errors(model, evaluation) for name, evaluation in evaluations.items()},
    }


def _errors(model: Path, evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Error rates over all recordings and over each quarter of them."""
    transcriber = Transcriber(model, threads=1)
    hypotheses = [transcriber.transcribe(recording) for recording in evaluation.recordings]
    groups: dict[str, list[tuple[str, str]]] = {}
    for utterance, hypothesis in zip(evaluation.utterances, hypotheses, strict=True):
        words = "unseen words" if utterance.sentence.unseen_words else "known words"
        voice = "unseen voice" if utterance.unseen_voice else "known voice"
        for group in ("all", f"{words}, {voice}"):
            groups.setdefault(group, []).append((utterance.sentence.text, hypothesis))
    return {group: _rounded(error_rates(*zip(*pairs, strict=True))) for group, pairs in groups.items()}


def _rounded(rates: ErrorRates) -> dict[str, float]:
    return {name: round(rate, 4) for name, rate in asdict(rates).items()}


if __name__ == "__main__":
    main()
