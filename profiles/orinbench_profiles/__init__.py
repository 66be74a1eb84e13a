"""Declarations of suites, models and hardware, and the small loader that validates and digests them."""

from orinbench_profiles.digest import canonical_json, digest_bytes, digest_file, is_digest
from orinbench_profiles.loader import (
    DeclarationError,
    Loaded,
    canonical_declaration,
    execution_contract_digest,
    is_folder,
    list_declarations,
    load_hardware,
    load_model,
    load_suite,
    parse_model,
    resolve_model,
)
from orinbench_profiles.schema import (
    FolderSource,
    GithubSource,
    HardwareProfile,
    HubSource,
    ModelDeclaration,
    ModelFile,
    OwnCopySource,
    PackagedSource,
    SuiteDeclaration,
)

__all__ = [
    "DeclarationError",
    "FolderSource",
    "GithubSource",
    "HardwareProfile",
    "HubSource",
    "Loaded",
    "ModelDeclaration",
    "ModelFile",
    "OwnCopySource",
    "PackagedSource",
    "SuiteDeclaration",
    "canonical_declaration",
    "canonical_json",
    "digest_bytes",
    "digest_file",
    "execution_contract_digest",
    "is_digest",
    "is_folder",
    "list_declarations",
    "load_hardware",
    "load_model",
    "load_suite",
    "parse_model",
    "resolve_model",
]
