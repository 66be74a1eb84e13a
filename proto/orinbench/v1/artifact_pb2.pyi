from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Artifact(_message.Message):
    __slots__ = ("digest", "size_bytes", "create_time")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    digest: str
    size_bytes: int
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, digest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class HasArtifactsRequest(_message.Message):
    __slots__ = ("digests",)
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    digests: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, digests: _Optional[_Iterable[str]] = ...) -> None: ...

class HasArtifactsResponse(_message.Message):
    __slots__ = ("missing",)
    MISSING_FIELD_NUMBER: _ClassVar[int]
    missing: _containers.RepeatedCompositeFieldContainer[MissingArtifact]
    def __init__(self, missing: _Optional[_Iterable[_Union[MissingArtifact, _Mapping]]] = ...) -> None: ...

class MissingArtifact(_message.Message):
    __slots__ = ("digest", "received_bytes")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    digest: str
    received_bytes: int
    def __init__(self, digest: _Optional[str] = ..., received_bytes: _Optional[int] = ...) -> None: ...

class PutArtifactRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: PutArtifactHeader
    chunk: bytes
    def __init__(self, header: _Optional[_Union[PutArtifactHeader, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class PutArtifactHeader(_message.Message):
    __slots__ = ("digest", "size_bytes", "offset")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    digest: str
    size_bytes: int
    offset: int
    def __init__(self, digest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class PutArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: Artifact
    def __init__(self, artifact: _Optional[_Union[Artifact, _Mapping]] = ...) -> None: ...

class PrepareModelRequest(_message.Message):
    __slots__ = ("declaration", "hub_token")
    DECLARATION_FIELD_NUMBER: _ClassVar[int]
    HUB_TOKEN_FIELD_NUMBER: _ClassVar[int]
    declaration: bytes
    hub_token: str
    def __init__(self, declaration: _Optional[bytes] = ..., hub_token: _Optional[str] = ...) -> None: ...

class PrepareModelResponse(_message.Message):
    __slots__ = ("file", "received_bytes", "total_bytes", "artifacts", "done", "model_digest", "model_declaration")
    FILE_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODEL_DECLARATION_FIELD_NUMBER: _ClassVar[int]
    file: str
    received_bytes: int
    total_bytes: int
    artifacts: _containers.RepeatedCompositeFieldContainer[Artifact]
    done: bool
    model_digest: str
    model_declaration: bytes
    def __init__(self, file: _Optional[str] = ..., received_bytes: _Optional[int] = ..., total_bytes: _Optional[int] = ..., artifacts: _Optional[_Iterable[_Union[Artifact, _Mapping]]] = ..., done: bool = ..., model_digest: _Optional[str] = ..., model_declaration: _Optional[bytes] = ...) -> None: ...

class ListArtifactsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListArtifactsResponse(_message.Message):
    __slots__ = ("artifacts", "next_page_token")
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    artifacts: _containers.RepeatedCompositeFieldContainer[Artifact]
    next_page_token: str
    def __init__(self, artifacts: _Optional[_Iterable[_Union[Artifact, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteArtifactRequest(_message.Message):
    __slots__ = ("digest",)
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    digest: str
    def __init__(self, digest: _Optional[str] = ...) -> None: ...

class DeleteArtifactResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
