"""Run `personafit` with its model sharded (FSDP) over processes without GPUs, which accelerate by itself only does on GPUs."""

from typing import Any

from accelerate import state
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin

from personafit.cli import main

_begin = state.AcceleratorState.__init__


def _begin_sharded(self: Any, *arguments: Any, **settings: Any) -> None:
    _begin(self, *arguments, **settings)
    self.distributed_type = DistributedType.FSDP
    if getattr(self, "fsdp_plugin", None) is None:
        self.fsdp_plugin = settings.get("fsdp_plugin") or FullyShardedDataParallelPlugin()


if __name__ == "__main__":
    state.AcceleratorState.__init__ = _begin_sharded
    main()
