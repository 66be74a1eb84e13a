from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SourceState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_STATE_UNSPECIFIED: _ClassVar[SourceState]
    SOURCE_STATE_OK: _ClassVar[SourceState]
    SOURCE_STATE_STALE: _ClassVar[SourceState]
    SOURCE_STATE_DOWN: _ClassVar[SourceState]
    SOURCE_STATE_ABSENT: _ClassVar[SourceState]
SOURCE_STATE_UNSPECIFIED: SourceState
SOURCE_STATE_OK: SourceState
SOURCE_STATE_STALE: SourceState
SOURCE_STATE_DOWN: SourceState
SOURCE_STATE_ABSENT: SourceState

class Telemetry(_message.Message):
    __slots__ = ("time", "monotonic_ns", "cpu_load_pct", "cpus", "memory_total_bytes", "memory_used_bytes", "memory_available_bytes", "swap_total_bytes", "swap_used_bytes", "gpu_load_pct", "gpu_clock_hz", "gpu_min_clock_hz", "gpu_max_clock_hz", "emc_load_pct", "emc_clock_hz", "gpu_memory_used_bytes", "gpu_memory_total_bytes", "temperatures_c", "rails", "module_power_w", "throttle_events", "power_mode", "fan_pct", "other", "sources", "worker_rss_bytes", "run", "power_monotonic_ns", "power_sensor_window_s", "absent_reasons")
    class TemperaturesCEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class RailsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: RailReading
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[RailReading, _Mapping]] = ...) -> None: ...
    class ThrottleEventsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class OtherEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AbsentReasonsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TIME_FIELD_NUMBER: _ClassVar[int]
    MONOTONIC_NS_FIELD_NUMBER: _ClassVar[int]
    CPU_LOAD_PCT_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SWAP_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    SWAP_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_LOAD_PCT_FIELD_NUMBER: _ClassVar[int]
    GPU_CLOCK_HZ_FIELD_NUMBER: _ClassVar[int]
    GPU_MIN_CLOCK_HZ_FIELD_NUMBER: _ClassVar[int]
    GPU_MAX_CLOCK_HZ_FIELD_NUMBER: _ClassVar[int]
    EMC_LOAD_PCT_FIELD_NUMBER: _ClassVar[int]
    EMC_CLOCK_HZ_FIELD_NUMBER: _ClassVar[int]
    GPU_MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_MEMORY_TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURES_C_FIELD_NUMBER: _ClassVar[int]
    RAILS_FIELD_NUMBER: _ClassVar[int]
    MODULE_POWER_W_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    POWER_MODE_FIELD_NUMBER: _ClassVar[int]
    FAN_PCT_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    WORKER_RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    POWER_MONOTONIC_NS_FIELD_NUMBER: _ClassVar[int]
    POWER_SENSOR_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    ABSENT_REASONS_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    monotonic_ns: int
    cpu_load_pct: float
    cpus: _containers.RepeatedCompositeFieldContainer[CpuReading]
    memory_total_bytes: int
    memory_used_bytes: int
    memory_available_bytes: int
    swap_total_bytes: int
    swap_used_bytes: int
    gpu_load_pct: float
    gpu_clock_hz: _containers.RepeatedScalarFieldContainer[int]
    gpu_min_clock_hz: int
    gpu_max_clock_hz: int
    emc_load_pct: float
    emc_clock_hz: int
    gpu_memory_used_bytes: int
    gpu_memory_total_bytes: int
    temperatures_c: _containers.ScalarMap[str, float]
    rails: _containers.MessageMap[str, RailReading]
    module_power_w: float
    throttle_events: _containers.ScalarMap[str, int]
    power_mode: str
    fan_pct: float
    other: _containers.ScalarMap[str, str]
    sources: _containers.RepeatedCompositeFieldContainer[SourceStatus]
    worker_rss_bytes: int
    run: str
    power_monotonic_ns: int
    power_sensor_window_s: float
    absent_reasons: _containers.ScalarMap[str, str]
    def __init__(self, time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., monotonic_ns: _Optional[int] = ..., cpu_load_pct: _Optional[float] = ..., cpus: _Optional[_Iterable[_Union[CpuReading, _Mapping]]] = ..., memory_total_bytes: _Optional[int] = ..., memory_used_bytes: _Optional[int] = ..., memory_available_bytes: _Optional[int] = ..., swap_total_bytes: _Optional[int] = ..., swap_used_bytes: _Optional[int] = ..., gpu_load_pct: _Optional[float] = ..., gpu_clock_hz: _Optional[_Iterable[int]] = ..., gpu_min_clock_hz: _Optional[int] = ..., gpu_max_clock_hz: _Optional[int] = ..., emc_load_pct: _Optional[float] = ..., emc_clock_hz: _Optional[int] = ..., gpu_memory_used_bytes: _Optional[int] = ..., gpu_memory_total_bytes: _Optional[int] = ..., temperatures_c: _Optional[_Mapping[str, float]] = ..., rails: _Optional[_Mapping[str, RailReading]] = ..., module_power_w: _Optional[float] = ..., throttle_events: _Optional[_Mapping[str, int]] = ..., power_mode: _Optional[str] = ..., fan_pct: _Optional[float] = ..., other: _Optional[_Mapping[str, str]] = ..., sources: _Optional[_Iterable[_Union[SourceStatus, _Mapping]]] = ..., worker_rss_bytes: _Optional[int] = ..., run: _Optional[str] = ..., power_monotonic_ns: _Optional[int] = ..., power_sensor_window_s: _Optional[float] = ..., absent_reasons: _Optional[_Mapping[str, str]] = ...) -> None: ...

