from google.protobuf import timestamp_pb2 as _timestamp_pb2
from orinbench.v1 import telemetry_pb2 as _telemetry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecordKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_KIND_UNSPECIFIED: _ClassVar[RecordKind]
    RECORD_KIND_SAMPLE: _ClassVar[RecordKind]
    RECORD_KIND_ENERGY: _ClassVar[RecordKind]
    RECORD_KIND_TELEMETRY: _ClassVar[RecordKind]
    RECORD_KIND_STATE: _ClassVar[RecordKind]
    RECORD_KIND_VIOLATION: _ClassVar[RecordKind]
    RECORD_KIND_LOG: _ClassVar[RecordKind]
    RECORD_KIND_PROGRESS: _ClassVar[RecordKind]
    RECORD_KIND_FINISHED: _ClassVar[RecordKind]

class MemoryMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_METHOD_UNSPECIFIED: _ClassVar[MemoryMethod]
    MEMORY_METHOD_TORCH_RESERVED: _ClassVar[MemoryMethod]
    MEMORY_METHOD_TENSORRT_POOL: _ClassVar[MemoryMethod]
    MEMORY_METHOD_ONNXRUNTIME_POOL: _ClassVar[MemoryMethod]
    MEMORY_METHOD_PROCESS_RSS: _ClassVar[MemoryMethod]
    MEMORY_METHOD_NONE: _ClassVar[MemoryMethod]

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_PREPARING: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_PAUSED: _ClassVar[RunState]
    RUN_STATE_FINISHING: _ClassVar[RunState]
    RUN_STATE_SUCCEEDED: _ClassVar[RunState]
    RUN_STATE_FAILED: _ClassVar[RunState]
    RUN_STATE_CANCELLING: _ClassVar[RunState]
    RUN_STATE_CANCELLED: _ClassVar[RunState]

class FailureClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_CLASS_UNSPECIFIED: _ClassVar[FailureClass]
    FAILURE_CLASS_MODEL: _ClassVar[FailureClass]
    FAILURE_CLASS_OOM: _ClassVar[FailureClass]
    FAILURE_CLASS_HUNG: _ClassVar[FailureClass]
    FAILURE_CLASS_CRASHED: _ClassVar[FailureClass]
    FAILURE_CLASS_BOARD: _ClassVar[FailureClass]
    FAILURE_CLASS_POLICY: _ClassVar[FailureClass]
    FAILURE_CLASS_INPUT: _ClassVar[FailureClass]
    FAILURE_CLASS_INFRASTRUCTURE: _ClassVar[FailureClass]

class OomScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OOM_SCOPE_UNSPECIFIED: _ClassVar[OomScope]
    OOM_SCOPE_DEVICE: _ClassVar[OomScope]
    OOM_SCOPE_HOST: _ClassVar[OomScope]

class CheckResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECK_RESULT_UNSPECIFIED: _ClassVar[CheckResult]
    CHECK_RESULT_PASSED: _ClassVar[CheckResult]
    CHECK_RESULT_FAILED: _ClassVar[CheckResult]
    CHECK_RESULT_UNKNOWN: _ClassVar[CheckResult]

