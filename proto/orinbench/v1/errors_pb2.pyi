from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_FIELD_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_RUN_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_ARTIFACT_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_ARTIFACT_MISSING: _ClassVar[ErrorReason]
    ERROR_REASON_DIGEST_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_ID_REUSED: _ClassVar[ErrorReason]
    ERROR_REASON_STATE_FORBIDS: _ClassVar[ErrorReason]
    ERROR_REASON_QUEUE_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_DISK_LOW: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_WATCHERS: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_DRAINING: _ClassVar[ErrorReason]
    ERROR_REASON_BOARD_WEDGED: _ClassVar[ErrorReason]
    ERROR_REASON_TOKEN_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_ROLE_INSUFFICIENT: _ClassVar[ErrorReason]
    ERROR_REASON_CURSOR_OUT_OF_RANGE: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_PROFILE_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_DECLARATION_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_ARTIFACT_IN_USE: _ClassVar[ErrorReason]
    ERROR_REASON_RUNTIME_UNKNOWN: _ClassVar[ErrorReason]
    ERROR_REASON_API_TOO_OLD: _ClassVar[ErrorReason]
    ERROR_REASON_HUB_UNREACHABLE: _ClassVar[ErrorReason]
    ERROR_REASON_UNSUPPORTED: _ClassVar[ErrorReason]
    ERROR_REASON_JOURNAL_DAMAGED: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_FIELD_INVALID: ErrorReason
ERROR_REASON_RUN_NOT_FOUND: ErrorReason
ERROR_REASON_ARTIFACT_NOT_FOUND: ErrorReason
ERROR_REASON_ARTIFACT_MISSING: ErrorReason
ERROR_REASON_DIGEST_MISMATCH: ErrorReason
ERROR_REASON_REQUEST_ID_REUSED: ErrorReason
ERROR_REASON_STATE_FORBIDS: ErrorReason
ERROR_REASON_QUEUE_FULL: ErrorReason
ERROR_REASON_DISK_LOW: ErrorReason
ERROR_REASON_TOO_MANY_WATCHERS: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_DRAINING: ErrorReason
ERROR_REASON_BOARD_WEDGED: ErrorReason
ERROR_REASON_TOKEN_INVALID: ErrorReason
ERROR_REASON_ROLE_INSUFFICIENT: ErrorReason
ERROR_REASON_CURSOR_OUT_OF_RANGE: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_PROFILE_MISMATCH: ErrorReason
ERROR_REASON_DECLARATION_INVALID: ErrorReason
ERROR_REASON_ARTIFACT_IN_USE: ErrorReason
ERROR_REASON_RUNTIME_UNKNOWN: ErrorReason
ERROR_REASON_API_TOO_OLD: ErrorReason
ERROR_REASON_HUB_UNREACHABLE: ErrorReason
ERROR_REASON_UNSUPPORTED: ErrorReason
ERROR_REASON_JOURNAL_DAMAGED: ErrorReason
