from google.protobuf import timestamp_pb2 as _timestamp_pb2
from orinbench.v1 import record_pb2 as _record_pb2
from orinbench.v1 import telemetry_pb2 as _telemetry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BoardState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOARD_STATE_UNSPECIFIED: _ClassVar[BoardState]
    BOARD_STATE_IDLE: _ClassVar[BoardState]
    BOARD_STATE_BUSY: _ClassVar[BoardState]
    BOARD_STATE_DRAINING: _ClassVar[BoardState]
    BOARD_STATE_WEDGED: _ClassVar[BoardState]
    BOARD_STATE_UNAVAILABLE: _ClassVar[BoardState]
BOARD_STATE_UNSPECIFIED: BoardState
BOARD_STATE_IDLE: BoardState
BOARD_STATE_BUSY: BoardState
BOARD_STATE_DRAINING: BoardState
BOARD_STATE_WEDGED: BoardState
BOARD_STATE_UNAVAILABLE: BoardState

class Board(_message.Message):
    __slots__ = ("name", "state", "state_reason", "identity", "hardware_profile", "hardware_profile_digest", "profile_official", "profile_matches", "profile_checks", "power_mode", "isolation", "runtimes", "active_run", "queue_length", "expected_wait_s", "watchers", "daemon_version", "api_revision", "start_time", "public_key", "key_id", "disk_free_bytes", "simulated", "execution_contract_digest", "gpu_clients", "isolation_reason", "runtime_states", "gpu_clients_unknown")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_REASON_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROFILE_OFFICIAL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_MATCHES_FIELD_NUMBER: _ClassVar[int]
    PROFILE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    POWER_MODE_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    RUNTIMES_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_RUN_FIELD_NUMBER: _ClassVar[int]
    QUEUE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_WAIT_S_FIELD_NUMBER: _ClassVar[int]
    WATCHERS_FIELD_NUMBER: _ClassVar[int]
    DAEMON_VERSION_FIELD_NUMBER: _ClassVar[int]
    API_REVISION_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SIMULATED_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_CONTRACT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    GPU_CLIENTS_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_REASON_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_STATES_FIELD_NUMBER: _ClassVar[int]
    GPU_CLIENTS_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: BoardState
    state_reason: str
    identity: BoardIdentity
    hardware_profile: str
    hardware_profile_digest: str
    profile_official: bool
    profile_matches: bool
    profile_checks: _containers.RepeatedCompositeFieldContainer[_record_pb2.Check]
    power_mode: str
    isolation: str
    runtimes: _containers.RepeatedScalarFieldContainer[str]
    active_run: str
    queue_length: int
    expected_wait_s: float
    watchers: int
    daemon_version: str
    api_revision: int
    start_time: _timestamp_pb2.Timestamp
    public_key: bytes
    key_id: str
    disk_free_bytes: int
    simulated: bool
    execution_contract_digest: str
    gpu_clients: _containers.RepeatedCompositeFieldContainer[GpuClient]
    isolation_reason: str
    runtime_states: _containers.RepeatedCompositeFieldContainer[RuntimeState]
    gpu_clients_unknown: str
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[BoardState, str]] = ..., state_reason: _Optional[str] = ..., identity: _Optional[_Union[BoardIdentity, _Mapping]] = ..., hardware_profile: _Optional[str] = ..., hardware_profile_digest: _Optional[str] = ..., profile_official: bool = ..., profile_matches: bool = ..., profile_checks: _Optional[_Iterable[_Union[_record_pb2.Check, _Mapping]]] = ..., power_mode: _Optional[str] = ..., isolation: _Optional[str] = ..., runtimes: _Optional[_Iterable[str]] = ..., active_run: _Optional[str] = ..., queue_length: _Optional[int] = ..., expected_wait_s: _Optional[float] = ..., watchers: _Optional[int] = ..., daemon_version: _Optional[str] = ..., api_revision: _Optional[int] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., public_key: _Optional[bytes] = ..., key_id: _Optional[str] = ..., disk_free_bytes: _Optional[int] = ..., simulated: bool = ..., execution_contract_digest: _Optional[str] = ..., gpu_clients: _Optional[_Iterable[_Union[GpuClient, _Mapping]]] = ..., isolation_reason: _Optional[str] = ..., runtime_states: _Optional[_Iterable[_Union[RuntimeState, _Mapping]]] = ..., gpu_clients_unknown: _Optional[str] = ...) -> None: ...

