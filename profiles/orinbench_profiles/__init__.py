"""Declarations of suites, models and hardware, and the small loader that validates and digests them."""

from orinbench_profiles.digest import canonical_json, digest_bytes, digest_file, is_digest
from orinbench_profiles.loader import (
    DeclarationError,
    Loaded,
    canonical_declaration,
    execution_contract_digest,
    list_declarations,
    load_hardware,
    load_model,
    load_suite,
    parse_model,
    resolve_model,
)
from orinbench_profiles.schema import (
    FolderSource,
    HardwareProfile,
    HubSource,
    ModelDeclaration,
    ModelFile,
    PackagedSource,
    SuiteDeclaration,
)

__all__ = [
    "DeclarationError",
    "FolderSource",
    "HardwareProfile",
    "HubSource",
    "Loaded",
    "ModelDeclaration",
    "ModelFile",
    "PackagedSource",
    "SuiteDeclaration",
    "canonical_declaration",
    "canonical_json",
    "digest_bytes",
    "digest_file",
    "execution_contract_digest",
    "is_digest",
    "list_declarations",
    "load_hardware",
    "load_model",
    "load_suite",
    "parse_model",
    "resolve_model",
]
