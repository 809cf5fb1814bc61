"""Load tests: reports at a steady rate whatever the pipeline does (open loop), and what became of them."""
