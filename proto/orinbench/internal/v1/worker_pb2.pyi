from orinbench.v1 import record_pb2 as _record_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PhaseKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_KIND_UNSPECIFIED: _ClassVar[PhaseKind]
    PHASE_KIND_LOADING: _ClassVar[PhaseKind]
    PHASE_KIND_PROVING: _ClassVar[PhaseKind]
    PHASE_KIND_WARMING_UP: _ClassVar[PhaseKind]
    PHASE_KIND_SAMPLING: _ClassVar[PhaseKind]
PHASE_KIND_UNSPECIFIED: PhaseKind
PHASE_KIND_LOADING: PhaseKind
PHASE_KIND_PROVING: PhaseKind
PHASE_KIND_WARMING_UP: PhaseKind
PHASE_KIND_SAMPLING: PhaseKind

class ToWorker(_message.Message):
    __slots__ = ("prepare", "ack", "stop")
    PREPARE_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    prepare: Prepare
    ack: Ack
    stop: Stop
    def __init__(self, prepare: _Optional[_Union[Prepare, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., stop: _Optional[_Union[Stop, _Mapping]] = ...) -> None: ...

class FromWorker(_message.Message):
    __slots__ = ("hello", "phase", "ready", "result", "done", "failure", "log")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    phase: Phase
    ready: Ready
    result: Result
    done: Done
    failure: _record_pb2.Failure
    log: Log
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., phase: _Optional[_Union[Phase, _Mapping]] = ..., ready: _Optional[_Union[Ready, _Mapping]] = ..., result: _Optional[_Union[Result, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., failure: _Optional[_Union[_record_pb2.Failure, _Mapping]] = ..., log: _Optional[_Union[Log, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol", "orinbench_version", "pid")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ORINBENCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    orinbench_version: str
    pid: int
    def __init__(self, protocol: _Optional[int] = ..., orinbench_version: _Optional[str] = ..., pid: _Optional[int] = ...) -> None: ...

class Prepare(_message.Message):
    __slots__ = ("artifacts_path", "model_digest", "inputs_digest", "first_index", "planned_samples", "segment", "warmup", "window", "scratch_path", "device", "isolation", "cache_path")
    ARTIFACTS_PATH_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    PLANNED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    WARMUP_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    SCRATCH_PATH_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    CACHE_PATH_FIELD_NUMBER: _ClassVar[int]
    artifacts_path: str
    model_digest: str
    inputs_digest: str
    first_index: int
    planned_samples: int
    segment: int
    warmup: int
    window: int
    scratch_path: str
    device: str
    isolation: str
    cache_path: str
    def __init__(self, artifacts_path: _Optional[str] = ..., model_digest: _Optional[str] = ..., inputs_digest: _Optional[str] = ..., first_index: _Optional[int] = ..., planned_samples: _Optional[int] = ..., segment: _Optional[int] = ..., warmup: _Optional[int] = ..., window: _Optional[int] = ..., scratch_path: _Optional[str] = ..., device: _Optional[str] = ..., isolation: _Optional[str] = ..., cache_path: _Optional[str] = ...) -> None: ...

class Phase(_message.Message):
    __slots__ = ("kind", "audio_seconds", "max_tokens")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AUDIO_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    kind: PhaseKind
    audio_seconds: float
    max_tokens: int
    def __init__(self, kind: _Optional[_Union[PhaseKind, str]] = ..., audio_seconds: _Optional[float] = ..., max_tokens: _Optional[int] = ...) -> None: ...

class Ready(_message.Message):
    __slots__ = ("model_facts", "environment", "memory")
    MODEL_FACTS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    model_facts: _record_pb2.ModelFacts
    environment: _record_pb2.Environment
    memory: _record_pb2.MemoryReading
    def __init__(self, model_facts: _Optional[_Union[_record_pb2.ModelFacts, _Mapping]] = ..., environment: _Optional[_Union[_record_pb2.Environment, _Mapping]] = ..., memory: _Optional[_Union[_record_pb2.MemoryReading, _Mapping]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("index", "body")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    index: int
    body: bytes
    def __init__(self, index: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class Stop(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Done(_message.Message):
    __slots__ = ("stopped", "memory")
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    stopped: bool
    memory: _record_pb2.MemoryReading
    def __init__(self, stopped: bool = ..., memory: _Optional[_Union[_record_pb2.MemoryReading, _Mapping]] = ...) -> None: ...

class Log(_message.Message):
    __slots__ = ("level", "message")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    level: _record_pb2.LogLevel
    message: str
    def __init__(self, level: _Optional[_Union[_record_pb2.LogLevel, str]] = ..., message: _Optional[str] = ...) -> None: ...
