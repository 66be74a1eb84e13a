"""The ladder of isolation: sandbox (bubblewrap), network (unshare), none; the highest one that is proven to hold."""

from orinbenchd.sandbox.ladder import choose
from orinbenchd.sandbox.levels import Isolation, Level
from orinbenchd.sandbox.mounts import Hidden, View
from orinbenchd.sandbox.sandbox import Sandbox

__all__ = ["Hidden", "Isolation", "Level", "Sandbox", "View", "choose"]
