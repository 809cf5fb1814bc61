"""Which server holds a key: one server, a cluster, or whichever Sentinel names."""
