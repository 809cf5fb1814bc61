"""Which server has a key: one server, a node of a cluster, or the server that Sentinel names."""
