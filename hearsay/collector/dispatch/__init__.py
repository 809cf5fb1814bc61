"""The collector's own role: streams are cut into ranges and handed to workers."""
