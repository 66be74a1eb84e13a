from google.protobuf import timestamp_pb2 as _timestamp_pb2
from orinbench.v1 import record_pb2 as _record_pb2
from orinbench.v1 import telemetry_pb2 as _telemetry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Run(_message.Message):
    __slots__ = ("name", "plan", "state", "failure", "segments", "violations", "create_time", "start_time", "end_time", "planned_samples", "accepted_samples", "last_seq", "memory", "telemetry", "record_count", "record_digest", "signed_verdict", "signature", "hardware_profile_digest", "execution_contract_digest", "queue_position", "submitter", "board", "model_facts", "environment")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PLANNED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    RECORD_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECORD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNED_VERDICT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_CONTRACT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    SUBMITTER_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    MODEL_FACTS_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    plan: RunPlan
    state: _record_pb2.RunState
    failure: _record_pb2.Failure
    segments: _containers.RepeatedCompositeFieldContainer[_record_pb2.Segment]
    violations: _containers.RepeatedCompositeFieldContainer[_record_pb2.Violation]
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    planned_samples: int
    accepted_samples: int
    last_seq: int
    memory: _record_pb2.MemoryReading
    telemetry: _telemetry_pb2.TelemetrySummary
    record_count: int
    record_digest: str
    signed_verdict: bytes
    signature: bytes
    hardware_profile_digest: str
    execution_contract_digest: str
    queue_position: int
    submitter: str
    board: str
    model_facts: _record_pb2.ModelFacts
    environment: _record_pb2.Environment
    def __init__(self, name: _Optional[str] = ..., plan: _Optional[_Union[RunPlan, _Mapping]] = ..., state: _Optional[_Union[_record_pb2.RunState, str]] = ..., failure: _Optional[_Union[_record_pb2.Failure, _Mapping]] = ..., segments: _Optional[_Iterable[_Union[_record_pb2.Segment, _Mapping]]] = ..., violations: _Optional[_Iterable[_Union[_record_pb2.Violation, _Mapping]]] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., planned_samples: _Optional[int] = ..., accepted_samples: _Optional[int] = ..., last_seq: _Optional[int] = ..., memory: _Optional[_Union[_record_pb2.MemoryReading, _Mapping]] = ..., telemetry: _Optional[_Union[_telemetry_pb2.TelemetrySummary, _Mapping]] = ..., record_count: _Optional[int] = ..., record_digest: _Optional[str] = ..., signed_verdict: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., hardware_profile_digest: _Optional[str] = ..., execution_contract_digest: _Optional[str] = ..., queue_position: _Optional[int] = ..., submitter: _Optional[str] = ..., board: _Optional[str] = ..., model_facts: _Optional[_Union[_record_pb2.ModelFacts, _Mapping]] = ..., environment: _Optional[_Union[_record_pb2.Environment, _Mapping]] = ...) -> None: ...

class RunPlan(_message.Message):
    __slots__ = ("suite_id", "suite_digest", "inputs_digest", "model_id", "model_digest", "hardware_profile", "options")
    SUITE_ID_FIELD_NUMBER: _ClassVar[int]
    SUITE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    INPUTS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    suite_id: str
    suite_digest: str
    inputs_digest: str
    model_id: str
    model_digest: str
    hardware_profile: str
    options: RunOptions
    def __init__(self, suite_id: _Optional[str] = ..., suite_digest: _Optional[str] = ..., inputs_digest: _Optional[str] = ..., model_id: _Optional[str] = ..., model_digest: _Optional[str] = ..., hardware_profile: _Optional[str] = ..., options: _Optional[_Union[RunOptions, _Mapping]] = ...) -> None: ...

class RunOptions(_message.Message):
    __slots__ = ("warmup", "limit", "priority", "time_limit_s", "cancel_unwatched_after_s", "labels", "queue_timeout_s")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WARMUP_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_S_FIELD_NUMBER: _ClassVar[int]
    CANCEL_UNWATCHED_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    warmup: int
    limit: int
    priority: int
    time_limit_s: float
    cancel_unwatched_after_s: float
    labels: _containers.ScalarMap[str, str]
    queue_timeout_s: float
    def __init__(self, warmup: _Optional[int] = ..., limit: _Optional[int] = ..., priority: _Optional[int] = ..., time_limit_s: _Optional[float] = ..., cancel_unwatched_after_s: _Optional[float] = ..., labels: _Optional[_Mapping[str, str]] = ..., queue_timeout_s: _Optional[float] = ...) -> None: ...

class CreateRunRequest(_message.Message):
    __slots__ = ("request_id", "plan")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    plan: RunPlan
    def __init__(self, request_id: _Optional[str] = ..., plan: _Optional[_Union[RunPlan, _Mapping]] = ...) -> None: ...

class CreateRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: Run
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: Run
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "states")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    states: _containers.RepeatedScalarFieldContainer[_record_pb2.RunState]
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_record_pb2.RunState, str]]] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    next_page_token: str
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelRunRequest(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class CancelRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: Run
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ...) -> None: ...

class ResumeRunRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ResumeRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: Run
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ...) -> None: ...

class WatchRunRequest(_message.Message):
    __slots__ = ("name", "after_seq")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    name: str
    after_seq: int
    def __init__(self, name: _Optional[str] = ..., after_seq: _Optional[int] = ...) -> None: ...

class WatchRunResponse(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[_record_pb2.Record]
    def __init__(self, records: _Optional[_Iterable[_Union[_record_pb2.Record, _Mapping]]] = ...) -> None: ...

class ListRecordsRequest(_message.Message):
    __slots__ = ("name", "page_size", "page_token", "kinds")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    page_size: int
    page_token: str
    kinds: _containers.RepeatedScalarFieldContainer[_record_pb2.RecordKind]
    def __init__(self, name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[_record_pb2.RecordKind, str]]] = ...) -> None: ...

class ListRecordsResponse(_message.Message):
    __slots__ = ("records", "next_page_token")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[DecodedRecord]
    next_page_token: str
    def __init__(self, records: _Optional[_Iterable[_Union[DecodedRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DecodedRecord(_message.Message):
    __slots__ = ("seq", "body")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    seq: int
    body: _record_pb2.RecordBody
    def __init__(self, seq: _Optional[int] = ..., body: _Optional[_Union[_record_pb2.RecordBody, _Mapping]] = ...) -> None: ...