class CpuReading(_message.Message):
    __slots__ = ("online", "load_pct", "clock_hz")
    ONLINE_FIELD_NUMBER: _ClassVar[int]
    LOAD_PCT_FIELD_NUMBER: _ClassVar[int]
    CLOCK_HZ_FIELD_NUMBER: _ClassVar[int]
    online: bool
    load_pct: float
    clock_hz: int
    def __init__(self, online: bool = ..., load_pct: _Optional[float] = ..., clock_hz: _Optional[int] = ...) -> None: ...

class RailReading(_message.Message):
    __slots__ = ("now_mw", "average_mw")
    NOW_MW_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_MW_FIELD_NUMBER: _ClassVar[int]
    now_mw: float
    average_mw: float
    def __init__(self, now_mw: _Optional[float] = ..., average_mw: _Optional[float] = ...) -> None: ...

class SourceStatus(_message.Message):
    __slots__ = ("name", "state", "age_s", "reason", "restarts", "coverage", "gaps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    GAPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: SourceState
    age_s: float
    reason: str
    restarts: int
    coverage: float
    gaps: int
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[SourceState, str]] = ..., age_s: _Optional[float] = ..., reason: _Optional[str] = ..., restarts: _Optional[int] = ..., coverage: _Optional[float] = ..., gaps: _Optional[int] = ...) -> None: ...

class TelemetrySummary(_message.Message):
    __slots__ = ("duration_s", "coverage", "energy_j", "energy_j_per_audio_hour", "mean_power_w", "peak_power_w", "peak_temperatures_c", "min_gpu_clock_under_load_hz", "throttle_event_deltas", "memory_available_dip_bytes", "sensor_window_s", "readings", "longest_gap_s")
    class PeakTemperaturesCEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class ThrottleEventDeltasEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DURATION_S_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ENERGY_J_FIELD_NUMBER: _ClassVar[int]
    ENERGY_J_PER_AUDIO_HOUR_FIELD_NUMBER: _ClassVar[int]
    MEAN_POWER_W_FIELD_NUMBER: _ClassVar[int]
    PEAK_POWER_W_FIELD_NUMBER: _ClassVar[int]
    PEAK_TEMPERATURES_C_FIELD_NUMBER: _ClassVar[int]
    MIN_GPU_CLOCK_UNDER_LOAD_HZ_FIELD_NUMBER: _ClassVar[int]
    THROTTLE_EVENT_DELTAS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_DIP_BYTES_FIELD_NUMBER: _ClassVar[int]
    SENSOR_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    READINGS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_GAP_S_FIELD_NUMBER: _ClassVar[int]
    duration_s: float
    coverage: float
    energy_j: float
    energy_j_per_audio_hour: float
    mean_power_w: float
    peak_power_w: float
    peak_temperatures_c: _containers.ScalarMap[str, float]
    min_gpu_clock_under_load_hz: int
    throttle_event_deltas: _containers.ScalarMap[str, int]
    memory_available_dip_bytes: int
    sensor_window_s: float
    readings: int
    longest_gap_s: float
    def __init__(self, duration_s: _Optional[float] = ..., coverage: _Optional[float] = ..., energy_j: _Optional[float] = ..., energy_j_per_audio_hour: _Optional[float] = ..., mean_power_w: _Optional[float] = ..., peak_power_w: _Optional[float] = ..., peak_temperatures_c: _Optional[_Mapping[str, float]] = ..., min_gpu_clock_under_load_hz: _Optional[int] = ..., throttle_event_deltas: _Optional[_Mapping[str, int]] = ..., memory_available_dip_bytes: _Optional[int] = ..., sensor_window_s: _Optional[float] = ..., readings: _Optional[int] = ..., longest_gap_s: _Optional[float] = ...) -> None: ...
