"""Makes the record of one sample: serialised once, then stored, sent and hashed as it is."""

from __future__ import annotations

import time

from orinbench.v1.record_pb2 import MemoryReading, RecordBody, SampleRecord, Stage
from orinbench_profiles import canonical_json

from orinbench_engines.contract import Output, Sample
from orinbench_engines.failures import model_failure

# A record must leave room in the frame and in a page of the stream.
MAX_RECORD = 1 << 20


def sample_body(
    sample: Sample, segment: int, start_ns: int, window_ns: int, output: Output, memory: MemoryReading
) -> bytes:
    """Return the serialised RecordBody. Raises WorkerFailure (model) for an output that cannot be recorded."""
    record = SampleRecord(
        index=sample.index,
        sample_id=sample.sample_id,
        segment=segment,
        text=checked_text(sample, output),
        structured_json=structured_json(sample, output),
        start_monotonic_ns=start_ns,
        window_ns=window_ns,
        stages=[Stage(name=name, duration_ns=duration) for name, duration in output.stages],
        audio_seconds=output.audio_seconds,
        prompt_tokens=output.prompt_tokens,
        output_tokens=output.output_tokens,
        first_token_ns=output.first_token_ns,
        memory=memory,
    )
    body = RecordBody(sample=record)
    body.time.FromNanoseconds(time.time_ns())
    data = body.SerializeToString()
    if len(data) > MAX_RECORD:
        raise model_failure(
            "OUTPUT_TOO_LARGE",
            f"sample {sample.sample_id}: the output takes {len(data)} bytes, at most {MAX_RECORD} are recorded",
        )
    return data


def checked_text(sample: Sample, output: Output) -> str:
    """Return the output's text if it is Unicode text. Raises WorkerFailure (model, BAD_OUTPUT)."""
    try:
        output.text.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        problem = f"sample {sample.sample_id}: the text is not text: {error}"
        raise model_failure("BAD_OUTPUT", problem) from None
    return output.text


def structured_json(sample: Sample, output: Output) -> str:
    """Return the structured output as canonical JSON, empty for none. Raises WorkerFailure (model, BAD_OUTPUT)."""
    if output.structured is None:
        return ""
    try:
        return canonical_json(output.structured).decode().rstrip("\n")
    except (TypeError, ValueError) as error:
        problem = f"sample {sample.sample_id}: the structured output is not JSON: {error}"
        raise model_failure("BAD_OUTPUT", problem) from None
