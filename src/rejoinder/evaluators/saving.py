"""The names of `models.saving`, under which evaluators know them."""

from rejoinder.models.saving import CONFIG, read_arrays, read_config, replacing_folder, write_arrays, write_config

__all__ = ["CONFIG", "read_arrays", "read_config", "replacing_folder", "write_arrays", "write_config"]