class Axis(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AXIS_UNSPECIFIED: _ClassVar[Axis]
    AXIS_ACCURACY: _ClassVar[Axis]
    AXIS_MEMORY: _ClassVar[Axis]
    AXIS_SPEED: _ClassVar[Axis]
    AXIS_ENERGY: _ClassVar[Axis]

class LogLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_LEVEL_UNSPECIFIED: _ClassVar[LogLevel]
    LOG_LEVEL_INFO: _ClassVar[LogLevel]
    LOG_LEVEL_WARNING: _ClassVar[LogLevel]
    LOG_LEVEL_ERROR: _ClassVar[LogLevel]
RECORD_KIND_UNSPECIFIED: RecordKind
RECORD_KIND_SAMPLE: RecordKind
RECORD_KIND_ENERGY: RecordKind
RECORD_KIND_TELEMETRY: RecordKind
RECORD_KIND_STATE: RecordKind
RECORD_KIND_VIOLATION: RecordKind
RECORD_KIND_LOG: RecordKind
RECORD_KIND_PROGRESS: RecordKind
RECORD_KIND_FINISHED: RecordKind
MEMORY_METHOD_UNSPECIFIED: MemoryMethod
MEMORY_METHOD_TORCH_RESERVED: MemoryMethod
MEMORY_METHOD_TENSORRT_POOL: MemoryMethod
MEMORY_METHOD_ONNXRUNTIME_POOL: MemoryMethod
MEMORY_METHOD_PROCESS_RSS: MemoryMethod
MEMORY_METHOD_NONE: MemoryMethod
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_PREPARING: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_PAUSED: RunState
RUN_STATE_FINISHING: RunState
RUN_STATE_SUCCEEDED: RunState
RUN_STATE_FAILED: RunState
RUN_STATE_CANCELLING: RunState
RUN_STATE_CANCELLED: RunState
FAILURE_CLASS_UNSPECIFIED: FailureClass
FAILURE_CLASS_MODEL: FailureClass
FAILURE_CLASS_OOM: FailureClass
FAILURE_CLASS_HUNG: FailureClass
FAILURE_CLASS_CRASHED: FailureClass
FAILURE_CLASS_BOARD: FailureClass
FAILURE_CLASS_POLICY: FailureClass
FAILURE_CLASS_INPUT: FailureClass
FAILURE_CLASS_INFRASTRUCTURE: FailureClass
OOM_SCOPE_UNSPECIFIED: OomScope
OOM_SCOPE_DEVICE: OomScope
OOM_SCOPE_HOST: OomScope
CHECK_RESULT_UNSPECIFIED: CheckResult
CHECK_RESULT_PASSED: CheckResult
CHECK_RESULT_FAILED: CheckResult
CHECK_RESULT_UNKNOWN: CheckResult
AXIS_UNSPECIFIED: Axis
AXIS_ACCURACY: Axis
AXIS_MEMORY: Axis
AXIS_SPEED: Axis
AXIS_ENERGY: Axis
LOG_LEVEL_UNSPECIFIED: LogLevel
LOG_LEVEL_INFO: LogLevel
LOG_LEVEL_WARNING: LogLevel
LOG_LEVEL_ERROR: LogLevel

class Record(_message.Message):
    __slots__ = ("seq", "kind", "body")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    seq: int
    kind: RecordKind
    body: bytes
    def __init__(self, seq: _Optional[int] = ..., kind: _Optional[_Union[RecordKind, str]] = ..., body: _Optional[bytes] = ...) -> None: ...

class RecordBody(_message.Message):
    __slots__ = ("time", "sample", "energy", "telemetry", "state", "violation", "log", "progress", "finished")
    TIME_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    ENERGY_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VIOLATION_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    sample: SampleRecord
    energy: EnergyRecord
    telemetry: TelemetryRecord
    state: StateRecord
    violation: ViolationRecord
    log: LogRecord
    progress: ProgressRecord
    finished: FinishedRecord
    def __init__(self, time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., sample: _Optional[_Union[SampleRecord, _Mapping]] = ..., energy: _Optional[_Union[EnergyRecord, _Mapping]] = ..., telemetry: _Optional[_Union[TelemetryRecord, _Mapping]] = ..., state: _Optional[_Union[StateRecord, _Mapping]] = ..., violation: _Optional[_Union[ViolationRecord, _Mapping]] = ..., log: _Optional[_Union[LogRecord, _Mapping]] = ..., progress: _Optional[_Union[ProgressRecord, _Mapping]] = ..., finished: _Optional[_Union[FinishedRecord, _Mapping]] = ...) -> None: ...

class SampleRecord(_message.Message):
    __slots__ = ("index", "sample_id", "segment", "text", "structured_json", "start_monotonic_ns", "window_ns", "stages", "audio_seconds", "prompt_tokens", "output_tokens", "first_token_ns", "memory")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_ID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    STRUCTURED_JSON_FIELD_NUMBER: _ClassVar[int]
    START_MONOTONIC_NS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_NS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    AUDIO_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FIRST_TOKEN_NS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    index: int
    sample_id: str
    segment: int
    text: str
    structured_json: str
    start_monotonic_ns: int
    window_ns: int
    stages: _containers.RepeatedCompositeFieldContainer[Stage]
    audio_seconds: float
    prompt_tokens: int
    output_tokens: int
    first_token_ns: int
    memory: MemoryReading
    def __init__(self, index: _Optional[int] = ..., sample_id: _Optional[str] = ..., segment: _Optional[int] = ..., text: _Optional[str] = ..., structured_json: _Optional[str] = ..., start_monotonic_ns: _Optional[int] = ..., window_ns: _Optional[int] = ..., stages: _Optional[_Iterable[_Union[Stage, _Mapping]]] = ..., audio_seconds: _Optional[float] = ..., prompt_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., first_token_ns: _Optional[int] = ..., memory: _Optional[_Union[MemoryReading, _Mapping]] = ...) -> None: ...

class Stage(_message.Message):
    __slots__ = ("name", "duration_ns")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DURATION_NS_FIELD_NUMBER: _ClassVar[int]
    name: str
    duration_ns: int
    def __init__(self, name: _Optional[str] = ..., duration_ns: _Optional[int] = ...) -> None: ...

class MemoryReading(_message.Message):
    __slots__ = ("method", "peak_reserved_bytes", "peak_allocated_bytes", "peak_rss_bytes", "peak_nvmap_bytes", "mem_available_dip_bytes")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PEAK_RESERVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEAK_ALLOCATED_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEAK_RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEAK_NVMAP_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEM_AVAILABLE_DIP_BYTES_FIELD_NUMBER: _ClassVar[int]
    method: MemoryMethod
    peak_reserved_bytes: int
    peak_allocated_bytes: int
    peak_rss_bytes: int
    peak_nvmap_bytes: int
    mem_available_dip_bytes: int
    def __init__(self, method: _Optional[_Union[MemoryMethod, str]] = ..., peak_reserved_bytes: _Optional[int] = ..., peak_allocated_bytes: _Optional[int] = ..., peak_rss_bytes: _Optional[int] = ..., peak_nvmap_bytes: _Optional[int] = ..., mem_available_dip_bytes: _Optional[int] = ...) -> None: ...

class EnergyRecord(_message.Message):
    __slots__ = ("index", "sample_id", "energy_j", "mean_power_w", "peak_power_w", "coverage", "sensor_window_s", "interpolated", "segment")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_ID_FIELD_NUMBER: _ClassVar[int]
    ENERGY_J_FIELD_NUMBER: _ClassVar[int]
    MEAN_POWER_W_FIELD_NUMBER: _ClassVar[int]
    PEAK_POWER_W_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    SENSOR_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    INTERPOLATED_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    index: int
    sample_id: str
    energy_j: float
    mean_power_w: float
    peak_power_w: float
    coverage: float
    sensor_window_s: float
    interpolated: bool
    segment: int
    def __init__(self, index: _Optional[int] = ..., sample_id: _Optional[str] = ..., energy_j: _Optional[float] = ..., mean_power_w: _Optional[float] = ..., peak_power_w: _Optional[float] = ..., coverage: _Optional[float] = ..., sensor_window_s: _Optional[float] = ..., interpolated: bool = ..., segment: _Optional[int] = ...) -> None: ...

class TelemetryRecord(_message.Message):
    __slots__ = ("telemetry",)
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    telemetry: _telemetry_pb2.Telemetry
    def __init__(self, telemetry: _Optional[_Union[_telemetry_pb2.Telemetry, _Mapping]] = ...) -> None: ...

class StateRecord(_message.Message):
    __slots__ = ("state", "segment", "failure", "reason", "model_facts", "environment")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MODEL_FACTS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    state: RunState
    segment: Segment
    failure: Failure
    reason: str
    model_facts: ModelFacts
    environment: Environment
    def __init__(self, state: _Optional[_Union[RunState, str]] = ..., segment: _Optional[_Union[Segment, _Mapping]] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., reason: _Optional[str] = ..., model_facts: _Optional[_Union[ModelFacts, _Mapping]] = ..., environment: _Optional[_Union[Environment, _Mapping]] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("number", "start_time", "reason", "first_index", "boot_id", "uptime_s", "memory_available_bytes")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    number: int
    start_time: _timestamp_pb2.Timestamp
    reason: str
    first_index: int
    boot_id: str
    uptime_s: float
    memory_available_bytes: int
    def __init__(self, number: _Optional[int] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., first_index: _Optional[int] = ..., boot_id: _Optional[str] = ..., uptime_s: _Optional[float] = ..., memory_available_bytes: _Optional[int] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("failure_class", "reason", "message", "sample_index", "sample_id", "stderr_tail", "exit_code", "signal", "checks", "oom_scope")
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_ID_FIELD_NUMBER: _ClassVar[int]
    STDERR_TAIL_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    OOM_SCOPE_FIELD_NUMBER: _ClassVar[int]
    failure_class: FailureClass
    reason: str
    message: str
    sample_index: int
    sample_id: str
    stderr_tail: str
    exit_code: int
    signal: int
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    oom_scope: OomScope
    def __init__(self, failure_class: _Optional[_Union[FailureClass, str]] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., sample_index: _Optional[int] = ..., sample_id: _Optional[str] = ..., stderr_tail: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., oom_scope: _Optional[_Union[OomScope, str]] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("name", "result", "expected", "found", "hint", "failure_class")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    name: str
    result: CheckResult
    expected: str
    found: str
    hint: str
    failure_class: FailureClass
    def __init__(self, name: _Optional[str] = ..., result: _Optional[_Union[CheckResult, str]] = ..., expected: _Optional[str] = ..., found: _Optional[str] = ..., hint: _Optional[str] = ..., failure_class: _Optional[_Union[FailureClass, str]] = ...) -> None: ...

class ViolationRecord(_message.Message):
    __slots__ = ("violation",)
    VIOLATION_FIELD_NUMBER: _ClassVar[int]
    violation: Violation
    def __init__(self, violation: _Optional[_Union[Violation, _Mapping]] = ...) -> None: ...

class Violation(_message.Message):
    __slots__ = ("time", "reason", "message", "voids", "sample_index", "segment")
    TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VOIDS_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_INDEX_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    reason: str
    message: str
    voids: _containers.RepeatedScalarFieldContainer[Axis]
    sample_index: int
    segment: int
    def __init__(self, time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., voids: _Optional[_Iterable[_Union[Axis, str]]] = ..., sample_index: _Optional[int] = ..., segment: _Optional[int] = ...) -> None: ...

class LogRecord(_message.Message):
    __slots__ = ("level", "origin", "message")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    level: LogLevel
    origin: str
    message: str
    def __init__(self, level: _Optional[_Union[LogLevel, str]] = ..., origin: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ProgressRecord(_message.Message):
    __slots__ = ("last_seq", "state", "phase", "accepted_samples", "queue_position", "expected_wait_s")
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_WAIT_S_FIELD_NUMBER: _ClassVar[int]
    last_seq: int
    state: RunState
    phase: str
    accepted_samples: int
    queue_position: int
    expected_wait_s: float
    def __init__(self, last_seq: _Optional[int] = ..., state: _Optional[_Union[RunState, str]] = ..., phase: _Optional[str] = ..., accepted_samples: _Optional[int] = ..., queue_position: _Optional[int] = ..., expected_wait_s: _Optional[float] = ...) -> None: ...

class FinishedRecord(_message.Message):
    __slots__ = ("state", "failure", "planned_samples", "accepted_samples", "record_count", "record_digest", "signed_verdict", "signature", "memory", "telemetry", "violations")
    STATE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    PLANNED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECORD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNED_VERDICT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    state: RunState
    failure: Failure
    planned_samples: int
    accepted_samples: int
    record_count: int
    record_digest: str
    signed_verdict: bytes
    signature: bytes
    memory: MemoryReading
    telemetry: _telemetry_pb2.TelemetrySummary
    violations: _containers.RepeatedCompositeFieldContainer[Violation]
    def __init__(self, state: _Optional[_Union[RunState, str]] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., planned_samples: _Optional[int] = ..., accepted_samples: _Optional[int] = ..., record_count: _Optional[int] = ..., record_digest: _Optional[str] = ..., signed_verdict: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., memory: _Optional[_Union[MemoryReading, _Mapping]] = ..., telemetry: _Optional[_Union[_telemetry_pb2.TelemetrySummary, _Mapping]] = ..., violations: _Optional[_Iterable[_Union[Violation, _Mapping]]] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("run", "state", "record_digest", "record_count", "suite_digest", "inputs_digest", "model_digest", "hardware_profile_digest", "execution_contract_digest", "violations", "board_key_id", "suite_id", "model_id", "hardware_profile", "board", "planned_samples", "accepted_samples", "end_time", "memory", "telemetry", "model_facts", "board_public_key")
    RUN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RECORD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    SUITE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_CONTRACT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    BOARD_KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SUITE_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    PLANNED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FACTS_FIELD_NUMBER: _ClassVar[int]
    BOARD_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    run: str
    state: RunState
    record_digest: str
    record_count: int
    suite_digest: str
    inputs_digest: str
    model_digest: str
    hardware_profile_digest: str
    execution_contract_digest: str
    violations: _containers.RepeatedCompositeFieldContainer[Violation]
    board_key_id: str
    suite_id: str
    model_id: str
    hardware_profile: str
    board: str
    planned_samples: int
    accepted_samples: int
    end_time: _timestamp_pb2.Timestamp
    memory: MemoryReading
    telemetry: _telemetry_pb2.TelemetrySummary
    model_facts: ModelFacts
    board_public_key: bytes
    def __init__(self, run: _Optional[str] = ..., state: _Optional[_Union[RunState, str]] = ..., record_digest: _Optional[str] = ..., record_count: _Optional[int] = ..., suite_digest: _Optional[str] = ..., inputs_digest: _Optional[str] = ..., model_digest: _Optional[str] = ..., hardware_profile_digest: _Optional[str] = ..., execution_contract_digest: _Optional[str] = ..., violations: _Optional[_Iterable[_Union[Violation, _Mapping]]] = ..., board_key_id: _Optional[str] = ..., suite_id: _Optional[str] = ..., model_id: _Optional[str] = ..., hardware_profile: _Optional[str] = ..., board: _Optional[str] = ..., planned_samples: _Optional[int] = ..., accepted_samples: _Optional[int] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., memory: _Optional[_Union[MemoryReading, _Mapping]] = ..., telemetry: _Optional[_Union[_telemetry_pb2.TelemetrySummary, _Mapping]] = ..., model_facts: _Optional[_Union[ModelFacts, _Mapping]] = ..., board_public_key: _Optional[bytes] = ...) -> None: ...

class ModelFacts(_message.Message):
    __slots__ = ("engine", "adapter", "devices", "parameter_count", "checkpoint_bytes", "native_dtype", "batch_size", "load_s", "notes", "source_repository", "source_revision")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    PARAMETER_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_BYTES_FIELD_NUMBER: _ClassVar[int]
    NATIVE_DTYPE_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    LOAD_S_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REVISION_FIELD_NUMBER: _ClassVar[int]
    engine: str
    adapter: str
    devices: _containers.RepeatedScalarFieldContainer[str]
    parameter_count: int
    checkpoint_bytes: int
    native_dtype: str
    batch_size: int
    load_s: float
    notes: _containers.RepeatedScalarFieldContainer[str]
    source_repository: str
    source_revision: str
    def __init__(self, engine: _Optional[str] = ..., adapter: _Optional[str] = ..., devices: _Optional[_Iterable[str]] = ..., parameter_count: _Optional[int] = ..., checkpoint_bytes: _Optional[int] = ..., native_dtype: _Optional[str] = ..., batch_size: _Optional[int] = ..., load_s: _Optional[float] = ..., notes: _Optional[_Iterable[str]] = ..., source_repository: _Optional[str] = ..., source_revision: _Optional[str] = ...) -> None: ...

class Environment(_message.Message):
    __slots__ = ("runtime", "python_version", "platform", "packages", "settings", "isolation", "board", "orinbench_version", "isolation_reason")
    class PackagesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class SettingsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class BoardEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    PYTHON_VERSION_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    ORINBENCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_REASON_FIELD_NUMBER: _ClassVar[int]
    runtime: str
    python_version: str
    platform: str
    packages: _containers.ScalarMap[str, str]
    settings: _containers.ScalarMap[str, str]
    isolation: str
    board: _containers.ScalarMap[str, str]
    orinbench_version: str
    isolation_reason: str
    def __init__(self, runtime: _Optional[str] = ..., python_version: _Optional[str] = ..., platform: _Optional[str] = ..., packages: _Optional[_Mapping[str, str]] = ..., settings: _Optional[_Mapping[str, str]] = ..., isolation: _Optional[str] = ..., board: _Optional[_Mapping[str, str]] = ..., orinbench_version: _Optional[str] = ..., isolation_reason: _Optional[str] = ...) -> None: ...