class RuntimeState(_message.Message):
    __slots__ = ("name", "python_version", "problem")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PYTHON_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    name: str
    python_version: str
    problem: str
    def __init__(self, name: _Optional[str] = ..., python_version: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class GpuClient(_message.Message):
    __slots__ = ("pid", "name", "memory_bytes", "source")
    PID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    pid: int
    name: str
    memory_bytes: int
    source: str
    def __init__(self, pid: _Optional[int] = ..., name: _Optional[str] = ..., memory_bytes: _Optional[int] = ..., source: _Optional[str] = ...) -> None: ...

class BoardIdentity(_message.Message):
    __slots__ = ("model", "compatible", "architecture", "memory_total_bytes", "cpu_count", "l4t_release", "jetpack_version", "cuda_version", "tensorrt_version", "cudnn_version", "kernel_release", "os_release", "boot_id", "uptime_s", "gpus", "absent_reasons")
    class AbsentReasonsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    COMPATIBLE_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    CPU_COUNT_FIELD_NUMBER: _ClassVar[int]
    L4T_RELEASE_FIELD_NUMBER: _ClassVar[int]
    JETPACK_VERSION_FIELD_NUMBER: _ClassVar[int]
    CUDA_VERSION_FIELD_NUMBER: _ClassVar[int]
    TENSORRT_VERSION_FIELD_NUMBER: _ClassVar[int]
    CUDNN_VERSION_FIELD_NUMBER: _ClassVar[int]
    KERNEL_RELEASE_FIELD_NUMBER: _ClassVar[int]
    OS_RELEASE_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    ABSENT_REASONS_FIELD_NUMBER: _ClassVar[int]
    model: str
    compatible: _containers.RepeatedScalarFieldContainer[str]
    architecture: str
    memory_total_bytes: int
    cpu_count: int
    l4t_release: str
    jetpack_version: str
    cuda_version: str
    tensorrt_version: str
    cudnn_version: str
    kernel_release: str
    os_release: str
    boot_id: str
    uptime_s: float
    gpus: _containers.RepeatedScalarFieldContainer[str]
    absent_reasons: _containers.ScalarMap[str, str]
    def __init__(self, model: _Optional[str] = ..., compatible: _Optional[_Iterable[str]] = ..., architecture: _Optional[str] = ..., memory_total_bytes: _Optional[int] = ..., cpu_count: _Optional[int] = ..., l4t_release: _Optional[str] = ..., jetpack_version: _Optional[str] = ..., cuda_version: _Optional[str] = ..., tensorrt_version: _Optional[str] = ..., cudnn_version: _Optional[str] = ..., kernel_release: _Optional[str] = ..., os_release: _Optional[str] = ..., boot_id: _Optional[str] = ..., uptime_s: _Optional[float] = ..., gpus: _Optional[_Iterable[str]] = ..., absent_reasons: _Optional[_Mapping[str, str]] = ...) -> None: ...

class GetBoardRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBoardResponse(_message.Message):
    __slots__ = ("board",)
    BOARD_FIELD_NUMBER: _ClassVar[int]
    board: Board
    def __init__(self, board: _Optional[_Union[Board, _Mapping]] = ...) -> None: ...

class CheckBoardRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CheckBoardResponse(_message.Message):
    __slots__ = ("checks", "passed")
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[_record_pb2.Check]
    passed: bool
    def __init__(self, checks: _Optional[_Iterable[_Union[_record_pb2.Check, _Mapping]]] = ..., passed: bool = ...) -> None: ...

class WatchTelemetryRequest(_message.Message):
    __slots__ = ("interval_s",)
    INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    interval_s: float
    def __init__(self, interval_s: _Optional[float] = ...) -> None: ...

class WatchTelemetryResponse(_message.Message):
    __slots__ = ("telemetry",)
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    telemetry: _telemetry_pb2.Telemetry
    def __init__(self, telemetry: _Optional[_Union[_telemetry_pb2.Telemetry, _Mapping]] = ...) -> None: ...
