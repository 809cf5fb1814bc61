"""The RQ side: a job folds one range, a worker runs jobs, a supervisor keeps workers running."""
