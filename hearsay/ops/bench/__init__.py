"""Speed, measured: every figure stands beside a ceiling or a peer from the same run. One file per question."""
