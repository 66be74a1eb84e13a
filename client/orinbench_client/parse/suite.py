"""Parse as a suite: each question asked in one user turn, under the chosen language, strategy, split and decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from orinbench_profiles import GithubSource, Loaded, SuiteDeclaration, canonical_json, digest_bytes

from orinbench_client.errors import BadInput
from orinbench_client.parse import layout
from orinbench_client.parse.prepare import prepare, prepared_folder
from orinbench_client.parse.questions import Question
from orinbench_client.suites.base import OnPrepare, Sample, suite_digest
from orinbench_client.suites.chat import GREEDY, MEDIA_TYPE, Decoding, Message, Sampling, chat_input, text

#: What a suite must leave open, each with what there is to choose.
AXES = {
    "prompt_language": layout.LANGUAGES,
    "strategy": layout.STRATEGIES,
    "split": tuple(layout.SPLITS),
    "decoding": ("greedy", "sampled"),
}


class ParseSuite:
    """A verified suite of questions.

    Checked: every file against its pinned id, every question, every prompt's slots, and how many questions there are.
    Raises BadInput naming file and line.
    """

    def __init__(self, loaded: Loaded[SuiteDeclaration]) -> None:
        self.declaration = loaded.declaration
        folder = _folder(loaded)
        chosen = check_variants(self.declaration)
        settings = layout.settings_of(self.declaration)
        layout.verify_files(folder, settings.blobs, layout.layout_files())
        questions = layout.read_split(folder, chosen["split"])
        _check_number(folder, settings, chosen["split"], len(questions))
        self.samples: Sequence[Sample] = list(_samples(folder, questions, chosen, settings))
        self.digest = suite_digest(loaded, manifest_digest(self.samples))

    @staticmethod
    def prepare(loaded: Loaded[SuiteDeclaration], source: Path | None, tell: OnPrepare) -> None:
        """Get upstream's files, from a copy of its repository or from GitHub. Raises BadInput."""
        del tell  # they are small
        prepare(loaded, source)

    def notes(self) -> list[str]:
        """Return nothing: the data are what is pinned."""
        return []


def _folder(loaded: Loaded[SuiteDeclaration]) -> Path:
    name, source = loaded.declaration.id, loaded.declaration.source
    if isinstance(source, GithubSource):
        folder = prepared_folder(source)
        if not folder.is_dir():
            raise BadInput(
                f"suite {name} is not prepared here: orinbench prepare --suite {name} (or with --source DIR, a copy)"
            )
        return folder
    if loaded.folder is None:
        raise BadInput(f"suite {name}: nothing says where its data are")
    return loaded.folder


def check_variants(declaration: SuiteDeclaration) -> dict[str, str]:
    """Return what is chosen. Raises BadInput for a declaration that leaves anything else open than it must."""
    variants = declaration.variants or {}
    if sorted(variants) != sorted(AXES):
        raise BadInput(f"suite {declaration.id}: its variants must be {', '.join(AXES)}")
    for axis, words in variants.items():
        if unknown := set(words) - set(AXES[axis]):
            raise BadInput(f"suite {declaration.id}: variants.{axis}: {min(unknown)!r} is none of {AXES[axis]}")
    return declaration.variant


def reference_of(question: Question, strategy: str, example: bool, stored: bool = False) -> str:
    """Return what a scorer needs to know of a question.

    `example`: it stands solved in the few-shot prompts. `stored`: what will be graded is an answer as upstream stored
    it, not a reply.
    """
    known = {**question._asdict(), "strategy": strategy, "example": example, "stored": stored}
    del known["id"], known["text"]
    return canonical_json(known).decode()


def manifest_digest(samples: Iterable[Sample]) -> str:
    """Return the digest of all inputs and right answers in order."""
    lines = ([sample.sample_id, sample.digest, sample.reference] for sample in samples)
    return digest_bytes(b"".join(map(canonical_json, lines)))


def _check_number(folder: Path, settings: layout.Settings, split: str, found: int) -> None:
    if not found:
        raise BadInput(f"{folder}: the split {split} is empty: there is nothing to run")
    if found != settings.samples.get(split):
        raise BadInput(f"{folder}: {found} questions in the split {split}, settings.samples says {settings.samples}")


def _samples(
    folder: Path, questions: Sequence[Question], chosen: dict[str, str], settings: layout.Settings
) -> Iterable[Sample]:
    strategy = chosen["strategy"]
    prompts = layout.read_prompts(folder, strategy, chosen["prompt_language"])
    examples = layout.example_ids(folder, questions)
    decoding = _decoding(settings, chosen["decoding"])
    if strategy not in settings.max_tokens:
        raise BadInput(f"{folder}: settings.max_tokens does not say how long an answer to {strategy} may be")
    for question in questions:
        content = chat_input([Message("user", [text(prompts[question.type].fill(question))])], decoding)
        yield Sample(
            sample_id=question.id,
            digest=digest_bytes(content),
            size_bytes=len(content),
            media_type=MEDIA_TYPE,
            content=content,
            reference=reference_of(question, strategy, question.id in examples),
            max_tokens=settings.max_tokens[strategy],
        )


def _decoding(settings: layout.Settings, word: str) -> Decoding:
    if word == "greedy":
        return GREEDY
    sampling = settings.sampling
    return Sampling(sampling.top_p, sampling.temperature, sampling.seed)
