"""What devices lose that report in many windows, and what their answers are worth: afresh, sampled, memoised."""
