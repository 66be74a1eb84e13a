"""The one table of what each role may do, and who a caller is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["watch", "submit", "admin"]
# A role may do all that the roles before it may.
ORDER: tuple[Role, ...] = ("watch", "submit", "admin")

# Every method of orinbench.v1 and the least role it needs. A method that is not here is refused.
ROLES: dict[str, Role] = {
    "/orinbench.v1.RunService/CreateRun": "submit",
    "/orinbench.v1.RunService/GetRun": "watch",
    "/orinbench.v1.RunService/ListRuns": "watch",
    "/orinbench.v1.RunService/CancelRun": "submit",
    "/orinbench.v1.RunService/ResumeRun": "submit",
    "/orinbench.v1.RunService/WatchRun": "watch",
    "/orinbench.v1.RunService/ListRecords": "watch",
    "/orinbench.v1.BoardService/GetBoard": "watch",
    "/orinbench.v1.BoardService/CheckBoard": "watch",
    "/orinbench.v1.BoardService/WatchTelemetry": "watch",
    "/orinbench.v1.ArtifactService/HasArtifacts": "submit",
    "/orinbench.v1.ArtifactService/PutArtifact": "submit",
    "/orinbench.v1.ArtifactService/PrepareModel": "submit",
    "/orinbench.v1.ArtifactService/ListArtifacts": "watch",
    "/orinbench.v1.ArtifactService/DeleteArtifact": "admin",
}


@dataclass(frozen=True)
class Caller:
    """Who makes a call, by the name of the token or the certificate, and what they may do."""

    name: str
    role: Role

    def may(self, needed: Role) -> bool:
        """Tell whether the role is enough."""
        return ORDER.index(self.role) >= ORDER.index(needed)


# The Unix socket is guarded by its file mode: whoever can open it is the operator.
LOCAL = Caller("local", "admin")
# Who has not been told apart: a method that is open to all, or a call that was refused.
NOBODY = Caller("nobody", "watch")
